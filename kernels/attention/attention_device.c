/* SPDX-License-Identifier: Apache-2.0 */
/* _Attention and _AttentionGrad on devices: on cards the tiles of attention_tile.cl, elsewhere the
 * blocks of attention.cl. */
#include "kernels/attention/attention_shape.h"
#include "kernels/common/device_kernel.h"
#include "host/try.h"
#include "kernels/common/work.h"

/* Heads are padded to a multiple, so that fewer programs are built. */
#define PADDED 16
/* Vectors of a block's tile, and the sides of blocks, as in attention.cl. */
#define TILE_VECTORS 4
#define SIDE_ON_CPU 64
#define SIDE_ON_CPU_OF_LARGE 32 /* heads of more than 256 elements */
#define SIDE_OF_ITEM 8
/* Sides, work-items and the depth of tiles, as in attention_tile.cl. */
#define TILE_SIDE_MOST 64
#define TILE_SIDE_LEAST 16
#define TILE_ITEMS_MOST 128u
#define TILE_ITEMS_LEAST 64u
#define TILE_DEPTH 16
#define TILE_BYTES_MOST 30720     /* of local memory, so that several groups run at a time */
#define ITEM_BYTES_MOST 256       /* of sums that an item has in registers */
#define LEAST_ITEM_BYTES_MOST 512 /* the same where the side is the least */

/* The kernels of attention_tile.cl have programs of their own, which a driver compiles as they are
 * needed. */
enum { TILE_ROWS = 0, TILE_QUERIES = 1, TILE_KEYS = 2 };

GANTRY_K_PROGRAM(attention_source, "portable/attention", gantry__text_half,
                 gantry__text_math_float32, gantry__text_math_float64, gantry__text_attention_plan,
                 gantry__text_attention);
GANTRY_K_PROGRAM(tile_source, "portable/attention_tile", gantry__text_half,
                 gantry__text_math_float32, gantry__text_math_float64, gantry__text_attention_plan,
                 gantry__text_attention_tile);

/* How a call runs: the side of a block or tile, and the work-items of a group. */
typedef struct attention_form_t {
    int64_t side;
    uint32_t items, lanes, padded; /* padded: heads are padded to a multiple */
} attention_form_t;

static int64_t padded_dim(int64_t dim, uint32_t multiple) {
    return (dim + multiple - 1) / multiple * multiple;
}

/* Whether a group's tiles are in local memory, and an item's sums in registers. held: the elements
 * of a row of results. */
static bool tile_fits(const gantry_op_call_t *call, int64_t side, uint32_t items, int64_t held) {
    const int64_t size = gantry__k_size(gantry__attention_sum_type(call->inputs[0]->dtype)),
                  bytes = (side * side + 2 * TILE_DEPTH * (side + 1) + 3 * side + items) * size,
                  most = side == TILE_SIDE_LEAST ? LEAST_ITEM_BYTES_MOST : ITEM_BYTES_MOST;
    return bytes <= TILE_BYTES_MOST && side <= items &&
           (uint64_t)bytes <= call->device_info->local_memory_bytes &&
           side * padded_dim(held, PADDED) * size <= most * items;
}

/* The side of tiles for groups of so many items; 0 if there is none. Few queries or keys have the
 * least. */
static int64_t tile_side(const gantry_op_call_t *call, const gantry__attention_t *a, uint32_t items,
                         int64_t held) {
    int64_t side = TILE_SIDE_MOST;
    if (a->queries <= TILE_SIDE_LEAST || a->keys <= TILE_SIDE_LEAST) side = TILE_SIDE_LEAST;
    while (side >= TILE_SIDE_LEAST && !tile_fits(call, side, items, held)) side /= 2;
    return side >= TILE_SIDE_LEAST ? side : 0;
}

/* The form whose groups have at most so many items. */
static attention_form_t attention_form(const gantry_op_call_t *call, const gantry__attention_t *a,
                                       int64_t held, uint32_t most) {
    const uint32_t lanes = gantry__k_math_lanes(call), vectors = TILE_VECTORS * lanes;
    attention_form_t form = {.items = 1, .lanes = lanes, .side = SIDE_OF_ITEM};
    form.padded = vectors < PADDED ? PADDED : vectors;
    if (gantry__k_is_serial(call)) {
        form.side = a->dim > 256 || a->value_dim > 256 ? SIDE_ON_CPU_OF_LARGE : SIDE_ON_CPU;
        return form;
    }
    for (uint32_t items = TILE_ITEMS_MOST; items >= TILE_ITEMS_LEAST; items /= 2) {
        const int64_t side = items <= most ? tile_side(call, a, items, held) : 0;
        if (side == 0) continue;
        form.side = side;
        form.items = items;
        break;
    }
    return form;
}

static int32_t find_attention_tile(gantry_op_call_t *call, const gantry__attention_t *a,
                                   const attention_form_t *form, uint32_t program, const char *name,
                                   gantry_backend_kernel_t **out_kernel) {
    const bool has_cap = gantry__k_attr(call, "softcap")->f > 0;
    gantry__k_options_t options = gantry__k_options_of_type(call, call->inputs[0]->dtype);
    gantry__k_define(&options, "A_DIMS",
                     (uint32_t)(padded_dim(a->dim, PADDED) / PADDED * 100 +
                                padded_dim(a->value_dim, PADDED) / PADDED));
    gantry__k_define(&options, "A_MASK", (uint32_t)a->mask_kind + (has_cap ? 3 : 0));
    gantry__k_define(&options, "A_TILE",
                     program * 100000 + (uint32_t)form->side * 1000 + form->items);
    return call->services->kernel(call, &tile_source, options.text, name, out_kernel);
}

/* A kernel of blocks and one of tiles, for `rows` rows of each of `heads` heads. */
typedef struct attention_part_t {
    const char *names[2];
    uint32_t program; /* of tiles: TILE_ROWS, ... */
    int64_t heads, rows;
    int64_t held; /* the elements of a row of results */
} attention_part_t;

static int32_t find_attention(gantry_op_call_t *call, const gantry__attention_t *a,
                              const attention_part_t *part, const attention_form_t *form,
                              gantry_backend_kernel_t **out_kernel) {
    if (form->items > 1)
        return find_attention_tile(call, a, form, part->program, part->names[1], out_kernel);
    gantry__k_options_t options = gantry__k_options_of_type(call, call->inputs[0]->dtype);
    gantry__k_define(&options, "A_DIM", (uint32_t)padded_dim(a->dim, form->padded));
    gantry__k_define(&options, "A_VALUE_DIM", (uint32_t)padded_dim(a->value_dim, form->padded));
    gantry__k_define(&options, "A_MASK", (uint32_t)a->mask_kind);
    if (form->lanes > 1) gantry__k_define(&options, "MATH_LANES", form->lanes);
    return call->services->kernel(call, &attention_source, options.text, part->names[0],
                                  out_kernel);
}

/* Sets the form of a part and its kernel. A driver that allows the kernel no groups of that size
 * gets smaller ones. */
static int32_t choose_attention(gantry_op_call_t *call, const gantry__attention_t *a,
                                const attention_part_t *part, attention_form_t *out_form,
                                gantry_backend_kernel_t **out_kernel) {
    uint32_t most = call->device_info->max_work_group_size;
    do {
        *out_form = attention_form(call, a, part->held, most);
        GANTRY__TRY(find_attention(call, a, part, out_form, out_kernel));
        most = gantry__k_group_limit(call, *out_kernel);
    } while (out_form->items > 1 && out_form->items > most);
    return GANTRY_OK;
}

static int32_t launch_attention(gantry_op_call_t *call, const attention_part_t *part,
                                const attention_form_t *form, gantry_backend_kernel_t *kernel,
                                const gantry_launch_arg_t *args, uint32_t arg_count) {
    const uint64_t groups = (uint64_t)(part->heads * ((part->rows + form->side - 1) / form->side));
    return gantry__k_launch_groups(call, kernel, groups, form->items, args, arg_count);
}

static int32_t device_compute_attention(gantry_op_call_t *call) {
    const gantry__attention_t a = gantry__attention_of(call);
    const attention_part_t rows = {.names = {"attention_rows", "attention_tile_rows"},
                                   .program = TILE_ROWS,
                                   .heads = a.batch * a.heads,
                                   .rows = a.queries,
                                   .held = a.value_dim};
    const gantry_launch_arg_t args[] = {
        gantry__k_span(call->inputs[0]),  gantry__k_span(call->inputs[1]),
        gantry__k_span(call->inputs[2]),  gantry__k_span(call->inputs[3]),
        gantry__k_span(call->outputs[0]), gantry__k_span(call->outputs[1]),
        gantry__k_scalar(&a, sizeof a)};
    attention_form_t form;
    gantry_backend_kernel_t *kernel = NULL;
    if (rows.heads * rows.rows == 0) return GANTRY_OK;
    GANTRY__TRY(choose_attention(call, &a, &rows, &form, &kernel));
    return launch_attention(call, &rows, &form, kernel, args, 7);
}

/* Makes sum(slope out) of each query, in scratch memory, if it has none. */
static int32_t make_along(gantry_op_call_t *call, const gantry__attention_t *a,
                          const attention_form_t *form, gantry_span_t *along) {
    const int64_t rows = a->batch * a->heads * a->queries,
                  size = gantry__k_size(gantry__attention_sum_type(call->inputs[0]->dtype));
    gantry_backend_kernel_t *kernel = NULL;
    if (along->size_bytes > 0) return GANTRY_OK;
    GANTRY__TRY(call->services->scratch(call, (uint64_t)(rows * size), along));
    const gantry_launch_arg_t args[] = {gantry__k_span(call->inputs[4]),
                                        gantry__k_span(call->inputs[6]), gantry__k_raw_span(*along),
                                        gantry__k_scalar(a, sizeof *a)};
    GANTRY__TRY(find_attention_tile(call, a, form, TILE_QUERIES, "attention_tile_along", &kernel));
    return gantry__k_launch_1d(call, kernel, (uint64_t)rows, TILE_ITEMS_LEAST, args, 4);
}

/* Computes output `first`, and the one after it if there are two. */
static int32_t compute_slopes(gantry_op_call_t *call, const gantry__attention_t *a,
                              const attention_part_t *part, gantry_span_t *along, uint32_t first,
                              uint32_t count) {
    gantry_launch_arg_t args[10];
    uint32_t used = 0;
    attention_form_t form;
    gantry_backend_kernel_t *kernel = NULL;
    if (part->heads * part->rows == 0) return GANTRY_OK;
    GANTRY__TRY(choose_attention(call, a, part, &form, &kernel));
    for (; used < 7; ++used) args[used] = gantry__k_span(call->inputs[used]);
    if (form.items > 1 && a->queries > 0) {
        GANTRY__TRY(make_along(call, a, &form, along));
        args[4] = gantry__k_raw_span(*along);
    }
    for (uint32_t i = 0; i < count; ++i) args[used++] = gantry__k_span(call->outputs[first + i]);
    args[used++] = gantry__k_scalar(a, sizeof *a);
    return launch_attention(call, part, &form, kernel, args, used);
}

static int32_t device_compute_attention_grad(gantry_op_call_t *call) {
    const gantry__attention_t a = gantry__attention_of(call);
    const attention_part_t queries = {.names = {"attention_queries", "attention_tile_queries"},
                                      .program = TILE_QUERIES,
                                      .heads = a.batch * a.heads,
                                      .rows = a.queries,
                                      .held = a.dim},
                           keys = {.names = {"attention_keys", "attention_tile_keys"},
                                   .program = TILE_KEYS,
                                   .heads = a.batch * a.key_heads,
                                   .rows = a.keys,
                                   .held = a.dim + a.value_dim};
    gantry_span_t along = {.size_bytes = 0};
    GANTRY__TRY(compute_slopes(call, &a, &queries, &along, 0, 1));
    return compute_slopes(call, &a, &keys, &along, 1, 2);
}

GANTRY_ATTENTION_OPS(GANTRY_K_PORTABLE_KERNEL)

static const gantry_kernel_def_t *const attention_kernels[] = {
    GANTRY_ATTENTION_OPS(GANTRY_K_PORTABLE_KERNEL_POINTER)};
GANTRY_K_PACK(attention, "portable/attention", attention_kernels);
