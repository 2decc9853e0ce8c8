/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in texts have a point and are rounded to nearest, whatever the program's locale and
 * floating-point mode: between begin and end, the thread's printf and strtod follow the C locale,
 * and the thread has Gantry's mode. Owner: the caller must end on the same thread what it began.
 * Threads: thread-safe, because only the calling thread is changed. */
#ifndef GANTRY_SHARED_C_LOCALE_H
#define GANTRY_SHARED_C_LOCALE_H

#include <stdarg.h>
#include <stddef.h>

#include "base/os/locale.h"
#include "host/fp_mode.h"

typedef struct gantry__c_locale_t {
    gantry__os_locale_t locale;
    gantry__fp_mode_t fp_mode; /* the former one */
} gantry__c_locale_t;

gantry__c_locale_t gantry__c_locale_begin(void);
void gantry__c_locale_end(const gantry__c_locale_t *locale);

/* vsnprintf between begin and end. */
int gantry__format(char *out, size_t out_bytes, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

#endif
