/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of `gantry tune` share: the run, its time, one try of a setting, products to
 * measure.
 *
 * A setting is tried as a user would use it: by an option, or by a record in a tuning file of the
 * try's own, read by a runtime of the try's own. Nothing here knows how a backend uses a record.
 * Externally synchronised. */
#ifndef GANTRY_TOOLS_GANTRY_TUNE_H
#define GANTRY_TOOLS_GANTRY_TUNE_H

#include <gantry/gantry.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A winner has to be this much faster than what would be taken without it. */
#define TUNE_LEAST_GAIN 1.02

/* One run of the command, and the device that is being tuned. */
typedef struct tune_t {
    gantry_runtime_t *runtime;
    const gantry_physical_device_t *device;
    gantry_device_details_t details;
    const char *only; /* the beginning of records' names, NULL: all */
    bool is_dry;
    uint64_t deadline_ns; /* of the part that is being worked on */
    size_t found, failed; /* records kept or, when dry, shown; failures told */
    char last[64];        /* what was found last: a better one in its place is not counted again */
} tune_t;

extern volatile sig_atomic_t tune_interrupted;

uint64_t tune_now_ns(void);
/* The part's time is over, or the user interrupted. */
bool tune_is_over(const tune_t *tune);
/* Sleeps until the threads of others, which spin for a while when they have nothing to do, have
 * gone to sleep. */
void tune_pause(void);
/* Whether records of that name are asked for. */
bool tune_wants(const tune_t *tune, const char *what);
/* Prints the record and, unless the run is dry, puts it into the user's file. */
void tune_save(tune_t *tune, const char *what, const char *values);

/* ---- the machine ---- */

typedef struct tune_machine_t {
    bool is_known;
    double busy, all, own_seconds; /* of all cores since they began, in ticks; of this process */
} tune_machine_t;

void tune_machine_begin(tune_machine_t *self);
/* Which part of all cores' time other processes had since then; 0 when it is not known. */
double tune_machine_others(const tune_machine_t *self);

/* ---- devices ---- */

#define TUNE_MOST_VIEWS 64

/* ---- one setting, tried by a runtime of its own ---- */

typedef struct tune_try_t {
    gantry_runtime_t *runtime;
    gantry_scope_t *scope;
    char folder[64]; /* of the tuning file; "": none */
} tune_try_t;

/* One record of the tuning file; an array ends with what NULL. */
typedef struct tune_record_t {
    const char *what, *values;
} tune_record_t;

/* backend: "cpu". settings: "NAME=VALUE" texts, at most 4, NULL-terminated. records may be NULL.
 * False, with the reason on standard error. */
bool tune_try_open(tune_try_t *self, const tune_t *tune, const char *backend,
                   const char *const *settings, const tune_record_t *records);
void tune_try_close(tune_try_t *self);
/* What the backend says of its libraries; "" when it cannot be asked. */
const char *tune_try_libraries(const tune_try_t *self, const char *backend);

/* ---- products ---- */

typedef struct tune_shape_t {
    int m, n, k;
} tune_shape_t;

#define TUNE_MOST_SHAPES 4

/* float32 matrices large enough for all shapes. */
typedef struct tune_matrices_t {
    float *a, *b, *c, *first; /* first: the result that others are compared with */
    size_t elements;          /* of each */
} tune_matrices_t;

bool tune_matrices_init(tune_matrices_t *self, const tune_shape_t *shapes, size_t count);
void tune_matrices_deinit(tune_matrices_t *self);

/* A product on one try's device, ready to be run again and again. */
typedef struct tune_product_t {
    const tune_try_t *tried;
    tune_shape_t shape;
    const gantry_tensor_t *a, *b;
    double seconds; /* of the fastest product so far; below 0: none */
} tune_product_t;

/* Computes it once and checks it: sampled elements against sums in double and, but for the first
 * one to be compared, all elements against the first one's. False, with the reason on standard
 * error. */
bool tune_product_open(tune_product_t *self, const tune_try_t *tried, tune_shape_t shape,
                       tune_matrices_t *matrices, bool is_first);
/* Times products for some milliseconds. */
bool tune_product_run(tune_product_t *self);
void tune_product_close(tune_product_t *self);
double tune_product_gflops(const tune_product_t *self);
/* Geometric mean of the products' GFLOP/s; 0 when one was not measured. */
double tune_mean_gflops(const tune_product_t *products, size_t count);

/* ---- what can be tuned ---- */

void tune_cpu_products(tune_t *tune);
void tune_opencl_blocks(tune_t *tune);
void tune_clblast(tune_t *tune);
void tune_cublas(tune_t *tune);

#endif
