#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: `scripts/test --list` prints each promise of docs/verification.md after the name of its test, and runs nothing.
# Promise: `scripts/test --slowest` prints the tests of a build folder by their seconds, the longest first.
# Promise: A run of tests says now and then how many of them ended, and where an earlier run took their times, about how
# much time is left.
# Promise: The scripts of other platforms refuse a word that they do not know, and name what is accepted.
#
# lists.sh SOURCE_DIR WORK_DIR.
set -eu
source=$1 work=$2
rm -rf "$work"
mkdir -p "$work/docs" "$work/scripts" "$work/build/some/Testing/Temporary"
cp "$source/scripts/test" "$source/scripts/common.sh" "$work/scripts"
cp "$source/docs/verification.md" "$work/docs"
listed=$("$work/scripts/test" --list | wc -l)
promised=$(grep -c '^| [^|]* |' "$source/docs/verification.md")
headings=$(grep -c '^| promise |' "$source/docs/verification.md")
[ "$listed" = $((promised - headings)) ] || { echo "$listed lines, and the page has $((promised - headings)) promises"; exit 1; }
"$work/scripts/test" --list | grep -q '^scripts\.lists: `scripts/test --list` prints' || { echo "this test is not listed"; exit 1; }

! "$work/scripts/test" --slowest || { echo "a folder that ran no test has times"; exit 1; }
printf 'quick 1 0.25\nslow 3 12.5\nmiddle 2 3\n---\nslow\n' >"$work/build/some/Testing/Temporary/CTestCostData.txt"
got=$("$work/scripts/test" --slowest | tr -s ' ' | tr '\n' ';')
[ "$got" = "build/some:; 12.5 s slow; 3.0 s middle; 0.2 s quick;" ] || { echo "--slowest printed: $got"; exit 1; }

printf 'a 1 2\nb 1 6\n---\n' >"$work/costs"
got=$(PROGRESS_SECONDS=0 sh -c "IS_COMPLETE=yes; . '$source/scripts/results.sh'; IS_COMPLETE=yes PASSED=1
      { sleep 1; printf '%s\n' '    Start 1: a' ' 1/4 Test #1: a ....   Passed    0.10 sec'; } | with_progress '$work/costs'
      echo ' 1/4 Test #1: a ....   Passed    0.10 sec' | with_progress '$work/none'")
echo "$got" | grep -q '^-- 1 of 4 tests, about 0 min [3-6] s left$' || { echo "no time that is left in: $got"; exit 1; }
echo "$got" | grep -q '^-- 1 of 4 tests$' || { echo "without times of an earlier run: $got"; exit 1; }
for script in compile-elsewhere test-platforms test-arch; do
    code=0
    said=$("$source/scripts/$script" nonsense --no-install 2>&1) || code=$?
    [ $code = 2 ] || { echo "$script nonsense: exit code $code: $said"; exit 1; }
    echo "$said" | grep -q '"nonsense" is not understood.*accepted are .*--no-install' || { echo "$script nonsense says: $said"; exit 1; }
done
echo "tests are listed, timed and counted"
