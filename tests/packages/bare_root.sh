#!/bin/sh
# The tarball on a machine that has nothing but a minimal system: unpacked into a home by a user without root, it trains,
# runs a program of the user's and compares.
#
#   sh tests/packages/bare_root.sh BUILD_FOLDER [SUITE...]      suites of Debian; default: that of this machine
#
# Needs root, debootstrap, patchelf and the distribution's mirror. Exit code 77: cannot be tried here, the reason is printed.
set -u
built=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
die() { echo "FAILED: $*" >&2; exit 1; }

if [ "${2:-}" != inside ]; then
  shift
  skip() { echo "skipped: $1"; exit 77; }
  [ "$(id -u)" = 0 ] || skip "needs root, for a root folder of its own"
  for program in debootstrap patchelf; do command -v $program >/dev/null || skip "$program is not here"; done
  unshare --mount --pid --fork true 2>/dev/null || skip "namespaces are not allowed here"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  sh "$top/packaging/packages.sh" tar --fast --built "$built" --out "$work/tar" >"$work/log" 2>&1 || { cat "$work/log"; die "packages"; }
  mirror=$(apt-get indextargets --format "\$(REPO_URI)" "Created-By: Packages" | head -n 1)
  [ $# -gt 0 ] || set -- "$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)"
  for suite in "$@"; do
    debootstrap --variant=minbase "$suite" "$work/$suite" "$mirror" >"$work/log" 2>&1 ||
      { tail -n 2 "$work/log"; skip "debootstrap gets no $suite from $mirror"; }
    unshare --mount --pid --fork --kill-child -- sh "$0" "$built" inside "$work/$suite" "$work/tar" || exit 1
    echo "$suite: passed"
  done
  exit 0
fi

root=$3
for each in "-t proc proc $root/proc" "--bind /dev $root/dev" "-t tmpfs none $root/dev/shm"; do
  # shellcheck disable=SC2086
  mount $each || die "mount $each"
done
as_user() { chroot "$root" env -i PATH=/home/thaltest/.local/bin:/usr/bin:/bin LC_ALL=C.UTF-8 HOME=/home/thaltest su -p -s /bin/sh thaltest -c "cd; $1"; }
chroot "$root" useradd --create-home thaltest || die "no user"
chmod 1777 "$root/dev/shm"
mkdir "$root/tmp/tar" && cp "$4"/* "$root/tmp/tar" && chmod -R a+rX "$root/tmp/tar"
# Minimal systems have no xz; people's have.
command -v xz >/dev/null && xz -d "$root"/tmp/tar/*.tar.xz

began=$(date +%s)
as_user 'mkdir -p .local && tar -C .local -xf /tmp/tar/thalweg-*.tar --strip-components 1' || die "unpacking"
for program in thalweg thalwegd thalweg-train thalweg-attempt thalweg-launch thalweg-perf thalweg-simulate; do
  as_user "$program --version" >/dev/null || die "$program does not start"
done
as_user '.local/libexec/thalweg/thalweg-hdf5-reader' 2>&1 | grep -q 'programs of Thalweg' || die "thalweg-hdf5-reader does not start"
as_user '.local/libexec/thalweg/thalweg-pack --help' | grep -q 'a job of Slurm' || die "thalweg-pack does not start"
as_user 'thalweg --version' | grep -q 'commit' || die "--version tells no commit"
as_user 'thalweg run .local/share/doc/thalweg/examples/own-data.yaml' || die "run"
said=$(as_user "thalweg query --csv 'select count(*), sum(state = '\''finished'\'') from trials'" | tail -n 1)
[ "$said" = 8,8 ] || die "trials and those finished: $said"
as_user 'thalweg compare 1 --by optimizer.name' || die "compare"
echo "from the tarball to a comparison: $(($(date +%s) - began)) s"
# Two ranks of one trial: PMIx, UCX and their parts that are looked for at run time.
as_user 'thalweg-launch -n 2 -- thalweg-perf allreduce -e 4K -i 10' >/dev/null || die "two ranks do not meet"
cat >"$root/home/thaltest/own.sh" <<'END'
#!/bin/sh
for step in 1 2 3; do echo "step $step loss 0.$((9 - step))"; done
END
cat >"$root/home/thaltest/own.yaml" <<'END'
program: own.sh
command: [sh, own.sh]
method: grid
metric: {name: loss, goal: minimize, target: 0.7}
metric_pattern: 'step (?<step>\d+) loss (?<loss>\S+)'
parameters: {lr: {values: [0.1, 0.3]}}
END
as_user 'thalweg run own.yaml' || die "a program of the user's"
as_user 'thalweg daemon stop' || die "stop"
# What of the system it takes: glibc alone.
foreign=$(as_user 'ldd .local/bin/thalweg-train' | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | grep -v '^/home/' | grep -vE '/(libc|libm)\.so' || true)
[ -z "$foreign" ] || die "libraries of the system: $foreign"
cp "$here/own_glibc.sh" "$root/tmp/"
as_user "sh /tmp/own_glibc.sh /home/thaltest/.local" || die "the tarball's own part of glibc"
exit 0
