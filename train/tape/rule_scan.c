/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of scans: scans in the other direction along the same axis. */
#include <math.h>

#include "train/tape/rule_help.h"

#include "ops/type_rows.h"

typedef const gantry_tensor_t tensor;

/* A scan of x along the recorded axis, in the other direction. */
static tensor *scan_back(gantry__rule_call_t *c, const char *op, tensor *x) {
    const bool is_reverse = gantry__rule_attr_int(c, "reverse") != 0;
    const gantry_attr_value_t attrs[] = {
        {.name = "exclusive", .kind = GANTRY_ATTR_BOOL, .i = gantry__rule_attr_int(c, "exclusive")},
        {.name = "reverse", .kind = GANTRY_ATTR_BOOL, .i = !is_reverse}};
    return gantry__rule_op(c, op, (tensor *[]){x, c->x[1]}, 2, attrs, 2);
}

static void rule_cumsum(gantry__rule_call_t *c) { c->dx[0] = scan_back(c, "Cumsum", c->dy[0]); }

/* Where x is 0 the gradient is 0, as TensorFlow's. */
static void rule_cumprod(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *weighted = gantry_mul(s, c->y[0], c->dy[0]);
    c->dx[0] = gantry_div_no_nan(s, scan_back(c, "Cumsum", weighted), c->x[0]);
}

/* The lowest finite number of a floating type. */
static tensor *lowest(gantry__rule_call_t *c, tensor *like) {
    const int32_t dtype = (int32_t)gantry_tensor_dtype(like);
    const int exponent_bits = gantry__type_exponent_bits(dtype);
    const int fraction_bits = 8 * (int)gantry__type_bytes(dtype) - 1 - exponent_bits;
    const double most = ldexp(2 - ldexp(1, -fraction_bits), (1 << (exponent_bits - 1)) - 1);
    return gantry__rule_scalar(c, like, -most);
}

/* exp(scan(log(part) - y) + x) for a part of dy that is positive, or 0. */
static tensor *rule_scan_share(gantry__rule_call_t *c, tensor *part) {
    gantry_scope_t *s = c->scope;
    tensor *is_positive = gantry_greater(s, part, gantry__rule_scalar(c, part, 0));
    tensor *logs = gantry_select(s, is_positive, gantry_log(s, part), lowest(c, part));
    tensor *sums = scan_back(c, "CumulativeLogsumexp", gantry_sub(s, logs, c->y[0]));
    return gantry_exp(s, gantry_add(s, sums, c->x[0]));
}

/* By logarithms, which do not overflow: of the positive and of the negative part of dy. */
static void rule_cumulative_logsumexp(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *positive = rule_scan_share(c, c->dy[0]),
           *negative = rule_scan_share(c, gantry_neg(s, c->dy[0]));
    c->dx[0] = gantry_sub(s, positive, negative);
}

const gantry__rule_t gantry__rules_scan[] = {{"Cumprod", rule_cumprod},
                                             {"Cumsum", rule_cumsum},
                                             {"CumulativeLogsumexp", rule_cumulative_logsumexp},
                                             {NULL, NULL}};
