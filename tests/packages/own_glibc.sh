#!/bin/sh
# What the tarball does where glibc lacks symbols that its libraries take: run by a user, with the loader told to take those
# of libthalweg_glibc.so even where glibc has them.
#
#   sh tests/packages/own_glibc.sh FOLDER      FOLDER: the tarball's, with bin/ and lib/
set -u
folder=$1
die() { echo "FAILED: $*" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
preloaded() { LD_PRELOAD=$folder/lib/thalweg/bundled/libthalweg_glibc.so "$@"; }
from_own() { grep -q "/$1 \[0\] to .*/libthalweg_glibc.so \[0\]: normal symbol .$2'" "$work/log"; }

# Thrown in libyaml-cpp and caught by us: the unwinder asks which library an address is in.
echo 'method: [grid' >"$work/broken.yaml"
LD_DEBUG=bindings preloaded "$folder/bin/thalweg" validate "$work/broken.yaml" >"$work/log" 2>&1
status=$?
grep -q 'this is not YAML' "$work/log" || die "an exception is not caught"
[ "$status" = 2 ] || die "validate ends with $status"
from_own libgcc_s.so.1 _dl_find_object || die "the unwinder took glibc's _dl_find_object"
# The launcher's tokens, and two ranks that meet.
LD_DEBUG=bindings preloaded "$folder/bin/thalweg-launch" -n 2 -- "$folder/bin/thalweg-perf" allreduce -e 4K -i 10 >"$work/log" 2>&1 ||
  die "two ranks do not meet"
from_own 'libevent_core[^ ]*' arc4random || die "libevent took glibc's arc4random"
