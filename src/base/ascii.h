/* SPDX-License-Identifier: Apache-2.0 */
/* Letters and control characters of ASCII, whatever the program's locale: in Turkish, the C
 * library's "I" has no "i". Owner: nothing. Threads: thread-safe. */
#ifndef GANTRY_BASE_ASCII_H
#define GANTRY_BASE_ASCII_H

#include <stdbool.h>

static inline bool gantry__ascii_is_lower(char c) { return c >= 'a' && c <= 'z'; }
static inline bool gantry__ascii_is_upper(char c) { return c >= 'A' && c <= 'Z'; }
static inline bool gantry__ascii_is_digit(char c) { return c >= '0' && c <= '9'; }
static inline bool gantry__ascii_is_control(char c) { return (unsigned char)c < 0x20 || c == 0x7f; }
static inline char gantry__ascii_lower(char c) {
    return gantry__ascii_is_upper(c) ? (char)(c + ('a' - 'A')) : c;
}
static inline char gantry__ascii_upper(char c) {
    return gantry__ascii_is_lower(c) ? (char)(c - ('a' - 'A')) : c;
}

/* A text of one line: control characters become question marks. */
static inline void gantry__ascii_one_line(char *text) {
    for (; *text; ++text) {
        if (gantry__ascii_is_control(*text)) *text = '?';
    }
}

#endif
