/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and their gradients by cuDNN: ConvolveImages, _FusedConvolveImages with a bias, a
 * Relu, or both, _ImagesGradient and _ImagesFilterGradient.
 *
 * supports() makes the plan, so that a form without one is known before anything is placed, and
 * composed ops take patches and products instead. float32 is computed in float32, unless
 * GANTRY_CUDA_MATMUL_PRECISION lets operands be rounded; halves are summed in float32 and rounded
 * once. The workspace comes from the core's scratch, as much as the plan needs; where scratch is
 * not available, a plan that needs none is taken. An operand that is not aligned as plans need it
 * is copied first. */
#include "cuda/cuda_backend.h"
#include "cuda/cudnn/cuda_cudnn.h"
#include "cuda/cudnn/cuda_cudnn_call.h"
#include "cuda/cudnn/cuda_cudnn_plan.h"
#include "kernels/matmul/matmul_epilogue.h"
#include "kernels/matmul/matmul_shape.h"

#define SCRATCH_ALIGNMENT UINT64_C(256)

/* ---- whether cuDNN takes a call ---- */

static bool cudnn_conv_card_suits(const gantry_op_call_t *call) {
    return call->device && gantry__matmul_has_whole_card(call, &call->device->record->info) &&
           (call->outputs[0]->dtype != GANTRY_BFLOAT16 || call->device->record->capability >= 80);
}

/* Counts beyond 32 bits are left to the other kernels. */
static bool cudnn_conv_has_size(const gantry__cudnn_call_t *read) {
    for (int32_t id = GANTRY__CUDNN_IMAGE; id <= GANTRY__CUDNN_OPERANDS; ++id) {
        const gantry_arg_t *arg = read->args[id];
        if (arg && (arg->element_count <= 0 || arg->element_count > INT32_MAX)) return false;
    }
    return true;
}

/* One order of channels is for both images and result: passes over graphs may exchange orders only
 * where no bit changes, and another order is another engine. */
static bool cudnn_conv_takes(const gantry_op_call_t *call, const gantry__cudnn_call_t *read) {
    uint64_t bytes;
    return read->form.image_is_planar == read->form.result_is_planar && cudnn_conv_has_size(read) &&
           gantry__cudnn_takes(call->device, &read->form, &bytes);
}

static int32_t cudnn_conv_supports_forward(const gantry_op_call_t *call) {
    static const gantry__epilogue_t none = {.bias = NULL};
    gantry__cudnn_call_t read;
    if (!cudnn_conv_card_suits(call) || !gantry__cudnn_pads_with_zeros(call)) return 0;
    gantry__cudnn_read_forward(call, &none, &read);
    return cudnn_conv_takes(call, &read);
}

static int32_t cudnn_conv_supports_fused(const gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    gantry__cudnn_call_t read;
    if (!cudnn_conv_card_suits(call) || !gantry__cudnn_pads_with_zeros(call) ||
        !gantry__epilogue_read(call, &epilogue))
        return 0;
    gantry__cudnn_read_forward(call, &epilogue, &read);
    return cudnn_conv_takes(call, &read);
}

static int32_t cudnn_conv_supports_image(const gantry_op_call_t *call) {
    gantry__cudnn_call_t read;
    if (!cudnn_conv_card_suits(call)) return 0;
    gantry__cudnn_read_image_gradient(call, &read);
    return cudnn_conv_takes(call, &read);
}

static int32_t cudnn_conv_supports_filter(const gantry_op_call_t *call) {
    gantry__cudnn_call_t read;
    if (!cudnn_conv_card_suits(call)) return 0;
    gantry__cudnn_read_filter_gradient(call, &read);
    return cudnn_conv_takes(call, &read);
}

/* ---- memory ---- */

static uint64_t cudnn_conv_bytes(const gantry_arg_t *arg) {
    return (uint64_t)arg->element_count * gantry__k_size(arg->dtype);
}

static uint64_t cudnn_conv_round(uint64_t bytes) {
    return (bytes + SCRATCH_ALIGNMENT - 1) / SCRATCH_ALIGNMENT * SCRATCH_ALIGNMENT;
}

/* Whether an operand must be copied to begin where plans need it. Results begin there. */
static bool cudnn_conv_is_askew(const gantry__cudnn_call_t *read, int32_t id) {
    const gantry_arg_t *arg = read->args[id];
    return arg && id != read->result &&
           gantry__cuda_address(&arg->span) % GANTRY__CUDNN_ALIGNMENT != 0;
}

/* Takes memory for the workspace, which comes first, and for copies. */
static int32_t cudnn_conv_take_scratch(gantry_op_call_t *call, const gantry__cudnn_call_t *read,
                                       uint64_t workspace_bytes, gantry_span_t *out_scratch) {
    uint64_t bytes = cudnn_conv_round(workspace_bytes);
    *out_scratch = (gantry_span_t){0, 0, 0};
    for (int32_t id = GANTRY__CUDNN_IMAGE; id <= GANTRY__CUDNN_OPERANDS; ++id) {
        if (cudnn_conv_is_askew(read, id))
            bytes += cudnn_conv_round(cudnn_conv_bytes(read->args[id]));
    }
    return bytes > 0 ? call->services->scratch(call, bytes, out_scratch) : GANTRY_OK;
}

static int32_t cudnn_conv_copy(gantry_op_call_t *call, const gantry_arg_t *arg,
                               gantry_span_t *scratch, gantry__cu_address_t *out_at) {
    gantry_span_t from = arg->span, to = *scratch;
    const uint64_t bytes = cudnn_conv_bytes(arg);
    from.size_bytes = to.size_bytes = bytes;
    *out_at = gantry__cuda_address(&to);
    scratch->offset_bytes += cudnn_conv_round(bytes);
    return call->services->copy(call, &to, &from);
}

/* ---- computing ---- */

static int32_t cudnn_conv_find_operands(gantry_op_call_t *call, const gantry__cudnn_call_t *read,
                                        uint64_t workspace_bytes, gantry_span_t scratch,
                                        gantry__cudnn_operands_t *out) {
    *out = (gantry__cudnn_operands_t){.workspace =
                                          workspace_bytes > 0 ? gantry__cuda_address(&scratch) : 0};
    scratch.offset_bytes += cudnn_conv_round(workspace_bytes);
    for (int32_t id = GANTRY__CUDNN_IMAGE; id <= GANTRY__CUDNN_OPERANDS; ++id) {
        if (!read->args[id]) continue;
        out->at[id] = gantry__cuda_address(&read->args[id]->span);
        if (cudnn_conv_is_askew(read, id))
            GANTRY__TRY(cudnn_conv_copy(call, read->args[id], &scratch, &out->at[id]));
    }
    return GANTRY_OK;
}

/* Takes the form without a workspace, if there is no memory for one. */
static int32_t cudnn_conv_prepare(gantry_op_call_t *call, gantry__cudnn_call_t *read,
                                  gantry__cudnn_operands_t *out_operands) {
    const gantry__cudnn_form_t first = read->form;
    uint64_t workspace_bytes;
    gantry_span_t scratch;
    (void)gantry__cudnn_takes(call->device, &read->form, &workspace_bytes);
    int32_t status = cudnn_conv_take_scratch(call, read, workspace_bytes, &scratch);
    if (status == GANTRY_RESOURCE_EXHAUSTED && workspace_bytes > 0) {
        read->form.most_workspace_bytes = 0;
        if (gantry__cudnn_takes(call->device, &read->form, &workspace_bytes))
            status = cudnn_conv_take_scratch(call, read, 0, &scratch);
    }
    if (status == GANTRY_RESOURCE_EXHAUSTED)
        gantry__cudnn_refuse(call->device, &first, "there is no memory for its workspace");
    GANTRY__TRY(status);
    return cudnn_conv_find_operands(call, read, workspace_bytes, scratch, out_operands);
}

/* The context must be current meanwhile, for the library and for scratch. */
static int32_t cudnn_conv_run(gantry_op_call_t *call, gantry__cudnn_call_t *read) {
    gantry__cudnn_operands_t operands;
    GANTRY__TRY(gantry__cuda_stream_check(call->stream));
    gantry_backend_device_t *device = call->device;
    const bool is_inside = gantry__cuda_is_inside(device);
    gantry__cu_result_t native = is_inside ? GANTRY__CU_SUCCESS : gantry__cuda_enter(device);
    if (native != GANTRY__CU_SUCCESS) {
        return gantry__driver_check(device->host, native, "%s on \"%.200s\"", call->op,
                                    device->record->hardware_name);
    }
    int32_t status = cudnn_conv_prepare(call, read, &operands);
    if (status == GANTRY_OK)
        status = gantry__cudnn_run(device, &read->form, &operands, call->stream->handle);
    const uint64_t took = gantry__library_memory_took(device, &device->cudnn_memory);
    if (!is_inside) gantry__cuda_leave(device);
    gantry__library_memory_report(call, took);
    return status;
}

static int32_t cudnn_conv_compute_forward(gantry_op_call_t *call) {
    static const gantry__epilogue_t none = {.bias = NULL};
    gantry__cudnn_call_t read;
    gantry__cudnn_read_forward(call, &none, &read);
    return cudnn_conv_run(call, &read);
}

static int32_t cudnn_conv_compute_fused(gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    gantry__cudnn_call_t read;
    (void)gantry__epilogue_read(call, &epilogue);
    gantry__cudnn_read_forward(call, &epilogue, &read);
    return cudnn_conv_run(call, &read);
}

static int32_t cudnn_conv_compute_image(gantry_op_call_t *call) {
    gantry__cudnn_call_t read;
    gantry__cudnn_read_image_gradient(call, &read);
    return cudnn_conv_run(call, &read);
}

static int32_t cudnn_conv_compute_filter(gantry_op_call_t *call) {
    gantry__cudnn_call_t read;
    gantry__cudnn_read_filter_gradient(call, &read);
    return cudnn_conv_run(call, &read);
}

/* ---- the kernels ---- */

static const gantry_type_constraint_t cudnn_conv_types[] = {
    {"T", GANTRY_DTYPE_BIT(GANTRY_FLOAT32) | GANTRY_DTYPES_HALVES}};
/* The library rounds a half once, after the epilogue; the single ops round it after each op. */
static const gantry_type_constraint_t cudnn_conv_fused_types[] = {
    {"T", GANTRY_DTYPE_BIT(GANTRY_FLOAT32)}};
static const char *const cudnn_conv_image_hosts[] = {"input_sizes"};
static const char *const cudnn_conv_filter_hosts[] = {"filter_sizes"};

const gantry_kernel_def_t gantry__cudnn_kernels[GANTRY__CUDNN_OPS] = {
    GANTRY_K_PROMISING(GANTRY_KERNEL_ANY_ORDER, "ConvolveImages", cudnn_conv_types, 1, NULL, 0,
                       .priority = GANTRY__MATMUL_ABOVE_PACK, .library = "cuDNN",
                       .supports = cudnn_conv_supports_forward,
                       .compute = cudnn_conv_compute_forward),
    GANTRY_K_PROMISING(GANTRY_KERNEL_ANY_ORDER, "_FusedConvolveImages", cudnn_conv_fused_types, 1,
                       NULL, 0, .priority = GANTRY__MATMUL_ABOVE_PACK, .library = "cuDNN",
                       .supports = cudnn_conv_supports_fused, .compute = cudnn_conv_compute_fused,
                       .data = &gantry__cudnn_kernels[0]),
    GANTRY_K_PROMISING(GANTRY_KERNEL_ANY_ORDER, "_ImagesGradient", cudnn_conv_types, 1,
                       cudnn_conv_image_hosts, 1, .priority = GANTRY__MATMUL_ABOVE_PACK,
                       .library = "cuDNN", .supports = cudnn_conv_supports_image,
                       .compute = cudnn_conv_compute_image),
    GANTRY_K_PROMISING(GANTRY_KERNEL_ANY_ORDER, "_ImagesFilterGradient", cudnn_conv_types, 1,
                       cudnn_conv_filter_hosts, 1, .priority = GANTRY__MATMUL_ABOVE_PACK,
                       .library = "cuDNN", .supports = cudnn_conv_supports_filter,
                       .compute = cudnn_conv_compute_filter)};
