/* SPDX-License-Identifier: Apache-2.0 */
/* Listing devices in a fresh child process each time, because loaders and drivers cache their
 * devices. The reference only queries the OpenCL driver's platforms, devices and a few of their
 * properties. */
#include "bench.h"

#include <string.h>

#include "child.h"
#include "vendor.h"

#define LISTING_MOST_MS 5.0
#define LISTING_ROUNDS 15

/* ---- in the child ---- */

static bool list_with_gantry(const char *backends, gantry_runtime_t **out_runtime) {
    gantry_runtime_options_t options = {.struct_size = sizeof options, .backends = backends};
    const gantry_physical_device_t *devices[64];
    size_t count;
    return gantry_runtime_create(&options, out_runtime) == GANTRY_OK &&
           gantry_list_physical_devices(*out_runtime, NULL, 64, devices, &count) == GANTRY_OK;
}

static bool list_with_driver(void) {
    static const uint32_t properties[] = {BENCH_CL_DEVICE_NAME, 0x102C /* vendor */,
                                          0x102D /* driver version */};
    bench_opencl_t cl;
    void *platforms[16], *devices[16];
    uint32_t platform_count = 0, device_count;
    if (!bench_opencl_open(&cl) || cl.clGetPlatformIDs(16, platforms, &platform_count) != 0)
        return false;
    for (uint32_t p = 0; p < platform_count && p < 16; ++p) {
        if (cl.clGetDeviceIDs(platforms[p], BENCH_CL_ALL_DEVICES, 16, devices, &device_count) != 0)
            continue;
        for (uint32_t d = 0; d < device_count && d < 16; ++d) {
            char text[256];
            for (size_t i = 0; i < 3; ++i)
                (void)cl.clGetDeviceInfo(devices[d], properties[i], sizeof text, text, NULL);
        }
    }
    return true;
}

int bench_listing_child(const char *what) {
    const char *backends = strcmp(what, "cpu") == 0 ? "cpu" : NULL;
    gantry_runtime_t *runtime = NULL;
    uint64_t start = bench_now_ns();
    bool ok = strcmp(what, "raw") == 0 ? list_with_driver() : list_with_gantry(backends, &runtime);
    uint64_t took = bench_now_ns() - start;
    gantry_runtime_release(runtime);
    if (!ok) return 1;
    (void)printf("%llu\n", (unsigned long long)took);
    return fflush(stdout) == 0 ? 0 : 1;
}

/* ---- in the parent ---- */

/* The seconds of one child; 0 if it fails. */
static double run_child(const char *program, const char *what) {
    double nanoseconds;
    const char *const arguments[] = {"--listing-child", what, NULL};
    return bench_child_run(program, arguments, &nanoseconds, 1) ? nanoseconds * 1e-9 : 0;
}

/* Adds a row; median and best are in seconds. */
static void add_row(bench_t *bench, const char *work, const char *on, double median, double best,
                    double most_ms) {
    bench_row_t row = {.subject = "listing",
                       .unit = "ms",
                       .reached = -1,
                       .median = median * 1e3,
                       .best = best * 1e3};
    (void)snprintf(row.work, sizeof row.work, "%s", work);
    (void)snprintf(row.on, sizeof row.on, "%s", on);
    if (most_ms > 0) {
        (void)snprintf(row.target, sizeof row.target, "<= %g ms", most_ms);
        row.reached = row.median <= most_ms;
    }
    bench_report_add(&bench->report, &row);
}

typedef struct series_t {
    double seconds[LISTING_ROUNDS];
    size_t count;
    double median;
} series_t;

static void add_sample(series_t *series, double seconds) {
    if (seconds > 0) series->seconds[series->count++] = seconds;
}

/* Sorts the samples, so that seconds[0] is the best. Returns whether there are any. */
static bool has_samples(series_t *series) {
    series->median = bench_median(series->seconds, series->count);
    return series->count > 0;
}

void bench_listing(bench_t *bench) {
    series_t raw = {0}, all = {0}, cpu = {0};
    double beyond[LISTING_ROUNDS]; /* differences of neighbours in time */
    size_t rounds = bench->quick ? 5 : LISTING_ROUNDS, pairs = 0;
    for (size_t i = 0; i < rounds; ++i) {
        double driver = run_child(bench->program, "raw"), gantry = run_child(bench->program, "all");
        add_sample(&raw, driver);
        add_sample(&all, gantry);
        add_sample(&cpu, run_child(bench->program, "cpu"));
        if (driver > 0 && gantry > 0) beyond[pairs++] = gantry - driver;
    }
    const char *work = "runtime created, devices listed";
    bool alone = !has_samples(&raw);
    if (has_samples(&cpu)) add_row(bench, work, "cpu backend", cpu.median, cpu.seconds[0], 0);
    if (has_samples(&all))
        add_row(bench, work, "all backends", all.median, all.seconds[0],
                alone ? LISTING_MOST_MS : 0);
    if (alone || pairs == 0) return;
    add_row(bench, "the OpenCL driver's own time", "raw OpenCL", raw.median, raw.seconds[0], 0);
    add_row(bench, "beyond the driver's own time", "all backends", bench_median(beyond, pairs),
            all.seconds[0] - raw.seconds[0], LISTING_MOST_MS);
}
