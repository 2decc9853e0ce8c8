/* SPDX-License-Identifier: Apache-2.0 */
/* On-off variables of the plug-in, spelled as Gantry's: 1, on, true and yes in any case are on,
 * every other text and no text are off. They must be read before a runtime exists, so Gantry's own
 * reader cannot be used.
 *
 * Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_TENSORFLOW_SWITCH_H
#define GANTRY_TENSORFLOW_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>

/* Compares in ASCII, whatever the program's locale is. */
static inline bool switch_is_word(const char *value, const char *word) {
    size_t i = 0;
    for (; value[i] && word[i]; ++i) {
        const char lower =
            value[i] >= 'A' && value[i] <= 'Z' ? (char)(value[i] - 'A' + 'a') : value[i];
        if (lower != word[i]) return false;
    }
    return value[i] == word[i];
}

static inline bool switch_is_on(const char *name) {
    const char *value = getenv(name);
    return value && (switch_is_word(value, "1") || switch_is_word(value, "on") ||
                     switch_is_word(value, "true") || switch_is_word(value, "yes"));
}

#endif
