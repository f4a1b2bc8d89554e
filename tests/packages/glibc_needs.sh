#!/bin/sh
# What programs and libraries need of glibc, by the versions of the symbols that they take from it.
#
#   sh tests/packages/glibc_needs.sh VERSION FOLDER...      prints each file that needs more than VERSION; exit code 1 if any
#
# References that are marked weak do not count: the loader starts such a file without them.
set -u
limit=$1
shift
command -v objdump >/dev/null || { echo "objdump is not here" >&2; exit 2; }
# Lines of `objdump -p`: hash, flags (0x02 is weak), index and name of a version needed.
find "$@" -type f -exec objdump -p {} + 2>/dev/null | awk -v limit="$limit" '
  function newer(version,   own, most, i) {
    split(version, own, "."); split(limit, most, ".")
    for (i = 1; i <= 3; ++i) if (own[i] + 0 != most[i] + 0) return own[i] + 0 > most[i] + 0
    return 0
  }
  /: +file format / { file = $1; sub(/:$/, "", file); needs = 0 }
  /^Version References:/ { needs = 1 }
  needs && $2 ~ /^0x/ && $2 != "0x02" && $4 ~ /^GLIBC_/ {
    ++seen
    version = $4; sub(/^GLIBC_/, "", version)
    # Others than numbers are promises about the loader, such as GLIBC_ABI_DT_RELR of 2.36.
    if (version !~ /^[0-9.]+$/ || newer(version)) { print file " needs " $4; bad = 1 }
  }
  END {
    if (!seen) { print "no file here needs anything of glibc, which cannot be"; exit 1 }
    exit bad
  }'
