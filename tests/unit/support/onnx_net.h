/* SPDX-License-Identifier: Apache-2.0 */
/* A net of several kinds of nodes, for tests of faults and threads. Header only. */
#ifndef TESTS_ONNX_NET_H
#define TESTS_ONNX_NET_H

#include "onnx_fixture.h"

static onnx_wire_t net;

/* y = relu(conv(x, w) + b) reshaped by a size of x, with weights that a node makes; w [8,4,3,3]. */
static inline int make_net(void **state) {
    onnx_wire_t graph = {0}, attrs = {0};
    float w[8 * 4 * 9], b[8];
    for (int i = 0; i < 8 * 4 * 9; ++i) w[i] = (float)(i % 5 - 2);
    for (int i = 0; i < 8; ++i) b[i] = (float)i;
    onnx_put_attr_ints(&attrs, "pads", (const int64_t[]){1, 1, 1, 1}, 4);
    onnx_put_node(&graph, "Neg", "w", "minus", NULL);
    onnx_put_node(&graph, "Conv", "x minus b", "conv", &attrs);
    onnx_put_node(&graph, "Relu", "conv", "relu", NULL);
    onnx_put_node(&graph, "Shape", "x", "shape", NULL);
    onnx_put_node(&graph, "Gather", "shape first", "batch", NULL);
    onnx_put_node(&graph, "Concat", "batch rest", "sizes",
                  (onnx_put_attr_int(&attrs, "axis", 0), &attrs));
    onnx_put_node(&graph, "Reshape", "relu sizes", "y", NULL);
    onnx_put_floats(&graph, "w", (const int64_t[]){8, 4, 3, 3}, 4, w);
    onnx_put_floats(&graph, "b", (const int64_t[]){8}, 1, b);
    onnx_put_ints(&graph, "first", (const int64_t[]){0}, 1);
    onnx_put_ints(&graph, "rest", (const int64_t[]){-1}, 1);
    onnx_put_value(&graph, ONNX_INPUT, "x", ONNX_FLOAT, "batch,4,h,w");
    onnx_put_value(&graph, ONNX_OUTPUT, "y", ONNX_FLOAT, "batch,?");
    net = onnx_model(&graph, 17);
    return onnx_open(state);
}

static inline int free_net(void **state) {
    free(net.data);
    return onnx_close(state);
}

static inline gantry_status_t run_net(gantry_onnx_model_t *model, int64_t rows, float *out_first) {
    float values[4 * 4 * 4 * 4] = {0};
    float result[4 * 8 * 4 * 4];
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i)
        values[i] = (float)(i % 7) * (float)rows;
    gantry_scope_t *scope = gantry_scope_begin(onnx_runtime, "/CPU:0");
    if (!scope) return GANTRY_RESOURCE_EXHAUSTED;
    tensor *x = onnx_floats(scope, GANTRY_SHAPE(rows, 4, 4, 4), values), *y = NULL;
    gantry_status_t status = gantry_onnx_model_run(model, scope, &x, 1, &y, 1);
    if (status == GANTRY_OK) status = gantry_tensor_read(y, result, gantry_tensor_bytes(y));
    *out_first = status == GANTRY_OK ? result[7] : 0;
    const gantry_status_t ended = gantry_scope_end(scope);
    return status == GANTRY_OK ? ended : status;
}

#endif
