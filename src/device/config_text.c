/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of several devices as text, in this order: errors with their column, items of a list,
 * values (growth, limit, fraction), parts of a split, and back to text.
 *
 * The header has the grammar. A parser reads an item that gantry__config_next has cut out, and
 * never beyond it. */
#include "device/config_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"

gantry_status_t gantry__config_refuse(const gantry__config_text_t *text, const char *at,
                                      const char *format, ...) {
    char what[512];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(what, sizeof what, format, args);
    va_end(args);
    return gantry__refuse("%s is \"%.400s\": at column %zu, %s", text->by, text->text,
                          (size_t)(at - text->text) + 1, what);
}

static bool config_text_is_blank(char c) { return c == ' ' || c == '\t'; }

static void config_text_trim(const char **begin, const char **end) {
    while (*begin < *end && config_text_is_blank(**begin)) ++*begin;
    while (*end > *begin && config_text_is_blank((*end)[-1])) --*end;
}

static gantry_status_t take_device(const gantry__config_text_t *text, gantry__config_item_t *item,
                                   const char *end) {
    const char *begin = item->at;
    config_text_trim(&begin, &end);
    size_t length = (size_t)(end - begin);
    if (length == 0)
        return gantry__config_refuse(text, item->at, "there is no device in front of '='");
    if (length >= sizeof item->device)
        return gantry__config_refuse(text, item->at, "a device of %zu characters is too long",
                                     length);
    memcpy(item->device, begin, length);
    item->device[length] = '\0';
    return GANTRY_OK;
}

gantry_status_t gantry__config_next(const gantry__config_text_t *text, char separator,
                                    bool needs_device, const char **cursor,
                                    gantry__config_item_t *out_item, bool *out_has) {
    *out_item = (gantry__config_item_t){.at = *cursor};
    *out_has = *cursor != NULL;
    if (!*cursor) return GANTRY_OK;
    const char *end = strchr(*cursor, separator);
    *cursor = end ? end + 1 : NULL;
    if (!end) end = out_item->at + strlen(out_item->at);
    const char *equals = memchr(out_item->at, '=', (size_t)(end - out_item->at));
    bool is_alone = out_item->at == text->text && !*cursor;
    if (equals) {
        GANTRY__TRY(take_device(text, out_item, equals));
    } else if (needs_device || !is_alone) {
        return gantry__config_refuse(text, out_item->at, "\"%.*s\" is not of the form DEVICE=VALUE",
                                     (int)(end - out_item->at > 64 ? 64 : end - out_item->at),
                                     out_item->at);
    }
    out_item->value = equals ? equals + 1 : out_item->at;
    config_text_trim(&out_item->value, &end);
    out_item->length = (size_t)(end - out_item->value);
    return GANTRY_OK;
}

/* ---- values ---- */

static int shown(const gantry__config_item_t *item) {
    return item->length > 64 ? 64 : (int)item->length;
}

gantry_status_t gantry__config_growth(const gantry__config_text_t *text,
                                      const gantry__config_item_t *item, gantry_choice_t *out) {
    bool growth = false;
    if (!gantry__parse_bool(item->value, item->length, &growth)) {
        return gantry__config_refuse(
            text, item->value,
            "\"%.*s\" is not understood; accepted are 0, off, false, no, 1, on, true, yes",
            shown(item), item->value);
    }
    *out = growth ? GANTRY_ON : GANTRY_OFF;
    return GANTRY_OK;
}

const char *const gantry__wait_words[GANTRY_WAIT_ADAPTIVE] = {"auto", "spin", "yield", "block",
                                                              "adaptive"};

gantry_status_t gantry__config_wait(const gantry__config_text_t *text,
                                    const gantry__config_item_t *item, gantry_wait_policy_t *out) {
    for (int i = 0; i < GANTRY_WAIT_ADAPTIVE; ++i) {
        const char *word = gantry__wait_words[i];
        if (strlen(word) != item->length || memcmp(word, item->value, item->length) != 0) continue;
        *out = (gantry_wait_policy_t)(i + 1);
        return GANTRY_OK;
    }
    return gantry__config_refuse(
        text, item->value,
        "\"%.*s\" is not understood; accepted are auto, spin, yield, block, adaptive", shown(item),
        item->value);
}

gantry_status_t gantry__config_limit(const gantry__config_text_t *text,
                                     const gantry__config_item_t *item, gantry__limit_t *out) {
    *out = (gantry__limit_t){0};
    if (gantry__parse_bytes(item->value, item->length, &out->bytes)) return GANTRY_OK;
    bool is_percent = item->length > 0 && item->value[item->length - 1] == '%';
    if (is_percent && gantry__parse_decimal(item->value, item->length - 1, &out->percent) &&
        out->percent > 0 && out->percent <= 100) {
        return GANTRY_OK;
    }
    return gantry__config_refuse(
        text, item->value,
        "\"%.*s\" is not understood; accepted is a number of bytes such as 1048576, 512M or 2G, or a part of the device such as 50%%",
        shown(item), item->value);
}

gantry_status_t gantry__config_fraction(const gantry__config_text_t *text,
                                        const gantry__config_item_t *item, double *out) {
    if (gantry__parse_fraction(item->value, item->length, out)) return GANTRY_OK;
    return gantry__config_refuse(
        text, item->value,
        "\"%.*s\" is not understood; accepted is a part of the device over 0 up to 1, such as 0.25 or 25%%; oversubscription is not supported",
        shown(item), item->value);
}

/* ---- parts ---- */

static const char *const keys[] = {"priority", "ordinal", "work_group", "local", "allocation"};
enum { PRIORITY, ORDINAL, WORK_GROUP, LOCAL, ALLOCATION, KEYS };

static bool read_key(int key, const char *value, size_t length,
                     gantry_logical_device_config_t *part) {
    uint64_t number = 0;
    switch (key) {
        case PRIORITY:
            part->has_priority = true;
            return gantry__parse_signed(value, length, &part->priority);
        case ORDINAL:
            part->has_ordinal = true;
            return gantry__parse_signed(value, length, &part->ordinal);
        case WORK_GROUP:
            if (!gantry__parse_number(value, length, UINT32_MAX, &number) || number == 0)
                return false;
            part->max_work_group_size = (uint32_t)number;
            return true;
        case LOCAL: return gantry__parse_bytes(value, length, &part->local_memory_bytes);
        default: return gantry__parse_bytes(value, length, &part->largest_allocation_bytes);
    }
}

/* Reads one "key=value" from begin to end. seen: a bit per key. */
static gantry_status_t read_extra(const gantry__config_text_t *text, const char *begin,
                                  const char *end, unsigned *seen,
                                  gantry_logical_device_config_t *part) {
    static const char *const accepted[] = {"a whole number", "a whole number", "a number over 0",
                                           "a number of bytes such as 16K",
                                           "a number of bytes such as 512M"};
    config_text_trim(&begin, &end);
    size_t length = (size_t)(end - begin);
    const char *equals = memchr(begin, '=', length);
    const char *name_end = equals ? equals : end, *value = equals ? equals + 1 : end, *name = begin;
    config_text_trim(&name, &name_end);
    int key = 0;
    if (!equals || !gantry__parse_word(name, (size_t)(name_end - name), keys, KEYS, &key)) {
        return gantry__config_refuse(
            text, begin,
            "\"%.*s\" is not understood; accepted are priority=, ordinal=, work_group=, local= and allocation= with a number",
            length > 64 ? 64 : (int)length, begin);
    }
    if (*seen >> key & 1)
        return gantry__config_refuse(text, begin, "%s is given twice for one part", keys[key]);
    *seen |= 1u << key;
    config_text_trim(&value, &end);
    if (read_key(key, value, (size_t)(end - value), part)) return GANTRY_OK;
    return gantry__config_refuse(text, value, "%s is \"%.*s\"; %s is accepted", keys[key],
                                 end - value > 64 ? 64 : (int)(end - value), value, accepted[key]);
}

static gantry_status_t config_text_read_part(const gantry__config_text_t *text, const char *begin,
                                             const char *end,
                                             gantry_logical_device_config_t *part) {
    const char *slash = memchr(begin, '/', (size_t)(end - begin));
    const char *size = begin, *size_end = slash ? slash : end;
    unsigned seen = 0;
    config_text_trim(&size, &size_end);
    if (size_end > size &&
        !gantry__parse_bytes(size, (size_t)(size_end - size), &part->memory_limit_bytes)) {
        return gantry__config_refuse(
            text, size,
            "the part \"%.*s\" is not understood; accepted is a number of bytes such as 512M or nothing, then /key=value as often as needed",
            size_end - size > 64 ? 64 : (int)(size_end - size), size);
    }
    while (slash) {
        const char *next = memchr(slash + 1, '/', (size_t)(end - slash - 1));
        GANTRY__TRY(read_extra(text, slash + 1, next ? next : end, &seen, part));
        slash = next;
    }
    return GANTRY_OK;
}

gantry_status_t gantry__config_parts(const gantry__config_text_t *text,
                                     const gantry__config_item_t *item,
                                     gantry_logical_device_config_t *out_parts, size_t *out_count) {
    const char *end = item->value + item->length, *begin = item->value;
    for (*out_count = 0;; ++*out_count) {
        const char *comma = memchr(begin, ',', (size_t)(end - begin));
        if (*out_count == GANTRY__MOST_PARTS) {
            return gantry__config_refuse(
                text, begin, "%s gets more than %d parts; at most that many are accepted",
                item->device, GANTRY__MOST_PARTS);
        }
        out_parts[*out_count] = (gantry_logical_device_config_t){0};
        GANTRY__TRY(
            config_text_read_part(text, begin, comma ? comma : end, &out_parts[*out_count]));
        if (!comma) break;
        begin = comma + 1;
    }
    ++*out_count;
    return GANTRY_OK;
}

/* ---- texts ---- */

void gantry__format_limit(const gantry__limit_t *limit, char *out, size_t out_bytes) {
    char amount[GANTRY__AMOUNT_BYTES];
    if (limit->percent > 0) {
        gantry__format_decimal(limit->percent, amount);
    } else {
        gantry__format_bytes(limit->bytes, amount);
    }
    (void)snprintf(out, out_bytes, "%s%s", amount, limit->percent > 0 ? "%" : "");
}

typedef struct writer_t {
    char *out;
    size_t size, used;
} writer_t;

static void config_text_append(writer_t *writer, const char *format, ...) GANTRY__PRINTF(2, 3);
static void config_text_append(writer_t *writer, const char *format, ...) {
    if (writer->used >= writer->size) return;
    va_list args;
    va_start(args, format);
    int length = vsnprintf(writer->out + writer->used, writer->size - writer->used, format, args);
    va_end(args);
    if (length > 0) writer->used += (size_t)length;
}

static void append_bytes(writer_t *writer, const char *key, uint64_t bytes) {
    char amount[GANTRY__AMOUNT_BYTES];
    gantry__format_bytes(bytes, amount);
    if (bytes) config_text_append(writer, "%s%s", key, amount);
}

void gantry__format_parts(const gantry_logical_device_config_t *parts, size_t count, char *out,
                          size_t out_bytes) {
    writer_t writer = {out, out_bytes, 0};
    if (out_bytes) *out = '\0';
    for (size_t i = 0; i < count; ++i) {
        const gantry_logical_device_config_t *part = &parts[i];
        if (i) config_text_append(&writer, ",");
        append_bytes(&writer, "", part->memory_limit_bytes);
        if (part->has_priority) config_text_append(&writer, "/priority=%" PRId32, part->priority);
        if (part->has_ordinal) config_text_append(&writer, "/ordinal=%" PRId32, part->ordinal);
        if (part->max_work_group_size)
            config_text_append(&writer, "/work_group=%" PRIu32, part->max_work_group_size);
        append_bytes(&writer, "/local=", part->local_memory_bytes);
        append_bytes(&writer, "/allocation=", part->largest_allocation_bytes);
    }
}
