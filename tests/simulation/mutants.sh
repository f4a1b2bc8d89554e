#!/bin/sh
# mutants.sh [SEEDS [NAME...]]: puts defects that existed once back into the sources, one after the other, and says within
# how many of SEEDS (10000) simulated runs each is found. At least nine of ten have to be, else the faults are too tame.
# NAME.local.patch is looked for where the local backend is simulated.
# The sources are as they were afterwards. `mutants.sh check` only says whether they can be put back.
set -eu
cd "$(dirname "$0")/../.."
if [ "${1-}" = check ]; then
  for patch in tests/simulation/mutants/*.patch; do
    git apply --check "$patch"
  done
  exit
fi
seeds=${1:-10000}
[ $# = 0 ] || shift
patches=tests/simulation/mutants/*.patch
if [ $# -gt 0 ]; then
  patches=
  for name in "$@"; do
    patches="$patches tests/simulation/mutants/$name.patch"
  done
fi
build=build/release
found=0 all=0
applied=
restore() {
  [ -z "$applied" ] || git apply -R "$applied"
  applied=
}
trap restore EXIT
trap 'exit 130' INT TERM
make() {
  ninja -C $build simulate >$build/mutants.log 2>&1 || { tail -n 20 $build/mutants.log; exit 1; }
}
make
cp $build/tests/simulate $build/tests/simulate.without
for patch in $patches; do
  all=$((all + 1))
  git apply "$patch"
  applied=$patch
  make
  name=$(basename "$patch" .patch)
  backend=
  case $name in *.local) backend=--local ;; esac
  # shellcheck disable=SC2086 # no word where it is empty
  if seen=$($build/tests/simulate $backend --seed 0 --count "$seeds" --stop-after 1); then
    echo "$name: NOT FOUND"
  else
    first=$(echo "$seen" | head -n 1)
    seed=${first#seed }
    # shellcheck disable=SC2086
    if $build/tests/simulate.without $backend --seed "${seed%%:*}" >$build/mutants.log; then
      found=$((found + 1))
      echo "$name: $first"
    else
      echo "$name: NOT FOUND, seed ${seed%%:*} breaks without it, too"
    fi
  fi
  restore
done
make
rm $build/tests/simulate.without
echo "$found of $all found"
[ $((found * 10)) -ge $((all * 9)) ]
