/* SPDX-License-Identifier: Apache-2.0 */
/* Characters of texts that others wrote. src/base/printable.c has the same rules. */
#include <string.h>

#include "common/tool.h"

/* Overlong forms, surrogates and values above U+10FFFF are no characters. */
int gantry_tool_utf8_length(const char *text) {
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char first = at[0];
    const int length = first < 0x80                    ? 1
                       : first >= 0xc2 && first < 0xe0 ? 2
                       : first >= 0xe0 && first < 0xf0 ? 3
                       : first >= 0xf0 && first < 0xf5 ? 4
                                                       : 0;
    for (int i = 1; i < length; ++i) {
        if ((at[i] & 0xc0) != 0x80) return 0;
    }
    if ((first == 0xe0 && at[1] < 0xa0) || (first == 0xed && at[1] > 0x9f)) return 0;
    if ((first == 0xf0 && at[1] < 0x90) || (first == 0xf4 && at[1] > 0x8f)) return 0;
    return length;
}

uint32_t gantry_tool_command_at(const char *text, int length) {
    const unsigned char *at = (const unsigned char *)text;
    uint32_t value = at[0];
    if (length == 1) return value < 0x20 || value == 0x7f ? value : 0;
    if (length == 2) value = (value & 0x1fu) << 6 | (at[1] & 0x3fu);
    if (length == 3) value = (value & 0x0fu) << 12 | (at[1] & 0x3fu) << 6 | (at[2] & 0x3fu);
    const bool is_c1 = value >= 0x80 && value < 0xa0;
    const bool is_direction = value == 0x61c || value == 0x200e || value == 0x200f ||
                              (value >= 0x2028 && value <= 0x202e) ||
                              (value >= 0x2066 && value <= 0x2069);
    return (length == 2 || length == 3) && (is_c1 || is_direction) ? value : 0;
}

void gantry_tool_make_printable(char *text) {
    char *out = text;
    for (const char *at = text; *at;) {
        const int length = gantry_tool_utf8_length(at);
        if (length == 0 || (*at != '\n' && gantry_tool_command_at(at, length) != 0)) {
            *out++ = '?';
        } else {
            memmove(out, at, (size_t)length);
            out += length;
        }
        at += length ? length : 1;
    }
    *out = '\0';
}
