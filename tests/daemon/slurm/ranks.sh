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
  fail | crash)
    # srun does not end a task that is only starting when another fails (22.05; the supervisor does).
    if [ "$SLURM_PROCID" = 1 ]; then
      until [ -e "$folder/ready.0" ]; do sleep 0.1; done
      [ "$how" = crash ] && kill -SEGV $$
      exit 3
    fi ;;
esac
touch "$folder/ready.$SLURM_PROCID"
while :; do sleep 0.1; done
