#!/bin/sh
# Thalweg attempt 12.3.1. `sbatch batch.sh` asks for the same job; Thalweg itself adds --hold, a
# comment by which it finds the job, and the submitter's environment.
#SBATCH --nodes=4
#SBATCH --ntasks=8
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=8
#SBATCH --time=60
#SBATCH --signal=USR1@60
#SBATCH --job-name=thalweg-12.3.1
#SBATCH --chdir=/home/ada/.local/state/thalweg/runs/12/3/1
#SBATCH --output=/home/ada/.local/state/thalweg/runs/12/3/1/stdout.log
#SBATCH --error=/home/ada/.local/state/thalweg/runs/12/3/1/stderr.log
#SBATCH --open-mode=append
#SBATCH --no-requeue
exec 'srun' --mpi=pmix --kill-on-bad-exit=1 --input=none \
  --nodes=4 --ntasks=8 --ntasks-per-node=2 --cpus-per-task=8 --distribution=block \
  '/usr/bin/thalweg-train' '/home/ada/.local/state/thalweg/runs/12/3/1/trial.yaml'
