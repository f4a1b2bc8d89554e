#!/bin/sh
# on_gpu_test.sh BUILD: tries on_gpu.sh on the emulated GPU, and where there is none.
set -eu
cd "$(dirname "$0")/../../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/lib"
for program in "$1"/tests/gpu_test "$1"/tests/nn_test "$1"/bin/bench_gpu "$1"/bin/thalweg-train "$1"/bin/thalweg-launch; do
  ln -s "$(realpath "$program")" "$folder/bin/"
done

expect() {
  grep -q -- "$1" "$folder/results/table.txt" || { cat "$folder/results/table.txt"; echo "the table lacks: $1" >&2; exit 1; }
}

export FOLDER="$folder" THALWEG_GPU=emulated
sh tests/on_gpu.sh run ranks tests:gpu_test tests:gradients
expect 'nothing below is a result'
expect 'gpt, fp32: 4 ranks on one GPU .*emul. .*; 0 differ from one rank'
expect 'tests: gpu_test .* emul. [1-9][0-9]* passed, 0 failed'
expect 'gradients by finite differences .* emul. [1-9][0-9]* passed, 0 failed'
expect 'not measured yet: tests (5), steps'

if [ ! -e /dev/nvidiactl ]; then
  rm -r "$folder/results"
  status=0
  THALWEG_GPU='' sh tests/on_gpu.sh run || status=$?
  [ "$status" = 77 ]
  expect 'tests: nn_test .*no GPU: not run'
  if grep -E ' (yes|NO|emul\.) ' "$folder/results/table.txt"; then exit 1; fi
fi
