#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: A command that is added as CONTRIBUTING says is in the help, the manual page and the completions of a copy.
#
# $1: sources, $2: an empty folder, $3: the build folder, whose libraries of tests it takes; then the objects of the
# command of that build, all of which are linked but that of the table. Environment: CC.
set -eu
sources=$1 work=$2 build=$3
shift 3
: "${CC:=cc}"
rm -rf "$work"
mkdir -p "$work"
fail() {
    echo "FAILED: $*"
    exit 1
}
(cd "$sources" && tar -cf - CONTRIBUTING.md host include ops scripts src tools) | tar -xf - -C "$work"
cd "$work"

# ---- the recipe, as CONTRIBUTING says it ----
recipe=$(sed -n '/^## Add a command/,/^## Change/p' CONTRIBUTING.md)
for file in 'tools/<name>/<name>.c' tools/command/command.h tools/common/tool.h tools/command/commands.def scripts/directions.txt; do
    printf '%s\n' "$recipe" | grep -qF "$file" || fail "CONTRIBUTING's recipe does not name $file"
done
mkdir tools/greet
cat >tools/greet/greet.c <<'END'
/* SPDX-License-Identifier: Apache-2.0 */
#include "command/command.h"
#include "common/tool.h"

static int greet_run(const gantry_command_values_t *values) {
    gantry_json_t json;
    gantry_json_init(&json, stdout);
    if (gantry_command_has(values, "json")) gantry_json_text(&json, NULL, "hello");
    (void)puts(gantry_command_has(values, "json") ? "" : "hello");
    return GANTRY_TOOL_OK;
}

const gantry_command_t gantry_command_greet = {.name = "greet",
                                               .summary = "says hello",
                                               .options = {GANTRY_OPTION_JSON},
                                               .examples = {{"gantry greet", NULL}},
                                               .run = greet_run};
END
sed 's/^GANTRY_COMMAND(ops)$/&\nGANTRY_COMMAND(greet)/' "$sources/tools/command/commands.def" >tools/command/commands.def
sed 's/^room tools\/ops: .*$/&\nroom tools\/greet: tools\/command/' "$sources/scripts/directions.txt" >scripts/directions.txt

# ---- what follows by itself ----
for file do
    shift
    case $file in */command/command.c.*) ;; *) set -- "$@" "$file" ;; esac
done
for file in tools/greet/greet tools/command/command; do
    "$CC" -std=c11 -Wall -Werror -Itools -Iinclude -I. -Isrc -c -o "$(basename "$file").o" "$file.c"
done
"$CC" -o gantry greet.o command.o "$@" "$build/lib/libgantry_onnx_internal.a" "$build/lib/libgantry_train_internal.a" "$build/lib/libgantry_internal.a" -lcjson -lz -ldl -lm -lpthread
[ "$(./gantry greet)" = hello ] && [ "$(./gantry greet --json)" = '"hello"' ] || fail "the command prints something else"
for words in --help "greet --help" __man "__complete bash"; do
    ./gantry $words >output 2>&1 || { cat output; fail "gantry $words ends with a failure"; }
    grep -q greet output || fail "gantry $words does not know the command"
done
if [ -x "$(command -v ctags)" ]; then
    scripts/check-directions >output 2>&1 || { cat output; fail "the room breaks the law"; }
    sed -i '/^room tools\/greet/d' scripts/directions.txt
    ! scripts/check-directions >output 2>&1 || fail "a command without a room passes"
fi
echo "CONTRIBUTING's recipe makes a command"
