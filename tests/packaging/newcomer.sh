#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# newcomer.sh [--here]: follows a new user's steps on a machine without Gantry. debootstrap makes a fresh Debian root
# with a clone of this tree's last commit. There the script runs scripts/demo and scripts/test and installs Gantry.
# Then it moves clone and build away, and builds programs by find_package and pkg-config, in C and C++, and the
# programs of README and docs/, and runs `gantry devices` as an unprivileged user without HOME. The test
# package_subproject covers FetchContent and the static library. Part of scripts/test --newcomer; some twenty minutes.
#
# NEWCOMER_TESTS is a regular expression for scripts/test --select; other tests are left out. By default it names all
# but the long tests (conformance, faults, load, fuzz, bench, cuda).
#
# --here, or a system without debootstrap or the right to use it: runs the same steps on this unclean system, in an
# empty environment with an empty prefix, and installs no packages.
# Environment: NEWCOMER_MIRROR (by default debootstrap's own), NEWCOMER_SUITE (by default this system's).
set -eu

say() { printf '\n== newcomer: %s\n' "$*"; }

fail() {
    echo "newcomer: FAILED: $*"
    exit 1
}

# ---- the steps, in the root of the second part: newcomer.sh inside CLONE HOME yes|no (install packages?) ----

as_nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups env -i PATH="$PATH" "$@"; }

walk() { # CLONE HOME INSTALL
    clone=$1 home=$2 flag=""
    [ "$3" = yes ] || flag=--no-install
    cd "$clone"
    say "scripts/demo"
    # shellcheck disable=SC2086
    scripts/demo $flag >"$home/demo.log" 2>&1 || { tail -40 "$home/demo.log" && fail "scripts/demo"; }
    grep -E '^held-out accuracy' "$home/demo.log" || fail "scripts/demo ends without a trained model"

    say "scripts/test, of the tests $NEWCOMER_TESTS"
    # shellcheck disable=SC2086
    scripts/test $flag --select "$NEWCOMER_TESTS" >"$home/test.log" 2>&1 || { tail -60 "$home/test.log" && fail "scripts/test"; }
    tail -1 "$home/test.log" | grep -E '^[1-9][0-9]* passed, 0 failed, [0-9]+ skipped$' || fail "the last line of scripts/test: $(tail -1 "$home/test.log")"
    grep -E '\((Skipped|Disabled)\)$' "$home/test.log" || true

    say "install, and everything else moved away"
    prefix=$home/gantry
    cmake --install build/release --prefix "$prefix" >"$home/install.log" || fail "cmake --install"
    cp -R tests/packaging/consumer "$home/consumer"
    cp tests/packaging/use_installed.sh tests/packaging/documents.sh "$home"
    cd /
    mv "$clone" "$home/away"
    chmod 700 "$home/away"
    if [ "$3" = yes ]; then
        DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends g++ >"$home/apt.log" 2>&1 || { cat "$home/apt.log" && fail "apt-get install g++"; }
    fi

    say "find_package, pkg-config, C, C++, the documents' programs, the examples"
    mkdir -p "$home/use"
    FOREIGN=$clone sh "$home/use_installed.sh" "$prefix" "$home/use" "$home/consumer" "$prefix" "$prefix" || fail "use_installed.sh"

    say "gantry devices, an unprivileged user without HOME"
    if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null 2>&1; then
        echo "SKIP: this is not root, or there is no setpriv"
        return 0
    fi
    chmod 755 "$home"
    as_nobody "$prefix/bin/gantry" devices --verbose >"$home/devices.log" 2>&1 || { cat "$home/devices.log" && fail "gantry devices as nobody"; }
    grep -F "cpu        usable" "$home/devices.log" || { cat "$home/devices.log" && fail "gantry devices as nobody: no CPU backend"; }
    # PoCL needs a folder for its compiled kernels. Gantry must give PoCL one, or tell the user the variable that
    # names one.
    grep -F -e "opencl     usable" -e POCL_CACHE_DIR "$home/devices.log" ||
        { cat "$home/devices.log" && fail "gantry devices as nobody: OpenCL is not usable, and POCL_CACHE_DIR is not named"; }
    say "the whole way went well"
}

if [ "${1:-}" = inside ]; then
    walk "$2" "$3" "$4"
    exit 0
fi

# ---- the root, or this system ----

: "${NEWCOMER_TESTS:=^(test_|symbols_|size_|package_|scripts[.]|golden_coverage\$|docs_ops\$)}"
ROOT=$(cd "$(dirname "$0")/../.." && pwd)
work=$ROOT/build/newcomer
mkdir -p "$work"
git -C "$ROOT" rev-parse HEAD >/dev/null 2>&1 || { echo "SKIP: $ROOT is not a clone, and a newcomer starts with a clone"; exit 77; }
[ -z "$(git -C "$ROOT" status --porcelain)" ] || echo "NOTE: the clone lacks uncommitted changes"

clean=yes
[ "${1:-}" != --here ] || clean=no
if [ $clean = yes ] && { [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null 2>&1 || ! unshare -m -p -f true 2>/dev/null; }; then
    clean=no
    echo "NOTE: debootstrap and root are needed for a clean root: this system serves, which has packages of its own"
fi

if [ $clean = no ]; then
    home=$(mktemp -d "${TMPDIR:-/tmp}/gantry_newcomer.XXXXXX")
    trap 'rm -rf "$home"' EXIT
    git clone -q "$ROOT" "$home/clone"
    env -i PATH="$PATH" HOME="$home" NEWCOMER_TESTS="$NEWCOMER_TESTS" sh "$home/clone/tests/packaging/newcomer.sh" inside "$home/clone" "$home" no
    exit 0
fi

. /etc/os-release
suite=${NEWCOMER_SUITE:-${VERSION_CODENAME:-stable}}
[ -n "${NEWCOMER_SUITE:-}" ] || [ "${ID:-}" = debian ] || suite=stable
root=$work/root
rm -rf --one-file-system "$root"
mkdir -p "$root" "$work/packages" "$work/archives"
say "a clean root of Debian $suite"
debootstrap --variant=minbase --cache-dir="$work/packages" "$suite" "$root" ${NEWCOMER_MIRROR:+"$NEWCOMER_MIRROR"} >"$work/debootstrap.log" 2>&1 ||
    { tail -20 "$work/debootstrap.log"; fail "debootstrap, see $work/debootstrap.log"; }
cp /etc/resolv.conf "$root/etc/resolv.conf"
mkdir -p "$root/root/newcomer"
git clone -q "$ROOT" "$root/root/newcomer/clone"
export root work NEWCOMER_TESTS
# The mounts end with the command.
unshare -m -p -f sh -c '
    mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount --rbind /sys "$root/sys" &&
        mount --bind "$work/archives" "$root/var/cache/apt/archives" || exit 1
    chmod 755 "$root/root"
    exec chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root NEWCOMER_TESTS="$NEWCOMER_TESTS" \
        sh /root/newcomer/clone/tests/packaging/newcomer.sh inside /root/newcomer/clone /root/newcomer yes' || fail "see above; the root stays in $root"
rm -rf --one-file-system "$root"
