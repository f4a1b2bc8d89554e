#!/bin/sh
# Packages on a machine that has nothing but Debian's minimal system: what they require comes from the distribution, then a
# user runs a sweep. Unlike packages_test.sh it finds out whether a package names all that it needs.
#
#   sh tests/packages/fresh_root.sh deb|rpm BUILD_FOLDER
#
# Needs root, debootstrap and the distribution's mirror. Exit code 77: cannot be tried here, the reason is printed.
set -u
kind=$1 built=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)

if [ "${3:-}" != inside ]; then
  skip() { echo "skipped: $1"; exit 77; }
  [ "$(id -u)" = 0 ] || skip "needs root, for a root folder of its own"
  command -v debootstrap >/dev/null || skip "debootstrap is not here"
  [ "$kind" = deb ] || command -v rpmbuild >/dev/null || skip "rpmbuild is not here"
  unshare --mount --pid --fork true 2>/dev/null || skip "namespaces are not allowed here"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  unshare --mount --pid --fork --kill-child -- sh "$0" "$kind" "$built" inside "$work"
  status=$?
  [ "$status" = 0 ] && echo "passed"
  exit "$status"
fi

work=$4 root=$4/root
die() { echo "FAILED: $*" >&2; exit 1; }
mirror=$(apt-get indextargets --format "\$(REPO_URI)" "Created-By: Packages" | head -n 1)
suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$work/log" 2>&1 ||
  { tail -n 2 "$work/log"; echo "skipped: debootstrap gets no minimal system from $mirror"; exit 77; }
for each in "-t proc proc $root/proc" "--bind /dev $root/dev" "--bind /sys $root/sys" "-t tmpfs none $root/dev/shm"; do
  # shellcheck disable=SC2086
  mount $each || die "mount $each"
done
cp -L /etc/resolv.conf "$root/etc/resolv.conf"
in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
as_user() { in_root HOME=/home/thaltest su -s /bin/sh thaltest -c "cd; $1"; }
in_root useradd --create-home thaltest || die "no user"

# As they are given out; those whose dependencies alone are looked at need not be small.
fast=''
[ "$kind" = deb ] || fast=--fast
# shellcheck disable=SC2086
sh "$top/packaging/packages.sh" deb $fast --built "$built" --out "$work/deb" >"$work/log" 2>&1 || { cat "$work/log"; die "packages"; }
mkdir "$root/tmp/packages"

# Without the engine, and without the libraries that it computes with.
own_programs() {
  in_root sh -c 'cd /tmp/packages && apt-get update && apt-get install -y --no-install-recommends ./thalweg_*.deb \
    ./thalweg-controller_*.deb ./thalweg-attempt_*.deb' >"$work/log" 2>&1 || { tail -n 30 "$work/log"; die "apt-get install"; }
  libraries=$(find "$root/usr/lib" -name 'libdnnl*' -o -name 'libucp*' -o -name 'libhdf5*')
  [ -z "$libraries" ] || die "own programs bring the engine's libraries: $libraries"
  cp "$here/own_program.yaml" "$here/own_program.sh" "$root/home/thaltest/"
  as_user "thalweg run own_program.yaml" >"$work/log" 2>&1 || { cat "$work/log"; die "run of an own program"; }
  said=$(as_user "thalweg query --csv 'select count(*), sum(state = '\''finished'\''), (select min(value) from metrics) from trials'" | tail -n 1)
  [ "$said" = 4,4,0.125 ] || die "own trials, those finished and the best: $said"
  # What needs the engine says so.
  cp "$here/sweep.yaml" "$root/home/thaltest/sweep.yaml"
  as_user "thalweg submit --dry-run sweep.yaml" >"$work/log" 2>&1
  grep -q 'thalweg-train' "$work/log" || { cat "$work/log"; die "nothing says that the engine is missing"; }
  as_user "thalweg rm --yes own-program && thalweg daemon stop" >"$work/log" 2>&1 || { cat "$work/log"; die "rm"; }
}

case $kind in
  deb)
    cp "$work"/deb/*.deb "$root/tmp/packages/"
    own_programs
    in_root sh -c 'apt-get install -y --no-install-recommends /tmp/packages/*.deb' >"$work/log" 2>&1 ||
      { tail -n 30 "$work/log"; die "apt-get install"; }
    ;;
  rpm)
    # The libraries are Debian's; which rpm requires are told by a package that provides them.
    sh "$top/packaging/packages.sh" rpm --fast --built "$built" --out "$work/rpm" >"$work/log" 2>&1 || { cat "$work/log"; die "packages"; }
    needed=$(for each in "$work"/deb/*.deb; do dpkg-deb -f "$each" Depends; done | tr ',' '\n' |
      sed 's/ *(.*//; s/|.*//; s/ //g' | grep -v '^$\|thalweg' | sort -u | tr '\n' ' ')
    in_root sh -c "apt-get update && apt-get install -y --no-install-recommends $needed" >"$work/log" 2>&1 ||
      { tail -n 30 "$work/log"; die "apt-get install"; }
    {
      printf 'Name: machine\nVersion: 1\nRelease: 1\nSummary: x\nLicense: x\nBuildArch: noarch\n'
      rpm -qp --requires "$work"/rpm/*.rpm | sort -u | grep -vE '^(rpmlib|thalweg|config\(|/bin/sh)' | sed 's/^/Provides: /'
      printf 'Provides: /bin/sh\n%%description\nx\n%%files\n'
    } >"$work/machine.spec"
    rpmbuild -bb "$work/machine.spec" --define "_topdir $work/machine" --define "_rpmdir $work" \
      --define '_build_name_fmt machine.rpm' >"$work/log" 2>&1 || { cat "$work/log"; die "stub"; }
    rpm --root "$root" --initdb || die "initdb"
    rpm --root "$root" -i "$work/machine.rpm" || die "stub"
    rpm --root "$root" -U "$work"/rpm/*.rpm || die "rpm -U"
    rpm --root "$root" -V thalweg thalweg-controller thalweg-engine thalweg-attempt thalweg-devel python3-thalweg || die "rpm -V"
    ;;
esac
for program in thalweg thalwegd thalweg-train thalweg-attempt thalweg-launch thalweg-perf thalweg-simulate; do
  as_user "/usr/bin/$program --version" >/dev/null || die "$program does not start"
done
as_user /usr/libexec/thalweg/thalweg-hdf5-reader 2>&1 | grep -q 'programs of Thalweg' || die "thalweg-hdf5-reader does not start"
as_user "/usr/libexec/thalweg/thalweg-pack --help" | grep -q 'a job of Slurm' || die "thalweg-pack does not start"
[ ! -e "$root/usr/bin/thalweg-slurm-agent" ] || as_user '/usr/bin/thalweg-slurm-agent --help' >/dev/null || die "the agent does not start"
for file in etc/thalweg/config.yaml usr/share/man/man1/thalweg.1.gz usr/lib/systemd/system/thalwegd@.service; do
  [ -e "$root/$file" ] || [ -e "$root/${file%.gz}" ] || die "no /$file"
done

cp "$here/sweep.yaml" "$root/home/thaltest/sweep.yaml"
as_user "thalweg run sweep.yaml" >"$work/log" 2>&1 || { cat "$work/log"; die "run"; }
said=$(as_user "thalweg query --csv 'select count(*), sum(state = '\''finished'\'') from trials'" | tail -n 1)
[ "$said" = 4,4 ] || die "trials and those finished: $said"
as_user "thalweg daemon stop" || die "stop"

case $kind in
  rpm) rpm --root "$root" -e thalweg-devel python3-thalweg thalweg-slurm thalweg thalweg-controller thalweg-engine thalweg-attempt >"$work/log" 2>&1 ;;
  deb) in_root sh -c 'dpkg -P thalweg-devel python3-thalweg thalweg-slurm thalweg thalweg-controller thalweg-engine thalweg-attempt' >"$work/log" 2>&1 ;;
esac || { cat "$work/log"; die "erase"; }
grep -q "left where they are" "$work/log" || die "erasing did not say what stays"
[ -s "$root/home/thaltest/.local/state/thalweg/thalweg.db" ] || die "erasing took a user's record"
exit 0
