#!/bin/sh
# Configures and builds Release into build/release; a second run rebuilds nothing. Arguments go to cmake --build.
set -eu
cd "$(dirname "$0")/.."
[ -f build/release/build.ninja ] || {
  mkdir -p build
  cmake --preset release >build/configure.log 2>&1 || {
    tail -n 30 build/configure.log >&2
    echo "configuring failed; the whole log: build/configure.log" >&2
    exit 1
  }
}
exec cmake --build build/release "$@"
