/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/locale.h"

#include <locale.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A thread has a locale of its own only after it has asked for one. In the C locale, in which most
 * programs are, nothing is to do. */
gantry__os_locale_t gantry__os_locale_begin(void) {
    gantry__os_locale_t locale = {0};
    const char *present = setlocale(LC_ALL, NULL);
    if (!present || strcmp(present, "C") == 0) return locale;
    locale.former = malloc(strlen(present) + 1);
    if (!locale.former) return locale;
    (void)strcpy(locale.former, present);
    if (_configthreadlocale(0) != _ENABLE_PER_THREAD_LOCALE) {
        (void)_configthreadlocale(_ENABLE_PER_THREAD_LOCALE);
        locale.own = locale.former;
    }
    (void)setlocale(LC_ALL, "C");
    return locale;
}

void gantry__os_locale_end(const gantry__os_locale_t *locale) {
    if (!locale->former) return;
    (void)setlocale(LC_ALL, locale->former);
    if (locale->own) (void)_configthreadlocale(_DISABLE_PER_THREAD_LOCALE);
    free(locale->former);
}
