/* SPDX-License-Identifier: Apache-2.0 */
/* Describes a call to the kernels of its device (asked_call.h). */
#include "run/asked_call.h"

#include "device/device_open.h"

void gantry__asked_init(gantry__asked_call_t *call, gantry__op_id_t op, uint32_t input_count) {
    call->infer = (gantry__infer_t){.op = gantry__op_get(op),
                                    .input_count = input_count,
                                    .shapes = call->shapes,
                                    .dtypes = call->dtypes,
                                    .out_shapes = call->out_shapes,
                                    .out_dtypes = call->out_dtypes,
                                    .piece_first = -1,
                                    .known_bool = -1};
}

static void asked_describe_arg(gantry_dtype_t dtype, const gantry_shape_t *shape,
                               gantry_arg_t *arg) {
    *arg = (gantry_arg_t){.struct_size = sizeof *arg,
                          .dtype = (int32_t)dtype,
                          .rank = shape->rank,
                          .dims = shape->dims,
                          .element_count = gantry_shape_elements(shape)};
}

static void asked_describe(gantry__asked_call_t *call, const gantry_logical_device_t *device) {
    const gantry__infer_t *infer = &call->infer;
    gantry_arg_t *arg = call->args;
    call->abi = (gantry_op_call_t){.struct_size = sizeof call->abi,
                                   .input_count = infer->input_count,
                                   .output_count = infer->output_count,
                                   .attr_count = infer->op->attr_count,
                                   .inputs = call->inputs,
                                   .outputs = call->outputs,
                                   .attrs = call->attrs,
                                   .op = infer->op->name,
                                   .device = device->handle,
                                   .device_info = &device->info,
                                   .stream = device->streams[GANTRY_STREAM_COMPUTE].handle};
    for (uint32_t i = 0; i < infer->input_count; ++i, ++arg) {
        asked_describe_arg(call->dtypes[i], call->shapes[i], arg);
        call->inputs[i] = arg;
    }
    for (uint32_t i = 0; i < infer->output_count; ++i, ++arg) {
        asked_describe_arg(call->out_dtypes[i], &call->out_shapes[i], arg);
        call->outputs[i] = arg;
    }
    for (uint32_t i = 0; i < infer->op->attr_count; ++i) call->attrs[i] = &infer->attrs[i];
}

static gantry_status_t asked_find(gantry_runtime_t *runtime, gantry__asked_call_t *call,
                                  const gantry__wish_t *wish, bool batch_invariant,
                                  const gantry_logical_device_t *device,
                                  const gantry_kernel_def_t **out_kernel) {
    const gantry__place_request_t request = gantry__dispatch_request(
        runtime, call->infer.op, call->infer.attrs, wish, NULL, batch_invariant);
    gantry__kept_plan_t *kept;
    GANTRY__TRY(gantry__plan_cache_place(&runtime->plans, &request, &kept));
    if (device && kept->plan.device != device) return GANTRY_OK;
    GANTRY__TRY(gantry__logical_device_open(kept->plan.device));
    asked_describe(call, kept->plan.device);
    call->abi.flags = gantry__plan_call_flags(&kept->plan);
    for (uint32_t i = 0; i < kept->plan.kernel_count && !*out_kernel; ++i) {
        const gantry_kernel_def_t *def = kept->plan.kernels[i]->def;
        call->abi.kernel = def;
        if (!def->supports || def->supports(&call->abi)) *out_kernel = def;
    }
    return GANTRY_OK;
}

gantry_status_t gantry__asked_find_kernel(gantry_runtime_t *runtime, gantry__asked_call_t *call,
                                          const gantry__wish_t *wish, bool batch_invariant,
                                          const gantry_logical_device_t *device,
                                          const gantry_kernel_def_t **out_kernel) {
    const uint32_t before = gantry__failures();
    *out_kernel = NULL;
    gantry_status_t status = asked_find(runtime, call, wish, batch_invariant, device, out_kernel);
    if (status == GANTRY_OK || status == GANTRY_RESOURCE_EXHAUSTED) return status;
    *out_kernel = NULL;
    gantry__forget_since(before);
    return GANTRY_OK;
}
