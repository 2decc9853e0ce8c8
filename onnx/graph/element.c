/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/graph/element.h"

#include "onnx/graph/graph.h"

#define ELEMENT(number, name, bits, dtype, stored, field, least, most) \
    [number] = {#name, bits, dtype, stored, GANTRY__ONNX_IN_##field, least, most},
static const gantry__onnx_element_t elements[] = {
#include "onnx/graph/elements.def"
};
#undef ELEMENT

const gantry__onnx_element_t *gantry__onnx_element(int64_t type) {
    if (type <= 0 || type >= (int64_t)(sizeof elements / sizeof *elements)) return NULL;
    return &elements[type];
}

uint64_t gantry__onnx_packed_bytes(const gantry__onnx_element_t *element, int64_t count) {
    if (element->bits >= 8) return (uint64_t)count * (element->bits / 8);
    return ((uint64_t)count * element->bits + 7) / 8;
}

gantry_dtype_t gantry__onnx_dtype(int32_t type, const char **out_name) {
    const gantry__onnx_element_t *element = gantry__onnx_element(type);
    if (out_name)
        *out_name = element ? element->name : type == 0 ? "UNDEFINED" : "a type of no known number";
    return element ? element->dtype : GANTRY_DTYPE_NONE;
}

gantry_dtype_t gantry__onnx_stored_dtype(int32_t type) {
    const gantry__onnx_element_t *element = gantry__onnx_element(type);
    return element ? element->stored : GANTRY_DTYPE_NONE;
}
