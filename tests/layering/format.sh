#!/bin/sh
# Every C++ file of the components is as clang-format 14 writes it (other releases lay out a few things differently).
# Exit status 77: skipped, with the reason.
cd "$(dirname "$0")/../.." || exit 1
for name in clang-format-14 clang-format; do
  case $("$name" --version 2>/dev/null) in
    *"version 14."*) program=$name; break ;;
  esac
done
[ -n "${program:-}" ] || { echo "skipped: there is no clang-format 14 here"; exit 77; }
files=$(find base jobspec db engine daemon cli tests -name '*.h' -o -name '*.cpp' -o -name '*.cu')
[ "$(echo "$files" | wc -l)" -gt 100 ] ||
  { echo "found too few files to be believed"; exit 1; }
echo "$files" | xargs "$program" --dry-run -Werror
