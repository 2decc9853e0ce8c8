/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_text.h"

#include <inttypes.h>

#include "shared/printable.h"

void gantry__json_string(const char *text, gantry__text_t *out) {
    gantry__text_append_bytes(out, "\"", 1);
    for (const char *at = text; *at;) {
        size_t length = gantry__utf8_bytes(at);
        const unsigned char c = (unsigned char)*at;
        if (length == 0) {
            gantry__text_append(out, "\\ufffd");
            length = 1;
        } else if (c < 0x20 || c == 0x7f) {
            gantry__text_append(out, "\\u%04x", c);
        } else if (c == '"' || c == '\\') {
            gantry__text_append(out, "\\%c", c);
        } else {
            gantry__text_append_bytes(out, at, length);
        }
        at += length;
    }
    gantry__text_append_bytes(out, "\"", 1);
}

void gantry__json_text_member(const char *name, const char *text, gantry__text_t *out) {
    gantry__text_append(out, ",\"%s\":", name);
    gantry__json_string(text, out);
}

void gantry__json_number_member(const char *name, uint64_t value, gantry__text_t *out) {
    gantry__text_append(out, ",\"%s\":%" PRIu64, name, value);
}
