#!/bin/sh
# Thalweg 12.3.1: written by the controller; Slurm runs its own copy.
exec 'srun' --mpi=pmix --kill-on-bad-exit=1 --input=none \
  --nodes=4 --ntasks=8 --ntasks-per-node=2 --cpus-per-task=8 --distribution=block \
  '/usr/bin/thalweg-train' '/home/ada/.local/state/thalweg/runs/12/3/1/trial.yaml'
