/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of the calls of libgantry_onnx that null_calls.awk makes, and those of
 * null_calls.h: a model of y = x + x, x float32 [2], made anew for each call. */
#ifndef GANTRY_TEST_ONNX_NULL_CALLS_H
#define GANTRY_TEST_ONNX_NULL_CALLS_H

#include <gantry_onnx/onnx.h>

#include "null_calls.h"
#include "onnx_wire.h"

/* The bytes of the model, which live as long as the process. */
static inline const onnx_wire_t *given_wire(void) {
    static onnx_wire_t wire;
    if (wire.data) return &wire;
    onnx_wire_t graph = {0};
    onnx_put_node(&graph, "Add", "x x", "y", NULL);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "2");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "2");
    wire = onnx_model(&graph, 17);
    return &wire;
}

/* A model that has run, so that it has a function and an explanation. */
static inline gantry_onnx_model_t *given_onnx_model(null_call_t *c) {
    gantry_onnx_model_t *model = NULL;
    const gantry_tensor_t *x = given_tensor(c), *y = NULL;
    if (gantry_onnx_model_load_bytes(given_runtime(c), "given.onnx", given_wire()->data,
                                     given_wire()->size, NULL, &model) != GANTRY_OK ||
        gantry_onnx_model_run(model, given_scope(c), &x, 1, &y, 1) != GANTRY_OK)
        abort();
    return model;
}

#define ONNX_GIVEN(type, mangled, expression)                                   \
    static inline type given_##mangled(null_call_t *c, const char *given_for) { \
        (void)c, (void)given_for;                                               \
        return expression;                                                      \
    }
#define ONNX_STRUCT(type)                                                         \
    static inline type *given_##type##_p(null_call_t *c, const char *given_for) { \
        static type all;                                                          \
        (void)c, (void)given_for;                                                 \
        all.struct_size = sizeof all;                                             \
        return &all;                                                              \
    }

ONNX_GIVEN(gantry_onnx_model_t *, gantry_onnx_model_t_p, given_onnx_model(c))
ONNX_GIVEN(const gantry_onnx_model_t *, const_gantry_onnx_model_t_p, given_onnx_model(c))
ONNX_GIVEN(gantry_onnx_model_t **, gantry_onnx_model_t_p_p,
           (gantry_onnx_model_t **)given_pointers())
ONNX_GIVEN(const gantry_onnx_options_t *, const_gantry_onnx_options_t_p, NULL)
ONNX_STRUCT(gantry_onnx_value_t)
ONNX_STRUCT(gantry_onnx_info_t)
ONNX_STRUCT(gantry_onnx_op_t)

static inline gantry_onnx_opset_t *given_gantry_onnx_opset_t_p(null_call_t *c, const char *name) {
    static gantry_onnx_opset_t opset;
    (void)c, (void)name;
    return &opset;
}

/* One input, one output; the bytes of the model. */
static inline size_t given_onnx_size(const null_call_t *c, const char *name) {
    if (strcmp(name, "input_count") == 0 || strcmp(name, "output_count") == 0) return 1;
    if (strcmp(name, "shape_count") == 0) return 1;
    if (strcmp(name, "size") == 0) return given_wire()->size;
    (void)c;
    return given_size(name);
}

#undef given_size_t
#define given_size_t(c, name) given_onnx_size(c, name)

#endif
