/* SPDX-License-Identifier: Apache-2.0 */
#include "function/saved/saved_cursor.h"

#include <stdio.h>

gantry_status_t gantry__saved_fail(const gantry__saved_cursor_t *cursor, const char *what) {
    return gantry__fail(GANTRY_DATA_LOSS, "the graph is damaged at byte %zu of %zu: %s",
                        (size_t)(cursor->at - cursor->begin), (size_t)(cursor->end - cursor->begin),
                        what);
}

gantry_status_t gantry__saved_fail_early(const gantry__saved_cursor_t *cursor) {
    return gantry__saved_fail(cursor, "it ends too early");
}

gantry_status_t gantry__saved_take_count(gantry__saved_cursor_t *cursor, size_t least_bytes,
                                         uint32_t *out) {
    GANTRY__TRY(gantry__saved_take_u32(cursor, out));
    if (*out <= gantry__saved_left(cursor) / least_bytes) return GANTRY_OK;
    return gantry__saved_fail(cursor, "a count is larger than what follows");
}

gantry_status_t gantry__saved_take_text(gantry__saved_cursor_t *cursor, const char **out) {
    uint16_t length = 0;
    GANTRY__TRY(gantry__saved_take(cursor, &length, sizeof length));
    if (gantry__saved_left(cursor) <= length)
        return gantry__saved_fail(cursor, "a text ends too late");
    if (cursor->at[length] != '\0' || memchr(cursor->at, '\0', length))
        return gantry__saved_fail(cursor, "a text does not end with its only zero");
    *out = (const char *)cursor->at;
    cursor->at += length + (size_t)1;
    return GANTRY_OK;
}

gantry_status_t gantry__saved_take_list(gantry__saved_cursor_t *cursor, size_t item_bytes,
                                        const void **out, uint32_t *out_count) {
    GANTRY__TRY(gantry__saved_take_count(cursor, item_bytes, out_count));
    void *list = gantry__arena_copy(cursor->arena, cursor->at, *out_count, item_bytes);
    if (!list) return GANTRY_RESOURCE_EXHAUSTED;
    cursor->at += *out_count * item_bytes;
    *out = list;
    return GANTRY_OK;
}

gantry_status_t gantry__saved_take_values(gantry__saved_cursor_t *cursor,
                                          const gantry_graph_value_t **out, size_t *out_count) {
    const void *list = NULL;
    uint32_t count = 0;
    GANTRY__TRY(gantry__saved_take_list(cursor, sizeof **out, &list, &count));
    *out = list;
    *out_count = count;
    return GANTRY_OK;
}

gantry_status_t gantry__saved_take_type(gantry__saved_cursor_t *cursor, gantry_dtype_t *out_dtype,
                                        gantry_shape_t *out_shape) {
    uint32_t dtype = 0, rank = 0;
    GANTRY__TRY(gantry__saved_take_u8(cursor, &dtype));
    GANTRY__TRY(gantry__saved_take_u8(cursor, &rank));
    if (rank > GANTRY_MAX_RANK) {
        char what[64];
        (void)snprintf(what, sizeof what, "a value has %u dimensions; at most %d are accepted",
                       (unsigned)rank, GANTRY_MAX_RANK);
        return gantry__saved_fail(cursor, what);
    }
    *out_dtype = (gantry_dtype_t)dtype;
    *out_shape = (gantry_shape_t){.rank = (int32_t)rank};
    return gantry__saved_take(cursor, out_shape->dims, rank * sizeof out_shape->dims[0]);
}

gantry_status_t gantry__saved_take_known_type(gantry__saved_cursor_t *cursor,
                                              gantry_dtype_t *out_dtype, gantry_shape_t *out_shape,
                                              uint64_t *out_bytes) {
    GANTRY__TRY(gantry__saved_take_type(cursor, out_dtype, out_shape));
    const size_t item = gantry_dtype_size(*out_dtype);
    const int64_t elements = gantry_shape_elements(out_shape);
    if (item == 0 || elements < 0 || (uint64_t)elements > SIZE_MAX / 2 / item)
        return gantry__saved_fail(cursor, "a type or a shape is not possible");
    *out_bytes = (uint64_t)elements * item;
    return GANTRY_OK;
}
