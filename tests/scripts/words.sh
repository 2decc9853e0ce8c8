#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: Comments of shipped folders say "must" and keep the words to avoid below the rates of scripts/check-words.
# Promise: scripts/check-words notices a word to avoid, comments without "must", and a folder without comments; names and
# quoted texts do not count.
#
# words.sh SOURCE_DIR WORK_DIR.
set -eu
command -v python3 >/dev/null || { echo "SKIP: there is no python3"; exit 77; }
check=$1/scripts/check-words work=$2
rm -rf "$work"
mkdir -p "$work/good" "$work/avoided" "$work/loose" "$work/empty"
echo '/* The caller must hold the lock. */ int a; /* "behind" and is_behind() and `beside` */' >"$work/good/a.c"
echo '/* The caller must hold the lock behind it. */' >"$work/avoided/a.c"
echo '/* The caller holds the lock. */' >"$work/loose/a.c"
python3 "$check" --check "$work/good" || { echo "good comments are refused"; exit 1; }
for folder in avoided loose empty; do
    ! python3 "$check" --check "$work/$folder" || { echo "$folder: nothing was noticed"; exit 1; }
done
python3 "$check" --check | tail -7
python3 "$check" --check >/dev/null
