/* SPDX-License-Identifier: Apache-2.0 */
/* The C locale for a thread. Owner: the caller must end on the same thread what it began. Threads:
 * thread-safe, because only the calling thread is changed. */
#ifndef GANTRY_BASE_OS_LOCALE_H
#define GANTRY_BASE_OS_LOCALE_H

typedef struct gantry__os_locale_t {
    void *own, *former;
} gantry__os_locale_t;

/* Between begin and end, the thread's printf and strtod follow the C locale. */
gantry__os_locale_t gantry__os_locale_begin(void);
void gantry__os_locale_end(const gantry__os_locale_t *locale);

#endif
