#!/bin/sh
# step_vs_pytorch.sh [ROUNDS] [SECONDS]: training steps of mlp and lenet, Thalweg and PyTorch by turns on one core.
# Prints every pair and, at the end, medians and the median of the pairs' ratios. Needs Debian's
# python3-torch and, to be fair to it, libopenblas0-pthread.
# Settings by environment: BENCH_STEP (the program), SHARDS (4), CPU (the core, the last one).
set -eu
rounds=${1:-5}
seconds=${2:-3}
here=$(cd "$(dirname "$0")" && pwd)
bench=${BENCH_STEP:-$here/../../build/release/bin/bench_step}
shards=${SHARDS:-4}
cpu=${CPU:-$(($(nproc) - 1))}
[ -x "$bench" ] || { echo "$bench is not built: ninja -C build/release bench_step" >&2; exit 1; }
/usr/bin/python3 -c 'import torch' 2>/dev/null || {
  echo "skipped: PyTorch is not installed (Debian: apt-get install python3-torch)" >&2
  exit 0
}

export OPENBLAS_NUM_THREADS=1
/usr/bin/python3 -c 'import sys, torch
sys.exit(not any(b in open("/proc/self/maps").read() for b in ("openblas", "mkl", "blis")))' ||
  echo "warning: PyTorch runs on the reference BLAS, some ten times slower (Debian: apt-get install libopenblas0-pthread)" >&2

table=$(mktemp)
trap 'rm -f "$table"' EXIT
rate() { sed -n 's/.*samples\/s=\([0-9]*\).*/\1/p'; }
median() { sort -n | awk '{v[NR] = $1} END {print (NR % 2) ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2}'; }

printf '%-6s %-6s %12s %12s %8s\n' model round thalweg pytorch ratio
for round in $(seq "$rounds"); do
  for model in mlp lenet; do
    ours=$(taskset -c "$cpu" "$bench" "$model" "shards=$shards" "seconds=$seconds" | rate)
    theirs=$(taskset -c "$cpu" /usr/bin/python3 "$here/step_pytorch.py" "$model" "$seconds" | rate)
    ratio=$(awk "BEGIN {printf \"%.2f\", $ours / $theirs}")
    printf '%-6s %-6s %12s %12s %8s\n' "$model" "$round" "$ours" "$theirs" "$ratio"
    echo "$model $ours $theirs $ratio" >>"$table"
  done
done
echo "medians, samples/s (batch 128, $shards shards, one thread, core $cpu):"
for model in mlp lenet; do
  column() { awk -v m="$model" -v c="$1" '$1 == m {print $c}' "$table" | median; }
  printf '%-6s %-6s %12s %12s %8s\n' "$model" median "$(column 2)" "$(column 3)" "$(column 4)"
done
