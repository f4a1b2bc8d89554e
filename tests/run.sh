#!/bin/sh
# Installs what is missing, builds Release and runs the tests. Ends with "N passed, N failed".
#
#   sh tests/run.sh [ARGUMENTS OF CTEST]        the first tier, which every change must pass: all that is quick, and of
#                                               each slow kind a member, drawn by a seed that is printed
#   sh tests/run.sh all [ARGUMENTS OF CTEST]    both tiers, then unit, comm and daemon tests with sanitizers: before a release
#
# The seed is the day, or THALWEG_TEST_SEED=N, which draws the same members again.
set -u
cd "$(dirname "$0")/.." || exit 1
# As root, /tmp is in memory while the tests run, in a mount namespace of their own: they make and remove files by the ten
# thousand, for which ext4 needs as much time as the tests themselves. Not where $TMPDIR names a folder.
if [ "$(id -u)" = 0 ] && [ -z "${TMPDIR:-}${THALWEG_TESTS_IN_MEMORY:-}" ] &&
  awk '$1 == "MemAvailable:" { found = $2 > 8e6 } END { exit !found }' /proc/meminfo &&
  case "$PWD:$HOME" in /tmp/* | *:/tmp/*) false ;; esac && unshare --mount mount -t tmpfs none /tmp 2>/dev/null; then
  THALWEG_TESTS_IN_MEMORY=1 exec unshare --mount sh -c 'mount -t tmpfs -o mode=1777 tests /tmp && exec "$@"' - \
    sh tests/run.sh "$@"
fi

tier=first
[ "${1:-}" != all ] || { tier=all && shift; }

stage=install began=$(date +%s) seconds=''
# stage NAME: the stage before it has ended
stage() {
  seconds="$seconds$stage $(($(date +%s) - began)) s, "
  stage=$1 began=$(date +%s)
}

# A fixed piece of work, as often at once as there are cores, takes each a second on a quiet machine: how many it takes
# here. Of CPU time: what else runs is counted while tests run (tests/support/deadline.h).
slowness() (
  for _ in $(seq "$(nproc)"); do
    awk 'BEGIN { for (i = 0; i < 9000000; i++) sum += i % 7; exit sum < 0 }' &
  done
  wait
  times | tail -n 1 | tr ms '  ' |
    awk -v n="$(nproc)" '{ s = (60 * $1 + $2 + 60 * $3 + $4) / n; printf "%.1f", s < 1 ? 1 : s }'
)

# Counts of a file of results are in its first tag: <testsuite name= tests="9" failures="0" disabled="0" skipped="1" ...
count() { sed -n '1,/<testcase/s/.*[[:space:]]'"$2"'="\([0-9]*\)".*/\1/p' "$1" | head -n 1; }

passed=0 failed=0 skipped=0 status=0
# run_tests BUILD_FOLDER ARGUMENTS_OF_CTEST...
run_tests() {
  folder=$1 results=$PWD/$1/test-results.xml
  shift
  # Virtual clusters at once: their tests mostly wait, for Slurm's timers and for what was killed to be given up.
  clusters=$(($(nproc) / 2))
  [ "$clusters" -ge 2 ] || clusters=2
  printf '{"version": {"major": 1, "minor": 0}, "local": [{"clusters": [{"id": "0", "slots": %d}]}]}\n' "$clusters" \
    >"$folder/test-resources.json"
  rm -f "$results"
  # Two more than cores: of the long ones, which start first, most wait for something.
  ctest --test-dir "$folder" --output-on-failure --no-tests=error -j "$(($(nproc) + 2))" \
    --resource-spec-file "$PWD/$folder/test-resources.json" --output-junit "$results" "$@" || status=$?
  [ -f "$results" ] || { echo "ctest wrote no results" >&2; exit 1; }
  left_out=$(($(count "$results" disabled) + $(count "$results" skipped)))
  failed=$((failed + $(count "$results" failures)))
  skipped=$((skipped + left_out))
  passed=$((passed + $(count "$results" tests) - $(count "$results" failures) - left_out))
  echo
  echo "The ten slowest:"
  sed -n 's/.*<testcase name="\([^"]*\)".* time="\([0-9.]*\)".*/\2 s \1/p' "$results" | sort -rn | head -n 10
}

sh packaging/install-packages.sh build data test || exit 1
stage build
sh packaging/build.sh || exit 1
stage tests
THALWEG_TEST_SEED=${THALWEG_TEST_SEED:-$(date +%Y%m%d)}
THALWEG_TEST_SLOWNESS=${THALWEG_TEST_SLOWNESS:-$(slowness)}
export THALWEG_TEST_SEED THALWEG_TEST_SLOWNESS
echo "THALWEG_TEST_SEED=$THALWEG_TEST_SEED THALWEG_TEST_SLOWNESS=$THALWEG_TEST_SLOWNESS"
if [ "$tier" = first ]; then
  run_tests build/release -LE second "$@"
else
  sh packaging/build.sh --target benches || exit 1
  run_tests build/release -LE drawn "$@"
  for sanitizer in asan tsan; do
    stage $sanitizer
    { cmake --preset $sanitizer >build/$sanitizer.log 2>&1 && cmake --build build/$sanitizer >>build/$sanitizer.log 2>&1; } ||
      { tail -n 30 build/$sanitizer.log >&2; exit 1; }
    run_tests build/$sanitizer --preset $sanitizer
  done
fi
stage end
echo "${seconds%, }"
if [ "$skipped" -gt 0 ]; then
  echo "$passed passed, $failed failed, $skipped skipped"
else
  echo "$passed passed, $failed failed"
fi
exit $status
