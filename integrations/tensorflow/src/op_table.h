/* SPDX-License-Identifier: Apache-2.0 */
/* The ops of TensorFlow that Gantry computes under a name, one row each. op_table.def has the rows;
 * generate_op_table.py writes it from the registries of both. Owner: constant data of the plug-in.
 * Threads: thread-safe. */
#ifndef GANTRY_TENSORFLOW_OP_TABLE_H
#define GANTRY_TENSORFLOW_OP_TABLE_H

#include <gantry/gantry.h>

#include "bridge.h"
#include "op_args.h"
#include "register.h"

/* An op. A row is {.op = "AddV2", .gantry = "Add", .types = {{"T", NUMERIC}}}. If output 0 is on
 * the host, Gantry's CPU computes. */
typedef struct op_row_t {
    const char *op;                                      /* TensorFlow's name: "AddV2" */
    const char *gantry;                                  /* Gantry's: "Add" */
    void (*adapt)(bridge_call_t *call, op_args_t *args); /* from op_adapters.h; NULL: no change */
    bool is_elementwise;                                 /* inputs have one shape, or broadcast */
    uint32_t priority;                         /* 1: before TensorFlow's kernel for such devices */
    register_types_t types[REGISTER_TYPES];    /* attributes and the types that Gantry takes */
    op_attr_t attrs[OP_ATTRS];                 /* those that Gantry gets */
    const char *host_args[REGISTER_HOST_ARGS]; /* inputs and outputs in host memory */
} op_row_t;

/* The row with this index; NULL after the last one. */
const op_row_t *op_row_at(size_t index);
/* The row after this one; NULL after the last one. */
const op_row_t *op_row_next(const op_row_t *row);
/* The first row of an op of TensorFlow; NULL: there is none. Its other rows follow. */
const op_row_t *op_row_find(const char *op);

#endif
