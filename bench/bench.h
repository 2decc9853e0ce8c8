/* What the cases share: the runtime under measurement, its devices, the report. Uses Gantry's public API only.
 *
 * A case adds its rows and returns; what cannot run here says why on standard error. Externally synchronised. */
#ifndef GANTRY_BENCH_H
#define GANTRY_BENCH_H

#include <gantry/gantry.h>

#include "bench_report.h"
#include "bench_timer.h"

#define BENCH_MAX_DEVICES 8

typedef struct bench_device_t {
    char alias[64]; /* "cpu:0", "opencl:0" */
    char hardware[128];
    char line[512]; /* for the head of the report */
} bench_device_t;

typedef struct bench_t {
    gantry_runtime_t *runtime;
    bench_device_t devices[BENCH_MAX_DEVICES]; /* the CPU backend's first */
    size_t device_count;
    const char *program; /* to start again as a child */
    int rounds;
    bool quick;
    bench_report_t report;
} bench_t;

void bench_dispatch(bench_t *bench);
void bench_launch(bench_t *bench);
void bench_transfer(bench_t *bench);
void bench_elementwise(bench_t *bench);
void bench_reduce(bench_t *bench);
void bench_matmul(bench_t *bench);
void bench_listing(bench_t *bench);

/* In a child that the listing case started: prints the nanoseconds that `what` took. The process's exit code. */
int bench_listing_child(const char *what);

/* False after a message on standard error when a call of Gantry failed. */
bool bench_is_ok(gantry_status_t status, const char *device, const char *what);
/* A scope on a device; NULL after a message. */
gantry_scope_t *bench_scope(bench_t *bench, const char *device);
/* Uniform random float32 in [0, 1), made on the scope's device and waited for; NULL after a message. */
const gantry_tensor_t *bench_random(gantry_scope_t *scope, gantry_shape_t shape, int64_t seed);

#endif
