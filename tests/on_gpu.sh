#!/bin/sh
# All tests and measurements of the cuda device on a bare machine with a GPU (driver, CUDA 13's and cuDNN 9's libraries or
# PyTorch's own copies of them, python3 with PyTorch for the peers; no network, no UCX, no PMIx).
#
#   sh tests/on_gpu.sh pack        on the machine that builds: the programs and the libraries that they need, to be carried to
#                                  the other machine as build/on_gpu.tar.xz
#   sh tests/on_gpu.sh run         there, in a copy of this repository with that archive: everything, in about 20 minutes;
#                                  prints one table, which is kept in tests/bench/results
#   sh tests/on_gpu.sh run tests   one part: tests, steps, kernels, optimizers, ranks, sanitize; or one item: steps:gpt2
#
# Where a command may take ten minutes only: parts by themselves end after minutes=9, and the same command again goes on
# with what is left. What was measured stands in build/on_gpu/results, also after Ctrl-C; carry that folder on to another machine of
# the kind to go on there. seconds=4 is what a measurement takes. FOLDER=build/on_gpu in the environment names another folder, PYTHON
# the python that has PyTorch.
# THALWEG_GPU=emulated tries the script where there is no GPU; its numbers are no results, and the table says so.
set -u
cd "$(dirname "$0")/.." || exit
verb=${1:-} folder=${FOLDER:-build/on_gpu} build=${BUILD:-build/release}
[ $# -gt 0 ] && shift
tests="gpu_test nn_test optim_test sync_test train_test curves_test"
programs="bench_step bench_gpu bench_kernels bench_optimizers thalweg-train thalweg-launch"

pack() {
  if [ "$build" = build/release ]; then sh packaging/build.sh --target $tests $programs || exit 1; fi
  rm -rf "$folder" "$folder.tar.xz" && mkdir -p "$folder/bin" "$folder/lib"
  for name in $tests; do cp "$build/tests/$name" "$folder/bin/" || exit 1; done
  for name in $programs; do cp "$build/bin/$name" "$folder/bin/" || exit 1; done
  { git describe --always --dirty 2>/dev/null || echo unknown; } >"$folder/commit"
  # The C library and what belongs to the driver and to CUDA are that machine's own.
  ldd "$folder"/bin/* | awk '$3 ~ /^\// {print $3}' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*|libcuda|libcudart|libcublas[^/]*|libcudnn[^/]*|libnccl)\.so' |
    while read -r library; do cp -L "$library" "$folder/lib/"; done
  # What UCX and PMIx load at run time is not needed on one machine: ranks share memory by what libuct has built in.
  strip --strip-unneeded "$folder"/bin/* "$folder"/lib/* 2>/dev/null
  # One dictionary over all programs, which share most of what they hold.
  tar -C "$folder" -cf - bin lib commit | xz -9 -T1 >"$folder.tar.xz"
  echo "Carry $folder.tar.xz ($(du -h "$folder.tar.xz" | cut -f1)) and this repository to the machine with the GPU, then there:"
  echo "  sh tests/on_gpu.sh run"
}

run() {
  if [ ! -d "$folder/bin" ] && [ -f "$folder.tar.xz" ]; then python3 -m tarfile -e "$folder.tar.xz" "$folder" || exit; fi
  [ -x "$folder/bin/nn_test" ] || { echo "$folder holds no programs: sh tests/on_gpu.sh pack, where they are built" >&2; exit 2; }
  exec "${PYTHON:-python3}" tests/bench/gpu/on_gpu.py "$folder" "$@"
}

case $verb in
  pack | run) $verb "$@" ;;
  *) sed -n '2,19s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
