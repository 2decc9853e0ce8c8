/* SPDX-License-Identifier: Apache-2.0 */
/* _Attention and _AttentionGrad on devices. The source is kernels/attention/attention.cl. */
#include "kernels/attention/attention_shape.h"
#include "kernels/common/device_kernel.h"
#include "host/try.h"
#include "kernels/common/work.h"

/* Vectors of a tile, and the sides of blocks, as in the text: on processors they fill the caches;
 * elsewhere a group's local memory must hold them, or the private memory of a work-item. */
#define TILE_VECTORS 4
#define LEAST_PADDED 16 /* heads are padded to a multiple, so that fewer programs are built */
#define SIDE_ON_CPU 64
#define SIDE_ON_CPU_OF_LARGE 32 /* heads of more than 256 elements */
#define SIDE_SHARED_MOST 16
#define SIDE_OF_ITEM 8
#define SHARED_ITEMS 64
#define SHARED_BYTES 30720 /* of local memory, of which every device has 32 KiB */
/* Matrices of rows of a block that the kernels hold. */
#define MATRICES_FORWARD 3
#define MATRICES_BACKWARD 8

GANTRY_K_PROGRAM(attention_source, "portable/attention", gantry__text_half,
                 gantry__text_math_float32, gantry__text_math_float64, gantry__text_attention);

/* How a call runs: the side of a block, and the work-items of a group. */
typedef struct attention_form_t {
    int64_t side;
    uint32_t items, lanes, tile; /* tile: heads are padded to a multiple */
} attention_form_t;

static int64_t padded_dim(int64_t dim, uint32_t tile) { return (dim + tile - 1) / tile * tile; }

/* The bytes of local memory of a group, and a little more; matrices: of `side` rows of a head. */
static int64_t shared_bytes(const gantry_op_call_t *call, const gantry__attention_t *a,
                            uint32_t tile, int64_t side, int64_t matrices) {
    const int64_t widest = a->dim > a->value_dim ? a->dim : a->value_dim;
    return (matrices * padded_dim(widest, tile) + 3 * side + 4) * side *
           gantry__k_size(gantry__attention_sum_type(call->inputs[0]->dtype));
}

static attention_form_t attention_form(const gantry_op_call_t *call, const gantry__attention_t *a,
                                       int64_t matrices) {
    const uint32_t lanes = gantry__k_math_lanes(call), vectors = TILE_VECTORS * lanes;
    attention_form_t form = {.items = 1, .lanes = lanes, .side = SIDE_OF_ITEM};
    form.tile = vectors < LEAST_PADDED ? LEAST_PADDED : vectors;
    if (gantry__k_is_serial(call)) {
        form.side = a->dim > 256 || a->value_dim > 256 ? SIDE_ON_CPU_OF_LARGE : SIDE_ON_CPU;
        return form;
    }
    for (int64_t side = SIDE_SHARED_MOST; side >= TILE_VECTORS; side /= 2) {
        if (shared_bytes(call, a, form.tile, side, matrices) > SHARED_BYTES) continue;
        form.side = side;
        form.items = SHARED_ITEMS;
        break;
    }
    return form;
}

static int32_t find_attention(gantry_op_call_t *call, const gantry__attention_t *a,
                              const attention_form_t *form, const char *name,
                              gantry_backend_kernel_t **out_kernel) {
    gantry__k_options_t options = gantry__k_options_of_type(call, call->inputs[0]->dtype);
    gantry__k_define(&options, "A_DIM", (uint32_t)padded_dim(a->dim, form->tile));
    gantry__k_define(&options, "A_VALUE_DIM", (uint32_t)padded_dim(a->value_dim, form->tile));
    gantry__k_define(&options, "A_MASK", (uint32_t)a->mask_kind);
    if (form->items > 1) gantry__k_define(&options, "A_SHARED", (uint32_t)form->side);
    if (form->lanes > 1) gantry__k_define(&options, "MATH_LANES", form->lanes);
    return call->services->kernel(call, &attention_source, options.text, name, out_kernel);
}

/* Launches a kernel for `rows` rows of each of `heads` heads. A driver that allows no groups of
 * that size gets groups of one. */
static int32_t attention_launch(gantry_op_call_t *call, const gantry__attention_t *a,
                                const char *name, int64_t heads, int64_t rows, int64_t matrices,
                                const gantry_launch_arg_t *args, uint32_t arg_count) {
    attention_form_t form = attention_form(call, a, matrices);
    gantry_backend_kernel_t *kernel = NULL;
    if (heads * rows == 0) return GANTRY_OK;
    GANTRY__TRY(find_attention(call, a, &form, name, &kernel));
    if (form.items > gantry__k_group_limit(call, kernel)) {
        form.items = 1;
        form.side = SIDE_OF_ITEM;
        GANTRY__TRY(find_attention(call, a, &form, name, &kernel));
    }
    const uint64_t groups = (uint64_t)(heads * ((rows + form.side - 1) / form.side));
    return gantry__k_launch_groups(call, kernel, groups, form.items, args, arg_count);
}

static int32_t device_compute_attention(gantry_op_call_t *call) {
    const gantry__attention_t a = gantry__attention_of(call);
    const gantry_launch_arg_t args[] = {
        gantry__k_span(call->inputs[0]),  gantry__k_span(call->inputs[1]),
        gantry__k_span(call->inputs[2]),  gantry__k_span(call->inputs[3]),
        gantry__k_span(call->outputs[0]), gantry__k_span(call->outputs[1]),
        gantry__k_scalar(&a, sizeof a)};
    return attention_launch(call, &a, "attention_rows", a.batch * a.heads, a.queries,
                            MATRICES_FORWARD, args, 7);
}

/* Launches the gradients by `rows` rows of each of `heads` heads: output `first`, and the one after
 * it if there are two. */
static int32_t launch_slopes(gantry_op_call_t *call, const gantry__attention_t *a, const char *name,
                             int64_t heads, int64_t rows, uint32_t first, uint32_t count) {
    gantry_launch_arg_t args[10];
    uint32_t used = 0;
    for (; used < 7; ++used) args[used] = gantry__k_span(call->inputs[used]);
    for (uint32_t i = 0; i < count; ++i) args[used++] = gantry__k_span(call->outputs[first + i]);
    args[used++] = gantry__k_scalar(a, sizeof *a);
    return attention_launch(call, a, name, heads, rows, MATRICES_BACKWARD, args, used);
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
