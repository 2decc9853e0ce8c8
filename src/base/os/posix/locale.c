/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "base/os/locale.h"

#include <locale.h>
#include <stddef.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif

/* Libraries keep the C locale as a constant: this allocates nothing. */
gantry__os_locale_t gantry__os_locale_begin(void) {
    gantry__os_locale_t locale = {.own = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    if (locale.own) locale.former = uselocale(locale.own);
    return locale;
}

void gantry__os_locale_end(const gantry__os_locale_t *locale) {
    if (!locale->own) return;
    (void)uselocale(locale->former);
    freelocale(locale->own);
}
