#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: The tarball of a release, and its bill of materials, have the same bytes each time.
# Promise: The bill of materials names each file of the tarball and each library that a build takes from the system, with
# the licence of each.
# Promise: The tarball has no file above 1 MiB, so that nothing of a build or a download is in it.
# Promise: scripts/release refuses, with the reason: no version, one that the headers do not state, a tree without git or
# without the list of changes, a folder that it cannot write.
#
# release.sh SOURCE_DIR WORK. The whole release is scripts/test --packages.
set -eu
source=$1 work=$2
command -v python3 >/dev/null 2>&1 || { echo "SKIP: there is no python3"; exit 77; }
git -C "$source" rev-parse HEAD >/dev/null 2>&1 || { echo "SKIP: $source is not a clone, and a release is made of a commit"; exit 77; }
fail() { echo "FAILED: $*"; exit 1; }
rm -rf "$work"
mkdir -p "$work/first" "$work/second"
cd "$source"
version=$(sed -n 's/^#define GANTRY_VERSION "\([0-9.]*\)"$/\1/p' include/gantry/version.h)

for folder in first second; do
    (umask $([ $folder = first ] && echo 022 || echo 077) && TZ=$([ $folder = first ] && echo UTC || echo Asia/Tokyo) packaging/make-tarball "$work/$folder")
    packaging/make-sbom "$work/$folder/gantry-$version.tar.gz" "$work/$folder/bill.json" >"$work/said"
done
cmp "$work/first/gantry-$version.tar.gz" "$work/second/gantry-$version.tar.gz" || fail "two tarballs of one commit differ"
cmp "$work/first/bill.json" "$work/second/bill.json" || fail "two bills of one tarball differ"

tar -tzf "$work/first/gantry-$version.tar.gz" | grep -v '/$' | sed 's,^[^/]*/,./,' | LC_ALL=C sort >"$work/files"
python3 - "$work/first/bill.json" >"$work/listed" <<'EOS'
import json
import sys

bill = json.load(open(sys.argv[1], encoding="utf-8"))
known = {entry["SPDXID"] for entry in bill["packages"] + bill["files"]} | {"SPDXRef-DOCUMENT"}
for relation in bill["relationships"]:
    assert relation["spdxElementId"] in known and relation["relatedSpdxElement"] in known, relation
assert len(known) == len(bill["packages"]) + len(bill["files"]) + 1, "two elements have one name"
assert {"gantry", "xxHash", "cJSON", "zlib", "OpenCL-Headers"} == {entry["name"] for entry in bill["packages"]}, bill["packages"]
licences = {entry["name"]: entry["licenseConcluded"] for entry in bill["packages"]}
assert licences == {"gantry": "Apache-2.0", "xxHash": "BSD-2-Clause", "cJSON": "MIT", "zlib": "Zlib", "OpenCL-Headers": "Apache-2.0"}, licences
assert not [entry["name"] for entry in bill["packages"] if "NOASSERTION" in (entry["licenseDeclared"], entry["copyrightText"])]
named = {entry["fileName"]: entry["licenseInfoInFiles"] for entry in bill["files"]}
assert set(sum(named.values(), [])) == {"Apache-2.0", "NONE"} and named["./LICENSE"] == named["./src/run/eager.c"] == ["Apache-2.0"], named
assert named["./docs/memory.md"] == ["NONE"], "a page names no licence"
for name in sorted(entry["fileName"] for entry in bill["files"]):
    print(name)
EOS
LC_ALL=C sort "$work/listed" | diff "$work/files" - >"$work/difference" || { head -20 "$work/difference"; fail "the bill does not list the files of the tarball"; }
tar -tvzf "$work/first/gantry-$version.tar.gz" | awk '$3 > 1048576 { print $3, $6; found = 1 } END { exit found }' || fail "these files of the tarball are above 1 MiB"
[ "$(wc -l <"$work/files")" -gt 1000 ] || fail "the tarball has only $(wc -l <"$work/files") files"

# refused TEXT ARGUMENT...: scripts/release of a small tree ends with exit code 2 and the text, and leaves no release.
tree="$work/a tree"
mkdir -p "$tree"
cp -R scripts packaging CHANGELOG.md "$tree"
mkdir -p "$tree/include/gantry"
cp include/gantry/version.h "$tree/include/gantry"
refused() {
    text=$1 code=0
    shift
    "$tree/scripts/release" "$@" --no-install >"$work/refused" 2>&1 || code=$?
    if [ $code != 2 ] || ! grep -qF -e "$text" "$work/refused"; then
        cat "$work/refused"
        fail "scripts/release $* ends with $code, and not with 2 and \"$text\""
    fi
    [ ! -d "$tree/build/release-$version" ] || fail "scripts/release $* leaves a release"
}
refused "a tree is not a clone, and a release is made of a commit" "$version"
git -C "$tree" init -q
refused "a tree is not a clone, and a release is made of a commit" "$version"
git -C "$tree" -c user.name=test -c user.email=test@invalid commit -q --allow-empty -m "a commit"
refused "which version? include/gantry/version.h states $version, so the command is scripts/release $version"
refused "\"1.0\" is not understood; accepted are a version, such as 0.1.0" 1.0
refused "\"--fast\" is not understood" --fast
refused "the version is \"9.9.9\", and include/gantry/version.h states $version" 9.9.9
refused "the version is \"${version}rc1\", and include/gantry/version.h states $version" "${version}rc1"
echo "no folder" >"$tree/build"
refused "$tree/build/release-$version cannot be made" "$version"
echo "# Changelog" >"$tree/CHANGELOG.md"
refused "CHANGELOG.md has no part of $version" "$version"
cat "$work/said"
