#!/bin/sh
# All tests and measurements of the cuda device on a bare machine with a GPU (driver, CUDA 13's and cuDNN 9's libraries or
# PyTorch's own copies of them, python3 with PyTorch for the peers; no network, no UCX, no PMIx).
#
#   sh tests/on_gpu.sh pack        on the machine that builds: the programs and the libraries that they need, to be carried to
#                                  the other machine as build/on_gpu.tar.xz; pack architectures=90-real builds for that GPU alone
#   sh tests/on_gpu.sh run smoke   there, in a copy of this repository with that archive: first contact, in 6 minutes: what is most
#                                  likely to fail, and what explains slow kernels
#   sh tests/on_gpu.sh run         everything, in calls of 9 minutes each; prints one table, which is kept in tests/bench/results
#   sh tests/on_gpu.sh run tests   one part: tests, first, loops, profile, steps, peers, kernels, optimizers, ranks, sanitize; or one
#                                  item: steps:gpt2, peers:gpt2
#
# What compares numbers comes first, several items at a time (at_once=: half of the cores at most), and PyTorch's models are compiled
# meanwhile; what measures times then runs alone. A call ends after minutes=9 (0: when all is done), each item after 45 to 90 seconds,
# and the same command goes on with what is left. What was measured stands in build/on_gpu/results, also after Ctrl-C, and in the folder
# that OUT in the environment names, after every item: rows.json, table.txt, logs.tar.gz, kernels.json (measured ways of calls).
# RESULTS names a folder with those of an earlier call, to go on there on another machine of the kind.
# Rows belong to the programs that made them: another build measures anew. PyTorch is measured once for each kind of GPU (run peers,
# kept in tests/bench/results/peers-GPU.json), and again only by name. seconds=4 is what a measurement takes, limit=60 what an
# item may at most. FOLDER=build/on_gpu in the environment names another folder, PYTHON the python that has PyTorch.
# THALWEG_GPU=emulated tries the script where there is no GPU; its numbers are no results, and the table says so.
set -u
cd "$(dirname "$0")/.." || exit
verb=${1:-} folder=${FOLDER:-build/on_gpu} build=${BUILD:-build/release}
[ $# -gt 0 ] && shift
tests="gpu_test nn_test optim_test sync_test train_test curves_test"
programs="bench_step bench_gpu bench_kernels bench_optimizers thalweg-train thalweg-launch"
# Tests and benches have the emulated GPU, and this twin of the program that has not.
twin=; [ "${THALWEG_GPU:-}" != emulated ] || twin=thalweg-train-emulated

pack() {
  case ${1:-} in
    architectures=*) build=build/on_gpu_build
      cmake --preset release -B "$build" -DTHALWEG_BENCH=ON -DTHALWEG_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=${1#*=}" >/dev/null &&
        cmake --build "$build" --target $tests $programs $twin || exit 1 ;;
    '') if [ "$build" = build/release ]; then sh packaging/build.sh --all-gpus --target $tests $programs $twin || exit 1; fi ;;
    *) echo "on_gpu.sh pack: '$1' is not architectures=..." >&2; exit 2 ;;
  esac
  rm -rf "$folder" "$folder.tar.xz" && mkdir -p "$folder/bin" "$folder/lib"
  for name in $tests; do cp "$build/tests/$name" "$folder/bin/" || exit 1; done
  for name in $programs; do cp "$build/bin/$name" "$folder/bin/" || exit 1; done
  [ -z "$twin" ] || cp "$build/tests/emulated/thalweg-train" "$folder/bin/" || exit 1
  { git describe --always --dirty 2>/dev/null || echo unknown; } >"$folder/commit"
  # The C library and what belongs to the driver and to CUDA are that machine's own.
  ldd "$folder"/bin/* | awk '$3 ~ /^\// {print $3}' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*|libcuda|libcudart|libcublas[^/]*|libcudnn[^/]*|libnccl)\.so' |
    while read -r library; do cp -L "$library" "$folder/lib/"; done
  # What the cpu device computes is known before; a GPU's time is dear.
  THALWEG_WRITE_CPU_CURVES="$folder/cpu_curves" "$folder/bin/curves_test" --gtest_filter='CpuCurves.AreWritten*' >/dev/null ||
    { echo "the cpu device's curves could not be made" >&2; exit 1; }
  # What UCX and PMIx load at run time is not needed on one machine: ranks share memory by what libuct has built in.
  strip --strip-unneeded "$folder"/bin/* "$folder"/lib/* 2>/dev/null
  # One dictionary over all programs, which share most of what they hold.
  tar -C "$folder" -cf - bin lib commit cpu_curves | xz -6 -T0 >"$folder.tar.xz"
  echo "Carry $folder.tar.xz ($(du -h "$folder.tar.xz" | cut -f1)) and this repository to the machine with the GPU, then there:"
  echo "  sh tests/on_gpu.sh run smoke"
}

run() {
  if [ ! -d "$folder/bin" ] && [ -f "$folder.tar.xz" ]; then python3 -m tarfile -e "$folder.tar.xz" "$folder" || exit; fi
  [ -x "$folder/bin/nn_test" ] || { echo "$folder holds no programs: sh tests/on_gpu.sh pack, where they are built" >&2; exit 2; }
  exec "${PYTHON:-python3}" tests/bench/gpu/on_gpu.py "$folder" "$@"
}

case $verb in
  pack | run) $verb "$@" ;;
  *) sed -n '2,/^set -u/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 2 ;;
esac
