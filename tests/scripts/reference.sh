#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: Doxygen makes the API reference from the public headers without a warning, the reference has every public
# function, and a header that breaks a rule is noticed.
#
# $1: sources, $2: an empty folder. Exit code 77: Doxygen is missing.
set -eu
command -v doxygen >/dev/null 2>&1 || { echo "SKIP: doxygen is not installed, so the reference is not checked"; exit 77; }
rm -rf "$2"
mkdir -p "$2/include" "$2/reference"
cp -r "$1/include/gantry" "$1/include/gantry_train" "$1/include/gantry_onnx" "$2/include/"
headers=$2/include

# Doxygen splits the value of a variable at spaces, so the paths are relative.
reference() {
    (cd "$2" && GANTRY_REFERENCE_INPUT=include GANTRY_REFERENCE_OUTPUT=reference GANTRY_REFERENCE_VERSION=test \
        doxygen "$1/cmake/Doxyfile" >output 2>&1)
}
reference "$1" "$2" || { cat "$2/output" >&2; echo "FAIL: doxygen warns about the public headers" >&2; exit 1; }

# Doxygen 1.9 does not warn about an enumerator without a comment. The comment stands after the enumerator or on the
# lines before it.
enumerators() {
    awk '
        /^(typedef )?enum .*\{|^enum \{/ { inside = 1 }
        /^\}/ { inside = 0 }
        inside && /^ +GANTRY_[A-Z0-9_]+( =|,|$)/ && !/\/\*\*</ && before !~ /^ *(\/\*\*|\*).*\*\/$/ { print FILENAME ":" FNR ": an enumerator without comment: " $1; bad = 1 }
        { before = $0 }
        END { exit bad }' "$headers"/*/*.h
}
enumerators || { echo "FAIL: enumerators are not documented" >&2; exit 1; }

cat "$headers"/*/*.h | tr '\n' ' ' | grep -oE 'GANTRY_API [^;(]*\bgantry_[a-z0-9_]+ ?\(' | grep -oE 'gantry_[a-z0-9_]+ ?\($' | tr -d ' (' | sort -u >"$2/functions"
count=$(grep -c . "$2/functions")
[ "$count" -gt 430 ] || { echo "FAIL: only $count functions were found in the headers" >&2; exit 1; }
cat "$2"/reference/html/globals_func*.html >"$2/listed"
while read -r function; do
    grep -q ">$function()<\|$function()" "$2/listed" || { echo "FAIL: the reference has no $function" >&2; exit 1; }
done <"$2/functions"

# noticed HEADER SED-SCRIPT TEXT: Doxygen must fail on the header with this change, and print this text.
noticed() {
    cp "$headers/$1" "$work/kept"
    sed -i "$2" "$headers/$1"
    if cmp -s "$headers/$1" "$work/kept"; then echo "FAIL: nothing in $1 is changed by $2" >&2; exit 1; fi
    if reference "$sources" "$work"; then echo "FAIL: $1 passed with $2" >&2; exit 1; fi
    grep -q "$3" "$work/output" || { cat "$work/output" >&2; echo "FAIL: doxygen does not print $3" >&2; exit 1; }
    mv "$work/kept" "$headers/$1"
}
sources=$1 work=$2
sed -i.kept 's/ *\/\*\*< The work was cancelled\. \*\///' "$headers/gantry/abi_types.h"
if enumerators >"$work/output"; then echo "FAIL: GANTRY_CANCELLED without comment passed" >&2; exit 1; fi
grep -q 'GANTRY_CANCELLED' "$work/output"
mv "$headers/gantry/abi_types.h.kept" "$headers/gantry/abi_types.h"
noticed gantry/ops_reduce.h '/^\/\*\* Sum: .*\*\/$/d' 'gantry_sum(.*is not documented'
noticed gantry/ops_reduce.h 's/\(bool keep_dims;\).*/\1/' 'keep_dims.*is not documented'
noticed gantry_train/layer.h '/^\/\*\* Flatten: .*\*\/$/d' 'gantry_flatten(.*is not documented'
noticed gantry/version.h 's/^\/\*\* \(The version of the library\)/\/** @param nothing None. \1/' 'nothing.*not found in the argument list'
echo "$count functions"
