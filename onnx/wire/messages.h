/* SPDX-License-Identifier: Apache-2.0 */
/* The messages of fields.def as structs: gantry__onnx_wire_node_t and so on. `has` has a bit for
 * each field that came, in the order of fields.def. Owner: the reader's message memory. Threads:
 * constant. */
#ifndef GANTRY_ONNX_MESSAGES_H
#define GANTRY_ONNX_MESSAGES_H

#include "onnx/wire/wire.h"

#define MESSAGE(message, text) struct gantry__onnx_wire_##message##_t;
#define FIELD(message, number, name, form, inner, group)
#define END(message)
#include "onnx/wire/fields.def"
#undef MESSAGE
#undef FIELD
#undef END

#define GANTRY__ONNX_MEMBER_INT(name, inner) int64_t name;
#define GANTRY__ONNX_MEMBER_FLOAT(name, inner) float name;
#define GANTRY__ONNX_MEMBER_BYTES(name, inner) gantry__onnx_bytes_t name;
#define GANTRY__ONNX_MEMBER_ONE(name, inner) const struct gantry__onnx_wire_##inner##_t *name;
#define GANTRY__ONNX_MEMBER_LIST(name, type) \
    struct {                                 \
        const type *items;                   \
        size_t count;                        \
    } name;
#define GANTRY__ONNX_MEMBER_INTS(name, inner) GANTRY__ONNX_MEMBER_LIST(name, int64_t)
#define GANTRY__ONNX_MEMBER_FLOATS(name, inner) GANTRY__ONNX_MEMBER_LIST(name, uint8_t)
#define GANTRY__ONNX_MEMBER_DOUBLES(name, inner) GANTRY__ONNX_MEMBER_LIST(name, uint8_t)
#define GANTRY__ONNX_MEMBER_TEXTS(name, inner) GANTRY__ONNX_MEMBER_LIST(name, gantry__onnx_bytes_t)
#define GANTRY__ONNX_MEMBER_MANY(name, inner) \
    GANTRY__ONNX_MEMBER_LIST(name, struct gantry__onnx_wire_##inner##_t)

#define MESSAGE(message, text)                       \
    typedef struct gantry__onnx_wire_##message##_t { \
        uint32_t has;
#define FIELD(message, number, name, form, inner, group) GANTRY__ONNX_MEMBER_##form(name, inner)
#define END(message) \
    }                \
    gantry__onnx_wire_##message##_t;
#include "onnx/wire/fields.def"
#undef MESSAGE
#undef FIELD
#undef END

/* Numbers of the bits of `has`: GANTRY__ONNX_HAS_node_name. */
#define MESSAGE(message, text) enum {
#define FIELD(message, number, name, form, inner, group) GANTRY__ONNX_HAS_##message##_##name,
#define END(message)             \
    GANTRY__ONNX_COUNT_##message \
    }                            \
    ;
#include "onnx/wire/fields.def"
#undef MESSAGE
#undef FIELD
#undef END

/* Whether a field of a struct came: GANTRY__ONNX_HAS(attribute, attr, f). */
#define GANTRY__ONNX_HAS(message, object, name) \
    (((object)->has >> GANTRY__ONNX_HAS_##message##_##name & 1u) != 0)

/* The message of a whole file. */
extern const gantry__onnx_message_t gantry__onnx_model_message;

#endif
