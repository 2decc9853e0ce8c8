/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses the cases to run, and prints their results and the summary. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

/* Puts any text on one line, because NumPy's layout and build logs have several. */
static void flatten(char *text) {
    for (; *text; ++text) {
        if (*text == '\n' || *text == '\r') *text = ' ';
    }
}

bool conformance_wants(conformance_t *c, const char *group) {
    if (!c->options.only) return true;
    size_t length = strlen(group), number = 0;
    for (const char *at = c->options.only; *at; ++number) {
        size_t word = strcspn(at, ",");
        if (word == length && strncmp(at, group, word) == 0) {
            if (number < CONFORMANCE_MAX_GROUPS) c->is_met[number] = true;
            return true;
        }
        at += word + (at[word] == ',');
    }
    return false;
}

conformance_row_t *conformance_row(conformance_t *c, const char *group) {
    for (size_t i = 0; i < c->row_count; ++i) {
        if (strcmp(c->rows[i].group, group) == 0) return &c->rows[i];
    }
    if (c->row_count == CONFORMANCE_MAX_GROUPS) {
        fprintf(stderr, "gantry_conformance: more than %d groups\n", CONFORMANCE_MAX_GROUPS);
        exit(2);
    }
    conformance_row_t *row = &c->rows[c->row_count++];
    snprintf(row->group, sizeof row->group, "%s", group);
    return row;
}

/* The text after a slash is a prefix of the name. */
static bool matches(const char *name, const char *text) {
    if (*text == '/') return strncmp(name, text + 1, strlen(text + 1)) == 0;
    return strcmp(text, "*") == 0 || strstr(name, text);
}

static const conformance_rule_t *find_skip(conformance_t *c, const char *group, const char *name) {
    for (size_t i = 0; i < c->skips.count; ++i) {
        conformance_rule_t *rule = &c->skips.items[i];
        if (strcmp(rule->words[0], group) != 0) continue;
        if (!matches(name, rule->words[1])) continue;
        rule->used = true;
        return rule;
    }
    return NULL;
}

bool conformance_begin(conformance_t *c, const char *group, const char *name) {
    if (!conformance_wants(c, group)) return false;
    if (c->options.case_part && *name != '(' && !strstr(name, c->options.case_part)) return false;
    if (c->options.list) {
        printf("%s/%s\n", group, name);
        return false;
    }
    c->row = conformance_row(c, group);
    const conformance_rule_t *skip = find_skip(c, group, name);
    if (skip) {
        c->row->skipped++;
        printf("SKIP %s/%s: %s\n", group, name, skip->reason);
        return false;
    }
    snprintf(c->case_name, sizeof c->case_name, "%s", name);
    c->reasons = 0;
    c->skip_reason[0] = 0;
    return true;
}

void conformance_fail(conformance_t *c, const char *format, ...) {
    if (c->reasons++ > 0 && !c->options.verbose) return;
    char text[1024];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    flatten(text);
    printf("FAIL %s/%s: %s\n", c->row->group, c->case_name, text);
    fflush(stdout);
}

void conformance_skip(conformance_t *c, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(c->skip_reason, sizeof c->skip_reason, format, list);
    va_end(list);
    flatten(c->skip_reason);
}

void conformance_end(conformance_t *c) {
    if (c->reasons) {
        c->row->failed++;
    } else if (c->skip_reason[0]) {
        c->row->skipped++;
        printf("SKIP %s/%s: %s\n", c->row->group, c->case_name, c->skip_reason);
    } else {
        c->row->passed++;
    }
}

void conformance_run_checks(conformance_t *c, const char *group, const conformance_check_t *checks,
                            size_t count) {
    for (size_t i = 0; i < count; ++i) {
        if (!conformance_begin(c, group, checks[i].name)) continue;
        checks[i].run(c);
        conformance_end(c);
    }
}

const char *conformance_last_error(gantry_status_t status) {
    static char text[768];
    snprintf(text, sizeof text, "%s: %s", gantry_status_name(status), gantry_last_message());
    return text;
}

void conformance_check_status(conformance_t *c, const char *what, gantry_status_t status,
                              gantry_status_t wanted, const char *text, const char *part) {
    if (status != wanted) {
        conformance_fail(c, "%s gave %s (%s) instead of %s", what, gantry_status_name(status),
                         text ? text : "", gantry_status_name(wanted));
    } else if (part && *part && (!text || !strstr(text, part))) {
        conformance_fail(c, "%s: the message \"%s\" does not contain \"%s\"", what,
                         text ? text : "", part);
    }
}

/* ---- summary ---- */

/* Files of rules must not keep unneeded lines. */
static void check_stale_skips(conformance_t *c) {
    bool filtered = c->options.only || c->options.case_part || c->options.every > 1 ||
                    conformance_only_bits(c) || c->options.further_types;
    for (size_t i = 0; i < c->skips.count && !filtered; ++i) {
        const conformance_rule_t *rule = &c->skips.items[i];
        if (rule->used || !conformance_begin(c, "skip-file", rule->words[0])) continue;
        conformance_fail(c, "no case matches \"%s %s\": the line is stale", rule->words[0],
                         rule->words[1]);
        conformance_end(c);
    }
}

/* A name without a case would otherwise always pass. */
static size_t count_unmet(const conformance_t *c) {
    size_t unmet = 0, number = 0;
    for (const char *at = c->options.only; at && *at && number < CONFORMANCE_MAX_GROUPS; ++number) {
        size_t word = strcspn(at, ",");
        if (!c->is_met[number]) {
            printf("FAIL --only %.*s: no case of such an op or group on this device\n", (int)word,
                   at);
            unmet++;
        }
        at += word + (at[word] == ',');
    }
    return unmet;
}

static void print_table(const conformance_t *c) {
    printf("%-28s %7s %7s %8s  %s\n", "op or group", "passed", "failed", "skipped", "largest ulp");
    for (size_t i = 0; i < c->row_count; ++i) {
        const conformance_row_t *row = &c->rows[i];
        printf("%-28s %7zu %7zu %8zu", row->group, row->passed, row->failed, row->skipped);
        if (row->largest_ulp == INT64_MAX)
            printf("  (not comparable)");
        else if (row->largest_ulp > 0)
            printf("  %" PRId64, row->largest_ulp);
        putchar('\n');
    }
}

static gantry_program_stats_t print_programs(const conformance_t *c) {
    gantry_program_stats_t stats = {.struct_size = sizeof stats};
    gantry_status_t status = gantry_get_program_stats(c->runtime, &stats);
    if (status != GANTRY_OK) printf("programs: %s\n", conformance_last_error(status));
    printf("programs: %" PRIu64 " built in %.1f s, %" PRIu64 " loaded from the cache, %" PRIu64
           " reused, %" PRIu64 " bad entries, %" PRIu64 " launches\n",
           stats.built, (double)stats.build_ns * 1e-9, stats.loaded, stats.reused,
           stats.bad_entries, stats.launches);
    return stats;
}

int conformance_summary(conformance_t *c) {
    size_t passed = 0, failed = 0, skipped = 0;
    if (c->options.list) return 0;
    check_stale_skips(c);
    for (size_t i = 0; i < c->row_count; ++i) {
        passed += c->rows[i].passed;
        failed += c->rows[i].failed;
        skipped += c->rows[i].skipped;
    }
    if (c->options.verbose) print_table(c);
    gantry_program_stats_t stats = print_programs(c);
    bool cold = c->options.expect_warm && stats.built > 0;
    if (cold) printf("FAIL programs were built, though the cache should have held all of them\n");
    if (passed + failed == 0) printf("FAIL nothing was run: the filters leave no case\n");
    failed += count_unmet(c);
    printf("%s: %zu passed, %zu failed, %zu skipped\n", c->options.device, passed, failed, skipped);
    return failed || cold || passed == 0 ? 1 : 0;
}
