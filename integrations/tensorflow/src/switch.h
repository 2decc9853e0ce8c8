/* SPDX-License-Identifier: Apache-2.0 */
/* On-off variables of the plug-in, spelled as Gantry's: 1, on, true and yes in any case are on,
 * every other text and no text are off. They are read before a runtime exists.
 *
 * Thread-safe. */
#ifndef GANTRY_TENSORFLOW_SWITCH_H
#define GANTRY_TENSORFLOW_SWITCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <strings.h>

static inline bool switch_is_on(const char *name) {
    static const char *const words[] = {"1", "on", "true", "yes"};
    const char *value = getenv(name);
    bool is_on = false;
    for (size_t i = 0; value && i < sizeof words / sizeof words[0]; ++i)
        is_on = is_on || strcasecmp(value, words[i]) == 0;
    return is_on;
}

#endif
