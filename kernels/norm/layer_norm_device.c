/* SPDX-License-Identifier: Apache-2.0 */
/* LayerNormRows on devices. The source is kernels/norm/layer_norm.cl. */
#include <stdbool.h>

#include "kernels/common/device_kernel.h"
#include "host/try.h"
#include "kernels/reduce/reduce_device.h"

/* Work-groups for each core of a CPU. */
#define GROUPS_PER_UNIT 16

/* Must have the same fields as gantry__norm_t of layer_norm.cl. */
typedef struct norm_t {
    int64_t length, rows, lanes, each;
    uint64_t epsilon;
} norm_t;

GANTRY_K_PROGRAM(source, "portable/layer_norm", gantry__text_math_float32,
                 gantry__text_math_float64, gantry__text_fold_lanes, gantry__text_row_tile,
                 gantry__text_layer_norm);

static norm_t norm_of(const gantry_op_call_t *call) {
    const gantry_arg_t *x = call->inputs[0];
    const int64_t groups = (int64_t)call->device_info->compute_units * GROUPS_PER_UNIT;
    norm_t norm = {.length = call->inputs[1]->element_count, .lanes = GANTRY_REDUCE_LANES};
    norm.rows = x->element_count / norm.length;
    norm.each = groups > 0 ? (norm.rows + groups - 1) / groups : 1;
    norm.epsilon = gantry__k_wide_bits(x->dtype, gantry__k_attr(call, "epsilon")->f);
    while (norm.lanes / 2 >= norm.length) norm.lanes /= 2;
    return norm;
}

static int32_t norm_find_kernel(gantry_op_call_t *call, const char *name,
                                gantry_backend_kernel_t **out_kernel) {
    const gantry__k_options_t options = gantry__k_options_of_type(call, call->inputs[0]->dtype);
    return call->services->kernel(call, &source, options.text, name, out_kernel);
}

/* Whether each row gets a group of its own; the kernel is then norm_few. */
static bool takes_norm_few(gantry_op_call_t *call, const norm_t *norm,
                           gantry_backend_kernel_t **out_kernel) {
    return gantry__reduce_are_few(call, norm->rows, norm->length) &&
           norm_find_kernel(call, "norm_few", out_kernel) == GANTRY_OK &&
           gantry__k_group_limit(call, *out_kernel) >= GANTRY_REDUCE_FEW_ITEMS;
}

static int32_t device_compute_layer_norm(gantry_op_call_t *call) {
    const bool on_cpu = gantry__k_is_serial(call);
    const norm_t norm = norm_of(call);
    const gantry_launch_arg_t args[] = {
        gantry__k_span(call->inputs[0]), gantry__k_span(call->inputs[1]),
        gantry__k_span(call->inputs[2]), gantry__k_span(call->outputs[0]),
        gantry__k_scalar(&norm, sizeof norm)};
    gantry_backend_kernel_t *kernel = NULL;
    if (takes_norm_few(call, &norm, &kernel))
        return gantry__k_launch_groups(call, kernel, (uint64_t)norm.rows, GANTRY_REDUCE_FEW_ITEMS,
                                       args, 5);
    const uint64_t items =
        (uint64_t)(on_cpu ? (norm.rows + norm.each - 1) / norm.each : norm.rows * norm.lanes);
    GANTRY__TRY(norm_find_kernel(call, on_cpu ? "norm_rows" : "norm_group", &kernel));
    return gantry__k_launch_1d(call, kernel, items, on_cpu ? 1 : gantry__k_local_for(call, items),
                               args, 5);
}

GANTRY_LAYER_NORM_OPS(GANTRY_K_PORTABLE_KERNEL)
