/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of opencl_cpu_filter_kernels.cl: _ImagesFilterGradient on processors. */
#include "opencl/matmul/opencl_matmul.h"
#include "opencl/opencl_text.h"
#include "kernels/matmul/conv_filter_shape.h"

#define LINE_ELEMENTS 32 /* where the parts begin */

GANTRY__OPENCL_PROGRAM(source, "opencl/cpu_filter", gantry__text_dialect, gantry__text_launch,
                       gantry__text_work, gantry__text_window, gantry__text_opencl_cpu_types,
                       gantry__text_opencl_cpu_tile, gantry__text_opencl_cpu_filter,
                       gantry__text_conv_filter, gantry__text_opencl_cpu_filter_kernels);

static gantry_launch_arg_t filter_span(const gantry_span_t *span) {
    return (gantry_launch_arg_t){.kind = GANTRY_LAUNCH_SPAN, .as.span = *span};
}

/* Launches the kernel of that name over spans and the shape, which must be the last argument. */
static int32_t launch_filter(gantry_op_call_t *call, const char *name, const char *options,
                             const gantry__filter_t *shape, gantry_launch_arg_t *args,
                             size_t arg_count, int64_t items) {
    gantry_backend_kernel_t *kernel = NULL;
    args[arg_count - 1] = (gantry_launch_arg_t){
        .kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof *shape, .as.value = shape};
    GANTRY__TRY(call->services->kernel(call, &source, options, name, &kernel));
    return gantry__opencl_launch_items(call, kernel, items, args, arg_count);
}

static int32_t opencl_cpu_filter_compute(gantry_op_call_t *call) {
    const gantry_arg_t *out = call->outputs[0];
    const gantry__opencl_tile_t tile = gantry__opencl_tile(call->device_info, out->dtype);
    const int64_t size = gantry__k_size(out->dtype);
    char options[GANTRY__OPENCL_TILE_OPTION_BYTES];
    gantry__filter_t shape;
    gantry_span_t memory;
    if (call->inputs[2]->element_count == 0) return gantry__opencl_matmul_clear(call);
    const double work = (double)out->element_count *
                        ((double)call->inputs[2]->element_count / (double)out->dims[3]);
    gantry__filter_fill(call, tile.mr, tile.nr, gantry__opencl_tile_items(call->device_info, work),
                        &shape);
    const int64_t lanes =
        (gantry__filter_lane_memory(&shape) + LINE_ELEMENTS - 1) / LINE_ELEMENTS * LINE_ELEMENTS;
    GANTRY__TRY(call->services->scratch(
        call, (uint64_t)((lanes + gantry__filter_part_memory(&shape)) * size), &memory));
    gantry_span_t parts = memory;
    parts.offset_bytes += (uint64_t)(lanes * size);
    if (shape.chunks == 1) parts = out->span;
    gantry__opencl_tile_options(&tile, out->dtype, options);
    gantry_launch_arg_t args[] = {filter_span(&call->inputs[0]->span),
                                  filter_span(&call->inputs[2]->span), filter_span(&parts),
                                  filter_span(&memory), filter_span(&memory)};
    GANTRY__TRY(
        launch_filter(call, "opencl_cpu_filter_lanes", options, &shape, args, 5, shape.lanes));
    if (shape.chunks == 1) return GANTRY_OK;
    gantry_launch_arg_t sums[] = {filter_span(&parts), filter_span(&out->span),
                                  filter_span(&memory)};
    return launch_filter(call, "opencl_cpu_filter_chunks", options, &shape, sums, 3,
                         gantry__opencl_tile_items(
                             call->device_info, (double)out->element_count * (double)shape.chunks));
}

static int32_t opencl_cpu_filter_supports(const gantry_op_call_t *call) {
    return gantry__opencl_suits_processor(call) && gantry__filter_is_whole(call);
}

static const gantry_type_constraint_t float_types[] = {{"T", GANTRY_DTYPES_FLOATS}};
static const char *const hosts[] = {"filter_sizes"};

const gantry_kernel_def_t gantry__opencl_cpu_filter_kernel = GANTRY_K_DEFINITION(
    "_ImagesFilterGradient", float_types, 1, hosts, 1, .supports = opencl_cpu_filter_supports,
    .compute = opencl_cpu_filter_compute);
