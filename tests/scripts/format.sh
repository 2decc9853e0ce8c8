#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: Every C file is formatted as scripts/format writes it, and the check notices a file that is not.
#
# $1: sources, $2: an empty folder.
set -eu
rm -rf "$2"
mkdir -p "$2/scripts"
"$1/scripts/format" --check --no-install

cp "$1/.clang-format" "$2/"
cp "$1/scripts/format" "$2/scripts/"
echo 'int   crooked;' >"$2/crooked.c"
! (cd "$2" && GIT_DIR=/proc/none scripts/format --check --no-install) || { echo "a crooked file passed the check" >&2; exit 1; }
(cd "$2" && GIT_DIR=/proc/none scripts/format --no-install && GIT_DIR=/proc/none scripts/format --check --no-install)

# In a clone a new file counts, and a file that git ignores does not.
command -v git >/dev/null || exit 0
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
cd "$2"
git init -q
echo 'ignored.c' >.gitignore
echo 'int   crooked;' >new.c
cp new.c ignored.c
found=$(scripts/format --check --no-install) && { echo "a new crooked file passed the check" >&2; exit 1; }
[ "$found" = "new.c:1: not as scripts/format writes it
2 files, 1 differ" ] || { echo "the check of a clone says: $found" >&2; exit 1; }
