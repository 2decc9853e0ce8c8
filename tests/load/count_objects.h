/* SPDX-License-Identifier: Apache-2.0 */
/* Driver objects alive, as the counting OpenCL library sees them. A program finds the function
 * with dlsym(library, COUNT_OBJECTS_SYMBOL). */
#ifndef TESTS_LOAD_COUNT_OBJECTS_H
#define TESTS_LOAD_COUNT_OBJECTS_H

typedef enum count_kind_t {
    COUNT_CONTEXT = 0,
    COUNT_QUEUE = 1,
    COUNT_BUFFER = 2,
    COUNT_PROGRAM = 3,
    COUNT_KERNEL = 4,
    COUNT_EVENT = 5,
    COUNT_KINDS = 6
} count_kind_t;

typedef long (*count_objects_live_fn)(count_kind_t kind);
#define COUNT_OBJECTS_SYMBOL "count_objects_live"

/* References held; 0 when everything was released. */
long count_objects_live(count_kind_t kind);

#endif
