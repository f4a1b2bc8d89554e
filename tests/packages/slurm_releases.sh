#!/bin/sh
# The agent's sources against headers of other Slurm releases than this machine's; nothing is linked.
#
#   sh tests/packages/slurm_releases.sh FOLDER...      each with slurm/slurm.h, for example of an unpacked libslurm-dev:
#   apt-get download libslurm-dev=24.11.5-4+deb13u1 && dpkg-deb -x libslurm-dev_*.deb 24.11   # FOLDER: 24.11/usr/include
#
# By ctest (Packages.SlurmReleases): with -DTHALWEG_SLURM_HEADERS="FOLDER;FOLDER".
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
compiler=${CXX:-g++}
[ $# -gt 0 ] || { sed -n '2,7s/^# \{0,1\}//p' "$0" && exit 2; }
status=0
for folder; do
  release=$(sed -n 's/^#define SLURM_VERSION_NUMBER 0x//p' "$folder/slurm/slurm_version.h") || exit 1
  printf '%d.%02d.%d: ' "0x${release%????}" "0x$(echo "$release" | cut -c3-4)" "0x${release#????}"
  mistakes=
  for source in "$top"/daemon/slurm_agent/*.cpp; do
    "$compiler" -std=c++20 -fsyntax-only -Wall -Wextra -Wshadow -Werror -I"$top" -I"$folder" "$source" ||
      mistakes="$mistakes ${source##*/}"
  done
  echo "${mistakes:-the agent compiles}"
  [ -z "$mistakes" ] || status=1
done
exit "$status"
