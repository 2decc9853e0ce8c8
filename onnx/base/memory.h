/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory of the ONNX library: the C library's, by one function, which tests replace at link
 * time to count blocks and to let them fail. Owner: the caller has each block until it frees it by
 * gantry__onnx_free. Threads: thread-safe. */
#ifndef GANTRY_ONNX_MEMORY_H
#define GANTRY_ONNX_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

/* Allocates if ptr is NULL, frees and returns NULL if new_bytes is 0, and resizes otherwise. If
 * memory is out it returns NULL, and ptr stays valid. Only the functions below may call it. */
void *gantry__onnx_reallocate(void *ptr, size_t new_bytes);

/* Returns zeroed memory for count items. It returns NULL after a failure, with ResourceExhausted as
 * the thread's last message. */
void *gantry__onnx_alloc(size_t count, size_t item_bytes);
/* The same without zeros, for bytes that are all written. */
void *gantry__onnx_alloc_bytes(size_t bytes);
char *gantry__onnx_strdup(const char *text);
/* NULL does no harm. */
void gantry__onnx_free(void *ptr);
/* Makes room for one more item in a growing array, by doubling. items_ptr must be the address of
 * the array's pointer. It returns false when memory is out. */
bool gantry__onnx_grow(void *items_ptr, size_t count, size_t *capacity, size_t item_bytes);

#endif
