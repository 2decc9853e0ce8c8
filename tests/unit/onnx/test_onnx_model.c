/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A model of an ONNX file runs with the values that its nodes have one by one.
 * Promise: Shape arithmetic is computed while a model is traced, and each combination of sizes is
 * traced once.
 * Promise: Named dimensions have one size in all inputs of a run, and a wrong input names itself,
 * its value and what is accepted. */
#define _GNU_SOURCE

#include "test.h"

#include <gantry/gantry.h>
#include <gantry_onnx/onnx.h>

#include "onnx_wire.h"

typedef const gantry_tensor_t tensor;

static gantry_runtime_t *runtime;

static int open_runtime(void **state) {
    (void)state;
    return gantry_runtime_create(NULL, &runtime) != GANTRY_OK;
}

static int close_runtime(void **state) {
    (void)state;
    gantry_runtime_release(runtime);
    return 0;
}

static gantry_onnx_model_t *load(const onnx_wire_t *wire) {
    gantry_onnx_model_t *model = NULL;
    if (gantry_onnx_model_load_bytes(runtime, "made.onnx", wire->data, wire->size, NULL, &model) !=
        GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return model;
}

static tensor *floats(gantry_scope_t *scope, gantry_shape_t shape, const float *values) {
    return gantry_constant(scope, GANTRY_FLOAT32, shape, values,
                           (size_t)gantry_shape_elements(&shape) * sizeof *values);
}

static void expect_floats(tensor *x, const float *values, size_t count) {
    float got[64];
    assert_non_null(x);
    assert_int_equal(gantry_tensor_elements(x), count);
    if (gantry_tensor_read(x, got, count * sizeof *got) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (size_t i = 0; i < count; ++i) {
        if (got[i] != values[i]) fail_msg("%zu: %g, wanted %g", i, got[i], values[i]);
    }
}

/* relu(x + b), x [batch,2]. */
static onnx_wire_t add_and_relu(void) {
    onnx_wire_t graph = {0};
    onnx_put_node(&graph, "Add", "x b", "sum", NULL);
    onnx_put_node(&graph, "Relu", "sum", "y", NULL);
    onnx_put_floats(&graph, "b", (const int64_t[]){2}, 1, (const float[]){1, -2});
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "batch,2");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "batch,2");
    return onnx_model(&graph, 17);
}

TEST(a_model_computes_its_nodes_in_order) {
    onnx_wire_t wire = add_and_relu();
    gantry_onnx_model_t *model = load(&wire);
    for (int64_t rows = 1; rows <= 3; ++rows) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
        tensor *x = floats(scope, GANTRY_SHAPE(rows, 2), (const float[]){1, 1, 2, 3, -4, 5});
        tensor *y = NULL;
        if (gantry_onnx_model_run(model, scope, &x, 1, &y, 1) != GANTRY_OK)
            fail_msg("%s", gantry_scope_message(scope));
        expect_floats(y, (const float[]){2, 0, 3, 1, 0, 3}, (size_t)(2 * rows));
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
    gantry_onnx_model_release(model);
    free(wire.data);
}

int main(void) { return test_main_with(open_runtime, close_runtime, NULL, NULL); }
