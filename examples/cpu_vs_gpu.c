/* SPDX-License-Identifier: Apache-2.0 */
/* Times the same work on the CPU and on the GPU, and compares the results: makes uniform random
 * matrices, multiplies them, and adds up the product.
 *
 *   cpu_vs_gpu [--size N] [--repeat N] [--devices A,B]
 *
 * All devices have the same random numbers, so the sums differ only by the order of the product's
 * additions. */
#define _POSIX_C_SOURCE 200809L
#include "example.h"

#include <math.h>
#include <string.h>
#include <time.h>

typedef struct result_t {
    char device[64];
    /* the best repetition, including the wait; the first one, which builds programs, is left out */
    double seconds;
    double first_seconds;
    double sum;
    unsigned long long bytes_copied;
} result_t;

static double now(void) {
    struct timespec time;
    (void)clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* The guide multiplies [10n, n/10] by [n/10, 100n]. Here a is size x size/4, and b is size/4 x
 * size. */
static double multiply_and_sum(gantry_runtime_t *runtime, const char *device, int64_t size,
                               float *out_sum) {
    double start = now();
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *three = gantry_scalar_f32(scope, 3.0f);
    const gantry_tensor_t *a =
        gantry_stateless_random_uniform(scope, GANTRY_SHAPE(size, size / 4), GANTRY_FLOAT32, 0, 1);
    const gantry_tensor_t *b =
        gantry_stateless_random_uniform(scope, GANTRY_SHAPE(size / 4, size), GANTRY_FLOAT32, 0, 2);
    const gantry_tensor_t *c =
        gantry_matmul(scope, gantry_mul(scope, a, three), gantry_mul(scope, b, three), NULL);
    const gantry_tensor_t *sum = gantry_sum(
        scope,
        gantry_sum(scope, c, &(gantry_reduce_options_t){.axes = (int32_t[]){0}, .axis_count = 1}),
        NULL);
    if (sum) example_check(gantry_tensor_read(sum, out_sum, sizeof *out_sum), device);
    example_check(gantry_scope_end(scope), device);
    return now() - start;
}

static unsigned long long copied_bytes(gantry_runtime_t *runtime) {
    static gantry_placement_record_t records[64] = {{.struct_size = sizeof records[0]}};
    size_t count;
    unsigned long long bytes = 0;
    example_check(gantry_get_placements(runtime, 64, records, &count), "gantry_get_placements");
    for (size_t i = 0; i < count; ++i) bytes += records[i].bytes_copied;
    return bytes;
}

static result_t measure(gantry_runtime_t *runtime, const char *device, int64_t size, int repeat) {
    result_t result = {.seconds = INFINITY};
    (void)snprintf(result.device, sizeof result.device, "%s", device);
    float sum = 0;
    result.first_seconds = multiply_and_sum(runtime, device, size, &sum);
    for (int i = 0; i < repeat; ++i) {
        double seconds = multiply_and_sum(runtime, device, size, &sum);
        if (seconds < result.seconds) result.seconds = seconds;
    }
    result.sum = (double)sum;
    result.bytes_copied = copied_bytes(runtime);
    return result;
}

static int compare(const result_t *results, size_t count, int64_t size) {
    double flops = 2.0 * (double)size * (double)size * (double)(size / 4);
    (void)printf("%-12s %12s %12s %12s %14s %16s\n", "device", "first ms", "best ms", "GFLOP/s",
                 "bytes copied", "sum");
    for (size_t i = 0; i < count; ++i) {
        (void)printf("%-12s %12.2f %12.3f %12.1f %14llu %16.8g\n", results[i].device,
                     results[i].first_seconds * 1e3, results[i].seconds * 1e3,
                     flops / results[i].seconds * 1e-9, results[i].bytes_copied, results[i].sum);
    }
    for (size_t i = 1; i < count; ++i) {
        double difference = fabs(results[i].sum - results[0].sum) / fabs(results[0].sum);
        (void)printf("%s and %s: the sums differ by %.2g of their value%s\n", results[i].device,
                     results[0].device, difference, difference <= 1e-5 ? "" : " - more than 1e-5");
        if (!(difference <= 1e-5)) return 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    int64_t size = 1024;
    int repeat = 5;
    const char *devices = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (strcmp(argv[i], "--size") == 0) size = atoll(argv[i + 1]);
        if (strcmp(argv[i], "--repeat") == 0) repeat = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--devices") == 0) devices = argv[i + 1];
    }
    if (argc % 2 == 0 || size < 4 || size > 65536 || repeat < 1) {
        (void)fprintf(
            stderr,
            "usage: cpu_vs_gpu [--size 4..65536] [--repeat 1..] [--devices /CPU:0,/GPU:0]\n");
        return 2;
    }
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .opencl_cpu_as_gpu = GANTRY_ON};
    gantry_runtime_t *runtime;
    example_check(gantry_runtime_create(&options, &runtime), "gantry_runtime_create");
    size_t gpus;
    example_check(gantry_list_logical_devices(runtime, "GPU", 0, NULL, &gpus),
                  "gantry_list_logical_devices");
    char list[256];
    (void)snprintf(list, sizeof list, "%s", devices ? devices : gpus ? "/CPU:0,/GPU:0" : "/CPU:0");
    if (!devices && !gpus)
        (void)printf("This machine has no GPU and no OpenCL device; only the CPU is measured.\n");
    (void)printf("[%lld,%lld] x [%lld,%lld], float32\n", (long long)size, (long long)(size / 4),
                 (long long)(size / 4), (long long)size);
    result_t results[8];
    size_t count = 0;
    for (char *device = strtok(list, ","); device && count < 8; device = strtok(NULL, ",")) {
        results[count++] = measure(runtime, device, size, repeat);
    }
    int code = compare(results, count, size);
    gantry_runtime_release(runtime);
    return code;
}
