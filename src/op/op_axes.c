/* SPDX-License-Identifier: Apache-2.0 */
#include "op/op_axes.h"

#define AXES_ROW(name, kind) [GANTRY__OP_ID_##name] = {GANTRY__AXES_##kind, 0, 0, 0},
#define AXES_HOST_ROW(name, kind, first, count, host) \
    [GANTRY__OP_ID_##name] = {GANTRY__AXES_##kind, first, count, GANTRY__AXES_##host},
#define AXES_OF_UNARY(name) AXES_ROW(name, ALIKE)
#define AXES_OF_ACTIVATION(name) AXES_ROW(name, ALIKE)
#define AXES_OF_BINARY(name) AXES_ROW(name, ALIKE)
#define AXES_OF_ANGLE(name) AXES_ROW(name, ALIKE)
#define AXES_OF_EQUALITY(name) AXES_ROW(name, ALIKE)
#define AXES_OF_VALUE(name) AXES_ROW(name, ALIKE)
#define AXES_OF_PRECISION(name) AXES_ROW(name, ALIKE)
#define AXES_OF_CHOICE(name) AXES_ROW(name, ALIKE)
#define AXES_OF_VARIANT(name)
#define AXES_OF_UNARY_CHOICE(name) AXES_ROW(name, ALIKE)
#define AXES_OF_BINARY_CHOICE(name) AXES_ROW(name, ALIKE)
#define AXES_OF_BINARY_VARIANT(name)
#define AXES_OF_AXES(name) AXES_HOST_ROW(name, REDUCE, 1, 1, NAMES)
#define AXES_OF_WHOLE(name)

static const gantry__axes_op_t axes_of_ops[GANTRY__OP_COUNT] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    AXES_OF_##form(name)
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
#define GANTRY_REDUCTION(name, function, summary, form, types, tree, finish, empty) \
    AXES_OF_##form(name)
#include "ops/reduce.def"
#undef GANTRY_REDUCTION
#include "op/axes.def"
};

gantry__axes_op_t gantry__op_axes(const gantry__op_def_t *op) { return axes_of_ops[op->id]; }
