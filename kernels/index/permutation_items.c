/* SPDX-License-Identifier: Apache-2.0 */
/* InvertPermutation: three launches of items, and the message for an element that is no index or is
 * there twice. */
#include <inttypes.h>
#include <stdio.h>

#include "kernels/common/item_kernel.h"
#include "kernels/index/permutation.cl"
#include "kernels/index/permutation_items.h"

GANTRY_K_ITEM_TEXTS(permutation, GANTRY_PERMUTATION_ITEMS, gantry__text_permutation);

static void permutation_explain(const gantry_op_call_t *call, int64_t position, char *text,
                                size_t text_bytes) {
    const int64_t value = gantry__k_host_int(call->inputs[0], position),
                  count = call->outputs[0]->element_count;

    if (value >= 0 && value < count) {
        (void)snprintf(text, text_bytes, "x[%" PRId64 "] = %" PRId64 " is duplicated in the input.",
                       position, value);
    } else {
        (void)snprintf(text, text_bytes,
                       "x[%" PRId64 "] = %" PRId64 " is not between 0 and %" PRId64, position,
                       value, count);
    }
}

static int32_t compute_invert(gantry_op_call_t *call) {
    const gantry_arg_t *x = call->inputs[0], *y = call->outputs[0];
    gantry__permutation_t permutation;
    gantry__k_item_launch_t launch = {.item = ITEM_unset,
                                      .t = x->dtype,
                                      .count = y->element_count,
                                      .parameters = &permutation,
                                      .parameter_bytes = sizeof permutation,
                                      .spans = {y->span},
                                      .span_count = 1};
    GANTRY__TRY(gantry__k_run_items(call, &launch));
    launch.spans[0] = x->span;
    launch.spans[1] = y->span;
    launch.span_count = 2;
    launch.item = ITEM_invert;
    GANTRY__TRY(gantry__k_run_items(call, &launch));
    launch.item = ITEM_check;
    launch.can_fail = true;
    launch.explain = permutation_explain;
    launch.words =
        gantry__k_words_of_value("x@ is not between 0 and #, or is duplicated in the input.",
                                 "x@ = $ is not between 0 and #", call, 0, y->element_count);
    launch.words.inside_text = "x@ = $ is duplicated in the input.";
    launch.words.value_end = y->element_count;
    return gantry__k_run_items(call, &launch);
}

static const gantry_type_constraint_t invert_types[] = {{"T", GANTRY_DTYPES_INTS}};

GANTRY_K_ITEM_KERNEL(invert, permutation, "InvertPermutation", invert_types, compute_invert);

#define OPS(OP) OP(invert)
GANTRY_K_ITEM_PACK(permutation, OPS);
