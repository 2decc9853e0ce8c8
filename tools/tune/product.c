/* SPDX-License-Identifier: Apache-2.0 */
/* Makes, checks and times the matrix products that are measured. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tune.h"
#include "base/os/thread.h"

#define SAMPLES 64
#define SAMPLE_NS UINT64_C(4000000) /* one figure is a measurement of at least this time */
#define FLOAT_EPSILON 0x1p-24

static size_t most(size_t a, size_t b) { return a > b ? a : b; }

bool tune_matrices_init(tune_matrices_t *self, const tune_shape_t *shapes, size_t count) {
    *self = (tune_matrices_t){0};
    for (size_t i = 0; i < count; ++i) {
        size_t m = (size_t)shapes[i].m, n = (size_t)shapes[i].n, k = (size_t)shapes[i].k;
        self->elements = most(self->elements, most(m * n, most(m * k, k * n)));
    }
    float **const all[] = {&self->a, &self->b, &self->c, &self->first};
    for (size_t i = 0; i < 4; ++i) *all[i] = malloc(self->elements * sizeof(float));
    if (!self->a || !self->b || !self->c || !self->first) {
        (void)fprintf(stderr, "gantry: no memory for matrices of %zu elements\n", self->elements);
        tune_matrices_deinit(self);
        return false;
    }
    for (size_t i = 0; i < self->elements; ++i) {
        self->a[i] = (float)(i * 7919 % 2003) * 1e-3f - 1;
        self->b[i] = (float)(i * 104729 % 1999) * 1e-3f - 1;
    }
    return true;
}

void tune_matrices_deinit(tune_matrices_t *self) {
    free(self->a);
    free(self->b);
    free(self->c);
    free(self->first);
    *self = (tune_matrices_t){0};
}

/* ---- checks ---- */

/* Compares sampled elements with sums in double. float32 sums in any order keep the bound. */
static bool samples_are_right(const tune_matrices_t *matrices, tune_shape_t s) {
    for (int sample = 0; sample < SAMPLES; ++sample) {
        int i = (int)((long long)sample * 7919 % s.m), j = (int)((long long)sample * 104729 % s.n);
        double sum = 0, size = 0;
        for (int p = 0; p < s.k; ++p) {
            double product = (double)matrices->a[(size_t)i * (size_t)s.k + (size_t)p] *
                             (double)matrices->b[(size_t)p * (size_t)s.n + (size_t)j];
            sum += product;
            size += fabs(product);
        }
        double got = (double)matrices->c[(size_t)i * (size_t)s.n + (size_t)j];
        if (!(fabs(got - sum) <= size * (s.k + 2) * FLOAT_EPSILON)) return false;
    }
    return true;
}

/* Compares all elements with those of the first result. The elements of a and b are at most about
 * 1. */
static bool agrees_with_first(const tune_matrices_t *matrices, tune_shape_t s) {
    const double bound = 2 * (double)s.k * (s.k + 2) * FLOAT_EPSILON;
    for (size_t i = 0; i < (size_t)s.m * (size_t)s.n; ++i) {
        if (!(fabs((double)matrices->c[i] - (double)matrices->first[i]) <= bound)) return false;
    }
    return true;
}

static bool tune_product_check_result(tune_matrices_t *matrices, tune_shape_t s, bool is_first) {
    if (!samples_are_right(matrices, s)) return false;
    if (!is_first) return agrees_with_first(matrices, s);
    memcpy(matrices->first, matrices->c, (size_t)s.m * (size_t)s.n * sizeof(float));
    return true;
}

/* ---- one product ---- */

static bool tune_product_tell(const tune_product_t *self, const char *what) {
    (void)fprintf(stderr, "gantry: a product of %d x %d x %d: %s\n", self->shape.m, self->shape.n,
                  self->shape.k, what);
    return false;
}

bool tune_product_open(tune_product_t *self, const tune_try_t *tried, tune_shape_t s,
                       tune_matrices_t *matrices, bool is_first) {
    gantry_scope_t *scope = tried->scope;
    *self = (tune_product_t){.tried = tried, .shape = s, .seconds = -1};
    self->a = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(s.m, s.k), matrices->a,
                              (size_t)s.m * (size_t)s.k * sizeof(float));
    self->b = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(s.k, s.n), matrices->b,
                              (size_t)s.k * (size_t)s.n * sizeof(float));
    const gantry_tensor_t *c = gantry_matmul(scope, self->a, self->b, NULL);
    bool has_run = c && gantry_tensor_read(c, matrices->c,
                                           (size_t)s.m * (size_t)s.n * sizeof(float)) == GANTRY_OK;
    bool is_right = has_run && tune_product_check_result(matrices, s, is_first);
    if (!has_run)
        (void)tune_product_tell(self, c ? gantry_last_message() : gantry_scope_message(scope));
    if (has_run && !is_right) (void)tune_product_tell(self, "wrong results");
    if (c) gantry_tensor_drop(scope, c);
    if (!is_right) tune_product_close(self);
    return is_right;
}

bool tune_product_run(tune_product_t *self) {
    const uint64_t start = gantry__now_ns();
    uint64_t end = start;
    for (int run = 0; run < 2 || end - start < SAMPLE_NS; ++run) {
        uint64_t begin = end;
        const gantry_tensor_t *c = gantry_matmul(self->tried->scope, self->a, self->b, NULL);
        if (!c || gantry_tensor_wait(c) != GANTRY_OK)
            return tune_product_tell(self, gantry_last_message());
        gantry_tensor_drop(self->tried->scope, c);
        end = gantry__now_ns();
        double seconds = 1e-9 * (double)(end - begin);
        if (run > 0 && (self->seconds < 0 || seconds < self->seconds)) self->seconds = seconds;
    }
    return true;
}

void tune_product_close(tune_product_t *self) {
    if (self->a) gantry_tensor_drop(self->tried->scope, self->a);
    if (self->b) gantry_tensor_drop(self->tried->scope, self->b);
    self->a = self->b = NULL;
}

double tune_product_gflops(const tune_product_t *self) {
    return self->seconds > 0 ? 2e-9 * self->shape.m * self->shape.n * self->shape.k / self->seconds
                             : 0;
}

double tune_mean_gflops(const tune_product_t *products, size_t count) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) {
        double gflops = tune_product_gflops(&products[i]);
        if (!(gflops > 0)) return 0;
        sum += log(gflops);
    }
    return exp(sum / (double)count);
}
