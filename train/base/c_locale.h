/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in texts have a point and are rounded to nearest, whatever the program's locale and
 * floating-point mode are: between begin and end, the thread's printf and strtod follow the C
 * locale, and the thread has Gantry's floating-point mode.
 *
 * Owner: the caller must pass what begin returned to end, once and on the same thread. Threads:
 * thread-safe; only the calling thread changes. */
#ifndef GANTRY_TRAIN_C_LOCALE_H
#define GANTRY_TRAIN_C_LOCALE_H

#include "host/fp_mode.h"

typedef struct gantry__train_locale_t {
    void *own, *former;
    gantry__fp_mode_t fp_mode; /* the former one */
} gantry__train_locale_t;

gantry__train_locale_t gantry__train_locale_begin(void);
void gantry__train_locale_end(const gantry__train_locale_t *locale);

#endif
