/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks of pixels and channels, triangles, and sequences in reverse order. */
#include <string.h>

#include "onnx/lower/move.h"

typedef const gantry_tensor_t tensor;

/* The largest block, whose square is far from the largest size. */
#define MOST_BLOCK 32768

/* ---- DepthToSpace, SpaceToDepth ---- */

/* The block's size, and the order of the channels' parts: DCR has those of the block first, CRD
 * last. */
static gantry_status_t read_block(gantry__onnx_call_t *call, int64_t *out_block, bool *out_is_crd) {
    tensor *x = gantry__onnx_input(call, 0);
    const char *mode = gantry__onnx_attr_text(call, "mode", "DCR");
    *out_block = gantry__onnx_attr_int(call, "blocksize", 0);
    *out_is_crd = strcmp(mode, "CRD") == 0;
    if (!*out_is_crd && strcmp(mode, "DCR") != 0)
        return gantry__onnx_invalid(call, "mode '%s'; modes are DCR and CRD", mode);
    if (*out_block < 1 || *out_block > MOST_BLOCK)
        return gantry__onnx_invalid(call, "blocksize %lld; 1 to %d are accepted",
                                    (long long)*out_block, MOST_BLOCK);
    if (gantry_tensor_shape(x)->rank != 4)
        return gantry__onnx_invalid(call, "an input of %d dimensions; it has 4",
                                    (int)gantry_tensor_shape(x)->rank);
    return *out_is_crd ? gantry__onnx_need_shape(call, x) : GANTRY_OK;
}

/* A Reshape, a Transpose of six dimensions and a Reshape. */
static tensor *reorder_blocks(gantry__onnx_call_t *call, gantry_shape_t parts, const int32_t *perm,
                              gantry_shape_t to) {
    tensor *x = gantry_reshape(call->scope, gantry__onnx_input(call, 0), parts);
    return gantry_reshape(call->scope, gantry__onnx_transpose(call, x, perm), to);
}

static gantry_status_t depth_to_space_crd(gantry__onnx_call_t *call, int64_t b) {
    const int64_t *d = gantry_tensor_shape(gantry__onnx_input(call, 0))->dims;
    if (d[1] % b != 0 || d[1] / b % b != 0)
        return gantry__onnx_invalid(call, "%lld channels for blocks of %lld x %lld",
                                    (long long)d[1], (long long)b, (long long)b);
    const int64_t depth = d[1] / b / b;
    return gantry__onnx_give(call, reorder_blocks(call, GANTRY_SHAPE(d[0], depth, b, b, d[2], d[3]),
                                                  (const int32_t[]){0, 1, 4, 2, 5, 3},
                                                  GANTRY_SHAPE(d[0], depth, d[2] * b, d[3] * b)));
}

static gantry_status_t space_to_depth_crd(gantry__onnx_call_t *call, int64_t b) {
    const int64_t *d = gantry_tensor_shape(gantry__onnx_input(call, 0))->dims;
    if (d[2] % b != 0 || d[3] % b != 0)
        return gantry__onnx_invalid(call, "images of %lld x %lld for blocks of %lld x %lld",
                                    (long long)d[2], (long long)d[3], (long long)b, (long long)b);
    return gantry__onnx_give(
        call, reorder_blocks(call, GANTRY_SHAPE(d[0], d[1], d[2] / b, b, d[3] / b, b),
                             (const int32_t[]){0, 1, 3, 5, 2, 4},
                             GANTRY_SHAPE(d[0], d[1] * b * b, d[2] / b, d[3] / b)));
}

typedef tensor *(*dcr_fn)(gantry_scope_t *scope, tensor *x, int64_t block, const char *format);
typedef gantry_status_t (*crd_fn)(gantry__onnx_call_t *call, int64_t block);

/* DCR is Gantry's op. */
static gantry_status_t lower_blocks(gantry__onnx_call_t *call, dcr_fn dcr, crd_fn crd) {
    tensor *x = gantry__onnx_input(call, 0);
    int64_t block;
    bool is_crd;
    GANTRY__TRY(read_block(call, &block, &is_crd));
    if (block == 1) return gantry__onnx_give(call, x);
    return is_crd ? crd(call, block) : gantry__onnx_give(call, dcr(call->scope, x, block, "NCHW"));
}

gantry_status_t gantry__onnx_lower_depth_to_space(gantry__onnx_call_t *call) {
    return lower_blocks(call, gantry_depth_to_space, depth_to_space_crd);
}

gantry_status_t gantry__onnx_lower_space_to_depth(gantry__onnx_call_t *call) {
    return lower_blocks(call, gantry_space_to_depth, space_to_depth_crd);
}

/* ---- Trilu ---- */

/* A matrix of bools: whether column - row is at least (is_upper) or at most k. */
static tensor *triangle_mask(gantry__onnx_call_t *call, int64_t rows, int64_t columns, int64_t k,
                             bool is_upper) {
    const size_t count = (size_t)(rows * columns);
    uint8_t *mask = gantry__onnx_scratch(call, count, 1);
    if (!mask) return NULL;
    for (size_t i = 0; i < count; ++i) {
        const int64_t distance = (int64_t)(i % (size_t)columns) - (int64_t)(i / (size_t)columns);
        mask[i] = is_upper ? distance >= k : distance <= k;
    }
    return gantry_constant(call->host, GANTRY_BOOL, GANTRY_SHAPE(rows, columns), mask, count);
}

gantry_status_t gantry__onnx_lower_trilu(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    const bool is_upper = gantry__onnx_attr_int(call, "upper", 1) != 0;
    int64_t k;
    GANTRY__TRY(gantry__onnx_get_int(call, 1, "k", 0, &k));
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    if (shape->rank < 2)
        return gantry__onnx_invalid(call, "an input of %d dimensions; it has 2 or more",
                                    (int)shape->rank);
    const int64_t rows = shape->dims[shape->rank - 2], columns = shape->dims[shape->rank - 1];
    /* Beyond the corners all numbers mean the same. */
    k = k > columns ? columns : k < -rows ? -rows : k;
    if (gantry_shape_elements(shape) == 0) return gantry__onnx_give(call, x);
    if (is_upper && k <= 0)
        return gantry__onnx_give(call, gantry_matrix_band_part(call->scope, x, -k, -1));
    if (!is_upper && k >= 0)
        return gantry__onnx_give(call, gantry_matrix_band_part(call->scope, x, -1, k));
    /* MatrixBandPart always keeps the main diagonal. */
    return gantry__onnx_give(
        call, gantry_select(call->scope, triangle_mask(call, rows, columns, k, is_upper), x,
                            gantry_zeros(call->host, gantry_tensor_dtype(x), GANTRY_SCALAR)));
}

/* ---- ReverseSequence ---- */

/* 0, 1, ... as a column or a row of a matrix. */
static tensor *count_along(gantry__onnx_call_t *call, int64_t count, bool is_column) {
    int64_t *numbers = gantry__onnx_scratch(call, (size_t)count, sizeof *numbers);
    if (!numbers) return NULL;
    for (int64_t i = 0; i < count; ++i) numbers[i] = i;
    return gantry__onnx_ints_of(call, GANTRY_INT64, numbers,
                                is_column ? GANTRY_SHAPE(count, 1) : GANTRY_SHAPE(1, count));
}

/* Refuses lengths of another shape than [rows], and known ones that are none of `most` steps. */
static gantry_status_t check_sequence_lengths(gantry__onnx_call_t *call, int64_t rows,
                                              int64_t most) {
    tensor *lengths = gantry__onnx_input(call, 1);
    const gantry_shape_t wanted = GANTRY_SHAPE(rows);
    const int64_t *values = NULL;
    size_t count = 0;
    GANTRY__TRY(gantry__onnx_need_shape(call, lengths));
    if (!gantry_shape_equal(gantry_tensor_shape(lengths), &wanted))
        return gantry__onnx_invalid(call, "sequence_lens is not of the shape [%lld]",
                                    (long long)rows);
    if (!gantry__onnx_is_known(call, lengths)) return GANTRY_OK;
    GANTRY__TRY(gantry__onnx_get_ints(call, 1, "sequence_lens", &values, &count));
    for (size_t i = 0; i < count; ++i) {
        if (values[i] < 0 || values[i] > most)
            return gantry__onnx_invalid(call, "sequence_lens has %lld; there are %lld steps",
                                        (long long)values[i], (long long)most);
    }
    return GANTRY_OK;
}

/* Element t of a sequence of n elements comes from n - 1 - t; those after it stay. */
gantry_status_t gantry__onnx_lower_reverse_sequence(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0), *lengths = gantry__onnx_input(call, 1);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    const int64_t batch_axis = gantry__onnx_attr_int(call, "batch_axis", 1),
                  time_axis = gantry__onnx_attr_int(call, "time_axis", 0);
    if (batch_axis < 0 || batch_axis > 1 || time_axis != 1 - batch_axis || shape->rank < 2)
        return gantry__onnx_invalid(
            call, "batch_axis %lld and time_axis %lld of %d dimensions; one is 0, the other 1",
            (long long)batch_axis, (long long)time_axis, (int)shape->rank);
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    GANTRY__TRY(check_sequence_lengths(call, shape->dims[batch_axis], shape->dims[time_axis]));
    const gantry_shape_t both = GANTRY_SHAPE(shape->dims[0], shape->dims[1]);
    const bool is_time_first = time_axis == 0;
    if (gantry_shape_elements(shape) == 0) return gantry__onnx_give(call, x);
    tensor *times = count_along(call, shape->dims[time_axis], is_time_first);
    tensor *batch = count_along(call, shape->dims[batch_axis], !is_time_first);
    tensor *sizes = gantry_expand_dims(call->scope, gantry__onnx_cast(call, lengths, GANTRY_INT64),
                                       is_time_first ? 0 : 1);
    tensor *one = gantry_scalar_i64(call->host, 1);
    tensor *mirrored = gantry_sub(call->scope, gantry_sub(call->scope, sizes, one), times);
    tensor *from = gantry_broadcast_to(
        call->scope,
        gantry_select(call->scope, gantry_less(call->scope, times, sizes), mirrored, times), both);
    tensor *row = gantry_broadcast_to(call->scope, batch, both);
    tensor *const rows[] = {is_time_first ? from : row, is_time_first ? row : from};
    return gantry__onnx_give(
        call, gantry_gather_nd(call->scope, x, gantry_pack(call->scope, rows, 2, 2)));
}
