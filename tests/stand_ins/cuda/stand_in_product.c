/* SPDX-License-Identifier: Apache-2.0 */
#include "stand_in_product.h"

#include "stand_in_numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The rounding of float32 elements before the multiplication. */
enum { COMPUTE_FAST_16F = 74, COMPUTE_FAST_16BF = 75, COMPUTE_FAST_TF32 = 77 };

static uint64_t rows_of(const stand_in_matrix_t *matrix) {
    return matrix->is_transposed ? matrix->columns : matrix->rows;
}
static uint64_t columns_of(const stand_in_matrix_t *matrix) {
    return matrix->is_transposed ? matrix->rows : matrix->columns;
}

static int layout_is_good(const stand_in_matrix_t *matrix) {
    uint64_t least = matrix->is_row_major ? matrix->columns : matrix->rows;

    return stand_in__element_bytes(matrix->type) > 0 && matrix->leading > 0 &&
           (uint64_t)matrix->leading >= least && matrix->batch >= 1;
}

/* The combinations that cublasLt accepts: the element type decides the types of the products and
 * the scales. */
static int types_are_good(const stand_in_product_t *product) {
    int compute = product->compute_type;

    if (product->a.type != product->b.type || product->c.type != product->d.type) return 0;
    if (product->a.type == 1)
        return (compute == 70 || compute == 71) && product->scale_type == 1 && product->d.type == 1;
    if (compute == 64 || compute == 65)
        return product->a.type == 2 && product->d.type == 2 && product->scale_type == 2;
    if (product->scale_type != 0 || (product->d.type != 0 && product->d.type != product->a.type))
        return 0;
    if (compute == COMPUTE_FAST_16F || compute == COMPUTE_FAST_16BF ||
        compute == COMPUTE_FAST_TF32) {
        return product->a.type == 0;
    }
    return compute == 68 || compute == 69;
}

int stand_in__check_product(const stand_in_product_t *product) {
    const stand_in_matrix_t *d = &product->d;

    if (!layout_is_good(&product->a) || !layout_is_good(&product->b) ||
        !layout_is_good(&product->c) || !layout_is_good(d) || !types_are_good(product)) {
        return -1;
    }
    if (rows_of(&product->a) != d->rows || columns_of(&product->b) != d->columns ||
        columns_of(&product->a) != rows_of(&product->b) || product->c.rows != d->rows ||
        product->c.columns != d->columns) {
        return -1;
    }
    return product->a.batch == d->batch && product->b.batch == d->batch &&
                   product->c.batch == d->batch
               ? 0
               : -1;
}

uint64_t stand_in__matrix_bytes(const stand_in_matrix_t *matrix) {
    uint64_t lines = matrix->is_row_major ? matrix->rows : matrix->columns;
    uint64_t line = matrix->is_row_major ? matrix->columns : matrix->rows;
    uint64_t batches = matrix->batch_stride > 0
                           ? (uint64_t)(matrix->batch - 1) * (uint64_t)matrix->batch_stride
                           : 0;

    return (batches + (lines - 1) * (uint64_t)matrix->leading + line) *
           stand_in__element_bytes(matrix->type);
}

/* ---- elements ---- */

static double round_input(int compute_type, double value) {
    switch (compute_type) {
        case COMPUTE_FAST_16F: return stand_in__round(2, value);
        case COMPUTE_FAST_16BF: return stand_in__round(14, value);
        case COMPUTE_FAST_TF32: return stand_in__round_to_tf32(value);
        default: return value;
    }
}

static uint64_t index_of(const stand_in_matrix_t *matrix, uint64_t row, uint64_t column,
                         uint64_t batch) {
    uint64_t across = matrix->is_transposed ? row : column;
    uint64_t down = matrix->is_transposed ? column : row;
    uint64_t leading = (uint64_t)matrix->leading;

    return (uint64_t)((int64_t)batch * matrix->batch_stride) +
           (matrix->is_row_major ? down * leading + across : across * leading + down);
}

/* ---- the product ---- */

void stand_in__set_scales(stand_in_product_t *product, const void *alpha, const void *beta) {
    product->alpha = stand_in__load(alpha, product->scale_type, 0);
    product->beta = stand_in__load(beta, product->scale_type, 0);
}

/* op(matrix) of one batch as rows of doubles, as the compute type multiplies them. */
static void unpack(const stand_in_matrix_t *matrix, int compute_type, const void *data,
                   uint64_t batch, double *out) {
    uint64_t rows = rows_of(matrix);
    uint64_t columns = columns_of(matrix);

    for (uint64_t row = 0; row < rows; ++row) {
        for (uint64_t column = 0; column < columns; ++column) {
            out[row * columns + column] = round_input(
                compute_type,
                stand_in__load(data, matrix->type, index_of(matrix, row, column, batch)));
        }
    }
}

/* The arrays are the call's own, so sanitizers need not look: unpack and store touch the card's. */
__attribute__((no_sanitize("address", "thread", "undefined"))) static void multiply_row(
    const double *restrict a, const double *restrict b, double *restrict sums, uint64_t inner,
    uint64_t columns) {
    memset(sums, 0, columns * sizeof *sums);
    for (uint64_t k = 0; k < inner; ++k) {
        for (uint64_t column = 0; column < columns; ++column) {
            sums[column] += a[k] * b[k * columns + column];
        }
    }
}

/* In float32: the sum is rounded before the bias is added. */
static double finish(const stand_in_product_t *product, uint64_t row, double value) {
    float sum = (float)value;

    if (product->epilogue == 1) return value;
    if (product->epilogue & STAND_IN_BIAS)
        sum += (float)stand_in__load((const void *)product->bias, product->d.type, row);
    return product->epilogue & STAND_IN_RELU && sum < 0 ? 0 : sum;
}

static void run_batch(const stand_in_product_t *product, uint64_t batch, double *a, double *b,
                      double *sums) {
    uint64_t inner = columns_of(&product->a);

    unpack(&product->a, product->compute_type, (const void *)product->data[0], batch, a);
    unpack(&product->b, product->compute_type, (const void *)product->data[1], batch, b);
    for (uint64_t row = 0; row < product->d.rows; ++row) {
        multiply_row(a + row * inner, b, sums, inner, product->d.columns);
        for (uint64_t column = 0; column < product->d.columns; ++column) {
            double value = product->alpha * sums[column];

            if (product->beta != 0) {
                value +=
                    product->beta * stand_in__load((const void *)product->data[2], product->c.type,
                                                   index_of(&product->c, row, column, batch));
            }
            stand_in__store((void *)product->data[3], product->d.type,
                            index_of(&product->d, row, column, batch), finish(product, row, value));
        }
    }
}

void stand_in__run_product(void *arguments) {
    const stand_in_product_t *product = arguments;
    uint64_t inner = columns_of(&product->a);
    double *a = malloc(product->d.rows * inner * sizeof *a + 1);
    double *b = malloc(product->d.columns * inner * sizeof *b + 1);
    double *sums = malloc(product->d.columns * sizeof *sums + 1);

    if (a == NULL || b == NULL || sums == NULL) {
        stand_in__fail_context(product->context, CUDA_LAUNCH_FAILED,
                               "no memory of the host for a product");
    } else {
        if (product->workspace != NULL) {
            memset(product->workspace, 0x5A, product->workspace_bytes);
        }
        for (int32_t batch = 0; batch < product->d.batch; ++batch) {
            run_batch(product, (uint64_t)batch, a, b, sums);
        }
    }
    free(a);
    free(b);
    free(sums);
}
