#!/bin/sh
# Spelling of what users read: README, the handbook, manual pages and --help, by hunspell's American dictionary and
# words.txt beside this script, which holds the field's words. Code in `backticks`, blocks, names with digits, dots or
# underscores and words in capitals are left out.
#
#   sh tests/layering/spelling.sh FOLDER_OF_PROGRAMS
#
# Exit code 77: hunspell is not here.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
command -v hunspell >/dev/null || { echo "skipped: hunspell is not here"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Markdown without blocks, code and addresses.
# shellcheck disable=SC2016 # backticks of Markdown
prose() { sed '/^```/,/^```/d; s/`[^`]*`//g; s/](\([^)]*\))/]/g; s/<!--.*-->//; s/<[^>]*>//g' "$@"; }
for page in "$top/README.md" "$top/CONTRIBUTING.md" $(find "$top/packaging/handbook/pages" -name '*.md' | sort); do
  prose "$page" >"$work/$(echo "${page#"$top/"}" | tr / _)"
done
for page in "$top"/packaging/man/*.[1-8]; do
  # What is set in bold or italics is a name, and so is all in .BR and .nf.
  sed '/^\.nf/,/^\.fi/d; /^\.\(B\|I\|BR\|RB\|IR\|RI\|BI\|IB\|TH\|SH\) /d; /^\./d; s/\\f[BI][^\\]*\\f[RP]//g; s/\\-/-/g; s/\\(../ /g; s/\\e//g' "$page" \
    >"$work/${page##*/}"
done
"$1/thalweg" --help | sed -n '/^Start:/,/^`/s/^  \([a-z][a-z]*\)  .*/\1/p' | while read -r command; do
  "$1/thalweg" "$command" --help | sed '/^Example:/,$d; s/`[^`]*`//g; s/--*[A-Za-z][^ ]*//g'
done >"$work/help"
failed=0
for text in "$work"/*; do
  # Names with digits, dots, slashes, underscores and equals signs are code.
  wrong=$(sed 's/[^[:space:]]*[0-9_=/@$%\\{}~][^[:space:]]*//g; s/[A-Za-z-]*\.[A-Za-z][A-Za-z.]*//g' "$text" |
    hunspell -d en_US -p "$top/tests/layering/words.txt" -l | grep -vE '^[A-Z]{2,}s?$|^.$' | sort -u || true)
  [ -z "$wrong" ] || { echo "${text##*/}: $(echo "$wrong" | paste -sd " ")"; failed=1; }
done
[ "$failed" = 0 ] || { echo "mend these words, or add the field's to tests/layering/words.txt"; exit 1; }
