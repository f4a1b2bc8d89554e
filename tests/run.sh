#!/bin/sh
# Installs what is missing, builds Release, runs every test (the real-Slurm ones too, where this machine allows
# network namespaces). Ends with "N passed, N failed". Arguments go to ctest: sh tests/run.sh -R Expand
set -u
cd "$(dirname "$0")/.."
sh packaging/install-packages.sh build data test || exit 1
sh packaging/build.sh || exit 1

results=build/release/test-results.xml
rm -f "$results"
ctest --test-dir build/release --output-on-failure --no-tests=error -j "$(nproc)" \
  --output-junit "$PWD/$results" "$@"
status=$?
[ -f "$results" ] || { echo "ctest wrote no results" >&2; exit 1; }

# The counts stand in the first tag: <testsuite name= tests="9" failures="0" disabled="0" skipped="1" ...
count() { sed -n '1,/<testcase/s/.*[[:space:]]'"$1"'="\([0-9]*\)".*/\1/p' "$results" | head -n 1; }
tests=$(count tests) failures=$(count failures) disabled=$(count disabled) skipped=$(count skipped)
left_out=$((${disabled:-0} + ${skipped:-0}))
echo
if [ "$left_out" -gt 0 ]; then
  echo "$((tests - failures - left_out)) passed, $failures failed, $left_out skipped"
else
  echo "$((tests - failures)) passed, $failures failed"
fi
exit $status
