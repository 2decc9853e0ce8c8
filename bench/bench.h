/* SPDX-License-Identifier: Apache-2.0 */
/* What the cases share: the runtime under measurement, its devices, the report. Uses Gantry's
 * public API only.
 *
 * A case adds its rows and returns; what cannot run here says why on standard error. Externally
 * synchronised. */
#ifndef GANTRY_BENCH_H
#define GANTRY_BENCH_H

#include <gantry/gantry.h>

#include "bench_report.h"
#include "bench_timer.h"

#define BENCH_MAX_DEVICES 8

typedef struct bench_device_t {
    char alias[64]; /* "cpu:0", "opencl:0" */
    char hardware[128];
    char uuid[64];
    char other_view[64]; /* alias of the card's view by another driver; "" */
    char line[512];      /* for the head of the report */
} bench_device_t;

typedef struct bench_t {
    gantry_runtime_t *runtime;
    bench_device_t devices[BENCH_MAX_DEVICES]; /* the CPU backend's first */
    size_t device_count;
    const char *program; /* to start again as a child */
    const char *json;    /* the file of --json; NULL */
    int rounds;
    bool quick;
    bool is_stand_in;  /* of a card: what is measured is no figure of one */
    bool is_wrong;     /* a result was */
    int most_n;        /* of matrices, in the cases of cards */
    size_t most_bytes; /* of tensors, likewise */
    const char *types; /* of the card's products, a comma between; NULL: all */
    bench_report_t report;
} bench_t;

void bench_dispatch(bench_t *bench);
void bench_cores(bench_t *bench);
void bench_launch(bench_t *bench);
void bench_transfer(bench_t *bench);
void bench_elementwise(bench_t *bench);
void bench_reduce(bench_t *bench);
void bench_matmul(bench_t *bench);
void bench_listing(bench_t *bench);
void bench_card_launch(bench_t *bench);
void bench_card_transfer(bench_t *bench);
void bench_card_stream(bench_t *bench);
void bench_card_matmul(bench_t *bench);
void bench_card_start(bench_t *bench);

/* Runs the case once more with few rounds, device by device, and prints where the time of its
 * ops went. */
void bench_layers(bench_t *bench, const char *name, void (*run)(bench_t *bench),
                  gantry_profile_mode_t mode);

/* In a child that the listing case started: prints the nanoseconds that `what` took. The
 * process's exit code. */
int bench_listing_child(const char *what);
/* Likewise for the start of a card: prints nanoseconds, and the card's memory in use afterwards. */
int bench_card_start_child(const char *what, const char *uuid, const char *kernel_cache);
/* Prints what the raw drivers list, CUDA's and OpenCL's, without Gantry. The process's exit
 * code. */
int bench_drivers(void);

/* True when name is one of the comma list's items; a NULL list holds all. */
bool bench_is_in(const char *list, const char *name);
/* False after a message on standard error when a call of Gantry failed. */
bool bench_is_ok(gantry_status_t status, const char *device, const char *what);
/* Writes the rows so far into the file of --json, for who ends a long case from outside. False
 * after a message. */
bool bench_save(const bench_t *bench);
/* extra as in gantry_runtime_options_t; NULL after a message. */
gantry_runtime_t *bench_runtime(const char *const *extra);
/* A scope on a device; NULL after a message. */
gantry_scope_t *bench_scope(const bench_t *bench, const char *device);
/* Uniform random float32 in [0, 1), made on the scope's device and waited for; NULL after a
 * message. */
const gantry_tensor_t *bench_random(gantry_scope_t *scope, gantry_shape_t shape, int64_t seed);

#endif
