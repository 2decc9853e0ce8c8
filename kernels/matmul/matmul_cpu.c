/* SPDX-License-Identifier: Apache-2.0 */
/* MatMul, BatchMatMul and _FusedMatMul of the CPU backend: shapes, batches, blocks, threads. The
 * loops are in matmul_cpu_simd.c, products by a library in matmul_cpu_library.c, those of 16-bit
 * types in matmul_cpu_narrow.c, those of groups in matmul_cpu_grouped.c.
 *
 * A product uses the first of these algorithms that fits:
 *   tiny      a few multiplications: plain loops
 *   thin      at most six rows (or columns) of C: the time is that of reading B once. Threads share
 *             the columns of C, or, if the rows of B are short, the rows of B
 *   library   float32 and large, unless few rows meet a large B or rows of B clash in the cache:
 *             stripes of C, one call of the library for each
 *   blocked   packed panels. K is cut into blocks of about 256. For each block all threads pack A's
 *             and B's panels, and then compute C's tiles:
 *
 *                         B: k block x up to 2048 columns
 *                A  [1]  [tile 0,0 | tile 0,1 | ...]
 *                   [2]  [tile 1,0 | ...           ]
 *
 *             The packed A of a block has up to 2048 rows. A tile is up to 8 panels of A, which
 *             fit the L2 cache, times up to 512 columns. A constant is packed once for all calls.
 *
 * The order in which an element of C is summed over k depends only on the shapes and the number of
 * stripes, so results are the same from run to run. In a blocked product it depends on k only; so a
 * floating product with GANTRY_CALL_BATCH_INVARIANT is blocked, or thin in the same order
 * (matmul_cpu_ordered.h). In a batch of small products each one is computed by a single
 * thread. */
#include "kernels/matmul/matmul_cpu.h"

#include <string.h>

#include "host/try.h"
#include "kernels/common/cpu_form.h"
#include "kernels/matmul/cpu_product.h"
#include "kernels/matmul/matmul_cpu_epilogue.h"
#include "kernels/matmul/matmul_epilogue.h"
#include "kernels/matmul/matmul_shape.h"

#define TINY_MULTIPLICATIONS 128
#define K_BLOCK 256
#define SIDE_BLOCK 2048
#define TILE_PANELS 8
#define TILE_COLUMNS 512
#define TILE_LEAST_COLUMNS 64 /* whole panels */
/* Where C has one row of tiles, B's packed panels meet A once. Pieces of so many columns are packed
 * when they are multiplied, so that they are still in the L2 cache. */
#define PIECE_COLUMNS 128
/* The columns of a part of a thin product. Long runs of memory are best while each thread gets two;
 * one suffices if the product takes microseconds. */
#define THIN_PIECE 512
#define STACK_BYTES 40960
/* Rows of B are short if so many sums of C's rows fit into so many bytes. Then threads share the
 * rows, if there are at least so many. */
#define THIN_PARTS 8
#define THIN_SUM_BYTES 32768
#define THIN_ROWS 256
/* Parts of a batch. */
#define MOST_UNITS 64
/* Multiplications that pay for another thread. */
#define PARALLEL_MULTIPLICATIONS (INT64_C(1) << 20)
/* Bytes of a matrix that pay for another thread that is awake, if a thin product reads them. */
#define PARALLEL_THIN_BYTES (INT64_C(1) << 18)

static int64_t matmul_cpu_round_up(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

/* ---- blocked ---- */

typedef struct {
    const gantry__cpu_gemm_t *gemm;
    const gantry__cpu_gemm_loops_t *loops;
    int64_t size; /* bytes of an element */
    char *packed_a, *packed_b;
    int64_t row, rows; /* the block's part of C */
    int64_t column, columns;
    int64_t k, k_count;
    int64_t tile_rows, tile_columns;
    int64_t tiles_down, tiles_across;
    bool pack_a, pack_b; /* false: it is already packed */
    bool packs_pieces;   /* tiles pack B, a piece before it is multiplied */
} block_t;

static int64_t a_panels_of(const block_t *block) {
    return block->pack_a ? (block->rows + block->loops->rows - 1) / block->loops->rows : 0;
}

/* Packs panels [begin, end), which are numbered through A's panels, then B's. */
static void pack_panels(void *context, int64_t begin, int64_t end) {
    const block_t *block = context;
    const gantry__cpu_gemm_loops_t *loops = block->loops;
    const int64_t a_panels = a_panels_of(block);
    if (begin < a_panels) {
        int64_t first = begin * loops->rows;
        int64_t count =
            gantry__least(gantry__least(end, a_panels) * loops->rows, block->rows) - first;
        loops->pack_a(block->gemm, block->row + first, count, block->k, block->k_count,
                      block->packed_a + first * block->k_count * block->size);
    }
    if (end > a_panels) {
        int64_t first = (begin > a_panels ? begin - a_panels : 0) * loops->columns;
        int64_t count = gantry__least((end - a_panels) * loops->columns, block->columns) - first;
        loops->pack_b(block->gemm, block->column + first, count, block->k, block->k_count,
                      block->packed_b + first * block->k_count * block->size);
    }
}

/* Multiplies columns [column, end) of a tile, and packs B's part of them first if it must. */
static void multiply_piece(const block_t *block, int64_t row, int64_t column, int64_t end) {
    const gantry__cpu_gemm_t *gemm = block->gemm;
    char *packed = block->packed_b + column * block->k_count * block->size;
    char *c =
        (char *)gemm->c + ((block->row + row) * gemm->c_row + block->column + column) * block->size;
    if (block->packs_pieces)
        block->loops->pack_b(gemm, block->column + column, end - column, block->k, block->k_count,
                             packed);
    block->loops->multiply(block->packed_a + row * block->k_count * block->size, packed,
                           block->k_count, c, gemm->c_row,
                           gantry__least(block->rows - row, block->tile_rows), end - column,
                           block->k > 0);
}

static void multiply_tiles(void *context, int64_t begin, int64_t end) {
    const block_t *block = context;
    const gantry__cpu_gemm_t *gemm = block->gemm;
    const int64_t step = block->packs_pieces ? PIECE_COLUMNS : block->tile_columns;
    for (int64_t tile = begin; tile < end; ++tile) {
        int64_t row = tile % block->tiles_down * block->tile_rows;
        const int64_t column = tile / block->tiles_down * block->tile_columns;
        const int64_t last = gantry__least(block->columns, column + block->tile_columns);
        for (int64_t at = column; at < last; at += step)
            multiply_piece(block, row, at, gantry__least(last, at + step));
        if (gemm->epilogue && block->k + block->k_count == gemm->k)
            gantry__cpu_epilogue_run(gemm->epilogue, block->row + row,
                                     gantry__least(block->rows - row, block->tile_rows),
                                     block->column + column,
                                     gantry__least(block->columns - column, block->tile_columns));
    }
}

static void matmul_cpu_run(gantry_backend_device_t *device, int64_t count, int64_t grain,
                           gantry__cpu_range_fn fn, void *context) {
    if (!device)
        fn(context, 0, count);
    else
        gantry__cpu_parallel_for(device, count, grain, fn, context);
}

/* The threads that a product pays for: only the caller's, those that are awake, or all. */
typedef enum { ONE_THREAD, AWAKE_THREADS, ALL_THREADS } matmul_threads_t;

/* The number of threads; NULL means only the calling one. */
static int64_t threads_of(const gantry_backend_device_t *device) {
    return device && device->pool ? (int64_t)gantry__cpu_pool_threads(device->pool) : 1;
}

static int64_t k_block_of(int64_t k) {
    int64_t blocks = (k + K_BLOCK - 1) / K_BLOCK;
    return blocks <= 1 ? k : matmul_cpu_round_up((k + blocks - 1) / blocks, 8);
}

uint64_t gantry__cpu_packed_bytes(const gantry__cpu_gemm_t *gemm,
                                  const gantry__cpu_gemm_loops_t *loops, int64_t size,
                                  int64_t *out_a_bytes) {
    const int64_t k = k_block_of(gemm->k), m = gemm->form && gemm->form_of == 0 ? 0 : gemm->m,
                  n = gemm->form && gemm->form_of == 1 ? 0 : gemm->n;
    const int64_t a_bytes = matmul_cpu_round_up(
        matmul_cpu_round_up(gantry__least(m, SIDE_BLOCK), loops->rows) * k * size, 64);
    *out_a_bytes = a_bytes;
    return (uint64_t)(a_bytes +
                      matmul_cpu_round_up(gantry__least(n, SIDE_BLOCK), loops->columns) * k * size);
}

/* The place of a block in the form of its operand. The lines before it are whole panels. */
static void place_in_form(block_t *block) {
    const gantry__cpu_gemm_t *gemm = block->gemm;
    const bool is_b = gemm->form_of == 1;
    const int64_t line = is_b ? block->column : block->row,
                  lines = is_b ? matmul_cpu_round_up(block->columns, block->loops->columns)
                               : matmul_cpu_round_up(block->rows, block->loops->rows);
    char *at = gemm->form + (line * gemm->k + block->k * lines) * block->size;
    if (is_b) {
        block->packed_b = at;
        block->pack_b = block->pack_b && !gemm->form_is_made;
    } else {
        block->packed_a = at;
        block->pack_a = block->column == 0 && !gemm->form_is_made;
    }
}

/* Tiles of equal height, and narrower ones where threads would have no work. */
static void set_tiles(gantry_backend_device_t *device, block_t *block) {
    const int64_t rows = block->loops->rows, panels = (block->rows + rows - 1) / rows,
                  threads = threads_of(device), down = (panels + TILE_PANELS - 1) / TILE_PANELS;
    block->tile_rows = (panels + down - 1) / down * rows;
    block->tiles_down = (block->rows + block->tile_rows - 1) / block->tile_rows;
    block->tile_columns = TILE_COLUMNS;
    while (threads > 1 && block->tile_columns > TILE_LEAST_COLUMNS &&
           block->tiles_down * block->columns < 2 * threads * block->tile_columns)
        block->tile_columns /= 2;
    block->tiles_across = (block->columns + block->tile_columns - 1) / block->tile_columns;
}

/* Packs the panels of one block and multiplies them. */
static void run_block(gantry_backend_device_t *device, block_t *block) {
    const gantry__cpu_gemm_loops_t *loops = block->loops;
    int64_t panels = a_panels_of(block);
    block->packs_pieces = block->pack_b && block->rows <= TILE_PANELS * loops->rows;
    if (block->pack_b && !block->packs_pieces)
        panels += matmul_cpu_round_up(block->columns, loops->columns) / loops->columns;
    if (panels > 0) matmul_cpu_run(device, panels, 4, pack_panels, block);
    set_tiles(device, block);
    matmul_cpu_run(device, block->tiles_down * block->tiles_across, 1, multiply_tiles, block);
}

void gantry__cpu_multiply_blocked(gantry_backend_device_t *device, const gantry__cpu_gemm_t *gemm,
                                  const gantry__cpu_gemm_loops_t *loops, int64_t size,
                                  char *packed) {
    int64_t k_block = k_block_of(gemm->k);
    int64_t row_block = SIDE_BLOCK / loops->rows * loops->rows;
    block_t block = {
        .gemm = gemm, .loops = loops, .size = size, .packed_a = packed, .pack_a = true};
    int64_t a_bytes;
    gantry__cpu_packed_bytes(gemm, loops, size, &a_bytes);
    block.packed_b = packed + a_bytes;
    for (block.column = 0; block.column < gemm->n; block.column += SIDE_BLOCK) {
        block.columns = gantry__least(gemm->n - block.column, SIDE_BLOCK);
        for (block.k = 0; block.k < gemm->k; block.k += k_block) {
            block.k_count = gantry__least(gemm->k - block.k, k_block);
            for (block.row = 0; block.row < gemm->m; block.row += row_block) {
                block.rows = gantry__least(gemm->m - block.row, row_block);
                block.pack_b = block.row == 0;
                if (gemm->form) place_in_form(&block);
                run_block(device, &block);
            }
        }
    }
}

/* ---- thin ---- */

typedef struct {
    const gantry__cpu_gemm_t *gemm;
    const gantry__cpu_gemm_loops_t *loops;
    int64_t piece; /* columns */
} thin_t;

static void finish_thin(const gantry__cpu_gemm_t *gemm, int64_t first, int64_t last) {
    if (!gemm->epilogue) return;
    if (gemm->c_column == 1) {
        gantry__cpu_epilogue_run(gemm->epilogue, 0, gemm->m, first, last - first);
    } else {
        gantry__cpu_epilogue_run(gemm->epilogue, first, last - first, 0, gemm->m);
    }
}

static void thin_pieces(void *context, int64_t begin, int64_t end) {
    const thin_t *thin = context;
    const gantry__cpu_gemm_t *gemm = thin->gemm;
    const int64_t first = begin * thin->piece, last = gantry__least(end * thin->piece, gemm->n);
    if (gemm->keeps_rows)
        thin->loops->ordered(gemm, k_block_of(gemm->k), first, last);
    else
        thin->loops->thin(gemm, first, last);
    finish_thin(gemm, first, last);
}

/* Computes part i of the threads' work: the product of a THIN_PARTS-th of B's rows. */
typedef struct {
    const gantry__cpu_gemm_t *gemm;
    const gantry__cpu_gemm_loops_t *loops;
    float *sums; /* [THIN_PARTS, m, n] */
} thin_rows_t;

/* The first row of a part. Parts have whole groups of eight rows, which the loop takes at a
 * time. */
static int64_t thin_part_begin(int64_t k, int64_t part) {
    return part == THIN_PARTS ? k : k * part / THIN_PARTS / 8 * 8;
}

static void sum_thin_rows(void *context, int64_t begin, int64_t end) {
    const thin_rows_t *thin = context;
    for (int64_t part = begin; part < end; ++part) {
        gantry__cpu_gemm_t gemm = *thin->gemm;
        const int64_t first = thin_part_begin(gemm.k, part);
        gemm.k = thin_part_begin(gemm.k, part + 1) - first;
        gemm.a = (const float *)gemm.a + first * gemm.a_column;
        gemm.b = (const float *)gemm.b + first * gemm.b_row;
        gemm.c = thin->sums + part * gemm.m * gemm.n;
        gemm.c_row = gemm.n;
        gemm.c_column = 1;
        thin->loops->thin(&gemm, 0, gemm.n);
    }
}

/* A thread that reads some columns of each short row uses only a part of its cache, because lines
 * at such distances share few of the cache's sets. Whole rows use all of it. A product with a row
 * of ones adds the sums of the parts up. The function must not be inlined, because of its stack
 * frame. */
static __attribute__((noinline)) void multiply_thin_rows(gantry_backend_device_t *device,
                                                         const gantry__cpu_gemm_t *gemm,
                                                         const gantry__cpu_gemm_loops_t *loops,
                                                         bool is_short) {
    static const float ones[THIN_PARTS] = {1, 1, 1, 1, 1, 1, 1, 1};
    float sums[THIN_SUM_BYTES / sizeof(float)];
    thin_rows_t thin = {gemm, loops, sums};
    if (is_short)
        gantry__cpu_parallel_for_short(device, THIN_PARTS, sum_thin_rows, &thin);
    else
        matmul_cpu_run(device, THIN_PARTS, 1, sum_thin_rows, &thin);
    for (int64_t i = 0; i < gemm->m; ++i) {
        const gantry__cpu_gemm_t sum = {.m = 1,
                                        .n = gemm->n,
                                        .k = THIN_PARTS,
                                        .a = ones,
                                        .a_row = THIN_PARTS,
                                        .a_column = 1,
                                        .b = sums + i * gemm->n,
                                        .b_row = gemm->m * gemm->n,
                                        .b_column = 1,
                                        .c = (float *)gemm->c + i * gemm->c_row,
                                        .c_row = gemm->c_row,
                                        .c_column = gemm->c_column};
        loops->thin(&sum, 0, gemm->n);
    }
}

static bool has_short_rows(const gantry__cpu_gemm_t *gemm) {
    return gemm->b_column == 1 && gemm->k >= THIN_ROWS &&
           gemm->m * gemm->n * THIN_PARTS * (int64_t)sizeof(float) <= THIN_SUM_BYTES;
}

static bool is_thin(const gantry__cpu_gemm_t *gemm) {
    const bool is_across = gemm->m > GANTRY_CPU_THIN; /* the transposed product may be thin */
    const int64_t b_row = is_across ? gemm->a_column : gemm->b_row,
                  b_column = is_across ? gemm->a_row : gemm->b_column;
    return (is_across ? gemm->n : gemm->m) <= GANTRY_CPU_THIN && (b_row == 1 || b_column == 1) &&
           (!gemm->keeps_rows || b_column == 1);
}

/* Computes a product with few rows or, by transposing both sides, few columns. Returns false if it
 * is not thin. */
static bool try_thin(gantry_backend_device_t *device, const gantry__cpu_gemm_t *gemm,
                     const gantry__cpu_gemm_loops_t *loops, int32_t dtype,
                     matmul_threads_t threads) {
    if (!is_thin(gemm)) return false;
    if (threads == ONE_THREAD) device = NULL;
    const gantry__cpu_gemm_t transposed = {.m = gemm->n,
                                           .n = gemm->m,
                                           .k = gemm->k,
                                           .a = gemm->b,
                                           .a_row = gemm->b_column,
                                           .a_column = gemm->b_row,
                                           .b = gemm->a,
                                           .b_row = gemm->a_column,
                                           .b_column = gemm->a_row,
                                           .c = gemm->c,
                                           .c_row = gemm->c_column,
                                           .c_column = gemm->c_row,
                                           .epilogue = gemm->epilogue,
                                           .keeps_rows = gemm->keeps_rows};
    thin_t thin = {gemm->m <= GANTRY_CPU_THIN ? gemm : &transposed, loops,
                   matmul_cpu_round_up(65536 / gemm->k + 1, 64)};
    if (dtype == GANTRY_FLOAT32 && !gemm->keeps_rows && threads != ONE_THREAD &&
        has_short_rows(thin.gemm)) {
        multiply_thin_rows(device, thin.gemm, loops, threads == AWAKE_THREADS);
        finish_thin(thin.gemm, 0, thin.gemm->n);
        return true;
    }
    const int64_t parts = threads == AWAKE_THREADS ? threads_of(device) : 2 * threads_of(device);
    const int64_t longer = gantry__least(THIN_PIECE, matmul_cpu_round_up(thin.gemm->n / parts, 64));
    thin.piece = thin.gemm->b_column == 1 && thin.piece < longer ? longer : thin.piece;
    const int64_t pieces = (thin.gemm->n + thin.piece - 1) / thin.piece;
    if (threads == AWAKE_THREADS)
        gantry__cpu_parallel_for_short(device, pieces, thin_pieces, &thin);
    else
        matmul_cpu_run(device, pieces, 1, thin_pieces, &thin);
    return true;
}

/* ---- one product ---- */

static int64_t multiplications(const gantry__cpu_gemm_t *gemm) {
    return gemm->m * gemm->n * gemm->k;
}

static matmul_threads_t threads_for(const gantry__cpu_gemm_t *gemm, int64_t size) {
    if (multiplications(gemm) >= PARALLEL_MULTIPLICATIONS) return ALL_THREADS;
    return (gemm->m > gemm->n ? gemm->m : gemm->n) * gemm->k * size >= PARALLEL_THIN_BYTES
               ? AWAKE_THREADS
               : ONE_THREAD;
}

/* It must not be inlined, so that only this algorithm takes its large stack frame. */
static __attribute__((noinline)) void multiply_on_stack(gantry_backend_device_t *device,
                                                        const gantry__cpu_gemm_t *gemm,
                                                        const gantry__cpu_gemm_loops_t *loops,
                                                        int64_t size) {
    _Alignas(64) char packed[STACK_BYTES];
    gantry__cpu_multiply_blocked(device, gemm, loops, size, packed);
}

/* Computes the product by the first algorithm that fits and packs nothing. Returns false if none
 * does. */
static bool try_unpacked(gantry_backend_device_t *device, const gantry__cpu_gemm_t *gemm,
                         const gantry__cpu_gemm_loops_t *loops, int32_t dtype,
                         matmul_threads_t threads) {
    if (!gemm->keeps_rows && multiplications(gemm) <= TINY_MULTIPLICATIONS) {
        loops->tiny(gemm);
        if (gemm->epilogue) gantry__cpu_epilogue_run(gemm->epilogue, 0, gemm->m, 0, gemm->n);
        return true;
    }
    if (try_thin(device, gemm, loops, dtype, threads)) return true;
    const int library = gantry__cpu_library_for(device, gemm, dtype);
    return library != GANTRY_CPU_BLAS_OWN &&
           gantry__cpu_library_multiply(device, gemm, library, threads == ALL_THREADS);
}

/* Computes the product by packed panels, if they fit the stack. */
static bool try_on_stack(gantry_backend_device_t *device, const gantry__cpu_gemm_t *gemm,
                         const gantry__cpu_gemm_loops_t *loops, int64_t size) {
    int64_t a_bytes;
    if (gantry__cpu_packed_bytes(gemm, loops, size, &a_bytes) > STACK_BYTES) return false;
    multiply_on_stack(device, gemm, loops, size);
    return true;
}

/* Finds the form of the operand `side`, 0: A, 1: B, which must be all of the call's input. */
static bool matmul_cpu_find_form(gantry_op_call_t *call, uint32_t input, int side,
                                 const gantry__cpu_gemm_loops_t *loops, int64_t size,
                                 gantry__cpu_gemm_t *gemm) {
    const int64_t lines = side == 0 ? gemm->m : gemm->n, others = side == 0 ? gemm->n : gemm->m,
                  panel = side == 0 ? loops->rows : loops->columns,
                  along = side == 0 ? gemm->a_column : gemm->b_row;
    /* the size, too, because a Bitcast has its input's bytes */
    const uint64_t number =
        (uint64_t)lines << 6 | (uint64_t)size << 2 | (uint64_t)side << 1 | (along == 1);
    if (others > GANTRY_CPU_FORM_LINES) return false;
    gemm->form_of = side;
    gemm->form = gantry__cpu_form(call, input, number,
                                  (uint64_t)(matmul_cpu_round_up(lines, panel) * gemm->k * size),
                                  &gemm->form_is_made);
    return gemm->form != NULL;
}

/* All products of a call share *packed, which must be NULL at first. They have one size, and a call
 * may take scratch only a few times. b_input: the number of B's input, 0 or 1, if A and B are whole
 * inputs of the call; else negative. */
static int32_t matmul_cpu_multiply(gantry_op_call_t *call, const gantry__cpu_gemm_t *product,
                                   const gantry__cpu_gemm_loops_t *loops, int32_t dtype,
                                   int b_input, char **packed) {
    gantry__cpu_gemm_t gemm = *product;
    int64_t size = gantry__k_size(dtype), a_bytes;
    const matmul_threads_t threads = threads_for(&gemm, size);
    if (try_unpacked(call->device, &gemm, loops, dtype, threads)) return GANTRY_OK;
    gantry_backend_device_t *device = threads == ALL_THREADS ? call->device : NULL;
    if (b_input >= 0 && !matmul_cpu_find_form(call, (uint32_t)b_input, 1, loops, size, &gemm))
        (void)matmul_cpu_find_form(call, (uint32_t)!b_input, 0, loops, size, &gemm);
    if (try_on_stack(device, &gemm, loops, size)) return GANTRY_OK;
    if (!*packed) {
        gantry_span_t span;
        GANTRY__TRY(call->services->scratch(
            call, gantry__cpu_packed_bytes(&gemm, loops, size, &a_bytes), &span));
        *packed = (char *)(uintptr_t)(span.region + span.offset_bytes);
    }
    gantry__cpu_multiply_blocked(device, &gemm, loops, size, *packed);
    return GANTRY_OK;
}

/* ---- batches ---- */

typedef struct {
    gantry_op_call_t *call;
    gantry__matmul_shape_t shape;
    gantry__cpu_gemm_t gemm; /* the product of batch 0 */
    int64_t c_batch;         /* elements from one product to the next */
    const gantry__cpu_gemm_loops_t *loops;
    int32_t dtype;
    int b_input;  /* of matmul_cpu_multiply, if there is one product */
    int64_t each; /* the products of one unit */
    /* the packed panels: one part for each unit, or one for all products; NULL if not needed */
    char *packed;
    uint64_t unit_bytes;
} batch_t;

static gantry__cpu_gemm_t matmul_cpu_product_of(const batch_t *batch, int64_t index) {
    gantry__cpu_gemm_t gemm = batch->gemm;
    int64_t size = gantry__k_size(batch->dtype);
    int64_t a = 0, b = 0;
    gemm.c = (char *)gemm.c + index * batch->c_batch * size;
    const gantry__matmul_shape_t *shape = &batch->shape;
    for (int32_t i = shape->batch_rank - 1; i >= 0; --i) {
        a += index % shape->batch_dims[i] * shape->a_batch[i];
        b += index % shape->batch_dims[i] * shape->b_batch[i];
        index /= shape->batch_dims[i];
    }
    gemm.a = (const char *)gemm.a + a * size;
    gemm.b = (const char *)gemm.b + b * size;
    return gemm;
}

/* Computes units [begin, end). A unit is `each` products, which one thread computes. All units of
 * this call use the packed memory of the first one. */
static void run_products(void *context, int64_t begin, int64_t end) {
    const batch_t *batch = context;
    for (int64_t unit = begin; unit < end; ++unit) {
        for (int64_t i = unit * batch->each;
             i < gantry__least((unit + 1) * batch->each, batch->shape.batches); ++i) {
            gantry__cpu_gemm_t gemm = matmul_cpu_product_of(batch, i);
            if (!try_unpacked(batch->call->device, &gemm, batch->loops, batch->dtype, ONE_THREAD) &&
                !try_on_stack(NULL, &gemm, batch->loops, gantry__k_size(batch->dtype))) {
                gantry__cpu_multiply_blocked(NULL, &gemm, batch->loops,
                                             gantry__k_size(batch->dtype),
                                             batch->packed + (uint64_t)begin * batch->unit_bytes);
            }
        }
    }
}

static int32_t multiply_batch(batch_t *batch) {
    int64_t work = multiplications(&batch->gemm);
    if (batch->shape.batches == 1 || work >= 16 * PARALLEL_MULTIPLICATIONS) {
        for (int64_t i = 0; i < batch->shape.batches; ++i) {
            gantry__cpu_gemm_t gemm = matmul_cpu_product_of(batch, i);
            GANTRY__TRY(matmul_cpu_multiply(batch->call, &gemm, batch->loops, batch->dtype,
                                            batch->shape.batches == 1 ? batch->b_input : -1,
                                            &batch->packed));
        }
        return GANTRY_OK;
    }
    int64_t units = gantry__least(batch->shape.batches, MOST_UNITS);
    batch->each = (batch->shape.batches + units - 1) / units;
    units = (batch->shape.batches + batch->each - 1) / batch->each;
    int64_t a_bytes;
    batch->unit_bytes = (uint64_t)matmul_cpu_round_up(
        (int64_t)gantry__cpu_packed_bytes(&batch->gemm, batch->loops, gantry__k_size(batch->dtype),
                                          &a_bytes),
        64);
    if (batch->unit_bytes > STACK_BYTES) {
        gantry_span_t span;
        GANTRY__TRY(batch->call->services->scratch(batch->call, batch->unit_bytes * (uint64_t)units,
                                                   &span));
        batch->packed = (char *)(uintptr_t)(span.region + span.offset_bytes);
    }
    int64_t grain = PARALLEL_MULTIPLICATIONS / (work * batch->each + 1) + 1;
    gantry__cpu_parallel_for(batch->call->device, units, grain, run_products, batch);
    return GANTRY_OK;
}

/* ---- entry ---- */

/* If the whole batch has one B, and its rows follow each other in A and C, the batch becomes one
 * product. */
static void matmul_cpu_join_rows(gantry__matmul_shape_t *shape, const gantry_arg_t *a) {
    int64_t b_moves = 0;
    for (int32_t i = 0; i < shape->batch_rank; ++i) b_moves |= shape->b_batch[i];
    bool rows_follow = shape->a_column == 1 && (shape->a_row == shape->k || shape->m == 1);
    if (shape->batches > 1 && b_moves == 0 && rows_follow &&
        a->element_count == shape->batches * shape->m * shape->k) {
        shape->a_row = shape->k;
        shape->m *= shape->batches;
        shape->batches = 1;
        shape->batch_rank = 0;
    }
}

int32_t gantry__cpu_matmul(gantry_op_call_t *call, const gantry__cpu_epilogue_t *epilogue) {
    gantry_arg_t *output = call->outputs[0];
    batch_t batch; /* not cleared: that would take as long as a tiny product */
    gantry__matmul_shape_t *shape = &batch.shape;
    batch.call = call;
    batch.dtype = output->dtype;
    batch.packed = NULL;
    gantry__matmul_shape_of(call, shape);
    if (shape->k == 0) {
        memset(output->data, 0, (size_t)output->element_count * gantry__k_size(output->dtype));
        if (epilogue) gantry__cpu_epilogue_run(epilogue, 0, shape->m, 0, shape->n);
        return GANTRY_OK;
    }
    matmul_cpu_join_rows(shape, call->inputs[0]);
    batch.loops = GANTRY_CPU_PICK(gantry__cpu_simd_level(call->device), gemm_loops)(output->dtype);
    batch.gemm = (gantry__cpu_gemm_t){
        .m = shape->m,
        .n = shape->n,
        .k = shape->k,
        .a = call->inputs[0]->data,
        .a_row = shape->a_row,
        .a_column = shape->a_column,
        .b = call->inputs[1]->data,
        .b_row = shape->b_row,
        .b_column = shape->b_column,
        .c = output->data,
        .c_row = shape->n,
        .c_column = 1,
        .epilogue = epilogue,
        .keeps_rows = gantry__k_keeps_rows(call) && GANTRY__TYPE_IS(batch.dtype, FLOATS)};
    batch.c_batch = shape->m * shape->n;
    return shape->batches == 1
               ? matmul_cpu_multiply(call, &batch.gemm, batch.loops, batch.dtype, 1, &batch.packed)
               : multiply_batch(&batch);
}

/* ---- groups (matmul_cpu_grouped.c) ---- */

bool gantry__cpu_is_blocked(const gantry_backend_device_t *device, const gantry__cpu_gemm_t *gemm,
                            int32_t dtype) {
    return (gemm->keeps_rows || multiplications(gemm) > TINY_MULTIPLICATIONS) && !is_thin(gemm) &&
           gantry__cpu_library_for(device, gemm, dtype) == GANTRY_CPU_BLAS_OWN;
}

int32_t gantry__cpu_multiply_groups(gantry_op_call_t *call, const gantry__cpu_groups_t *groups) {
    batch_t batch = {.call = call,
                     .dtype = call->outputs[0]->dtype,
                     .b_input = groups->b_input,
                     .shape = {.batches = groups->count,
                               .batch_rank = 1,
                               .batch_dims = {groups->count},
                               .a_batch = {groups->a_step},
                               .b_batch = {groups->b_step}},
                     .c_batch = groups->c_step,
                     .loops = groups->loops,
                     .gemm = groups->gemm};
    return multiply_batch(&batch);
}

static int32_t matmul_cpu_compute(gantry_op_call_t *call) {
    return gantry__k_size(call->outputs[0]->dtype) == 2 ? gantry__cpu_matmul_narrow(call)
                                                        : gantry__cpu_matmul(call, NULL);
}

int32_t gantry__cpu_matmul_rows(gantry_op_call_t *call) {
    gantry__cpu_epilogue_t epilogue;
    if (gantry__k_attr(call, "program")->i == 0) return matmul_cpu_compute(call);
    gantry__cpu_epilogue_init(&epilogue, call);
    if (gantry__k_size(call->outputs[0]->dtype) == 2) {
        GANTRY__TRY(gantry__cpu_matmul_narrow(call));
        return gantry__cpu_fused_compute(&epilogue.call);
    }
    return gantry__cpu_matmul(call, &epilogue);
}

static int32_t matmul_cpu_compute_fused(gantry_op_call_t *call) {
    return gantry__epilogue_area(call) > 0 ? gantry__cpu_matmul_planes(call)
                                           : gantry__cpu_matmul_rows(call);
}

static const gantry_kernel_def_t products[] =
    GANTRY__MATMUL_KERNELS(0, gantry__matmul_types, GANTRY_KERNEL_BATCH_INVARIANT,
                           GANTRY__CPU_LIBRARIES, NULL, matmul_cpu_compute);
static const gantry_kernel_def_t fused_product = GANTRY__MATMUL_FUSED_KERNEL(
    &products[0], 0, gantry__matmul_types, GANTRY_KERNEL_BATCH_INVARIANT, GANTRY__CPU_LIBRARIES,
    NULL, matmul_cpu_compute_fused);
const gantry_kernel_def_t *const gantry__cpu_matmul_kernels[] = {
    &products[0], &products[1], &fused_product, &gantry__cpu_grouped_kernel,
    &gantry__cpu_fused_grouped_kernel};
const uint32_t gantry__cpu_matmul_kernel_count = GANTRY_K_COUNT_OF(gantry__cpu_matmul_kernels);
