#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Promise: Every page has prose of at most 120 columns, table cells of at most 200 characters and no line of more than
# 400, and its links lead to files and headings.
#
# page_form.sh SOURCE_DIR.
#
# Of code blocks and generated tables only the 400 are checked; a web address may make prose longer. In a clone the
# pages are git's files, otherwise those of the tree.
set -eu
cd "$1"
LC_ALL=C
export LC_ALL
pages=$({ git ls-files --cached --others --exclude-standard -- '*.md' 2>/dev/null || find . -path ./build -prune -o -name '*.md' -print; } | sort)
[ -n "$pages" ] || { echo "no page was found" >&2; exit 1; }
remarks=$(mktemp)
trap 'rm -f "$remarks"' EXIT

# A heading as an anchor: lower case, blanks as hyphens, no other signs.
anchors() { sed -n 's/^#\{1,6\} //p' "$1" | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9_-]//g'; }

for page in $pages; do
    [ -f "$page" ] || continue
    awk -v page="$page" '
        { gsub(/[\200-\277]/, "") } # a character counts once
        length($0) > 400 { print page ":" FNR ": a line of " length($0) " characters; at most 400"; next }
        /^<!-- (table|tests)/ { made = 1 }
        /^<!-- end of the / { made = 0 }
        /^ *```/ { code = !code; next }
        code || made || /^    [^ *-]/ { next }
        /^\|/ {
            count = split($0, cell, /[^\\]\|/)
            for (i = 1; i <= count; ++i)
                if (length(cell[i]) > 202) print page ":" FNR ": a table cell of " length(cell[i]) " characters; at most 200"
            next
        }
        length($0) > 120 && !/https?:/ { print page ":" FNR ": " length($0) " columns; at most 120" }' "$page" >>"$remarks"
    awk '/^ *```/ { code = !code } !code' "$page" | sed 's/`[^`]*`//g' | grep -o ']([^) ]*)' | sed 's/^](//; s/)$//' | sort -u |
        while read -r link; do
            case $link in *:*) continue ;; esac
            file=${link%%#*}
            if [ -n "$file" ]; then file=$(dirname "$page")/$file; else file=$page; fi
            if [ ! -e "$file" ]; then
                echo "$page: the link $link leads to no file"
            elif [ "$link" != "${link#*#}" ] && ! anchors "$file" | grep -qxF -e "${link#*#}"; then
                echo "$page: the link $link leads to no heading"
            fi
        done >>"$remarks"
done
cat "$remarks"
[ ! -s "$remarks" ]
