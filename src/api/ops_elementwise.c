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
#define DEFINE_VARIANT(name, function)

#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    DEFINE_##form(name, function)
#include "ops/elementwise.def"
