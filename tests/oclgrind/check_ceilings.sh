#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise (gpu_lines): No kernel's form for GPUs touches more lines of memory, or waits longer for a bank, than its
# ceiling.
# Promise (gpu_lines.indexed): No form for GPUs of Sort of rows, TopK, Bincount, ScatterNd, SegmentSum, Gather, Cumsum of a
# vector and Unique touches more lines, or waits longer for a bank, than its ceiling.
#
# check_ceilings.sh PROGRAM CEILINGS [ARGUMENT]: runs the program with the argument on Oclgrind with the counting plug-in (OCLGRIND_PLUGINS), and
# compares the counts with the ceilings.
set -eu
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
program=$1 ceilings=$2
shift 2
GANTRY_LINE_COUNTS=$counts "$program" "$@"
awk -v default=2.00 '
    FNR == NR { if ($0 !~ /^#/) { lines[$1] = $2; turns[$1] = $3 } next }
    {
        most_lines = ($1 in lines) ? lines[$1] : default
        most_turns = ($1 in turns) ? turns[$1] : default
        bad = ($3 > most_lines || $5 > most_turns)
        printf "%-4s %-16s lines %5.2f of at most %5.2f, turns %5.2f of at most %5.2f\n", bad ? "FAIL" : "ok", $1, $3, most_lines, $5, most_turns
        failed += bad
        seen[$1] = 1
        ++count
    }
    END {
        for (name in lines) if (!(name in seen)) printf "note %s has a ceiling and did not run\n", name
        if (count < 8) { printf "FAIL only %d kernels were counted\n", count; failed = 1 }
        exit failed > 0
    }' "$ceilings" "$counts"
