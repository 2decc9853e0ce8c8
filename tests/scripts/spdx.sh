#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# spdx.sh SOURCE_DIR: every source file says its licence in its first five lines. A clone is asked what it keeps, other trees are searched.
set -eu
cd "$1"
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
    files=$(git ls-files)
else
    files=$(find . -path ./build -prune -o -type f -print | sed 's|^\./||')
fi
checked=0 lacking=0
for file in $(printf '%s\n' "$files" | grep -E '\.(c|h|cl|def|inc|cmake|py|sh|in)$|(^|/)CMakeLists\.txt$|^scripts/|^\.ci/|(^|/)run$'); do
    [ -f "$file" ] || continue # deleted, and not yet committed
    checked=$((checked + 1))
    head -5 "$file" | grep -q 'SPDX-License-Identifier: Apache-2\.0' || { echo "$file has no line SPDX-License-Identifier: Apache-2.0"; lacking=$((lacking + 1)); }
done
[ "$checked" -ge 500 ] || { echo "only $checked source files were found in $1"; exit 1; }
echo "$checked source files, $lacking without the line"
[ "$lacking" = 0 ]
