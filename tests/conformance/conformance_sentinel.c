/* SPDX-License-Identifier: Apache-2.0 */
/* Sentinels show whether a kernel writes outside its result.
 *
 *     [ 0xa5 ... ][  hole, as large as the result  ][ 0xa5 ... ]
 *
 * A best-fit allocator gives the hole to the next tensor of its size, so that a write one element
 * too far changes a side. Sizes are rounded up to 256 bytes, so only results of such a size touch
 * the sides. */
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

#define SIDE_BYTES 1024
#define SIDE_BYTE 0xa5

static const gantry_tensor_t *make_side(gantry_scope_t *scope) {
    unsigned char bytes[SIDE_BYTES];
    memset(bytes, SIDE_BYTE, sizeof bytes);
    return gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(SIDE_BYTES / 4), bytes, sizeof bytes);
}

void conformance_sentinels_place(conformance_t *c, gantry_scope_t *scope, size_t bytes,
                                 conformance_sentinels_t *out) {
    int64_t count = (int64_t)((bytes + 3) / 4);
    void *zeros = calloc(count ? (size_t)count : 1, 4);
    const gantry_tensor_t *hole = NULL;
    out->sides[0] = make_side(scope);
    if (zeros)
        hole = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(count), zeros, (size_t)count * 4);
    out->sides[1] = make_side(scope);
    free(zeros);
    CHECK(c, hole && out->sides[0] && out->sides[1], "sentinels cannot be made: %s",
          gantry_scope_message(scope));
    gantry_tensor_drop(scope, hole);
}

void conformance_sentinels_check(conformance_t *c, gantry_scope_t *scope,
                                 conformance_sentinels_t *sentinels) {
    for (int side = 0; side < 2; ++side) {
        unsigned char bytes[SIDE_BYTES];
        if (!sentinels->sides[side]) continue;
        gantry_status_t status = gantry_tensor_read(sentinels->sides[side], bytes, sizeof bytes);
        if (status != GANTRY_OK)
            conformance_fail(c, "a sentinel cannot be read: %s", conformance_last_error(status));
        for (size_t i = 0; i < sizeof bytes && status == GANTRY_OK; ++i) {
            if (bytes[i] == SIDE_BYTE) continue;
            conformance_fail(c, "memory %s a result was written: byte %zu is 0x%02x",
                             side ? "behind" : "before", i, bytes[i]);
            break;
        }
        gantry_tensor_drop(scope, sentinels->sides[side]);
    }
}
