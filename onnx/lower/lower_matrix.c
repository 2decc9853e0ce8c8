/* SPDX-License-Identifier: Apache-2.0 */
/* Products of matrices, and determinants of small ones. */
#include "onnx/lower/lower_quantize.h"
#include "onnx/lower/move.h"
#include "onnx/lower/parts.h"
#include "onnx/lower/run.h"

typedef const gantry_tensor_t tensor;

/* ---- MatMul ---- */

/* Gantry multiplies signed integers. The bits of a product modulo 2^n do not depend on the sign. */
static gantry_dtype_t signed_type_of(gantry_dtype_t dtype) {
    return dtype == GANTRY_UINT32 ? GANTRY_INT32 : dtype == GANTRY_UINT64 ? GANTRY_INT64 : dtype;
}

static tensor *with_type(gantry__onnx_call_t *call, tensor *x, gantry_dtype_t dtype) {
    return x && gantry_tensor_dtype(x) != dtype ? gantry_bitcast(call->scope, x, dtype) : x;
}

/* The product of a, of three or more dimensions, and a matrix: all rows of a are one matrix. */
static tensor *multiply_rows(gantry__onnx_call_t *call, tensor *a, tensor *b) {
    const gantry_shape_t *shape = gantry_tensor_shape(a);
    gantry_shape_t result = *shape;
    const int64_t depth = shape->dims[shape->rank - 1];
    const int64_t rows = gantry__onnx_product(shape, 0, shape->rank - 1);
    result.dims[result.rank - 1] = gantry_tensor_shape(b)->dims[1];
    if (rows < 0 || depth < 0 || result.dims[result.rank - 1] < 0)
        return gantry_matmul(call->scope, a, b, NULL);
    return gantry_reshape(
        call->scope,
        gantry_matmul(call->scope, gantry_reshape(call->scope, a, GANTRY_SHAPE(rows, depth)), b,
                      NULL),
        result);
}

gantry_status_t gantry__onnx_lower_mat_mul(gantry__onnx_call_t *call) {
    bool is_joined = false;
    GANTRY__TRY(gantry__onnx_join_quantized(call, GANTRY__ONNX_JOINED_MATMUL, &is_joined));
    if (is_joined) return GANTRY_OK;
    tensor *a = gantry__onnx_input(call, 0), *b = gantry__onnx_input(call, 1);
    const gantry_dtype_t dtype = gantry_tensor_dtype(a), computed = signed_type_of(dtype);
    const int32_t a_rank = gantry_tensor_shape(a)->rank, b_rank = gantry_tensor_shape(b)->rank;
    if (a_rank == 0 || b_rank == 0)
        return gantry__onnx_invalid(call, "operands of %d and %d dimensions; each has 1 or more",
                                    (int)a_rank, (int)b_rank);
    a = with_type(call, a, computed);
    b = with_type(call, b, computed);
    if (a_rank == 1) a = gantry_expand_dims(call->scope, a, 0);
    if (b_rank == 1) b = gantry_expand_dims(call->scope, b, 1);
    if (!a || !b) return gantry__onnx_give(call, NULL);
    tensor *y = a_rank > 2 && b_rank == 2 ? multiply_rows(call, a, b)
                                          : gantry_matmul(call->scope, a, b, NULL);
    if (b_rank == 1) y = gantry_squeeze(call->scope, y, (const int32_t[]){-1}, 1);
    if (a_rank == 1)
        y = gantry_squeeze(call->scope, y, (const int32_t[]){b_rank == 1 ? -1 : -2}, 1);
    return gantry__onnx_give(call, with_type(call, y, dtype));
}

/* ---- Gemm ---- */

static tensor *make_transposed(gantry__onnx_call_t *call, gantry_scope_t *scope, tensor *x) {
    if (scope == call->scope) return gantry_matrix_transpose(scope, x);
    return gantry__onnx_constants_turn(call->run->constants, scope, x);
}

/* x times an attribute; x itself for 1. */
static tensor *scale_by(gantry__onnx_call_t *call, tensor *x, const char *name) {
    const float factor = gantry__onnx_attr_float(call, name, 1);
    if (factor == 1 || !x) return x;
    return gantry_mul(call->scope, x,
                      gantry__onnx_make_scalar(call, gantry_tensor_dtype(x), (double)factor));
}

/* Integers are multiplied by alpha and beta only if these are integers. */
static gantry_status_t check_factors(gantry__onnx_call_t *call, gantry_dtype_t dtype) {
    const float factors[] = {gantry__onnx_attr_float(call, "alpha", 1),
                             gantry__onnx_attr_float(call, "beta", 1)};
    for (size_t i = 0; i < 2; ++i) {
        if ((GANTRY_DTYPE_BIT(dtype) & GANTRY_DTYPES_INTEGERS) != 0 &&
            !(factors[i] > -16777216.0f && factors[i] < 16777216.0f &&
              (float)(int32_t)factors[i] == factors[i]))
            return gantry__onnx_unsupported(call, "%s %g with integers", i == 0 ? "alpha" : "beta",
                                            (double)factors[i]);
    }
    return GANTRY_OK;
}

/* Adds the third operand, as a bias if it is one for each column. */
static tensor *add_to_product(gantry__onnx_call_t *call, tensor *y, tensor *c, int64_t columns) {
    const gantry_shape_t *shape = gantry_tensor_shape(c);
    const bool is_row = gantry_tensor_elements(c) == columns && shape->rank > 0 &&
                        shape->dims[shape->rank - 1] == columns && columns > 0;
    c = scale_by(call, c, "beta");
    if (!is_row) return gantry_add(call->scope, y, c);
    return gantry_bias_add(call->scope, y, gantry__onnx_reshape(call, c, GANTRY_SHAPE(columns)));
}

gantry_status_t gantry__onnx_lower_gemm(gantry__onnx_call_t *call) {
    bool is_joined = false;
    GANTRY__TRY(gantry__onnx_join_quantized(call, GANTRY__ONNX_JOINED_GEMM, &is_joined));
    if (is_joined) return GANTRY_OK;
    tensor *a = gantry__onnx_input(call, 0), *b = gantry__onnx_input(call, 1),
           *c = gantry__onnx_input(call, 2);
    const gantry_dtype_t dtype = gantry_tensor_dtype(a), computed = signed_type_of(dtype);
    gantry_matmul_options_t options = {
        .struct_size = sizeof options,
        .transpose_a = gantry__onnx_attr_int(call, "transA", 0) != 0,
        .transpose_b = gantry__onnx_attr_int(call, "transB", 0) != 0};
    GANTRY__TRY(check_factors(call, dtype));
    if (gantry_tensor_shape(a)->rank != 2 || gantry_tensor_shape(b)->rank != 2)
        return gantry__onnx_invalid(call, "operands of %d and %d dimensions; each has 2",
                                    (int)gantry_tensor_shape(a)->rank,
                                    (int)gantry_tensor_shape(b)->rank);
    const int64_t columns = gantry_tensor_shape(b)->dims[options.transpose_b ? 0 : 1];
    if (options.transpose_b && gantry__onnx_is_known(call, b)) {
        b = gantry__onnx_prepared(call, 1, 0, make_transposed);
        options.transpose_b = false;
    }
    tensor *y = scale_by(call,
                         gantry_matmul(call->scope, with_type(call, a, computed),
                                       with_type(call, b, computed), &options),
                         "alpha");
    GANTRY__TRY(gantry__onnx_need_fit(call, "C", c, y));
    if (y && c && gantry__onnx_attr_float(call, "beta", 1) != 0)
        y = add_to_product(call, y, with_type(call, c, computed), columns);
    return gantry__onnx_give(call, with_type(call, y, dtype));
}

/* ---- Det ---- */

/* Element (row, column) of each matrix, without the matrices' dimensions. */
static tensor *matrix_element(gantry__onnx_call_t *call, tensor *x, int32_t row, int32_t column) {
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    int64_t begin[GANTRY_MAX_RANK] = {0}, size[GANTRY_MAX_RANK];
    for (int32_t i = 0; i < shape->rank; ++i) size[i] = i < shape->rank - 2 ? -1 : 1;
    begin[shape->rank - 2] = row;
    begin[shape->rank - 1] = column;
    return gantry_squeeze(call->scope, gantry_slice(call->scope, x, begin, size),
                          (const int32_t[]){-2, -1}, 2);
}

/* The determinant of rows from `row` on and the columns that are left, by the first row. */
static tensor *expand_determinant(gantry__onnx_call_t *call, tensor *x, int32_t row, int32_t size,
                                  uint32_t left) {
    tensor *sum = NULL;
    bool is_negative = false;
    for (int32_t column = 0; column < size; ++column) {
        if (!(left >> column & 1)) continue;
        tensor *term = matrix_element(call, x, row, column);
        if (row < size - 1)
            term = gantry_mul(call->scope, term,
                              expand_determinant(call, x, row + 1, size, left & ~(1u << column)));
        if (!sum)
            sum = term;
        else
            sum = is_negative ? gantry_sub(call->scope, sum, term)
                              : gantry_add(call->scope, sum, term);
        is_negative = !is_negative;
    }
    return sum;
}

/* One step of the elimination: *x, [batch, rows, rows], without its first column and the row of the
 * column's largest element, which *product is multiplied by. */
static void eliminate_column(gantry__onnx_call_t *call, tensor **x, tensor **product) {
    gantry_scope_t *scope = call->scope;
    const gantry_shape_t *shape = gantry_tensor_shape(*x);
    const gantry_dtype_t dtype = gantry_tensor_dtype(*x);
    const int64_t batch = shape->dims[0], rows = shape->dims[1];
    tensor *column = gantry__onnx_part(call, *x, 2, 0, 1);
    tensor *place = gantry_argmax(scope, gantry_abs(scope, column), 1);
    place = gantry_reshape(scope, place, GANTRY_SHAPE(batch, 1, 1));
    tensor *row = gantry_gather_elements(
        scope, *x, gantry_broadcast_to(scope, place, GANTRY_SHAPE(batch, 1, rows)), 1);
    int64_t *numbers = gantry__onnx_scratch(call, (size_t)rows, sizeof *numbers);
    if (!numbers) {
        *x = NULL;
        return;
    }
    for (int64_t i = 0; i < rows; ++i) numbers[i] = i;
    tensor *places = gantry__onnx_ints_of(call, GANTRY_INT64, numbers, GANTRY_SHAPE(rows, 1));
    tensor *zero = gantry__onnx_make_scalar(call, dtype, 0);
    tensor *one = gantry__onnx_make_scalar(call, dtype, 1);
    tensor *pivot = gantry__onnx_part(call, row, 2, 0, 1);
    tensor *is_first = gantry_equal(scope, place, gantry_scalar_i64(call->host, 0));
    *product = gantry_mul(scope, *product,
                          gantry_select(scope, is_first, pivot, gantry_sub(scope, zero, pivot)));
    /* The first row takes the place of the pivot's. */
    *x = gantry_select(scope, gantry_equal(scope, places, place),
                       gantry__onnx_part(call, *x, 1, 0, 1), *x);
    *x = gantry__onnx_part(call, *x, 1, 1, rows - 1);
    tensor *divisor = gantry_select(scope, gantry_equal(scope, pivot, zero), one, pivot);
    tensor *factors = gantry_div(scope, gantry__onnx_part(call, *x, 2, 0, 1), divisor);
    *x = gantry_sub(scope, gantry__onnx_part(call, *x, 2, 1, rows - 1),
                    gantry_mul(scope, factors, gantry__onnx_part(call, row, 2, 1, rows - 1)));
}

#define MOST_EXPANDED_ROWS 4
#define MOST_DETERMINANT 64

gantry_status_t gantry__onnx_lower_det(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    gantry_shape_t shape = *gantry_tensor_shape(x);
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    const int64_t size = shape.rank > 1 ? shape.dims[shape.rank - 1] : 0;
    if (size < 1 || shape.dims[shape.rank - 2] != size)
        return gantry__onnx_invalid(call, "matrices that are not square");
    if (size > MOST_DETERMINANT)
        return gantry__onnx_unsupported(
            call, "the determinant of matrices of %lld rows; there are at most %d", (long long)size,
            MOST_DETERMINANT);
    if (size <= MOST_EXPANDED_ROWS)
        return gantry__onnx_give(call,
                                 expand_determinant(call, x, 0, (int32_t)size, (1u << size) - 1));
    shape.rank -= 2;
    const int64_t batch = gantry_shape_elements(&shape);
    tensor *product = gantry__onnx_make_scalar(call, gantry_tensor_dtype(x), 1);
    x = gantry__onnx_reshape(call, x, GANTRY_SHAPE(batch, size, size));
    for (int64_t i = 1; i < size && x; ++i) eliminate_column(call, &x, &product);
    product = x ? gantry_mul(call->scope, product, x) : NULL;
    return gantry__onnx_give(call, gantry__onnx_reshape(call, product, shape));
}
