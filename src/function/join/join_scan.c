/* SPDX-License-Identifier: Apache-2.0 */
/* Scans whose body joins the elements, in the order of Cumsum (kernels/scan/scan.cl), of which the
 * element that it begins with is left out. x[0] to x[n - 1] are cut into chunks of 128:
 *
 *   totals   of each chunk: (x0 o x1) o x2 ...
 *   before   an exclusive scan of the totals, made in the same way: what comes before each chunk
 *   rows     each chunk again: (before o x0) o x1 ...; the first chunk without before
 *
 * An exclusive scan gives what each element is joined to: before, at the first one of a chunk.
 *
 * Every operand is rows of its scanned axis, [n][width]. Chunks go side by side, so that element k
 * of all chunks is one column, a tensor, and a call joins two columns:
 *
 *       [n][width]  ->  [chunks][128][width]  ->  [128][chunks][width]  ->  128 x [chunks][width]
 *
 * The last chunk may be shorter, with `rest` elements: columns from `rest` on have no element of
 * it, so that no element beyond the end is joined.
 *
 * Cost: for n up to 128, n - 1 calls; else 255 calls for each factor of 128 in n, 2 n elements
 * joined, and some 8 n elements moved. */
#include <gantry/ops.h>

#include "base/fp_mode.h"
#include "function/join/join.h"
#include "shared/struct_size.h"

typedef const gantry_tensor_t tensor;

#define SCAN_CHUNK 128

/* A sequence and its columns: heap memory, an entry for each operand of each column. */
typedef struct join_scan_t {
    const gantry__join_t *join;
    int64_t length, chunks; /* the last of them may be shorter */
    int64_t whole, rest;    /* whole chunks; the elements of a shorter one, or 0 */
    bool is_exclusive;
    tensor **columns;
} join_scan_t;

static tensor **scan_column(const join_scan_t *scan, int64_t k) {
    return scan->columns + k * scan->join->count;
}

/* Drops x[i], whose place `made` takes. */
static void scan_replace(const gantry__join_t *join, tensor **x, tensor *made) {
    gantry_tensor_drop(join->scope, *x);
    *x = made;
}

/* ---- columns ---- */

/* x, [n][width], as [rows][chunks][width]: a new tensor. */
static tensor *scan_chunked(const join_scan_t *scan, tensor *x) {
    gantry_scope_t *scope = scan->join->scope;
    if (scan->chunks == 1)
        return gantry_reshape(scope, x, GANTRY_SHAPE(scan->length, 1, x->shape.dims[1]));
    const int64_t pads[] = {0, scan->chunks * SCAN_CHUNK - scan->length, 0, 0};
    tensor *padded = pads[1] > 0 ? gantry_pad(scope, x, pads, NULL) : x;
    tensor *split =
        gantry_reshape(scope, padded, GANTRY_SHAPE(scan->chunks, SCAN_CHUNK, x->shape.dims[1]));
    if (padded != x) gantry_tensor_drop(scope, padded);
    tensor *turned = gantry_transpose(scope, split, (const int32_t[]){1, 0, 2});
    gantry_tensor_drop(scope, split);
    return turned;
}

/* Takes columns first to last - 1 of operand i, for the first `chunks` chunks. */
static void scan_take_columns(const join_scan_t *scan, tensor *chunked, uint32_t i, int64_t first,
                              int64_t last, int64_t chunks) {
    gantry_scope_t *scope = scan->join->scope;
    tensor *made[GANTRY_MAX_OP_OUTPUTS];
    for (int64_t at = first, count; at < last; at += count) {
        count = last - at < GANTRY_MAX_OP_OUTPUTS ? last - at : GANTRY_MAX_OP_OUTPUTS;
        tensor *part = gantry_slice(scope, chunked, (const int64_t[]){at, 0, 0},
                                    (const int64_t[]){count, chunks, -1});
        (void)gantry_unpack(scope, part, 0, made, (size_t)count);
        gantry_tensor_drop(scope, part);
        for (int64_t k = 0; k < count; ++k) scan_column(scan, at + k)[i] = made[k];
    }
}

/* Columns first to last - 1 of operand i as [columns][chunks][width], with their tensors. */
static tensor *scan_give_columns(const join_scan_t *scan, uint32_t i, int64_t first, int64_t last,
                                 int64_t chunks) {
    gantry_scope_t *scope = scan->join->scope;
    tensor *parts[SCAN_CHUNK / GANTRY_MAX_OP_INPUTS] = {NULL}, *list[GANTRY_MAX_OP_INPUTS];
    size_t part_count = 0;
    for (int64_t at = first, count; at < last; at += count) {
        count = last - at < GANTRY_MAX_OP_INPUTS ? last - at : GANTRY_MAX_OP_INPUTS;
        for (int64_t k = 0; k < count; ++k) list[k] = scan_column(scan, at + k)[i];
        parts[part_count++] = gantry_pack(scope, list, (size_t)count, 0);
        for (int64_t k = 0; k < count; ++k) gantry_tensor_drop(scope, list[k]);
    }
    tensor *all = part_count > 1 ? gantry_concat(scope, parts, part_count, 0) : parts[0];
    for (size_t k = 0; part_count > 1 && k < part_count; ++k) gantry_tensor_drop(scope, parts[k]);
    if (chunks < scan->chunks)
        scan_replace(
            scan->join, &all,
            gantry_pad(scope, all, (int64_t[]){0, 0, 0, scan->chunks - chunks, 0, 0}, NULL));
    return all;
}

/* The columns of operand i as [n][width], with their tensors. */
static tensor *scan_joined(const join_scan_t *scan, uint32_t i) {
    const gantry__join_t *join = scan->join;
    gantry_scope_t *scope = join->scope;
    const int64_t rows = scan->chunks == 1 ? scan->length : SCAN_CHUNK;
    const int64_t full = scan->chunks == 1 || scan->rest == 0 ? rows : scan->rest;
    tensor *all = scan_give_columns(scan, i, 0, full, scan->chunks);
    if (full < rows) {
        tensor *last = scan_give_columns(scan, i, full, rows, scan->whole);
        scan_replace(join, &all, gantry_concat(scope, (tensor *[]){all, last}, 2, 0));
        gantry_tensor_drop(scope, last);
    }
    if (!all) return NULL;
    const int64_t width = all->shape.dims[2], length = scan->chunks * rows;
    if (scan->chunks > 1)
        scan_replace(join, &all, gantry_transpose(scope, all, (const int32_t[]){1, 0, 2}));
    scan_replace(join, &all, gantry_reshape(scope, all, GANTRY_SHAPE(length, width)));
    if (length > scan->length)
        scan_replace(join, &all,
                     gantry_slice(scope, all, (int64_t[]){0, 0}, (int64_t[]){scan->length, -1}));
    return all;
}

/* ---- the three steps ---- */

static gantry_status_t scan_sequence(const gantry__join_t *join, tensor **x, bool is_exclusive);

/* out = the totals of the first `chunks` chunks: [chunks][width] */
static gantry_status_t scan_totals(const join_scan_t *scan, tensor *const *chunked, int64_t chunks,
                                   tensor **out) {
    const gantry__join_t *join = scan->join;
    for (uint32_t i = 0; i < join->count; ++i)
        scan_take_columns(scan, chunked[i], i, 0, SCAN_CHUNK, chunks);
    GANTRY__TRY(gantry__join_status(join));
    gantry__join_copy(join, scan_column(scan, 0), out);
    for (int64_t k = 1; k < SCAN_CHUNK; ++k) {
        gantry__joined_t next;
        GANTRY__TRY(gantry__join_call(join, out, scan_column(scan, k), next));
        gantry__join_drop(join, out);
        gantry__join_drop(join, scan_column(scan, k));
        gantry__join_copy(join, next, out);
    }
    return GANTRY_OK;
}

/* The first column becomes before o column, except that of the first chunk. */
static gantry_status_t scan_first_column(const join_scan_t *scan, tensor *const *before) {
    const gantry__join_t *join = scan->join;
    tensor **column = scan_column(scan, 0);
    const int64_t chunks = scan->chunks;
    gantry__joined_t first, others, some;
    GANTRY__TRY(gantry__join_slice(join, column, 0, 0, 1, 1, first));
    GANTRY__TRY(gantry__join_slice(join, column, 0, 1, chunks - 1, 1, others));
    gantry__join_drop(join, column);
    if (before[0]->shape.dims[0] > chunks - 1) {
        GANTRY__TRY(gantry__join_slice(join, before, 0, 0, chunks - 1, 1, some));
        before = some;
    }
    GANTRY__TRY(gantry__join_call(join, before, others, others));
    return gantry__join_concat(join, first, others, 0, column);
}

/* Each column becomes the one before it, joined with it; before (may be NULL) is of all chunks but
 * the first. */
static gantry_status_t scan_rows(const join_scan_t *scan, tensor **before) {
    const gantry__join_t *join = scan->join;
    const int64_t rows = before ? SCAN_CHUNK : scan->length;
    const int64_t joined = before && scan->is_exclusive ? rows - 1 : rows;
    if (before) GANTRY__TRY(scan_first_column(scan, before));
    for (int64_t k = 1; k < joined; ++k) {
        tensor *const *left = scan_column(scan, k - 1);
        gantry__joined_t fewer, next;
        if (before && k == scan->rest) {
            GANTRY__TRY(gantry__join_slice(join, left, 0, 0, scan->whole, 1, fewer));
            left = fewer;
        }
        GANTRY__TRY(gantry__join_call(join, left, scan_column(scan, k), next));
        gantry__join_drop(join, scan_column(scan, k));
        gantry__join_copy(join, next, scan_column(scan, k));
    }
    if (joined < rows) gantry__join_copy(join, before, scan_column(scan, joined));
    return GANTRY_OK;
}

static gantry_status_t scan_chunks(const join_scan_t *scan, tensor **x) {
    const gantry__join_t *join = scan->join;
    const bool is_short = scan->chunks == 1;
    /* the exclusive scan ends with what comes before the chunk after the last one */
    const int64_t totals = scan->is_exclusive ? scan->whole : scan->chunks - 1;
    gantry__joined_t chunked, before;
    for (uint32_t i = 0; i < join->count; ++i) scan_replace(join, &x[i], scan_chunked(scan, x[i]));
    GANTRY__TRY(gantry__join_status(join));
    gantry__join_copy(join, x, chunked);
    if (!is_short) {
        GANTRY__TRY(scan_totals(scan, chunked, totals, before));
        GANTRY__TRY(scan_sequence(join, before, true));
    }
    for (uint32_t i = 0; i < join->count; ++i) {
        const int64_t rows = is_short ? scan->length : SCAN_CHUNK;
        const int64_t full = is_short || scan->rest == 0 ? rows : scan->rest;
        scan_take_columns(scan, chunked[i], i, 0, full, scan->chunks);
        scan_take_columns(scan, chunked[i], i, full, rows, scan->whole);
        gantry_tensor_drop(join->scope, chunked[i]);
    }
    GANTRY__TRY(gantry__join_status(join));
    GANTRY__TRY(scan_rows(scan, is_short ? NULL : before));
    for (uint32_t i = 0; i < join->count; ++i) x[i] = scan_joined(scan, i);
    return gantry__join_status(join);
}

/* x, [n][width], with its tensors, becomes its scan; an exclusive one leaves out the first result
 * and has one after the last element. */
static gantry_status_t scan_sequence(const gantry__join_t *join, tensor **x, bool is_exclusive) {
    const gantry__heap_t *heap = &join->scope->runtime->heap;
    const int64_t length = x[0]->shape.dims[0];
    const size_t bytes = (size_t)SCAN_CHUNK * join->count * sizeof(tensor *);
    if (length == 1) return GANTRY_OK;
    join_scan_t scan = {.join = join,
                        .length = length,
                        .chunks = (length + SCAN_CHUNK - 1) / SCAN_CHUNK,
                        .whole = length / SCAN_CHUNK,
                        .rest = length % SCAN_CHUNK,
                        .is_exclusive = is_exclusive};
    scan.columns = gantry__heap_zalloc(heap, bytes);
    if (!scan.columns) return GANTRY_RESOURCE_EXHAUSTED;
    const gantry_status_t status = scan_chunks(&scan, x);
    gantry__heap_free(heap, (void *)scan.columns, bytes);
    return status;
}

/* ---- the call ---- */

typedef struct scan_axis_t {
    int32_t axis, rank;
    int32_t to[GANTRY_MAX_RANK], back[GANTRY_MAX_RANK]; /* of the transposes */
} scan_axis_t;

/* x as [n][width], a new tensor. */
static tensor *scan_flatten(const gantry__join_t *join, tensor *x, const scan_axis_t *axes) {
    gantry_shape_t flat = {.rank = 2, .dims = {x->shape.dims[axes->axis], 1}};
    for (int32_t d = 0; d < axes->rank; ++d) {
        if (d == axes->axis) continue;
        const bool is_open = x->shape.dims[d] < 0 || flat.dims[1] < 0;
        flat.dims[1] = is_open ? -1 : flat.dims[1] * x->shape.dims[d];
    }
    tensor *turned = axes->axis == 0 ? x : gantry_transpose(join->scope, x, axes->to);
    tensor *made = gantry_reshape(join->scope, turned, flat);
    if (turned != x) gantry_tensor_drop(join->scope, turned);
    return made;
}

/* The shape of x, with the scanned axis first, as a tensor: several sizes may be open. */
static tensor *scan_sizes(gantry_scope_t *scope, tensor *x, const scan_axis_t *axes) {
    tensor *places = gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(axes->rank), axes->to,
                                     (size_t)axes->rank * sizeof *axes->to);
    return gantry_gather(scope, gantry_shape(scope, x, GANTRY_INT64), places, 0);
}

/* made, [n][width], in the shape of x. */
static tensor *scan_unflatten(const gantry__join_t *join, tensor *made, tensor *x,
                              const scan_axis_t *axes) {
    gantry_scope_t *scope = join->scope;
    gantry_shape_t shape = {.rank = axes->rank};
    for (int32_t d = 0; d < axes->rank; ++d) shape.dims[d] = x->shape.dims[axes->to[d]];
    tensor *shaped = NULL;
    if (x->elements >= 0) {
        shaped = gantry_reshape(scope, made, shape);
    } else {
        size_t count = 1;
        tensor *inputs[] = {made, scan_sizes(scope, x, axes)};
        (void)gantry_op_call(scope, "Reshape", inputs, 2, NULL, 0, &shaped, &count);
    }
    return axes->axis == 0 ? shaped : gantry_transpose(scope, shaped, axes->back);
}

static gantry_status_t scan_find_axis(tensor *x, int32_t axis, scan_axis_t *out) {
    const int32_t rank = x->shape.rank;
    out->axis = axis < 0 ? axis + rank : axis;
    out->rank = rank;
    GANTRY__TRY(gantry__join_check_axis(axis, -1, rank));
    if (x->shape.dims[out->axis] < 0)
        return gantry__fail(GANTRY_UNIMPLEMENTED,
                            "axis %d has a size that depends on data; a known size is accepted",
                            out->axis);
    for (int32_t d = 0, at = 1; d < rank; ++d) out->to[d == out->axis ? 0 : at++] = d;
    for (int32_t d = 0; d < rank; ++d) out->back[out->to[d]] = d;
    return GANTRY_OK;
}

/* x, [n][width], with its tensors, becomes its scan, which begins with inits. */
static gantry_status_t scan_with_inits(const gantry__join_t *join, tensor *const *inits,
                                       bool is_exclusive, tensor **x) {
    const int64_t length = x[0]->shape.dims[0], used = is_exclusive ? length - 1 : length;
    gantry__joined_t first, others, given;
    GANTRY__TRY(gantry__join_slice(join, x, 0, 0, 1, 1, first));
    GANTRY__TRY(gantry__join_spread(join, inits, first, given));
    if (used > 0) GANTRY__TRY(gantry__join_call(join, given, first, first));
    if (used > 1) {
        GANTRY__TRY(gantry__join_slice(join, x, 0, 1, used - 1, 1, others));
        GANTRY__TRY(gantry__join_concat(join, first, others, 0, first));
    }
    gantry__join_drop(join, x);
    if (used > 0) GANTRY__TRY(scan_sequence(join, first, is_exclusive));
    gantry__join_copy(join, used > 0 ? first : given, x);
    return is_exclusive && used > 0 ? gantry__join_concat(join, given, first, 0, x) : GANTRY_OK;
}

static gantry_status_t scan_run_body(const gantry__join_t *join, tensor *const *operands,
                                     tensor *const *inits, int32_t given_axis,
                                     const gantry_scan_body_options_t *options, tensor **out) {
    scan_axis_t axes;
    const int32_t first = 0;
    GANTRY__TRY(scan_find_axis(operands[0], given_axis, &axes));
    if (inits) GANTRY__TRY(gantry__join_check_inits(join, operands, inits));
    if (options->exclusive && !inits)
        return gantry__refuse("the array of inits is NULL; an exclusive scan begins with them");
    gantry__join_copy(join, operands, out);
    if (operands[0]->elements == 0 || operands[0]->shape.dims[axes.axis] == 0) return GANTRY_OK;
    for (uint32_t i = 0; i < join->count; ++i) {
        out[i] = scan_flatten(join, operands[i], &axes);
        if (options->reverse)
            scan_replace(join, &out[i], gantry_reverse(join->scope, out[i], &first, 1));
    }
    GANTRY__TRY(gantry__join_status(join));
    GANTRY__TRY(inits ? scan_with_inits(join, inits, options->exclusive, out)
                      : scan_sequence(join, out, false));
    for (uint32_t i = 0; i < join->count; ++i) {
        if (options->reverse)
            scan_replace(join, &out[i], gantry_reverse(join->scope, out[i], &first, 1));
        scan_replace(join, &out[i], scan_unflatten(join, out[i], operands[i], &axes));
    }
    return gantry__join_status(join);
}

static gantry_status_t scan_joined_by(gantry__join_t *join, tensor *const *operands,
                                      tensor *const *inits, int32_t axis,
                                      const gantry_scan_body_options_t *given, tensor **out) {
    gantry_scan_body_options_t options;
    GANTRY__TRY(gantry__struct_read(given, 0, &options, sizeof options, "options"));
    GANTRY__TRY(gantry__join_begin(join, operands));
    return scan_run_body(join, operands, inits, axis, &options, out);
}

gantry_status_t gantry_scan_with_body(gantry_scope_t *scope, tensor *const *operands,
                                      tensor *const *inits, size_t count, int32_t axis,
                                      gantry_function_body_fn body, void *user,
                                      const gantry_scan_body_options_t *options, tensor **outputs) {
    GANTRY__OWN_FP_MODE(fp);
    gantry__join_t join =
        gantry__join_of("gantry_scan_with_body", scope, body, user, count, outputs);
    gantry__joined_t x;
    const gantry_status_t status = scan_joined_by(&join, operands, inits, axis, options, x);
    return gantry__join_end(&join, status, x);
}
