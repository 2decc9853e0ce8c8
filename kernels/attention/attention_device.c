/* SPDX-License-Identifier: Apache-2.0 */
/* _Attention and _AttentionGrad on devices. The source is kernels/attention/attention.cl. */
#include "kernels/attention/attention_shape.h"
#include "kernels/common/device_kernel.h"
#include "host/try.h"
#include "kernels/common/work.h"

/* Vectors of a tile, and the sides of blocks, as in the text: on processors they fill the caches, on
 * others the private memory of a work-item must hold them. */
#define TILE_VECTORS 4
#define LEAST_PADDED 16 /* heads are padded to a multiple, so that fewer programs are built */
#define SIDE_ON_CPU 64
#define SIDE_ON_CPU_OF_LARGE 32 /* heads of more than 256 elements */
#define SIDE_ELSEWHERE 8

GANTRY_K_PROGRAM(attention_source, "portable/attention", gantry__text_half,
                 gantry__text_math_float32, gantry__text_math_float64, gantry__text_attention);

static uint32_t attention_side(const gantry_op_call_t *call, const gantry__attention_t *a) {
    if (!gantry__k_is_serial(call)) return SIDE_ELSEWHERE;
    return a->dim > 256 || a->value_dim > 256 ? SIDE_ON_CPU_OF_LARGE : SIDE_ON_CPU;
}

static int32_t attention_find_kernel(gantry_op_call_t *call, const gantry__attention_t *a,
                                     const char *name, gantry_backend_kernel_t **out_kernel) {
    gantry__k_options_t options = gantry__k_options_of_type(call, call->inputs[0]->dtype);
    const uint32_t lanes = gantry__k_math_lanes(call), vectors = TILE_VECTORS * lanes,
                   tile = vectors < LEAST_PADDED ? LEAST_PADDED : vectors;
    gantry__k_define(&options, "A_DIM", (uint32_t)(a->dim + tile - 1) / tile * tile);
    gantry__k_define(&options, "A_VALUE_DIM", (uint32_t)(a->value_dim + tile - 1) / tile * tile);
    gantry__k_define(&options, "A_MASK", (uint32_t)a->mask_kind);
    if (lanes > 1) gantry__k_define(&options, "MATH_LANES", lanes);
    return call->services->kernel(call, &attention_source, options.text, name, out_kernel);
}

static int32_t device_compute_attention(gantry_op_call_t *call) {
    const gantry__attention_t a = gantry__attention_of(call);
    const int64_t side = attention_side(call, &a);
    const uint64_t groups = (uint64_t)(a.batch * a.heads * ((a.queries + side - 1) / side));
    gantry_backend_kernel_t *kernel = NULL;
    if (groups == 0) return GANTRY_OK;
    GANTRY__TRY(attention_find_kernel(call, &a, "attention_rows", &kernel));
    const gantry_launch_arg_t args[] = {
        gantry__k_span(call->inputs[0]),  gantry__k_span(call->inputs[1]),
        gantry__k_span(call->inputs[2]),  gantry__k_span(call->inputs[3]),
        gantry__k_span(call->outputs[0]), gantry__k_span(call->outputs[1]),
        gantry__k_scalar(&a, sizeof a)};
    return gantry__k_launch_groups(call, kernel, groups, 1, args, 7);
}

/* Launches the gradients by `rows` rows of each of `heads` heads: output `first`, and the one after
 * it if there are two. */
static int32_t launch_slopes(gantry_op_call_t *call, const gantry__attention_t *a, const char *name,
                             int64_t heads, int64_t rows, uint32_t first, uint32_t count) {
    const int64_t side = attention_side(call, a);
    const uint64_t groups = (uint64_t)(heads * ((rows + side - 1) / side));
    gantry_launch_arg_t args[10];
    gantry_backend_kernel_t *kernel = NULL;
    uint32_t used = 0;
    if (groups == 0) return GANTRY_OK;
    for (; used < 7; ++used) args[used] = gantry__k_span(call->inputs[used]);
    for (uint32_t i = 0; i < count; ++i) args[used++] = gantry__k_span(call->outputs[first + i]);
    args[used++] = gantry__k_scalar(a, sizeof *a);
    GANTRY__TRY(attention_find_kernel(call, a, name, &kernel));
    return gantry__k_launch_groups(call, kernel, groups, 1, args, used);
}

static int32_t device_compute_attention_grad(gantry_op_call_t *call) {
    const gantry__attention_t a = gantry__attention_of(call);
    GANTRY__TRY(launch_slopes(call, &a, "attention_queries", a.batch * a.heads, a.queries, 0, 1));
    return launch_slopes(call, &a, "attention_keys", a.batch * a.key_heads, a.keys, 1, 2);
}

GANTRY_ATTENTION_OPS(GANTRY_K_PORTABLE_KERNEL)

static const gantry_kernel_def_t *const attention_kernels[] = {
    GANTRY_ATTENTION_OPS(GANTRY_K_PORTABLE_KERNEL_POINTER)};
GANTRY_K_PACK(attention, "portable/attention", attention_kernels);
