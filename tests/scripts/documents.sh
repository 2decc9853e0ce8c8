#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# documents.sh SOURCE_DIR: every page has prose of at most 120 columns, table cells of at most 200 characters, and links to what exists.
# Code blocks are left as they are; a web address may make a line longer. Pages are what git keeps, or what the tree has.
set -eu
cd "$1"
LC_ALL=C
export LC_ALL
pages=$({ git ls-files --cached --others --exclude-standard -- '*.md' 2>/dev/null || find . -path ./build -prune -o -name '*.md' -print; } | sort)
[ -n "$pages" ] || { echo "no page was found" >&2; exit 1; }
remarks=$(mktemp)
trap 'rm -f "$remarks"' EXIT
for page in $pages; do
    [ -f "$page" ] || continue
    awk -v page="$page" '
        { gsub(/[\200-\277]/, "") } # a character counts once
        /^ *```/ { code = !code; next }
        code || /^    [^ *-]/ { next }
        /^\|/ {
            count = split($0, cell, /[^\\]\|/)
            for (i = 1; i <= count; ++i)
                if (length(cell[i]) > 200) print page ":" FNR ": a table cell of " length(cell[i]) " characters"
            next
        }
        length($0) > 120 && !/https?:/ { print page ":" FNR ": a line of " length($0) " columns" }' "$page" >>"$remarks"
    # What stands in parentheses behind a bracket and is no web address: a file beside the page.
    awk '/^ *```/ { code = !code } !code' "$page" | sed 's/`[^`]*`//g' | grep -o ']([^)#: ]*[^):]*)' | sed 's/^](//; s/)$//; s/#.*//' | sort -u |
        while read -r target; do
            [ -z "$target" ] || [ -e "$(dirname "$page")/$target" ] || echo "$page: there is no $target, which it links" >>"$remarks"
        done
done
cat "$remarks"
[ ! -s "$remarks" ]
