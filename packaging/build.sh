#!/bin/sh
# Configures and builds Release into build/release; a second run rebuilds nothing. Arguments go to cmake --build.
#
#   --without-gpus  (first) in a folder that is not configured yet: no GPU code, which takes a third of the time. The next
#                   run without it adds that code where CUDA and cuDNN are found.
set -eu
cd "$(dirname "$0")/.."
mark=build/release/without-gpus
configure() {
  mkdir -p build
  cmake --preset release "-DTHALWEG_CUDA=$1" >build/configure.log 2>&1 || {
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
fi
exec cmake --build build/release "$@"
