/* SPDX-License-Identifier: Apache-2.0 */
/* Where the nodes of the newest trace are: device and reason of a node of the model, as the
 * explanation of its function (gantry_function_explain, in JSON) has them. A node of the model is a
 * node of the function with its name, a part of one, or one of those that it is composed of.
 *
 * Owner: the caller ends it. Threads: externally synchronised. */
#ifndef GANTRY_ONNX_WHERE_H
#define GANTRY_ONNX_WHERE_H

#include <stddef.h>

#include <gantry/function.h>

/* A name in the explanation, and the record of the node that has it. */
typedef struct onnx_where_name_t {
    const char *text; /* In the record; size bytes. */
    size_t size;
    const char *record; /* A text of its own. */
} onnx_where_name_t;

typedef struct onnx_where_t {
    char *json;               /* NULL: there is no trace. */
    onnx_where_name_t *names; /* Sorted; of equal ones the first record comes first. */
    size_t name_count, name_capacity;
    char device[64]; /* Of all nodes; "": they have none, or several. */
} onnx_where_t;

void gantry__onnx_where_init(onnx_where_t *self, gantry_function_t *function);
void gantry__onnx_where_deinit(onnx_where_t *self);
/* Writes the device, "CPU:0", and the reason. A node whose name the function does not have, because
 * it became others, has the device of all nodes, if that is one. False: nothing is known. */
bool gantry__onnx_where_find(const onnx_where_t *self, const char *name, char device[64],
                             char reason[256]);

#endif
