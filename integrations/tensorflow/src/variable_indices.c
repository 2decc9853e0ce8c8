/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and checks indices on the host (variable_indices.h). */
#include "variable_indices.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memory.h"

static void variable_indices_read_numbers(indices_t *indices, bridge_call_t *call,
                                          const TF_Tensor *tensor, bool is_on_host) {
    const size_t bytes = TF_TensorByteSize(tensor);
    const bool is_wide = TF_TensorType(tensor) == TF_INT64;
    indices->count = gantry_shape_elements(&indices->shape);
    indices->list = malloc((size_t)indices->count * sizeof *indices->list + 1);
    if (!indices->list) {
        bridge_fail_memory(call);
        return;
    }
    /* Narrow numbers are read to the end of the list, and are widened from the front. */
    char *to = (char *)indices->list + (is_wide ? 0 : bytes);
    gantry_status_t status = GANTRY_OK;
    if (!is_on_host) {
        status = memory_read(device_memory(), to, TF_TensorData(tensor), bytes);
    } else if (bytes > 0) {
        memcpy(to, TF_TensorData(tensor), bytes);
    }
    if (status) bridge_fail(call, status, "%s", gantry_last_message());
    for (int64_t i = 0; i < indices->count && !is_wide; ++i)
        indices->list[i] = ((const int32_t *)(const void *)to)[i];
}

bool indices_read(indices_t *indices, bridge_call_t *call, int input) {
    TF_Tensor *tensor = bridge_take_input(call, input);
    *indices = (indices_t){.list = NULL};
    if (!tensor) return false;
    const bool is_on_host = TF_IsHostMemoryInput(call->context, input, call->status);
    if (bridge_shape(call, tensor, &indices->shape))
        variable_indices_read_numbers(indices, call, tensor, is_on_host);
    TF_DeleteTensor(tensor);
    return !bridge_has_failed(call);
}

void indices_free(indices_t *indices) { free(indices->list); }

bool indices_check(const indices_t *indices, bridge_call_t *call, int64_t limit, bool is_sparse) {
    for (int64_t i = 0; i < indices->count; ++i) {
        const int64_t row = indices->list[i];
        if (row >= 0 && row < limit) continue;
        if (is_sparse) {
            bridge_fail(call, GANTRY_INVALID_ARGUMENT,
                        "Index %lld at offset %lld in indices is out of range", (long long)row,
                        (long long)i);
        } else {
            bridge_fail(call, GANTRY_INVALID_ARGUMENT, "indices[%lld] = %lld is not in [0, %lld)",
                        (long long)i, (long long)row, (long long)limit);
        }
        return false;
    }
    return true;
}

static void fail_vector(const indices_t *indices, bridge_call_t *call, int64_t i, int64_t depth,
                        const gantry_shape_t *shape) {
    char text[GANTRY_MAX_RANK * 22 + 1] = "", held[256];
    size_t length = 0;
    for (int64_t k = 0; k < depth; ++k)
        length += (size_t)snprintf(text + length, sizeof text - length, "%s%lld", k ? ", " : "",
                                   (long long)indices->list[i * depth + k]);
    (void)gantry_shape_format(shape, held, sizeof held);
    bridge_fail(call, GANTRY_INVALID_ARGUMENT, "indices[%lld] = [%s] does not index into shape %s",
                (long long)i, text, held);
}

bool indices_check_vectors(const indices_t *indices, bridge_call_t *call,
                           const gantry_shape_t *shape) {
    const int32_t rank = indices->shape.rank;
    const int64_t depth = rank > 0 ? indices->shape.dims[rank - 1] : 1;
    if (depth < 1 || depth > shape->rank) return true; /* the op refuses these shapes */
    for (int64_t i = 0; i < indices->count; ++i) {
        if (indices->list[i] >= 0 && indices->list[i] < shape->dims[i % depth]) continue;
        fail_vector(indices, call, i / depth, depth, shape);
        return false;
    }
    return true;
}
