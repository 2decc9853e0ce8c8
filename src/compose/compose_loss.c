/* SPDX-License-Identifier: Apache-2.0 */
/* Cross entropies of logits and their gradients. float16 and bfloat16 are computed in float32 and
 * rounded once. */
#include <gantry/ops.h>

#include "run/call_op.h"
#include "compose/compose.h"
#include "run/tensor_state.h"

typedef const gantry_tensor_t tensor;

static void compose_loss_finish(const gantry__compose_t *c, tensor *loss, tensor *backprop) {
    c->outputs[0] = gantry__compose_narrow(c, loss, c->call->out_dtypes[0]);
    c->outputs[1] = gantry__compose_narrow(c, backprop, c->call->out_dtypes[1]);
}

/* loss = sum(labels * -log_softmax(features)), backprop = softmax(features) - labels. */
void gantry__compose_softmax_cross_entropy(const gantry__compose_t *c) {
    gantry_scope_t *s = c->scope;
    const gantry_shape_t *shape = &c->call->out_shapes[1];
    tensor *labels = gantry__compose_widen(c, c->inputs[1]);
    tensor *features =
        /* the same tensor if it has that shape */
        gantry_broadcast_to(s, gantry__compose_widen(c, c->inputs[0]), *shape);
    tensor *terms = gantry_neg(s, gantry_tensor_donate(s, gantry_log_softmax(s, features)));
    terms = gantry_mul(s, labels, gantry_tensor_donate(s, terms));
    const int32_t rows = 1;
    compose_loss_finish(
        c,
        gantry_sum(s, gantry_tensor_donate(s, terms),
                   &(gantry_reduce_options_t){.axes = &rows, .axis_count = 1}),
        gantry_sub(s, gantry_tensor_donate(s, gantry_softmax(s, features)), labels));
}

void gantry__compose_sparse_cross_entropy(const gantry__compose_t *c) {
    tensor *features = gantry__compose_widen(c, c->inputs[0]);
    tensor *inputs[] = {gantry_log_softmax(c->scope, features), gantry_softmax(c->scope, features),
                        c->inputs[1]};
    tensor *results[2] = {NULL, NULL};
    size_t count = 2;
    (void)gantry__call_op_into(c->scope, GANTRY__OP_ID_SparseCrossEntropyRows, inputs, 3, NULL, 0,
                               NULL, results, &count);
    compose_loss_finish(c, results[0], results[1]);
}
