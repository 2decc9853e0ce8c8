/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of the elementwise family, defined once for the CPU backend and for devices.
 *
 * A file that defines the ops of ops/elementwise.def must have functions <side>_compute_unary,
 * _choice, _binary, _binary_choice and _value (GANTRY_K_SIDE), and ops[] with an element for each
 * row. Owner: macros and constant data. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_ELEMENTWISE_KERNELS_H
#define GANTRY_KERNELS_ELEMENTWISE_KERNELS_H

#include "kernels/common/kernel_definition.h"

/* The numbers of the lines of ops/elementwise.def. */
enum {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    GANTRY_K_ROW_##name,
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
    GANTRY_K_ROWS
};

/* Whether a function costs several dozen instructions. */
#define GANTRY_K_COSTLY_NONE 0
#define GANTRY_K_COSTLY_ROUNDING 0
#define GANTRY_K_COSTLY_BITS 0
#define GANTRY_K_COSTLY_ROOT 1
#define GANTRY_K_COSTLY_MODULO 1
#define GANTRY_K_COSTLY_FUNCTIONS 1
#define GANTRY_K_COSTLY_TRIGONOMETRY 1
#define GANTRY_K_COSTLY_HYPERBOLIC 1
#define GANTRY_K_COSTLY_SPECIAL 1
#define GANTRY_K_COSTLY_ERROR 1
#define GANTRY_K_COSTLY_ACTIVATION 1
#define GANTRY_K_COSTLY_GAMMA 1
#define GANTRY_K_COSTLY_POWER 1

#define GANTRY_K_COMPUTE_UNARY GANTRY_K_SIDE(compute_unary)
#define GANTRY_K_COMPUTE_ACTIVATION GANTRY_K_COMPUTE_UNARY
#define GANTRY_K_COMPUTE_CHOICE GANTRY_K_SIDE(compute_choice)
#define GANTRY_K_COMPUTE_VARIANT GANTRY_K_SIDE(compute_unary)
#define GANTRY_K_COMPUTE_BINARY GANTRY_K_SIDE(compute_binary)
#define GANTRY_K_COMPUTE_ANGLE GANTRY_K_COMPUTE_BINARY
#define GANTRY_K_COMPUTE_EQUALITY GANTRY_K_COMPUTE_BINARY
#define GANTRY_K_COMPUTE_VALUE GANTRY_K_SIDE(compute_value)
#define GANTRY_K_COMPUTE_PRECISION GANTRY_K_COMPUTE_VALUE
#define GANTRY_K_COMPUTE_UNARY_CHOICE GANTRY_K_COMPUTE_CHOICE
#define GANTRY_K_COMPUTE_BINARY_CHOICE GANTRY_K_SIDE(compute_binary_choice)
#define GANTRY_K_COMPUTE_BINARY_VARIANT GANTRY_K_COMPUTE_BINARY

/* The type constraint of each set, constraint_<SET>, which all rows of the set share. */
#define GANTRY_ELEMENT_TYPE(...)
#define GANTRY_TYPE_SET(set, text, members) \
    static const gantry_type_constraint_t constraint_##set[] = {{"T", GANTRY_MASK_##set}};
#include "ops/types.def"
#undef GANTRY_ELEMENT_TYPE
#undef GANTRY_TYPE_SET

/* The GANTRY_ELEMENTWISE that defines kernel_<name>. */
#define GANTRY_K_ELEMENTWISE_KERNEL(name, function, summary, form, types_, result, check, math, \
                                    expression)                                                 \
    static const gantry_kernel_def_t kernel_##name = GANTRY_K_DEFINITION(                       \
        #name, GANTRY_MASK_##types_ != GANTRY_MASK_BOOLS ? constraint_##types_ : NULL,          \
        GANTRY_MASK_##types_ != GANTRY_MASK_BOOLS, /* false for an op that takes only bool */   \
        NULL, 0, .flags = GANTRY_KERNEL_IN_PLACE, .compute = GANTRY_K_COMPUTE_##form,           \
        .data = &ops[GANTRY_K_ROW_##name]);

/* The GANTRY_ELEMENTWISE that lists pointers to them, but for variants, which are no ops. */
#define GANTRY_K_ELEMENTWISE_POINTER(name, function, summary, form, types, result, check, math, \
                                     expression)                                                \
    GANTRY_K_POINTER_##form(name)
#define GANTRY_K_POINTER_UNARY(name) &kernel_##name,
#define GANTRY_K_POINTER_ACTIVATION(name) &kernel_##name,
#define GANTRY_K_POINTER_CHOICE(name) &kernel_##name,
#define GANTRY_K_POINTER_BINARY(name) &kernel_##name,
#define GANTRY_K_POINTER_ANGLE(name) &kernel_##name,
#define GANTRY_K_POINTER_EQUALITY(name) &kernel_##name,
#define GANTRY_K_POINTER_VALUE(name) &kernel_##name,
#define GANTRY_K_POINTER_PRECISION(name) &kernel_##name,
#define GANTRY_K_POINTER_UNARY_CHOICE(name) &kernel_##name,
#define GANTRY_K_POINTER_BINARY_CHOICE(name) &kernel_##name,
#define GANTRY_K_POINTER_VARIANT(name)
#define GANTRY_K_POINTER_BINARY_VARIANT(name)

/* How many rows after a choice its variant is that the one or two attributes after T, the first
 * one, name: a type is that of T in place of uint8. A core of an older version has no such
 * attributes. */
static inline uint32_t gantry__k_variant(const gantry_op_call_t *call) {
    if (call->attr_count < 2) return 0;
    if (call->attrs[1]->kind == GANTRY_ATTR_TYPE) return call->attrs[1]->i != GANTRY_UINT8;
    return (uint32_t)call->attrs[1]->i |
           (call->attr_count > 2 ? (uint32_t)call->attrs[2]->i << 1 : 0);
}

/* The ops that are not an expression of one type, as a list of kernel_definition.h. */
#define GANTRY_K_ELEMENTWISE_OTHERS(X)                                               \
    X(cast, "Cast", compute_cast, gantry__k_cast_types, NULL, 0)                     \
    X(select, "Select", compute_select, gantry__k_any_type, NULL, 0)                 \
    X(fill, "Fill", compute_fill, gantry__k_any_type, gantry__k_fill_hosts, 1)       \
    X(zeros_like, "ZerosLike", compute_zeros_like, gantry__k_any_type, NULL, 0)      \
    X(ones_like, "OnesLike", compute_ones_like, gantry__k_any_type, NULL, 0)         \
    X(range, "Range", compute_range, gantry__k_range_type, gantry__k_range_hosts, 3) \
    X(lin_space, "LinSpace", compute_lin_space, gantry__k_floating_type,             \
      gantry__k_lin_space_hosts, 1)                                                  \
    X(add_n, "AddN", compute_add_n, gantry__k_numeric_type, NULL, 0)                 \
    X(bias_add, "BiasAdd", compute_bias_add, gantry__k_numeric_type, NULL, 0)

static const gantry_type_constraint_t gantry__k_cast_types[] = {{"SrcT", GANTRY_MASK_CONVERTED},
                                                                {"DstT", GANTRY_MASK_CONVERTED}};
static const gantry_type_constraint_t gantry__k_range_type[] = {{"Tidx", GANTRY_DTYPES_NUMERIC}};
static const char *const gantry__k_fill_hosts[] = {"dims"};
static const char *const gantry__k_range_hosts[] = {"start", "limit", "delta"};
static const char *const gantry__k_lin_space_hosts[] = {"num"};

#endif
