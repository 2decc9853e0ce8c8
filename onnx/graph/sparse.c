/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse tensors: values, and for each its index, linear or one for each dimension, in ascending
 * order. */
#include <inttypes.h>
#include <string.h>

#include "host/bits.h"

#include "onnx/graph/build.h"
#include "onnx/graph/sparse.h"

int64_t gantry__onnx_sparse_index(const gantry__onnx_tensor_t *tensor, int64_t i) {
    const gantry__onnx_tensor_t *indices = tensor->indices;
    const int64_t each = indices->rank == 1 ? 1 : indices->dims[1];
    int64_t linear = 0;
    for (int64_t k = 0; k < each; ++k) {
        uint64_t bits;
        memcpy(&bits, indices->raw.data + (size_t)(i * each + k) * sizeof bits, sizeof bits);
        const int64_t index = (int64_t)gantry__bits_little(bits);
        if (indices->rank == 1) return index >= 0 && index < tensor->count ? index : -1;
        if (index < 0 || index >= tensor->dims[k]) return -1;
        linear = linear * tensor->dims[k] + index;
    }
    return linear;
}

static gantry_status_t check_order(gantry__onnx_build_t *build,
                                   const gantry__onnx_tensor_t *tensor) {
    int64_t before = -1;
    GANTRY__TRY(gantry__onnx_work(build->reader, (uint64_t)tensor->indices->count));
    for (int64_t i = 0; i < tensor->values->count; ++i) {
        const int64_t index = gantry__onnx_sparse_index(tensor, i);
        if (index < 0)
            return gantry__onnx_bad(build->reader,
                                    "the sparse tensor '%s' has an index outside its shape at "
                                    "value %" PRId64,
                                    tensor->name, i);
        if (index <= before)
            return gantry__onnx_bad(build->reader,
                                    "the sparse tensor '%s' has indices that do not ascend, at "
                                    "value %" PRId64,
                                    tensor->name, i);
        before = index;
    }
    return GANTRY_OK;
}

static gantry_status_t sparse_check_parts(gantry__onnx_build_t *build,
                                          const gantry__onnx_tensor_t *tensor) {
    const gantry__onnx_tensor_t *values = tensor->values, *indices = tensor->indices;
    const bool is_grid = indices->rank == 2;
    if (values->rank != 1 || values->data == GANTRY__ONNX_STRINGS)
        return gantry__onnx_bad(build->reader,
                                "the sparse tensor '%s' has values of %u dimensions; a list of "
                                "numbers is accepted",
                                tensor->name, values->rank);
    if (indices->type != 7 || (indices->rank != 1 && !is_grid) ||
        indices->dims[0] != values->count || (is_grid && indices->dims[1] != tensor->rank))
        return gantry__onnx_bad(build->reader,
                                "the sparse tensor '%s' has indices of another shape or type; "
                                "int64 [%" PRId64 "] or [%" PRId64 ", %u] are accepted",
                                tensor->name, values->count, values->count, tensor->rank);
    if (indices->data == GANTRY__ONNX_EXTERNAL)
        return gantry__onnx_lacks(build->reader,
                                  "the sparse tensor '%s' has indices in another file; they are "
                                  "accepted in the model",
                                  tensor->name);
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_make_sparse(gantry__onnx_build_t *build,
                                         const gantry__onnx_wire_sparse_t *message,
                                         gantry__onnx_tensor_t **out_tensor) {
    gantry__onnx_tensor_t *values, *indices;
    gantry__onnx_tensor_t *tensor = gantry__onnx_model_alloc(build->reader, 1, sizeof *tensor);
    *out_tensor = tensor;
    if (!tensor) return GANTRY_RESOURCE_EXHAUSTED;
    if (!message->values || !message->indices)
        return gantry__onnx_bad(build->reader, "a sparse tensor has no %s",
                                message->values ? "indices" : "values");
    GANTRY__TRY(gantry__onnx_make_tensor(build, message->values, &values));
    GANTRY__TRY(gantry__onnx_make_tensor(build, message->indices, &indices));
    tensor->name = values->name;
    tensor->type = values->type;
    tensor->data = GANTRY__ONNX_SPARSE;
    tensor->values = values;
    tensor->indices = indices;
    GANTRY__TRY(gantry__onnx_make_dims(build, message->dims.items, message->dims.count, tensor));
    GANTRY__TRY(sparse_check_parts(build, tensor));
    return check_order(build, tensor);
}
