/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory of the training library: the C library's, by one function, which tests replace at
 * link time to count blocks and to let them fail. Thread-safe. */
#ifndef GANTRY_TRAIN_MEMORY_H
#define GANTRY_TRAIN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* ptr NULL: allocate; new_bytes 0: free, returns NULL; else resize. Returns NULL and leaves ptr
 * alone if memory is out. Called by the functions below only. */
void *gantry__train_reallocate(void *ptr, size_t new_bytes);

/* Zeroed memory for count items. NULL after a failure, with ResourceExhausted as the thread's last
 * message. */
void *gantry__train_alloc(size_t count, size_t item_bytes);
char *gantry__train_strdup(const char *text);
/* NULL does no harm. */
void gantry__train_free(void *ptr);
/* Makes room for one more item in a growing array (doubling). items_ptr is the address of the
 * array's pointer. False when memory is out. */
bool gantry__train_grow(void *items_ptr, size_t count, size_t *capacity, size_t item_bytes);

#endif
