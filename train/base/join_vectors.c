/* SPDX-License-Identifier: Apache-2.0 */
#include "train/base/join_vectors.h"

/* The most tensors of one Concat, whose axis is an input, too. */
#define MOST (GANTRY_MAX_OP_INPUTS - 1)

const gantry_tensor_t *gantry__join_vectors(gantry_scope_t *scope, const gantry_tensor_t **list,
                                            size_t count) {
    while (count > 1) {
        size_t made = 0;
        for (size_t i = 0; i < count; i += MOST) {
            const size_t some = count - i < MOST ? count - i : MOST;
            list[made++] = some > 1 ? gantry_concat(scope, list + i, some, 0) : list[i];
        }
        count = made;
    }
    return list[0];
}
