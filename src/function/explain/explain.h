/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace became: the facts that an explanation needs, and its three written forms.
 *
 * Owner: the caller ends a gantry__explained_t. Its facts point into the trace, which the caller
 * must hold as long. Threads: externally synchronised. */
#ifndef GANTRY_FUNCTION_EXPLAIN_H
#define GANTRY_FUNCTION_EXPLAIN_H

#include "base/text.h"
#include "function/call/function.h"
#include "function/schedule/replay.h"

/* A value that another device gets. */
typedef struct gantry__explained_copy_t {
    uint32_t value;
    const gantry_logical_device_t *from;
    const gantry_logical_device_t *to; /* NULL: host memory, where a kernel reads it */
    bool is_constant;                  /* copied when the function was traced, not in each call */
} gantry__explained_copy_t;

/* A function, or the body of a branch or a loop in it. */
typedef struct gantry__explained_t {
    const char *name; /* the function's name */
    const gantry__graph_t *graph;
    const gantry__schedule_t *schedule;
    gantry__arena_t memory; /* what the arrays below point to */
    bool *is_used;          /* for each node; false: no result and no assignment needs it */
    uint32_t *calls;        /* for each node, the action that calls its kernel + 1; 0: none */
    gantry__explained_copy_t *copies;
    /* the devices that hold a value of the function or its bodies, in the table's order */
    gantry__device_bytes_t *devices;
    size_t copy_count, device_count, unused_count;
    uint64_t copied_bytes; /* bytes that each call copies */
} gantry__explained_t;

/* The body of a branch or a loop. Lives no longer than outer. */
gantry_status_t gantry__explained_init_body(gantry__explained_t *explained,
                                            const gantry__explained_t *outer,
                                            const gantry__schedule_t *schedule);
void gantry__explained_deinit(gantry__explained_t *explained);

/* ---- for the written forms ---- */

/* The short name of a device: "GPU:0". */
const char *gantry__explained_short(const gantry_logical_device_t *device);
/* The position of a device among explained->devices. */
size_t gantry__explained_device(const gantry__explained_t *explained,
                                const gantry_logical_device_t *device);
/* The device on which a node runs, or which it requests; NULL: it is wherever it is used. */
const gantry_logical_device_t *gantry__explained_home(const gantry__explained_t *explained,
                                                      size_t node);
/* Whether a value is on the device in some call. */
bool gantry__explained_lies_on(const gantry__explained_t *explained, uint32_t value,
                               const gantry_logical_device_t *device);
/* Kernels of one device that are replayed as one, or the reason why they are not. */
typedef struct gantry__explained_run_t {
    gantry__run_t run;
    const char *first, *last; /* nodes; "" where the reason concerns the whole device */
    uint32_t captures;
    uint64_t replays;
} gantry__explained_run_t;

/* Calls `write` for each run on a device with a queue; without_few: but for runs too short to
 * replay. */
void gantry__explained_runs(const gantry__explained_t *explained, bool without_few,
                            void (*write)(const gantry__explained_t *explained,
                                          const gantry__explained_run_t *run, bool is_first,
                                          gantry__text_t *out),
                            gantry__text_t *out);
/* The copy by which input i of a node reaches it, or NULL. */
const gantry__explained_copy_t *gantry__explained_copy_of(const gantry__explained_t *explained,
                                                          uint32_t node, uint32_t i);
/* The name of a value: "Add", "Split:1". */
typedef struct gantry__value_name_t {
    char text[GANTRY__NODE_NAME_BYTES + 16];
} gantry__value_name_t;
gantry__value_name_t gantry__explained_name(const gantry__explained_t *explained, uint32_t value);
/* The bodies of a branch or a loop; NULL: the node has none. */
const gantry__block_t *gantry__explained_block(const gantry__explained_t *explained, uint32_t node);
/* The name of a body: "then", "else", "condition", "body", "body 2". */
gantry__value_name_t gantry__explained_body(const gantry__node_t *node, uint32_t body);
/* The device that the node's scope requests, or "". */
const char *gantry__explained_wish(const gantry__node_t *node);
/* The reason why a product's node has not taken what follows. */
extern const char *const gantry__explained_apart[]; /* by gantry__apart_t */
/* Writes what keeps a device from the node: gantry_refusal_text, with the type that it lacks. */
void gantry__explained_refusal(const gantry__plan_t *plan, uint32_t i, gantry__text_t *out);

/* Calls write for each name that is in the trace and not in the schedule: those that a pass has
 * dropped, and those that nothing uses. */
void gantry__explained_left_out(const gantry__explained_t *explained,
                                void (*write)(const char *name, bool is_first, gantry__text_t *out),
                                gantry__text_t *out);

void gantry__explain_as_text(const gantry__explained_t *explained, gantry__text_t *out);
void gantry__explain_as_json(const gantry__explained_t *explained, gantry__text_t *out);
void gantry__explain_as_graphviz(const gantry__explained_t *explained, gantry__text_t *out);

#endif
