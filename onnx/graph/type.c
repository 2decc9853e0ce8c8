/* SPDX-License-Identifier: Apache-2.0 */
#include "onnx/graph/build.h"

#include "onnx/graph/element.h"

static gantry_status_t make_dim(gantry__onnx_build_t *build, const gantry__onnx_wire_dim_t *message,
                                gantry__onnx_dim_t *out) {
    out->size = -1;
    if (GANTRY__ONNX_HAS(dim, message, dim_value) && message->dim_value >= 0)
        out->size = message->dim_value;
    if (!GANTRY__ONNX_HAS(dim, message, dim_param) || message->dim_param.size == 0)
        return GANTRY_OK;
    return gantry__onnx_copy_name(build, message->dim_param, "the name of a dimension", &out->name);
}

static gantry_status_t make_shape(gantry__onnx_build_t *build,
                                  const gantry__onnx_wire_shape_t *message, bool is_promise,
                                  gantry__onnx_type_t *out) {
    const size_t rank = message->dim.count;
    if (rank > GANTRY_MAX_RANK && is_promise)
        return gantry__onnx_lacks(build->reader,
                                  "a value has %zu dimensions; at most %d are accepted", rank,
                                  GANTRY_MAX_RANK);
    if (rank > GANTRY_MAX_RANK) return GANTRY_OK;
    gantry__onnx_dim_t *dims = gantry__onnx_model_alloc(build->reader, rank, sizeof *dims);
    if (!dims) return GANTRY_RESOURCE_EXHAUSTED;
    out->rank = (int32_t)rank;
    out->dims = dims;
    for (size_t i = 0; i < rank; ++i)
        GANTRY__TRY(make_dim(build, &message->dim.items[i], &dims[i]));
    return GANTRY_OK;
}

static gantry_status_t make_tensor_type(gantry__onnx_build_t *build,
                                        const gantry__onnx_wire_tensor_type_t *message,
                                        bool is_promise, gantry__onnx_type_t *out) {
    const int64_t element = message->elem_type;
    if (element != 0 && !gantry__onnx_element(element))
        return gantry__onnx_lacks(build->reader,
                                  "a value has the element type %lld; 1 to 28 are accepted",
                                  (long long)element);
    out->element = (int32_t)element;
    return message->shape ? make_shape(build, message->shape, is_promise, out) : GANTRY_OK;
}

static gantry_status_t make_inner(gantry__onnx_build_t *build,
                                  const gantry__onnx_wire_inner_type_t *message,
                                  gantry__onnx_type_t *out) {
    if (!message->elem_type) return GANTRY_OK;
    gantry__onnx_type_t *inner = gantry__onnx_model_alloc(build->reader, 1, sizeof *inner);
    if (!inner) return GANTRY_RESOURCE_EXHAUSTED;
    out->inner = inner;
    return gantry__onnx_make_type(build, message->elem_type, false, inner);
}

gantry_status_t gantry__onnx_make_type(gantry__onnx_build_t *build,
                                       const gantry__onnx_wire_type_t *message, bool is_promise,
                                       gantry__onnx_type_t *out) {
    out->rank = -1;
    if (GANTRY__ONNX_HAS(type, message, tensor_type)) {
        out->kind = GANTRY__ONNX_TENSOR;
        return make_tensor_type(build, message->tensor_type, is_promise, out);
    }
    if (GANTRY__ONNX_HAS(type, message, sparse_tensor_type)) {
        out->kind = GANTRY__ONNX_SPARSE_TENSOR;
        return make_tensor_type(build, message->sparse_tensor_type, is_promise, out);
    }
    if (GANTRY__ONNX_HAS(type, message, sequence_type)) {
        out->kind = GANTRY__ONNX_SEQUENCE;
        return make_inner(build, message->sequence_type, out);
    }
    if (GANTRY__ONNX_HAS(type, message, optional_type)) {
        out->kind = GANTRY__ONNX_OPTIONAL;
        return make_inner(build, message->optional_type, out);
    }
    if (GANTRY__ONNX_HAS(type, message, map_type)) out->kind = GANTRY__ONNX_MAP;
    if (GANTRY__ONNX_HAS(type, message, opaque_type)) out->kind = GANTRY__ONNX_OPAQUE;
    return GANTRY_OK;
}
