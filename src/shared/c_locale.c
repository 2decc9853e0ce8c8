/* SPDX-License-Identifier: Apache-2.0 */
#define _POSIX_C_SOURCE 200809L
#include "shared/c_locale.h"

#include <locale.h>
#include <stdio.h>

/* Libraries keep the C locale as a constant: this allocates nothing. */
gantry__c_locale_t gantry__c_locale_begin(void) {
    gantry__c_locale_t locale = {.own = newlocale(LC_ALL_MASK, "C", (locale_t)0),
                                 .fp_mode = gantry__fp_set_own()};
    if (locale.own) locale.former = uselocale(locale.own);
    return locale;
}

void gantry__c_locale_end(const gantry__c_locale_t *locale) {
    gantry__fp_restore(locale->fp_mode);
    if (!locale->own) return;
    (void)uselocale(locale->former);
    freelocale(locale->own);
}

int gantry__format(char *out, size_t out_bytes, const char *format, va_list args) {
    const gantry__c_locale_t locale = gantry__c_locale_begin();
    const int length = vsnprintf(out, out_bytes, format, args);
    gantry__c_locale_end(&locale);
    return length;
}
