/* SPDX-License-Identifier: Apache-2.0 */
/* MatMulNBits and GatherBlockQuantized: numbers of 2, 4 and 8 bits in blocks, each with a scale and
 * a zero point. Weights that are constant become numbers when the model is first run. */
#include "onnx/lower/lower_quantize.h"

#include <gantry/ops.h>

#include "onnx/lower/lower_contrib.h"
#include "onnx/lower/parts.h"

const gantry_tensor_t *gantry__onnx_unpack_bits(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                                const gantry_tensor_t *bytes, int64_t bits) {
    if (bits == 8 || gantry_tensor_shape(bytes)->rank == 0) return bits == 8 ? bytes : NULL;
    gantry_shape_t shape = *gantry_tensor_shape(bytes);
    const gantry_tensor_t *mask =
        gantry__onnx_make_scalar(call, GANTRY_UINT8, (double)((1 << bits) - 1));
    const gantry_tensor_t *parts[4] = {NULL};
    const int64_t count = 8 / bits;
    for (int64_t i = 0; i < count; ++i) {
        const gantry_tensor_t *shift =
            gantry__onnx_make_scalar(call, GANTRY_UINT8, (double)(i * bits));
        const gantry_tensor_t *part = gantry_right_shift(scope, bytes, shift);
        parts[i] = gantry_expand_dims(scope, gantry_bitwise_and(scope, part, mask), -1);
    }
    const gantry_tensor_t *all = gantry_concat(scope, parts, (size_t)count, -1);
    shape.dims[shape.rank - 1] *= count;
    return gantry_reshape(scope, all, shape);
}

const gantry_tensor_t *gantry__onnx_pack_pairs(gantry__onnx_call_t *call,
                                               const gantry_tensor_t *x) {
    gantry_scope_t *scope = call->scope;
    gantry_shape_t shape = *gantry_tensor_shape(x);
    const int32_t last = shape.rank - 1;
    if (!x) return NULL;
    x = gantry_cast(scope, gantry__onnx_scale(call, x, 1, 8), GANTRY_UINT8);
    shape.dims[last] /= 2;
    gantry_shape_t pairs = shape;
    pairs.dims[pairs.rank++] = 2;
    x = gantry_reshape(scope, x, pairs);
    const gantry_tensor_t *high = gantry__onnx_part(call, x, last + 1, 1, 1);
    const gantry_tensor_t *low = gantry__onnx_part(call, x, last + 1, 0, 1);
    return gantry_reshape(scope, gantry_add(scope, low, gantry__onnx_scale(call, high, 16, 0)),
                          shape);
}

/* The block of each row of the weights: given, or in their order. */
static const gantry_tensor_t *block_indices(gantry__onnx_call_t *call, int64_t rows,
                                            int64_t block) {
    const gantry_tensor_t *given = gantry__onnx_input(call, 4);
    if (given) return given;
    int64_t *indices = gantry__onnx_scratch(call, (size_t)rows, sizeof *indices);
    if (!indices) return NULL;
    for (int64_t i = 0; i < rows; ++i) indices[i] = i / block;
    return gantry__onnx_make_ints(call, GANTRY_INT32, indices, (size_t)rows);
}

/* Zero points of blocks, [columns, blocks] in the type of the scales. */
static const gantry_tensor_t *block_zeros(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                          int64_t bits, int64_t columns, int64_t blocks) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(gantry__onnx_input(call, 2));
    const gantry_tensor_t *zeros = gantry__onnx_input(call, 3);
    if (!zeros) {
        const gantry_tensor_t *middle =
            gantry__onnx_make_scalar(call, dtype, (double)(1 << (bits - 1)));
        return gantry_fill(scope, GANTRY_SHAPE(columns, blocks), middle);
    }
    if (gantry_tensor_dtype(zeros) != GANTRY_UINT8)
        return gantry_reshape(scope, zeros, GANTRY_SHAPE(columns, blocks));
    const int64_t bytes = (blocks * bits + 7) / 8;
    const int64_t begin[2] = {0, 0}, size[2] = {columns, blocks};
    zeros = gantry_reshape(scope, zeros, GANTRY_SHAPE(columns, bytes));
    zeros = gantry_slice(scope, gantry__onnx_unpack_bits(call, scope, zeros, bits), begin, size);
    return gantry_cast(scope, zeros, dtype);
}

/* The weights [rows, columns] of MatMulNBits. */
static const gantry_tensor_t *unpack_weights(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                             const gantry_tensor_t *packed) {
    const int64_t rows = gantry__onnx_attr_int(call, "K", 0);
    const int64_t columns = gantry__onnx_attr_int(call, "N", 0);
    const int64_t bits = gantry__onnx_attr_int(call, "bits", 4);
    const int64_t block = gantry__onnx_attr_int(call, "block_size", 0);
    const int64_t blocks = (rows + block - 1) / block;
    const int64_t begin[2] = {0, 0}, size[2] = {columns, rows};
    const gantry_tensor_t *scales = gantry__onnx_input(call, 2);
    const gantry_dtype_t dtype = gantry_tensor_dtype(scales);
    const gantry_tensor_t *bytes =
        gantry_reshape(scope, packed, GANTRY_SHAPE(columns, blocks * block * bits / 8));
    const gantry_tensor_t *x = gantry__onnx_unpack_bits(call, scope, bytes, bits);
    x = gantry_cast(scope, gantry_slice(scope, x, begin, size), dtype);
    const gantry_tensor_t *indices = block_indices(call, rows, block);
    const gantry_tensor_t *zeros = block_zeros(call, scope, bits, columns, blocks);
    scales = gantry_reshape(scope, scales, GANTRY_SHAPE(columns, blocks));
    x = gantry_sub(scope, x, gantry_gather(scope, zeros, indices, 1));
    x = gantry_mul(scope, x, gantry_gather(scope, scales, indices, 1));
    return gantry_matrix_transpose(scope, x);
}

gantry_status_t gantry__onnx_check_bits(gantry__onnx_call_t *call) {
    const int64_t bits = gantry__onnx_attr_int(call, "bits", 4);
    if (bits == 2 || bits == 4 || bits == 8) return GANTRY_OK;
    return gantry__onnx_unsupported(call, "%lld bits; 2, 4 and 8 are there", (long long)bits);
}

gantry_status_t gantry__onnx_check_matmul_nbits(gantry__onnx_call_t *call) {
    const int64_t block = gantry__onnx_attr_int(call, "block_size", 0);
    const int64_t rows = gantry__onnx_attr_int(call, "K", 0);
    const int64_t columns = gantry__onnx_attr_int(call, "N", 0);
    GANTRY__TRY(gantry__onnx_check_bits(call));
    if (block < 8 || rows < 1 || columns < 1)
        return gantry__onnx_invalid(call, "block_size %lld, K %lld, N %lld", (long long)block,
                                    (long long)rows, (long long)columns);
    if (gantry__onnx_attr_int(call, "weight_prepacked", 0))
        return gantry__onnx_unsupported(call, "weights in the order of another library's kernels");
    return GANTRY_OK;
}

/* Refuses numbers that are not those of blocks. */
static gantry_status_t check_block_numbers(gantry__onnx_call_t *call) {
    const int64_t bits = gantry__onnx_attr_int(call, "bits", 4);
    const int64_t block = gantry__onnx_attr_int(call, "block_size", 0);
    const int64_t rows = gantry__onnx_attr_int(call, "K", 0);
    const int64_t columns = gantry__onnx_attr_int(call, "N", 0);
    const int64_t numbers = gantry_tensor_elements(gantry__onnx_input(call, 1)) * (8 / bits);
    if (rows > numbers || block > numbers || columns > numbers ||
        (rows - 1) / block + 1 > numbers / columns / block ||
        ((rows - 1) / block + 1) * columns * block != numbers)
        return gantry__onnx_invalid(call, "B has %lld numbers; K %lld, N %lld and block_size %lld",
                                    (long long)numbers, (long long)rows, (long long)columns,
                                    (long long)block);
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_matmul_nbits(gantry__onnx_call_t *call) {
    GANTRY__TRY(check_block_numbers(call));
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *bias = gantry__onnx_input(call, 5);
    bool all_known = true;
    for (size_t i = 1; i < 5; ++i)
        if (gantry__onnx_input(call, i) &&
            !gantry__onnx_is_known(call, gantry__onnx_input(call, i)))
            all_known = false;
    const gantry_tensor_t *weights =
        all_known ? gantry__onnx_prepared(call, 1, 0, unpack_weights)
                  : unpack_weights(call, call->scope, gantry__onnx_input(call, 1));
    if (gantry_tensor_dtype(x) != gantry_tensor_dtype(weights) && weights)
        weights = gantry_cast(call->scope, weights, gantry_tensor_dtype(x));
    const gantry_tensor_t *y = gantry_matmul(call->scope, x, weights, NULL);
    if (bias) y = gantry_add(call->scope, y, bias);
    return gantry__onnx_give(call, y);
}

/* ---- MatMulBnb4 ---- */

/* The weights [N, K]: 16 numbers, the first of a byte in its high bits, times those of blocks. */
static const gantry_tensor_t *unpack_bnb4(gantry__onnx_call_t *call, gantry_scope_t *scope,
                                          const gantry_tensor_t *packed) {
    static const float tables[2][16] = {
        {0, 0.00520833333f, 0.66666667f, 1, 0.33333333f, 0.5f, 0.16666667f, 0.25f, -0.0f,
         -0.00520833333f, -0.66666667f, -1, -0.33333333f, -0.5f, -0.16666667f, -0.25f},
        {-1, -0.6961928009986877f, -0.5250730514526367f, -0.39491748809814453f,
         -0.28444138169288635f, -0.18477343022823334f, -0.09105003625154495f, 0,
         0.07958029955625534f, 0.16093020141124725f, 0.24611230194568634f, 0.33791524171829224f,
         0.44070982933044434f, 0.5626170039176941f, 0.7229568362236023f, 1}};
    const int64_t rows = gantry__onnx_attr_int(call, "N", 0);
    const int64_t columns = gantry__onnx_attr_int(call, "K", 0), count = rows * columns;
    const int64_t block = gantry__onnx_attr_int(call, "block_size", 0);
    const int64_t blocks = (count + block - 1) / block, first = 0;
    const gantry_tensor_t *scales = gantry__onnx_input(call, 2);
    const gantry_dtype_t dtype = gantry_tensor_dtype(scales);
    const gantry_tensor_t *table =
        gantry_constant(call->host, GANTRY_FLOAT32, GANTRY_SHAPE(16),
                        tables[gantry__onnx_attr_int(call, "quant_type", 0) != 0], sizeof *tables);
    const gantry_tensor_t *pairs[2] = {
        gantry_right_shift(scope, packed, gantry__onnx_make_scalar(call, GANTRY_UINT8, 4)),
        gantry_bitwise_and(scope, packed, gantry__onnx_make_scalar(call, GANTRY_UINT8, 15))};
    for (size_t i = 0; i < 2; ++i) pairs[i] = gantry_expand_dims(scope, pairs[i], -1);
    const gantry_tensor_t *x = gantry_concat(scope, pairs, 2, -1);
    const int64_t given = gantry_tensor_elements(x);
    x = gantry_slice(scope, gantry_reshape(scope, x, GANTRY_SHAPE(given)), &first, &count);
    x = gantry_cast(scope, gantry_gather(scope, table, gantry_cast(scope, x, GANTRY_INT32), 0),
                    dtype);
    scales = gantry_broadcast_to(scope, gantry_reshape(scope, scales, GANTRY_SHAPE(blocks, 1)),
                                 GANTRY_SHAPE(blocks, block));
    scales = gantry_slice(scope, gantry_reshape(scope, scales, GANTRY_SHAPE(blocks * block)),
                          &first, &count);
    return gantry_reshape(scope, gantry_mul(scope, x, scales), GANTRY_SHAPE(rows, columns));
}

gantry_status_t gantry__onnx_lower_matmul_bnb4(gantry__onnx_call_t *call) {
    const gantry_tensor_t *x = gantry__onnx_input(call, 0), *packed = gantry__onnx_input(call, 1),
                          *scales = gantry__onnx_input(call, 2);
    const int64_t rows = gantry__onnx_attr_int(call, "N", 0);
    const int64_t columns = gantry__onnx_attr_int(call, "K", 0);
    const int64_t block = gantry__onnx_attr_int(call, "block_size", 0);
    const int64_t kind = gantry__onnx_attr_int(call, "quant_type", 0);
    const gantry_matmul_options_t options = {
        .struct_size = sizeof options,
        .transpose_b = gantry__onnx_attr_int(call, "transB", 1) != 0};
    GANTRY__TRY(gantry__onnx_need_shape(call, packed));
    GANTRY__TRY(gantry__onnx_need_shape(call, scales));
    const int64_t numbers = 2 * gantry_tensor_elements(packed);
    if ((kind != 0 && kind != 1) || block < 1 || rows < 1 || columns < 1 || block > INT32_MAX ||
        columns > numbers / rows || numbers - rows * columns > 1 ||
        gantry_tensor_elements(scales) != (rows * columns - 1) / block + 1)
        return gantry__onnx_invalid(call,
                                    "%lld numbers and %lld scales; K %lld, N %lld, block_size "
                                    "%lld, quant_type %lld",
                                    (long long)numbers, (long long)gantry_tensor_elements(scales),
                                    (long long)columns, (long long)rows, (long long)block,
                                    (long long)kind);
    const gantry_tensor_t *weights =
        gantry__onnx_is_known(call, packed) && gantry__onnx_is_known(call, scales)
            ? gantry__onnx_prepared(call, 1, 0, unpack_bnb4)
            : unpack_bnb4(call, call->scope, packed);
    return gantry__onnx_give(call, gantry_matmul(call->scope, x, weights, &options));
}

/* ---- GatherBlockQuantized ---- */

/* The zero point if none is given: the middle of bytes, else 0. */
static const gantry_tensor_t *absent_zero(gantry__onnx_call_t *call, const gantry_tensor_t *data,
                                          int64_t bits) {
    if (gantry__onnx_input_type(call, 0) != 2) return NULL;
    return gantry__onnx_make_scalar(call, gantry_tensor_dtype(data), (double)(1 << (bits - 1)));
}

/* Scales of floats of 8 and 4 bits, which may have a size of 1 where data has another one, in a
 * size for each row; *block 0 becomes the whole axis. */
static gantry_status_t widen_float_scales(gantry__onnx_call_t *call, const gantry_tensor_t *data,
                                          int64_t axis, int64_t *block,
                                          const gantry_tensor_t **scales) {
    const gantry_shape_t *own = gantry_tensor_shape(*scales);
    gantry_shape_t wide = *gantry_tensor_shape(data);
    if (!gantry__onnx_is_float8(gantry_tensor_dtype(data)) &&
        gantry_tensor_dtype(data) != GANTRY_FLOAT32)
        return GANTRY_OK;
    GANTRY__TRY(gantry__onnx_need_shape(call, data));
    if (gantry__onnx_input(call, 3) || own->rank != wide.rank)
        return gantry__onnx_invalid(
            call, "zero_points, or scales of rank %d, for floats of rank %d", own->rank, wide.rank);
    if (*block == 0) *block = wide.dims[axis];
    wide.dims[axis] = own->dims[axis];
    *scales = gantry_broadcast_to(gantry__onnx_scope_of(call, scales, 1), *scales, wide);
    return gantry_scope_status(call->scope);
}

gantry_status_t gantry__onnx_lower_gather_block_quantized(gantry__onnx_call_t *call) {
    gantry_scope_t *scope = call->scope;
    const gantry_tensor_t *data = gantry__onnx_input(call, 0), *zeros = gantry__onnx_input(call, 3);
    const gantry_tensor_t *scales = gantry__onnx_input(call, 2);
    const int64_t bits = gantry__onnx_attr_int(call, "bits", 4);
    int64_t block = gantry__onnx_attr_int(call, "block_size", 128);
    const int32_t rank = gantry_tensor_shape(data)->rank;
    const bool is_packed = gantry__onnx_input_type(call, 0) == 2 && bits < 8;
    int64_t gathered = 0, quantized = 0;
    GANTRY__TRY(gantry__onnx_axis(call, gantry__onnx_attr_int(call, "gather_axis", 0),
                                  (uint32_t)rank, &gathered));
    GANTRY__TRY(gantry__onnx_axis(call, gantry__onnx_attr_int(call, "quantize_axis", 1),
                                  (uint32_t)rank, &quantized));
    if (gathered == quantized)
        return gantry__onnx_unsupported(call, "gather_axis %lld, which is that of the blocks",
                                        (long long)gathered);
    if (is_packed && quantized != rank - 1)
        return gantry__onnx_unsupported(call,
                                        "bytes of several numbers whose blocks are not along "
                                        "the last axis");
    GANTRY__TRY(widen_float_scales(call, data, quantized, &block, &scales));
    const gantry_tensor_t *indices =
        gantry__onnx_count_from_begin(call, 1, data, (int32_t)gathered, 1);
    const int32_t axis = (int32_t)gathered, more = gantry_tensor_shape(indices)->rank - 1;
    data = gantry_gather(scope, data, indices, axis);
    scales = gantry_gather(scope, scales, indices, axis);
    if (zeros) zeros = gantry_gather(scope, zeros, indices, axis);
    if (is_packed) data = gantry__onnx_unpack_bits(call, scope, data, bits);
    if (is_packed && zeros) {
        const int64_t begin[GANTRY_MAX_RANK] = {0};
        zeros = gantry_slice(scope, gantry__onnx_unpack_bits(call, scope, zeros, bits), begin,
                             gantry_tensor_shape(scales)->dims);
    }
    GANTRY__TRY(gantry_scope_status(scope));
    if (quantized > gathered) quantized += more;
    const gantry_dtype_t dtype = gantry_tensor_dtype(scales);
    GANTRY__TRY(gantry__onnx_spread(call, data, scales, quantized, block, &scales));
    if (zeros)
        GANTRY__TRY(gantry__onnx_spread(call, data, zeros, quantized, block, &zeros));
    else
        zeros = absent_zero(call, data, bits);
    return gantry__onnx_give(call,
                             gantry__onnx_dequantize(call, scope, data, scales, zeros, dtype));
}
