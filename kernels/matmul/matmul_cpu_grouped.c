/* SPDX-License-Identifier: Apache-2.0 */
/* _GroupedMatMul and _FusedGroupedMatMul of the CPU backend: each group multiplies columns of its
 * own, as a grouped convolution of one pixel does.
 *
 *     x [rows, g0 g1 g2] -> [rows, g0 g1 g2]              for each block of rows: all groups
 *                        -> [rows, 0 1 2 0 1 2 ...]       interleaved: by a tile of a block of rows
 *
 * A block of rows of the result stays in a cache until it is interleaved and its program has run.
 * The bits are those of a product of each group by itself (matmul_cpu.c): where these depend on the
 * number of rows, each group is computed at once, and all is interleaved after. */
#include "kernels/matmul/matmul_cpu.h"

#include <string.h>

#include "host/try.h"
#include "kernels/common/cpu_interleave.h"
#include "kernels/matmul/matmul_cpu_epilogue.h"
#include "kernels/matmul/matmul_shape.h"

/* The rows of a block: so many that packing B for each costs little, and few enough for the L2
 * cache. */
#define BLOCK_ROWS 96
/* The units of each thread: each has memory of its own. */
#define THREAD_UNITS 4
/* Multiplications, and bytes, that pay for another thread. */
#define PARALLEL_WORK (INT64_C(1) << 20)
#define PARALLEL_BYTES (INT64_C(1) << 16)

typedef struct {
    gantry_op_call_t *call;
    gantry__cpu_groups_t groups;
    const gantry__cpu_epilogue_t *epilogue; /* NULL: none */
    bool is_interleaved;
    int64_t size, width; /* bytes of an element; elements of a row of the result */
    int64_t block, each; /* the rows of a block and of a unit */
    char *memory;        /* by unit: packed panels, and a tile */
    uint64_t packed_bytes, unit_bytes;
    const char *whole; /* the result before it is interleaved */
} grouped_t;

/* Takes rows [row, row + rows), which `from` has if they are not interleaved yet. */
static void finish_rows(const grouped_t *grouped, const char *from, int64_t row, int64_t rows) {
    if (grouped->is_interleaved) {
        const gantry__cpu_groups_t *groups = &grouped->groups;
        gantry__cpu_interleave_rows(
            (char *)grouped->call->outputs[0]->data + row * grouped->width * grouped->size, from,
            grouped->size, rows, groups->count, groups->gemm.n);
    }
    if (grouped->epilogue)
        gantry__cpu_epilogue_run(grouped->epilogue, row, rows, 0, grouped->width);
}

static void run_row_block(const grouped_t *grouped, int64_t row, int64_t rows, char *memory) {
    const gantry__cpu_groups_t *groups = &grouped->groups;
    const int64_t size = grouped->size;
    char *tile = memory + grouped->packed_bytes;
    gantry__cpu_gemm_t gemm = groups->gemm;
    gemm.m = rows;
    gemm.a = (const char *)gemm.a + row * gemm.a_row * size;
    gemm.c = grouped->is_interleaved ? tile : (char *)gemm.c + row * gemm.c_row * size;
    for (int64_t i = 0; i < groups->count; ++i) {
        gantry__cpu_multiply_blocked(NULL, &gemm, groups->loops, size, memory);
        gemm.a = (const char *)gemm.a + groups->a_step * size;
        gemm.b = (const char *)gemm.b + groups->b_step * size;
        gemm.c = (char *)gemm.c + groups->c_step * size;
    }
    finish_rows(grouped, tile, row, rows);
}

/* Computes units [begin, end), which use the memory of the first one. */
static void run_row_units(void *context, int64_t begin, int64_t end) {
    const grouped_t *grouped = context;
    char *memory = grouped->memory + (uint64_t)begin * grouped->unit_bytes;
    const int64_t last = gantry__least(end * grouped->each, grouped->groups.gemm.m);
    for (int64_t row = begin * grouped->each; row < last; row += grouped->block)
        run_row_block(grouped, row, gantry__least(grouped->block, last - row), memory);
}

static int32_t multiply_by_rows(grouped_t *grouped) {
    const gantry__cpu_groups_t *groups = &grouped->groups;
    const gantry_backend_device_t *device = grouped->call->device;
    const int64_t panel = groups->loops->rows, rows = groups->gemm.m,
                  threads = device->pool ? (int64_t)gantry__cpu_pool_threads(device->pool) : 1,
                  share = (rows + threads - 1) / threads, most = gantry__least(share, BLOCK_ROWS);
    gantry__cpu_gemm_t gemm = groups->gemm;
    gantry_span_t span;
    int64_t a_bytes;
    gemm.m = grouped->block = (most + panel - 1) / panel * panel;
    const int64_t blocks = (rows + grouped->block - 1) / grouped->block,
                  most_units = THREAD_UNITS * threads,
                  per_unit = (blocks + most_units - 1) / most_units,
                  units = (blocks + per_unit - 1) / per_unit,
                  work = per_unit * gemm.m * gemm.k * grouped->width;
    grouped->each = per_unit * grouped->block;
    grouped->packed_bytes =
        (gantry__cpu_packed_bytes(&gemm, groups->loops, grouped->size, &a_bytes) + 63) / 64 * 64;
    grouped->unit_bytes = grouped->packed_bytes;
    if (grouped->is_interleaved)
        grouped->unit_bytes += (uint64_t)(gemm.m * grouped->width * grouped->size + 63) / 64 * 64;
    GANTRY__TRY(grouped->call->services->scratch(grouped->call,
                                                 grouped->unit_bytes * (uint64_t)units, &span));
    grouped->memory = (char *)(uintptr_t)(span.region + span.offset_bytes);
    gantry__cpu_parallel_for(grouped->call->device, units, PARALLEL_WORK / (work + 1) + 1,
                             run_row_units, grouped);
    return GANTRY_OK;
}

static void finish_range(void *context, int64_t begin, int64_t end) {
    const grouped_t *grouped = context;
    finish_rows(grouped, grouped->whole + begin * grouped->width * grouped->size, begin,
                end - begin);
}

static int32_t multiply_at_once(grouped_t *grouped) {
    gantry_op_call_t *call = grouped->call;
    const int64_t row_bytes = grouped->width * grouped->size;
    gantry_span_t span;
    if (grouped->is_interleaved) {
        GANTRY__TRY(
            call->services->scratch(call, (uint64_t)(grouped->groups.gemm.m * row_bytes), &span));
        grouped->groups.gemm.c = (char *)(uintptr_t)(span.region + span.offset_bytes);
    }
    grouped->whole = grouped->groups.gemm.c;
    GANTRY__TRY(gantry__cpu_multiply_groups(call, &grouped->groups));
    gantry__cpu_parallel_for(call->device, grouped->groups.gemm.m, PARALLEL_BYTES / row_bytes + 1,
                             finish_range, grouped);
    return GANTRY_OK;
}

static int32_t grouped_multiply(gantry_op_call_t *call, const gantry__cpu_epilogue_t *epilogue) {
    const gantry_arg_t *x = call->inputs[0], *w = call->inputs[1];
    gantry_arg_t *output = call->outputs[0];
    const int64_t count = x->dims[1], depth = x->dims[2], columns = w->dims[2],
                  width = count * columns;
    grouped_t grouped = {.call = call,
                         .epilogue = epilogue,
                         .is_interleaved = count > 1 && columns > 1 &&
                                           gantry__k_attr_int(call, "interleaved", 0) != 0,
                         .size = gantry__k_size(output->dtype),
                         .width = width,
                         .groups = {.count = count,
                                    .a_step = depth,
                                    .b_step = columns,
                                    .c_step = columns,
                                    .b_input = 1,
                                    .loops = GANTRY_CPU_PICK(gantry__cpu_simd_level(call->device),
                                                             gemm_loops)(output->dtype),
                                    .gemm = {.m = x->dims[0],
                                             .n = columns,
                                             .k = depth,
                                             .a = x->data,
                                             .a_row = count * depth,
                                             .a_column = 1,
                                             .b = w->data,
                                             .b_row = width,
                                             .b_column = 1,
                                             .c = output->data,
                                             .c_row = width,
                                             .c_column = 1,
                                             .keeps_rows = gantry__k_keeps_rows(call)}}};
    if (output->element_count == 0) return GANTRY_OK;
    if (depth == 0) {
        memset(output->data, 0, (size_t)(output->element_count * grouped.size));
        grouped.is_interleaved = false;
        finish_rows(&grouped, NULL, 0, x->dims[0]);
        return GANTRY_OK;
    }
    return gantry__cpu_is_blocked(call->device, &grouped.groups.gemm, output->dtype)
               ? multiply_by_rows(&grouped)
               : multiply_at_once(&grouped);
}

static int32_t grouped_compute(gantry_op_call_t *call) { return grouped_multiply(call, NULL); }

static int32_t grouped_compute_fused(gantry_op_call_t *call) {
    gantry__cpu_epilogue_t epilogue;
    gantry__cpu_epilogue_init(&epilogue, call);
    return grouped_multiply(call, &epilogue);
}

static const gantry_type_constraint_t grouped_types[] = {{"T", GANTRY_DTYPES_FLOATS}};
const gantry_kernel_def_t gantry__cpu_grouped_kernel = GANTRY__MATMUL_GROUPED_KERNEL(
    0, grouped_types, GANTRY_KERNEL_BATCH_INVARIANT, GANTRY__CPU_LIBRARIES, NULL, grouped_compute);
const gantry_kernel_def_t gantry__cpu_fused_grouped_kernel = GANTRY__MATMUL_FUSED_GROUPED_KERNEL(
    &gantry__cpu_grouped_kernel, 0, grouped_types, GANTRY_KERNEL_BATCH_INVARIANT,
    GANTRY__CPU_LIBRARIES, NULL, grouped_compute_fused);
