/* SPDX-License-Identifier: Apache-2.0 */
#include "curves.h"

#include <stdlib.h>

#define ROW 1024 /* elements of a row of softmax at most */
#define CHANNELS 16
#define FILTER 5
#define OUTPUTS 32
#define LENGTH 256 /* of a sequence at most */

/* ---- inputs ---- */

static bool is_there(const gantry_tensor_t *tensor) {
    return tensor && gantry_tensor_wait(tensor) == GANTRY_OK;
}

static const gantry_tensor_t *random_floats(const curve_point_t *point, gantry_shape_t shape) {
    return gantry_stateless_random_uniform(point->scope, shape, GANTRY_FLOAT32, 5, 7);
}

/* x is a vector of float32; a call does work_each units of work for each element. */
static bool make_vector(curve_point_t *point, int64_t bytes, double work_each) {
    int64_t n = bytes / 4;
    point->bytes = n * 4;
    point->work = work_each * (double)n;
    point->x = random_floats(point, GANTRY_SHAPE(n));
    return is_there(point->x);
}

static bool done(const curve_point_t *point, const gantry_tensor_t *result) {
    bool is_good = is_there(result);
    gantry_tensor_drop(point->scope, result);
    return is_good;
}

void curve_point_release(curve_point_t *point) {
    gantry_tensor_drop(point->scope, point->x);
    gantry_tensor_drop(point->scope, point->y);
    free(point->host);
    point->x = point->y = NULL;
    point->host = NULL;
}

/* ---- elementwise, reductions, scans ---- */

static bool make_add(curve_point_t *point, int64_t bytes) {
    if (!make_vector(point, bytes / 2, 12)) return false;
    point->y = random_floats(point, *gantry_tensor_shape(point->x));
    point->bytes *= 2;
    return is_there(point->y);
}

static bool call_add(const curve_point_t *point) {
    return done(point, gantry_add(point->scope, point->x, point->y));
}

static bool make_map(curve_point_t *point, int64_t bytes) { return make_vector(point, bytes, 8); }

static bool call_tanh(const curve_point_t *point) {
    return done(point, gantry_tanh(point->scope, point->x));
}

static bool make_sum(curve_point_t *point, int64_t bytes) { return make_vector(point, bytes, 4); }

static bool call_sum(const curve_point_t *point) {
    return done(point, gantry_sum(point->scope, point->x, NULL));
}

static bool call_cumsum(const curve_point_t *point) {
    return done(point, gantry_cumsum(point->scope, point->x, -1, NULL));
}

static bool make_sort(curve_point_t *point, int64_t bytes) { return make_vector(point, bytes, 1); }

static bool call_sort(const curve_point_t *point) {
    return done(point, gantry_sort(point->scope, point->x, -1, false));
}

/* ---- matrices ---- */

/* A matrix of that many bytes, with rows of most_columns elements. If most_columns is 0, it has as
 * many rows as columns, or half as many. */
static bool make_matrix(curve_point_t *point, int64_t bytes, int64_t most_columns) {
    int64_t n = bytes / 4, columns = 1;
    while (columns * columns < n) columns *= 2;
    if (most_columns > 0) columns = n < most_columns ? n : most_columns;
    int64_t rows = n / columns;
    point->bytes = rows * columns * 4;
    point->work = 8.0 * (double)(rows * columns);
    point->x = random_floats(point, GANTRY_SHAPE(rows, columns));
    return is_there(point->x);
}

static bool make_rows(curve_point_t *point, int64_t bytes) {
    return make_matrix(point, bytes, ROW);
}

static bool call_softmax(const curve_point_t *point) {
    return done(point, gantry_softmax(point->scope, point->x));
}

static bool make_square(curve_point_t *point, int64_t bytes) {
    return make_matrix(point, bytes, 0);
}

static bool call_transpose(const curve_point_t *point) {
    return done(point, gantry_transpose(point->scope, point->x, NULL));
}

static bool make_matmul(curve_point_t *point, int64_t bytes) {
    int64_t n = 1;
    while (8 * 4 * n * n <= bytes) n *= 2;
    point->bytes = n >= 2 ? 8 * n * n : 0;
    point->work = 2.0 * (double)n * (double)n * (double)n;
    if (n < 2) return false;
    point->x = random_floats(point, GANTRY_SHAPE(n, n));
    point->y = random_floats(point, GANTRY_SHAPE(n, n));
    return is_there(point->x) && is_there(point->y);
}

static bool call_matmul(const curve_point_t *point) {
    return done(point, gantry_matmul(point->scope, point->x, point->y, NULL));
}

/* [sequences, length, 16] with the filter [5, 16, 32], without padding. */
static bool make_conv1d(curve_point_t *point, int64_t bytes) {
    int64_t places = bytes / 4 / CHANNELS, length = places < LENGTH ? places : LENGTH;
    int64_t sequences = length > 0 ? places / length : 0;
    point->bytes = length >= 2 * FILTER ? sequences * length * CHANNELS * 4 : 0;
    point->work = 2.0 * (double)(sequences * (length - FILTER + 1)) * FILTER * CHANNELS * OUTPUTS;
    if (point->bytes == 0) return false;
    point->x = random_floats(point, GANTRY_SHAPE(sequences, length, CHANNELS));
    point->y = random_floats(point, GANTRY_SHAPE(FILTER, CHANNELS, OUTPUTS));
    return is_there(point->x) && is_there(point->y);
}

static bool call_conv1d(const curve_point_t *point) {
    const gantry_window_options_t inside = {.padding = GANTRY_PADDING_VALID};
    return done(point, gantry_conv1d(point->scope, point->x, point->y, &inside));
}

/* ---- single elements ---- */

static bool make_gather(curve_point_t *point, int64_t bytes) {
    if (!make_vector(point, bytes / 2, 12)) return false;
    int64_t n = gantry_tensor_elements(point->x);
    gantry_scope_t *scope = point->scope;
    const gantry_tensor_t *zero = gantry_scalar_i32(scope, 0),
                          *end = gantry_scalar_i32(scope, (int32_t)n);
    point->y = gantry_stateless_random_uniform_int(scope, GANTRY_SHAPE(n), zero, end, 3, 4);
    gantry_tensor_drop(scope, zero);
    gantry_tensor_drop(scope, end);
    point->bytes *= 2;
    return is_there(point->y);
}

static bool call_gather(const curve_point_t *point) {
    return done(point, gantry_gather(point->scope, point->x, point->y, 0));
}

/* ---- transfers ---- */

static bool make_transfer(curve_point_t *point, int64_t bytes) {
    if (!make_vector(point, bytes, 4)) return false;
    point->host = calloc((size_t)point->bytes, 1);
    return point->host &&
           gantry_tensor_read(point->x, point->host, (size_t)point->bytes) == GANTRY_OK;
}

static bool call_to_device(const curve_point_t *point) {
    return done(point, gantry_constant(point->scope, GANTRY_FLOAT32, *gantry_tensor_shape(point->x),
                                       point->host, (size_t)point->bytes));
}

static bool call_to_host(const curve_point_t *point) {
    return gantry_tensor_read(point->x, point->host, (size_t)point->bytes) == GANTRY_OK;
}

/* ---- the list ---- */

#define MIB ((int64_t)1 << 20)

const curve_case_t curve_cases[] = {
    {"add", "a + b, 12 B an element", "GB/s", 0, make_add, call_add},
    {"tanh", "8 B an element", "GB/s", 0, make_map, call_tanh},
    {"sum", "all elements, 4 B each", "GB/s", 0, make_sum, call_sum},
    {"softmax", "rows of 1024 at most, 8 B an element", "GB/s", 0, make_rows, call_softmax},
    {"transpose", "as square as powers of two are, 8 B an element", "GB/s", 0, make_square,
     call_transpose},
    {"gather", "single elements in a random order, 12 B each", "GB/s", 0, make_gather, call_gather},
    {"cumsum", "a vector, 8 B an element", "GB/s", 0, make_map, call_cumsum},
    {"sort", "a vector, ascending", "Gel/s", 0, make_sort, call_sort},
    {"matmul", "square, n from 2 to 2048", "GFLOP/s", 32 * MIB, make_matmul, call_matmul},
    {"conv1d", "[sequences, up to 256, 16] by [5, 16, 32]", "GFLOP/s", 256 * MIB, make_conv1d,
     call_conv1d},
    {"to_device", "a tensor made from the program's memory", "GB/s", 0, make_transfer,
     call_to_device},
    {"to_host", "a tensor read", "GB/s", 0, make_transfer, call_to_host},
};
const size_t curve_case_count = sizeof curve_cases / sizeof curve_cases[0];
