/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Products and reductions choose a form that fits a GPU of small work-groups, with the
 * same bits.
 * Promise: A launch keeps within the kernel's own limit of work-items, or a smaller form takes
 * over.
 * Promise: OpenCL matrix products use a fused multiply-add on each GPU that has one.
 *
 * Its driver allows a kernel fewer work-items than the device; a kernel without a fitting form
 * gives the reason. The compiler does not report its fused multiply-add as fast, and products still
 * use it. */
#define _XOPEN_SOURCE 700

#include "hostile_gpu.h"
#include "log_lines.h"
#include "test.h"

#define ROWS 300
#define COLUMNS 160

typedef const gantry_tensor_t *(*make_fn)(gantry_scope_t *scope);

static const gantry_tensor_t *make_product(gantry_scope_t *scope) {
    return gantry_matmul(scope, hostile_ramp(scope, 70, 50), hostile_ramp(scope, 50, 130), NULL);
}

static const gantry_tensor_t *make_sum(gantry_scope_t *scope, int64_t rows, int64_t columns,
                                       int32_t axis) {
    gantry_reduce_options_t options = {
        .struct_size = sizeof options, .axes = &axis, .axis_count = 1};
    return gantry_sum(scope, hostile_ramp(scope, rows, columns), &options);
}

/* reduce_block8, reduce_block32, reduce_few and reduce_group, by the device's width. */
static const gantry_tensor_t *make_column_sums(gantry_scope_t *scope) {
    return make_sum(scope, ROWS, COLUMNS, 0);
}
static const gantry_tensor_t *make_thin_column_sums(gantry_scope_t *scope) {
    return make_sum(scope, 3000, 16, 0);
}
static const gantry_tensor_t *make_few_sums(gantry_scope_t *scope) {
    return make_sum(scope, 2, 9000, 1);
}
static const gantry_tensor_t *make_row_sums(gantry_scope_t *scope) {
    return make_sum(scope, ROWS, COLUMNS, 1);
}
static const gantry_tensor_t *make_transpose(gantry_scope_t *scope) {
    return gantry_transpose(scope, hostile_ramp(scope, ROWS, COLUMNS), NULL);
}
static const gantry_tensor_t *make_softmax(gantry_scope_t *scope) {
    return gantry_softmax(scope, hostile_ramp(scope, ROWS, COLUMNS));
}
static const gantry_tensor_t *make_long_softmax(gantry_scope_t *scope) {
    return gantry_softmax(scope, hostile_ramp(scope, 3, 9001));
}
static const gantry_tensor_t *make_add(gantry_scope_t *scope) {
    const gantry_tensor_t *x = hostile_ramp(scope, 2000, 700);
    return gantry_add(scope, x, x);
}

static const struct {
    const char *name;
    make_fn make;
} ops[] = {
    {"product", make_product},
    {"sums of columns", make_column_sums},
    {"sums of thin columns", make_thin_column_sums},
    {"few sums", make_few_sums},
    {"sums of rows", make_row_sums},
    {"transpose", make_transpose},
    {"softmax", make_softmax},
    {"softmax of long rows", make_long_softmax},
    {"add", make_add},
};
enum { OPS = sizeof ops / sizeof ops[0] };

/* The op's result on the device; NULL and the scope's message if it fails. */
static float *compute(gantry_runtime_t *runtime, const char *device, make_fn make,
                      size_t *out_bytes, char *message, size_t message_bytes) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *result = make(scope);
    *out_bytes = result ? gantry_tensor_bytes(result) : 0;
    float *values = malloc(*out_bytes + 1);
    assert_non_null(values);
    bool is_read = result && gantry_tensor_read(result, values, *out_bytes) == GANTRY_OK;
    (void)snprintf(message, message_bytes, "%s",
                   result ? gantry_last_message() : gantry_scope_message(scope));
    (void)gantry_scope_end(scope);
    if (is_read) return values;
    free(values);
    return NULL;
}

static void expect_same(gantry_runtime_t *runtime, size_t op, const char *settings) {
    char message[1024];
    size_t wanted_bytes, bytes;
    float *wanted =
        compute(runtime, "/CPU:0", ops[op].make, &wanted_bytes, message, sizeof message);
    assert_non_null(wanted);
    float *got = compute(runtime, "/GPU:0", ops[op].make, &bytes, message, sizeof message);
    if (!got) fail_msg("%s with %s: %s", ops[op].name, settings, message);
    assert_int_equal(bytes, wanted_bytes);
    if (memcmp(got, wanted, bytes) != 0)
        fail_msg("%s with %s: the bits are not the CPU's", ops[op].name, settings);
    free(wanted);
    free(got);
}

static void each_op_fits_what_its_kernels_allow(const char *settings) {
    gantry_runtime_t *runtime = hostile_open(settings);
    for (size_t op = 0; op < OPS; ++op) expect_same(runtime, op, settings);
    gantry_runtime_release(runtime);
}

TEST(each_op_runs_where_kernels_allow_256) {
    each_op_fits_what_its_kernels_allow("gpu=1;units=2;group=256");
}

TEST(each_op_runs_where_kernels_allow_128) {
    each_op_fits_what_its_kernels_allow("gpu=1;units=2;group=128");
}

TEST(each_op_runs_where_kernels_allow_64) {
    each_op_fits_what_its_kernels_allow("gpu=1;units=2;group=64");
}

TEST(each_op_runs_where_rusticl_gives_the_width_for_the_limit) {
    each_op_fits_what_its_kernels_allow("gpu=1;units=2;rusticl=32");
}

TEST(what_fits_nowhere_names_kernel_and_limit) {
    gantry_runtime_t *runtime = hostile_open("gpu=1;units=2;group=32");
    char message[1024];
    size_t bytes;
    assert_null(compute(runtime, "/GPU:0", make_softmax, &bytes, message, sizeof message));
    if (!strstr(message, "\"softmax_group\"") ||
        !strstr(message, "a work-group of 64 work-items") || !strstr(message, "at most 32"))
        fail_msg("%s", message);
    gantry_runtime_release(runtime);
}

TEST(a_limit_below_the_device_is_logged) {
    log_lines_t lines;
    log_lines_init(&lines);
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .log = log_lines_write,
                                              .log_user = &lines,
                                              .log_level = GANTRY_LEVEL_DEBUG,
                                              .backend_path = HOSTILE_MODULES,
                                              .backends = "cpu,opencl",
                                              .kernel_cache = ""};
    gantry_runtime_t *runtime;
    char message[1024];
    size_t bytes;
    hostile_set("gpu=1;units=2;group=128");
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    free(compute(runtime, "/GPU:0", make_product, &bytes, message, sizeof message));
    assert_true(log_lines_with(&lines, "allows kernel \"matmul_tile\"", "groups of 128") > 0);
    gantry_runtime_release(runtime);
}

/* x y - float(x y): a fused multiply-add keeps it, and two roundings lose it. */
static float residue(const char *settings) {
    const float a[2] = {-1, 0x1.000002p0f}, b[2] = {0x1.000004p0f, 0x1.000002p0f};
    gantry_runtime_t *runtime = hostile_open(settings);
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/GPU:0");
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 2), a, sizeof a);
    const gantry_tensor_t *y =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 1), b, sizeof b);
    const gantry_tensor_t *product = gantry_matmul(scope, x, y, NULL);
    float value = 0;
    if (gantry_tensor_read(product, &value, sizeof value) != GANTRY_OK)
        fail_msg("%s: %s", settings, gantry_last_message());
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_runtime_release(runtime);
    return value;
}

TEST(a_gpu_with_a_fused_multiply_add_uses_it_in_products) {
    assert_true(residue("gpu=1;slow_fma=1;fma=1") == 0x1p-46f);
    assert_true(residue("gpu=1;slow_fma=1;fma=0") == 0);
}

static void expect_note_of_fma(const char *settings, bool has_note) {
    gantry_runtime_t *runtime = hostile_open(settings);
    gantry_device_details_t details = {.struct_size = sizeof details};
    const gantry_physical_device_t *device;
    size_t count;
    assert_int_equal(gantry_list_physical_devices(runtime, "GPU", 1, &device, &count), GANTRY_OK);
    assert_int_equal(gantry_get_device_details(runtime, device, &details), GANTRY_OK);
    if ((strstr(details.note, "no fma of float32") != NULL) != has_note)
        fail_msg("%s: \"%s\"", settings, details.note);
    gantry_runtime_release(runtime);
}

TEST(a_device_without_a_fused_multiply_add_says_so) {
    expect_note_of_fma("gpu=1;fma=1", false);
    expect_note_of_fma("gpu=1;fma=0", true);
}

int main(void) {
    const int code = hostile_prepare();
    if (code != 0) return code;
    return test_main();
}
