/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/wire/messages.h"

#define MESSAGE(message, text) static const gantry__onnx_message_t message_##message;
#define FIELD(message, number, name, form, inner, group)
#define END(message)
#include "onnx/wire/fields.def"
#undef MESSAGE
#undef FIELD
#undef END

/* Of fields that are no messages. */
static const gantry__onnx_message_t message_none = {"", 0, 0, NULL};

#define MESSAGE(message, text) static const gantry__onnx_field_t fields_##message[] = {
#define FIELD(message, number, name, form, inner, group) \
    {number,                                             \
     offsetof(gantry__onnx_wire_##message##_t, name),    \
     GANTRY__ONNX_WIRE_##form,                           \
     group,                                              \
     &message_##inner,                                   \
     #name},
#define END(message) \
    }                \
    ;
#include "onnx/wire/fields.def"
#undef MESSAGE
#undef FIELD
#undef END

#define MESSAGE(message, text)                                                       \
    _Static_assert(GANTRY__ONNX_COUNT_##message <= GANTRY__ONNX_MOST_FIELDS, "");    \
    static const gantry__onnx_message_t message_##message = {                        \
        text, sizeof(gantry__onnx_wire_##message##_t), GANTRY__ONNX_COUNT_##message, \
        fields_##message};
#define FIELD(message, number, name, form, inner, group)
#define END(message)
#include "onnx/wire/fields.def"
#undef MESSAGE
#undef FIELD
#undef END

const gantry__onnx_message_t gantry__onnx_model_message = {
    "ModelProto", sizeof(gantry__onnx_wire_model_t), GANTRY__ONNX_COUNT_model, fields_model};
