/* SPDX-License-Identifier: Apache-2.0 */
/* Host memory by one function, so that an embedder can replace it and a test can make it fail.
 *
 * A heap is a plain value that the runtime owns; it must outlive everything allocated from it.
 * Knows no devices. Thread-safe if its function is. */
#ifndef GANTRY_BASE_HEAP_H
#define GANTRY_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

/* ptr NULL: allocate; new_bytes 0: free, returns NULL; else resize. On failure it returns NULL, and
 * ptr must be as before. Memory must be aligned for any type. */
typedef void *(*gantry__reallocate_fn)(void *user, void *ptr, size_t old_bytes, size_t new_bytes);

typedef struct gantry__heap_t {
    gantry__reallocate_fn reallocate;
    void *user;
} gantry__heap_t;

/* The C library's heap. */
extern const gantry__heap_t gantry__heap_default;

/* Calls the function, in the program's floating-point mode if it is the program's. */
void *gantry__heap_reallocate(const gantry__heap_t *heap, void *ptr, size_t old_bytes,
                              size_t new_bytes);
/* All return NULL after a failure and set ResourceExhausted as the thread's last message. */
void *gantry__heap_alloc(const gantry__heap_t *heap, size_t bytes);
void *gantry__heap_zalloc(const gantry__heap_t *heap, size_t bytes);
/* count * item_bytes with overflow check; grows or shrinks. */
void *gantry__heap_resize(const gantry__heap_t *heap, void *ptr, size_t old_count, size_t new_count,
                          size_t item_bytes);
char *gantry__heap_strdup(const gantry__heap_t *heap, const char *text);
/* ptr may be NULL. bytes is the size that was requested. */
void gantry__heap_free(const gantry__heap_t *heap, void *ptr, size_t bytes);
/* Frees a text, which must come from gantry__heap_strdup. */
void gantry__heap_free_text(const gantry__heap_t *heap, char *text);

/* Makes room for one more item in a growing array (doubling); false, with the last message set,
 * when memory is out. */
bool gantry__heap_grow(const gantry__heap_t *heap, void *items_ptr, size_t count, size_t *capacity,
                       size_t item_bytes);

#endif
