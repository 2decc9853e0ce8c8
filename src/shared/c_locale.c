/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/c_locale.h"

#include <stdio.h>

gantry__c_locale_t gantry__c_locale_begin(void) {
    return (gantry__c_locale_t){.locale = gantry__os_locale_begin(),
                                .fp_mode = gantry__fp_set_own()};
}

void gantry__c_locale_end(const gantry__c_locale_t *locale) {
    gantry__fp_restore(locale->fp_mode);
    gantry__os_locale_end(&locale->locale);
}

int gantry__format(char *out, size_t out_bytes, const char *format, va_list args) {
    const gantry__c_locale_t locale = gantry__c_locale_begin();
    const int length = vsnprintf(out, out_bytes, format, args);
    gantry__c_locale_end(&locale);
    return length;
}
