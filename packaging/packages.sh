#!/bin/sh
# Makes packages of Thalweg:
#
#   sh packaging/packages.sh rpm            thalweg, thalweg-controller, thalweg-attempt, thalweg-engine, thalweg-slurm,
#                                           thalweg-devel, python3-thalweg
#   sh packaging/packages.sh deb            the same as .debs
#   sh packaging/packages.sh tar            one folder with bin/, share/ and the libraries that they need, to be unpacked
#                                           anywhere without root; the units of systemd in it are for ~/.local
#
#   --built DIR     a build folder whose programs are taken; default: build/release, built first
#   --out DIR       where the packages go; default: build/packages
#   --release N     the packages' own count of this version; default: 1
#   --fast          packs less tightly, in a fifth of the time
#
# Times inside packages are those of the last commit, so that the same build gives the same packages.
set -eu
top=$(cd "$(dirname "$0")/.." && pwd)
kind='' built='' out="$top/build/packages" release=1 fast='' pack=xz level=6
while [ $# -gt 0 ]; do
  case $1 in
    rpm | deb | tar) kind="$kind $1" ;;
    --built) built=$(cd "$2" && pwd) && shift ;;
    --out) mkdir -p "$2" && out=$(cd "$2" && pwd) && shift ;;
    --release) release=$2 && shift ;;
    --fast) fast=1 pack=gzip level=1 ;;
    *) sed -n '2,16s/^# \{0,1\}//p' "$0" && exit 2 ;;
  esac
  shift
done
[ -n "$kind" ] || { sed -n '2,16s/^# \{0,1\}//p' "$0" && exit 2; }
if [ -z "$built" ]; then
  sh "$top/packaging/build.sh" --all-gpus --target programs
  built=$top/build/release
fi
version=$(sed -n 's/^CMAKE_PROJECT_VERSION:STATIC=//p' "$built/CMakeCache.txt")
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$top" log -1 --format=%ct 2>/dev/null || stat -c %Y "$top/CHANGELOG.md")}
export SOURCE_DATE_EPOCH
parts='thalweg controller attempt engine devel'
[ ! -x "$built/bin/thalweg-slurm-agent" ] || parts="$parts slurm"
mkdir -p "$out"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# put FOLDER PART: what a part installs, as it would lie under /usr
put() {
  DESTDIR=$1 cmake --install "$built" --prefix "${3:-/usr}" --component "$2" --strip >>"$work/log" 2>&1 ||
    { tail -n 20 "$work/log" >&2; exit 1; }
}

make_rpm() {
  slurm=--with
  case $parts in *slurm*) ;; *) slurm=--without ;; esac
  rpmbuild -bb "$top/packaging/rpm/thalweg.spec" $slurm slurm --nodeps \
    --define "_topdir $work/rpm" --define "_rpmdir $out" --define "_buildhost localhost" \
    --define "_build_name_fmt %%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm" \
    ${fast:+--define "_binary_payload w1.gzdio"} \
    --define "thalweg_built $built" --define "thalweg_version $version" --define "thalweg_release $release" \
    >"$work/log" 2>&1 || { tail -n 30 "$work/log" >&2; exit 1; }
}

# control NAME SUMMARY DEPENDS: the control file of a package whose files lie in $root
control() {
  mkdir -p "$root/DEBIAN" "$work/debian"
  {
    cat "$top/LICENSE"
    if [ "$1" = thalweg ]; then
      printf '\nReports carry Chart.js (https://www.chartjs.org), where it was there at build, under the MIT licence:\n\n'
      tail -n +3 "$top/cli/page/chart.licence"
    fi
  } >"$work/copyright"
  install -Dm0644 "$work/copyright" "$root/usr/share/doc/$1/copyright"
  : >"$work/debian/control"
  depends=$3 architecture=$(dpkg --print-architecture)
  [ "$1" != python3-thalweg ] || architecture=all
  if [ -d "$root/usr/bin" ]; then
    libraries=$(cd "$work" && find "$root/usr/bin" "$root/usr/libexec" -type f -exec dpkg-shlibdeps -O {} + 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
    depends=$libraries${3:+, $3}
  fi
  cat >"$root/DEBIAN/control" <<EOF
Package: $1
Version: $version-$release
Architecture: $architecture
Maintainer: Thalweg <root@localhost>
Section: science
Priority: optional
Installed-Size: $(du -sk --exclude DEBIAN "$root" | cut -f1)
Description: $2
EOF
  [ -z "$depends" ] || echo "Depends: $depends" >>"$root/DEBIAN/control"
}

make_deb() {
  for part in $parts python3; do
    root=$work/deb/$part
    rm -rf "$root"
    [ "$part" = python3 ] || put "$root" "$part"
    own="(= $version-$release)"
    case $part in
      thalweg)
        control thalweg "sweeps of distributed training: the command line" "thalweg-controller $own"
        echo "Recommends: thalweg-engine $own" >>"$root/DEBIAN/control"
        ;;
      attempt)
        control thalweg-attempt "sweeps of distributed training: what runs users' own programs" ""
        # Files of thalweg-engine before.
        echo "Replaces: thalweg-engine (<< $version-$release)" >>"$root/DEBIAN/control"
        ;;
      engine) control thalweg-engine "sweeps of distributed training: the training engine" "thalweg-attempt $own" ;;
      slurm) control thalweg-slurm "sweeps of distributed training: the agent that talks to Slurm" "thalweg-controller $own" ;;
      devel)
        control thalweg-devel "sweeps of distributed training: files to build programs with" ""
        echo "Suggests: libucx-dev, libpmix-dev, pkg-config" >>"$root/DEBIAN/control"
        ;;
      python3)
        install -Dm0644 "$top/packaging/python/thalweg.py" "$root/usr/lib/python3/dist-packages/thalweg.py"
        control python3-thalweg "sweeps of distributed training: the Python module" "python3"
        ;;
      controller)
        control thalweg-controller "sweeps of distributed training: the controller daemon" "thalweg-attempt $own"
        echo "Recommends: thalweg-slurm $own" >>"$root/DEBIAN/control"
        install -Dm0644 "$root/usr/share/doc/thalweg/examples/config.yaml" "$root/etc/thalweg/config.yaml"
        echo /etc/thalweg/config.yaml >"$root/DEBIAN/conffiles"
        install -m0755 "$top/packaging/deb/postrm" "$root/DEBIAN/postrm"
        ;;
    esac
    [ ! -d "$root/usr/share/man" ] || find "$root/usr/share/man" -type f -exec gzip -9n {} +
    find "$root" -newermt "@$SOURCE_DATE_EPOCH" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    name=$(sed -n 's/^Package: //p' "$root/DEBIAN/control")
    dpkg-deb --root-owner-group "-Z$pack" "-z$level" --build "$root" "$out/${name}_$version-${release}_$architecture.deb" >/dev/null
  done
}

# The oldest glibc that the tarball runs on: that of RHEL 9.
glibc=2.34

# bundle FOLDER: the libraries that its programs need go into lib/thalweg/bundled, where they find them wherever the folder
# is. Glibc is the system's, and so are libslurm, which fits one release of Slurm, and the GPU's driver.
bundle() {
  command -v patchelf >/dev/null || { echo "patchelf is not here: sh packaging/install-packages.sh release" >&2; exit 1; }
  libraries=$1/lib/thalweg/bundled
  licences=$1/share/doc/thalweg/licences
  mkdir -p "$libraries" "$licences"
  find "$1/bin" "$1/libexec" -type f -exec ldd {} + | sed -n 's/^[[:space:]].* => \(\/[^ ]*\) .*/\1/p' | sort -u |
    grep -vE '/(libc|libm|libdl|librt|libpthread|libresolv|libutil|ld-linux-x86-64|libslurm.*|libcuda|libnvidia.*)\.so' >"$work/libraries"
  # UCX looks for the transports of InfiniBand and its like beside itself.
  ucx=$(sed -n 's|libuct\.so\..*|ucx|p' "$work/libraries")
  while read -r library; do
    install -m0644 "$library" "$libraries"
  done <"$work/libraries"
  if [ -d "$ucx" ]; then
    mkdir "$libraries/ucx"
    for module in "$ucx"/libuct_*.so.0; do
      install -m0644 "$module" "$libraries/ucx"
      ln -s "${module##*/}" "$libraries/ucx/$(basename "$module" .0)"
    done
  fi
  # Licences of what is given along.
  if command -v dpkg-query >/dev/null; then
    while read -r library; do
      owner=$(dpkg-query -S "*/${library##*/}" 2>/dev/null | head -n 1 | cut -d: -f1)
      [ ! -f "/usr/share/doc/$owner/copyright" ] || install -m0644 "/usr/share/doc/$owner/copyright" "$licences/$owner"
    done <"$work/libraries"
  fi
  # The loader's $ORIGIN, not the shell's.
  origin="\$ORIGIN"
  find "$libraries" -maxdepth 1 -type f -exec patchelf --set-rpath "$origin" {} \;
  find "$libraries" -mindepth 2 -type f -exec patchelf --set-rpath "$origin/.." {} \;
  find "$1/bin" -type f -exec patchelf --set-rpath "$origin/../lib/thalweg/bundled" {} \;
  find "$1/libexec" -type f -exec patchelf --set-rpath "$origin/../../lib/thalweg/bundled" {} \;
  # What Debian 12's libgcc_s, libstdc++ and libevent take from newer ones than $glibc comes from a library of our own there.
  fallback=libthalweg_glibc.so
  "${CC:-cc}" -std=gnu11 -O2 -fPIC -shared -s -Wl,-soname,$fallback -Wl,-z,relro,-z,now -o "$libraries/$fallback" "$top/packaging/glibc/fallback.c"
  find "$1/bin" "$1/libexec" "$libraries" -type f -exec python3 "$top/packaging/glibc/lower.py" "$glibc" "$libraries/$fallback" {} + >"$work/lowered"
  while read -r file; do
    patchelf --add-needed "$fallback" "$file"
  done <"$work/lowered"
}

make_tar() {
  folder=thalweg-$version-$(uname -m)
  for part in $parts; do
    put "$work/tar" "$part" "/$folder"
  done
  # Unpacked into ~/.local systemd finds the user's units there; what is left is for root.
  units=$work/tar/$folder/share/systemd/user
  mkdir -p "$units"
  mv "$work/tar/$folder/lib/systemd/user/"* "$units"
  rm -rf "$work/tar/$folder/lib/systemd" "$work/tar/$folder/lib/sysusers.d"
  sed -i 's|^ExecStart=/usr/bin/|# Unpacked elsewhere, this must name the place.\nExecStart=%h/.local/bin/|' "$units/thalwegd.service"
  # Not where thalwegd looks for it: without the libslurm that it was built with it does not start, and machines without
  # Slurm have none.
  [ ! -x "$work/tar/$folder/bin/thalweg-slurm-agent" ] || mv "$work/tar/$folder/bin/thalweg-slurm-agent" "$work/tar/$folder/libexec/thalweg"
  bundle "$work/tar/$folder"
  XZ_OPT=-$level tar -C "$work/tar" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" -cJf "$out/$folder.tar.xz" "$folder"
}

for each in $kind; do
  "make_$each"
done
ls "$out"
