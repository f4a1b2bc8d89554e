#!/bin/bash -l
# Thalweg 12.3.1: written by the controller; Slurm runs its own copy.
set -e
module load ucx/1.13
export OMP_PLACES=cores
set +e
exec '/opt/slurm/bin/srun' --mpi=pmix --kill-on-bad-exit=1 --input=none \
  --nodes=4 --ntasks=8 --ntasks-per-node=2 --cpus-per-task=8 --distribution=block \
  '/usr/bin/thalweg-train' '/data/it'\''s 50% "here"/1/trial.yaml'
