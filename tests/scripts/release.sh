#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: The tarball of a release, and its bill of materials, have the same bytes each time.
# Promise: The bill of materials names each file of the tarball and each library that a build takes from the system, with
# the licence of each.
# Promise: scripts/release refuses a version that the headers do not state, and names both.
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
[ "$(wc -l <"$work/files")" -gt 1000 ] || fail "the tarball has only $(wc -l <"$work/files") files"

if scripts/release 9.9.9 >"$work/refused" 2>&1; then fail "scripts/release takes the version 9.9.9"; fi
grep -qF "the version is \"9.9.9\", and include/gantry/version.h states $version" "$work/refused" || { cat "$work/refused"; fail "the message does not name both versions"; }
cat "$work/said"
