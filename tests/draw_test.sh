#!/bin/sh
# tests/draw.sh: the same seed draws the same, and over many seeds every member is drawn.
set -u
cd "$(dirname "$0")" || exit 1
words='a b c d e'
drawn() { # drawn SEED COUNT
  # shellcheck disable=SC2086,SC2016
  THALWEG_TEST_SEED=$1 sh draw.sh "$2" -- 'echo $1' $words | tail -n +2
}
seen=''
for seed in $(seq 1790000000 1790000039); do
  one=$(drawn "$seed" 1)
  [ "$one" = "$(drawn "$seed" 1)" ] || { echo "seed $seed draws $one, then something else"; exit 1; }
  seen="$seen $one"
done
for word in $words; do
  case $seen in *" $word"*) ;; *) echo "40 seeds never draw $word:$seen"; exit 1 ;; esac
done
three=$(drawn 7 3 | tr ' ' '\n' | sort -u | wc -l)
[ "$three" = 3 ] || { echo "three drawn members are $three different ones"; exit 1; }
