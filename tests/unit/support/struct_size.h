/* SPDX-License-Identifier: Apache-2.0 */
/* Structs that the library reads, with each struct_size: it reads no byte beyond the size, and
 * refuses a size that it does not know. Header only. */
#ifndef GANTRY_TEST_STRUCT_SIZE_H
#define GANTRY_TEST_STRUCT_SIZE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "null_calls.h"

#define CANARY 0x5a
#define BEHIND 64 /* these bytes are not the library's */

/* What a test's rows need; each test has its own. */
typedef struct world_t world_t;

typedef struct read_row_t {
    const char *name;
    size_t size;
    bool zero_is_fine; /* struct_size may stay 0 */
    /* InvalidArgument: the size is refused */
    gantry_status_t (*read)(const world_t *w, const void *p);
} read_row_t;

#define READ(type, zero_is_fine, call) \
    { #type, sizeof(type), zero_is_fine, call }

/* The fields behind struct_size are garbage: a read of one fails or crashes. */
static inline void read_with_size(const world_t *w, const read_row_t *row, uint32_t struct_size) {
    unsigned char *bytes = calloc(1, row->size + BEHIND);
    assert_non_null(bytes);
    const size_t given = struct_size == 0 && row->zero_is_fine ? row->size : struct_size;
    if (given < row->size) memset(bytes + given, CANARY, row->size - given);
    memcpy(bytes, &struct_size, sizeof struct_size);
    const bool fits = given >= sizeof struct_size && given <= row->size;
    const gantry_status_t status = row->read(w, bytes);
    if (status != (fits ? GANTRY_OK : GANTRY_INVALID_ARGUMENT))
        fail_msg("%s with struct_size %u: %s, %s", row->name, struct_size,
                 gantry_status_name(status), gantry_last_message());
    free(bytes);
}

static inline void read_with_every_size(const world_t *w, const read_row_t *rows, size_t count) {
    for (size_t i = 0; i < count; ++i) {
        for (uint32_t size = 0; size <= rows[i].size + 8; size += size < 8 ? 1 : 4)
            read_with_size(w, &rows[i], size);
        read_with_size(w, &rows[i], UINT32_MAX);
    }
}

/* Each struct of the headers has a struct_size and a row, or is one of the plain ones. */
static inline void expect_rows_of_all(bool (*has_row)(const char *name), const char *const *plain,
                                      size_t plain_count) {
    for (size_t i = 0; i < public_struct_count; ++i) {
        const char *name = public_structs[i].name;
        bool is_plain = false;
        const size_t length = strlen(name); /* test_backend_set checks tables of backends */
        if (length > 6 && strcmp(name + length - 6, "_ops_t") == 0) continue;
        for (size_t k = 0; k < plain_count; ++k) is_plain |= strcmp(name, plain[k]) == 0;
        if (public_structs[i].has_size == is_plain)
            fail_msg("%s: a plain value, or a struct with struct_size?", name);
        if (!is_plain && !has_row(name)) fail_msg("%s has no row here", name);
    }
}

#endif
