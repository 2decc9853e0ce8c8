/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of opencl_cpu_conv.cl: ConvolveImages on processors, and _FusedConvolveImages
 * with a bias, a Relu, or both; their results may have their channels first. */
#include <stdio.h>

#include "opencl/opencl_backend.h"
#include "opencl/matmul/opencl_matmul.h"
#include "opencl/opencl_text.h"
#include "kernels/matmul/matmul_shape.h"
#include "kernels/window/window_shape.h"

#include "kernels/window/window_lines.cl"

#define PLANE_PLACES 64 /* of a block that is moved to planes at once; as in opencl_cpu_conv.cl */
#define PACKED_BYTES (INT64_C(512) << 10) /* of the filter at once: it stays in the second cache */

/* Must have the same fields as problem_t of the device text. */
typedef struct problem_t {
    gantry__windows_t window;
    int64_t m, n, k;
    int64_t nc;
    int64_t slot;
    int64_t without_padding;
    int64_t group;
} problem_t;

GANTRY__OPENCL_PROGRAM(source, "opencl/cpu_conv", gantry__text_dialect, gantry__text_launch,
                       gantry__text_work, gantry__text_window, gantry__text_window_lines,
                       gantry__text_opencl_cpu_types, gantry__text_opencl_cpu_tile,
                       gantry__text_opencl_cpu_conv);

static int64_t opencl_cpu_conv_least(int64_t a, int64_t b) { return a < b ? a : b; }

static problem_t opencl_cpu_conv_make_problem(const gantry_op_call_t *call,
                                              const gantry__opencl_tile_t *tile) {
    static const gantry__window_names_t names = {"strides", "dilations", NULL};
    const gantry_arg_t *images = call->inputs[0], *filter = call->inputs[1];
    int64_t dims[4];
    const gantry_arg_t out = gantry__window_result_arg(call, dims);
    const int64_t n = filter->dims[3];
    problem_t q = {.m = out.element_count / n,
                   .n = n,
                   .k = filter->element_count / n,
                   .without_padding = gantry__window_is_without_padding(call)};
    const int64_t panels = (n + tile->nr - 1) / tile->nr;
    const int64_t fit = PACKED_BYTES / (q.k * tile->nr * (int64_t)gantry__k_size(out.dtype));
    gantry__window_fill(call, &names, images, &out, filter->dims[0], filter->dims[1], &q.window);
    q.group = gantry__k_keeps_rows(call) ? q.window.out_height * q.window.out_width : q.m;
    q.nc = opencl_cpu_conv_least(panels, fit > 0 ? fit : 1) * tile->nr;
    q.slot = q.nc * q.k + GANTRY_PANEL_STRIPS + GANTRY_PANEL_ZEROS;
    if (out.dims == dims) q.slot += q.nc * PLANE_PLACES;
    return q;
}

static int32_t opencl_cpu_conv_launch(gantry_op_call_t *call, const problem_t *q, int64_t items,
                                      const gantry_arg_t *bias, gantry_backend_kernel_t *kernel) {
    gantry_span_t scratch;
    GANTRY__TRY(call->services->scratch(
        call, (uint64_t)(items * q->slot * (int64_t)gantry__k_size(call->outputs[0]->dtype)),
        &scratch));
    gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = call->inputs[0]->span},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = call->inputs[1]->span},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = call->outputs[0]->span},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = scratch},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof *q, .as.value = q},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = bias ? bias->span : scratch},
    };
    return gantry__opencl_launch_items(call, kernel, items, args,
                                       sizeof args / sizeof args[0] - !bias);
}

/* Takes the outputs that one vector holds: a panel of one vector, by as many places as accumulators
 * fit. It must choose as the CPU backend does, for the same bits. */
static void opencl_cpu_conv_make_narrow(gantry__opencl_tile_t *tile, int64_t n) {
    if (n <= tile->lanes) {
        *tile = (gantry__opencl_tile_t){GANTRY_PANEL_PLACES, tile->lanes, tile->lanes, 1};
    }
}

static int32_t convolve_on_processor(gantry_op_call_t *call, const gantry__epilogue_t *epilogue) {
    const int32_t dtype = call->outputs[0]->dtype;
    gantry__opencl_tile_t tile = gantry__opencl_tile(call->device_info, dtype);
    const bool is_few = gantry__has_few_outputs(call->inputs[1]->dims[3], call->inputs[0]->dims[3],
                                                (int64_t)gantry__k_size(dtype));
    char tile_options[GANTRY__OPENCL_EPILOGUE_OPTION_BYTES],
        options[sizeof tile_options + sizeof " -DGANTRY_FEW=0 -DGANTRY_PLANES=0"];
    if (!is_few) opencl_cpu_conv_make_narrow(&tile, call->inputs[1]->dims[3]);
    const problem_t q = opencl_cpu_conv_make_problem(call, &tile);
    const double work = (double)q.m * (double)q.n * (double)q.k;
    gantry__opencl_epilogue_options(&tile, dtype, epilogue, tile_options);
    (void)snprintf(options, sizeof options, "%s -DGANTRY_FEW=%d%s", tile_options, is_few,
                   gantry__window_is_planar(call, "output_format") ? " -DGANTRY_PLANES=1" : "");
    gantry_backend_kernel_t *kernel = NULL;
    GANTRY__TRY(call->services->kernel(call, &source, options, "opencl_cpu_conv", &kernel));
    return opencl_cpu_conv_launch(call, &q, gantry__opencl_tile_items(call->device_info, work),
                                  epilogue->bias, kernel);
}

static int32_t opencl_cpu_conv_compute(gantry_op_call_t *call) {
    const gantry__epilogue_t none = {.bias = NULL};
    if (call->inputs[1]->element_count == 0) return gantry__opencl_matmul_clear(call);
    return convolve_on_processor(call, &none);
}

/* The lines of window_lines.cl need the channels last. Places that are summed again for the padding
 * must be in the result. */
static int32_t opencl_cpu_conv_supports(const gantry_op_call_t *call) {
    return gantry__opencl_suits_processor(call) && gantry__window_is_whole(call) &&
           !gantry__window_is_planar(call, "input_format") &&
           !(gantry__window_is_planar(call, "output_format") &&
             gantry__window_is_without_padding(call));
}

/* Without padding, sums that have a NaN are computed again, which must come before the epilogue. */
static int32_t opencl_cpu_conv_supports_fused(const gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    return opencl_cpu_conv_supports(call) && gantry__epilogue_read(call, &epilogue) &&
           call->inputs[1]->element_count > 0 && !gantry__window_is_without_padding(call);
}

static int32_t opencl_cpu_conv_compute_fused(gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    (void)gantry__epilogue_read(call, &epilogue);
    return convolve_on_processor(call, &epilogue);
}

static const gantry_type_constraint_t float_types[] = {{"T", GANTRY_DTYPES_FLOATS}};

const gantry_kernel_def_t gantry__opencl_cpu_conv_kernel = GANTRY_K_DEFINITION(
    "ConvolveImages", float_types, 1, NULL, 0, .priority = GANTRY__MATMUL_ABOVE_PACK,
    .supports = opencl_cpu_conv_supports, .compute = opencl_cpu_conv_compute);

const gantry_kernel_def_t gantry__opencl_cpu_fused_conv_kernel = GANTRY_K_DEFINITION(
    "_FusedConvolveImages", float_types, 1, NULL, 0, .priority = GANTRY__MATMUL_ABOVE_PACK,
    .supports = opencl_cpu_conv_supports_fused, .compute = opencl_cpu_conv_compute_fused,
    .data = &gantry__opencl_cpu_conv_kernel);
