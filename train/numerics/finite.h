/* SPDX-License-Identifier: Apache-2.0 */
/* Counts numbers that are not finite. Owner: the counts are a plain value. Threads: thread-safe for
 * data that no other thread writes. */
#ifndef GANTRY_TRAIN_FINITE_H
#define GANTRY_TRAIN_FINITE_H

#include <gantry/gantry.h>

typedef struct gantry__finite_t {
    int64_t elements, nans, plus, minus; /* infinities by sign */
    int64_t first;                       /* the index of the first that is not finite */
    double low, high;                    /* of the finite ones; low > high: there are none */
} gantry__finite_t;

/* Returns an element of data, whose type must be floating or a float8. */
double gantry__finite_number_at(gantry_dtype_t dtype, const void *data, int64_t i);
/* Counts the elements of data, whose type must be floating. */
gantry__finite_t gantry__finite_count(gantry_dtype_t dtype, const void *data, int64_t elements);
static inline int64_t gantry__finite_others(const gantry__finite_t *counts) {
    return counts->nans + counts->plus + counts->minus;
}
/* The same for a tensor, whose elements are read. It returns false if there are no numbers, because
 * a function is traced or because the type is not floating. A failure of the work that computes the
 * tensor is *out_status. */
bool gantry__finite_count_tensor(const gantry_tensor_t *tensor, gantry__finite_t *out_counts,
                                 gantry_status_t *out_status);

#endif
