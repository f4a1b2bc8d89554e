#!/bin/bash
# Runs in place of thalweg-train: the first word of the attempt's trial.yaml says how this rank behaves.
folder=$(dirname "$1")
read -r how <"$1"
echo "rank $SLURM_PROCID of $SLURM_NTASKS on $(hostname)"
case $how in
  save) trap 'touch "$folder/saved.$SLURM_PROCID"; exit 75' TERM ;;
  stubborn) trap '' TERM ;;
  warned) trap 'touch "$folder/warned.$SLURM_PROCID"' USR1 ;;
esac
case $how in
  finish) exit 0 ;;
  fail) [ "$SLURM_PROCID" = 1 ] && exit 3 ;;
  crash) [ "$SLURM_PROCID" = 1 ] && kill -SEGV $$ ;;
esac
touch "$folder/ready.$SLURM_PROCID"
while :; do sleep 0.1; done
