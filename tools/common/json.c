/* SPDX-License-Identifier: Apache-2.0 */
/* Writes JSON as it comes: nothing is kept, so a list may be long and no allocation can fail. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "common/tool.h"
#include "shared/printable.h"

void gantry_json_init(gantry_json_t *json, FILE *file) { *json = (gantry_json_t){.file = file}; }

static void json_print_text(FILE *file, const char *text);

/* The comma and the line break before an item, and its key. */
static void begin_item(gantry_json_t *json, const char *key) {
    const uint32_t bit = UINT32_C(1) << json->depth;
    if (json->depth > 0)
        (void)fprintf(json->file, "%s\n%*s", json->has_item & bit ? "," : "", 2 * json->depth, "");
    json->has_item |= bit;
    if (!key) return;
    json_print_text(json->file, key);
    (void)fputs(": ", json->file);
}

static void open_item(gantry_json_t *json, const char *key, bool is_array) {
    begin_item(json, key);
    if (json->depth >= 31) abort(); /* no command nests so deep */
    ++json->depth;
    const uint32_t bit = UINT32_C(1) << json->depth;
    json->has_item &= ~bit;
    json->is_array = is_array ? json->is_array | bit : json->is_array & ~bit;
    (void)fputc(is_array ? '[' : '{', json->file);
}

void gantry_json_object(gantry_json_t *json, const char *key) { open_item(json, key, false); }

void gantry_json_array(gantry_json_t *json, const char *key) { open_item(json, key, true); }

void gantry_json_end(gantry_json_t *json) {
    const uint32_t bit = UINT32_C(1) << json->depth;
    --json->depth;
    if (json->has_item & bit) (void)fprintf(json->file, "\n%*s", 2 * json->depth, "");
    (void)fputc(json->is_array & bit ? ']' : '}', json->file);
    if (json->depth == 0) (void)fputc('\n', json->file);
}

static void json_print_text(FILE *file, const char *text) {
    (void)fputc('"', file);
    for (const char *at = text; *at;) {
        const size_t length = gantry__utf8_bytes(at);
        const uint32_t command = length > 0 ? gantry__utf8_command(at, length) : 0;
        if (*at == '"' || *at == '\\') {
            (void)fprintf(file, "\\%c", *at);
        } else if (*at == '\n') {
            (void)fputs("\\n", file);
        } else if (command) {
            (void)fprintf(file, "\\u%04" PRIx32, command);
        } else if (length == 0) {
            (void)fputs("\\ufffd", file);
        } else {
            (void)fwrite(at, 1, length, file);
        }
        at += length ? length : 1;
    }
    (void)fputc('"', file);
}

void gantry_json_text(gantry_json_t *json, const char *key, const char *text) {
    if (!text) {
        gantry_json_null(json, key);
        return;
    }
    begin_item(json, key);
    json_print_text(json->file, text);
}

void gantry_json_number(gantry_json_t *json, const char *key, double value) {
    char text[GANTRY_TOOL_TEXT_BYTES];
    if (!isfinite(value)) {
        gantry_json_null(json, key);
        return;
    }
    (void)snprintf(text, sizeof text, "%.15g", value);
    if (strtod(text, NULL) != value) (void)snprintf(text, sizeof text, "%.17g", value);
    begin_item(json, key);
    (void)fputs(text, json->file);
}

void gantry_json_integer(gantry_json_t *json, const char *key, int64_t value) {
    begin_item(json, key);
    (void)fprintf(json->file, "%" PRId64, value);
}

void gantry_json_unsigned(gantry_json_t *json, const char *key, uint64_t value) {
    begin_item(json, key);
    (void)fprintf(json->file, "%" PRIu64, value);
}

void gantry_json_bool(gantry_json_t *json, const char *key, bool value) {
    begin_item(json, key);
    (void)fputs(value ? "true" : "false", json->file);
}

void gantry_json_null(gantry_json_t *json, const char *key) {
    begin_item(json, key);
    (void)fputs("null", json->file);
}
