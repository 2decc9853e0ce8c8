#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise (command_page.*): The sessions of docs/command.md print the shown output.
#
# command_page.sh PAGE BIN SECTION: runs the console blocks of a section of docs/command.md with the programs in BIN, and
# compares their output with the page. Lines that begin with "$ " are commands, which share one shell; other lines are
# output, standard error included. A number matches any number, with its unit of size or time, a UUID any UUID; blanks
# match any blanks; three points match any text within a line, and any lines if nothing else stands on their line. So do, within a line,
# the texts that the page lists as the machine's: <!-- machine: AMD EPYC; 3.1+debian -->. Two PoCL devices are presented
# as GPUs.
set -eu
page=$1 bin=$2 section=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk -v section="$section" '
    /^```/ { code = !code; shows = code && /^```console$/; next }
    !code && /^## / { here = $2 == section }
    here && shows' "$page" >"$work/shown"
[ -s "$work/shown" ] || { echo "section $section of $page shows no session (a block that begins with \`\`\`console)"; exit 1; }
awk '/^\$ / {
    command = quoted = substr($0, 3)
    gsub(/\047/, "\047\\\047\047", quoted)
    printf "code=$?; printf \"$ %%s\\n\" \047%s\047; (exit $code)\n%s\n", quoted, command
}' "$work/shown" >"$work/session.sh"
mkdir "$work/home" "$work/here"
cp "${page%/*}/../tests/golden/saved_function_0_1.safetensors" "$work/here/model.safetensors" # for `gantry function`
cp "${page%/*}"/../tests/onnx/net.onnx "${page%/*}"/../tests/onnx/refused.onnx "$work/here" # for `gantry model`
cd "$work/here"
opencl=,opencl code=0
"$bin/tests/with_opencl" device true >"$work/why" || code=$?
if [ $code != 0 ]; then
    opencl=
    if grep -q -i -e opencl -e GPU: "$work/shown"; then
        echo "section $section needs two PoCL devices"
        cat "$work/why"
        exit $code
    fi
fi
if grep -q 'cuda backend' "$work/shown" && "$bin/gantry" devices | grep -q 'DGANTRY_CUDA=OFF'; then
    echo "section $section needs a build with CUDA"
    exit 77
fi
# A failed command is shown with its output.
env -i PATH="$bin:$PATH" HOME="$work/home" TMPDIR="$work" ${POCL_CACHE_DIR:+POCL_CACHE_DIR="$POCL_CACHE_DIR"} GANTRY_TUNING_FILE= GANTRY_CLAIMS_DIR="$work/claims" \
    ${OCL_ICD_VENDORS:+OCL_ICD_VENDORS="$OCL_ICD_VENDORS"} GANTRY_BACKENDS="cpu$opencl" POCL_DEVICES="pthread pthread" \
    GANTRY_OPENCL_CPU=gpu ${LSAN_OPTIONS:+LSAN_OPTIONS="$LSAN_OPTIONS"} ${ASAN_OPTIONS:+ASAN_OPTIONS="$ASAN_OPTIONS"} \
    sh "$work/session.sh" >"$work/seen" 2>&1 </dev/null || true
awk -v machine="$(sed -n 's/^<!-- machine: \(.*\) -->$/\1/p' "$page" | paste -sd ';' - | sed 's/; */;/g')" '
    # The length of a text of the machine at the beginning of the line, or 0.
    function of_machine(line,    i) {
        for (i = 1; i <= text_count; ++i) if (index(line, texts[i]) == 1) return length(texts[i])
        return 0
    }
    # The line as a regular expression.
    function pattern(line,    out, unit, known) {
        out = ""
        sub(/[ \t]+$/, "", line)
        while (line != "") {
            known = of_machine(line)
            if (known) {
                out = out ".*"
                RLENGTH = known
            } else if (match(line, /^\.\.\./)) {
                out = out ".*"
            } else if (match(line, /^[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+/)) {
                out = out "[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+-[0-9a-f]+"
            } else if (match(line, /^[0-9]+([.,][0-9]+)*( (bytes|KiB|MiB|GiB|TiB|ns|us|ms|s)($|[^A-Za-z]))?/)) {
                unit = substr(line, 1, RLENGTH)
                if (unit ~ / (bytes|KiB|MiB|GiB|TiB)[^A-Za-z]?$/) unit = "(bytes|KiB|MiB|GiB|TiB)"
                else if (unit ~ / (ns|us|ms|s)[^A-Za-z]?$/) unit = "(ns|us|ms|s)"
                else unit = ""
                out = out "[0-9]+([.,][0-9]+)*" (unit ? " *" unit : "")
                if (unit) match(line, /^[0-9.,]* [A-Za-z]+/)
                else match(line, /^[0-9]+([.,][0-9]+)*/)
            } else if (match(line, /^[ \t]+/)) {
                out = out "[ \t]+"
            } else if (match(line, /^[\]\[\\.*+?(){}|^$]/)) {
                out = out (substr(line, 1, 1) == "\\" ? "\\\\" : substr(line, 1, 1) == "^" ? "\\^" : "[" substr(line, 1, 1) "]")
            } else {
                match(line, /^./)
                out = out substr(line, 1, 1)
            }
            line = substr(line, RLENGTH + 1)
        }
        return "^" out "[ \t]*$"
    }
    # Whether the lines shown[i...] match the lines seen[k...].
    function fits(i, k) {
        for (; i <= shown_count && shown[i] != "..."; ++i)
            if (k > seen_count || seen[k++] !~ pattern(shown[i])) return 0
        if (i > shown_count) return k > seen_count
        for (; k <= seen_count + 1; ++k) if (fits(i + 1, k)) return 1
        return 0
    }
    function compare(    i) {
        if (command == "" || fits(1, 1)) return
        bad = 1
        print command
        for (i = 1; i <= shown_count; ++i) print "-" shown[i]
        for (i = 1; i <= seen_count; ++i) print "+" seen[i]
    }
    BEGIN { text_count = split(machine, texts, ";") }
    # The lines of the page, command by command, stay in an array; those of the run follow.
    FNR == NR { page[++page_count] = $0; next }
    { run[++run_count] = $0 }
    END {
        at = 1
        for (i = 1; i <= page_count;) {
            command = page[i++]
            ++count
            shown_count = seen_count = 0
            while (i <= page_count && page[i] !~ /^\$ /) shown[++shown_count] = page[i++]
            if (run[at] != command) { print command ": it did not run"; exit 1 }
            ++at
            while (at <= run_count && !(i <= page_count && run[at] == page[i])) seen[++seen_count] = run[at++]
            compare()
        }
        if (bad) print "the page (-) shows other output than the commands print (+)"
        else print count " commands print the shown output"
        exit bad
    }' "$work/shown" "$work/seen"
