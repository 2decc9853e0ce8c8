/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: On each of the GPUs of tests/unit/opencl/hostile_forms.txt, which differ in units, local
 * memory and limits, each op chooses the kernels and groups written there.
 *
 * Nothing runs: the stand-in logs launches and skips them. The text shows every change of a form.
 * GANTRY_TEST_FORMS names a file that receives the current text. */
#define _XOPEN_SOURCE 700

#include "hostile_gpu.h"
#include "test.h"

#define GOLDEN GANTRY_TEST_SOURCE_DIR "/tests/unit/opencl/hostile_forms.txt"

static const struct {
    const char *title;
    const char *settings;
} presets[] = {
    {"512 units, 64 KiB", "units=512;local=65536"},
    {"128 units, 48 KiB", "units=128;local=49152"},
    {"48 units, 64 KiB", "units=48;local=65536"},
    {"10 units, 32 KiB, no float64, no rounding", "units=10;local=32768;double=0;round=0"},
    {"4 units, 32 KiB of global memory, no float64, no rounding",
     "units=4;local=32768;local_global=1;double=0;round=0"},
    {"Intel, 448 execution units, 8 a sub-slice", "units=448;local=65536;intel=8"},
    {"Intel, 96 execution units, number a sub-slice unknown", "units=96;local=65536;intel=0"},
    {"48 units, 8 KiB", "units=48;local=8192"},
    {"48 units, kernels allow 128", "units=48;local=65536;group=128"},
    {"48 units, kernels allow 64", "units=48;local=65536;group=64"},
};

static const gantry_tensor_t *make(gantry_scope_t *scope, int64_t rows, int64_t columns) {
    return gantry_broadcast_to(scope, hostile_ramp(scope, 1, 1), GANTRY_SHAPE(rows, columns));
}

static const gantry_tensor_t *sum(gantry_scope_t *scope, const gantry_tensor_t *x, int32_t axis) {
    gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &axis, .axis_count = 1};
    return gantry_sum(scope, x, &options);
}

static const gantry_tensor_t *call_matmul(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_matmul(scope, x, x, NULL);
}
static const gantry_tensor_t *call_row_sums(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return sum(scope, x, 1);
}
static const gantry_tensor_t *call_column_sums(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return sum(scope, x, 0);
}
static const gantry_tensor_t *call_softmax(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_softmax(scope, x);
}
static const gantry_tensor_t *call_layer_norm(gantry_scope_t *scope, const gantry_tensor_t *x) {
    const gantry_tensor_t *ones =
        gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(gantry_tensor_shape(x)->dims[1]));
    hostile_take_launches((char[1 << 12]){0}, 1 << 12);
    return gantry_layer_norm(scope, x, ones, ones, 1, 0.001);
}
static const gantry_tensor_t *call_transpose(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_transpose(scope, x, NULL);
}
static const gantry_tensor_t *call_row_scans(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_cumsum(scope, x, 1, NULL);
}
static const gantry_tensor_t *call_column_scans(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_cumsum(scope, x, 0, NULL);
}
static const gantry_tensor_t *call_sort(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_sort(scope, x, 1, false);
}
static const gantry_tensor_t *call_bias(gantry_scope_t *scope, const gantry_tensor_t *x) {
    const gantry_tensor_t *bias = hostile_ramp(scope, 1, gantry_tensor_shape(x)->dims[1]);
    return gantry_add(scope, x, bias);
}
static const gantry_tensor_t *call_add(gantry_scope_t *scope, const gantry_tensor_t *x) {
    return gantry_add(scope, x, x);
}

static const struct {
    const char *name;
    const gantry_tensor_t *(*call)(gantry_scope_t *scope, const gantry_tensor_t *x);
    int64_t rows, columns;
} ops[] = {
    {"matmul", call_matmul, 64, 64},
    {"matmul", call_matmul, 256, 256},
    {"matmul", call_matmul, 1024, 1024},
    {"matmul", call_matmul, 2048, 2048},
    {"sums of rows", call_row_sums, 3, 9000},
    {"sums of rows", call_row_sums, 1000, 1000},
    {"sums of columns", call_column_sums, 3000, 16},
    {"sums of columns", call_column_sums, 1000, 1000},
    {"sums of columns", call_column_sums, 30, 100000},
    {"softmax", call_softmax, 4, 3000},
    {"softmax", call_softmax, 3, 9000},
    {"softmax", call_softmax, 1, 1000000},
    {"softmax", call_softmax, 1000, 1000},
    {"layer norm", call_layer_norm, 4, 3000},
    {"layer norm", call_layer_norm, 1000, 1000},
    {"transpose", call_transpose, 1000, 1000},
    {"scans of rows", call_row_scans, 3, 9000},
    {"scans of rows", call_row_scans, 1000, 1000},
    {"scans of columns", call_column_scans, 3000, 16},
    {"scans of columns", call_column_scans, 1000, 1000},
    {"sort", call_sort, 1, 10000},
    {"sort", call_sort, 1000, 300},
    {"add", call_add, 1000, 1000},
    {"add of a row", call_bias, 1000, 1000},
};

static void append(FILE *out, gantry_runtime_t *runtime, size_t op) {
    static char launches[1 << 16];
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/GPU:0");
    const gantry_tensor_t *x = make(scope, ops[op].rows, ops[op].columns);
    hostile_take_launches(launches, sizeof launches);
    if (!ops[op].call(scope, x)) fail_msg("%s: %s", ops[op].name, gantry_scope_message(scope));
    hostile_take_launches(launches, sizeof launches);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    fprintf(out, "  %-16s %5lld x %-9lld", ops[op].name, (long long)ops[op].rows,
            (long long)ops[op].columns);
    const char *between = "";
    for (char *line = strtok(launches, "\n"); line; line = strtok(NULL, "\n")) {
        fprintf(out, "%s%s", between, line);
        between = ", ";
    }
    fprintf(out, "\n");
}

static char *text_of_all(void) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    assert_non_null(out);
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; ++i) {
        char settings[160];
        (void)snprintf(settings, sizeof settings, "gpu=1;dry=1;%s", presets[i].settings);
        gantry_runtime_t *runtime = hostile_open(settings);
        fprintf(out, "%s\n", presets[i].title);
        for (size_t op = 0; op < sizeof ops / sizeof ops[0]; ++op) append(out, runtime, op);
        gantry_runtime_release(runtime);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

static void keep(const char *text) {
    const char *name = getenv("GANTRY_TEST_FORMS");
    FILE *file = name ? fopen(name, "w") : NULL;
    if (!file) return;
    (void)fputs(text, file);
    (void)fclose(file);
}

TEST(forms_are_those_of_the_golden_text) {
    char wanted[1 << 16];
    FILE *file = fopen(GOLDEN, "r");
    assert_non_null(file);
    size_t bytes = fread(wanted, 1, sizeof wanted - 1, file);
    wanted[bytes] = '\0';
    (void)fclose(file);
    char *text = text_of_all();
    keep(text);
    if (strcmp(text, wanted) != 0) fail_msg("%s is:\n%s\nthe forms are:\n%s", GOLDEN, wanted, text);
    free(text);
}

int main(void) {
    const int code = hostile_prepare();
    if (code != 0) return code;
    return test_main();
}
