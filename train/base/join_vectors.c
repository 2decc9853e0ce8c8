/* SPDX-License-Identifier: Apache-2.0 */
#include "train/base/join_vectors.h"

const gantry_tensor_t *gantry__join_vectors(gantry_scope_t *scope, const gantry_tensor_t **list,
                                            size_t count) {
    while (count > 1) {
        size_t made = 0;
        for (size_t i = 0; i < count; i += GANTRY_MAX_OP_INPUTS) {
            const size_t some = count - i < GANTRY_MAX_OP_INPUTS ? count - i : GANTRY_MAX_OP_INPUTS;
            list[made++] = some > 1 ? gantry_concat(scope, list + i, some, 0) : list[i];
        }
        count = made;
    }
    return list[0];
}
