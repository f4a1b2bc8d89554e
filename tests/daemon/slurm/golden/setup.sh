#!/bin/bash -l
# Thalweg attempt 12.3.1. `sbatch batch.sh` asks for the same job; Thalweg itself adds --hold, a
# comment by which it finds the job, and the submitter's environment.
#SBATCH --partition=main
#SBATCH --exclusive
#SBATCH --mail-type=END
#SBATCH --nodes=4
#SBATCH --ntasks=8
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=8
#SBATCH --time=60
#SBATCH --mem=4096M
#SBATCH --gpus-per-node=2
#SBATCH --signal=USR1@60
#SBATCH --job-name=thalweg-12.3.1
#SBATCH --chdir="/data/it's 50% \"here\"/1"
#SBATCH --output="/data/it's 50%% \"here\"/1/stdout.log"
#SBATCH --error="/data/it's 50%% \"here\"/1/stderr.log"
#SBATCH --open-mode=append
#SBATCH --no-requeue
set -eE
trap 'thalweg_line=$BASH_COMMAND; [ ${#FUNCNAME[@]} -le 1 ] || thalweg_line=$(sed -n "${BASH_LINENO[-2]}p" "$0")' ERR
trap 'thalweg_exit=$?; echo "slurm.setup failed (exit code $thalweg_exit): ${thalweg_line:-$BASH_COMMAND}" >&2; exit 2' EXIT
module load ucx/1.13
export OMP_PLACES=cores
trap - ERR EXIT; set +eE
exec '/opt/slurm/bin/srun' --mpi=pmix_v4 --kill-on-bad-exit=1 --input=none \
  --nodes=4 --ntasks=8 --ntasks-per-node=2 --cpus-per-task=8 --distribution=block \
  '--cpu-bind=cores' \
  '/usr/bin/thalweg-train' '/data/it'\''s 50% "here"/1/trial.yaml'
