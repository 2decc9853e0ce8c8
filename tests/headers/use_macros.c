/* SPDX-License-Identifier: Apache-2.0 */
/* Uses the macros of the public headers in text that is both C99 and C++11. */
#include <gantry/backend_abi.h>
#include <gantry/gantry.h>

#ifdef __cplusplus
static_assert(GANTRY_SHAPE(2, 3).rank == 2, "the number of dimensions");
static_assert(GANTRY_SHAPE(2, 3).dims[0] == 2 && GANTRY_SHAPE(2, 3).dims[1] == 3, "the dimensions");
static_assert(GANTRY_SHAPE(2, 3).dims[7] == 0, "the rest");
static_assert(GANTRY_SHAPE(INT64_MAX).dims[0] == INT64_MAX, "the width");
static_assert(GANTRY_SHAPE(1, 2, 3, 4, 5, 6, 7, 8).rank == GANTRY_MAX_RANK, "the most");
static_assert(GANTRY_SCALAR.rank == 0, "a scalar");
extern "C" {
#endif

int knows_programs(const gantry_backend_t *backend);
gantry_shape_t shape_of_pairs(int64_t count, size_t width);
const gantry_tensor_t *make_some(gantry_scope_t *scope);

int knows_programs(const gantry_backend_t *backend) {
    return GANTRY_ABI_HAS(backend, program) && backend->program != NULL &&
           GANTRY_ABI_HAS(backend->program, launch);
}

/* Variable dimensions of several types. */
gantry_shape_t shape_of_pairs(int64_t count, size_t width) {
    const gantry_shape_t shape = GANTRY_SHAPE(count, 2, (int64_t)width);
    return shape;
}

const gantry_tensor_t *make_some(gantry_scope_t *scope) {
    const float values[6] = {1, 2, 3, 4, 5, 6};
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), values, sizeof values);
    const gantry_tensor_t *y =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SCALAR, values, sizeof values[0]);
    return gantry_reshape(scope, gantry_add(scope, x, y), GANTRY_SHAPE(3, 2));
}

#ifdef __cplusplus
}
#endif
