/* SPDX-License-Identifier: Apache-2.0 */
/* Checks matrix products larger than those of the golden files against a plain loop: blocks and
 * edges of tuned kernels, the choice of library, transposed operands, batches. Integers wrap around
 * and are exact; for floats the bound is that of the golden cases, k eps max|a| max|b|, with |a|,
 * |b| <= 1; halves are summed in float32 and rounded once, hence float32's eps and 1 ulp. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"
#include "conformance_sweep.h"

typedef struct matmul_size_t {
    int64_t n, k, m;
} matmul_size_t;

static const matmul_size_t sizes[] = {{1, 1, 1},     {1, 300, 1},   {5, 7, 3},     {12, 256, 32},
                                      {13, 257, 33}, {64, 64, 64},  {17, 33, 129}, {128, 65, 100},
                                      {256, 1, 256}, {3, 1000, 250}};

/* One element's place in a row-major matrix of rows x columns as multiplied; a transposed matrix is
 * stored as columns x rows. */
static size_t place(int64_t row, int64_t column, int64_t rows, int64_t columns, bool transposed) {
    return (size_t)(transposed ? column * rows + row : row * columns + column);
}

static uint64_t integer_at(const golden_tensor_t *t, size_t index) {
    int32_t narrow;
    int64_t wide;
    if (t->dtype == GANTRY_INT32) {
        memcpy(&narrow, (const char *)t->data + index * sizeof narrow, sizeof narrow);
        return (uint64_t)(int64_t)narrow;
    }
    memcpy(&wide, (const char *)t->data + index * sizeof wide, sizeof wide);
    return (uint64_t)wide;
}

static void store(golden_tensor_t *t, size_t index, double number, uint64_t integer) {
    char *at = (char *)t->data + index * gantry_dtype_size(t->dtype);
    uint32_t narrow = (uint32_t)integer;
    if (golden_is_float(t->dtype))
        golden_store_number(t->dtype, t->data, index, number);
    else if (t->dtype == GANTRY_INT32)
        memcpy(at, &narrow, sizeof narrow);
    else
        memcpy(at, &integer, sizeof integer);
}

/* product[n,m] += a[n,k] b[k,m], from element `first` of each on. `numbers` has those of a and b,
 * for floats. */
static void multiply(const golden_case_t *item, double *const numbers[2], matmul_size_t size,
                     const size_t first[3], bool ta, bool tb, golden_tensor_t *product) {
    const golden_tensor_t *a = &item->inputs[0], *b = &item->inputs[1];
    bool is_float = golden_is_float(a->dtype);
    for (int64_t i = 0; i < size.n; ++i) {
        for (int64_t j = 0; j < size.m; ++j) {
            double number = 0;
            uint64_t integer = 0;
            for (int64_t l = 0; l < size.k; ++l) {
                size_t at_a = first[0] + place(i, l, size.n, size.k, ta),
                       at_b = first[1] + place(l, j, size.k, size.m, tb);
                if (is_float)
                    number += numbers[0][at_a] * numbers[1][at_b];
                else
                    integer += integer_at(a, at_a) * integer_at(b, at_b);
            }
            store(product, first[2] + (size_t)(i * size.m + j), number, integer);
        }
    }
}

void conformance_check_sums(conformance_t *c, const golden_case_t *item, int64_t k,
                            const golden_tensor_t *expected) {
    golden_tensor_t got[CONFORMANCE_MAX_OUTPUTS] = {{0}};
    char why[512];
    size_t count = 0;
    bool is_half = expected->dtype == GANTRY_FLOAT16 || expected->dtype == GANTRY_BFLOAT16;
    double eps = expected->dtype == GANTRY_FLOAT64 ? 0x1p-52 : 0x1p-23;
    golden_tolerance_t near = {.absolute = (double)k * eps, .ulp = is_half ? 1 : 0};
    if (expected->dtype == GANTRY_INT32 || expected->dtype == GANTRY_INT64) near.exact = true;
    conformance_evaluate(c, c->options.device, item, got, &count);
    if (c->reasons == 0 && (count != 1 || !gantry_shape_equal(&got[0].shape, &expected->shape))) {
        conformance_fail(c, "%zu outputs, or one of the wrong shape", count);
    }
    if (c->reasons == 0 && golden_compare(expected, &near, got[0].data, why, sizeof why))
        conformance_fail(c, "%s", why);
    conformance_check_placement(c, item->op, NULL);
    conformance_free_outputs(got, CONFORMANCE_MAX_OUTPUTS);
}

/* batch 0: MatMul; else BatchMatMul of [batch, n, k] and one matrix b that all of them share
 * when `shared`. */
static void run_product(conformance_t *c, uint64_t *io_number, gantry_dtype_t dtype,
                        matmul_size_t size, int64_t batch, bool shared, bool ta, bool tb) {
    char name[128], attr_names[2][16], op[16];
    snprintf(op, sizeof op, "%s", batch ? "BatchMatMul" : "MatMul");
    snprintf(attr_names[0], sizeof attr_names[0], "%s", batch ? "adj_x" : "transpose_a");
    snprintf(attr_names[1], sizeof attr_names[1], "%s", batch ? "adj_y" : "transpose_b");
    snprintf(name, sizeof name,
             "plain_%s_%" PRId64 "x%" PRId64 "x%" PRId64 "%s%s_batch%" PRId64 "%s",
             gantry_dtype_name(dtype), size.n, size.k, size.m, ta ? "_ta" : "", tb ? "_tb" : "",
             batch, shared ? "_shared" : "");
    if ((*io_number)++ % c->options.every || !conformance_begin(c, op, name)) return;
    int64_t rows = ta ? size.k : size.n, columns = ta ? size.n : size.k;
    int64_t b_rows = tb ? size.m : size.k, b_columns = tb ? size.k : size.m,
            count = batch ? batch : 1;
    uint64_t seed = sweep_hash(name);
    golden_tensor_t inputs[2] = {
        sweep_tensor(seed, dtype,
                     batch ? GANTRY_SHAPE(batch, rows, columns) : GANTRY_SHAPE(rows, columns),
                     SWEEP_UNIT),
        sweep_tensor(seed + 1, dtype,
                     batch && !shared ? GANTRY_SHAPE(batch, b_rows, b_columns)
                                      : GANTRY_SHAPE(b_rows, b_columns),
                     SWEEP_UNIT)};
    golden_attr_t attrs[2] = {{.name = attr_names[0], .kind = GOLDEN_ATTR_BOOL, .bool_value = ta},
                              {.name = attr_names[1], .kind = GOLDEN_ATTR_BOOL, .bool_value = tb}};
    golden_case_t item = {.name = name,
                          .op = op,
                          .attrs = attrs,
                          .attr_count = 2,
                          .inputs = inputs,
                          .input_count = 2};
    golden_tensor_t expected = sweep_tensor(
        0, dtype, batch ? GANTRY_SHAPE(batch, size.n, size.m) : GANTRY_SHAPE(size.n, size.m),
        SWEEP_UNIT);
    double *numbers[2] = {golden_numbers(&inputs[0]), golden_numbers(&inputs[1])};
    if (!numbers[0] || !numbers[1]) conformance_fail(c, "no memory for the plain loop");
    for (int64_t i = 0; i < count && c->reasons == 0; ++i) {
        const size_t first[3] = {(size_t)(i * size.n * size.k),
                                 shared ? 0 : (size_t)(i * size.k * size.m),
                                 (size_t)(i * size.n * size.m)};
        multiply(&item, numbers, size, first, ta, tb, &expected);
    }
    if (c->reasons == 0) conformance_check_sums(c, &item, size.k, &expected);
    free(numbers[0]);
    free(numbers[1]);
    conformance_free_outputs(inputs, 2);
    conformance_free_outputs(&expected, 1);
    conformance_end(c);
}

void conformance_run_matmul(conformance_t *c) {
    static const gantry_dtype_t dtypes[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_INT32,
                                            GANTRY_INT64,   GANTRY_FLOAT16, GANTRY_BFLOAT16};
    uint64_t number = 0;
    for (size_t t = 0; t < sizeof dtypes / sizeof dtypes[0]; ++t) {
        for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
            for (int transposed = 0; transposed < 4; ++transposed) {
                run_product(c, &number, dtypes[t], sizes[i], 0, false, transposed & 1,
                            transposed & 2);
            }
        }
        run_product(c, &number, dtypes[t], (matmul_size_t){200, 300, 150}, 0, false, false, true);
        /* few rows, and few columns with a transposed matrix: several pieces of rows and a
         * remainder */
        run_product(c, &number, dtypes[t], (matmul_size_t){1, 131, 1101}, 0, false, false, false);
        run_product(c, &number, dtypes[t], (matmul_size_t){3, 131, 1101}, 0, false, true, false);
        run_product(c, &number, dtypes[t], (matmul_size_t){1101, 130, 2}, 0, false, true, true);
        /* enough work, and columns that fill one vector of 16 or of 8 elements, not two; with a
         * plain first matrix, 7 columns would use dot products */
        run_product(c, &number, dtypes[t], (matmul_size_t){701, 250, 13}, 0, false, false, false);
        run_product(c, &number, dtypes[t], (matmul_size_t){601, 520, 7}, 0, false, true, false);
        for (int transposed = 0; transposed < 4; ++transposed) {
            run_product(c, &number, dtypes[t], (matmul_size_t){13, 65, 33}, 7, false,
                        transposed & 1, transposed & 2);
            run_product(c, &number, dtypes[t], (matmul_size_t){13, 65, 33}, 5, true, transposed & 1,
                        transposed & 2);
        }
    }
    /* In full runs only, because the stand-in takes two minutes. */
    if (!c->options.few_types && c->options.every == 1) conformance_run_matmul_grid(c);
}

void conformance_run_matmul_grid(conformance_t *c) {
    uint64_t number = 0;
    run_product(c, &number, GANTRY_FLOAT32, (matmul_size_t){2, 3, 2}, 70001, false, false, false);
    run_product(c, &number, GANTRY_INT32, (matmul_size_t){2, 3, 2}, 70001, false, false, false);
}
