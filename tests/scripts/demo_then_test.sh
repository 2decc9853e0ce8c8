#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: scripts/demo and then scripts/test work in one copy of the tree, and in the other order; both find the
# tests.
#
# demo_then_test.sh SOURCE_DIR WORK_DIR.
#
# CMake configures for real, but nothing is built: stand-ins replace cmake --build and the programs, and only one test
# runs. The copy has no TensorFlow, which counts as skipped.
set -eu
source=$1 work=$2
rm -rf "$work"
mkdir -p "$work/tree" "$work/bin"
(cd "$source" && tar cf - --exclude=./build --exclude=./.git .) | (cd "$work/tree" && tar xf -)
cmake=$(command -v cmake) ctest=$(command -v ctest)
cat >"$work/bin/cmake" <<END
#!/bin/sh
if [ "\$1" = --build ]; then
    mkdir -p "\$2/bin/tests"
    for program in gantry gpu_guide memory_control cpu_vs_gpu functions language_id custom_loop keras_linear text_classifier digits char_transformer file_types speech tests/test_types; do
        printf '#!/bin/sh\nexit 0\n' >"\$2/bin/\$program"
        chmod +x "\$2/bin/\$program"
    done
    exit \${STAND_IN_BUILD:-0}
fi
exec "$cmake" "\$@"
END
printf '#!/bin/sh\nexec "%s" "$@" -R "^test_types$"\n' "$ctest" >"$work/bin/ctest"
chmod +x "$work/bin/cmake" "$work/bin/ctest"
PATH=$work/bin:$PATH
export PATH
cd "$work/tree"

# run_test CODE LAST_LINE
run_test() {
    code=0
    scripts/test --no-install >"$work/output" 2>&1 || code=$?
    [ "$code" = "$1" ] && [ "$(tail -1 "$work/output")" = "$2" ] || {
        cat "$work/output"
        echo "scripts/test: exit code $code, not $1, or the last line is not \"$2\""
        exit 1
    }
}
scripts/demo --no-install >"$work/output" 2>&1 || { cat "$work/output"; exit 1; }
run_test 0 "1 passed, 0 failed, 1 skipped"
scripts/demo --no-install >"$work/output" 2>&1 || { cat "$work/output"; exit 1; }
run_test 0 "1 passed, 0 failed, 1 skipped"

# The preset sets every option, so that no option of an earlier configuration remains.
cmake build/release -DGANTRY_BUILD_TESTS=OFF -DGANTRY_OPENCL=OFF -DBUILD_SHARED_LIBS=OFF -DGANTRY_STATIC_BACKENDS=cuda >/dev/null
run_test 0 "1 passed, 0 failed, 1 skipped"
for line in GANTRY_OPENCL:BOOL=ON BUILD_SHARED_LIBS:BOOL=ON GANTRY_STATIC_BACKENDS:STRING=AUTO; do
    grep -q "^$line$" build/release/CMakeCache.txt || { echo "after scripts/test the folder has not $line"; exit 1; }
done

STAND_IN_BUILD=1
export STAND_IN_BUILD
run_test 1 "0 passed, 1 failed, 0 skipped"
echo "the tests are there after the demo"
