/* SPDX-License-Identifier: Apache-2.0 */
/* Levenshtein's distance, row by row: above[j] edits make word[0..i) of name[0..j). */
#include "base/nearest.h"

#include <string.h>

#define LONGEST 80 /* a longer word is no typing error */

static char nearest_lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

static size_t nearest_least(size_t a, size_t b) { return a < b ? a : b; }

static size_t count_edits(const char *word, const char *name) {
    size_t row[LONGEST + 1];
    size_t length = strlen(name);
    for (size_t j = 0; j <= length; ++j) row[j] = j;
    for (size_t i = 0; word[i]; ++i) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 1; j <= length; ++j) {
            size_t changed = diagonal + (nearest_lower(word[i]) != nearest_lower(name[j - 1]));
            diagonal = row[j];
            row[j] = nearest_least(changed, nearest_least(row[j - 1], row[j]) + 1);
        }
    }
    return row[length];
}

static size_t distance(const char *word, const char *name) {
    size_t length = strlen(name);
    if (strncmp(word, name, length) == 0 && word[length] == '_') return 1;
    return count_edits(word, name);
}

const char *gantry__nearest(const char *word, const char *const *names, size_t count) {
    const char *nearest = NULL;
    size_t best = 2 + strlen(word) / 5; /* one more than is near */
    if (strlen(word) > LONGEST) return NULL;
    for (size_t i = 0; i < count; ++i) {
        if (strlen(names[i]) > LONGEST) continue;
        size_t edits = distance(word, names[i]);
        if (edits >= best) continue;
        best = edits;
        nearest = names[i];
    }
    return nearest;
}
