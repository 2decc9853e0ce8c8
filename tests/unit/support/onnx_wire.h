/* SPDX-License-Identifier: Apache-2.0 */
/* Writes ONNX files for tests, without protobuf: messages of fields, one inside another.
 *
 *     onnx_wire_t graph = {0};
 *     onnx_put_node(&graph, "Add", "x y", "sum", NULL);
 *     onnx_put_value(&graph, ONNX_INPUT, "x", 1, "batch,3");
 *     onnx_wire_t model = onnx_model(&graph, 17);
 *     gantry_onnx_model_load_bytes(runtime, "add.onnx", model.data, model.size, NULL, &loaded);
 *     free(model.data);
 *
 * Owner: the test frees data; a message that is put into another one is freed by that. Header
 * only. */
#ifndef TESTS_ONNX_WIRE_H
#define TESTS_ONNX_WIRE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A message. */
typedef struct onnx_wire_t {
    uint8_t *data;
    size_t size, room;
} onnx_wire_t;

/* Fields of a graph. */
enum { ONNX_NODE = 1, ONNX_TENSOR = 5, ONNX_INPUT = 11, ONNX_OUTPUT = 12, ONNX_VALUE_INFO = 13 };
/* Types of elements. */
enum { ONNX_FLOAT = 1, ONNX_UINT8 = 2, ONNX_INT32 = 6, ONNX_INT64 = 7, ONNX_BOOL = 9 };

static inline void onnx_put_raw(onnx_wire_t *wire, const void *data, size_t size) {
    if (wire->size + size > wire->room) {
        wire->room = 2 * (wire->size + size) + 64;
        wire->data = realloc(wire->data, wire->room);
        if (!wire->data) abort();
    }
    if (size > 0) memcpy(wire->data + wire->size, data, size);
    wire->size += size;
}

static inline void onnx_put_varint(onnx_wire_t *wire, uint64_t value) {
    for (; value >= 0x80; value >>= 7) onnx_put_raw(wire, &(uint8_t){(uint8_t)(value | 0x80)}, 1);
    onnx_put_raw(wire, &(uint8_t){(uint8_t)value}, 1);
}

static inline void onnx_put_int(onnx_wire_t *wire, uint32_t field, int64_t value) {
    onnx_put_varint(wire, field << 3);
    onnx_put_varint(wire, (uint64_t)value);
}

static inline void onnx_put_float(onnx_wire_t *wire, uint32_t field, float value) {
    onnx_put_varint(wire, field << 3 | 5);
    onnx_put_raw(wire, &value, sizeof value);
}

static inline void onnx_put_bytes(onnx_wire_t *wire, uint32_t field, const void *data,
                                  size_t size) {
    onnx_put_varint(wire, field << 3 | 2);
    onnx_put_varint(wire, size);
    onnx_put_raw(wire, data, size);
}

static inline void onnx_put_text(onnx_wire_t *wire, uint32_t field, const char *text) {
    onnx_put_bytes(wire, field, text, strlen(text));
}

/* Puts a message into another one, and frees it. */
static inline void onnx_put_message(onnx_wire_t *wire, uint32_t field, onnx_wire_t *message) {
    onnx_put_bytes(wire, field, message->data, message->size);
    free(message->data);
    *message = (onnx_wire_t){0};
}

/* Texts that are separated by spaces; "-" is "". */
static inline void onnx_put_names(onnx_wire_t *wire, uint32_t field, const char *names) {
    while (*names) {
        const size_t length = strcspn(names, " ");
        onnx_put_bytes(wire, field, names, length == 1 && *names == '-' ? 0 : length);
        names += length + (names[length] == ' ');
    }
}

/* ---- attributes: a list that a node takes over ---- */

static inline void onnx_attr_begin(onnx_wire_t *attr, const char *name, int kind) {
    *attr = (onnx_wire_t){0};
    onnx_put_text(attr, 1, name);
    onnx_put_int(attr, 20, kind);
}

static inline void onnx_put_attr_int(onnx_wire_t *attrs, const char *name, int64_t value) {
    onnx_wire_t attr;
    onnx_attr_begin(&attr, name, 2);
    onnx_put_int(&attr, 3, value);
    onnx_put_message(attrs, 5, &attr);
}

static inline void onnx_put_attr_float(onnx_wire_t *attrs, const char *name, float value) {
    onnx_wire_t attr;
    onnx_attr_begin(&attr, name, 1);
    onnx_put_float(&attr, 2, value);
    onnx_put_message(attrs, 5, &attr);
}

static inline void onnx_put_attr_text(onnx_wire_t *attrs, const char *name, const char *value) {
    onnx_wire_t attr;
    onnx_attr_begin(&attr, name, 3);
    onnx_put_text(&attr, 4, value);
    onnx_put_message(attrs, 5, &attr);
}

static inline void onnx_put_attr_ints(onnx_wire_t *attrs, const char *name, const int64_t *values,
                                      size_t count) {
    onnx_wire_t attr;
    onnx_attr_begin(&attr, name, 7);
    for (size_t i = 0; i < count; ++i) onnx_put_int(&attr, 8, values[i]);
    onnx_put_message(attrs, 5, &attr);
}

static inline void onnx_put_attr_graph(onnx_wire_t *attrs, const char *name, onnx_wire_t *graph) {
    onnx_wire_t attr;
    onnx_attr_begin(&attr, name, 5);
    onnx_put_text(graph, 2, name);
    onnx_put_message(&attr, 6, graph);
    onnx_put_message(attrs, 5, &attr);
}

/* ---- graphs ---- */

/* A node; attrs, which may be NULL, is freed. Its name is that of its first output. */
static inline void onnx_put_node(onnx_wire_t *graph, const char *op, const char *inputs,
                                 const char *outputs, onnx_wire_t *attrs) {
    onnx_wire_t node = {0};
    onnx_put_names(&node, 1, inputs);
    onnx_put_names(&node, 2, outputs);
    onnx_put_bytes(&node, 3, outputs, strcspn(outputs, " "));
    onnx_put_text(&node, 4, op);
    if (attrs) {
        onnx_put_raw(&node, attrs->data, attrs->size);
        free(attrs->data);
        *attrs = (onnx_wire_t){0};
    }
    onnx_put_message(graph, ONNX_NODE, &node);
}

/* An input or output. dims: "batch,3", "" is a scalar, NULL is no shape; ? is a size that nothing
 * is said of. */
static inline void onnx_put_value(onnx_wire_t *graph, uint32_t field, const char *name, int type,
                                  const char *dims) {
    onnx_wire_t value = {0}, outer = {0}, tensor = {0}, shape = {0};
    for (const char *at = dims; at && *at;) {
        onnx_wire_t dim = {0};
        const size_t length = strcspn(at, ",");
        if (*at >= '0' && *at <= '9') {
            onnx_put_int(&dim, 1, atoll(at));
        } else if (*at != '?') {
            onnx_put_bytes(&dim, 2, at, length);
        }
        onnx_put_message(&shape, 1, &dim);
        at += length + (at[length] == ',');
    }
    if (type) onnx_put_int(&tensor, 1, type);
    if (dims) onnx_put_message(&tensor, 2, &shape);
    onnx_put_message(&outer, 1, &tensor);
    onnx_put_text(&value, 1, name);
    onnx_put_message(&value, 2, &outer);
    onnx_put_message(graph, field, &value);
}

/* A tensor of the file, as raw bytes. */
static inline void onnx_put_tensor(onnx_wire_t *graph, uint32_t field, const char *name, int type,
                                   const int64_t *dims, size_t rank, const void *data,
                                   size_t bytes) {
    onnx_wire_t tensor = {0};
    for (size_t i = 0; i < rank; ++i) onnx_put_int(&tensor, 1, dims[i]);
    onnx_put_int(&tensor, 2, type);
    onnx_put_text(&tensor, 8, name);
    onnx_put_bytes(&tensor, 9, data, bytes);
    onnx_put_message(graph, field, &tensor);
}

static inline void onnx_put_floats(onnx_wire_t *graph, const char *name, const int64_t *dims,
                                   size_t rank, const float *values) {
    size_t count = 1;
    for (size_t i = 0; i < rank; ++i) count *= (size_t)dims[i];
    onnx_put_tensor(graph, ONNX_TENSOR, name, ONNX_FLOAT, dims, rank, values,
                    count * sizeof *values);
}

static inline void onnx_put_ints(onnx_wire_t *graph, const char *name, const int64_t *values,
                                 size_t count) {
    onnx_put_tensor(graph, ONNX_TENSOR, name, ONNX_INT64, &(int64_t){(int64_t)count}, 1, values,
                    count * sizeof *values);
}

/* A model of IR version 8 that imports an operator set of ai.onnx, and version 1 of com.microsoft;
 * the graph is freed. */
static inline onnx_wire_t onnx_model(onnx_wire_t *graph, int64_t opset) {
    onnx_wire_t model = {0}, import = {0}, microsoft = {0};
    onnx_put_int(&model, 1, 8);
    onnx_put_text(graph, 2, "graph");
    onnx_put_message(&model, 7, graph);
    onnx_put_int(&import, 2, opset);
    onnx_put_message(&model, 8, &import);
    onnx_put_text(&microsoft, 1, "com.microsoft");
    onnx_put_int(&microsoft, 2, 1);
    onnx_put_message(&model, 8, &microsoft);
    return model;
}

#endif
