#!/bin/sh
# All tests and measurements of the cuda device on a bare machine with a GPU (driver, CUDA 13's and cuDNN 9's libraries or
# PyTorch's own copies of them, python3 with PyTorch for the peers; no network, no UCX, no PMIx).
#
#   sh tests/on_gpu.sh pack [FOLDER]   on the machine that builds: the programs and the libraries that they need, to be
#                                      carried to the other machine as FOLDER.tar.xz (FOLDER: build/on_gpu)
#   sh tests/on_gpu.sh run [FOLDER]    there, in a copy of this repository with that folder: tests, compute-sanitizer,
#                                      measurements beside PyTorch; ends with one table, also in FOLDER/results
set -u
cd "$(dirname "$0")/.."
verb=${1:-} folder=${2:-build/on_gpu}
tests="gpu_test nn_test optim_test sync_test train_test"
programs="bench_step bench_gpu bench_kernels bench_optimizers thalweg-train thalweg-launch"

pack() {
  sh packaging/build.sh --target $tests $programs || exit 1
  rm -rf "$folder" && mkdir -p "$folder/bin" "$folder/lib"
  for name in $tests; do cp "build/release/tests/$name" "$folder/bin/"; done
  for name in $programs; do cp "build/release/bin/$name" "$folder/bin/"; done
  # The C library and what belongs to the driver and to CUDA are that machine's own.
  ldd "$folder"/bin/* | awk '$3 ~ /^\// {print $3}' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|ld-linux[^/]*|libcuda|libcudart|libcublas[^/]*|libcudnn[^/]*|libnccl)\.so' |
    while read -r library; do cp -L "$library" "$folder/lib/"; done
  # UCX and PMIx load parts of themselves at run time; without them a rank is alone, which is what is measured there.
  strip --strip-unneeded "$folder"/bin/* "$folder"/lib/* 2>/dev/null
  tar -C "$folder" -cJf "$folder.tar.xz" bin lib
  echo "Carry $folder.tar.xz ($(du -h "$folder.tar.xz" | cut -f1)) and this repository to the machine with the GPU, then there:"
  echo "  sh tests/on_gpu.sh run $folder"
}

run() {
  if [ ! -d "$folder/bin" ] && [ -f "$folder.tar.xz" ]; then mkdir -p "$folder" && tar -C "$folder" -xJf "$folder.tar.xz"; fi
  [ -x "$folder/bin/nn_test" ] || { echo "$folder holds no programs: sh tests/on_gpu.sh pack, where they are built" >&2; exit 2; }
  exec python3 tests/bench/gpu/on_gpu.py "$folder"
}

case $verb in
  pack | run) $verb ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "$0"; exit 2 ;;
esac
