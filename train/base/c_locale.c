/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "train/base/c_locale.h"

#include <locale.h>

/* This allocates nothing, because C libraries keep the C locale as a constant. */
gantry__train_locale_t gantry__train_locale_begin(void) {
    gantry__train_locale_t locale = {.own = newlocale(LC_ALL_MASK, "C", (locale_t)0),
                                     .fp_mode = gantry__fp_set_own()};
    if (locale.own) locale.former = uselocale(locale.own);
    return locale;
}

void gantry__train_locale_end(const gantry__train_locale_t *locale) {
    gantry__fp_restore(locale->fp_mode);
    if (!locale->own) return;
    (void)uselocale(locale->former);
    freelocale(locale->own);
}
