/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json_text.h"

#include <inttypes.h>

size_t gantry__utf8_bytes(const char *text) {
    const unsigned char *bytes = (const unsigned char *)text, c = bytes[0];
    if (c < 0x80) return 1;
    size_t length = c >= 0xc2 && c < 0xe0   ? 2
                    : c >= 0xe0 && c < 0xf0 ? 3
                    : c >= 0xf0 && c < 0xf5 ? 4
                                            : 0;
    for (size_t i = 1; i < length; ++i) {
        if ((bytes[i] & 0xc0) != 0x80) return 0;
    }
    if ((c == 0xe0 && bytes[1] < 0xa0) || (c == 0xed && bytes[1] >= 0xa0) ||
        (c == 0xf0 && bytes[1] < 0x90) || (c == 0xf4 && bytes[1] >= 0x90))
        return 0; /* an overlong form, a surrogate, or beyond Unicode */
    return length;
}

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
