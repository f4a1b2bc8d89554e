#!/bin/sh
# on_gpu_test.sh BUILD: tries on_gpu.sh on the emulated GPU, and where there is none.
set -eu
cd "$(dirname "$0")/../../.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/lib"
for program in "$1"/tests/gpu_test "$1"/tests/nn_test "$1"/bin/bench_gpu "$1"/bin/bench_step "$1"/tests/emulated/thalweg-train "$1"/bin/thalweg-launch; do
  ln -s "$(realpath "$program")" "$folder/bin/"
done

expect() {
  grep -q -- "$1" "$folder/results/table.txt" || { cat "$folder/results/table.txt"; echo "the table lacks: $1" >&2; exit 1; }
}

export FOLDER="$folder" THALWEG_GPU=emulated OUT="$folder/out"
sh tests/on_gpu.sh run ranks tests:machine tests:loops tests:products tests:convolutions tests:attention \
  tests:gpu_test first:mlp loops:mlp profile:mlp steps:mlp
expect 'nothing below is a result'
expect 'gpt, fp32: 4 ranks on one GPU .*emul. .*; 0 differ from one rank'
for part in machine loops products convolutions attention gpu_test; do
  expect "tests: $part .* emul. [1-9][0-9]* passed, 0 failed"
done
expect '20 first steps of mlp, bf16 .* emul. .*same bits again'
expect 'own loops of mlp .* GB/s = .* % of the copy'
expect 'operations of mlp, forward and backward .* calls .* TFLOP/s'
expect '  linear .* backward .* ms, .* %, .* GB/s'
expect 'mlp: ours / PyTorch .* emul. .*not measured on this kind of GPU'
expect 'not measured yet: tests ('
cmp "$folder/results/table.txt" "$folder/out/table.txt"
cmp "$folder/results/kernels.json" "$folder/out/kernels.json"
grep -q 'emulated GPU.*product ' "$folder/out/kernels.json"
tar -tzf "$folder/out/logs.tar.gz" | grep -q 'logs/profile.mlp.log'

if [ ! -e /dev/nvidiactl ]; then
  rm -r "$folder/results"
  status=0
  THALWEG_GPU='' sh tests/on_gpu.sh run || status=$?
  [ "$status" = 77 ]
  expect 'tests: nn_test .*no GPU: not run'
  if grep -E ' (yes|NO|emul\.) ' "$folder/results/table.txt"; then exit 1; fi
fi
