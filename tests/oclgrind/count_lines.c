/* SPDX-License-Identifier: Apache-2.0 */
/* Runs ops of each family once, in the forms for GPUs, on a device that counts memory accesses
 * (line_counter.cpp); with an argument, those that select, count and combine. The sizes are small
 * because Oclgrind interprets the kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>

static int failed;

static const gantry_tensor_t *numbers(gantry_scope_t *scope, int64_t rows, int64_t columns) {
    size_t count = (size_t)(rows * columns);
    float *values = malloc(count * sizeof *values);
    if (!values) return NULL;
    for (size_t i = 0; i < count; ++i) values[i] = (float)((i * 37 + 11) % 101) / 101.0f;
    const gantry_tensor_t *tensor = gantry_constant(
        scope, GANTRY_FLOAT32, GANTRY_SHAPE(rows, columns), values, count * sizeof *values);
    free(values);
    return tensor;
}

static const gantry_tensor_t *reduced(gantry_scope_t *scope, const gantry_tensor_t *x,
                                      int32_t axis) {
    return gantry_sum(scope, x, &(gantry_reduce_options_t){.axes = &axis, .axis_count = 1});
}

static void expect(gantry_scope_t *scope, const char *what, const gantry_tensor_t *tensor) {
    if (tensor && gantry_tensor_wait(tensor) == GANTRY_OK) return;
    printf("FAIL %s: %s\n", what, gantry_scope_message(scope));
    failed = 1;
}

static const gantry_tensor_t *layer_norm(gantry_scope_t *scope, int64_t rows, int64_t length) {
    const gantry_tensor_t *scale =
        gantry_reshape(scope, numbers(scope, 1, length), GANTRY_SHAPE(length));
    return gantry_layer_norm(scope, numbers(scope, rows, length), scale, scale, 1, 0.001);
}

/* count numbers below most; ascending ones leave none out. */
static const gantry_tensor_t *indices(gantry_scope_t *scope, int64_t count, int32_t most,
                                      bool ascending) {
    int32_t *values = malloc((size_t)count * sizeof *values);
    if (!values) return NULL;
    for (int64_t i = 0; i < count; ++i)
        values[i] = (int32_t)(ascending ? i * most / count : (i * 7919 + 13) % most);
    const gantry_tensor_t *tensor = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(count),
                                                    values, (size_t)count * sizeof *values);
    free(values);
    return tensor;
}

/* The ops that select, count and combine, with so many elements that they take their forms for
 * cards. */
static void run_indexed(gantry_scope_t *scope) {
    enum { UPDATES = 1 << 14, NUMBERS = 5000, WIDTH = 64 };
    const gantry_tensor_t *none = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(0), NULL, 0),
                          *places = indices(scope, UPDATES, UPDATES, false),
                          *rows = gantry_reshape(scope, places, GANTRY_SHAPE(UPDATES, 1)),
                          *updates = gantry_reshape(scope, numbers(scope, 1, UPDATES),
                                                    GANTRY_SHAPE(UPDATES));
    expect(scope, "Sort of rows", gantry_sort(scope, numbers(scope, 32, 256), 1, false));
    expect(scope, "TopK", gantry_top_k(scope, numbers(scope, 1, NUMBERS), 100, NULL));
    expect(scope, "TopK of rows", gantry_top_k(scope, numbers(scope, 32, 256), 10, NULL));
    expect(scope, "Bincount",
           gantry_bincount(scope, indices(scope, NUMBERS, 1000, false), 1000, none));
    expect(scope, "ScatterNd", gantry_scatter_nd(scope, rows, updates, GANTRY_SHAPE(UPDATES)));
    expect(scope, "ScatterNd of int32",
           gantry_scatter_nd(scope, rows, places, GANTRY_SHAPE(UPDATES)));
    expect(scope, "SegmentSum",
           gantry_segment_sum(scope, numbers(scope, 512, WIDTH), indices(scope, 512, 4, true)));
    expect(scope, "Gather of rows",
           gantry_gather(scope, numbers(scope, 128, WIDTH), indices(scope, 128, 128, false), 0));
    expect(scope, "Cumsum of a vector", gantry_cumsum(scope, updates, 0, NULL));
    const gantry_tensor_t *index = NULL;
    expect(scope, "Unique",
           gantry_unique(scope, indices(scope, NUMBERS, 300, false), &index, NULL));
}

static void run_all(gantry_scope_t *scope) {
    const gantry_tensor_t *wide = numbers(scope, 16, 1024), *tall = numbers(scope, 256, 64),
                          *square = numbers(scope, 96, 96);
    expect(scope, "Add", gantry_add(scope, wide, wide));
    expect(scope, "Add of a row", gantry_add(scope, wide, numbers(scope, 1, 1024)));
    expect(scope, "Add of a scalar", gantry_add(scope, wide, gantry_scalar_f32(scope, 1)));
    expect(scope, "Add to a column", gantry_add(scope, numbers(scope, 16, 1), wide));
    expect(scope, "Add of a column", gantry_add(scope, wide, numbers(scope, 16, 1)));
    expect(scope, "Add of an odd row",
           gantry_add(scope, numbers(scope, 1, 33), numbers(scope, 50, 33)));
    expect(scope, "Add of a row and a column",
           gantry_add(scope, numbers(scope, 1, 64), numbers(scope, 64, 1)));
    expect(scope, "Sum of all", gantry_sum(scope, wide, NULL));
    expect(scope, "Sum of rows", reduced(scope, wide, 1));
    expect(scope, "Sum of columns", reduced(scope, tall, 0));
    expect(scope, "Sum of few columns", reduced(scope, numbers(scope, 256, 16), 0));
    expect(scope, "ArgMax", gantry_argmax(scope, wide, 1));
    expect(scope, "Softmax", gantry_softmax(scope, wide));
    expect(scope, "Softmax of a row", gantry_softmax(scope, numbers(scope, 1, 1000)));
    expect(scope, "Softmax of a long row", gantry_softmax(scope, numbers(scope, 1, 9000)));
    expect(scope, "LayerNorm", layer_norm(scope, 16, 512));
    expect(scope, "LayerNorm of a row", layer_norm(scope, 1, 1000));
    expect(scope, "Sort", gantry_sort(scope, numbers(scope, 1, 3000), 1, false));
    expect(scope, "Transpose", gantry_transpose(scope, square, NULL));
    expect(scope, "MatMul", gantry_matmul(scope, square, square, NULL));
    expect(scope, "Cumsum of rows", gantry_cumsum(scope, wide, 1, NULL));
    expect(scope, "Cumsum of columns", gantry_cumsum(scope, tall, 0, NULL));
    expect(scope, "Cumsum of few columns", gantry_cumsum(scope, numbers(scope, 500, 6), 0, NULL));
    expect(scope, "Cumsum of short rows", gantry_cumsum(scope, numbers(scope, 200, 10), 1, NULL));
    expect(scope, "Cumsum in reverse",
           gantry_cumsum(scope, wide, 1, &(gantry_scan_options_t){.reverse = true}));
}

/* A part that imitates most cards, so that a simulator runs the forms for cards. */
static gantry_status_t imitate_card(gantry_runtime_t *runtime) {
    const gantry_logical_device_config_t part = {.max_work_group_size = 1024};
    const gantry_physical_device_t *device = NULL;
    size_t count = 0;
    gantry_status_t status = gantry_list_physical_devices(runtime, "GPU", 1, &device, &count);
    if (status != GANTRY_OK || count == 0) return status;
    return gantry_set_logical_device_configuration(runtime, device, &part, 1);
}

int main(int argc, char **argv) {
    (void)argv;
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .opencl_cpu_as_gpu = GANTRY_ON,
                                              .backends = "cpu,opencl",
                                              .kernel_cache = ""};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK ||
        imitate_card(runtime) != GANTRY_OK) {
        printf("FAIL %s\n", gantry_last_message());
        return 1;
    }
    gantry_scope_t *scope = gantry_scope_begin(runtime, "GPU:0");
    if (scope) (argc > 1 ? run_indexed : run_all)(scope);
    if (!scope || gantry_scope_end(scope) != GANTRY_OK) failed = 1;
    gantry_runtime_release(runtime);
    return failed;
}
