/* SPDX-License-Identifier: Apache-2.0 */
/* How large the results of a node of constants will be. A node is lowered in a trace, which knows
 * sizes and computes nothing, and which ends as soon as they are known. */
#include <gantry/gantry.h>

#include "onnx/lower/run.h"
#include "shared/fail.h"

/* A node that is measured. */
typedef struct onnx_measure_t {
    const gantry__onnx_call_t *call;
    double bytes; /* -1: not known. */
} onnx_measure_t;

/* The most elements of a result that has as many as the product of its inputs' elements. */
static double most_elements(const gantry__onnx_call_t *call) {
    double most = 1;
    for (size_t i = 0; i < call->input_count; ++i) {
        const int64_t elements = call->inputs[i] ? gantry_tensor_elements(call->inputs[i]) : 1;
        most *= elements < 2 ? 2 : (double)elements; /* 2: Concat adds them */
    }
    return most;
}

static double bytes_of_results(const gantry__onnx_call_t *call) {
    double bytes = 0;
    for (size_t i = 0; i < call->output_count; ++i) {
        const gantry_tensor_t *x = call->outputs[i];
        if (x && gantry_tensor_elements(x) > 0)
            bytes += (double)gantry_tensor_elements(x) *
                     (double)gantry_dtype_size(gantry_tensor_dtype(x));
    }
    return bytes;
}

/* The body of the trace, which fails in any case. */
static void measure_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    onnx_measure_t *measure = user;
    gantry__onnx_call_t call = *measure->call;
    (void)inputs;
    (void)outputs;
    call.scope = scope;
    const gantry_status_t status = call.row->lower(&call);
    if (status == GANTRY_OK) measure->bytes = bytes_of_results(&call);
    (void)gantry_scope_fail(scope, status == GANTRY_OK ? GANTRY_ABORTED : status, "measured");
}

/* Results of a lowering that fails are not known: the node fails again where it is computed. */
static double measure_by_trace(const gantry__onnx_call_t *call) {
    gantry__onnx_run_t *run = call->run;
    const gantry__onnx_run_t before = *run;
    onnx_measure_t measure = {NULL, -1};
    gantry__onnx_call_t own = *call;
    gantry_function_t *function = NULL;
    own.host = gantry_scope_begin(run->constants->runtime, "/CPU:0"); /* it may fail in there */
    if (!own.host) return -1;
    measure.call = &own;
    if (gantry_function_trace(run->constants->runtime, "sizes", measure_body, &measure, NULL, 0, 1,
                              NULL, &function) == GANTRY_OK)
        gantry_function_release(function);
    (void)gantry_scope_end(own.host);
    gantry__onnx_scratch_free(run, before.scratch);
    run->is_reported = before.is_reported;
    run->needs_node = before.needs_node;
    run->needs_input = before.needs_input;
    run->is_out_of_memory = before.is_out_of_memory;
    for (size_t i = 0; i < call->output_count; ++i) call->outputs[i] = NULL;
    return measure.bytes;
}

/* The most bytes of results that the host computes while a body is traced. */
#define MOST_KNOWN_BYTES (32 << 20)

bool gantry__onnx_is_small(const gantry__onnx_call_t *call) {
    if (call->row->extent == GANTRY__ONNX_BOUND && most_elements(call) * 8 <= MOST_KNOWN_BYTES)
        return true;
    return measure_by_trace(call) <= MOST_KNOWN_BYTES;
}

gantry_status_t gantry__onnx_check_folding(const gantry__onnx_call_t *call) {
    const gantry__onnx_constants_t *constants = call->run->constants;
    const double room = gantry__onnx_constants_room(constants);
    if (call->row->extent == GANTRY__ONNX_FILLS) return GANTRY_OK; /* bounded by the plan */
    if (call->row->extent == GANTRY__ONNX_BOUND && most_elements(call) * 16 <= room)
        return GANTRY_OK;
    const double bytes = measure_by_trace(call);
    if (bytes <= room) return GANTRY_OK;
    char node[512];
    gantry__onnx_describe_node(call->node, node, sizeof node);
    call->run->is_too_large = true;
    return gantry__fail(GANTRY_RESOURCE_EXHAUSTED,
                        "%s: %s: what is computed of constants takes %.0f bytes more; %.0f are "
                        "left of 16 for each byte of the model's tensors and 256 MiB",
                        constants->plan.model->path, node, bytes, room);
}
