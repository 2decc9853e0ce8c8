/* SPDX-License-Identifier: Apache-2.0 */
/* The host's side of opencl_cpu_matmul.cl: block sizes, how tiles are divided, scratch.
 *
 * opencl_cpu_blocks.h has the device's block sizes. A product is cut into tiles_m x tiles_n tiles
 * so that each work-item has about the same work. Because of every cut some rows or columns are
 * packed twice, so the cheapest of all cuts is chosen, with packing weighed against the arithmetic.
 * If the transposed product (c' = b' * a') fills the register tile better, that one is computed:
 * only strides change. */
#include "opencl/opencl_backend.h"
#include "opencl/matmul/opencl_matmul.h"
#include "opencl/opencl_text.h"
#include "kernels/matmul/matmul_epilogue.h"
#include "kernels/matmul/matmul_shape.h"

#include <stdio.h>
#include <string.h>

#define LARGEST_PACKED_BYTES (64 << 20) /* all work-items' blocks of b together */
/* rows of b that are further apart, and are used more than twice, are packed */
#define DIRECT_STRIDE_BYTES 1024
#define PLAIN_COLUMNS 192 /* rows of a that meet more columns of b are packed */
/* fewer multiplications do not pay for waking another core */
#define LEAST_PRODUCTS_PER_ITEM (1 << 21)
/* packing one element costs as much as so many multiplications */
#define PACK_WEIGHT 20
#define LINE_BYTES 128

/* Must have the same fields as problem_t of the device text. */
typedef struct problem_t {
    int64_t m, n, k;
    int64_t a_row, a_col;
    int64_t b_row, b_col;
    int64_t c_row, c_col, c_batch;
    int64_t tiles_m, tiles_n;
    int64_t tasks;
    int64_t mc, nc, kc;
    int64_t slot;
    int64_t is_direct, is_plain;
    int64_t bias_row, bias_col;
    int64_t batch_rank;
    int64_t batch_dims[GANTRY__OPENCL_BATCH_RANK];
    int64_t a_batch[GANTRY__OPENCL_BATCH_RANK];
    int64_t b_batch[GANTRY__OPENCL_BATCH_RANK];
} problem_t;

typedef struct plan_t {
    gantry__opencl_tile_t tile;
    problem_t problem;
    bool is_swapped; /* a and b change places */
    int64_t items;
    int64_t item_bytes; /* of one element */
    gantry__opencl_cpu_blocks_t blocks;
} plan_t;

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

static int64_t opencl_cpu_matmul_round_up(int64_t a, int64_t b) { return ceil_div(a, b) * b; }

static int64_t opencl_cpu_matmul_least(int64_t a, int64_t b) { return a < b ? a : b; }

/* The largest block of at most `most` that cuts size into even parts, in whole panels. */
static int64_t even_block(int64_t size, int64_t panel, int64_t most) {
    int64_t parts = ceil_div(size, most);
    return opencl_cpu_matmul_round_up(ceil_div(size, parts), panel);
}

gantry__opencl_tile_t gantry__opencl_tile(const gantry_device_info_t *info, int32_t dtype) {
    const int32_t width = gantry__opencl_lanes(info),
                  lanes = dtype == GANTRY_FLOAT64 ? width / 2 : width;
    /* 32 registers of 16 lanes, 16 of 8 or of 4 */
    const int64_t mr = width == 16 ? 12 : width == 8 ? 6 : 4;
    return (gantry__opencl_tile_t){mr, 2 * lanes, lanes, 2};
}

void gantry__opencl_tile_options(const gantry__opencl_tile_t *tile, int32_t dtype,
                                 char options[GANTRY__OPENCL_TILE_OPTION_BYTES]) {
    (void)snprintf(options, GANTRY__OPENCL_TILE_OPTION_BYTES,
                   "-DGANTRY_T=%s -DGANTRY_LANES=%d -DGANTRY_MR=%d -DGANTRY_VECTORS=%d",
                   gantry__k_short_name(dtype), (int)tile->lanes, (int)tile->mr,
                   (int)tile->vectors);
}

void gantry__opencl_epilogue_options(const gantry__opencl_tile_t *tile, int32_t dtype,
                                     const gantry__epilogue_t *epilogue,
                                     char options[GANTRY__OPENCL_EPILOGUE_OPTION_BYTES]) {
    gantry__opencl_tile_options(tile, dtype, options);
    const size_t length = strlen(options);
    (void)snprintf(options + length, GANTRY__OPENCL_EPILOGUE_OPTION_BYTES - length,
                   " -DGANTRY_EPILOGUE=%d",
                   (epilogue->bias ? 1 : 0) | (epilogue->has_relu ? 2 : 0));
}

int64_t gantry__opencl_tile_items(const gantry_device_info_t *info, double multiplications) {
    const double worth = multiplications / LEAST_PRODUCTS_PER_ITEM;
    const int64_t cores = info->compute_units < 1 ? 1 : info->compute_units;
    return worth < 1 ? 1 : worth < (double)cores ? (int64_t)worth : cores;
}

/* Makes a low and wide tile for few rows, which reads more of each row of b at a time. */
static void make_thin(gantry__opencl_tile_t *tile, int64_t m) {
    int64_t mr = tile->mr == 12 ? 4 : 2;
    if (m <= mr) {
        *tile = (gantry__opencl_tile_t){mr, 4 * tile->lanes, tile->lanes, 4};
    }
}

/* Makes a tile whose columns fill one vector rather than two. */
static void opencl_cpu_matmul_make_narrow(gantry__opencl_tile_t *tile, int64_t n) {
    if (n <= tile->lanes && n > tile->lanes / 2) {
        *tile = (gantry__opencl_tile_t){tile->mr, tile->lanes, tile->lanes, 1};
    }
}

/* ---- the plan ---- */

static void set_strides(problem_t *q, const gantry__opencl_matmul_t *matmul) {
    q->m = matmul->m;
    q->n = matmul->n;
    q->k = matmul->k;
    q->a_row = matmul->is_a_transposed ? 1 : matmul->k;
    q->a_col = matmul->is_a_transposed ? matmul->m : 1;
    q->b_row = matmul->is_b_transposed ? 1 : matmul->n;
    q->b_col = matmul->is_b_transposed ? matmul->k : 1;
    q->c_row = matmul->n;
    q->c_col = 1;
    q->c_batch = matmul->m * matmul->n;
    q->bias_col = 1;
    q->batch_rank = matmul->batch_rank;
    for (int32_t d = 0; d < matmul->batch_rank; ++d) {
        q->batch_dims[d] = matmul->batch_dims[d];
        q->a_batch[d] = matmul->a_batch[d];
        q->b_batch[d] = matmul->b_batch[d];
    }
}

/* Groups are columns of wider matrices. */
static void set_group_strides(problem_t *q, const gantry__opencl_matmul_t *matmul) {
    q->a_row = matmul->groups * matmul->k;
    q->b_row = q->c_row = matmul->groups * matmul->n;
    q->c_col = q->bias_col = matmul->is_interleaved ? matmul->groups : 1;
    q->c_batch = matmul->is_interleaved ? 1 : matmul->n;
}

static void exchange(int64_t *a, int64_t *b) {
    int64_t old = *a;
    *a = *b;
    *b = old;
}

/* The number of elements of c that the register tiles cover. */
static int64_t covered(const gantry__opencl_tile_t *tile, int64_t m, int64_t n) {
    return opencl_cpu_matmul_round_up(m, tile->mr) * opencl_cpu_matmul_round_up(n, tile->nr);
}

static void swap_if_better(plan_t *plan) {
    problem_t *q = &plan->problem;
    /* a tile of the transposed product is stored element by element: it must save a quarter */
    plan->is_swapped = covered(&plan->tile, q->n, q->m) * 4 < covered(&plan->tile, q->m, q->n) * 3;
    if (!plan->is_swapped) return;
    exchange(&q->m, &q->n);
    exchange(&q->a_row, &q->b_col);
    exchange(&q->a_col, &q->b_row);
    exchange(&q->c_row, &q->c_col);
    exchange(&q->bias_row, &q->bias_col);
    for (int64_t d = 0; d < q->batch_rank; ++d) exchange(&q->a_batch[d], &q->b_batch[d]);
}

/* The rows or columns of the largest of `tiles` tiles. */
static int64_t tile_extent(int64_t size, int64_t panel, int64_t tiles) {
    return ceil_div(ceil_div(size, panel), tiles) * panel;
}

static bool can_be_direct(const plan_t *plan, int64_t rows) {
    const problem_t *q = &plan->problem;
    int64_t panels = ceil_div(rows, plan->tile.mr);
    return q->b_col == 1 && panels <= plan->blocks.direct &&
           (panels <= 2 || q->b_row * plan->item_bytes <= DIRECT_STRIDE_BYTES);
}

/* Whether rows that are read together evict each other from a first-level cache, because they need
 * more than half of a set's places. */
static bool rows_collide(int64_t row_bytes, int64_t rows) {
    enum { SETS = 64, LINE = 64, MOST = 4 };
    int8_t taken[SETS] = {0};

    for (int64_t i = 0; i < rows; ++i) {
        if (++taken[i * row_bytes / LINE % SETS] > MOST) return true;
    }
    return false;
}

static bool can_be_plain(const plan_t *plan) {
    const problem_t *q = &plan->problem;
    return q->a_col == 1 && q->n <= PLAIN_COLUMNS &&
           !rows_collide(q->a_row * plan->item_bytes, plan->tile.mr);
}

/* The work of the busiest work-item, in multiplications per step of k. */
static int64_t cut_cost(const plan_t *plan, int64_t batches, int64_t tiles_m, int64_t tiles_n) {
    const problem_t *q = &plan->problem;
    int64_t rows = tile_extent(q->m, plan->tile.mr, tiles_m);
    int64_t columns = tile_extent(q->n, plan->tile.nr, tiles_n);
    int64_t packed = (can_be_plain(plan) ? 0 : rows) + (can_be_direct(plan, rows) ? 0 : columns);
    return ceil_div(batches * tiles_m * tiles_n, plan->items) *
           (rows * columns + PACK_WEIGHT * packed);
}

static void cut_into_tiles(plan_t *plan, int64_t batches) {
    problem_t *q = &plan->problem;
    int64_t most_m = ceil_div(q->m, plan->tile.mr);
    int64_t most_n = ceil_div(q->n, plan->tile.nr);
    int64_t best = INT64_MAX;
    q->tiles_m = 1;
    q->tiles_n = 1;
    for (int64_t tiles_m = 1; tiles_m <= opencl_cpu_matmul_least(plan->items, most_m); ++tiles_m) {
        for (int64_t tiles_n = 1; tiles_n <= opencl_cpu_matmul_least(plan->items / tiles_m, most_n);
             ++tiles_n) {
            int64_t cost = cut_cost(plan, batches, tiles_m, tiles_n);
            if (cost < best) {
                best = cost;
                q->tiles_m = tiles_m;
                q->tiles_n = tiles_n;
            }
        }
    }
    q->tasks = batches * q->tiles_m * q->tiles_n;
    plan->items = opencl_cpu_matmul_least(plan->items, q->tasks);
}

static void choose_blocks(plan_t *plan) {
    problem_t *q = &plan->problem;
    int64_t item = plan->item_bytes;
    int64_t rows = tile_extent(q->m, plan->tile.mr, q->tiles_m);
    int64_t columns = tile_extent(q->n, plan->tile.nr, q->tiles_n);
    q->kc = even_block(q->k, 1, plan->blocks.depth);
    q->mc = even_block(rows, plan->tile.mr, plan->blocks.rows);
    int64_t most_columns;
    most_columns =
        LARGEST_PACKED_BYTES / (plan->items * q->kc * item) / plan->tile.nr * plan->tile.nr;
    most_columns = most_columns < plan->tile.nr
                       ? plan->tile.nr
                       : opencl_cpu_matmul_least(most_columns, plan->blocks.columns);
    q->nc = even_block(columns, plan->tile.nr, most_columns);
    q->is_direct = can_be_direct(plan, rows);
    q->is_plain = can_be_plain(plan);
    q->slot = opencl_cpu_matmul_round_up(q->mc * q->kc + q->nc * q->kc, LINE_BYTES / item);
}

static void make_plan(const gantry_op_call_t *call, const gantry__opencl_matmul_t *matmul,
                      plan_t *out_plan) {
    const gantry_device_info_t *info = call->device_info;
    int64_t products = matmul->batch_count * matmul->m * matmul->n * matmul->k;
    int64_t worth = products / LEAST_PRODUCTS_PER_ITEM;
    *out_plan = (plan_t){.tile = gantry__opencl_tile(info, matmul->dtype),
                         .item_bytes = gantry__k_size(matmul->dtype),
                         .blocks = call->device->cpu_blocks[matmul->dtype == GANTRY_FLOAT64]};
    set_strides(&out_plan->problem, matmul);
    if (matmul->groups > 0) set_group_strides(&out_plan->problem, matmul);
    if (worth > 0) { /* another program is not built for little work */
        opencl_cpu_matmul_make_narrow(&out_plan->tile, out_plan->problem.n);
    }
    swap_if_better(out_plan);
    if (worth > 0) make_thin(&out_plan->tile, out_plan->problem.m);
    out_plan->items = gantry__opencl_tile_items(info, (double)products);
    cut_into_tiles(out_plan, matmul->batch_count);
    choose_blocks(out_plan);
}

/* ---- the kernels ---- */

GANTRY__OPENCL_PROGRAM(source, "opencl/cpu_matmul", gantry__text_opencl_cpu_types,
                       gantry__text_opencl_cpu_tile, gantry__text_opencl_cpu_matmul);

static int32_t launch_plan(gantry_op_call_t *call, const plan_t *plan, const gantry_arg_t *bias,
                           gantry_backend_kernel_t *kernel) {
    const gantry_span_t *a = &call->inputs[plan->is_swapped ? 1 : 0]->span;
    const gantry_span_t *b = &call->inputs[plan->is_swapped ? 0 : 1]->span;
    uint64_t scratch_bytes = (uint64_t)(plan->items * plan->problem.slot * plan->item_bytes);
    gantry_span_t scratch;
    GANTRY__TRY(call->services->scratch(call, scratch_bytes, &scratch));
    gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = *a},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = *b},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = call->outputs[0]->span},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = scratch},
        {.kind = GANTRY_LAUNCH_SCALAR,
         .size_bytes = sizeof plan->problem,
         .as.value = &plan->problem},
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = bias ? bias->span : *a},
    };
    return gantry__opencl_launch_items(call, kernel, plan->items, args,
                                       sizeof args / sizeof args[0] - !bias);
}

int32_t gantry__opencl_launch_items(gantry_op_call_t *call, gantry_backend_kernel_t *kernel,
                                    int64_t items, const gantry_launch_arg_t *args,
                                    size_t arg_count) {
    gantry_launch_t launch = {
        .struct_size = sizeof launch,
        .dimensions = 1,
        .global_size = {(uint64_t)items, 1, 1},
        .local_size = {1, 1, 1},
        .args = args,
        .arg_count = (uint32_t)arg_count,
    };
    return call->services->launch(call, kernel, &launch);
}

/* Whether the device takes the kernels for processors. A part that imitates a smaller GPU reports
 * that it is one, and must run what that GPU would run. */
int32_t gantry__opencl_suits_processor(const gantry_op_call_t *call) {
    return call->device && call->device->matmul == GANTRY__OPENCL_MATMUL_CPU &&
           call->device_info->type == call->device->record->info.type;
}

static int32_t compute_tiles(gantry_op_call_t *call, const gantry__opencl_matmul_t *matmul,
                             const gantry__epilogue_t *epilogue) {
    plan_t plan;
    make_plan(call, matmul, &plan);
    char options[GANTRY__OPENCL_EPILOGUE_OPTION_BYTES];
    gantry__opencl_epilogue_options(&plan.tile, matmul->dtype, epilogue, options);
    gantry_backend_kernel_t *kernel = NULL;
    GANTRY__TRY(call->services->kernel(call, &source, options, "opencl_cpu_matmul", &kernel));
    return launch_plan(call, &plan, epilogue->bias, kernel);
}

/* Forms for few rows or columns sum in another order than tiles do. */
static bool fits_dots(const gantry_op_call_t *call, const gantry__opencl_matmul_t *matmul) {
    return !gantry__k_keeps_rows(call) && gantry__opencl_dots_fit(matmul);
}

static bool fits_rows(const gantry_op_call_t *call, const gantry__opencl_matmul_t *matmul) {
    return !gantry__k_keeps_rows(call) && gantry__opencl_rows_fit(matmul);
}

static int32_t opencl_cpu_matmul_compute(gantry_op_call_t *call) {
    const gantry__epilogue_t none = {.bias = NULL};
    gantry__opencl_matmul_t matmul;
    gantry__opencl_matmul_read(call, &matmul);
    if (matmul.k == 0) return gantry__opencl_matmul_clear(call);
    if (fits_dots(call, &matmul)) return gantry__opencl_dots_compute(call, &matmul);
    if (fits_rows(call, &matmul)) return gantry__opencl_rows_compute(call, &matmul, &none);
    return compute_tiles(call, &matmul, &none);
}

/* Only products by tiles and of few rows have an epilogue. */
static int32_t opencl_cpu_matmul_supports_fused(const gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    gantry__opencl_matmul_t matmul;
    if (!gantry__opencl_suits_processor(call) || !gantry__epilogue_read(call, &epilogue)) return 0;
    gantry__opencl_matmul_read(call, &matmul);
    return matmul.k > 0 && !fits_dots(call, &matmul) &&
           (!fits_rows(call, &matmul) || gantry__opencl_rows_fit_epilogue(&matmul));
}

static int32_t opencl_cpu_matmul_compute_fused(gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    gantry__opencl_matmul_t matmul;
    (void)gantry__epilogue_read(call, &epilogue);
    gantry__opencl_matmul_read(call, &matmul);
    if (fits_rows(call, &matmul)) return gantry__opencl_rows_compute(call, &matmul, &epilogue);
    return compute_tiles(call, &matmul, &epilogue);
}

static int32_t opencl_cpu_grouped_compute(gantry_op_call_t *call) {
    const gantry__epilogue_t none = {.bias = NULL};
    gantry__opencl_matmul_t matmul;
    gantry__opencl_matmul_read_groups(call, &matmul);
    return matmul.k == 0 ? gantry__opencl_matmul_clear(call) : compute_tiles(call, &matmul, &none);
}

static int32_t opencl_cpu_grouped_supports_fused(const gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    return gantry__opencl_suits_processor(call) && gantry__epilogue_read(call, &epilogue) &&
           call->inputs[0]->dims[2] > 0;
}

static int32_t opencl_cpu_grouped_compute_fused(gantry_op_call_t *call) {
    gantry__epilogue_t epilogue;
    gantry__opencl_matmul_t matmul;
    (void)gantry__epilogue_read(call, &epilogue);
    gantry__opencl_matmul_read_groups(call, &matmul);
    return compute_tiles(call, &matmul, &epilogue);
}

static const gantry_type_constraint_t float_types[] = {{"T", GANTRY_DTYPES_FLOATS}};

const gantry_kernel_def_t gantry__opencl_cpu_matmul_kernels[GANTRY__OPENCL_MATMUL_OPS] =
    GANTRY__MATMUL_KERNELS(GANTRY__MATMUL_ABOVE_PACK, float_types, GANTRY_KERNEL_BATCH_INVARIANT,
                           NULL, gantry__opencl_suits_processor, opencl_cpu_matmul_compute);

const gantry_kernel_def_t gantry__opencl_cpu_fused_kernel =
    GANTRY__MATMUL_FUSED_KERNEL(&gantry__opencl_cpu_matmul_kernels[0], GANTRY__MATMUL_ABOVE_PACK,
                                float_types, GANTRY_KERNEL_BATCH_INVARIANT, NULL,
                                opencl_cpu_matmul_supports_fused, opencl_cpu_matmul_compute_fused);

const gantry_kernel_def_t gantry__opencl_cpu_grouped_kernel = GANTRY__MATMUL_GROUPED_KERNEL(
    GANTRY__MATMUL_ABOVE_PACK, float_types, GANTRY_KERNEL_BATCH_INVARIANT, NULL,
    gantry__opencl_suits_processor, opencl_cpu_grouped_compute);

const gantry_kernel_def_t gantry__opencl_cpu_fused_grouped_kernel =
    GANTRY__MATMUL_FUSED_GROUPED_KERNEL(
        &gantry__opencl_cpu_grouped_kernel, GANTRY__MATMUL_ABOVE_PACK, float_types,
        GANTRY_KERNEL_BATCH_INVARIANT, NULL, opencl_cpu_grouped_supports_fused,
        opencl_cpu_grouped_compute_fused);
