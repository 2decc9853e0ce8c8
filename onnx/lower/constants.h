/* SPDX-License-Identifier: Apache-2.0 */
/* Constants of a model, for all its traces: elements of the file, what is computed of them only,
 * and forms of them that ops want, such as filters with their axes in another order.
 *
 * A constant is made when a trace first needs it. It is kept if a node has taken it as it is. What
 * nodes only took in another form, by gantry__onnx_prepared, is given back, and made again for a
 * later trace: so a filter is in memory once. Elements of the file are used in place where they are
 * aligned.
 *
 * Traces for a device other than the host copy their constants there. Once a run has shown on which
 * device the model computes, later traces get large constants that are there already, so that they
 * share them.
 *
 * Owner: the model. Threads: thread-safe; two threads that need a constant at one time may both
 * make it, and one is kept. */
#ifndef GANTRY_ONNX_CONSTANTS_H
#define GANTRY_ONNX_CONSTANTS_H

#include <stdatomic.h>

#include "onnx/file/read.h"
#include "onnx/lower/plan.h"
#include "shared/fail.h"
#include "base/os/thread.h"

/* A file that tensors use, too. */
typedef struct gantry__onnx_held_file_t gantry__onnx_held_file_t;

/* A prepared form. */
typedef struct onnx_prepared_t {
    const gantry__onnx_node_t *node;
    uint32_t input, key;
    gantry_tensor_t *tensor;
    size_t next; /* Of the same value: 1 and its place in the list; 0: none. */
} onnx_prepared_t;

/* The constants of a model. */
typedef struct gantry__onnx_constants_t {
    gantry_runtime_t *runtime;
    gantry__onnx_held_file_t *file;
    gantry__onnx_plan_t plan;
    double most_computed;                  /* Bytes of constants that are computed. */
    atomic_uchar *is_left;                 /* By value: each run computes it of constants. */
    atomic_size_t left_count;              /* Nodes by which it has changed. */
    gantry__mutex_t mutex;                 /* Of what follows. */
    const gantry_logical_device_t *device; /* Where large constants go; NULL: the host. */
    gantry_tensor_t **tensors;             /* By value: those that are kept. */
    size_t *first_prepared;                /* By value, as next. */
    onnx_prepared_t *prepared;
    size_t prepared_count, prepared_capacity;
} gantry__onnx_constants_t;

/* Takes the file over, also if it fails. */
gantry_status_t gantry__onnx_constants_init(gantry__onnx_constants_t *constants,
                                            gantry_runtime_t *runtime, gantry__onnx_file_t *file);
void gantry__onnx_constants_deinit(gantry__onnx_constants_t *constants);

/* Whether a value is made of constants, once for the model. */
bool gantry__onnx_constants_has(const gantry__onnx_constants_t *constants,
                                gantry__onnx_value_t value);
/* Leaves a node of constants, and those that take its results, to each run, because its results are
 * too large to be kept. False: it cannot be left, because a convolution has it folded in, too many
 * nodes were left one by one, or memory is out. */
bool gantry__onnx_constants_leave(gantry__onnx_constants_t *constants,
                                  const gantry__onnx_node_t *node);

/* Makes a tensor of the file, in scope. */
gantry_status_t gantry__onnx_constants_read(gantry__onnx_constants_t *constants,
                                            gantry_scope_t *scope,
                                            const gantry__onnx_tensor_t *tensor,
                                            const gantry_tensor_t **out_tensor);
/* Gives a tensor that is to be kept memory of its own, because the devices' pools grow in steps.
 * The caller gets a reference. ResourceExhausted: constants that are computed take more than the
 * memory limit of /CPU:0. */
gantry_status_t gantry__onnx_constants_settle(const gantry__onnx_constants_t *constants,
                                              gantry_scope_t *scope, const gantry_tensor_t *tensor,
                                              gantry_tensor_t **out_settled);
/* The transposed matrix of a constant, in memory of its own, without the host's pool, whose regions
 * have powers of two. NULL: the scope has failed. */
const gantry_tensor_t *gantry__onnx_constants_turn(const gantry__onnx_constants_t *constants,
                                                   gantry_scope_t *scope,
                                                   const gantry_tensor_t *tensor);
/* How many bytes more may be computed of constants: a small file may not make them large. */
double gantry__onnx_constants_room(const gantry__onnx_constants_t *constants);
/* Gives memory that the host's pool does not use back, after a constant of so many bytes was
 * made. */
void gantry__onnx_constants_trim(gantry_runtime_t *runtime, size_t bytes);
/* A constant that is kept, of which the caller gets a reference; NULL: it is not. */
gantry_tensor_t *gantry__onnx_constants_kept(gantry__onnx_constants_t *constants,
                                             gantry__onnx_value_t value);
/* Notes where a run computed; the first device other than the host counts. */
void gantry__onnx_constants_note_device(gantry__onnx_constants_t *constants,
                                        const gantry_logical_device_t *device);
/* Keeps a constant for later traces. */
void gantry__onnx_constants_keep(gantry__onnx_constants_t *constants, gantry__onnx_value_t value,
                                 const gantry_tensor_t *tensor);
/* A prepared form, of which the caller gets a reference; NULL: it is not made yet. */
gantry_tensor_t *gantry__onnx_constants_find(gantry__onnx_constants_t *constants,
                                             const gantry__onnx_node_t *node, uint32_t input,
                                             uint32_t key);
/* Keeps a prepared form; *tensor, of which the caller has a reference, becomes that of another
 * thread that was faster. */
gantry_status_t gantry__onnx_constants_add(gantry__onnx_constants_t *constants,
                                           const gantry__onnx_node_t *node, uint32_t input,
                                           uint32_t key, gantry_tensor_t **tensor);

#endif
