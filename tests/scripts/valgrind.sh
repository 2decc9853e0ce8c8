#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: scripts/test-valgrind fails a test for an error or a leak, and for an error in a child of fork, but not for
# that child's leak.
#
# valgrind.sh SOURCE_DIR WORK_DIR.
set -eu
source=$1 work=$2
command -v valgrind >/dev/null 2>&1 || { echo "SKIP: there is no valgrind: apt-get install valgrind"; exit 77; }
command -v python3 >/dev/null 2>&1 || { echo "SKIP: there is no python3"; exit 77; }
rm -rf "$work"
mkdir -p "$work"
cat >"$work/program.c" <<'END_OF_PROGRAM'
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile char *kept;

static void leak(void) {
    kept = malloc(100);
    kept = NULL;
}

static int is_zero(void) {
    char *block = malloc(100);
    const volatile char *byte = block + 100;
    int answer = *byte == 0;
    free(block);
    return answer;
}

int main(int count, char **arguments) {
    const char *name = strrchr(arguments[0], '/') + 1;
    int in_child = count > 0 && strncmp(name, "test_child", 10) == 0, state = 0;
    if (in_child && fork() > 0) return wait(&state) < 0;
    if (strstr(name, "leak")) leak();
    if (strstr(name, "error") && is_zero()) kept = NULL;
    if (strstr(name, "skip")) return 77;
    if (in_child) _exit(0);
    return strstr(name, "fail") != NULL;
}
END_OF_PROGRAM
cat >"$work/CMakeLists.txt" <<'END_OF_LIST'
cmake_minimum_required(VERSION 3.22)
project(valgrind C)
enable_testing()
foreach(name good leak error fail skip child_leak child_error)
  add_executable(test_${name} program.c)
  add_test(NAME test_${name} COMMAND test_${name})
  set_tests_properties(test_${name} PROPERTIES LABELS unit SKIP_RETURN_CODE 77)
endforeach()
add_test(NAME test_other COMMAND test_leak) # no unit test
END_OF_LIST
cmake -S "$work" -B "$work/build" >"$work/log" 2>&1 && cmake --build "$work/build" >>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }

# expect CODE RESULT ARGUMENTS...: the result is "NAME: RESULT" of the tests, in alphabetic order, and the last line.
expect() {
    wanted_code=$1 wanted=$2 code=0
    shift 2
    "$source/scripts/test-valgrind" "$work/build" --jobs 2 "$@" >"$work/output" 2>&1 || code=$?
    got=$(sed -n 's/^\(test_[a-z_]*\): \([a-z]*\),.*/\1 \2/p' "$work/output" | sort | tr '\n' ' ')$(tail -1 "$work/output")
    if [ "$code" != "$wanted_code" ] || [ "$got" != "$wanted" ]; then
        cat "$work/output"
        printf '%s\n' "exit code $code, not $wanted_code, or the results are not those wanted:" "$got" "$wanted"
        exit 1
    fi
}
expect 1 "test_child_error failed test_child_leak passed test_error failed test_fail failed test_good passed test_leak failed \
test_skip skipped 2 passed, 4 failed, 1 skipped"
grep -q 'definitely lost' "$work/build/valgrind/test_leak.txt"
grep -q 'Invalid read' "$work/build/valgrind/test_error.txt"
expect 0 "test_good passed 1 passed, 0 failed, 0 skipped" --select good
expect 1 "test_skip skipped 0 passed, 0 failed, 1 skipped" --select skip
expect 1 "0 passed, 0 failed, 0 skipped" --select nothing
echo "errors and leaks fail a test; a skip is none"
