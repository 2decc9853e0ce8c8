/* SPDX-License-Identifier: Apache-2.0 */
/* SparseCrossEntropyRows: one launch of items, and the message for a label that is out of range. */
#include <inttypes.h>
#include <stdio.h>

#include "kernels/common/item_kernel.h"
#include "kernels/loss/loss.cl"
#include "kernels/loss/loss_items.h"

GANTRY_K_ITEM_TEXTS(loss, GANTRY_LOSS_ITEMS, gantry__text_loss);

#define LABEL_WORDS "labels@: Received a label value which is outside the valid range of [0, #)."
#define LABEL_VALUE_WORDS \
    "labels@: Received a label value of $ which is outside the valid range of [0, #)."

static void loss_explain(const gantry_op_call_t *call, int64_t position, char *text,
                         size_t text_bytes) {
    (void)snprintf(text, text_bytes,
                   "labels[%" PRId64 "]: Received a label value of %" PRId64
                   " which is outside the valid range of [0, %" PRId64 ").",
                   position, gantry__k_host_int(call->inputs[2], position),
                   call->inputs[0]->dims[1]);
}

static int32_t compute_sparse(gantry_op_call_t *call) {
    const gantry_arg_t *const *in = call->inputs;
    gantry_arg_t *const *out = call->outputs;
    gantry__loss_t loss = {.classes = in[0]->dims[1]};
    gantry__k_item_launch_t launch = {
        .item = ITEM_sparse_loss,
        .t = in[0]->dtype,
        .i = in[2]->dtype,
        .count = in[0]->element_count,
        .can_fail = true,
        .words = gantry__k_words_of_value(LABEL_WORDS, LABEL_VALUE_WORDS, call, 2, loss.classes),
        .explain = loss_explain,
        .parameters = &loss,
        .parameter_bytes = sizeof loss,
        .spans = {in[0]->span, in[1]->span, in[2]->span, out[0]->span, out[1]->span},
        .span_count = 5};
    return gantry__k_run_items(call, &launch);
}

static const gantry_type_constraint_t sparse_types[] = {{"T", GANTRY_DTYPES_FLOATS},
                                                        {"Tlabels", GANTRY_DTYPES_INTS}};

GANTRY_K_ITEM_KERNEL(sparse, loss, "SparseCrossEntropyRows", sparse_types, compute_sparse);

#define OPS(OP) OP(sparse)
GANTRY_K_ITEM_PACK(loss, OPS);
