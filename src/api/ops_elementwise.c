/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of the ops that have a row in ops/elementwise.def. */
#include <gantry/ops_elementwise.h>

#include "run/call_op.h"

typedef const gantry_tensor_t tensor;

static tensor *ops_elementwise_two(gantry_scope_t *scope, gantry__op_id_t id, tensor *x,
                                   tensor *y) {
    tensor *inputs[] = {x, y};
    return gantry__call_op(scope, id, inputs, 2, NULL, 0, NULL);
}

#define DEFINE_UNARY(name, function)                                               \
    tensor *gantry_##function(gantry_scope_t *scope, tensor *x) {                  \
        return gantry__call_op(scope, GANTRY__OP_ID_##name, &x, 1, NULL, 0, NULL); \
    }
#define DEFINE_ACTIVATION DEFINE_UNARY
#define DEFINE_BINARY(name, function)                                        \
    tensor *gantry_##function(gantry_scope_t *scope, tensor *x, tensor *y) { \
        return ops_elementwise_two(scope, GANTRY__OP_ID_##name, x, y);       \
    }
#define DEFINE_EQUALITY DEFINE_BINARY
#define DEFINE_ANGLE(name, function)                                         \
    tensor *gantry_##function(gantry_scope_t *scope, tensor *y, tensor *x) { \
        return ops_elementwise_two(scope, GANTRY__OP_ID_##name, y, x);       \
    }
#define DEFINE_VALUE(name, function)                                                \
    tensor *gantry_##function(gantry_scope_t *scope, tensor *x, float alpha) {      \
        const gantry_attr_value_t attr = gantry__attr_float("alpha", alpha);        \
        return gantry__call_op(scope, GANTRY__OP_ID_##name, &x, 1, &attr, 1, NULL); \
    }
#define DEFINE_CHOICE(name, function)                                                   \
    tensor *gantry_##function(gantry_scope_t *scope, tensor *x, bool approximate) {     \
        const gantry_attr_value_t attr = gantry__attr_bool("approximate", approximate); \
        return gantry__call_op(scope, GANTRY__OP_ID_##name, &x, 1, &attr, 1, NULL);     \
    }
#define DEFINE_PRECISION(name, function)                                                        \
    tensor *gantry_##function(gantry_scope_t *scope, tensor *x, int32_t exponent_bits,          \
                              int32_t mantissa_bits) {                                          \
        const gantry_attr_value_t attrs[] = {gantry__attr_int("exponent_bits", exponent_bits),  \
                                             gantry__attr_int("mantissa_bits", mantissa_bits)}; \
        return gantry__call_op(scope, GANTRY__OP_ID_##name, &x, 1, attrs, 2, NULL);             \
    }
#define DEFINE_UNARY_CHOICE DEFINE_UNARY
#define DEFINE_BINARY_CHOICE DEFINE_BINARY
#define DEFINE_VARIANT(name, function)
#define DEFINE_BINARY_VARIANT DEFINE_VARIANT

#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    DEFINE_##form(name, function)
#include "ops/elementwise.def"
