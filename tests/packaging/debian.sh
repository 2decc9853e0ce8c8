#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise (package_debian): Each file that an installation has is in exactly one of Debian's packages, and no package names
# a file that is not there.
# Promise (package_debian): Debian's symbols files list exactly the symbols that the libraries export, each with its node.
# Promise (package_debian): The symbols files and packages bear the number of the soname, and the version is stated in one
# file.
#
# debian.sh SOURCE BUILD WORK: compares packaging/debian with an installation of BUILD. Building the packages is
# packaging/make-debs, which scripts/release runs.
set -eu
source=$1 build=$2 work=$3
debian=$source/packaging/debian
rm -rf "$work"
mkdir -p "$work"
fail() { echo "FAILED: $*"; exit 1; }

sh "$source/packaging/make-symbols" --check "$build" || fail "the symbols files differ from the libraries"

# ---- the folders of Debian; libgantry_train_mpi is in no package (debian/rules) ----
DESTDIR=$work/stage cmake --install "$build" --prefix /usr >"$work/install.log" || fail "cmake --install"
cd "$work/stage/usr"
libdir=$(dirname "$(dirname "$(find . -name gantry.pc)")")
mv "$libdir" "$work/libraries"
mkdir -p lib
mv "$work/libraries" lib/x86_64-linux-gnu
mv share/doc/gantry share/doc/libgantry-dev
find . -name '*gantry_train_mpi*' -exec rm {} +
grep -q -e -DGANTRY_MPI=OFF "$debian/rules" || fail "debian/rules builds libgantry_train_mpi, and no package has it"

# ---- each file in one package ----
cd "$work/stage"
find . ! -type d | sed 's,^\./,,' | sort >"$work/installed"
[ "$(wc -l <"$work/installed")" -gt 100 ] || fail "the installation has only $(wc -l <"$work/installed") files"
for list in "$debian"/*.install "$debian/not-installed"; do
    package=$(basename "$list" .install)
    [ "$package" = not-installed ] || grep -qx "Package: $package" "$debian/control" || fail "debian/control has no package $package"
    while read -r pattern _; do
        for path in $pattern; do
            [ -e "$path" ] || [ -h "$path" ] || fail "$(basename "$list") names $pattern, which is not installed"
            find "$path" ! -type d
        done
    done <"$list" | sort -u >"$work/part.$package"
    [ -s "$work/part.$package" ] || fail "$(basename "$list") names no file"
done
# What is not installed is taken from a folder that a package names.
for part in "$work"/part.*; do
    [ "$part" = "$work/part.not-installed" ] || comm -23 "$part" "$work/part.not-installed"
done | cat - "$work/part.not-installed" | sort >"$work/packaged"
uniq -d "$work/packaged" >"$work/twice"
[ ! -s "$work/twice" ] || { cat "$work/twice"; fail "these files are in more than one package"; }
comm -3 "$work/installed" "$work/packaged" >"$work/missing"
[ ! -s "$work/missing" ] || { cat "$work/missing"; fail "these files are in no package"; }
for package in $(sed -n 's/^Package: //p' "$debian/control"); do
    [ -f "$debian/$package.install" ] || fail "the package $package has no $package.install"
done
for package in $(sed -n 's/^Depends: //p' "$debian/tests/control" | tr -d ','); do
    case $package in *gantry*) grep -qx "Package: $package" "$debian/control" || fail "debian/tests/control names $package, which is no package" ;; esac
done
echo "$(wc -l <"$work/installed") installed files are in $(ls "$debian"/*.install | wc -l) packages"

# ---- one number, one version ----
number=$(sed -n 's/^set(GANTRY_SONAME_NUMBER \([0-9]*\))$/\1/p' "$source/cmake/gantry_symbols.cmake")
for library in gantry gantry-train gantry-onnx; do
    grep -q "^lib.*[.]so[.]$number lib$library$number " "$debian/lib$library$number.symbols" || fail "no symbols file of lib$library$number states the soname's number $number"
done
version=$(sed -n 's/^#define GANTRY_VERSION "\([0-9.]*\)"$/\1/p' "$source/include/gantry/version.h")
[ -n "$version" ] || fail "include/gantry/version.h has no version"
sed -n '/^## /{p;q}' "$source/CHANGELOG.md" | grep -qF "$version" || fail "the first heading of CHANGELOG.md does not name $version, the version of include/gantry/version.h"
