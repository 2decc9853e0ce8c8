# SPDX-License-Identifier: Apache-2.0
# Functions that release and its parts share: clean Debian roots, made by debootstrap as root. Sourced after
# scripts/common.sh, not run. ROOTS is the folder of the roots; the base of each suite is made once and copied for each use.
# Environment: GANTRY_PACKAGES_SUITE (by default this system's) and GANTRY_PACKAGES_MIRROR (by default debootstrap's own).
# With CCACHE_DIR, compilers in a root use that cache. The script that sources this may set ROOT_BIND to a folder that a
# root sees at the same place.
ROOTS=$ROOT/build/packages
ROOT_BIND=

# can_make_roots: says what is missing.
can_make_roots() {
    if [ "$(id -u)" != 0 ]; then
        echo "SKIP: clean roots need the user root"
    elif ! command -v debootstrap >/dev/null 2>&1; then
        echo "SKIP: clean roots need debootstrap: apt-get install debootstrap"
    elif ! unshare -m -p -f true 2>/dev/null; then
        echo "SKIP: clean roots need mounts of their own, which this system refuses"
    else
        return 0
    fi
    return 77
}

suite_of_roots() {
    # shellcheck disable=SC1091
    (. /etc/os-release && if [ "${ID:-}" = debian ]; then echo "${GANTRY_PACKAGES_SUITE:-$VERSION_CODENAME}"; else echo "${GANTRY_PACKAGES_SUITE:-stable}"; fi)
}

# clean_root NAME: makes $ROOTS/NAME anew, with nothing but Debian's smallest system.
clean_root() {
    suite=$(suite_of_roots) base=$ROOTS/base-$(suite_of_roots)
    mkdir -p "$ROOTS/packages" "$ROOTS/archives"
    if [ ! -e "$base.made" ]; then
        rm -rf --one-file-system "$base"
        debootstrap --variant=minbase --cache-dir="$ROOTS/packages" "$suite" "$base" ${GANTRY_PACKAGES_MIRROR:+"$GANTRY_PACKAGES_MIRROR"} >"$ROOTS/debootstrap.log" 2>&1 ||
            { tail -20 "$ROOTS/debootstrap.log"; echo "debootstrap failed; its log is $ROOTS/debootstrap.log" >&2; return 1; }
        : >"$base.made"
    fi
    rm -rf --one-file-system "${ROOTS:?}/$1"
    cp -ax "$base" "$ROOTS/$1"
    cp /etc/resolv.conf "$ROOTS/$1/etc/resolv.conf"
}

# in_root NAME COMMAND...: runs the command there, in an empty environment. The mounts end with the command.
in_root() {
    in_root_name=$ROOTS/$1
    shift
    [ -z "${CCACHE_DIR:-}" ] || mkdir -p "$in_root_name/ccache"
    [ -z "$ROOT_BIND" ] || mkdir -p "$in_root_name$ROOT_BIND"
    # shellcheck disable=SC2016
    ROOT_BIND=$ROOT_BIND ROOT_OF_COMMAND=$in_root_name ARCHIVES=$ROOTS/archives unshare -m -p -f --kill-child sh -c '
        root=$ROOT_OF_COMMAND
        mount -t proc proc "$root/proc" && mount --rbind /dev "$root/dev" && mount --rbind /sys "$root/sys" && mount --bind "$ARCHIVES" "$root/var/cache/apt/archives" || exit 1
        [ -z "${CCACHE_DIR:-}" ] || mount --bind "$CCACHE_DIR" "$root/ccache" || exit 1
        [ -z "$ROOT_BIND" ] || mount --bind "$ROOT_BIND" "$root$ROOT_BIND" || exit 1
        exec chroot "$root" env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive ${CCACHE_DIR:+CCACHE_DIR=/ccache CCACHE_NOHASHDIR=1 CCACHE_BASEDIR=/root} "$@"' sh "$@"
}

# apt_in_root NAME ARGUMENT...: apt-get with a fresh list of packages.
apt_in_root() {
    apt_root=$1
    shift
    { in_root "$apt_root" apt-get update -qq && in_root "$apt_root" apt-get -y -qq --no-install-recommends "$@"; } >"$ROOTS/apt.log" 2>&1 ||
        { tail -20 "$ROOTS/apt.log"; echo "apt-get $* failed; its log is $ROOTS/apt.log" >&2; return 1; }
}

remove_root() { rm -rf --one-file-system "${ROOTS:?}/$1"; }

# gantry_version: the only one, include/gantry/version.h's.
gantry_version() { sed -n 's/^#define GANTRY_VERSION "\([0-9.]*\)"$/\1/p' "$ROOT/include/gantry/version.h"; }

# release_seconds: the moment that all files of a release bear, seconds since 1970: the day of CHANGELOG.md's newest
# heading, or of the last commit while it says Unreleased.
release_seconds() {
    day=$(sed -n 's/^## [0-9.]* - \([0-9]\{4\}-[0-9]\{2\}-[0-9]\{2\}\)$/\1/p' "$ROOT/CHANGELOG.md" | head -1)
    if sed -n '/^## /{p;q}' "$ROOT/CHANGELOG.md" | grep -q Unreleased || [ -z "$day" ]; then
        git -C "$ROOT" log -1 --format=%ct
    else
        date -u -d "$day 12:00" +%s
    fi
}
