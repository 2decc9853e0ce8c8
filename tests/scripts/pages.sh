#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pages.sh SOURCE_DIR: the form of the user's documents. Prose has at most 120 columns, a table's cell 200 characters, but for tables that are generated;
# links lead to files, and their anchors to headings.
set -eu
cd "$1"
pages="README.md"
for name in api_conventions ci debugging embedding environment first_program memory numerics nvidia ops placement profile tuning; do
    pages="$pages docs/$name.md"
done

# shellcheck disable=SC2086
awk '
    FNR == 1 { is_code = is_made = 0 }
    /^<!-- table/ { is_made = 1 }
    /^<!-- end of the table/ { is_made = 0 }
    /^```/ { is_code = !is_code; next }
    is_code || is_made { next }
    /^\|/ {
        count = split($0, cells, /[^\\]\|/)
        for (i = 1; i <= count; ++i)
            if (length(cells[i]) > 202) { printf "%s:%d: a cell of %d characters; at most 200\n", FILENAME, FNR, length(cells[i]); bad = 1 }
        next
    }
    length($0) > 120 { printf "%s:%d: %d columns; at most 120\n", FILENAME, FNR, length($0); bad = 1 }
    END { exit bad }' $pages

# A heading as an anchor: lower case, blanks as hyphens, no other signs.
anchors() { sed -n 's/^#\{1,6\} //p' "$1" | tr 'A-Z ' 'a-z-' | sed 's/[^a-z0-9_-]//g'; }
bad=0
for page in $pages; do
    for link in $(grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//' | sort -u); do
        case $link in http*) continue ;; esac
        file=${link%%#*}
        [ -n "$file" ] && file=$(dirname "$page")/$file || file=$page
        if [ ! -e "$file" ]; then
            echo "$page: the link $link leads to no file" && bad=1
        elif [ "$link" != "${link#*#}" ] && ! anchors "$file" | grep -qxF -e "${link#*#}"; then
            echo "$page: the link $link leads to no heading" && bad=1
        fi
    done
done
[ $bad = 0 ] && echo "the pages' lines, cells and links are right"
