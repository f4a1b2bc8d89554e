#!/bin/sh
# optimizers_vs_pytorch.sh [ROUNDS] [SECONDS]: one optimizer step over ResNet-50's parameters, Thalweg (with the memory's
# own limit beside it) and PyTorch by turns on one core. Needs Debian's python3-torch.
# Settings by environment: BENCH_OPTIMIZERS (the program), CPU (the core, the last one).
set -eu
rounds=${1:-3}
seconds=${2:-2}
here=$(cd "$(dirname "$0")" && pwd)
bench=${BENCH_OPTIMIZERS:-$here/../../build/release/bin/bench_optimizers}
cpu=${CPU:-$(($(nproc) - 1))}
[ -x "$bench" ] || { echo "$bench is not built: ninja -C build/release bench_optimizers" >&2; exit 1; }
/usr/bin/python3 -c 'import torch' 2>/dev/null || {
  echo "skipped: PyTorch is not installed (Debian: apt-get install python3-torch)" >&2
  exit 0
}
for round in $(seq "$rounds"); do
  echo "round $round: thalweg"
  taskset -c "$cpu" "$bench" "seconds=$seconds"
  echo "round $round: pytorch"
  taskset -c "$cpu" /usr/bin/python3 "$here/optimizers_pytorch.py" "$seconds"
done
