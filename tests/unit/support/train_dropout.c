/* SPDX-License-Identifier: Apache-2.0 */
#include "train_dropout.h"

#include <stdbool.h>

#include "train/base/inner_scope.h"
#include "train/layer/layer_state.h"

enum { MOST_DRAWS = 256 };

static uint32_t draws;
static bool is_replaced;

const gantry_tensor_t *__real_gantry__layer_dropout(const gantry_layer_call_t *call,
                                                    const gantry_tensor_t *x, double rate);
const gantry_tensor_t *__wrap_gantry__layer_dropout(const gantry_layer_call_t *call,
                                                    const gantry_tensor_t *x, double rate);

void train_dropout_begin(uint32_t state) {
    draws = state;
    is_replaced = true;
}

void train_dropout_end(void) { is_replaced = false; }

static double next_factor(double rate) {
    draws = draws * 1664525u + 1013904223u;
    return (draws >> 8) % 4096 >= rate * 4096 ? 1 / (1 - rate) : 0;
}

const gantry_tensor_t *__wrap_gantry__layer_dropout(const gantry_layer_call_t *call,
                                                    const gantry_tensor_t *x, double rate) {
    double factors[MOST_DRAWS];
    if (!is_replaced || !call->training || rate == 0 || !x)
        return __real_gantry__layer_dropout(call, x, rate);
    const gantry_shape_t shape = *gantry_tensor_shape(x);
    const int64_t count = gantry_shape_elements(&shape);
    if (count < 0 || count > MOST_DRAWS) return NULL; /* the case is too large for the test */
    for (int64_t i = 0; i < count; ++i) factors[i] = next_factor(rate);
    const gantry_tensor_t *drops =
        gantry_constant(call->scope, GANTRY_FLOAT64, shape, factors, (size_t)count * 8);
    return gantry_mul(call->scope, x,
                      gantry__train_cast(call->scope, drops, gantry_tensor_dtype(x)));
}
