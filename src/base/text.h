/* SPDX-License-Identifier: Apache-2.0 */
/* A growing text with a sticky error: append freely, check once.
 *
 * Owner: the text owns its bytes. It must begin with gantry__text_init and end with
 * gantry__text_deinit. Threads: externally synchronised. */
#ifndef GANTRY_BASE_TEXT_H
#define GANTRY_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/failure.h"
#include "base/heap.h"

typedef struct gantry__text_t {
    const gantry__heap_t *heap;
    char *bytes; /* NULL until something is appended, else terminated */
    size_t length;
    size_t capacity;
    bool failed; /* memory ran out once: all later appends do nothing */
} gantry__text_t;

/* Copies what fits, terminator included. */
void gantry__text_copy(char *out, size_t out_bytes, const char *text);

void gantry__text_init(gantry__text_t *text, const gantry__heap_t *heap);
void gantry__text_deinit(gantry__text_t *text);
void gantry__text_append(gantry__text_t *text, const char *format, ...) GANTRY__PRINTF(2, 3);
void gantry__text_append_bytes(gantry__text_t *text, const char *bytes, size_t length);
/* The text so far, "" when empty or failed. */
const char *gantry__text_get(const gantry__text_t *text);
/* Returns OK, or ResourceExhausted when an append failed. */
gantry_status_t gantry__text_status(const gantry__text_t *text);

#endif
