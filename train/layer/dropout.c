/* SPDX-License-Identifier: Apache-2.0 */
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/layer/layer_state.h"

typedef const gantry_tensor_t tensor;

/* Each call draws anew, that of a function, too; outside a model it draws from the runtime's
 * state. */
const gantry_tensor_t *gantry__layer_dropout(const gantry_layer_call_t *call,
                                             const gantry_tensor_t *x, double rate) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    gantry_scope_t *s = call->scope;
    if (!call->training || rate == 0 || !x) return x;
    const gantry_shape_t shape = *gantry_tensor_shape(x);
    gantry_generator_t *generator = gantry_layer_generator(call);
    tensor *drawn = generator ? gantry_generator_uniform(s, generator, shape, GANTRY_FLOAT32)
                              : gantry_random_uniform(s, shape, GANTRY_FLOAT32, NULL);
    tensor *keeps = gantry_greater_equal(s, drawn, gantry_scalar_f32(s, (float)rate));
    tensor *scaled =
        gantry_mul(s, x, gantry__train_constant(s, gantry_tensor_dtype(x), 1 / (1 - rate)));
    return gantry_select(s, keeps, scaled, gantry_zeros_like(s, x));
}
