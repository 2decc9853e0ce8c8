/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/graph/element.h"

#include <math.h>

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

bool gantry__onnx_is_packed(const gantry__onnx_element_t *element) {
    return element->bits < 8 * gantry_dtype_size(element->stored);
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

/* ---- small floats ---- */

#define FLOAT4 23 /* It has no NaN. */
#define POWERS 24 /* Of two: it has an exponent only, without a sign. */

const gantry__onnx_small_float_t *gantry__onnx_small_float(int64_t number) {
    static const gantry__onnx_small_float_t all[] = {{18, 3, 8, 240.0f},
                                                     {20, 2, 16, 57344.0f},
                                                     {FLOAT4, 1, 1, 6.0f},
                                                     {POWERS, 0, 127, 0x1p127f}};
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (all[i].number == number) return &all[i];
    return NULL;
}

float gantry__onnx_small_value(const gantry__onnx_small_float_t *type, uint32_t code) {
    if (type->number == POWERS) return code == 255 ? NAN : ldexpf(1, (int)code - type->bias);
    const uint32_t sign = type->number == FLOAT4 ? 8 : 128, bits = code & (sign - 1);
    if (code == 128) return NAN;
    const uint32_t one = 1u << type->fraction, fraction = bits & (one - 1);
    const int exponent = (int)(bits >> type->fraction), least = -type->bias - type->fraction;
    const float size = exponent == 0 ? ldexpf((float)fraction, least + 1)
                                     : ldexpf((float)(fraction | one), least + exponent);
    return code & sign ? -size : size;
}
