#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: The prototypes of the public headers match the rows in ops/, and the check notices a difference.
#
# $1: sources, $2: an empty folder.
set -eu
"$1/scripts/make-ops-header" --check

fresh() {
    rm -rf "$2"
    mkdir -p "$2/scripts" "$2/include/gantry"
    cp -r "$1/ops" "$2/"
    cp "$1/include/gantry/ops_elementwise.h" "$1/include/gantry/ops_reduce.h" "$2/include/gantry/"
    cp "$1/scripts/make-ops-header" "$2/scripts/"
}
noticed() {
    if "$1/scripts/make-ops-header" --check >"$1/output" 2>&1; then echo "FAIL: $2 passed the check" >&2; exit 1; fi
    grep -q "$3" "$1/output" || { cat "$1/output" >&2; echo "FAIL: $2 is not reported as $3" >&2; exit 1; }
}

fresh "$1" "$2"
sed -i 's/"the hyperbolic tangent"/"the tangent"/' "$2/ops/elementwise.def"
noticed "$2" "another summary" '^+/\*\* Tanh: the tangent. Takes the floating types. \*/'
"$2/scripts/make-ops-header"
"$2/scripts/make-ops-header" --check

fresh "$1" "$2"
echo 'GANTRY_REDUCTION(Range, range_of, "the largest less the least", AXES, NUMERIC, SUM, NONE, ZERO)' >>"$2/ops/reduce.def"
noticed "$2" "a row without prototype" '^+.*gantry_range_of('

fresh "$1" "$2"
echo 'GANTRY_ELEMENTWISE(Twice, twice, UNARY, NUMERIC, SAME, NEVER, NONE, (U)x + (U)x)' >>"$2/ops/elementwise.def"
noticed "$2" "a row without summary" 'a row is not of the form'

fresh "$1" "$2"
echo 'GANTRY_ELEMENTWISE(Twice, twice, "2 * x", UNARY, EVERYTHING, SAME, NEVER, NONE, (U)x + (U)x)' >>"$2/ops/elementwise.def"
noticed "$2" "a row of unknown types" 'types EVERYTHING are not known'

fresh "$1" "$2"
sed -i '/end of the rows/d' "$2/include/gantry/ops_reduce.h"
noticed "$2" "a header without its mark" 'the prototypes have no place'
