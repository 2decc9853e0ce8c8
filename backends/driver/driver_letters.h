/* SPDX-License-Identifier: Apache-2.0 */
/* Letters and blanks of ASCII, whatever the program's locale is. Owner: nothing is kept. Threads:
 * thread-safe. */
#ifndef GANTRY_DRIVER_DRIVER_LETTERS_H
#define GANTRY_DRIVER_DRIVER_LETTERS_H

#include <stdbool.h>
#include <stddef.h>

static inline bool gantry__driver_is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static inline char gantry__driver_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Whether the first `length` letters are the same, without regard to case. */
static inline bool gantry__driver_same_letters(const char *a, const char *b, size_t length) {
    for (size_t i = 0; i < length; ++i) {
        if (gantry__driver_lower(a[i]) != gantry__driver_lower(b[i])) return false;
        if (a[i] == '\0') return true;
    }
    return true;
}

#endif
