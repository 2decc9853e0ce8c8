#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: Every source file names its licence.
#
# spdx.sh SOURCE_DIR.
#
# A clone lists its files with git; other trees are searched.
set -eu
cd "$1"
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    files=$(git ls-files)
else
    files=$(find . -path ./build -prune -o -type f -print | sed 's|^\./||')
fi
files=$(printf '%s\n' "$files" | grep -E '\.(c|cpp|h|hpp|cl|def|inc|cmake|py|sh|in)$|(^|/)CMakeLists\.txt$|^scripts/|^packaging/(make|test)-|^\.ci/|(^|/)run$')
# A file whose deletion is not yet committed is left out.
files=$(printf '%s\n' "$files" | while read -r file; do [ ! -f "$file" ] || printf '%s\n' "$file"; done)
count=$(printf '%s\n' "$files" | wc -l)
[ "$count" -ge 500 ] || { echo "only $count source files were found in $1"; exit 1; }
lacking=$(printf '%s\n' "$files" | xargs grep -L 'SPDX-License-Identifier: Apache-2\.0' || true)
[ -z "$lacking" ] || { echo "no line SPDX-License-Identifier: Apache-2.0 in:"; echo "$lacking"; exit 1; }
echo "$count source files name their licence"
