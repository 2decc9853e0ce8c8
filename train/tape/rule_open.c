/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of composed ops where sizes depend on data.
 *
 * Elsewhere a tape observes the parts of these ops. In a trace such an op is one node, whose parts
 * run when it does, so the tape observes the whole op. Its gradient is another op, or that of its
 * parts, which are recorded here for that: the op itself checks its inputs. */
#include <string.h>

#include <gantry/observe.h>

#include "train/tape/rule_help.h"
#include "train/tape/tape_state.h"

typedef const gantry_tensor_t tensor;

/* ---- by parts ---- */

/* Watches copies of the inputs, because one tensor may be in several places. */
static void watch_inputs(gantry__rule_call_t *c, gantry_tape_t *tape, tensor **inputs,
                         gantry_source_t *sources) {
    for (size_t i = 0; i < c->record->input_count; ++i) {
        inputs[i] = gantry_identity(c->scope, c->x[i]);
        sources[i] = (gantry_source_t){.tensor = inputs[i]};
        if (c->wants[i]) (void)gantry_tape_watch(tape, inputs[i]);
    }
}

static void rule_by_parts(gantry__rule_call_t *c) {
    tensor *inputs[GANTRY_MAX_OP_INPUTS], *outputs[GANTRY_MAX_OP_OUTPUTS];
    tensor *found[GANTRY_MAX_OP_INPUTS];
    gantry_source_t sources[GANTRY_MAX_OP_INPUTS];
    const size_t count = c->record->input_count;
    size_t output_count = GANTRY_MAX_OP_OUTPUTS;
    gantry_tape_t *tape = gantry_tape_begin(c->scope, NULL);
    if (!tape) return;
    watch_inputs(c, tape, inputs, sources);
    if (gantry_op_call_parts(c->scope, c->record->op, inputs, count, c->record->attrs,
                             c->record->attr_count, outputs, &output_count) == GANTRY_OK &&
        gantry__tape_gradients(tape, outputs, c->dy, output_count, sources, count, found) ==
            GANTRY_OK) {
        for (size_t i = 0; i < count; ++i) c->dx[i] = c->wants[i] ? found[i] : NULL;
    }
    gantry_tape_end(tape);
}

/* ---- by another op ---- */

/* The bias's gradient is a sum over all dimensions but the channels'. */
static void rule_bias_add_grad(gantry__rule_call_t *c) {
    const gantry_shape_t *x = gantry_tensor_shape(c->x[0]);
    const bool is_first = strcmp(gantry__rule_attr(c, "data_format")->s, "NCHW") == 0;
    gantry_shape_t column = {.rank = is_first ? x->rank - 1 : 1};
    for (int32_t d = 0; d < column.rank; ++d) column.dims[d] = d == 0 ? -1 : 1;
    c->dx[0] = gantry__rule_broadcast_like(c, gantry_reshape(c->scope, c->dy[0], column), c->x[0]);
}

/* Linear in x: the same elements are left out. */
static void rule_dropout(gantry__rule_call_t *c) {
    tensor *inputs[] = {c->dy[0], c->x[1]};
    if (c->wants[0])
        c->dx[0] =
            gantry__rule_op(c, "Dropout", inputs, 2, c->record->attrs, c->record->attr_count);
}

static void rule_mirror_pad_grad(gantry__rule_call_t *c) {
    static const char *const mode[] = {"mode"};
    c->dx[0] = gantry__rule_again(c, "MirrorPad", (tensor *[4]){c->dy[0], c->x[1]}, mode, 1);
}

static void rule_strided_slice_grad(gantry__rule_call_t *c) {
    static const char *const masks[] = {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask",
                                        "shrink_axis_mask"};
    tensor *inputs[4] = {c->dy[0], c->x[1], c->x[2], c->x[3]};
    if (c->wants[4])
        c->dx[4] = gantry__rule_again(c, "StridedSlice", inputs, masks, GANTRY__RULE_COUNT(masks));
}

/* The rows go back to where the same shuffle of their numbers says. */
static void rule_stateless_shuffle(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *rows = gantry__rule_size(c, c->x[0], 0);
    tensor *numbers = gantry_range(s, gantry_scalar_i32(s, 0), rows, gantry_scalar_i32(s, 1));
    tensor *order = gantry__rule_again(c, "StatelessShuffle",
                                       (tensor *[4]){numbers, c->x[1], c->x[2], c->x[3]}, NULL, 0);
    tensor *inputs[] = {c->dy[0], order, rows};
    c->dx[0] = gantry__rule_op(c, "UnsortedSegmentSum", inputs, 3, NULL, 0);
}

const gantry__rule_t gantry__rules_open[] = {{"AvgPool1D", rule_by_parts},
                                             {"BatchNorm", rule_by_parts},
                                             {"BiasAddGrad", rule_bias_add_grad},
                                             {"Conv1D", rule_by_parts},
                                             {"Dropout", rule_dropout},
                                             {"Einsum", rule_by_parts},
                                             {"EluGrad", rule_by_parts},
                                             {"FusedBatchNormGrad", rule_by_parts},
                                             {"MaxPool1D", rule_by_parts},
                                             {"MirrorPadGrad", rule_mirror_pad_grad},
                                             {"ReciprocalGrad", rule_by_parts},
                                             {"RsqrtGrad", rule_by_parts},
                                             {"SeluGrad", rule_by_parts},
                                             {"SigmoidGrad", rule_by_parts},
                                             {"SoftplusGrad", rule_by_parts},
                                             {"SoftsignGrad", rule_by_parts},
                                             {"SortByKeys", rule_by_parts},
                                             {"SqrtGrad", rule_by_parts},
                                             {"StatelessShuffle", rule_stateless_shuffle},
                                             {"StridedSliceGrad", rule_strided_slice_grad},
                                             {"TanhGrad", rule_by_parts},
                                             {NULL, NULL}};
