/* gantry_bench_tune: tries parameter sets of CLBlast's matrix product on one OpenCL device and prints the best as rows
 * for GANTRY_OPENCL_CLBLAST_PARAMETERS.
 *
 *   gantry_bench_tune [--device opencl:N] [--n N] [--seconds S] [--quick] [--out FILE]
 *
 * Each set is tried as a user would use it: written to such a file, read by a runtime of its own, its product compared
 * with sums in double. Then the smallest product for which CLBlast's tiled kernel, with the best set, beats its direct
 * one is looked for. Stops beginning sets after S seconds (default 60). Exit code: 0 all right, 1 something failed, 2
 * wrong usage, 77 no such device or no CLBlast. */
#define _POSIX_C_SOURCE 200809L
#include <gantry/gantry.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench_timer.h"

enum { SKIPPED = 77, QUICK_SETS = 2, SAMPLES = 64, MOST_RUNS = 10 };
#define ENOUGH_SECONDS 0.3 /* of runs, for one figure */

static const char *const sets[] = {
#define TUNE_SET(text) text,
#include "tune_sets.def"
#undef TUNE_SET
};
#define SETS (sizeof sets / sizeof sets[0])

typedef struct tuning_t {
    const char *device;
    const char *out;
    double seconds;
    int n;
    bool quick;
    float *a, *b, *c; /* n * n each */
    char head[64];    /* of a row: "NVIDIA 9.0 float32" */
    char file[64];    /* of the rows being tried */
} tuning_t;

/* ---- one product ---- */

/* Sampled elements against sums in double; the bound is what float32 sums of any order keep. */
static bool is_right(const tuning_t *t, int n) {
    for (int s = 0; s < SAMPLES; ++s) {
        int i = (int)((long long)s * 7919 % n), j = (int)((long long)s * 104729 % n);
        double sum = 0, size = 0;
        for (int p = 0; p < n; ++p) {
            double product =
                (double)t->a[(size_t)i * (size_t)n + (size_t)p] * (double)t->b[(size_t)p * (size_t)n + (size_t)j];
            sum += product;
            size += fabs(product);
        }
        if (!(fabs((double)t->c[(size_t)i * (size_t)n + (size_t)j] - sum) <= size * (n + 2) * 0x1p-24)) return false;
    }
    return true;
}

/* Seconds of the best of several products of n x n; below 0 when one failed or was wrong, with the reason on standard
 * error. */
static double time_products(const tuning_t *t, gantry_scope_t *scope, int n) {
    const size_t bytes = (size_t)n * (size_t)n * sizeof(float);
    const gantry_tensor_t *a = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(n, n), t->a, bytes);
    const gantry_tensor_t *b = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(n, n), t->b, bytes);
    double best = -1, sum = 0;
    for (int run = 0; run <= MOST_RUNS && sum < ENOUGH_SECONDS; ++run) {
        uint64_t start = bench_now_ns();
        const gantry_tensor_t *c = gantry_matmul(scope, a, b, NULL);
        if (!c || gantry_tensor_wait(c) != GANTRY_OK) return -1;
        double seconds = 1e-9 * (double)(bench_now_ns() - start);
        if (run == 0) { /* builds the kernels */
            if (gantry_tensor_read(c, t->c, bytes) != GANTRY_OK) return -1;
            if (!is_right(t, n)) {
                (void)fprintf(stderr, "wrong results\n");
                return -1;
            }
        } else {
            sum += seconds;
            best = best < 0 || seconds < best ? seconds : best;
        }
        gantry_tensor_drop(scope, c);
    }
    return best;
}

/* The same with these rows in force; set NULL: as CLBlast and Gantry are. */
static double try_set(const tuning_t *t, const char *set, int least_indirect, int n) {
    gantry_runtime_t *runtime = NULL;
    double seconds = -1;
    if (set) {
        FILE *file = fopen(t->file, "w");
        if (!file) return -1;
        (void)fprintf(file, "%s Xgemm %s\n%s GemmRoutine XGEMM_MIN_INDIRECT_SIZE=%d\n", t->head, set, t->head,
                      least_indirect);
        if (fclose(file) != 0) return -1;
        (void)setenv("GANTRY_OPENCL_CLBLAST_PARAMETERS", t->file, 1);
    }
    if (gantry_runtime_create(NULL, &runtime) == GANTRY_OK) {
        gantry_scope_t *scope = gantry_scope_begin(runtime, t->device);
        if (scope) seconds = time_products(t, scope, n);
        if (scope && gantry_scope_status(scope) != GANTRY_OK)
            (void)fprintf(stderr, "%s\n", gantry_scope_message(scope));
        if (scope) (void)gantry_scope_end(scope);
    } else {
        (void)fprintf(stderr, "%s\n", gantry_last_message());
    }
    gantry_runtime_release(runtime);
    return seconds;
}

static double gflops(int n, double seconds) { return 2e-9 * n * n * n / seconds; }

/* ---- the device ---- */

static bool has_clblast(const gantry_runtime_t *runtime) {
    for (size_t i = 0; i < gantry_backend_status_count(runtime); ++i) {
        gantry_backend_status_t status = {.struct_size = sizeof status};
        if (gantry_backend_status(runtime, i, &status) != GANTRY_OK || strcmp(status.name, "opencl") != 0) continue;
        if (status.state == GANTRY_BACKEND_USABLE && !strstr(status.libraries, "CLBlast missing")) return true;
        printf("SKIP: %s%s\n", status.reason, status.libraries);
        return false;
    }
    printf("SKIP: no OpenCL backend\n");
    return false;
}

/* Whose rows these will be. */
static bool describe(tuning_t *t) {
    gantry_runtime_t *runtime = NULL;
    const gantry_physical_device_t *devices[32];
    size_t count = 0;
    if (gantry_runtime_create(NULL, &runtime) != GANTRY_OK) {
        printf("SKIP: %s\n", gantry_last_message());
        return false;
    }
    bool usable = has_clblast(runtime), found = false;
    if (usable && gantry_list_device_views(runtime, 32, devices, &count) != GANTRY_OK) count = 0;
    for (size_t i = 0; i < count && i < 32 && !found; ++i) {
        gantry_device_details_t details = {.struct_size = sizeof details};
        if (gantry_get_device_details(runtime, devices[i], &details) != GANTRY_OK ||
            strcmp(details.alias, t->device) != 0)
            continue;
        found = true;
        (void)snprintf(t->head, sizeof t->head, "%.*s %s float32", (int)strcspn(details.vendor, " "), details.vendor,
                       details.compute_capability[0] != '\0' ? details.compute_capability : "-");
        printf("%s: %s, driver %s, %u compute units\n", details.alias, details.hardware_name, details.driver_version,
               details.compute_units);
    }
    if (usable && !found) printf("SKIP: there is no device %s\n", t->device);
    gantry_runtime_release(runtime);
    return found;
}

/* ---- tuning ---- */

/* The best set's place, -1 when all failed. */
static int try_all(const tuning_t *t, double *out_seconds) {
    const uint64_t start = bench_now_ns();
    int best = -1;
    double before = t->quick ? 0 : try_set(t, NULL, 0, t->n);
    if (before > 0) printf("%10.1f GFLOP/s  without a file\n", gflops(t->n, before));
    for (size_t i = 0; i < SETS && (!t->quick || i < QUICK_SETS); ++i) {
        if (i > 0 && 1e-9 * (double)(bench_now_ns() - start) > t->seconds) {
            printf("%g seconds are over: %zu of %zu sets were tried\n", t->seconds, i, SETS);
            break;
        }
        double seconds = try_set(t, sets[i], 1, t->n);
        if (seconds <= 0) {
            printf("    failed          %s\n", sets[i]);
            continue;
        }
        printf("%10.1f GFLOP/s  %s\n", gflops(t->n, seconds), sets[i]);
        (void)fflush(stdout);
        if (best < 0 || seconds < *out_seconds) {
            best = (int)i;
            *out_seconds = seconds;
        }
    }
    return best;
}

/* The smallest power of two for which the tiled kernel is faster; CLBlast compares m * n * k with its third power. */
static int find_least_indirect(const tuning_t *t, const char *set) {
    for (int n = 128; n < t->n; n *= 2) {
        double tiled = try_set(t, set, 1, n), direct = try_set(t, set, 65536, n);
        if (tiled > 0 && direct > 0)
            printf("n %d: tiled %.1f, direct %.1f GFLOP/s\n", n, gflops(n, tiled), gflops(n, direct));
        if (tiled > 0 && (direct <= 0 || tiled < direct)) return n;
    }
    return t->n;
}

static int tune(tuning_t *t) {
    double seconds = 0;
    int best = try_all(t, &seconds);
    if (best < 0) {
        printf("no set gave right results\n");
        return 1;
    }
    int least = t->quick ? t->n : find_least_indirect(t, sets[best]);
    FILE *out = t->out ? fopen(t->out, "a") : stdout;
    if (!out) {
        (void)fprintf(stderr, "%s could not be written\n", t->out);
        return 1;
    }
    (void)fprintf(out, "# %.1f GFLOP/s at n %d\n%s Xgemm %s\n%s GemmRoutine XGEMM_MIN_INDIRECT_SIZE=%d\n",
                  gflops(t->n, seconds), t->n, t->head, sets[best], t->head, least);
    return t->out && fclose(out) != 0;
}

/* ---- the program ---- */

static bool read_options(int argc, char **argv, tuning_t *t) {
    for (int i = 1; i < argc; ++i) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        if (strcmp(argv[i], "--quick") == 0) {
            t->quick = true;
            continue;
        }
        if (!value) return false;
        if (strcmp(argv[i], "--device") == 0)
            t->device = value;
        else if (strcmp(argv[i], "--n") == 0)
            t->n = atoi(value);
        else if (strcmp(argv[i], "--seconds") == 0)
            t->seconds = atof(value);
        else if (strcmp(argv[i], "--out") == 0)
            t->out = value;
        else
            return false;
        ++i;
    }
    return t->n >= 16 && t->n <= 32768 && t->seconds > 0;
}

int main(int argc, char **argv) {
    tuning_t t = {.device = "opencl:0", .seconds = 60, .n = 2048, .file = "/tmp/gantry_tune_XXXXXX"};
    if (!read_options(argc, argv, &t)) {
        (void)fprintf(
            stderr,
            "usage: gantry_bench_tune [--device opencl:N] [--n 16..32768] [--seconds S] [--quick] [--out FILE]\n");
        return 2;
    }
    (void)setenv("GANTRY_OPENCL_MATMUL", "clblast", 1);
    (void)setenv("GANTRY_BACKENDS", "cpu,opencl", 0);
    (void)unsetenv("GANTRY_OPENCL_CLBLAST_PARAMETERS");
    if (!describe(&t)) return SKIPPED;
    int file = mkstemp(t.file), code = 1;
    const size_t elements = (size_t)t.n * (size_t)t.n;
    t.a = malloc(elements * sizeof *t.a);
    t.b = malloc(elements * sizeof *t.b);
    t.c = malloc(elements * sizeof *t.c);
    if (file >= 0 && t.a && t.b && t.c) {
        for (size_t i = 0; i < elements; ++i) {
            t.a[i] = (float)(i * 7919 % 2003) * 1e-3f - 1;
            t.b[i] = (float)(i * 104729 % 1999) * 1e-3f - 1;
        }
        code = tune(&t);
    } else {
        (void)fprintf(stderr, "no memory or no temporary file\n");
    }
    if (file >= 0) {
        (void)close(file);
        (void)unlink(t.file);
    }
    free(t.a);
    free(t.b);
    free(t.c);
    return code;
}
