/* SPDX-License-Identifier: Apache-2.0 */
/* Short programs that use the parts of the public API that examples and conformance checks do not
 * use, or use less closely. After an error the programs continue as far as possible, as a user's
 * program would. They use nothing of the tool. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../conformance/conformance.h"
#include "faults_programs.h"

/* Calls that the library may not have yet. */
#pragma weak gantry_get_memory_report
#pragma weak gantry_get_oom_report
#pragma weak gantry_get_setting
#pragma weak gantry_set_logical_cpu_devices
#pragma weak gantry_set_memory_fraction
#pragma weak gantry_setting_count
#pragma weak gantry_setting_name
#pragma weak gantry_trim_memory
#pragma weak gantry_scope_set_tag

#define FIRST_AXIS (&(gantry_reduce_options_t){.axes = (int32_t[]){0}, .axis_count = 1})

static const float six[] = {1, 2, 3, 4, 5, 6};

static gantry_runtime_t *open_runtime(void) {
    gantry_runtime_t *runtime = NULL;
    (void)gantry_runtime_create(NULL, &runtime);
    return runtime;
}

/* 0 when the tensor has these float values; 1 when it cannot be read, 2 when they are wrong. */
static int expect(const gantry_tensor_t *tensor, const float *wanted, size_t count) {
    float got[64];
    if (!tensor || count > 64 || gantry_tensor_read(tensor, got, count * sizeof *got) != GANTRY_OK)
        return 1;
    for (size_t i = 0; i < count; ++i) {
        if (fabsf(got[i] - wanted[i]) > 1e-5f * fabsf(wanted[i])) {
            (void)printf("element %zu is %g, not %g\n", i, (double)got[i], (double)wanted[i]);
            return 2;
        }
    }
    return 0;
}

/* Prints a line and returns 1 unless the call succeeded. */
static int tried(gantry_status_t status, const char *call, int line) {
    if (status != GANTRY_OK)
        (void)printf("line %d: %s: %s: %s\n", line, call, gantry_status_name(status),
                     gantry_last_message());
    return status != GANTRY_OK;
}

#define TRY(call) tried(call, #call, __LINE__)

#define EXPECT(tensor, ...) \
    expect(tensor, (const float[]){__VA_ARGS__}, sizeof((float[]){__VA_ARGS__}) / sizeof(float))

/* ---- a bit of everything ---- */

static const gantry_tensor_t *sum_on_cpu(gantry_scope_t *scope, const gantry_tensor_t *value) {
    gantry_scope_t *inner = gantry_scope_begin_in(scope, "CPU:0");
    const gantry_tensor_t *sum =
        gantry_sum(inner, gantry_exp(inner, gantry_sub(inner, value, value)), NULL);
    (void)gantry_scope_keep(inner, sum);
    (void)gantry_scope_end(inner);
    return sum;
}

int faults_program_small(int argc, char **argv) {
    int code = argc < 2;
    gantry_runtime_t *runtime = open_runtime();
    gantry_scope_t *scope = gantry_scope_begin(runtime, argv[1]);
    const int32_t one = 1;
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2), six, 4 * sizeof *six);
    const gantry_tensor_t *product = gantry_matmul(scope, x, x, NULL);
    const gantry_tensor_t *row = gantry_gather(
        scope, product, gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(1), &one, sizeof one), 0);
    gantry_variable_t *variable = gantry_variable_create(scope, row, "small");
    if (variable) (void)gantry_variable_assign_add(scope, variable, row);
    if (variable) (void)gantry_variable_assign_sub(scope, variable, gantry_ones_like(scope, row));
    const gantry_tensor_t *value = variable ? gantry_variable_read(scope, variable) : NULL;
    const gantry_tensor_t *sum = value ? sum_on_cpu(scope, value) : NULL;
    gantry_tensor_t *kept = value ? gantry_tensor_retain(value) : NULL;
    gantry_tensor_drop(scope, x);
    code |= EXPECT(sum, 2) | EXPECT(value, 29, 43);
    gantry_variable_release(variable);
    code |= TRY(gantry_scope_end(scope));
    code |= EXPECT(kept, 29, 43);
    gantry_tensor_release(kept);
    code |= TRY(gantry_runtime_synchronize(runtime));
    gantry_runtime_release(runtime);
    return code;
}

int faults_program_matmul(int argc, char **argv) {
    int code = argc < 2;
    gantry_runtime_t *runtime = open_runtime();
    (void)gantry_set_log_device_placement(runtime, true);
    gantry_scope_t *scope = gantry_scope_begin(runtime, argv[1]);
    const gantry_tensor_t *a =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), six, sizeof six);
    const gantry_tensor_t *b =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(3, 2), six, sizeof six);
    code |= EXPECT(gantry_matmul(scope, a, b, NULL), 22, 28, 49, 64);
    code |= TRY(gantry_scope_end(scope));
    gantry_runtime_release(runtime);
    return code;
}

/* ---- convolutions ---- */

static const gantry_tensor_t *convolve_back(gantry_scope_t *scope, const char *op,
                                            const gantry_tensor_t *image_or_sizes,
                                            const gantry_tensor_t *filter_or_sizes) {
    static const int64_t ones[] = {1, 1, 1, 1};
    const gantry_attr_value_t attrs[] = {
        {.name = "strides", .kind = GANTRY_ATTR_INTS, .i = 4, .list = ones},
        {.name = "padding", .kind = GANTRY_ATTR_STRING, .s = "VALID"}};
    const gantry_tensor_t *inputs[] = {
        image_or_sizes, filter_or_sizes,
        gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 2, 2, 1))};
    const gantry_tensor_t *gradient = NULL;
    size_t count = 1;
    (void)gantry_op_call(scope, op, inputs, 3, attrs, 2, &gradient, &count);
    return gradient;
}

/* Two groups of two channels. */
static const gantry_tensor_t *convolve_groups(gantry_scope_t *scope,
                                              const gantry_window_options_t *options) {
    return gantry_conv2d(scope, gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 2, 2, 4)),
                         gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2, 2, 4)), options);
}

int faults_program_convolve(int argc, char **argv) {
    static const float values[] = {1, 2, 3, 4, 5, 6, 7, 8, 9};
    static const int32_t sizes[] = {1, 3, 3, 1, 2, 2, 1, 1};
    const gantry_window_options_t options = {.padding = GANTRY_PADDING_VALID};
    int code = argc < 2;
    gantry_runtime_t *runtime = open_runtime();
    gantry_scope_t *scope = gantry_scope_begin(runtime, argv[1]);
    const gantry_tensor_t *image = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1, 3, 3, 1),
                                                   values, 9 * 4),
                          *filter = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2, 1, 1),
                                                    values, 4 * 4),
                          *of_image =
                              gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(4), sizes, 16),
                          *of_filter =
                              gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(4), &sizes[4], 16);
    code |= EXPECT(gantry_conv2d(scope, image, filter, &options), 37, 47, 67, 77);
    code |= EXPECT(convolve_back(scope, "Conv2DBackpropInput", of_image, filter), 1, 3, 2, 4, 10, 6,
                   3, 7, 4);
    code |= EXPECT(convolve_back(scope, "Conv2DBackpropFilter", image, of_filter), 12, 16, 24, 28);
    code |= EXPECT(convolve_groups(scope, &options), 8, 8, 8, 8);
    code |= TRY(gantry_scope_end(scope));
    gantry_runtime_release(runtime);
    return code;
}

/* ---- what a bridge uses ---- */

static const gantry_tensor_t *call_prepared(gantry_scope_t *scope, const char *op,
                                            const gantry_tensor_t *x) {
    const gantry_attr_value_t perm = {.name = "transpose_b", .kind = GANTRY_ATTR_BOOL, .i = true};
    const gantry_tensor_t *inputs[] = {x, x}, *output = NULL;
    gantry_prepared_op_t *prepared = NULL;
    size_t count = 1;
    (void)gantry_op_prepare(gantry_scope_runtime(scope), op, &perm, 1, &prepared);
    (void)gantry_op_call_prepared(scope, prepared, inputs, 2, &output, &count);
    gantry_prepared_op_release(prepared);
    return output;
}

/* As expect, of four values. */
static int expect_later(const gantry_tensor_t *tensor, const float *wanted) {
    float got[4];
    gantry_read_t *read = NULL;
    bool has_ended = false;
    if (!tensor || gantry_tensor_read_async(tensor, got, sizeof got, &read) != GANTRY_OK) return 1;
    (void)gantry_read_poll(read, &has_ended);
    const gantry_status_t status = gantry_read_wait(read);
    gantry_read_release(read);
    if (status != GANTRY_OK) return 1;
    return memcmp(got, wanted, sizeof got) == 0 ? 0 : 2;
}

int faults_program_bridge(int argc, char **argv) {
    int code = argc < 2;
    gantry_runtime_t *runtime = open_runtime();
    gantry_scope_t *scope = gantry_scope_begin(runtime, argv[1]);
    float many[40] = {0};
    memcpy(&many[33], six, sizeof six);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(40), many, sizeof many);
    const gantry_tensor_t *view =
        gantry_tensor_view(scope, x, 33 * sizeof *many, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2));
    code |= expect_later(view, six);
    code |= expect_later(call_prepared(scope, "MatMul", view), (const float[]){5, 11, 11, 25});
    code |= TRY(gantry_scope_end(scope));
    gantry_runtime_release(runtime);
    return code;
}

/* ---- copies ---- */

static int copy_around(gantry_runtime_t *runtime, const char *const *devices, size_t count) {
    static float many[5000];
    int code = 0;
    for (int i = 0; i < 5000; ++i) many[i] = (float)i;
    gantry_scope_t *scope = gantry_scope_begin(runtime, devices[0]);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(5000), many, sizeof many);
    for (size_t round = 0; round < 2 * count; ++round) {
        gantry_scope_t *there = gantry_scope_begin_in(scope, devices[(round + 1) % count]);
        x = gantry_scope_keep(
            there, gantry_add(there, gantry_identity(there, x), gantry_scalar_f32(there, 1)));
        code |= TRY(gantry_scope_end(there));
    }
    const int64_t begin = 4999, size = 1;
    code |= EXPECT(gantry_slice(scope, x, &begin, &size), 4999 + 2 * (float)count);
    code |= TRY(gantry_scope_end(scope));
    return code;
}

int faults_program_copies(int argc, char **argv) {
    const char *devices[] = {argc > 1 ? argv[1] : "", "CPU:0", "GPU:1"};
    gantry_runtime_t *runtime = open_runtime();
    int code = copy_around(runtime, devices, 3);
    (void)gantry_set_device_policy(runtime, GANTRY_POLICY_WARN);
    code |= copy_around(runtime, devices, 2);
    (void)gantry_set_device_policy(runtime, GANTRY_POLICY_EXPLICIT);
    gantry_scope_t *scope = gantry_scope_begin(runtime, devices[0]),
                   *cpu = gantry_scope_begin_in(scope, "CPU:0");
    const gantry_tensor_t *x = gantry_scope_keep(cpu, gantry_scalar_f32(cpu, 1)),
                          *y = gantry_scalar_f32(scope, 2);
    code |= TRY(gantry_scope_end(cpu));
    if (x && y) code |= gantry_add(scope, x, y) != NULL; /* refused */
    gantry_scope_clear(scope);
    (void)gantry_set_device_policy(runtime, GANTRY_POLICY_SILENT);
    code |= EXPECT(gantry_add(scope, x, y), 3);
    code |= TRY(gantry_scope_end(scope));
    gantry_runtime_release(runtime);
    return code;
}

/* ---- memory ---- */

static int report_memory(gantry_runtime_t *runtime, const char *device) {
    static char text[65536];
    size_t needed = 0;
    int code = 0;
    for (int format = 0; gantry_get_memory_report && format < 2; ++format) {
        code |= TRY(gantry_get_memory_report(runtime, device, (gantry_report_format_t)format, text,
                                             sizeof text, &needed));
        code |= TRY(gantry_get_oom_report(runtime, device, (gantry_report_format_t)format, text,
                                          sizeof text, &needed));
    }
    return code;
}

static gantry_status_t ask_memory(gantry_runtime_t *runtime, const char *device,
                                  gantry_memory_info_t *out_info) {
    *out_info = (gantry_memory_info_t){.struct_size = sizeof *out_info};
    return gantry_get_memory_info(runtime, device, out_info);
}

/* Allocates more than the limit, then a size that fits. */
static int run_out(gantry_runtime_t *runtime, const char *device) {
    static const float many[1 << 20];
    int code = 0;
    gantry_memory_info_t info;
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    if (gantry_scope_set_tag) code |= TRY(gantry_scope_set_tag(scope, "big"));
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1 << 20), many, sizeof many);
    if (x) code |= gantry_add(scope, x, x) != NULL; /* 4 MiB beside 4 MiB, of 6 */
    gantry_scope_clear(scope);
    gantry_tensor_drop(scope, x);
    const gantry_tensor_t *half =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1 << 16), many, sizeof many / 16);
    const gantry_tensor_t *sum =
        gantry_sum(scope, gantry_add(scope, half, gantry_scalar_f32(scope, 1)), NULL);
    code |= EXPECT(sum, 65536);
    code |= TRY(gantry_scope_end(scope));
    if (ask_memory(runtime, device, &info) != GANTRY_OK) return code | 1;
    code |= info.current_bytes > info.peak_bytes || info.pool_bytes > info.limit_bytes;
    return code;
}

int faults_program_memory(int argc, char **argv) {
    int code = argc < 2;
    gantry_runtime_t *runtime = open_runtime();
    const gantry_physical_device_t *device = NULL;
    size_t count = 0;
    gantry_memory_info_t info;
    if (strncmp(argv[1], "cpu", 3) == 0)
        (void)gantry_list_physical_devices(runtime, "CPU", 1, &device, &count);
    else
        (void)gantry_list_physical_devices(runtime, "GPU", 1, &device, &count);
    if (device) {
        bool grows = false;
        code |= TRY(gantry_set_memory_growth(runtime, device, true));
        code |= gantry_get_memory_growth(runtime, device, &grows) != GANTRY_OK || !grows;
        code |= TRY(gantry_set_memory_limit(runtime, device, UINT64_C(6) << 20));
    }
    code |= TRY(gantry_runtime_initialize(runtime));
    code |= run_out(runtime, argv[1]);
    code |= report_memory(runtime, argv[1]);
    if (gantry_trim_memory) {
        uint64_t pool = 0;
        code |= TRY(gantry_trim_memory(runtime, argv[1], 0, &pool));
        code |= run_out(runtime, argv[1]);
    }
    code |= TRY(gantry_reset_memory_stats(runtime, argv[1]));
    if (ask_memory(runtime, argv[1], &info) == GANTRY_OK)
        code |= info.allocation_count != 0;
    else
        code |= 1;
    gantry_runtime_release(runtime);
    return code;
}

/* ---- settings and lists ---- */

static int describe(gantry_runtime_t *runtime) {
    const gantry_physical_device_t *views[16];
    size_t count = 0;
    int code = TRY(gantry_list_device_views(runtime, 16, views, &count));
    for (size_t i = 0; code == 0 && i < count && i < 16; ++i) {
        gantry_device_details_t details = {.struct_size = sizeof details};
        code |= TRY(gantry_get_device_details(runtime, views[i], &details));
    }
    for (size_t i = 0; i < gantry_backend_status_count(runtime); ++i) {
        gantry_backend_status_t status = {.struct_size = sizeof status};
        code |= TRY(gantry_backend_status(runtime, i, &status));
    }
    for (size_t i = 0; gantry_setting_count && i < gantry_setting_count(); ++i) {
        gantry_setting_t setting = {.struct_size = sizeof setting};
        code |= TRY(gantry_get_setting(runtime, gantry_setting_name(i), NULL, &setting));
    }
    return code;
}

/* Splits the device into two when the library can, with a limit each. */
static int configure(gantry_runtime_t *runtime, const char *type) {
    const gantry_logical_device_config_t parts[] = {{.memory_limit_bytes = UINT64_C(8) << 20},
                                                    {.memory_limit_bytes = UINT64_C(8) << 20}};
    const gantry_physical_device_t *devices[4];
    size_t count = 0;
    int code = TRY(gantry_list_physical_devices(runtime, type, 4, devices, &count));
    if (code || count == 0) return code;
    code |= TRY(gantry_set_visible_devices(runtime, devices, 1, type));
    if (gantry_set_logical_device_configuration(runtime, devices[0], parts, 2) != GANTRY_OK)
        code |= TRY(gantry_set_logical_device_configuration(runtime, devices[0], parts, 1));
    return code;
}

int faults_program_settings(int argc, char **argv) {
    int code = argc < 2;
    gantry_runtime_t *runtime = open_runtime();
    const gantry_logical_device_t *logical[8], *found = NULL;
    const char *type = strncmp(argv[1], "cpu", 3) == 0 ? "CPU" : "GPU";
    gantry_placement_record_t records[4] = {{.struct_size = sizeof records[0]}};
    gantry_placement_count_t counts[16] = {{.struct_size = sizeof counts[0]}};
    gantry_program_stats_t stats = {.struct_size = sizeof stats};
    size_t count = 0;
    bool has = false;
    const char *source = NULL;
    code |= describe(runtime);
    code |= configure(runtime, type);
    code |= TRY(gantry_set_intra_op_parallelism_threads(runtime, 2));
    code |= TRY(gantry_set_inter_op_parallelism_threads(runtime, 2));
    code |= TRY(gantry_list_logical_devices(runtime, NULL, 8, logical, &count));
    code |= TRY(gantry_find_logical_device(runtime, argv[1], &found));
    if (found)
        code |= gantry_op_has_kernel(runtime, "MatMul", found, GANTRY_FLOAT32, &has, &source) !=
                    GANTRY_OK ||
                !has;
    code |= describe(runtime);
    gantry_scope_t *scope = gantry_scope_begin(runtime, argv[1]);
    code |= EXPECT(gantry_add(scope, gantry_scalar_f32(scope, 1), gantry_scalar_f32(scope, 2)), 3);
    code |= TRY(gantry_scope_end(scope));
    code |= TRY(gantry_get_placements(runtime, 4, records, &count));
    code |= TRY(gantry_get_placement_counts(runtime, 16, counts, &count));
    code |= TRY(gantry_get_program_stats(runtime, &stats));
    gantry_runtime_release(runtime);
    return code;
}

int faults_program_profile(int argc, char **argv) {
    int code = argc < 2;
    gantry_runtime_t *runtime = open_runtime();
    gantry_profile_row_t row = {.struct_size = sizeof row};
    char text[8192];
    size_t needed;
    code |= TRY(gantry_profile_start(runtime, GANTRY_PROFILE_WAIT));
    gantry_scope_t *scope = gantry_scope_begin(runtime, argv[1]);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), six, sizeof six);
    code |= EXPECT(gantry_add(scope, x, gantry_scalar_f32(scope, 1)), 2, 3, 4, 5, 6, 7);
    code |= EXPECT(gantry_sum(scope, x, NULL), 21);
    code |= TRY(gantry_scope_end(scope));
    code |= TRY(gantry_profile_stop(runtime));
    code |= TRY(gantry_profile_read(runtime, GANTRY_PROFILE_TOTAL, &row));
    code |= TRY(gantry_profile_format(runtime, GANTRY_REPORT_TEXT, text, sizeof text, &needed));
    code |= TRY(gantry_profile_format(runtime, GANTRY_REPORT_JSON, text, sizeof text, &needed));
    gantry_runtime_release(runtime);
    return code;
}

/* ---- text and files ---- */

int faults_program_files(int argc, char **argv) {
    int code = argc < 3;
    char path[1024], text[256] = "";
    gantry_runtime_t *runtime = open_runtime();
    gantry_scope_t *scope = gantry_scope_begin(runtime, argv[1]);
    (void)snprintf(path, sizeof path, "%s/faults.npy", argv[2]);
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 3), six, sizeof six);
    code |= TRY(gantry_save_npy(scope, x, path));
    const gantry_tensor_t *back = code == 0 ? gantry_load_npy(scope, path) : NULL;
    code |= EXPECT(back, 1, 2, 3, 4, 5, 6);
    if (back && gantry_tensor_format(back, NULL, text, sizeof text, NULL) == GANTRY_OK)
        code |= strcmp(text, "[[1. 2. 3.]\n [4. 5. 6.]]") != 0 ? 4 : 0;
    else
        code |= 1;
    code |= TRY(gantry_scope_end(scope));
    gantry_runtime_release(runtime);
    return code;
}

/* ---- the tuning file ---- */

static bool count_record(void *user, const gantry_tuning_record_t *record) {
    *(size_t *)user += strcmp(record->values, "use=own own=1") == 0;
    return true;
}

/* A product large enough for the CPU backend to look up its record. */
static int multiply_ones(gantry_runtime_t *runtime, const char *device) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *ones = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(64, 64));
    const gantry_tensor_t *sum = gantry_sum(scope, gantry_matmul(scope, ones, ones, NULL), NULL);
    int code = EXPECT(sum, 64 * 64 * 64);
    return code | TRY(gantry_scope_end(scope));
}

int faults_program_tuning(int argc, char **argv) {
    int code = argc < 3;
    char setting[1024];
    size_t count = 0, kept = 0, removed = 0;
    const gantry_physical_device_t *devices[16];
    gantry_runtime_t *runtime = NULL;
    (void)snprintf(setting, sizeof setting, "GANTRY_TUNING_FILE=%s/tuning", argv[2]);
    const char *const extra[] = {setting, NULL};
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .extra = extra};
    (void)gantry_runtime_create(&options, &runtime);
    code |= TRY(gantry_list_device_views(runtime, 16, devices, &count));
    for (size_t i = 0; i < count && i < 16; ++i) {
        code |= TRY(gantry_put_tuning(runtime, devices[i], "cpu.matmul.float32.small.2_threads",
                                      "use=own own=1"));
        code |=
            TRY(gantry_put_tuning(runtime, devices[i], "opencl.cpu_matmul.float32", "nonsense"));
    }
    code |= TRY(gantry_list_tuning(runtime, count_record, &kept));
    code |= code == 0 && kept == 0 ? 4 : 0;
    code |= multiply_ones(runtime, argv[1]);
    code |= TRY(gantry_remove_tuning(runtime, NULL, NULL, &removed));
    gantry_runtime_release(runtime);
    return code;
}

/* ---- every op ---- */

#define OPS 512

static golden_file_t files[OPS];
static const golden_case_t *cases[OPS];
static size_t case_count;

static bool is_small(const golden_case_t *item) {
    size_t bytes = 0;
    for (size_t i = 0; i < item->input_count; ++i) bytes += item->inputs[i].bytes;
    return item->error_status == GANTRY_OK && item->output_count > 0 &&
           item->outputs[0].bytes > 0 && bytes <= 1024;
}

bool faults_program_load(void) {
    char path[1024], error[512];
    size_t file_count = 0;
    for (size_t i = 0; i < gantry_op_count() && file_count < OPS; ++i) {
        gantry_op_info_t info = {.struct_size = sizeof info};
        if (gantry_op_info(i, &info) != GANTRY_OK) return false;
        (void)snprintf(path, sizeof path, "%s/%s.json", GANTRY_GOLDEN_DIR, info.name);
        golden_file_t *file = &files[file_count];
        /* ops of variables have no cases */
        if (golden_load(path, file, error, sizeof error)) continue;
        ++file_count;
        for (size_t k = 0; k < file->case_count; ++k) {
            if (!is_small(&file->cases[k])) continue;
            cases[case_count++] = &file->cases[k];
            break;
        }
    }
    return case_count > 40;
}

static void check_case(conformance_t *c, const golden_case_t *item) {
    golden_tensor_t outputs[CONFORMANCE_MAX_OUTPUTS] = {{0}};
    char why[512];
    size_t count = 0;
    if (!conformance_begin(c, item->op, item->name)) return;
    conformance_evaluate(c, c->options.device, item, outputs, &count);
    for (size_t i = 0; c->reasons == 0 && i < count && i < item->output_count; ++i) {
        if (golden_compare(&item->outputs[i], &item->tolerance, outputs[i].data, why, sizeof why))
            conformance_fail(c, "output %zu: %s", i, why);
    }
    conformance_free_outputs(outputs, CONFORMANCE_MAX_OUTPUTS);
    conformance_end(c);
}

int faults_program_ops(int argc, char **argv) {
    static conformance_t c;
    size_t failed = 0;
    memset(&c, 0, sizeof c);
    c.options.device = argc > 1 ? argv[1] : "";
    c.runtime = open_runtime();
    size_t part = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 0;
    for (size_t i = part; c.runtime && i < case_count; i += 8) check_case(&c, cases[i]);
    for (size_t i = 0; i < c.row_count; ++i) failed += c.rows[i].failed;
    int code = !c.runtime || failed > 0;
    conformance_close(&c);
    return code;
}
