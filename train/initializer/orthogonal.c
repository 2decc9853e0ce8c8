/* SPDX-License-Identifier: Apache-2.0 */
/* QR by Householder reflections, on the host and in float64. The matrix A, m x n with m >= n, is
 * stored by columns. Reflection k, I - tau v v', has v = (0, ..., 0, 1, v[k + 1], ...), stored in
 * column k below the diagonal:
 *
 *     factor:  for k = 0 .. n - 1: column k becomes v, R's diagonal is kept, reflect columns > k
 *     form Q:  for k = n - 1 .. 0: reflect columns > k, then column k = the reflection of e[k]
 *
 * Each column of Q times the sign of R's diagonal there makes the result unique, whatever the signs
 * of the reflections. 4 m n^2 operations, no second matrix. Golub and Van Loan, Matrix
 * Computations, 5.2. */
#include "train/initializer/orthogonal.h"

#include <math.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"

/* Columns, the reflections' factors, R's diagonal. */
typedef struct qr_t {
    size_t m, n;
    double *columns, *tau, *diagonal;
} qr_t;

static double *qr_column(const qr_t *qr, size_t k) { return qr->columns + k * qr->m; }

/* Four running sums, because a single one would wait for each addition. */
static double dot(const double *a, const double *b, size_t count) {
    double sums[4] = {0, 0, 0, 0};
    const size_t whole = count & ~(size_t)3;
    for (size_t i = 0; i < whole; i += 4) {
        for (size_t k = 0; k < 4; ++k) sums[k] += a[i + k] * b[i + k];
    }
    for (size_t i = whole; i < count; ++i) sums[0] += a[i] * b[i];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/* Column k becomes v; its reflection is (diagonal, 0, ..., 0). */
static void qr_make_reflection(const qr_t *qr, size_t k) {
    double *x = qr_column(qr, k) + k;
    const size_t tail = qr->m - k - 1;
    const double tail_squared = dot(x + 1, x + 1, tail), first = x[0];
    qr->diagonal[k] = first;
    qr->tau[k] = 0;
    if (tail_squared <= 0) return;
    const double norm = sqrt(first * first + tail_squared), diagonal = first > 0 ? -norm : norm;
    for (size_t i = 1; i <= tail; ++i) x[i] /= first - diagonal;
    qr->diagonal[k] = diagonal;
    qr->tau[k] = (diagonal - first) / diagonal;
}

/* Reflects the columns after k. */
static void qr_reflect(const qr_t *qr, size_t k) {
    const double *v = qr_column(qr, k) + k + 1;
    const size_t tail = qr->m - k - 1;
    for (size_t j = k + 1; j < qr->n && qr->tau[k] != 0; ++j) {
        double *y = qr_column(qr, j) + k;
        const double factor = qr->tau[k] * (y[0] + dot(v, y + 1, tail));
        y[0] -= factor;
        for (size_t i = 0; i < tail; ++i) y[i + 1] -= factor * v[i];
    }
}

static void qr_factor(const qr_t *qr) {
    for (size_t k = 0; k < qr->n; ++k) {
        qr_make_reflection(qr, k);
        qr_reflect(qr, k);
    }
}

static void qr_form_q(const qr_t *qr) {
    for (size_t k = qr->n; k-- > 0;) {
        double *x = qr_column(qr, k);
        qr_reflect(qr, k);
        for (size_t i = k + 1; i < qr->m; ++i) x[i] *= -qr->tau[k];
        x[k] = 1 - qr->tau[k];
        memset(x, 0, k * sizeof *x);
    }
}

/* ---- from and to tensors ---- */

static double orthogonal_number_at(const void *data, gantry_dtype_t dtype, size_t i) {
    return dtype == GANTRY_FLOAT32 ? (double)((const float *)data)[i] : ((const double *)data)[i];
}

static void set_number(void *data, gantry_dtype_t dtype, size_t i, double value) {
    if (dtype == GANTRY_FLOAT32) {
        ((float *)data)[i] = (float)value;
    } else {
        ((double *)data)[i] = value;
    }
}

/* Draws the matrix, row by row, into data, whose order is that of the result. The draw has a scope
 * of its own, because tensors of a trace's scope have no elements. */
static gantry_status_t qr_draw(gantry_runtime_t *runtime, int64_t seed0, int64_t seed1,
                               gantry_dtype_t dtype, const qr_t *qr, void *data) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, "CPU:0");
    if (!scope) return gantry__train_no_scope(runtime);
    const gantry_tensor_t *drawn = gantry_stateless_random_normal(
        scope, GANTRY_SHAPE((int64_t)qr->m, (int64_t)qr->n), dtype, seed0, seed1);
    gantry_status_t status = gantry_scope_status(scope);
    if (status == GANTRY_OK)
        status = gantry_tensor_read(drawn, data, qr->m * qr->n * gantry_dtype_size(dtype));
    if (status != GANTRY_OK) {
        (void)gantry_scope_end(scope);
        return status;
    }
    for (size_t i = 0; i < qr->m; ++i) {
        for (size_t j = 0; j < qr->n; ++j)
            qr_column(qr, j)[i] = orthogonal_number_at(data, dtype, i * qr->n + j);
    }
    return gantry_scope_end(scope);
}

/* Q times gain and signs; transposed if the result has fewer rows than columns. */
static void qr_store(const qr_t *qr, double gain, bool is_transposed, gantry_dtype_t dtype,
                     void *data) {
    for (size_t j = 0; j < qr->n; ++j) {
        const double d = qr->diagonal[j], factor = d > 0 ? gain : d < 0 ? -gain : 0 * gain;
        for (size_t i = 0; i < qr->m; ++i)
            set_number(data, dtype, is_transposed ? j * qr->m + i : i * qr->n + j,
                       factor * qr_column(qr, j)[i]);
    }
}

/* data must have room for the result. */
static gantry_status_t orthogonal_fill(gantry_runtime_t *runtime, int64_t seed0, int64_t seed1,
                                       double gain, gantry_dtype_t dtype, size_t rows,
                                       size_t columns, void *data) {
    const size_t m = rows > columns ? rows : columns, n = rows > columns ? columns : rows;
    double *numbers = gantry__alloc(m * n + 2 * n, sizeof *numbers);
    if (!numbers) return GANTRY_RESOURCE_EXHAUSTED;
    const qr_t qr = {m, n, numbers, numbers + m * n, numbers + m * n + n};
    gantry_status_t status = qr_draw(runtime, seed0, seed1, dtype, &qr, data);
    if (status == GANTRY_OK) {
        qr_factor(&qr);
        qr_form_q(&qr);
        qr_store(&qr, gain, rows < columns, dtype, data);
    }
    gantry__free(numbers);
    return status;
}

const gantry_tensor_t *gantry__train_orthogonal(gantry_scope_t *scope, int64_t seed0, int64_t seed1,
                                                double gain, gantry_dtype_t dtype,
                                                gantry_shape_t shape) {
    const int64_t count = gantry_shape_elements(&shape), columns = shape.dims[shape.rank - 1];
    const size_t bytes = (size_t)count * gantry_dtype_size(dtype);
    if (dtype != GANTRY_FLOAT32 && dtype != GANTRY_FLOAT64)
        return gantry__train_refuse_pointer(
            scope, "initializer orthogonal: the type is %s; float32 and float64 are accepted",
            gantry_dtype_name(dtype));
    if (count == 0) return gantry_zeros(scope, dtype, shape);
    void *data = gantry__alloc(bytes, 1);
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    const gantry_tensor_t *result = NULL;
    if (data)
        status = orthogonal_fill(gantry_scope_runtime(scope), seed0, seed1, gain, dtype,
                                 (size_t)(count / columns), (size_t)columns, data);
    if (status == GANTRY_OK) result = gantry_constant(scope, dtype, shape, data, bytes);
    if (status != GANTRY_OK) (void)gantry__train_hand_on(scope, status);
    gantry__free(data);
    return result;
}
