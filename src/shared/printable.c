/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/printable.h"

#include <stdbool.h>
#include <string.h>

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

const char *gantry__utf8_end(const char *text, size_t most) {
    const size_t bytes = strlen(text);
    if (bytes <= most) return text;
    text += bytes - most;
    while ((*text & 0xc0) == 0x80) ++text;
    return text;
}

uint32_t gantry__utf8_command(const char *text, size_t bytes) {
    const unsigned char *at = (const unsigned char *)text;
    uint32_t value = at[0];
    if (bytes == 1) return value < 0x20 || value == 0x7f ? value : 0;
    if (bytes == 2) value = (value & 0x1fu) << 6 | (at[1] & 0x3fu);
    if (bytes == 3) value = (value & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
    const bool is_c1 = value >= 0x80 && value < 0xa0;
    const bool is_direction = value == 0x61c || value == 0x200e || value == 0x200f ||
                              (value >= 0x2028 && value <= 0x202e) ||
                              (value >= 0x2066 && value <= 0x2069);
    return (bytes == 2 || bytes == 3) && (is_c1 || is_direction) ? value : 0;
}

void gantry__make_printable(char *text, char kept) {
    char *out = text;
    for (const char *at = text; *at;) {
        const size_t bytes = gantry__utf8_bytes(at);
        if (bytes == 0 || (*at != kept && gantry__utf8_command(at, bytes) != 0)) {
            *out++ = '?';
        } else {
            memmove(out, at, bytes);
            out += bytes;
        }
        at += bytes ? bytes : 1;
    }
    *out = '\0';
}
