#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: The commands and changes of docs/add_an_op.md work in a copy of the sources.
#
# $1: sources, $2: an empty folder. Environment: CC, GENERATOR; PAGE, another page in place of docs/add_an_op.md;
# CMAKE_LISTS, a file that replaces the copy's CMakeLists.txt.
#   a block after "Create `FILE`:"    becomes FILE
#   a block after "Add to `FILE`:"    is appended to FILE
#   a block after "Change in `FILE`:" has a line of FILE after each "-", and its replacement after the following "+"
#   ```sh                             commands that must succeed
#   ```console                        "$ " begins a command; the other lines are its required output
set -eu
sources=$1 work=$2
: "${CC:=cc}" "${PAGE:=docs/add_an_op.md}" "${GENERATOR:=Unix Makefiles}"
rm -rf "$work"
mkdir -p "$work/gantry" "$work/steps" "$work/bin"
# No step reads debug information, which takes a fifth of the compiler's time.
printf '#!/bin/sh\nexec "%s" "$@" -g0\n' "$(command -v "$CC")" >"$work/bin/cc"
chmod 755 "$work/bin/cc"
CC=$work/bin/cc
fail() {
    echo "FAILED: $*"
    exit 1
}
(cd "$sources" && tar -cf - --exclude=./build --exclude=./.git .) | tar -xf - -C "$work/gantry"
[ -z "${CMAKE_LISTS:-}" ] || cp "$CMAKE_LISTS" "$work/gantry/CMakeLists.txt"

# Writes each block to a file, steps/NNN.text, and its action to steps/list: kind, number, FILE.
awk -v folder="$work/steps" '
    !kind && /^```[a-z]+$/ {
        kind = substr($0, 4)
        step = sprintf("%03d", ++count)
        # A paragraph may have a line break before its file name.
        if (match(before, /(Create|Add to|Change in) `[^`]+`:$/)) {
            what = substr(before, RSTART, RLENGTH)
            file = what
            sub(/^[^`]*`/, "", file)
            sub(/`:$/, "", file)
            print (what ~ /^Create/ ? "create" : what ~ /^Add/ ? "add" : "change"), step, file >(folder "/list")
        } else if (kind == "sh" || kind == "console") {
            print kind, step >(folder "/list")
        } else {
            print "none", step >(folder "/list")
        }
        printf "" >(folder "/" step ".text")
        next
    }
    kind && /^```$/ { kind = before = ""; next }
    kind { print >(folder "/" step ".text"); next }
    $0 == "" { ended = 1; next }
    { before = (ended ? "" : before " ") $0; ended = 0 }' "$sources/$PAGE"

cd "$work/gantry"
export CC PATH="$work/bin:$PATH" CMAKE_GENERATOR="$GENERATOR" GANTRY_BACKENDS=cpu GANTRY_TUNING_FILE=
steps=0
while read -r kind step file; do
    text=$work/steps/$step.text
    steps=$((steps + 1))
    case $kind in
        create)
            [ ! -e "$file" ] || fail "$file is there already"
            mkdir -p "$(dirname "$file")"
            cp "$text" "$file"
            ;;
        add)
            [ -f "$file" ] || fail "there is no $file to add to"
            cat "$text" >>"$file"
            ;;
        change)
            awk '
                FNR == NR && /^-/ { old = substr($0, 2); count[old] = 0; next }
                FNR == NR { text[old] = text[old] substr($0, 2) "\n"; next }
                $0 in count { printf "%s", text[$0]; ++count[$0]; next }
                { print }
                END { for (old in count) if (count[old] != 1) { print "found " count[old] " times: " old >"/dev/stderr"; exit 1 } }
                ' "$text" "$file" >"$work/changed" || fail "$file has not each of the lines once that the page changes"
            cp "$work/changed" "$file"
            ;;
        sh)
            sh -e "$text" >"$work/output" 2>&1 || { tail -40 "$work/output"; fail "these commands: $(cat "$text")"; }
            ;;
        console)
            awk '/^\$ / {
                command = quoted = substr($0, 3)
                gsub(/\047/, "\047\\\047\047", quoted)
                printf "printf \"$ %%s\\n\" \047%s\047\n%s\n", quoted, command
            }' "$text" >"$work/session"
            sh "$work/session" >"$work/output" 2>&1 || true
            diff -u "$text" "$work/output" || fail "the page shows (-) other output than the command prints (+)"
            ;;
        none) fail "block $step is not a command, and no line before it names its file: $(head -1 "$text")" ;;
    esac
done <"$work/steps/list"
[ "$steps" -ge 10 ] || fail "only $steps blocks were found"
echo "$steps blocks of $PAGE work as the page says"
