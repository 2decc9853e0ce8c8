/* SPDX-License-Identifier: Apache-2.0 */
/* Equations of Einsum, read against the shapes of a call.
 *
 * Every dimension of an input or of the result has a label: a character of the equation, or, for a
 * dimension under an ellipsis, a number from GANTRY__EINSUM_ELLIPSIS on, counted from the last one,
 * so that the ellipses of two inputs match as broadcasting requires. It knows no tensors. Owner:
 * plain values of the caller. Threads: thread-safe. */
#ifndef GANTRY_OP_EINSUM_H
#define GANTRY_OP_EINSUM_H

#include "op/op_def.h"

#define GANTRY__EINSUM_ELLIPSIS 128
#define GANTRY__EINSUM_UNUSED (-2) /* the size of a label that no input has; -1 is open */

typedef struct gantry__labels_t {
    int32_t count;
    uint8_t at[GANTRY_MAX_RANK]; /* one per dimension */
} gantry__labels_t;

typedef struct gantry__einsum_t {
    uint32_t input_count; /* 1 or 2 */
    gantry__labels_t inputs[2];
    gantry__labels_t output;   /* as in the equation */
    gantry__labels_t distinct; /* the output's labels, each once */
    /* of each label; for an ellipsis after broadcasting */
    int64_t sizes[GANTRY__EINSUM_ELLIPSIS + GANTRY_MAX_RANK];
} gantry__einsum_t;

static inline bool gantry__has_label(const gantry__labels_t *labels, uint8_t label) {
    for (int32_t i = 0; i < labels->count; ++i) {
        if (labels->at[i] == label) return true;
    }
    return false;
}

/* InvalidArgument in TensorFlow's words. */
gantry_status_t gantry__einsum_read(const char *equation, const gantry_shape_t *const *shapes,
                                    uint32_t shape_count, gantry__einsum_t *out_einsum);

#endif
