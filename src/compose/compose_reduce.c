/* SPDX-License-Identifier: Apache-2.0 */
/* LogSumExp, Var and Std, as TensorFlow composes them. float16 and bfloat16 are computed in float32
 * and rounded once. */
#include <gantry/ops.h>

#include "op/op_infer.h"
#include "run/call_op.h"
#include "compose/compose.h"
#include "run/tensor_state.h"

typedef const gantry_tensor_t tensor;

/* Runs a reduction of x over the call's axes. */
static tensor *compose_reduce_one(const gantry__compose_t *c, gantry__op_id_t id, tensor *x,
                                  bool keep_dims) {
    tensor *inputs[] = {x, c->inputs[1]};
    const gantry_attr_value_t attr = gantry__attr_bool("keep_dims", keep_dims);
    return gantry__call_op(c->scope, id, inputs, 2, &attr, 1, NULL);
}

static bool keeps_dims(const gantry__compose_t *c) {
    return gantry__infer_attr(c->call, "keep_dims")->i != 0;
}

static void compose_reduce_finish(const gantry__compose_t *c, tensor *result) {
    c->outputs[0] = gantry__compose_narrow(c, result, c->call->out_dtypes[0]);
}

/* Computes log(sum(exp(x - m))) + m, with m the maximum if it is finite, else 0. */
void gantry__compose_log_sum_exp(const gantry__compose_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *x = gantry__compose_widen(c, c->inputs[0]);
    if (!x) return;
    tensor *zero = gantry__compose_scalar(c, x->dtype, 0);
    tensor *most = compose_reduce_one(c, GANTRY__OP_ID_Max, x, true);
    /* inf - inf is NaN */
    most = gantry_select(s, gantry_equal(s, gantry_sub(s, most, most), zero), most, zero);
    tensor *powers = gantry_exp(s, gantry_tensor_donate(s, gantry_sub(s, x, most)));
    tensor *sum = gantry_log(s, compose_reduce_one(c, GANTRY__OP_ID_Sum,
                                                   gantry_tensor_donate(s, powers), keeps_dims(c)));
    compose_reduce_finish(c, gantry_add(s, sum, gantry_reshape(s, most, c->call->out_shapes[0])));
}

/* Computes the variance in two passes: the mean, then the mean of the squared distances from it. */
static tensor *variance(const gantry__compose_t *c) {
    tensor *x = gantry__compose_widen(c, c->inputs[0]);
    tensor *apart = gantry_sub(c->scope, x, compose_reduce_one(c, GANTRY__OP_ID_Mean, x, true));
    tensor *squares = gantry_square(c->scope, gantry_tensor_donate(c->scope, apart));
    return compose_reduce_one(c, GANTRY__OP_ID_Mean, gantry_tensor_donate(c->scope, squares),
                              keeps_dims(c));
}

void gantry__compose_var(const gantry__compose_t *c) { compose_reduce_finish(c, variance(c)); }

void gantry__compose_std(const gantry__compose_t *c) {
    compose_reduce_finish(c, gantry_sqrt(c->scope, variance(c)));
}
