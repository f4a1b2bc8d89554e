#!/bin/sh
# Runs some cases of a GoogleTest program, or one of several commands, drawn by a seed: of each slow kind the first tier has
# a member or two, other ones in other runs. THALWEG_TEST_SEED draws the same again.
#
#   sh tests/draw.sh COUNT PROGRAM FILTER      cases of the program that the filter (--gtest_filter) leaves
#   sh tests/draw.sh 1 -- COMMAND WORD...      a line for the shell, in which $1 is one of the words
set -u
count=$1 program=$2 filter=$3
seed=${THALWEG_TEST_SEED:-$(date +%Y%m%d)}

# draw COUNT: so many of the lines of standard input, the same ones for the same seed
draw() {
  LC_ALL=C sort | awk -v seed="$seed" -v count="$1" '
    BEGIN { srand(seed); for (i = 0; i < 20; i++) rand() }
    { lines[NR] = $0 }
    END {
      left = NR
      while (count-- > 0 && left > 0) {
        i = 1 + int(rand() * left)
        print lines[i]
        lines[i] = lines[left--]
      }
    }'
}

if [ "$program" = -- ]; then
  command=$3
  shift 3
  drawn=$(printf '%s\n' "$@" | draw "$count")
  echo "THALWEG_TEST_SEED=$seed draws $drawn"
  exec sh -c "$command" sh "$drawn"
fi
# Suite.         the list's lines, with "  Case" and "  Case  # GetParam() = ..." below
drawn=$("$program" --gtest_list_tests "--gtest_filter=$filter" |
  awk '/^[^ ]+\.( *#.*)?$/ { suite = $1; next } /^  / { print suite $1 }' | draw "$count" | paste -sd : -)
[ -n "$drawn" ] || { echo "no case of $program fits $filter" >&2; exit 1; }
echo "THALWEG_TEST_SEED=$seed draws $drawn"
exec "$program" "--gtest_filter=$drawn"
