/* SPDX-License-Identifier: Apache-2.0 */
/* gantry model bench: how long loading, the first run and the next ones take. */
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "model/model.h"

#define MOST_RUNS 10000
#define LEAST_RUNS 3

typedef struct model_times_t {
    double first, median, least; /* seconds */
    size_t runs;
} model_times_t;

double model_now(void) { return gantry__now_seconds(); }

static int model_compare_times(const void *left, const void *right) {
    const double a = *(const double *)left, b = *(const double *)right;
    return a < b ? -1 : a > b;
}

/* Runs the model and waits for its outputs. Returns the seconds, below 0 after a failure. */
static double model_time_run(const model_call_t *call, gantry_scope_t *outer,
                             const gantry_tensor_t *const *inputs, size_t input_count,
                             const gantry_tensor_t **outputs) {
    const size_t count = gantry_onnx_model_output_count(call->model);
    const double begin = model_now();
    gantry_scope_t *scope = gantry_scope_begin_in(outer, NULL);
    bool good = scope && gantry_onnx_model_run(call->model, scope, inputs, input_count, outputs,
                                               count) == GANTRY_OK;
    for (size_t i = 0; good && i < count; ++i) good = gantry_tensor_wait(outputs[i]) == GANTRY_OK;
    const double end = model_now();
    if (!good)
        (void)gantry_tool_fail("%s", scope && *gantry_scope_message(scope)
                                         ? gantry_scope_message(scope)
                                         : gantry_last_message());
    if (scope) (void)gantry_scope_end(scope);
    return good ? end - begin : -1;
}

static bool model_time_runs(const model_call_t *call, gantry_scope_t *scope,
                            const gantry_tensor_t *const *inputs, size_t input_count,
                            const gantry_tensor_t **outputs, double seconds, double *samples,
                            model_times_t *out) {
    out->first = model_time_run(call, scope, inputs, input_count, outputs);
    const double end = model_now() + seconds;
    double last = out->first;
    while (last >= 0 && out->runs < MOST_RUNS && (out->runs < LEAST_RUNS || model_now() < end))
        samples[out->runs++] = last = model_time_run(call, scope, inputs, input_count, outputs);
    if (last < 0) return false;
    qsort(samples, out->runs, sizeof *samples, model_compare_times);
    out->least = samples[0];
    out->median = samples[out->runs / 2];
    return true;
}

static void model_print_times(const model_call_t *call, const model_times_t *times) {
    char load[GANTRY_TOOL_TEXT_BYTES], first[GANTRY_TOOL_TEXT_BYTES];
    if (call->json) {
        gantry_json_object(call->json, NULL);
        gantry_json_text(call->json, "file", call->path);
        gantry_json_number(call->json, "load_seconds", call->load_seconds);
        gantry_json_number(call->json, "first_run_seconds", times->first);
        gantry_json_number(call->json, "median_seconds", times->median);
        gantry_json_number(call->json, "least_seconds", times->least);
        gantry_json_unsigned(call->json, "runs", times->runs);
        gantry_json_end(call->json);
        return;
    }
    (void)printf("load %s, first run %s, then %zu runs: median %.3f ms, least %.3f ms\n",
                 gantry_tool_duration_text(call->load_seconds, load),
                 gantry_tool_duration_text(times->first, first), times->runs, 1e3 * times->median,
                 1e3 * times->least);
}

static bool model_bench_with(const model_call_t *call, const convert_set_t *inputs, double seconds,
                             double *samples, const gantry_tensor_t **given,
                             const gantry_tensor_t **outputs, model_times_t *times) {
    gantry_scope_t *scope = gantry_scope_begin(call->runtime, call->device);
    if (!scope || !model_give_inputs(inputs, scope, given)) {
        if (scope) (void)gantry_scope_end(scope);
        (void)gantry_tool_fail_last();
        return false;
    }
    const bool good =
        model_time_runs(call, scope, given, inputs->count, outputs, seconds, samples, times);
    (void)gantry_scope_end(scope);
    return good;
}

int model_bench(const model_call_t *call) {
    convert_set_t inputs;
    model_times_t times = {0};
    double seconds = 2;
    if (!gantry_command_number(call->values, "seconds", 0.01, 3600, &seconds))
        return GANTRY_TOOL_WRONG_USAGE;
    int code = model_make_inputs(call, &inputs);
    const gantry_tensor_t **given = calloc(inputs.count + 1, sizeof *given);
    const gantry_tensor_t **outputs =
        calloc(gantry_onnx_model_output_count(call->model) + 1, sizeof *outputs);
    double *samples = calloc(MOST_RUNS, sizeof *samples);
    if (code == GANTRY_TOOL_OK && (!given || !outputs || !samples))
        code = gantry_tool_fail("out of host memory");
    if (code == GANTRY_TOOL_OK &&
        !model_bench_with(call, &inputs, seconds, samples, given, outputs, &times))
        code = GANTRY_TOOL_FAILED;
    if (code == GANTRY_TOOL_OK) model_print_times(call, &times);
    free((void *)given);
    free((void *)outputs);
    free(samples);
    convert_set_deinit(&inputs);
    return code;
}
