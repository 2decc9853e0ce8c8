/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of reductions over segments. What was reduced goes back to each slice of the data by
 * its id; of unsorted segments a negative id names none. */
#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

static bool is_unsorted(const gantry__rule_call_t *c) { return c->record->input_count == 3; }

/* ---- by ids ---- */

/* Ids, of unsorted segments with 0 in place of negative ones. */
static tensor *ids_of(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    return is_unsorted(c) ? gantry_maximum(s, c->x[1], gantry_zeros_like(s, c->x[1])) : c->x[1];
}

/* bool: whether the id of a slice names a segment; NULL: all do. It broadcasts to the data. */
static tensor *names_one(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    if (!is_unsorted(c)) return NULL;
    tensor *is_named = gantry_greater_equal(s, c->x[1], gantry_zeros_like(s, c->x[1]));
    const int32_t missing = gantry_tensor_shape(c->x[0])->rank - gantry_tensor_shape(c->x[1])->rank;
    for (int32_t i = 0; i < missing; ++i) is_named = gantry_expand_dims(s, is_named, -1);
    return is_named;
}

/* What belongs to a segment, for each slice of the data; 0 for a slice of none. */
static tensor *rule_segment_spread(gantry__rule_call_t *c, tensor *of_segments) {
    gantry_scope_t *s = c->scope;
    tensor *spread = gantry_gather(s, of_segments, ids_of(c), 0), *is_named = names_one(c);
    if (!is_named || !spread) return spread;
    return gantry_select(s, is_named, spread, gantry__rule_scalar(c, spread, 0));
}

/* The sum of numbers that belong to slices, for each segment. */
static tensor *sum_segments(gantry__rule_call_t *c, tensor *of_slices) {
    if (!is_unsorted(c)) return gantry_segment_sum(c->scope, of_slices, c->x[1]);
    return gantry__rule_op(c, "UnsortedSegmentSum", (tensor *[]){of_slices, c->x[1], c->x[2]}, 3,
                           NULL, 0);
}

static tensor *multiply_segments(gantry__rule_call_t *c, tensor *of_slices) {
    if (!is_unsorted(c)) return gantry_segment_prod(c->scope, of_slices, c->x[1]);
    return gantry__rule_op(c, "UnsortedSegmentProd", (tensor *[]){of_slices, c->x[1], c->x[2]}, 3,
                           NULL, 0);
}

/* ---- the rules ---- */

static void rule_segment_sum(gantry__rule_call_t *c) {
    c->dx[0] = rule_segment_spread(c, c->dy[0]);
}

/* How many slices each segment has, at least 1; it broadcasts to what was reduced. */
static tensor *count_slices(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *ones = gantry_cast(s, gantry_ones_like(s, c->x[1]), gantry_tensor_dtype(c->x[0]));
    tensor *count = gantry_maximum(s, sum_segments(c, ones), gantry__rule_scalar(c, c->x[0], 1));
    for (int32_t d = 1; d < gantry_tensor_shape(c->y[0])->rank; ++d)
        count = gantry_expand_dims(s, count, -1);
    return count;
}

static void rule_segment_mean(gantry__rule_call_t *c) {
    c->dx[0] = rule_segment_spread(c, gantry_div(c->scope, c->dy[0], count_slices(c)));
}

/* Equal slices share the gradient. */
static void rule_segment_extreme(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *is_named = names_one(c);
    tensor *is_chosen = gantry_equal(s, c->x[0], rule_segment_spread(c, c->y[0]));
    if (is_named && is_chosen) is_chosen = gantry_logical_and(s, is_chosen, is_named);
    tensor *count = sum_segments(c, gantry_cast(s, is_chosen, gantry_tensor_dtype(c->x[0])));
    tensor *shared = rule_segment_spread(c, gantry_div(s, c->dy[0], count));
    c->dx[0] = gantry_select(s, is_chosen, shared, gantry__rule_scalar(c, c->x[0], 0));
}

/* The product of the other slices. It is the product over the slice, unless that is 0: then it is
 * the product of those that are not 0, or 0 where two are. */
static void rule_segment_prod(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    const gantry_dtype_t dtype = gantry_tensor_dtype(c->x[0]);
    tensor *zero = gantry__rule_scalar(c, c->x[0], 0), *one = gantry__rule_scalar(c, c->x[0], 1);
    tensor *is_zero = gantry_equal(s, c->x[0], zero);
    tensor *zeros = sum_segments(c, gantry_cast(s, is_zero, dtype));
    tensor *dy = gantry_select(s, gantry_greater(s, zeros, one), zero, c->dy[0]);
    tensor *safe = gantry_select(s, is_zero, one, c->x[0]);
    tensor *of_others =
        gantry_select(s, is_zero, rule_segment_spread(c, multiply_segments(c, safe)),
                      gantry_div(s, rule_segment_spread(c, c->y[0]), safe));
    c->dx[0] = gantry_mul(s, rule_segment_spread(c, dy), of_others);
}

const gantry__rule_t gantry__rules_segment[] = {{"SegmentMax", rule_segment_extreme},
                                                {"SegmentMean", rule_segment_mean},
                                                {"SegmentMin", rule_segment_extreme},
                                                {"SegmentProd", rule_segment_prod},
                                                {"SegmentSum", rule_segment_sum},
                                                {"UnsortedSegmentMax", rule_segment_extreme},
                                                {"UnsortedSegmentMean", rule_segment_mean},
                                                {"UnsortedSegmentMin", rule_segment_extreme},
                                                {"UnsortedSegmentProd", rule_segment_prod},
                                                {"UnsortedSegmentSum", rule_segment_sum},
                                                {NULL, NULL}};
