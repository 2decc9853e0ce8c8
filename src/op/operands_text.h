/* SPDX-License-Identifier: Apache-2.0 */
/* " of float32[2,3], int32[2]": what an op takes, for the text of an error.
 *
 * The text is bounded: the first type and shape that does not fit becomes "...", and all that
 * follow are left out.
 *
 * Owner: a plain value of the caller; it uses no heap. Threads: externally synchronised. */
#ifndef GANTRY_OP_OPERANDS_TEXT_H
#define GANTRY_OP_OPERANDS_TEXT_H

#include <stdbool.h>

#include <gantry/types.h>

typedef struct gantry__operands_text_t {
    bool is_cut;
    char text[144]; /* "": none yet */
} gantry__operands_text_t;

void gantry__operands_add(gantry__operands_text_t *operands, gantry_dtype_t dtype,
                          const gantry_shape_t *shape);

#endif
