#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: One list names the versions of TensorFlow for all that reads them, and the pages name the same versions.
# Promise: CONTRIBUTING's recipe for a new TensorFlow changes three files, and every reader then takes the version.
#
# $1: sources, $2: an empty folder. Environment: CMAKE. The exit code is 77 without python3.
set -eu
sources=$1 work=$2
: "${CMAKE:=cmake}"
list=integrations/tensorflow/versions.txt
fail() {
    echo "FAILED: $*"
    exit 1
}
command -v python3 >/dev/null 2>&1 || { echo "SKIP: python3 is not installed"; exit 77; }

# pages ROOT: prints what the pages of ROOT name wrongly
pages() {
    releases=$(grep '^[0-9]' "$1/$list")
    first=$(echo "$releases" | head -1) last=$(echo "$releases" | tail -1)
    rows=$(sed -n 's/^| \(2\.[0-9]*\) |.*| \(2\.[0-9.]*\) |$/\1 \2/p' "$1/docs/tensorflow.md")
    [ "$rows" = "$(echo "$releases" | sed 's/\(.*\)\.[0-9]*$/\1 &/')" ] || echo "docs/tensorflow.md: the rows of Versions are not those of $list"
    grep -qF "\"tensorflow-cpu~=$last\"" "$1/docs/tensorflow.md" || echo "docs/tensorflow.md: the install line does not name $last"
    grep -qF "TensorFlow ${first%.*} to ${last%.*} as GPUs" "$1/README.md" || echo "README.md: it does not say \"TensorFlow ${first%.*} to ${last%.*}\""
}

# readers ROOT FIRST LAST RELEASE: each reader of ROOT takes the versions
readers() {
    (cd "$1/integrations/tensorflow/python" && python3 -B -c "
from gantry_tensorflow import places as p
assert p.is_tested('$4') and (p.TESTED[0], p.TESTED[-1], p.NEWEST_TESTED) == ('$2', '$3', '$4'), p.TESTED") ||
        fail "places.py takes other versions"
    (cd "$1/integrations/tensorflow/shim" && python3 -B -c "import build_variables as b; b.check_version('$4')") ||
        fail "build_variables.py refuses $4"
    "$CMAKE" -DGANTRY_TENSORFLOW_GENERATED="$work/generated" -P "$1/integrations/tensorflow/versions.cmake"
    grep -qF "#define ADMISSION_LAST \"$3\"" "$work/generated/admission_versions.h" || fail "the plug-in's last version is not $3"
    grep -qF "#define ADMISSION_VERSIONS \"$2\", " "$work/generated/admission_versions.h" || fail "the plug-in's list does not begin with $2"
    code=0
    "$1/scripts/test-tensorflow" --no-install >"$work/output" 2>&1 || code=$?
    [ "$code" = 77 ] && grep -qF "env/$4 has no TensorFlow" "$work/output" || fail "scripts/test-tensorflow takes another version: $(cat "$work/output")"
}

rm -rf "$work"
mkdir -p "$work/gantry"
wrong=$(pages "$sources")
[ -z "$wrong" ] || fail "$wrong"
(cd "$sources" && tar -cf - README.md CONTRIBUTING.md docs/tensorflow.md scripts integrations) | tar -xf - -C "$work/gantry"
cd "$work/gantry"
releases=$(grep '^[0-9]' $list)
first=$(echo "$releases" | head -1) last=$(echo "$releases" | tail -1)
readers "$work/gantry" "${first%.*}" "${last%.*}" "$last"

# ---- the recipe, as CONTRIBUTING says it ----
old=${last%.*} new=2.$((${old#2.} + 1))
for file in $list README.md docs/tensorflow.md; do
    sed -n '/^## Support another TensorFlow/,/^## /p' CONTRIBUTING.md | grep -qF "$file" || fail "CONTRIBUTING's recipe does not name $file"
done
echo "$new.0" >>$list
[ "$(pages . | wc -l)" = 3 ] || fail "the pages are not checked: $(pages .)"
sed "s/to $old as GPUs/to $new as GPUs/" README.md >changed && cp changed README.md
sed "s/~=$last\"/~=$new.0\"/; s/^| $old | \(.*\) | $last |\$/&\\
| $new | \1 | $new.0 |/" docs/tensorflow.md >changed && cp changed docs/tensorflow.md
[ -z "$(pages .)" ] || fail "after the recipe: $(pages .)"
readers "$work/gantry" "${first%.*}" "$new" "$new.0"

# ---- a wrong list is refused ----
echo "2.x" >>$list
! "$CMAKE" -DGANTRY_TENSORFLOW_GENERATED="$work/generated" -P integrations/tensorflow/versions.cmake >"$work/output" 2>&1 || fail "versions.cmake takes the version 2.x"
grep -q 'three numbers with' "$work/output" || fail "versions.cmake says: $(cat "$work/output")"
echo "each reader takes the versions of $list"
