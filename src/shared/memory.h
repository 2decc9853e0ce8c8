/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory of the libraries over the public headers: the C library's, by one function, which
 * tests replace at link time to count blocks and to let them fail. libgantry has the heap of its
 * runtime instead. Owner: the caller has each block until it frees it by gantry__free. Threads:
 * thread-safe. */
#ifndef GANTRY_SHARED_MEMORY_H
#define GANTRY_SHARED_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Allocates if ptr is NULL, frees and returns NULL if new_bytes is 0, and resizes otherwise. If
 * memory is out it returns NULL, and ptr stays valid. Only the functions below may call it. */
void *gantry__reallocate(void *ptr, size_t new_bytes);

/* Returns zeroed memory for count items. It returns NULL after a failure, with ResourceExhausted as
 * the thread's last message. */
void *gantry__alloc(size_t count, size_t item_bytes);
/* The same without zeros, for bytes that are all written. */
void *gantry__alloc_bytes(size_t bytes);
char *gantry__strdup(const char *text);
/* NULL does no harm. */
void gantry__free(void *ptr);
/* Makes room for one more item in a growing array, by doubling. items_ptr must be the address of
 * the array's pointer. It returns false when memory is out. */
bool gantry__grow(void *items_ptr, size_t count, size_t *capacity, size_t item_bytes);

#endif
