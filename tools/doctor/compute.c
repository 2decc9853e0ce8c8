/* SPDX-License-Identifier: Apache-2.0 */
/* Opens the drivers, or builds and runs kernels on devices: Add, MatMul and Sum of whole numbers.
 * float32 holds each result exactly, in any order of the sums and with inputs rounded to bfloat16,
 * so one wrong bit is a fault.
 *
 * A driver that is broken may end or hang its process, so this runs in a process of its own. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/os/files.h"
#include "base/os/process.h"
#include "base/os/trial.h"
#include "doctor/doctor.h"
#include "command/command.h"
#include "common/tool.h"

enum { ROWS = 33, DEPTH = 65, COLUMNS = 17 };

typedef struct sample_t {
    float a[ROWS * DEPTH], b[DEPTH * COLUMNS];
    float sums[ROWS * DEPTH], product[ROWS * COLUMNS], total; /* right ones */
    float got[ROWS * DEPTH];
} sample_t;

static float right_product(const sample_t *sample, size_t row, size_t column) {
    float sum = 0;
    for (size_t i = 0; i < DEPTH; ++i)
        sum += sample->a[row * DEPTH + i] * sample->b[i * COLUMNS + column];
    return sum;
}

static void doctor_compute_fill(sample_t *sample) {
    *sample = (sample_t){.total = 0};
    for (size_t i = 0; i < DEPTH * COLUMNS; ++i) sample->b[i] = (float)(i * 5 % 13) - 6;
    for (size_t i = 0; i < ROWS * DEPTH; ++i) {
        sample->a[i] = (float)(i * 7 % 17) - 8;
        sample->sums[i] = 2 * sample->a[i];
        sample->total += sample->sums[i];
    }
    for (size_t i = 0; i < ROWS * COLUMNS; ++i)
        sample->product[i] = right_product(sample, i / COLUMNS, i % COLUMNS);
}

static bool agrees(sample_t *sample, const char *op, const gantry_tensor_t *result,
                   const float *right, size_t count, char *out, size_t out_bytes) {
    if (!result) return false;
    if (gantry_tensor_read(result, sample->got, count * sizeof(float)) != GANTRY_OK) {
        (void)snprintf(out, out_bytes, "%s: %s", op, gantry_last_message());
        return false;
    }
    for (size_t i = 0; i < count; ++i) {
        if (sample->got[i] == right[i]) continue;
        (void)snprintf(out, out_bytes,
                       "%s gives a wrong result: element %zu is %g, and %g is right", op, i,
                       (double)sample->got[i], (double)right[i]);
        return false;
    }
    return true;
}

static bool ran_on(gantry_runtime_t *runtime, const char *alias, const gantry_tensor_t *result,
                   char *out, size_t out_bytes) {
    gantry_device_details_t details = {.struct_size = sizeof details};
    const gantry_logical_device_t *device = gantry_tensor_device(result);
    if (gantry_get_device_details(runtime, gantry_logical_device_physical(device), &details) !=
            GANTRY_OK ||
        strcmp(details.alias, alias) == 0)
        return true;
    (void)snprintf(out, out_bytes, "its work ran on %s: %s", details.alias, details.note);
    return false;
}

static bool compute_all(gantry_runtime_t *runtime, const char *alias, gantry_scope_t *scope,
                        sample_t *sample, char *out, size_t out_bytes) {
    const gantry_tensor_t *a = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, DEPTH),
                                               sample->a, sizeof sample->a);
    const gantry_tensor_t *b = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(DEPTH, COLUMNS),
                                               sample->b, sizeof sample->b);
    const gantry_tensor_t *sums = gantry_add(scope, a, a);
    return agrees(sample, "Add", sums, sample->sums, ROWS * DEPTH, out, out_bytes) &&
           agrees(sample, "MatMul", gantry_matmul(scope, a, b, NULL), sample->product,
                  ROWS * COLUMNS, out, out_bytes) &&
           agrees(sample, "Sum", gantry_sum(scope, sums, NULL), &sample->total, 1, out,
                  out_bytes) &&
           ran_on(runtime, alias, sums, out, out_bytes);
}

/* Placement refuses with all devices that exist, and its record says why this one was refused. */
static void doctor_compute_explain_refusal(gantry_runtime_t *runtime, char *out, size_t out_bytes) {
    gantry_placement_record_t record = {.struct_size = sizeof record};
    size_t count = 0;
    if (!strstr(out, "Could not satisfy device specification") ||
        gantry_get_placements(runtime, 1, &record, &count) != GANTRY_OK || count == 0 ||
        record.refusal_count == 0)
        return;
    (void)snprintf(out, out_bytes, "%s does not run there: %s", record.op,
                   gantry_refusal_text(record.refusals[0].why));
}

/* Writes "" or what is wrong. */
static void compute_on(gantry_runtime_t *runtime, const char *alias, sample_t *sample, char *out,
                       size_t out_bytes) {
    out[0] = '\0';
    gantry_scope_t *scope = gantry_scope_begin(runtime, alias);
    if (!scope) {
        (void)snprintf(out, out_bytes, "%s", gantry_last_message());
        return;
    }
    bool is_right = compute_all(runtime, alias, scope, sample, out, out_bytes);
    if (!is_right && !*out) (void)snprintf(out, out_bytes, "%s", gantry_scope_message(scope));
    if (!is_right && !*out) (void)snprintf(out, out_bytes, "an op failed without a message");
    if (!is_right) doctor_compute_explain_refusal(runtime, out, out_bytes);
    (void)gantry_scope_end(scope);
}

void doctor_answer(const char *format, ...) {
    char text[2 * DOCTOR_LINE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const size_t bytes = (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    if (length > 0) (void)gantry__os_write(GANTRY__OS_CHILD_REPORT, text, bytes, GANTRY__OS_NEXT);
}

/* One line of the answer; the note is known only once the device is open. */
static void doctor_compute_print_line(gantry_runtime_t *runtime, const char *alias, char *why) {
    const gantry_physical_device_t *device;
    gantry_device_details_t details = {.struct_size = sizeof details, .note = ""};
    if (gantry_find_physical_device(runtime, alias, &device) == GANTRY_OK)
        (void)gantry_get_device_details(runtime, device, &details);
    for (char *c = why; *c; ++c) *c = *c == '\t' || *c == '\n' ? ' ' : *c;
    doctor_answer("%s\t%s\t%s\t%s\n", alias, *why ? "failed" : "passed", why, details.note);
}

/* At this level, backends open their libraries. */
static void ignore_line(void *user, gantry_log_level_t level, const char *text) {
    (void)user, (void)level, (void)text;
}

static void ask_about(gantry_runtime_t *runtime, const gantry_physical_device_t *device) {
    gantry_device_details_t details = {.struct_size = sizeof details};
    gantry_device_telemetry_t telemetry = {.struct_size = sizeof telemetry};
    (void)gantry_get_device_details(runtime, device, &details);
    (void)gantry_get_device_telemetry(runtime, device, &telemetry);
}

static void ask_backends(gantry_runtime_t *runtime) {
    for (size_t i = 0; i < gantry_backend_status_count(runtime); ++i) {
        gantry_backend_status_t status = {.struct_size = sizeof status};
        (void)gantry_backend_status(runtime, i, &status);
    }
}

/* An error is no end of the process: the doctor gets it, too. */
static int doctor_compute_open_drivers(void) {
    const gantry_physical_device_t *views[DOCTOR_MOST_CHECKS];
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .log_level = GANTRY_LEVEL_INFO, .log = ignore_line};
    gantry_runtime_t *runtime;
    size_t count = 0;
    if (gantry_runtime_create(&options, &runtime) == GANTRY_OK &&
        gantry_runtime_initialize(runtime) == GANTRY_OK &&
        gantry_list_device_views(runtime, DOCTOR_MOST_CHECKS, views, &count) == GANTRY_OK) {
        for (size_t i = 0; i < count && i < DOCTOR_MOST_CHECKS; ++i) ask_about(runtime, views[i]);
        ask_backends(runtime);
    }
    gantry_runtime_release(runtime);
    doctor_answer(DOCTOR_SURVIVED "\n");
    return GANTRY_TOOL_OK;
}

static int compute_run(const gantry_command_values_t *values) {
    static sample_t sample;
    char why[DOCTOR_LINE_BYTES / 2];
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .soft_placement = GANTRY_OFF,
                                              .placement_mode = GANTRY_PLACEMENT_REQUIRE};
    gantry_runtime_t *runtime;
    gantry__os_crash_quietly();
    gantry__os_end_with_parent();
    if (values->operand_count == 0) return doctor_compute_open_drivers();
    if (strcmp(values->operands[0], DOCTOR_LISTS) == 0) {
        doctor_open_lists();
        return GANTRY_TOOL_OK;
    }
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) return gantry_tool_fail_last();
    doctor_compute_fill(&sample);
    for (size_t i = 0; i < values->operand_count; ++i) {
        compute_on(runtime, values->operands[i], &sample, why, sizeof why);
        doctor_compute_print_line(runtime, values->operands[i], why);
    }
    gantry_runtime_release(runtime);
    return GANTRY_TOOL_OK;
}

const gantry_command_t gantry_command_doctor_compute = {
    .name = DOCTOR_COMPUTE,
    .summary = "computes on devices, for `gantry doctor`",
    .operands = "[DEVICE...]",
    .operand_most = GANTRY_COMMAND_ANY,
    .is_hidden = true,
    .run = compute_run};
