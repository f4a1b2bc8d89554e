#!/bin/sh
# Packages as an admin meets them: built, installed into a root of their own with dependencies and scriptlets, used by an
# ordinary user, upgraded while a sweep runs, erased. That root is an overlay of this machine's, in a mount and pid
# namespace: nothing of it stays, and this machine's own packages are not touched.
#
#   sh tests/packages/packages_test.sh rpm|deb|tar BUILD_FOLDER
#
# Exit code 77: cannot be tried here, the reason is printed.
set -u
kind=$1 built=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)

if [ "${3:-}" != inside ]; then
  skip() { echo "skipped: $1"; exit 77; }
  [ "$(id -u)" = 0 ] || skip "needs root, for a root folder of its own"
  case $kind in rpm) needs="rpmbuild rpm rpmlint" ;; deb) needs="dpkg-deb dpkg-shlibdeps" ;; tar) needs=tar ;; esac
  for program in $needs; do command -v "$program" >/dev/null || skip "$program is not here"; done
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
mount -t tmpfs none "$work" || die "no tmpfs"
mkdir -p "$work/upper" "$work/work" "$root" "$work/packages" "$work/again" "$work/next"
mount -t overlay overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" "$root" 2>/dev/null ||
  { echo "skipped: no overlay file systems here"; exit 77; }
for each in "-t proc proc $root/proc" "--bind /dev $root/dev" "--bind /sys $root/sys" "-t tmpfs none $root/tmp" \
  "-t tmpfs none $root/dev/shm"; do
  # shellcheck disable=SC2086
  mount $each || die "mount $each"
done
mkdir -p "$root/tmp/packages" && chmod 1777 "$root/tmp" "$root/dev/shm"
in_root() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 "$@"; }
as_user() { in_root HOME=/home/thaltest su -s /bin/sh thaltest -c "cd; $1"; }
in_root useradd --create-home thaltest || die "no user"

make() { sh "$top/packaging/packages.sh" "$kind" --fast --built "$built" --out "$1" --release "$2" >"$work/log" 2>&1 || { cat "$work/log"; die "packages"; }; }
make "$work/packages" 1
make "$work/again" 1
[ "$kind" = tar ] || make "$work/next" 2
for package in "$work"/packages/*; do
  cmp "$package" "$work/again/${package##*/}" || die "two builds of ${package##*/} differ"
done

if [ "$kind" = deb ]; then
  for package in "$work"/packages/*.deb; do
    name=$(dpkg-deb -f "$package" Package)
    dpkg-deb -c "$package" | grep -q "/usr/share/doc/$name/copyright$" || die "$name has no copyright file"
  done
fi

# What the libraries of this machine provide, as a package: rpm knows nothing of what dpkg installed.
provide_for_rpm() {
  {
    printf 'Name: machine\nVersion: 1\nRelease: 1\nSummary: x\nLicense: x\nBuildArch: noarch\n'
    rpm -qp --requires "$work"/packages/*.rpm | sort -u | grep -vE '^(rpmlib|thalweg|config\(|/bin/sh)' | sed 's/^/Provides: /'
    printf 'Provides: /bin/sh\n%%description\nx\n%%files\n'
  } >"$work/machine.spec"
  rpmbuild -bb "$work/machine.spec" --define "_topdir $work/machine" --define "_rpmdir $root/tmp/packages" \
    --define '_build_name_fmt machine.rpm' >"$work/log" 2>&1 || { cat "$work/log"; die "stub"; }
  in_root sh -c 'rpm --initdb && rpm -i /tmp/packages/machine.rpm' || die "stub"
}

install_packages() {  # FOLDER
  rm -rf "$root/tmp/new" && cp -r "$1" "$root/tmp/new" && chmod -R a+rX "$root/tmp/new"
  case $kind in
    rpm) in_root sh -c 'rpm -U /tmp/new/*.rpm' ;;
    # Nothing here outlives the test: dpkg need not wait for the disk, on which others may be busy.
    deb) in_root sh -c 'dpkg --force-unsafe-io -i /tmp/new/*.deb' >"$work/log" 2>&1 || { cat "$work/log"; false; } ;;
    tar) as_user 'mkdir -p .local && tar -C .local -xJf /tmp/new/*.tar.xz --strip-components 1' ;;
  esac || die "cannot install from $1"
}

path=/usr/bin
case $kind in
  rpm)
    rpmlint -c "$top/packaging/rpm/rpmlint.toml" "$work"/packages/*.rpm >"$work/lint" 2>&1 || { cat "$work/lint"; die "rpmlint"; }
    if in_root rpm -i "$work/packages/"*.rpm 2>/dev/null; then die "installed without what it requires"; fi
    provide_for_rpm
    ;;
  tar) path=/home/thaltest/.local/bin ;;
esac
install_packages "$work/packages"
for program in thalweg thalwegd thalweg-train thalweg-attempt thalweg-launch thalweg-perf thalweg-simulate; do
  as_user "$path/$program --version" >/dev/null || die "$program does not start"
done
as_user "${path%/bin}/libexec/thalweg/thalweg-hdf5-reader" 2>&1 | grep -q 'programs of Thalweg' || die "thalweg-hdf5-reader does not start"
as_user "${path%/bin}/libexec/thalweg/thalweg-pack --help" | grep -q 'a job of Slurm' || die "thalweg-pack does not start"
[ "$kind" != rpm ] || in_root sh -c 'rpm -V thalweg thalweg-controller thalweg-engine thalweg-attempt thalweg-devel python3-thalweg' || die "rpm -V"
if [ "$kind" = tar ]; then
  unit=$root/home/thaltest/.local/share/systemd/user/thalwegd.service
  [ -f "${unit%.service}.socket" ] || die "no unit of the socket where systemd looks for those of a user"
  program=$(sed -n 's|^ExecStart=%h\([^ ]*\) .*|\1|p' "$unit")
  [ -n "$program" ] || die "the user's unit starts no program of the user's"
  as_user "test -x \"\$HOME$program\"" || die "the user's unit starts no program: $(grep ExecStart "$unit")"
  [ ! -e "$root/home/thaltest/.local/lib/systemd" ] || die "units that only root can use"
  # A newer Debian's libraries need more than packaging/glibc has; releases are built on 12, whose glibc is 2.36.
  sh "$here/glibc_needs.sh" 2.34 "$root/home/thaltest/.local" || [ "$(getconf GNU_LIBC_VERSION)" != "glibc 2.36" ] ||
    die "the tarball needs more than glibc 2.34"
  cp "$here/own_glibc.sh" "$root/tmp/"
  as_user "sh /tmp/own_glibc.sh /home/thaltest/.local" || die "the tarball's own part of glibc"
fi
[ "$kind" = tar ] || [ -f "$root/etc/thalweg/config.yaml" ] || die "no /etc/thalweg/config.yaml"
if [ "$kind" != tar ]; then
  check_units() {  # RUN_IN_ROOT... : systemd's own check, which is silent about a good unit
    if ! "$@" >"$work/log" 2>&1 || [ -s "$work/log" ]; then cat "$work/log"; die "units"; fi
  }
  units=/usr/lib/systemd
  check_units in_root XDG_RUNTIME_DIR=/tmp systemd-analyze verify --user --man=no $units/user/thalwegd.service $units/user/thalwegd.socket
  check_units in_root systemd-analyze verify --man=no "$units/system/thalwegd@thaltest.service"
  in_root systemd-analyze security --offline=yes --threshold=25 $units/system/thalwegd@.service >"$work/log" 2>&1 ||
    { tail -n 3 "$work/log"; die "thalwegd@.service is less confined than it says (2.1)"; }
  if [ -e "$root$path/thalweg-slurm-agent" ]; then
    # Its users come first, as systemd has them made at boot or rpm at once.
    in_root systemd-sysusers /usr/lib/sysusers.d/thalweg-slurm.conf >"$work/log" 2>&1 || { cat "$work/log"; die "sysusers"; }
    in_root sh -c 'id -u thalweg-agent && id -u thalweg' >"$work/log" 2>&1 || { cat "$work/log"; die "no users thalweg and thalweg-agent"; }
    check_units in_root systemd-analyze verify --man=no $units/system/thalweg-slurm-agent.socket $units/system/thalweg-slurm-agent.service
    in_root systemd-analyze security --offline=yes --threshold=22 $units/system/thalweg-slurm-agent.service >"$work/log" 2>&1 ||
      { tail -n 3 "$work/log"; die "thalweg-slurm-agent.service is less confined than it says (2.1)"; }
    check_units in_root systemd-analyze verify --man=no $units/system/thalwegd-site.service
    in_root systemd-analyze security --offline=yes --threshold=20 $units/system/thalwegd-site.service >"$work/log" 2>&1 ||
      { tail -n 3 "$work/log"; die "thalwegd-site.service is less confined than it says (1.8)"; }
  fi
fi

# Programs of a user's own: built by CMake with what is installed, run outside of a sweep.
prefix=${path%/bin}
mkdir -p "$root/tmp/own" && cp "$here"/own/* "$root/tmp/own/" && chmod -R a+rwX "$root/tmp/own"
as_user "cmake -S /tmp/own -B /tmp/own/build -DCMAKE_PREFIX_PATH=$prefix -DCMAKE_BUILD_TYPE=Release &&
  cmake --build /tmp/own/build" >"$work/log" 2>&1 || { cat "$work/log"; die "cannot build with thalweg-devel"; }
grep -q "^thalweg_DIR:PATH=$prefix/lib" "$root/tmp/own/build/CMakeCache.txt" || die "built with another thalweg-devel"
as_user 'THALWEG_REPORTS=/tmp/own/reports /tmp/own/build/trainer' || die "the trainer failed"
grep -q '"metrics": {"val/loss": 0.5}, "step": 1}' "$root/tmp/own/reports" || die "the trainer reported nothing"
said=$(as_user "$path/thalweg-launch -n 2 /tmp/own/build/collective")
[ "$said" = "sum 21" ] || die "thalweg::comm says: $said"
if [ "$kind" = deb ]; then
  said=$(as_user 'python3 -c "import thalweg; print(thalweg.__file__)"')
  [ "$said" = /usr/lib/python3/dist-packages/thalweg.py ] || die "python3-thalweg: $said"
fi

# A sweep by somebody who only knows the package.
cp "$here/sweep.yaml" "$root/home/thaltest/sweep.yaml"
as_user "$path/thalweg validate sweep.yaml" || die "validate"
as_user "$path/thalweg submit sweep.yaml" || die "submit"
waited=0
until [ "$(as_user "$path/thalweg query --csv 'select count(*) from attempts where state = '\''running'\'" 2>/dev/null | tail -n 1)" -ge 1 ] 2>/dev/null; do
  waited=$((waited + 1))
  [ "$waited" -lt 60 ] || die "nothing runs"
  sleep 0.5
done

# Upgraded under its feet; what admins changed in /etc stays.
[ "$kind" = tar ] || echo 'max_trials: 500' >>"$root/etc/thalweg/config.yaml"
if [ "$kind" != tar ]; then
  install_packages "$work/next"
  left=$(as_user "$path/thalweg query --csv 'select count(*) from trials where state <> '\''finished'\'" | tail -n 1)
  [ "$left" -gt 0 ] || die "the sweep was over before the upgrade"
  grep -q 'max_trials: 500' "$root/etc/thalweg/config.yaml" || die "the upgrade took the admin's settings"
fi
as_user "$path/thalweg watch 1" >"$work/log" 2>&1 || { cat "$work/log"; die "watch"; }
as_user "$path/thalweg daemon stop && $path/thalweg compare 1" || die "not after the upgrade"
said=$(as_user "$path/thalweg query --csv 'select count(*), sum(state = '\''finished'\'') from trials'" | tail -n 1)
[ "$said" = 4,4 ] || die "trials and those finished: $said"
said=$(as_user "$path/thalweg query --csv 'select count(*) from attempts'" | tail -n 1)
[ "$said" = 4 ] || die "an attempt was lost by the upgrade: $said attempts of 4 trials"
as_user "$path/thalweg daemon stop"

# Erased: users' records stay, and it says so.
case $kind in
  rpm) in_root sh -c 'rpm -e thalweg-devel python3-thalweg thalweg-slurm thalweg thalweg-controller thalweg-engine thalweg-attempt' >"$work/log" 2>&1 ;;
  deb) in_root sh -c 'dpkg -P thalweg-devel python3-thalweg thalweg-slurm thalweg thalweg-controller thalweg-engine thalweg-attempt' >"$work/log" 2>&1 ;;
  tar) exit 0 ;;
esac || { cat "$work/log"; die "erase"; }
grep -q "left where they are" "$work/log" || die "erasing did not say what stays"
[ -s "$root/home/thaltest/.local/state/thalweg/thalweg.db" ] || die "erasing took a user's record"
for file in bin/thalweg bin/thalwegd bin/thalweg-train bin/thalweg-slurm-agent include/thalweg.h lib/cmake/thalweg; do
  [ ! -e "$root/usr/$file" ] || die "$file stayed"
done
exit 0
