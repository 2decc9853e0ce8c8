/* SPDX-License-Identifier: Apache-2.0 */
/* The tuning file, for `gantry cache`: the library reads and writes it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cache/cache.h"
#include "shared/printable.h"

#define MOST_TUNING_BYTES ((size_t)4 << 20) /* the library reads no longer file */

typedef struct visit_t {
    const cache_choice_t *choice;
    gantry_json_t *json; /* NULL: text */
    size_t count;
    /* of every record; the file's other lines are blank, comments or damaged */
    uint32_t *lines;
    size_t capacity;
    bool has_failed;
} visit_t;

/* ---- list ---- */

static bool list_record(void *user, const gantry_tuning_record_t *record) {
    visit_t *visit = user;
    if (visit->choice->text && !gantry_tool_find_text(record->device, visit->choice->text))
        return true;
    if (visit->count++ == 0 && !visit->json)
        (void)printf("  %-20s  %-32s  %s\n", "MEASURED", "RECORD", "DEVICE");
    if (!visit->json) {
        char line[512];
        (void)snprintf(line, sizeof line, "  %-20s  %-32s  %s", record->measured, record->what,
                       record->device);
        gantry__make_printable(line, '\n');
        (void)puts(line);
        return true;
    }
    gantry_json_object(visit->json, NULL);
    gantry_json_text(visit->json, "device", record->device);
    gantry_json_text(visit->json, "record", record->what);
    gantry_json_text(visit->json, "values", record->values);
    gantry_json_text(visit->json, "measured", record->measured);
    gantry_json_unsigned(visit->json, "line", record->line);
    gantry_json_end(visit->json);
    return true;
}

/* Begins the report, and returns the path; NULL if there is none, which is no problem. */
static const char *begin_report(gantry_runtime_t *runtime, gantry_json_t *json) {
    const char *path = NULL;
    const bool has_path = gantry_get_tuning_file(runtime, &path) == GANTRY_OK;
    if (json) {
        gantry_json_object(json, "tuning");
        gantry_json_text(json, "file", has_path ? path : NULL);
    } else if (!has_path) {
        (void)printf("Tuning file: none, %s\n", gantry_last_message());
    } else {
        (void)printf("Tuning file: %s\n", path);
    }
    return has_path ? path : NULL;
}

static void tell_problem(gantry_json_t *json, size_t *out_problems) {
    ++*out_problems;
    if (json) gantry_json_text(json, "problem", gantry_last_message());
    (void)gantry_tool_fail_last();
}

void cache_tuning_list(gantry_runtime_t *runtime, const cache_choice_t *choice, gantry_json_t *json,
                       size_t *out_problems) {
    visit_t visit = {.choice = choice, .json = json};
    if (begin_report(runtime, json)) {
        if (json) gantry_json_array(json, "records");
        const gantry_status_t status = gantry_list_tuning(runtime, list_record, &visit);
        if (json) gantry_json_end(json);
        if (status != GANTRY_OK) tell_problem(json, out_problems);
        if (status == GANTRY_OK && !json && visit.count == 0) (void)printf("  no records\n");
    }
    if (json) gantry_json_end(json);
}

/* ---- verify ---- */

static bool note_line(void *user, const gantry_tuning_record_t *record) {
    visit_t *visit = user;
    if (visit->count == visit->capacity) {
        size_t wanted = visit->capacity ? 2 * visit->capacity : 64;
        uint32_t *grown = realloc(visit->lines, wanted * sizeof *grown);
        visit->has_failed = !grown;
        if (!grown) return false;
        visit->lines = grown;
        visit->capacity = wanted;
    }
    visit->lines[visit->count++] = record->line;
    return true;
}

static bool is_blank_or_comment(const char *line, size_t length) {
    size_t blanks = 0;
    while (blanks < length && (line[blanks] == ' ' || line[blanks] == '\t')) ++blanks;
    return blanks == length || line[0] == '#';
}

/* Reports each line that is neither a record, a comment nor blank. */
static size_t tell_bad_lines(const char *path, const char *text, size_t size,
                             const visit_t *records, gantry_json_t *json) {
    size_t bad = 0, next = 0, at = 0;
    for (uint32_t number = 1; at < size; ++number) {
        const char *line = text + at, *end = memchr(line, '\n', size - at);
        const size_t length = end ? (size_t)(end - line) : size - at;
        at += length + 1;
        if (next < records->count && records->lines[next] == number) {
            ++next;
        } else if (number > 1 && !is_blank_or_comment(line, length)) {
            ++bad;
            if (json) gantry_json_unsigned(json, NULL, number);
            (void)gantry_tool_fail("%s, line %" PRIu32
                                   " is damaged: it is no record, and programs ignore it",
                                   path, number);
        }
    }
    return bad;
}

static size_t check_lines(const char *path, const visit_t *records, gantry_json_t *json) {
    char *text = malloc(MOST_TUNING_BYTES);
    FILE *file = text ? fopen(path, "rb") : NULL;
    const size_t size = file ? fread(text, 1, MOST_TUNING_BYTES, file) : 0;
    const size_t bad = tell_bad_lines(path, text, size, records, json);
    if (file) (void)fclose(file);
    free(text);
    return bad;
}

void cache_tuning_verify(gantry_runtime_t *runtime, gantry_json_t *json, size_t *out_problems) {
    visit_t visit = {.json = json};
    const char *path = begin_report(runtime, json);
    if (path && (gantry_list_tuning(runtime, note_line, &visit) != GANTRY_OK)) {
        tell_problem(json, out_problems);
    } else if (path) {
        if (json) gantry_json_array(json, "damaged_lines");
        const size_t bad = visit.has_failed ? 0 : check_lines(path, &visit, json);
        if (json) gantry_json_end(json);
        if (json) gantry_json_unsigned(json, "records", visit.count);
        if (!json)
            (void)printf("  %zu record%s, %zu damaged line%s\n", visit.count,
                         visit.count == 1 ? "" : "s", bad, bad == 1 ? "" : "s");
        *out_problems += bad + visit.has_failed;
    }
    free(visit.lines);
    if (json) gantry_json_end(json);
}

/* ---- clear ---- */

static bool remove_records(gantry_runtime_t *runtime, const cache_choice_t *choice,
                           size_t *out_removed) {
    const gantry_physical_device_t *device = NULL;
    if (*choice->spelled &&
        gantry_find_physical_device(runtime, choice->spelled, &device) != GANTRY_OK)
        return false;
    return gantry_remove_tuning(runtime, device, NULL, out_removed) == GANTRY_OK;
}

void cache_tuning_clear(gantry_runtime_t *runtime, const cache_choice_t *choice,
                        gantry_json_t *json, size_t *out_problems) {
    size_t removed = 0;
    const char *path = begin_report(runtime, json);
    if (path && !choice->is_dry_run && !remove_records(runtime, choice, &removed)) {
        tell_problem(json, out_problems);
    } else if (path && !json) {
        if (choice->is_dry_run) (void)printf("  its records stay: --dry-run\n");
        if (!choice->is_dry_run)
            (void)printf("  removed %zu record%s\n", removed, removed == 1 ? "" : "s");
    }
    if (json) gantry_json_unsigned(json, "removed", removed);
    if (json) gantry_json_end(json);
}
