/* SPDX-License-Identifier: Apache-2.0 */
#include "base/tuning_text.h"

#include <stdio.h>
#include <string.h>

#define FIELDS 4

bool gantry__part_is(gantry__part_t part, const char *text) {
    return strlen(text) == part.length && memcmp(part.bytes, text, part.length) == 0;
}

/* ---- the head ---- */

bool gantry__tuning_head_read(const char *text, size_t size, size_t *out_first,
                              char reason[GANTRY__TUNING_REASON_BYTES]) {
    static const char name[] = "gantry tuning ";
    const size_t head = sizeof GANTRY__TUNING_HEAD - 1, before = sizeof name - 1;
    *out_first = 0;
    if (size == 0) return true;
    if (size >= head && memcmp(text, GANTRY__TUNING_HEAD, head) == 0) {
        *out_first = head;
        return true;
    }
    size_t digits = before;
    while (digits < size && digits < before + 9 && text[digits] >= '0' && text[digits] <= '9')
        ++digits;
    if (size > before && memcmp(text, name, before) == 0 && digits > before && digits < size &&
        text[digits] == '\n') {
        (void)snprintf(reason, GANTRY__TUNING_REASON_BYTES,
                       "the file has version %.*s; version 1 is accepted", (int)(digits - before),
                       text + before);
    } else {
        (void)snprintf(
            reason, GANTRY__TUNING_REASON_BYTES,
            "it is no tuning file of Gantry; such a file begins with \"gantry tuning 1\"");
    }
    return false;
}

/* ---- fields ---- */

static bool is_plain(gantry__part_t part) {
    for (size_t i = 0; i < part.length; ++i) {
        unsigned char byte = (unsigned char)part.bytes[i];
        if (byte < ' ' || byte == 0x7f) return false;
    }
    return true;
}

static bool is_name(gantry__part_t part) {
    for (size_t i = 0; i < part.length; ++i) {
        char c = part.bytes[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_'))
            return false;
    }
    return part.length > 0;
}

/* Whether the part is a time such as 2026-11-22T01:02:03Z. */
static bool is_time(gantry__part_t part) {
    static const char form[GANTRY__TUNING_TIME_BYTES] = "0000-00-00T00:00:00Z";
    if (part.length != sizeof form - 1) return false;
    for (size_t i = 0; i < part.length; ++i) {
        char c = part.bytes[i];
        if (form[i] == '0' ? c < '0' || c > '9' : c != form[i]) return false;
    }
    return true;
}

const char *gantry__tuning_fault(gantry__part_t device, gantry__part_t what,
                                 gantry__part_t values) {
    if (device.length == 0 || device.length >= GANTRY__TUNING_DEVICE_BYTES || !is_plain(device))
        return "the device is not 1 to 255 printable characters";
    if (what.length >= GANTRY__TUNING_WHAT_BYTES || !is_name(what))
        return "the key is not 1 to 63 of a-z, 0-9, '.' and '_'";
    if (values.length == 0 || values.length >= GANTRY__TUNING_VALUES_BYTES || !is_plain(values))
        return "the values are not 1 to 511 printable characters";
    return NULL;
}

/* ---- a line ---- */

/* Splits a line at single tabs; returns the number of fields, at most FIELDS + 1. */
static size_t split(gantry__part_t line, gantry__part_t fields[FIELDS]) {
    size_t count = 0, begin = 0;
    for (size_t i = 0; i <= line.length && count <= FIELDS; ++i) {
        if (i < line.length && line.bytes[i] != '\t') continue;
        if (count < FIELDS) fields[count] = (gantry__part_t){line.bytes + begin, i - begin};
        ++count;
        begin = i + 1;
    }
    return count;
}

static const char *line_fault(gantry__part_t line, gantry__tuning_line_t *out) {
    gantry__part_t fields[FIELDS];
    if (split(line, fields) != FIELDS)
        return "a record is time, device, what and values, with a tab between two";
    *out = (gantry__tuning_line_t){fields[0], fields[1], fields[2], fields[3]};
    if (!is_time(out->measured)) return "the time is not like 2026-11-22T01:02:03Z";
    return gantry__tuning_fault(out->device, out->what, out->values);
}

gantry__tuning_kind_t gantry__tuning_line_read(const char *text, size_t size, size_t *at,
                                               gantry__tuning_line_t *out,
                                               char reason[GANTRY__TUNING_REASON_BYTES]) {
    const char *begin = text + *at;
    const char *end = memchr(begin, '\n', size - *at);
    gantry__part_t line = {begin, end ? (size_t)(end - begin) : size - *at};
    const char *fault = NULL;
    *out = (gantry__tuning_line_t){0};
    *at += line.length + (end ? 1 : 0);
    if (line.length == 0 || line.bytes[0] == '#') return GANTRY__TUNING_NOTHING;
    fault = end ? line_fault(line, out) : "the file ends inside the line";
    if (!fault) return GANTRY__TUNING_RECORD;
    (void)snprintf(reason, GANTRY__TUNING_REASON_BYTES, "%s", fault);
    return GANTRY__TUNING_WRONG;
}
