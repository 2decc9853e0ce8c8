/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of `gantry tune` share this: the run and its time, the trial of a setting, and products
 * to measure.
 *
 * A trial uses a setting as a user would: by an option, or by a record in a tuning file. It has its
 * own runtime and its own tuning file. This code does not know how a backend uses a record. Owner:
 * who opens a trial or a product must close it. Threads: externally synchronised. */
#ifndef GANTRY_TOOLS_TUNE_H
#define GANTRY_TOOLS_TUNE_H

#include <gantry/gantry.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/os/requests.h"
#include "common/tool.h"

/* A winner must be this much faster than the default. */
#define TUNE_LEAST_GAIN 1.02

/* ---- forms of convolutions ---- */

#define TUNE_FORM_BYTES 200
enum { TUNE_CONVOLVES, TUNE_GIVES_IMAGE, TUNE_GIVES_FILTER };

/* One exact convolution, or a gradient of it, as the CUDA backend writes it. */
typedef struct tune_form_t {
    char text[TUNE_FORM_BYTES]; /* "convolve:float32:nhwc:8x56x56x64:..." */
    int kind;
    gantry_dtype_t dtype;
    bool is_planar, has_bias, has_relu, may_round;
    int64_t images[4], filter[4], result[4]; /* channels last; rows, columns, channels, outputs */
    int64_t pads[4], steps[2], spreads[2];   /* above, below, left, right; rows, columns */
} tune_form_t;

typedef struct tune_forms_t {
    tune_form_t *list;
    size_t count;
} tune_forms_t;

/* How a user gets a file of forms. */
#define TUNE_FORMS_ADVICE                                                                  \
    "a program on the card with GANTRY_LOG=/A/FILE and GANTRY_LOG_LEVEL=debug writes its " \
    "convolutions there, and --forms /A/FILE reads them"

/* Reads each form of the file once. False, after a message: the file cannot be read, has no form,
 * or a wrong one. */
bool tune_forms_read(tune_forms_t *self, const char *path);
void tune_forms_deinit(tune_forms_t *self);

/* ---- the run ---- */

/* One run of the command, and the device that is being tuned. */
typedef struct tune_t {
    gantry_runtime_t *runtime;
    const gantry_physical_device_t *device;
    gantry_device_details_t details;
    const char *only;          /* the beginning of the selected records' names; NULL: all */
    const tune_forms_t *forms; /* NULL: the user named none */
    bool is_dry;
    uint64_t deadline_ns; /* of the current part */
    size_t found, failed; /* records kept (in a dry run: shown), and reported failures */
    char last[64];        /* the last record found: a better value of it is not counted again */
    gantry_json_t *json;  /* the open list of records; NULL: text only */
} tune_t;

/* Returns whether the part's time is up, or the user interrupted. */
bool tune_is_over(const tune_t *tune);
/* Waits until the idle threads of other pools, which spin for a while, have gone to sleep. */
void tune_pause(void);
/* Returns whether the user selected records of that name. */
bool tune_wants(const tune_t *tune, const char *what);
/* Returns whether to measure the class `what` now: the user selected it, and the deadline is not
 * over or *is_first is true, which then becomes false. `left` classes share the time, this one
 * included; tune->deadline_ns becomes the end of its share. */
bool tune_begins_class(tune_t *tune, const char *what, uint64_t deadline, int left, bool *is_first);
/* Does the same for a record whose name is not known yet; `what` is for the user. */
bool tune_takes_share(tune_t *tune, const char *what, uint64_t deadline, int left, bool *is_first);
/* Prints the record, and writes it to the user's file unless this is a dry run. */
void tune_save(tune_t *tune, const char *what, const char *values);

/* ---- the machine ---- */

typedef struct tune_machine_t {
    bool is_known;
    double busy, all, own_seconds; /* of all cores; of this process */
} tune_machine_t;

void tune_machine_begin(tune_machine_t *self);
/* The share of all cores' time that other processes used since then; 0 if it is unknown. */
double tune_machine_others(const tune_machine_t *self);

/* ---- devices ---- */

#define TUNE_MOST_VIEWS 64

/* ---- the trial of a setting, in a runtime of its own ---- */

#define TUNE_FOLDER_BYTES 512

typedef struct tune_try_t {
    gantry_runtime_t *runtime;
    gantry_scope_t *scope;
    char folder[TUNE_FOLDER_BYTES]; /* of the tuning file; "": none */
} tune_try_t;

/* One record of the tuning file. `what` is NULL at the end of an array. */
typedef struct tune_record_t {
    const char *what, *values;
} tune_record_t;

/* Opens a trial. backend is a name such as "cpu". settings must be at most 4 texts "NAME=VALUE",
 * ended by NULL. records may be NULL. It returns false after printing the reason to standard
 * error. */
bool tune_try_open(tune_try_t *self, const tune_t *tune, const char *backend,
                   const char *const *settings, const tune_record_t *records);
/* Does the same with the runtime's log from level debug on. */
bool tune_try_open_logged(tune_try_t *self, const tune_t *tune, const char *backend,
                          const char *const *settings, const tune_record_t *records,
                          gantry_log_fn log, void *log_user);
void tune_try_close(tune_try_t *self);
/* Returns the backend's line about its libraries; "" if it has none. */
const char *tune_try_libraries(const tune_try_t *self, const char *backend);

/* ---- products ---- */

typedef struct tune_shape_t {
    int m, n, k;
} tune_shape_t;

#define TUNE_MOST_SHAPES 4

/* float32 matrices, large enough for all shapes. */
typedef struct tune_matrices_t {
    float *a, *b, *c, *first; /* first: the result that later ones are compared with */
    size_t elements;          /* of each */
} tune_matrices_t;

bool tune_matrices_init(tune_matrices_t *self, const tune_shape_t *shapes, size_t count);
void tune_matrices_deinit(tune_matrices_t *self);

/* A product on a trial's device, which can run repeatedly. */
typedef struct tune_product_t {
    const tune_try_t *tried;
    tune_shape_t shape;
    const gantry_tensor_t *a, *b;
    double seconds; /* of the fastest product so far; below 0: none */
} tune_product_t;

/* Computes the product once and checks it: some elements against sums in double and, unless it is
 * the first one, all elements against those of the first one. Returns false after printing the
 * reason to standard error. */
bool tune_product_open(tune_product_t *self, const tune_try_t *tried, tune_shape_t shape,
                       tune_matrices_t *matrices, bool is_first);
/* Runs the product for some milliseconds and times it. */
bool tune_product_run(tune_product_t *self);
void tune_product_close(tune_product_t *self);
double tune_product_gflops(const tune_product_t *self);
/* The geometric mean of the products' GFLOP/s; 0 if one was not measured. */
double tune_mean_gflops(const tune_product_t *products, size_t count);

/* ---- the tunable parts ---- */

void tune_cpu_products(tune_t *tune);
void tune_opencl_blocks(tune_t *tune);
void tune_clblast(tune_t *tune);
void tune_cublas(tune_t *tune);
void tune_convolutions(tune_t *tune);
void tune_crossover(tune_t *tune);

#endif
