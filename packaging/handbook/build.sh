#!/bin/sh
# Writes the handbook as static pages with search:
#
#   sh packaging/handbook/build.sh [OUT]      default: build/handbook
#
# Needs the packages of the group `handbook` (packaging/packages.txt; installed where they are missing) and the programs
# of build/release, or of the folder that THALWEG_BIN_DIR names: the reference is what they and the manual pages say.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
out=${1:-$top/build/handbook}
bin=${THALWEG_BIN_DIR:-$top/build/release/bin}
sh "$top/packaging/install-packages.sh" handbook
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -r "$top/packaging/handbook/pages" "$top/packaging/handbook/mkdocs.yml" "$work"
reference=$work/pages/reference
mkdir -p "$reference"

# page NAME FILE: a manual page as HTML inside Markdown
page() {
  name=$(echo "$1" | sed 's/\(.*\)\.\([0-9]\)$/\1(\2)/')
  {
    printf '# %s\n\n' "$name"
    mandoc -T html -O fragment "$2" | sed '/<table class="head">/,/<\/table>/d; /<table class="foot">/,/<\/table>/d' |
      sed 's|<h1 |<h2 |; s|</h1>|</h2>|'
  } >"$reference/$1.md"
}
for each in "$top"/packaging/man/*.[1-8]; do
  page "${each##*/}" "$each"
done
"$bin/thalweg-train" --manual >"$work/thalweg-sweep-train.5"
page thalweg-sweep-train.5 "$work/thalweg-sweep-train.5"

# Its links lead into the sources.
sed -E 's/\[([^]]*)\]\([^#h)][^)]*\)/\1/g' "$top/jobspec/sweep-file.md" >"$reference/sweep-file.md"

# block COMMAND...: what it says, as it is
block() {
  printf '```text\n'
  "$@"
  printf '```\n\n'
}
{
  printf '# Commands\n\n'
  block "$bin/thalweg" --help
  "$bin/thalweg" --help | sed -n '/^Start:/,/^`/s/^  \([a-z][a-z]*\)  .*/\1/p' | while read -r command; do
    printf '## thalweg %s\n\n' "$command"
    block "$bin/thalweg" "$command" --help
  done
} >"$reference/commands.md"

mkdocs build --strict --clean --config-file "$work/mkdocs.yml" --site-dir "$out" >"$work/log" 2>&1 || { grep -E "WARNING|ERROR|Aborted" "$work/log" >&2; exit 1; }
echo "written: $out/index.html (search needs a server: python3 -m http.server --directory $out)"
