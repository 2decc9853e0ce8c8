# SPDX-License-Identifier: Apache-2.0
# Sourced by scripts/test, after common.sh: counts passed, failed and skipped tests, and prints the counts in the last
# line, however the script ends. The sourcing script sets IS_COMPLETE=yes at its end, and sets SELECT to a regular
# expression to run only some tests of ctest.
PASSED=0 FAILED=0 SKIPPED=0 RUN_FAILED=0 IS_COMPLETE=no BESIDE= BUILDING=

finish() {
    code=$?
    trap - EXIT
    [ -z "$BESIDE" ] || kill -- "-$BESIDE" 2>/dev/null || true
    [ -z "$BUILDING" ] || kill -- "-$BUILDING" 2>/dev/null || true
    if [ "$IS_COMPLETE" = no ]; then
        echo "stopped before the end: the last line counts the tests run so far, and the stop as one failure" >&2
        FAILED=$((FAILED + 1))
    elif [ $((PASSED + FAILED)) = 0 ]; then
        echo "nothing was tested" >&2
        code=1
    fi
    if [ "$FAILED" != 0 ] && [ "$code" = 0 ]; then code=1; fi
    echo "$PASSED passed, $FAILED failed, $SKIPPED skipped"
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Reads the end of ctest's log and prints "passed failed skipped". ctest counts a skipped test as passed, and does not
# count a disabled test.
ctest_counts() { # LOG
    awk '/^[0-9]+% tests passed, / { failed = $4; total = $NF; skipped = disabled = 0 }
         total != "" && /^\t *[0-9]+ - .* \(Skipped\)$/ { ++skipped }
         total != "" && /^\t *[0-9]+ - .* \(Disabled\)$/ { ++disabled }
         END { if (total != "") print total - failed - skipped, failed, skipped + disabled }' "$1"
}

# with_progress COSTS: copies ctest's output; every 15 seconds (PROGRESS_SECONDS) a line follows that says how many tests
# ended. It also says how much time is left, where COSTS, ctest's file, has the seconds of an earlier run.
with_progress() {
    costs=$1 began=$(date +%s) shown=$(date +%s) ended=0 done=0 all=0
    [ ! -f "$costs" ] || all=$(awk 'NF == 3 { all += $3 } END { print int(all * 10) }' "$costs")
    while IFS= read -r line; do
        printf '%s\n' "$line"
        case $line in *"/"*" Test "*"#"*": "*" sec"*) ;; *) continue ;; esac
        ended=$((ended + 1)) now=$(date +%s) name=${line#*: } total=${line#*/}
        [ "$all" = 0 ] || done=$((done + $(awk -v name="${name%% *}" '$1 == name { at = int($3 * 10) } END { print at + 0 }' "$costs")))
        [ $((now - shown)) -ge "${PROGRESS_SECONDS:-15}" ] || continue
        shown=$now left=
        if [ "$done" -gt 0 ] && [ "$all" -gt "$done" ]; then
            left=$(((now - began) * (all - done) / done))
            left=", about $((left / 60)) min $((left % 60)) s left"
        fi
        echo "-- $ended of ${total%% *} tests$left"
    done
}

# ctest_in PRESET [ARGUMENTS]: stores the number of failures in RUN_FAILED. A run without a test counts as failed. Two
# tests more than there are cores: many tests wait for a timeout, a disk or one thread, and leave a core idle.
ctest_in() {
    preset=$1 code=0
    shift
    log=build/$preset/ctest.log
    rm -f "$log"
    rm -f "$log.code" "$log.costs"
    costs=build/$preset/Testing/Temporary/CTestCostData.txt
    [ ! -f "$costs" ] || cp "$costs" "$log.costs" # ctest rewrites its own while it runs
    {
        ctest --test-dir "build/$preset" --output-on-failure --no-tests=error -j "$((JOBS + 2))" ${SELECT:+-R "$SELECT"} -O "$ROOT/$log" "$@" ||
            echo $? >"$log.code"
    } | with_progress "$log.costs"
    [ ! -f "$log.code" ] || code=$(cat "$log.code")
    counts=$(ctest_counts "$log" 2>/dev/null || true)
    # shellcheck disable=SC2086
    set -- ${counts:-0 0 0}
    RUN_FAILED=$2
    if [ "$code" != 0 ] && [ "$RUN_FAILED" = 0 ]; then
        echo "ctest in build/$preset ended with exit code $code, and names no test that failed" >&2
        RUN_FAILED=1
    fi
    PASSED=$((PASSED + $1)) FAILED=$((FAILED + RUN_FAILED)) SKIPPED=$((SKIPPED + $3))
}

# Runs the failed tests of the last run again.
forget_failed() { FAILED=$((FAILED - RUN_FAILED)); }

# suite NAME COMMAND...: counts the program as one test; exit code 77 is a skip, and the program has printed the
# reason.
suite() {
    name=$1 code=0
    shift
    "$@" || code=$?
    case $code in
        0) PASSED=$((PASSED + 1)) ;;
        77) SKIPPED=$((SKIPPED + 1)) && echo "$name: skipped" ;;
        *) FAILED=$((FAILED + 1)) && echo "$name: FAILED, exit code $code" ;;
    esac
}

# add_counts LOG: adds the counts of a command's last line, "N passed, N failed, N skipped". The line "exit code N" tells of
# a command that failed. Exit code 77 is a skip, and the command has printed the reason. An end without counts, or with
# none of the failures that the exit code tells of, counts as a failure.
add_counts() {
    code=$(sed -n 's/^exit code \([0-9]*\)$/\1/p' "$1" | tail -1)
    # shellcheck disable=SC2046
    set -- $(awk '/^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$/ { last = $1 " " $3 " " $5 } END { print last }' "$1")
    if [ "${code:-0}" = 77 ]; then
        set -- 0 0 1
    elif [ $# != 3 ] || { [ "${code:-0}" != 0 ] && [ "$2" = 0 ]; }; then
        set -- 0 1 0
    fi
    PASSED=$((PASSED + $1)) FAILED=$((FAILED + $2)) SKIPPED=$((SKIPPED + $3))
}

# count_of LOG COMMAND...: runs the command and adds its counts.
count_of() {
    log=$1
    shift
    { "$@" 2>&1 || echo "exit code $?"; } | tee "$log"
    add_counts "$log"
}

# beside LOG COMMAND...: starts the command in the background. It gets a session of its own, which an early end kills.
beside() {
    BESIDE_LOG=$1
    shift
    # shellcheck disable=SC2016
    setsid sh -c '"$@" || echo "exit code $?"' sh "$@" >"$BESIDE_LOG" 2>&1 &
    BESIDE=$!
}

# count_beside: waits for the command in the background, shows its output and adds its counts.
count_beside() {
    wait "$BESIDE" || true
    BESIDE=
    cat "$BESIDE_LOG"
    add_counts "$BESIDE_LOG"
}

# build_beside ONLY PRESET [CMAKE ARGUMENTS]: begins common.sh's `build` in the background, of the target ONLY or, if it
# is empty, of all, with the processor time that tests leave. await_build waits for its end.
build_beside() {
    BUILD_LOG=build/$2.log
    mkdir -p build
    # shellcheck disable=SC2016
    setsid nice -n 19 sh -c '. scripts/common.sh && BUILD_ONLY=$1 && shift && build "$@"' "$ROOT/scripts/test" "$@" >"$BUILD_LOG" 2>&1 &
    BUILDING=$!
}

# await_build: ends the script if the build has failed.
await_build() {
    code=0
    wait "$BUILDING" || code=$?
    BUILDING=
    cat "$BUILD_LOG"
    [ "$code" = 0 ] || exit "$code"
}
