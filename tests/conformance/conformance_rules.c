/* SPDX-License-Identifier: Apache-2.0 */
/* Reads files of rules, such as the list of missing kernels: each line has a few words and a
 * reason. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

static const char blanks[] = " \t\r\n";

/* False when the word is missing or too long. */
static bool take_word(const char **at, char *out, size_t out_bytes) {
    *at += strspn(*at, blanks);
    size_t length = strcspn(*at, blanks);
    if (length == 0 || length >= out_bytes) return false;
    memcpy(out, *at, length);
    out[length] = 0;
    *at += length;
    return true;
}

static bool parse_line(const char *line, size_t word_count, conformance_rule_t *out) {
    *out = (conformance_rule_t){.used = false};
    for (size_t i = 0; i < word_count; ++i) {
        if (!take_word(&line, out->words[i], sizeof out->words[i])) return false;
    }
    line += strspn(line, blanks);
    snprintf(out->reason, sizeof out->reason, "%s", line);
    size_t length = strlen(out->reason);
    while (length && strchr(blanks, out->reason[length - 1])) out->reason[--length] = 0;
    return length > 0;
}

static bool append(conformance_rules_t *rules, const conformance_rule_t *rule) {
    conformance_rule_t *larger = realloc(rules->items, (rules->count + 1) * sizeof *larger);
    if (!larger) return false;
    rules->items = larger;
    rules->items[rules->count++] = *rule;
    return true;
}

int conformance_rules_load(const char *path, size_t word_count, conformance_rules_t *out_rules,
                           char *error, size_t error_bytes) {
    *out_rules = (conformance_rules_t){0};
    FILE *file = fopen(path, "r");
    if (!file) {
        snprintf(error, error_bytes, "%s cannot be opened", path);
        return -1;
    }
    char line[512];
    for (size_t number = 1; fgets(line, sizeof line, file); ++number) {
        const char *first = line + strspn(line, blanks);
        conformance_rule_t rule;
        if (*first == 0 || *first == '#') continue;
        if (!parse_line(first, word_count, &rule) || !append(out_rules, &rule)) {
            snprintf(error, error_bytes, "%s:%zu: a line is %zu words and a reason", path, number,
                     word_count);
            fclose(file);
            conformance_rules_free(out_rules);
            return -1;
        }
    }
    fclose(file);
    return 0;
}

void conformance_rules_free(conformance_rules_t *rules) {
    free(rules->items);
    *rules = (conformance_rules_t){0};
}
