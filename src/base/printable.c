/* SPDX-License-Identifier: Apache-2.0 */
#include "base/printable.h"

#include <stdbool.h>
#include <string.h>

#include "base/json_text.h"

/* Of a character in UTF-8. */
static bool is_command(const unsigned char *at, size_t bytes) {
    if (bytes == 1) return *at < 0x20 || *at == 0x7f;
    if (bytes == 2) /* C1, and U+061C */
        return (at[0] == 0xc2 && at[1] < 0xa0) || (at[0] == 0xd8 && at[1] == 0x9c);
    if (bytes != 3 || at[0] != 0xe2) return false;
    if (at[1] == 0x80) /* U+200E, U+200F, U+2028 to U+202E */
        return at[2] == 0x8e || at[2] == 0x8f || (at[2] >= 0xa8 && at[2] <= 0xae);
    return at[1] == 0x81 && at[2] >= 0xa6 && at[2] <= 0xa9; /* U+2066 to U+2069 */
}

void gantry__make_printable(char *text) {
    char *out = text;
    for (const char *at = text; *at;) {
        const size_t bytes = gantry__utf8_bytes(at);
        if (bytes == 0 || is_command((const unsigned char *)at, bytes)) {
            *out++ = '?';
        } else {
            memmove(out, at, bytes);
            out += bytes;
        }
        at += bytes ? bytes : 1;
    }
    *out = '\0';
}
