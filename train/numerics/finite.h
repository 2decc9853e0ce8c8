/* SPDX-License-Identifier: Apache-2.0 */
/* Counts numbers that are not finite. */
#ifndef GANTRY_TRAIN_FINITE_H
#define GANTRY_TRAIN_FINITE_H

#include <gantry/gantry.h>

typedef struct gantry__finite_t {
    int64_t elements, nans, plus, minus; /* infinities by sign */
    int64_t first;                       /* the index of the first that is not finite */
    double low, high;                    /* of the finite ones; low > high: there are none */
} gantry__finite_t;

/* Of a floating type. */
gantry__finite_t gantry__finite_count(gantry_dtype_t dtype, const void *data, int64_t elements);
static inline int64_t gantry__finite_others(const gantry__finite_t *counts) {
    return counts->nans + counts->plus + counts->minus;
}
/* The same of a tensor, which is read. False: it has no numbers, since a function is traced or its
 * type is no floating one. A failure of the work that computes it is *out_status. */
bool gantry__finite_count_tensor(const gantry_tensor_t *tensor, gantry__finite_t *out_counts,
                                 gantry_status_t *out_status);

#endif
