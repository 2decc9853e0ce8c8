/* SPDX-License-Identifier: Apache-2.0 */
/* The cases share this: the runtime under measurement, its devices, the report. Uses only Gantry's
 * public API.
 *
 * A case must add its rows and return. If a part of it cannot run here, it must print the reason to
 * standard error. Owner: main has the bench_t; a case must release what it makes. Threads:
 * externally synchronised. */
#ifndef GANTRY_BENCH_H
#define GANTRY_BENCH_H

#include <gantry/gantry.h>

#include "report.h"
#include "timer.h"

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
    const char *program; /* the file to start as a child */
    const char *json;    /* the file of --json; NULL */
    int rounds;
    bool quick;
    bool is_stand_in;  /* of a card: its times are not those of a card */
    bool is_wrong;     /* a result was wrong */
    int most_n;        /* of matrices, in the cases of cards */
    size_t most_bytes; /* of tensors, in the cases of cards */
    const char *types; /* of the card's products, separated by commas; NULL: all */
    bench_report_t report;
} bench_t;

void bench_dispatch(bench_t *bench);
void bench_cores(bench_t *bench);
void bench_launch(bench_t *bench);
void bench_function(bench_t *bench);
void bench_transfer(bench_t *bench);
void bench_sharing(bench_t *bench);
void bench_saved(bench_t *bench);
void bench_elementwise(bench_t *bench);
void bench_reduce(bench_t *bench);
void bench_matmul(bench_t *bench);
void bench_batch_invariant(bench_t *bench);
void bench_all_reduce(bench_t *bench);
void bench_strategy(bench_t *bench);
void bench_listing(bench_t *bench);
void bench_card_launch(bench_t *bench);
void bench_card_function(bench_t *bench);
void bench_card_transfer(bench_t *bench);
void bench_card_stream(bench_t *bench);
void bench_card_matmul(bench_t *bench);
void bench_card_start(bench_t *bench);
void bench_training(bench_t *bench); /* in builds with libgantry_train */

/* Runs the case once more with few rounds, device by device, and prints how its ops spend their
 * time. */
void bench_layers(bench_t *bench, const char *name, void (*run)(bench_t *bench),
                  gantry_profile_mode_t mode);

/* Must run in a child of the listing case. It prints the nanoseconds that `what` took, and returns
 * the exit code. */
int bench_listing_child(const char *what);
/* The same for the start of a card: prints nanoseconds, and the card's memory in use afterwards. */
int bench_card_start_child(const char *what, const char *uuid, const char *kernel_cache);
/* The same for the training step on a device: prints the nanoseconds of its parts. cache is the
 * folder of compiled programs. */
int bench_training_child(const char *device, const char *cache);
/* Prints the devices that the raw CUDA and OpenCL drivers list, without Gantry. Returns the exit
 * code. */
int bench_drivers(void);

/* Returns whether the call of Gantry succeeded; prints a message to standard error if not. */
bool bench_is_ok(gantry_status_t status, const char *device, const char *what);
/* Writes the rows so far to the file of --json, in case a long run is ended from outside. Returns
 * false after a message. */
bool bench_save(const bench_t *bench);
/* Creates a runtime; extra is that of gantry_runtime_options_t. It returns NULL after a message. */
gantry_runtime_t *bench_runtime(const char *const *extra);
/* Begins a scope on a device; returns NULL after a message. */
gantry_scope_t *bench_scope(const bench_t *bench, const char *device);
/* Makes uniform random float32 in [0, 1) on the scope's device, and waits for them. It returns NULL
 * after a message. */
const gantry_tensor_t *bench_random(gantry_scope_t *scope, gantry_shape_t shape, int64_t seed);

#endif
