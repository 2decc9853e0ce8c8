/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in texts have a point, whatever the program's locale: between begin and end, the thread's
 * printf and strtod follow the C locale. */
#ifndef GANTRY_BASE_C_LOCALE_H
#define GANTRY_BASE_C_LOCALE_H

typedef struct gantry__c_locale_t {
    void *own, *former;
} gantry__c_locale_t;

gantry__c_locale_t gantry__c_locale_begin(void);
void gantry__c_locale_end(const gantry__c_locale_t *locale);

#endif
