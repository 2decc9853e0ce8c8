/* SPDX-License-Identifier: Apache-2.0 */
/* Cumsum, Cumprod and CumulativeLogsumexp: three launches of kernels/scan/scan.cl's items and of
 * scan_tiles.cl, or one for short sequences, on processors for all but the longest, and on GPUs
 * whose groups go on. */
#include "kernels/common/item_kernel.h"
#include "kernels/common/program_options.h"
#include "host/try.h"
#include "kernels/scan/scan.cl"
#include "kernels/scan/scan_items.h"

GANTRY_K_ITEM_TEXTS(scan, GANTRY_SCAN_ITEMS, gantry__text_math_float32, gantry__text_math_float64,
                    gantry__text_scan_transposed, gantry__text_scan, gantry__text_scan_tiles);

/* The type whose program scans this one, because integers of one size wrap alike. */
static int32_t program_type(int32_t dtype) {
    if (!GANTRY__TYPE_IS(dtype, INTEGERS)) return dtype;
    return gantry__k_size(dtype) == 1 ? GANTRY_UINT8 : gantry__k_twin(dtype);
}

enum { TOTALS, ROWS };

/* Whether the text has the items of several lines for this scan. */
static bool has_lines(const gantry_op_call_t *call, int32_t dtype) {
    return gantry__k_items_are_c(call) ||
           (gantry__k_is_serial(call) &&
            (dtype == GANTRY_FLOAT32 || dtype == GANTRY_FLOAT64 || dtype == GANTRY_INT32 ||
             dtype == GANTRY_INT64 || gantry__k_is_half(dtype)));
}

/* For GPUs: the items of a group of scan_tiles.cl, and the least of them that scan; the columns up
 * to which its form is taken, and its local memory. With more columns the items of scan.cl touch at
 * most two memory lines. */
enum {
    TILE_ITEMS = 64,
    LEAST_SCANS = 8, /* items; then each loads four elements of float32 at once */
    TILE_COLUMNS = 16,
    TILE_BYTES = TILE_ITEMS * (128 + 8) + (TILE_ITEMS + 1) * 8
};

/* Finds the kernel of the step for tiles. It is NULL if the plain items do the step: on processors,
 * for many columns, and where the device or the driver has no room for a group. */
static int32_t find_tile_kernel(gantry_op_call_t *call, int step, int32_t dtype,
                                const gantry__scan_t *scan, gantry_backend_kernel_t **out_kernel) {
    static const char *const names[] = {"scan_totals_tile", "scan_rows_tile"};
    const gantry_device_info_t *info = call->device_info;

    *out_kernel = NULL;
    if (gantry__k_is_serial(call) || scan->columns > TILE_COLUMNS ||
        info->max_work_group_size < TILE_ITEMS || info->local_memory_bytes < TILE_BYTES) {
        return GANTRY_OK;
    }
    gantry__k_options_t options = gantry__k_options(call);
    gantry__k_define_type(&options, "T", dtype);
    GANTRY__TRY(call->services->kernel(call, &scan_source, options.text, names[step], out_kernel));
    if (gantry__k_group_limit(call, *out_kernel) < TILE_ITEMS) {
        *out_kernel = NULL;
    }
    return GANTRY_OK;
}

/* The chunks of a group: as many as its items have columns of, or fewer, so that all compute units
 * have groups. With multiples of LEAST_SCANS, more groups of short sequences start at a memory
 * line. */
static int64_t tile_rows(const gantry_op_call_t *call, const gantry__scan_t *scan) {
    const uint32_t units = call->device_info->compute_units;
    const int64_t even = scan->total * scan->columns /
                         ((int64_t)(units > 0 ? units : 1) * GANTRY_K_GROUPS_PER_UNIT),
                  most = even > TILE_ITEMS ? TILE_ITEMS : even,
                  scans = most < LEAST_SCANS ? LEAST_SCANS : most - most % LEAST_SCANS;

    return scans > scan->columns ? scans / scan->columns : 1;
}

static int32_t launch_tiles(gantry_op_call_t *call, gantry_backend_kernel_t *kernel,
                            const gantry__k_item_launch_t *launch, gantry__scan_t *scan) {
    gantry_launch_arg_t args[4];
    uint32_t count = 0;

    scan->rows = tile_rows(call, scan);
    for (; count < launch->span_count; ++count) {
        args[count] = gantry__k_raw_span(launch->spans[count]);
    }
    args[count++] = gantry__k_scalar(scan, sizeof *scan);
    return gantry__k_launch_groups(call, kernel,
                                   (uint64_t)((scan->total + scan->rows - 1) / scan->rows),
                                   TILE_ITEMS, args, count);
}

/* Runs one of the two steps over `chunks` chunks of each column. On processors an item has several
 * chunks. */
static int32_t scan_run(gantry_op_call_t *call, int step, int32_t dtype, gantry__scan_t *scan,
                        int64_t chunks, const gantry_span_t spans[3]) {
    static const uint32_t plain[] = {ITEM_scan_totals, ITEM_scan_rows},
                          lines[] = {ITEM_scan_totals_line, ITEM_scan_rows_line},
                          blocks[] = {ITEM_scan_totals_block, ITEM_scan_rows_block};
    const bool is_serial = gantry__k_is_serial(call), is_block = is_serial && scan->columns > 1,
               is_line = !is_block && has_lines(call, dtype);
    gantry__k_item_launch_t launch = {
        .item = (is_block  ? blocks
                 : is_line ? lines
                           : plain)[step],
        .t = dtype,
        .count = chunks * scan->columns,
        .item_bytes = GANTRY_SCAN_CHUNK * (int64_t)gantry__k_size(dtype),
        .is_costly = true,
        .parameters = scan,
        .parameter_bytes = sizeof *scan,
        .spans = {spans[0], spans[1], spans[2]},
        .span_count = step == TOTALS ? 2 : 3};

    scan->total = chunks;
    scan->runs = gantry__k_runs(call, scan->columns);
    if (is_block) {
        const int64_t each = scan->whole > 0 ? scan->chunks : 1;

        launch.count = chunks / each * scan->runs.count;
        launch.item_bytes *= scan->runs.length * each;
    } else if (is_line) {
        const int64_t most = scan->whole > 0 ? scan->whole * scan->chunks : GANTRY_SCAN_LINES;

        launch.count = (chunks + most - 1) / most;
        launch.item_bytes *= most;
    }
    gantry_backend_kernel_t *tiles;
    GANTRY__TRY(find_tile_kernel(call, step, dtype, scan, &tiles));
    if (tiles) return launch_tiles(call, tiles, &launch, scan);
    if (is_serial) {
        launch.elements = launch.item_bytes / (int64_t)gantry__k_size(dtype);
    }
    return gantry__k_run_items(call, &launch);
}

enum { LEAST_CHUNKS = 32, ITEMS_PER_UNIT = 4 };

/* The number of sequences that an item of ROWS does whole, in all three steps: one with columns,
 * else as many as fill most of the lines with chunks. It is 0 if an item has chunks, on GPUs and
 * where cores would be idle. */
static int64_t whole_sequences(const gantry_op_call_t *call, int32_t dtype,
                               const gantry__scan_t *scan, int64_t outer) {
    const bool is_block = scan->columns > 1;
    const int64_t many = scan->chunks < GANTRY_SCAN_LINES
                             ? GANTRY_SCAN_LINES
                             : (LEAST_CHUNKS + scan->chunks - 1) / scan->chunks,
                  whole = is_block ? 1 : many, runs = gantry__k_runs(call, scan->columns).count;

    if (scan->chunks == 1 || scan->chunks > GANTRY_SCAN_CHUNK) return 0;
    if (!gantry__k_is_serial(call) || !(is_block || has_lines(call, dtype))) return 0;
    return outer / whole * runs >= ITEMS_PER_UNIT * gantry__k_units(call) ? whole : 0;
}

/* Whether results of one column are written by streaming stores: there must be many, and each
 * sequence must start a cache line. */
static int64_t streams(const gantry_op_call_t *call, int32_t dtype, int64_t count, int64_t length,
                       gantry_span_t out) {
    const int64_t bytes = (int64_t)gantry__k_size(dtype);
    const bool is_aligned = length * bytes % 64 == 0 && out.offset_bytes % 64 == 0;

    return is_aligned ? gantry__k_work(call, count, bytes, 0).stream : 0;
}

/* Whether one launch of scan_upper makes `before` of the totals: on GPUs, for more than one chunk
 * of totals, and for so few sequences that the launches of its steps would not fill the device. */
static bool has_upper(const gantry_op_call_t *call, const gantry__scan_t *level, int64_t outer) {
    const gantry_device_info_t *info = call->device_info;
    const int64_t units = info->compute_units > 0 ? info->compute_units : 1;

    return !gantry__k_is_serial(call) && level->chunks > 1 && level->chunks <= GANTRY_SCAN_UPPER &&
           info->local_memory_bytes >= GANTRY_SCAN_UPPER * sizeof(double) &&
           outer * level->columns <= units * GANTRY_K_GROUPS_PER_UNIT;
}

static int32_t scan_upper(gantry_op_call_t *call, int32_t dtype, const gantry__scan_t *level,
                          int64_t outer, gantry_span_t totals) {
    const gantry__k_options_t options = gantry__k_options_of_type(call, dtype);
    const gantry_launch_arg_t args[] = {gantry__k_raw_span(totals),
                                        gantry__k_scalar(level, sizeof *level)};
    gantry_backend_kernel_t *kernel;

    GANTRY__TRY(call->services->kernel(call, &scan_source, options.text, "scan_upper", &kernel));
    return gantry__k_launch_groups(call, kernel, (uint64_t)(outer * level->columns),
                                   gantry__k_wide_local(call, kernel), args, 2);
}

/* ---- one launch ---- */

/* The items of a group of scan_once, and its local memory. */
enum {
    ONCE_ITEMS = GANTRY_SCAN_CHUNK,
    ONCE_BYTES = ONCE_ITEMS * (128 + 8) + 2 * (ONCE_ITEMS + 1) * 4 + 3 * ONCE_ITEMS * 8 + 4
};

/* Finds the kernel that does all steps. It is NULL where the device does not promise that groups go
 * on, for columns, for logsumexp, whose folds one item would make, and for sequences that would
 * leave most items of a tile idle or have too many runs. */
static int32_t find_once_kernel(gantry_op_call_t *call, int32_t dtype, const gantry__scan_t *scan,
                                gantry_backend_kernel_t **out_kernel) {
    enum { LEAST_CHUNKS_OF_ONCE = GANTRY_SCAN_CHUNK / 2 };
    const gantry_device_info_t *info = call->device_info;
    const int64_t most_chunks = (int64_t)GANTRY_SCAN_CHUNK * GANTRY_SCAN_CHUNK * GANTRY_SCAN_CHUNK;

    *out_kernel = NULL;
    if (gantry__k_is_serial(call) || !(info->flags & GANTRY_DEVICE_GROUPS_GO_ON) ||
        scan->columns > 1 || scan->operation == GANTRY_SCAN_LOG_SUM ||
        scan->chunks < LEAST_CHUNKS_OF_ONCE || scan->chunks > most_chunks ||
        info->max_work_group_size < ONCE_ITEMS || info->local_memory_bytes < ONCE_BYTES) {
        return GANTRY_OK;
    }
    const gantry__k_options_t options = gantry__k_options_of_type(call, dtype);
    GANTRY__TRY(call->services->kernel(call, &scan_source, options.text, "scan_once", out_kernel));
    if (gantry__k_group_limit(call, *out_kernel) < ONCE_ITEMS) *out_kernel = NULL;
    return GANTRY_OK;
}

static int32_t scan_once(gantry_op_call_t *call, gantry_backend_kernel_t *kernel,
                         gantry__scan_t *scan, int64_t outer, gantry_span_t x, gantry_span_t out) {
    enum { MOST_PIECES = 4 };
    scan->tiles = (scan->chunks + GANTRY_SCAN_CHUNK - 1) / GANTRY_SCAN_CHUNK;
    const int64_t totals = outer * (scan->tiles + scan->tiles / GANTRY_SCAN_CHUNK + 1);
    gantry_span_t states;
    GANTRY__TRY(call->services->scratch(
        call, (uint64_t)(1 + totals * MOST_PIECES) * sizeof(uint32_t), &states));
    GANTRY__TRY(call->services->fill(call, &states, "", 1));
    const gantry_launch_arg_t args[] = {gantry__k_raw_span(x), gantry__k_raw_span(states),
                                        gantry__k_raw_span(out),
                                        gantry__k_scalar(scan, sizeof *scan)};

    return gantry__k_launch_groups(call, kernel, (uint64_t)(outer * scan->tiles), ONCE_ITEMS, args,
                                   4);
}

/* Scans x [outer, scan->length, columns] into out, which may be x. It recurses once for each factor
 * of 128. */
static int32_t run_scan(gantry_op_call_t *call, int32_t dtype, gantry__scan_t scan, int64_t outer,
                        gantry_span_t x, gantry_span_t out) {
    const int32_t total_type = gantry__k_is_half(dtype) ? GANTRY_FLOAT32 : dtype;
    gantry_span_t totals = x; /* not read if there is one chunk, or if sequences are whole */
    int64_t count;

    scan.chunks = (scan.length + GANTRY_SCAN_CHUNK - 1) / GANTRY_SCAN_CHUNK;
    count = outer * scan.chunks;
    gantry_backend_kernel_t *once;
    GANTRY__TRY(find_once_kernel(call, dtype, &scan, &once));
    if (once) return scan_once(call, once, &scan, outer, x, out);
    scan.whole = whole_sequences(call, dtype, &scan, outer);
    scan.stream = streams(call, dtype, outer * scan.length, scan.length, out);
    if (scan.chunks > 1 && scan.whole == 0) {
        gantry__scan_t level = scan;

        level.length = scan.chunks;
        level.chunks = (level.length + GANTRY_SCAN_CHUNK - 1) / GANTRY_SCAN_CHUNK;
        level.exclusive = 1;
        level.reverse = 0;
        GANTRY__TRY(call->services->scratch(
            call, (uint64_t)(count * scan.columns) * gantry__k_size(total_type), &totals));
        GANTRY__TRY(
            scan_run(call, TOTALS, dtype, &scan, count, (gantry_span_t[]){x, totals, totals}));
        GANTRY__TRY(has_upper(call, &level, outer)
                        ? scan_upper(call, total_type, &level, outer, totals)
                        : run_scan(call, total_type, level, outer, totals, totals));
    }
    return scan_run(call, ROWS, dtype, &scan, count, (gantry_span_t[]){x, totals, out});
}

static int32_t scan_compute(gantry_op_call_t *call, int64_t operation) {
    const gantry_arg_t *x = call->inputs[0];
    int64_t axis = gantry__k_host_int(call->inputs[1], 0);
    int64_t outer = 1;
    gantry__scan_t scan = {.columns = 1,
                           .operation = operation,
                           .exclusive = gantry__k_attr_int(call, "exclusive", 0),
                           .reverse = gantry__k_attr_int(call, "reverse", 0)};

    axis += axis < 0 ? x->rank : 0;
    scan.length = x->dims[axis];
    for (int32_t d = 0; d < x->rank; ++d) {
        outer *= d < axis ? x->dims[d] : 1;
        scan.columns *= d > axis ? x->dims[d] : 1;
    }
    return run_scan(call, program_type(x->dtype), scan, outer, x->span, call->outputs[0]->span);
}

static int32_t compute_sum(gantry_op_call_t *call) { return scan_compute(call, GANTRY_SCAN_SUM); }

static int32_t scan_compute_product(gantry_op_call_t *call) {
    return scan_compute(call, GANTRY_SCAN_PRODUCT);
}

static int32_t compute_log_sum(gantry_op_call_t *call) {
    return scan_compute(call, GANTRY_SCAN_LOG_SUM);
}

static const char *const hosts[] = {"axis"};

GANTRY_K_ITEM_KERNEL_HOST(sum, scan, "Cumsum", gantry__k_numeric_type, hosts, compute_sum);
GANTRY_K_ITEM_KERNEL_HOST(product, scan, "Cumprod", gantry__k_numeric_type, hosts,
                          scan_compute_product);
GANTRY_K_ITEM_KERNEL_HOST(log_sum, scan, "CumulativeLogsumexp", gantry__k_floating_type, hosts,
                          compute_log_sum);

#define OPS(OP) \
    OP(sum)     \
    OP(product) \
    OP(log_sum)
GANTRY_K_ITEM_PACK(scan, OPS);
