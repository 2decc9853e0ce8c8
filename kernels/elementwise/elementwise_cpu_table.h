/* SPDX-License-Identifier: Apache-2.0 */
/* The table of the loops of elementwise_cpu_loops.h for one type: an element for each row of
 * ops/elementwise.def. This file has no guard, because each_type.h includes it once per type, with
 * GANTRY_T defined. It must come after the loops of that type, and after the macros that replace a
 * loop. With GANTRY_DENSE_ONLY an element is the dense loop. Owner: constant data. Threads:
 * thread-safe. */
#define LOOP_PASTE_(name, type, form) name##_##type##_##form
#define LOOP_PASTE(name, type, form) LOOP_PASTE_(name, type, form)
#define LOOP(name, form) LOOP_PASTE(name, GANTRY_T, form)

/* An omitted element is NULL. */
#define IN_TABLE_0(...)
#define IN_TABLE_1(...) __VA_ARGS__

#ifdef GANTRY_DENSE_ONLY
static const gantry__cpu_loop_fn GANTRY_PASTE(dense_table_, GANTRY_T)[GANTRY_K_ROWS] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    GANTRY_IF_SET_HAS_T(types, IN_TABLE)([GANTRY_K_ROW_##name] = LOOP(name, dense), )
#else
#define FORMS_UNARY(name) \
    { LOOP(name, dense), NULL, NULL }
#define FORMS_ACTIVATION FORMS_UNARY
#define FORMS_CHOICE FORMS_UNARY
#define FORMS_VARIANT FORMS_UNARY
#define FORMS_BINARY(name) \
    { LOOP(name, dense), LOOP(name, y_scalar), LOOP(name, x_scalar) }
#define FORMS_ANGLE FORMS_BINARY
#define FORMS_EQUALITY FORMS_BINARY
#define FORMS_VALUE FORMS_BINARY
#define FORMS_PRECISION FORMS_BINARY
#define FORMS_UNARY_CHOICE FORMS_UNARY
#define FORMS_BINARY_CHOICE FORMS_BINARY
#define FORMS_BINARY_VARIANT FORMS_BINARY
static const gantry__cpu_loops_t GANTRY_PASTE(table_, GANTRY_T)[GANTRY_K_ROWS] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    GANTRY_IF_SET_HAS_T(types, IN_TABLE)([GANTRY_K_ROW_##name] = FORMS_##form(name), )
#endif
#include "ops/elementwise.def"
};

#undef GANTRY_ELEMENTWISE
