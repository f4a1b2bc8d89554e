#!/bin/sh
# Configures and builds Release into build/release; a second run rebuilds nothing. Arguments go to cmake --build.
# GPU code is for this machine's GPUs; where there is none, for A100 (newer ones compile it at their first start).
#
#   --without-gpus  (first) in a folder that is not configured yet: no GPU code, which takes a third of the time. The next
#                   run without it adds that code where CUDA and cuDNN are found.
#   --all-gpus      (first) GPU code for A100 and H100, as packages have it, from now on in that folder.
set -eu
cd "$(dirname "$0")/.."
mark=build/release/without-gpus all_gpus=
[ "${1:-}" != --all-gpus ] || { all_gpus=-DTHALWEG_ALL_GPUS=ON && shift; }
configure() {
  mkdir -p build
  cmake --preset release "-DTHALWEG_CUDA=$1" $all_gpus >build/configure.log 2>&1 || {
    tail -n 30 build/configure.log >&2
    echo "configuring failed; the whole log: build/configure.log" >&2
    exit 1
  }
}
if [ "${1:-}" = --without-gpus ]; then
  shift
  [ -f build/release/build.ninja ] || { configure OFF && touch "$mark"; }
elif [ -f "$mark" ] || [ ! -f build/release/build.ninja ]; then
  configure AUTO
  rm -f "$mark"
elif [ -n "$all_gpus" ]; then
  cmake $all_gpus build/release >>build/configure.log
fi
exec cmake --build build/release "$@"
