/* SPDX-License-Identifier: Apache-2.0 */
/* Calls with the worst inputs for a GPU: all elements in one segment, one column, or one row. The
 * first argument picks the call; the device is the first GPU. Exit code 0: the result was right. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>

#define SEGMENT_ROWS ((2 << 18) + 4321) /* two ranges of kernels/index/segment_items.c, and more */
#define LENGTH 100000

static const gantry_tensor_t *make(gantry_scope_t *scope, int64_t rows, int64_t columns,
                                   bool are_ones) {
    size_t count = (size_t)(rows * columns);
    float *values = malloc(count * sizeof *values);
    if (!values) return NULL;
    for (size_t i = 0; i < count; ++i) values[i] = are_ones ? 1 : (float)(i * 7919 % 100003);
    const gantry_tensor_t *tensor = gantry_constant(
        scope, GANTRY_FLOAT32, GANTRY_SHAPE(rows, columns), values, count * sizeof *values);
    free(values);
    return tensor;
}

static const gantry_tensor_t *zeros(gantry_scope_t *scope, int64_t count) {
    int32_t *ids = calloc((size_t)count, sizeof *ids);
    if (!ids) return NULL;
    const gantry_tensor_t *tensor =
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(count), ids, (size_t)count * sizeof *ids);
    free(ids);
    return tensor;
}

static const gantry_tensor_t *call_segment(gantry_scope_t *scope) {
    return gantry_segment_sum(scope, make(scope, SEGMENT_ROWS, 1, true),
                              zeros(scope, SEGMENT_ROWS));
}

static const gantry_tensor_t *call_cumsum(gantry_scope_t *scope) {
    return gantry_cumsum(scope, make(scope, LENGTH, 1, true), 0, NULL);
}

static const gantry_tensor_t *call_in_top_k(gantry_scope_t *scope) {
    return gantry_in_top_k(scope, make(scope, 1, LENGTH, false), zeros(scope, 1), 5);
}

static const gantry_tensor_t *call_sum(gantry_scope_t *scope) {
    return gantry_sum(scope, make(scope, 1, LENGTH, true), NULL);
}

static const gantry_tensor_t *call_softmax(gantry_scope_t *scope) {
    return gantry_softmax(scope, make(scope, 1, LENGTH, true));
}

/* The expected first element when all inputs are ones; -1: not checked. */
static const struct {
    const char *name;
    const gantry_tensor_t *(*call)(gantry_scope_t *scope);
    float first;
} calls[] = {
    {"segment", call_segment, SEGMENT_ROWS},  {"cumsum", call_cumsum, 1},
    {"in_top_k", call_in_top_k, -1},          {"sum", call_sum, LENGTH},
    {"softmax", call_softmax, 1.0f / LENGTH},
};

static int run(gantry_runtime_t *runtime, size_t which) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/GPU:0");
    const gantry_tensor_t *result = calls[which].call(scope);
    size_t bytes = result ? gantry_tensor_bytes(result) : 0;
    float *values = malloc(bytes + 1);
    bool is_right = values && result && gantry_tensor_read(result, values, bytes) == GANTRY_OK;
    if (!is_right)
        fprintf(stderr, "%s: %s\n", calls[which].name,
                result ? gantry_last_message() : gantry_scope_message(scope));
    if (is_right && calls[which].first >= 0 && values[0] != calls[which].first) {
        fprintf(stderr, "%s: %g, not %g\n", calls[which].name, (double)values[0],
                (double)calls[which].first);
        is_right = false;
    }
    free(values);
    (void)gantry_scope_end(scope);
    return is_right ? 0 : 1;
}

int main(int count, char **arguments) {
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu,opencl", .soft_placement = GANTRY_OFF};
    gantry_runtime_t *runtime;
    int code = 2;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) {
        fprintf(stderr, "%s\n", gantry_last_message());
        return code;
    }
    for (size_t i = 0; count > 1 && i < sizeof calls / sizeof calls[0]; ++i) {
        if (strcmp(arguments[1], calls[i].name) == 0) code = run(runtime, i);
    }
    gantry_runtime_release(runtime);
    return code;
}
