/* SPDX-License-Identifier: Apache-2.0 */
/* A cursor over bytes that nobody has checked. It never passes the end; what does not fit is
 * DataLoss, with the place. Owner: the caller has bytes and arena. Threads: externally
 * synchronised. */
#ifndef GANTRY_FUNCTION_SAVED_CURSOR_H
#define GANTRY_FUNCTION_SAVED_CURSOR_H

#include <string.h>

#include <gantry/graph.h>

#include "base/arena.h"
#include "base/failure.h"

typedef struct gantry__saved_cursor_t {
    const unsigned char *begin, *at, *end;
    gantry__arena_t *arena; /* of lists, each of at most as many bytes as the file has for it */
} gantry__saved_cursor_t;

gantry_status_t gantry__saved_fail(const gantry__saved_cursor_t *cursor, const char *what);
GANTRY__COLD gantry_status_t gantry__saved_fail_early(const gantry__saved_cursor_t *cursor);

static inline size_t gantry__saved_left(const gantry__saved_cursor_t *cursor) {
    return (size_t)(cursor->end - cursor->at);
}

/* Reads of constant sizes become single loads. */
static inline __attribute__((always_inline)) gantry_status_t gantry__saved_take(
    gantry__saved_cursor_t *cursor, void *out, size_t size) {
    if (gantry__saved_left(cursor) < size) return gantry__saved_fail_early(cursor);
    memcpy(out, cursor->at, size);
    cursor->at += size;
    return GANTRY_OK;
}

static inline __attribute__((always_inline)) gantry_status_t gantry__saved_take_u8(
    gantry__saved_cursor_t *cursor, uint32_t *out) {
    uint8_t byte = 0;
    GANTRY__TRY(gantry__saved_take(cursor, &byte, sizeof byte));
    *out = byte;
    return GANTRY_OK;
}

static inline gantry_status_t gantry__saved_take_u32(gantry__saved_cursor_t *cursor,
                                                     uint32_t *out) {
    return gantry__saved_take(cursor, out, sizeof *out);
}

static inline gantry_status_t gantry__saved_take_u64(gantry__saved_cursor_t *cursor,
                                                     uint64_t *out) {
    return gantry__saved_take(cursor, out, sizeof *out);
}

/* A number below count; what: the message. */
static inline gantry_status_t gantry__saved_pick(gantry__saved_cursor_t *cursor, uint32_t count,
                                                 const char *what, uint32_t *out) {
    GANTRY__TRY(gantry__saved_take_u32(cursor, out));
    return *out < count ? GANTRY_OK : gantry__saved_fail(cursor, what);
}
/* A count of things of at least so many bytes each. */
gantry_status_t gantry__saved_take_count(gantry__saved_cursor_t *cursor, size_t least_bytes,
                                         uint32_t *out);
/* A text, in the bytes themselves. */
gantry_status_t gantry__saved_take_text(gantry__saved_cursor_t *cursor, const char **out);
/* A list in the arena. */
gantry_status_t gantry__saved_take_list(gantry__saved_cursor_t *cursor, size_t item_bytes,
                                        const void **out, uint32_t *out_count);
gantry_status_t gantry__saved_take_values(gantry__saved_cursor_t *cursor,
                                          const gantry_graph_value_t **out, size_t *out_count);
/* The type and the sizes may be any; the rank is possible. */
gantry_status_t gantry__saved_take_type(gantry__saved_cursor_t *cursor, gantry_dtype_t *out_dtype,
                                        gantry_shape_t *out_shape);
/* The type is one of Gantry's, no size is open, and the bytes fit into memory. */
gantry_status_t gantry__saved_take_known_type(gantry__saved_cursor_t *cursor,
                                              gantry_dtype_t *out_dtype, gantry_shape_t *out_shape,
                                              uint64_t *out_bytes);

#endif
