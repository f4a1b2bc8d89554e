#!/bin/sh
# Installs the distribution packages of the groups named: sh packaging/install-packages.sh build data test
# Uses root or sudo; asks for nothing that is there already.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || { echo "usage: $0 GROUP... (build, data, test, bench, handbook, release)" >&2; exit 2; }

if command -v apt-get >/dev/null 2>&1; then family=debian column=2
elif command -v dnf >/dev/null 2>&1; then family=fedora column=3
else
  echo "$0: neither apt-get nor dnf here; install the packages of packaging/packages.txt by hand" >&2
  exit 1
fi

wanted=
for group in "$@"; do
  names=$(awk -v g="$group" -v c=$column '$1 == g && $c != "-" {print $c}' "$here/packages.txt" | tr ',' ' ')
  [ -n "$names" ] || { echo "$0: no group '$group' in packaging/packages.txt" >&2; exit 2; }
  wanted="$wanted $names"
done

missing=
for name in $wanted; do
  case $family in
    debian) dpkg-query -W -f='${Status}' "$name" 2>/dev/null | grep -q '^install ok installed' || missing="$missing $name" ;;
    fedora) rpm -q "$name" >/dev/null 2>&1 || missing="$missing $name" ;;
  esac
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" != 0 ]; then
  command -v sudo >/dev/null 2>&1 || {
    echo "$0: these packages are missing and need root (no sudo here):$missing" >&2
    exit 1
  }
  as_root=sudo
fi
echo "installing:$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Services are not started: the tests bring up their own munged and Slurm.
case $family in
  debian)
    { $as_root apt-get update && $as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1 ;;
  fedora) $as_root dnf install -y $missing >"$log" 2>&1 ;;
esac || {
  tail -n 20 "$log" >&2
  echo "$0: the installation failed (its last lines stand above)" >&2
  exit 1
}
