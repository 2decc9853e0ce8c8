/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes of a call, whose kinds the plan has checked. */
#include <string.h>

#include <gantry/gantry.h>

#include "onnx/lower/run.h"

static const gantry__onnx_attr_t *given_attr(const gantry__onnx_call_t *call, const char *name) {
    const gantry__onnx_attr_t *attr = gantry__onnx_find_attr(call->node, name);
    return attr && attr->count > 0 ? attr : NULL;
}

int64_t gantry__onnx_attr_int(const gantry__onnx_call_t *call, const char *name, int64_t fallback) {
    const gantry__onnx_attr_t *attr = given_attr(call, name);
    return attr && attr->ints ? *attr->ints : fallback;
}

float gantry__onnx_attr_float(const gantry__onnx_call_t *call, const char *name, float fallback) {
    const gantry__onnx_attr_t *attr = given_attr(call, name);
    return attr && attr->floats ? *attr->floats : fallback;
}

const char *gantry__onnx_attr_text(const gantry__onnx_call_t *call, const char *name,
                                   const char *fallback) {
    const gantry__onnx_attr_t *attr = given_attr(call, name);
    return attr && attr->texts ? (const char *)attr->texts->data : fallback;
}

const int64_t *gantry__onnx_attr_ints(const gantry__onnx_call_t *call, const char *name,
                                      size_t *out_count) {
    static const int64_t none;
    const gantry__onnx_attr_t *attr = gantry__onnx_find_attr(call->node, name);
    *out_count = attr ? attr->count : 0;
    if (!attr) return NULL;
    return attr->ints ? attr->ints : &none;
}

const float *gantry__onnx_attr_floats(const gantry__onnx_call_t *call, const char *name,
                                      size_t *out_count) {
    static const float none;
    const gantry__onnx_attr_t *attr = gantry__onnx_find_attr(call->node, name);
    *out_count = attr ? attr->count : 0;
    if (!attr) return NULL;
    return attr->floats ? attr->floats : &none;
}

gantry_status_t gantry__onnx_attr_tensor(gantry__onnx_call_t *call, const char *name,
                                         const gantry_tensor_t **out_tensor) {
    const gantry__onnx_attr_t *attr = given_attr(call, name);
    *out_tensor = NULL;
    if (!attr) return GANTRY_OK;
    GANTRY__TRY(gantry__onnx_constants_read(call->run->constants, call->host, attr->tensors[0],
                                            out_tensor));
    call->made[call->made_count++ % 4] = *out_tensor;
    return GANTRY_OK;
}

const gantry__onnx_graph_t *gantry__onnx_attr_graph(const gantry__onnx_call_t *call,
                                                    const char *name) {
    const gantry__onnx_attr_t *attr = given_attr(call, name);
    return attr ? attr->graphs[0] : NULL;
}
