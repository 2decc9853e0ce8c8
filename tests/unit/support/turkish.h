/* SPDX-License-Identifier: Apache-2.0 */
/* Turkish as the program's locale: numbers have a comma, and "I" has no "i". Header only.
 *
 * Made by localedef in a folder of the test's own where the machine does not have it. */
#ifndef TESTS_TURKISH_H
#define TESTS_TURKISH_H

#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

/* musl takes every name, and its numbers have a point. */
static inline bool turkish_is_set(void) {
    return setlocale(LC_ALL, "tr_TR.UTF-8") && localeconv()->decimal_point[0] == ',';
}

/* Whether it is set; false: the machine has neither the locale nor its sources. */
static inline bool turkish_begin(void) {
    char folder[] = "/tmp/gantry_turkish_XXXXXX", command[256];
    if (turkish_is_set()) return true;
    if (!mkdtemp(folder)) return false;
    (void)snprintf(command, sizeof command,
                   "localedef -i tr_TR -f UTF-8 %s/tr_TR.UTF-8 >%s/log 2>&1", folder, folder);
    const bool is_made =
        system(command) == 0 && setenv("LOCPATH", folder, 1) == 0 && turkish_is_set();
    (void)unsetenv("LOCPATH");
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command) == 0 && is_made;
}

static inline void turkish_end(void) { (void)setlocale(LC_ALL, "C"); }

#endif
