/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime, models that tests write (onnx_wire.h), and their floats. Header only. */
#ifndef TESTS_ONNX_FIXTURE_H
#define TESTS_ONNX_FIXTURE_H

#include <gantry/gantry.h>
#include <gantry_onnx/onnx.h>

#include "onnx_wire.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

static gantry_runtime_t *onnx_runtime;

static inline int onnx_open(void **state) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backend_path = GANTRY_TEST_MODULES "/../gantry",
                                              .cpu_threads = 2};
    (void)state;
    return gantry_runtime_create(&options, &onnx_runtime) != GANTRY_OK;
}

static inline int onnx_close(void **state) {
    (void)state;
    gantry_runtime_release(onnx_runtime);
    return 0;
}

/* Loads a model and frees its graph; the bytes live until onnx_end. */
typedef struct onnx_loaded_t {
    onnx_wire_t wire;
    gantry_onnx_model_t *model;
    gantry_scope_t *scope;
} onnx_loaded_t;

static inline onnx_loaded_t onnx_begin_with(onnx_wire_t *graph,
                                            const gantry_onnx_options_t *options,
                                            const char *device) {
    onnx_loaded_t loaded = {.wire = onnx_model(graph, 17)};
    if (gantry_onnx_model_load_bytes(onnx_runtime, "made.onnx", loaded.wire.data, loaded.wire.size,
                                     options, &loaded.model) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    loaded.scope = gantry_scope_begin(onnx_runtime, device);
    return loaded;
}

static inline onnx_loaded_t onnx_begin(onnx_wire_t *graph) {
    return onnx_begin_with(graph, NULL, "/CPU:0");
}

/* A scope that failed was read by the test. */
static inline void onnx_end(onnx_loaded_t *loaded) {
    (void)gantry_scope_end(loaded->scope);
    gantry_onnx_model_release(loaded->model);
    free(loaded->wire.data);
}

static inline tensor *onnx_of(gantry_scope_t *scope, gantry_dtype_t dtype, gantry_shape_t shape,
                              const void *values) {
    return gantry_constant(scope, dtype, shape, values,
                           (size_t)gantry_shape_elements(&shape) * gantry_dtype_size(dtype));
}

static inline tensor *onnx_floats(gantry_scope_t *scope, gantry_shape_t shape,
                                  const float *values) {
    return onnx_of(scope, GANTRY_FLOAT32, shape, values);
}

static inline void onnx_expect_floats(tensor *x, gantry_shape_t shape, const float *values) {
    float got[64];
    const size_t count = (size_t)gantry_shape_elements(&shape);
    assert_non_null(x);
    assert_true(count <= 64 && gantry_shape_equal(gantry_tensor_shape(x), &shape));
    if (gantry_tensor_read(x, got, count * sizeof *got) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (size_t i = 0; i < count; ++i) {
        if (got[i] != values[i]) fail_msg("%zu: %g, wanted %g", i, got[i], values[i]);
    }
}

/* Runs a model of these inputs; the first output. */
static inline tensor *onnx_run(onnx_loaded_t *loaded, tensor *const *inputs, size_t count) {
    tensor *y = NULL;
    if (gantry_onnx_model_run(loaded->model, loaded->scope, inputs, count, &y, 1) != GANTRY_OK)
        fail_msg("%s", gantry_scope_message(loaded->scope));
    return y;
}

/* The run fails with this status, and each of the texts is in its message; the scope is clear
 * then. */
static inline void onnx_expect_failure(onnx_loaded_t *loaded, tensor *const *inputs, size_t count,
                                       gantry_status_t status, const char *text, const char *more) {
    tensor *y = NULL;
    const gantry_status_t got =
        gantry_onnx_model_run(loaded->model, loaded->scope, inputs, count, &y, 1);
    const char *message = gantry_scope_message(loaded->scope);
    if (got != status || !strstr(message, text) || !strstr(message, more))
        fail_msg("%s: %s; wanted '%s' and '%s'", gantry_status_name(got), message, text, more);
    assert_null(y);
    gantry_scope_clear(loaded->scope);
}

#endif
