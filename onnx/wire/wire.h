/* SPDX-License-Identifier: Apache-2.0 */
/* The wire format of protobuf: a message is a sequence of fields, each with a number and a kind of
 * bytes. This file knows the format and no message: what a message has is in tables.
 *
 * Fields come in any order, and more than once. Of a field that holds one number or text the last
 * one holds; messages are joined; lists go on. Numbers of a list come packed or one by one. Fields
 * that the table does not have are skipped.
 *
 * A message is read in two passes: the first counts the items of lists, the second stores. The
 * bytes within another message are passed over by their length, so each byte of the file is looked
 * at twice, whatever the nesting is.
 *
 * Owner: the reader's message memory has the structs; BYTES, TEXTS and numbers that came in one
 * piece stay in the file's bytes. Threads: externally synchronised by the reader. */
#ifndef GANTRY_ONNX_WIRE_H
#define GANTRY_ONNX_WIRE_H

#include "onnx/base/reader.h"

/* The forms of a field, and what a struct has for it. */
typedef enum gantry__onnx_form_t {
    GANTRY__ONNX_WIRE_INT,     /* int64_t */
    GANTRY__ONNX_WIRE_FLOAT,   /* float, in the order of bytes of the file */
    GANTRY__ONNX_WIRE_BYTES,   /* gantry__onnx_bytes_t */
    GANTRY__ONNX_WIRE_ONE,     /* the address of a struct; NULL: it did not come */
    GANTRY__ONNX_WIRE_INTS,    /* lists: items and count; int64_t */
    GANTRY__ONNX_WIRE_FLOATS,  /* 4 bytes each, not aligned, as in the file */
    GANTRY__ONNX_WIRE_DOUBLES, /* 8 bytes each, not aligned, as in the file */
    GANTRY__ONNX_WIRE_TEXTS,   /* gantry__onnx_bytes_t */
    GANTRY__ONNX_WIRE_MANY     /* structs */
} gantry__onnx_form_t;

struct gantry__onnx_message_t;

/* A field of a message. */
typedef struct gantry__onnx_field_t {
    uint16_t number, offset; /* offset: in the struct. */
    uint8_t form, group;
    const struct gantry__onnx_message_t *message;
    const char *name;
} gantry__onnx_field_t;

/* A message. Its struct begins with `uint32_t has`: bit i is set if field i came. */
typedef struct gantry__onnx_message_t {
    const char *name;
    size_t struct_bytes, field_count;
    const gantry__onnx_field_t *fields;
} gantry__onnx_message_t;

/* The most fields of a message. */
#define GANTRY__ONNX_MOST_FIELDS 20

/* Bytes of a message, and its further parts. */
typedef struct gantry__onnx_part_t {
    gantry__onnx_bytes_t bytes;
    struct gantry__onnx_part_t *next;
} gantry__onnx_part_t;

/* Reads a message into *out_struct, which is zero. InvalidArgument with the place in the file. */
gantry_status_t gantry__onnx_read_message(gantry__onnx_reader_t *reader,
                                          const gantry__onnx_message_t *message,
                                          const gantry__onnx_part_t *parts, void *out_struct);

#endif
