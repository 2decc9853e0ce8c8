#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: scripts/results.sh adds the results of ctest and programs in the last line, however the script ends; a run
# without tests is a failure.
# Promise: A build in the background that fails ends the script with its exit code and its log, and an early end of the
# script ends the build.
#
# results.sh SOURCE_DIR WORK_DIR.
set -eu
source=$1 work=$2
rm -rf "$work"
mkdir -p "$work/project" "$work/empty"
cat >"$work/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(results NONE)
enable_testing()
add_test(NAME good COMMAND true)
add_test(NAME other COMMAND true)
add_test(NAME bad COMMAND sh -c "echo '100% tests passed, 0 tests failed out of 7'; false")
add_test(NAME missing COMMAND /nonexistent/program)
add_test(NAME setup COMMAND false)
add_test(NAME waits COMMAND true)
add_test(NAME skip COMMAND sh -c "exit 77")
add_test(NAME words COMMAND echo SKIP)
add_test(NAME disabled COMMAND true)
set_tests_properties(setup PROPERTIES FIXTURES_SETUP fixture)
set_tests_properties(waits PROPERTIES FIXTURES_REQUIRED fixture)
set_tests_properties(skip PROPERTIES SKIP_RETURN_CODE 77)
set_tests_properties(words PROPERTIES SKIP_REGULAR_EXPRESSION SKIP)
set_tests_properties(disabled PROPERTIES DISABLED ON)
set_tests_properties(good other skip words disabled PROPERTIES LABELS fine)
END
printf 'cmake_minimum_required(VERSION 3.22)\nproject(empty NONE)\nenable_testing()\n' >"$work/empty/CMakeLists.txt"
cmake -S "$work/project" -B "$work/build/some" >/dev/null
cmake -S "$work/empty" -B "$work/build/none" >/dev/null

# expect CODE LAST_LINE COMMANDS: the required end of a script that sources results.sh and runs the commands.
expect() {
    code=0
    (cd "$work" && ROOT=$work JOBS=2 sh -c "set -eu; SELECT=; . '$source/scripts/results.sh'; $3") >"$work/output" 2>&1 || code=$?
    if [ "$code" != "$1" ] || [ "$(tail -1 "$work/output")" != "$2" ]; then
        cat "$work/output"
        echo "\"$3\": exit code $code, not $1, or the last line is not \"$2\""
        exit 1
    fi
}
expect 0 "1 passed, 0 failed, 0 skipped" 'suite one true; IS_COMPLETE=yes'
expect 1 "2 passed, 4 failed, 3 skipped" 'ctest_in some; IS_COMPLETE=yes'
expect 1 "5 passed, 9 failed, 7 skipped" 'ctest_in some; ctest_in some; suite a true; suite b false; suite c sh -c "exit 77"; IS_COMPLETE=yes'
expect 0 "2 passed, 0 failed, 3 skipped" 'ctest_in some -R "good|other|skip|words|disabled"; IS_COMPLETE=yes'
expect 0 "1 passed, 0 failed, 0 skipped" 'SELECT=good; ctest_in some; IS_COMPLETE=yes'
expect 1 "0 passed, 4 failed, 0 skipped" 'ctest_in some -LE fine; forget_failed; ctest_in some --rerun-failed; IS_COMPLETE=yes'
expect 1 "0 passed, 1 failed, 0 skipped" 'ctest_in none; IS_COMPLETE=yes'              # no test
expect 1 "1 passed, 1 failed, 0 skipped" 'suite a true; ctest_in none; IS_COMPLETE=yes'
expect 1 "0 passed, 1 failed, 0 skipped" 'SELECT=nothing; ctest_in some; IS_COMPLETE=yes' # no test of the name
expect 1 "0 passed, 1 failed, 0 skipped" 'ctest_in nowhere; IS_COMPLETE=yes'             # no build
expect 1 "0 passed, 0 failed, 1 skipped" 'suite a sh -c "exit 77"; IS_COMPLETE=yes'
expect 1 "3 passed, 2 failed, 1 skipped" 'count_of log sh -c "echo 2 passed, 2 failed, 1 skipped; exit 1"; suite a true; IS_COMPLETE=yes'
expect 0 "1 passed, 0 failed, 1 skipped" 'count_of log sh -c "exit 77"; suite a true; IS_COMPLETE=yes'
expect 1 "0 passed, 1 failed, 0 skipped" 'count_of log true; IS_COMPLETE=yes'             # no counts
expect 1 "0 passed, 1 failed, 0 skipped" 'count_of log sh -c "echo 2 passed, 0 failed, 0 skipped; exit 1"; IS_COMPLETE=yes'
expect 1 "3 passed, 2 failed, 1 skipped" 'beside log sh -c "sleep 0.1; echo 2 passed, 2 failed, 1 skipped; exit 1"; suite a true; count_beside; IS_COMPLETE=yes'
expect 0 "1 passed, 0 failed, 1 skipped" 'beside log sh -c "exit 77"; suite a true; count_beside; IS_COMPLETE=yes'
expect 1 "1 passed, 1 failed, 0 skipped" 'beside log sh -c "kill -9 \$PPID"; suite a true; count_beside; IS_COMPLETE=yes' # no end
expect 1 "1 passed, 1 failed, 0 skipped" 'suite a true; false; IS_COMPLETE=yes'          # set -e ends it
expect 3 "1 passed, 1 failed, 0 skipped" 'suite a true; exit 3'                          # as a build that fails does
expect 130 "0 passed, 1 failed, 0 skipped" 'kill -INT $$; sleep 1; IS_COMPLETE=yes'
# A build in the background.
mkdir "$work/scripts"
cat >"$work/scripts/common.sh" <<'END'
build() {
    echo "built $*${BUILD_ONLY:+, only $BUILD_ONLY}"
    case $1 in
        bad) exit 3 ;;
        slow) sleep 60 & echo $! >child; wait ;;
    esac
}
END
expect 0 "1 passed, 0 failed, 0 skipped" 'build_beside "" some -DA=1; suite a true; await_build; IS_COMPLETE=yes'
grep -qx 'built some -DA=1' "$work/output" || { cat "$work/output"; echo "the log of a build is not shown"; exit 1; }
expect 3 "1 passed, 1 failed, 0 skipped" 'build_beside part bad; suite a true; await_build; IS_COMPLETE=yes'
grep -qx 'built bad, only part' "$work/output" || { cat "$work/output"; echo "the log of a build that failed is not shown"; exit 1; }
# An early end kills a command in the background, and what that has started.
for begins in 'beside log sh -c "sleep 60 & echo \$! >child; wait"' 'build_beside "" slow'; do
    rm -f "$work/child"
    expect 3 "0 passed, 1 failed, 0 skipped" "$begins; while [ ! -s child ]; do sleep 0.01; done; exit 3"
    child=$(cat "$work/child")
    # A zombie is dead: its next parent may be slow to reap it.
    for pause in 0 0.1 0.4 1.5 8; do
        sleep $pause
        state=$(sed -n 's/^State:[^A-Z]*\([A-Z]\).*/\1/p' "/proc/$child/status" 2>/dev/null || true)
        case $state in Z | "") break ;; esac
    done
    case $state in Z | "") ;; *) echo "process $child, of a command in the background, outlived the script"; exit 1 ;; esac
done
# A script that reads results.sh keeps functions of its own.
for name in $(sed -n 's/^\([a-z_]*\)() {.*/\1/p' "$source/scripts/results.sh"); do
    for script in "$source/scripts/test" "$source/scripts/test-tensorflow"; do
        ! grep -q "^$name() {" "$script" || { echo "$script has a function $name, too: that of results.sh replaces it" >&2; exit 1; }
    done
done
echo "the last line counts the tests that ran"
