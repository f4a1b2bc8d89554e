#!/bin/sh
# The handbook as a whole: `build` makes its pages and looks into them; `pictures` draws the pictures again from their
# recording and compares them with those that the README and the pages show.
#
#   sh tests/end_to_end/handbook.sh build|pictures FOLDER_OF_PROGRAMS
#
# Exit code 77: cannot be tried here, the reason is printed.
set -eu
top=$(cd "$(dirname "$0")/../.." && pwd)
THALWEG_BIN_DIR=$2
export THALWEG_BIN_DIR
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
die() { echo "FAILED: $*" >&2; exit 1; }
case $1 in
  build)
    { command -v mkdocs && command -v mandoc; } >/dev/null || [ "$(id -u)" = 0 ] ||
      { echo "skipped: mkdocs and mandoc are not here (sh packaging/install-packages.sh handbook)"; exit 77; }
    sh "$top/packaging/handbook/build.sh" "$work/site"
    [ -s "$work/site/search/search_index.json" ] || die "no search"
    for command in init compare extend backup; do
      grep -q "id=\"thalweg-$command\"" "$work/site/reference/commands.html" || die "no thalweg $command in the reference"
    done
    grep -q 'early_terminate' "$work/site/reference/thalweg-sweep.5.html" || die "thalweg-sweep(5) is empty"
    ! grep -rlE '(src|href)="https?://[^"]*\.(js|css|woff2?)"' "$work/site" --include='*.html' || die "pages load from elsewhere"
    ;;
  pictures)
    python3 "$top/packaging/handbook/pictures.py" draw --out "$work"
    for picture in watch compare curve; do
      cmp "$work/$picture.svg" "$top/packaging/handbook/pages/pictures/$picture.svg" ||
        die "the picture shows something else: python3 packaging/handbook/pictures.py draw"
    done
    ;;
esac
echo passed
