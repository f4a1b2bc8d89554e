#!/bin/sh
# Everything that is given out with a release, in build/release-VERSION: RPMs, .debs, the tarball, SHA256SUMS, and
# release-notes.md, this version's part of CHANGELOG.md.
#
#   sh packaging/release.sh               checks, builds, packs; tags nothing
#   sh packaging/release.sh --try         also from a tree with changes, packed quickly: to look at
#
# Before it: `sh tests/run.sh all`. After it: git tag -s vVERSION. Packages of the group `release` are installed.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top"
fast=''
case ${1:-} in
  --try) fast=--fast ;;
  '') ;;
  *) sed -n '2,8s/^# \{0,1\}//p' "$0" && exit 2 ;;
esac
die() { echo "$0: $*" >&2; exit 1; }
version=$(sed -n 's/^project(thalweg VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ -n "$version" ] || die "no version in CMakeLists.txt"
grep -q "^## \[$version\]" CHANGELOG.md || die "CHANGELOG.md has no section [$version]"
grep -q "^version: $version\$" CITATION.cff || die "CITATION.cff has another version than $version"
if [ -z "$fast" ]; then
  [ -z "$(git status --porcelain)" ] || die "the tree has changes that are in no commit"
  awk '/^## \[Unreleased\]/ { inside = 1; next } /^## / { inside = 0 } inside && NF { found = 1 } END { exit found }' CHANGELOG.md ||
    die "CHANGELOG.md says something under [Unreleased]: it belongs to [$version] now"
fi
sh packaging/install-packages.sh build release
out=build/release-$version
rm -rf "$out"
[ -n "${THALWEG_BUILT:-}" ] || { sh packaging/build.sh --all-gpus --target programs && THALWEG_BUILT=build/release; }
sh packaging/packages.sh rpm deb tar $fast --built "$THALWEG_BUILT" --out "$out" >/dev/null
awk -v head="## [$version]" 'index($0, head) == 1 { inside = 1; next } /^## / { inside = 0 } inside' CHANGELOG.md >"$out/release-notes.md"
[ -s "$out/release-notes.md" ] || die "no notes"
commit=$("$THALWEG_BUILT/bin/thalweg" --version | sed -n 's/.*(commit \(.*\)).*/\1/p')
[ -n "$fast" ] || [ "$commit" = "$(git describe --always --exclude='*' --abbrev=12)" ] || die "the programs were built from $commit"
(cd "$out" && sha256sum -- *.rpm *.deb *.tar.xz >SHA256SUMS && sha256sum --quiet -c SHA256SUMS)
ls -l "$out"
echo "version $version, commit $commit; tag it: git tag -s v$version"
