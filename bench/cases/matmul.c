/* SPDX-License-Identifier: Apache-2.0 */
/* Square matrix products of float32, with 2 n^3 operations each, compared with oneDNN and OpenBLAS
 * called directly. The reference of a row is the faster of the two at that size. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "vendor.h"

#define MATMUL_LEAST_RATIO 0.7
#define MATMUL_RATIO_SIZE 1024 /* the size with the target */

typedef struct device_subject_t {
    gantry_scope_t *scope;
    const gantry_tensor_t *a, *b;
} device_subject_t;

typedef struct library_subject_t {
    const bench_blas_t *blas;
    float *a, *b, *c;
    int n;
} library_subject_t;

static bool run_device(void *argument, int calls) {
    device_subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        const gantry_tensor_t *c = gantry_matmul(subject->scope, subject->a, subject->b, NULL);
        if (!c || gantry_tensor_wait(c) != GANTRY_OK) return false;
        gantry_tensor_drop(subject->scope, c);
    }
    return true;
}

static bool run_dnnl(void *argument, int calls) {
    library_subject_t *s = argument;
    for (int i = 0; i < calls; ++i) {
        if (s->blas->dnnl_sgemm('N', 'N', s->n, s->n, s->n, 1, s->a, s->n, s->b, s->n, 0, s->c,
                                s->n) != 0)
            return false;
    }
    return true;
}

static bool run_openblas(void *argument, int calls) {
    library_subject_t *s = argument;
    const int row_major = 101, plain = 111;
    for (int i = 0; i < calls; ++i) {
        s->blas->cblas_sgemm(row_major, plain, plain, s->n, s->n, s->n, 1, s->a, s->n, s->b, s->n,
                             0, s->c, s->n);
    }
    return true;
}

static size_t add_libraries(bench_contender_t *contenders, const bench_blas_t *blas,
                            library_subject_t *subject) {
    size_t count = 0;
    if (!subject->a || !subject->b || !subject->c) return 0;
    if (blas->dnnl_sgemm)
        contenders[count++] =
            (bench_contender_t){.name = blas->dnnl_name, .run = run_dnnl, .subject = subject};
    if (blas->cblas_sgemm)
        contenders[count++] = (bench_contender_t){
            .name = blas->openblas_name, .run = run_openblas, .subject = subject};
    return count;
}

static const bench_contender_t *fastest(const bench_contender_t *contenders, size_t count) {
    const bench_contender_t *best = NULL;
    for (size_t i = 0; i < count; ++i) {
        if (contenders[i].failed) continue;
        if (!best || bench_median_seconds(&contenders[i]) < bench_median_seconds(best))
            best = &contenders[i];
    }
    return best;
}

static size_t add_devices(bench_t *bench, bench_contender_t *contenders, device_subject_t *subjects,
                          int n) {
    size_t count = 0;
    for (size_t i = 0; i < bench->device_count; ++i) {
        device_subject_t *subject = &subjects[count];
        subject->scope = bench_scope(bench, bench->devices[i].alias);
        if (!subject->scope) continue;
        subject->a = bench_random(subject->scope, GANTRY_SHAPE(n, n), 1);
        subject->b = bench_random(subject->scope, GANTRY_SHAPE(n, n), 2);
        contenders[count++] = (bench_contender_t){
            .name = bench->devices[i].alias, .run = run_device, .subject = subject};
    }
    return count;
}

static void measure(bench_t *bench, const bench_blas_t *blas, int n) {
    device_subject_t subjects[BENCH_MAX_DEVICES];
    bench_contender_t contenders[BENCH_MAX_DEVICES + 2] = {0};
    size_t floats = (size_t)n * (size_t)n;
    library_subject_t library = {blas, malloc(floats * 4), malloc(floats * 4), malloc(floats * 4),
                                 n};
    for (size_t i = 0; library.a && library.b && library.c && i < floats; ++i) {
        library.a[i] = (float)(i * 7 % 1000) * 1e-3f;
        library.b[i] = (float)(i * 13 % 1000) * 1e-3f;
        library.c[i] = 0;
    }
    size_t devices = add_devices(bench, contenders, subjects, n);
    size_t count = devices + add_libraries(contenders + devices, blas, &library);
    bench_interleave(contenders, count, n > 1024 ? (bench->rounds + 1) / 2 : bench->rounds,
                     n <= 256    ? 20
                     : n <= 1024 ? 2
                                 : 1);
    char work[48];
    (void)snprintf(work, sizeof work, "[%d,%d] x [%d,%d] float32", n, n, n, n);
    double operations = 2.0 * n * n * n;
    bench_measure_t shown = {"matmul",
                             work,
                             "GFLOP/s",
                             operations * 1e-9,
                             0,
                             fastest(contenders + devices, count - devices),
                             n == MATMUL_RATIO_SIZE ? MATMUL_LEAST_RATIO : 0,
                             0,
                             true};
    bench_report_contenders(&bench->report, &shown, contenders, count, devices);
    for (size_t i = 0; i < devices; ++i) (void)gantry_scope_end(subjects[i].scope);
    free(library.a);
    free(library.b);
    free(library.c);
}

void bench_matmul(bench_t *bench) {
    bench_blas_t blas;
    bench_blas_open(&blas);
    if (!blas.dnnl_sgemm)
        (void)fprintf(stderr, "matmul: oneDNN (libdnnl) is missing, and so are its rows\n");
    if (!blas.cblas_sgemm)
        (void)fprintf(stderr, "matmul: OpenBLAS (libopenblas) is missing, and so are its rows\n");
    static const int sizes[] = {256, 1024, 2048};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        if (sizes[i] <= 1024 || !bench->quick) measure(bench, &blas, sizes[i]);
    }
}
