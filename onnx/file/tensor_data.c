/* SPDX-License-Identifier: Apache-2.0 */
/* Elements of tensors as Gantry has them. */
#include <inttypes.h>
#include <string.h>

#include "base/os/files.h"
#include "host/bits.h"
#include "shared/memory.h"
#include "onnx/file/folder.h"
#include "onnx/file/model_file.h"
#include "onnx/graph/element.h"
#include "onnx/graph/sparse.h"

/* Elements of less than a byte, the first in the low bits. */
static void widen_packed_elements(const gantry__onnx_element_t *element, const uint8_t *packed,
                                  uint8_t *out, size_t count) {
    const uint32_t bits = element->bits, mask = (1u << bits) - 1, sign = 1u << (bits - 1);
    const bool is_signed = element->stored == GANTRY_INT8;
    for (size_t i = 0; i < count; ++i) {
        const uint32_t value = packed[i * bits / 8] >> (i * bits % 8) & mask;
        out[i] = (uint8_t)(is_signed && (value & sign) ? value | ~mask : value);
    }
}

static void widen_small_floats(const gantry__onnx_small_float_t *type, uint32_t bits,
                               const uint8_t *packed, uint8_t *out, size_t count) {
    const uint32_t mask = (1u << bits) - 1;
    for (size_t i = 0; i < count; ++i) {
        const float value =
            gantry__onnx_small_value(type, packed[i * bits / 8] >> (i * bits % 8) & mask);
        memcpy(out + i * sizeof value, &value, sizeof value);
    }
}

/* Elements as Gantry has them, but for the order of their bytes. */
static void take_plain_elements(gantry_dtype_t dtype, const uint8_t *packed, size_t bytes,
                                uint8_t *out) {
    const size_t size = gantry_dtype_size(dtype);
    const bool is_complex = GANTRY_DTYPE_BIT(dtype) & GANTRY_DTYPES_COMPLEXES;
    if (out != packed) memcpy(out, packed, bytes);
    gantry__bits_turn(out, bytes, is_complex ? size / 2 : size);
}

/* Makes packed elements Gantry's; out has room for them, and may be packed. */
static void make_elements(int32_t type, const uint8_t *packed, size_t packed_bytes, uint8_t *out,
                          size_t count) {
    const gantry__onnx_element_t *element = gantry__onnx_element(type);
    const gantry__onnx_small_float_t *small = gantry__onnx_small_float(type);
    if (small)
        widen_small_floats(small, element->bits, packed, out, count);
    else if (element->bits < 8)
        widen_packed_elements(element, packed, out, count);
    else if (element->stored == GANTRY_BOOL)
        for (size_t i = 0; i < count; ++i) out[i] = packed[i] != 0;
    else
        take_plain_elements(element->stored, packed, packed_bytes, out);
}

/* Reads external data that are not mapped. */
static gantry_status_t read_external(const gantry__onnx_file_t *file,
                                     const gantry__onnx_tensor_t *tensor, void *bytes) {
    uint64_t size;
    int opened;
    GANTRY__TRY(gantry__onnx_open_external(file->folder, tensor->location, file->follows_links,
                                           file->model->path, tensor->name, &opened, &size));
    const gantry_status_t status = gantry__onnx_read_at(opened, tensor->location, tensor->offset,
                                                        bytes, (size_t)tensor->bytes);
    (void)gantry__os_close(opened);
    return status;
}

static gantry_status_t write_external(const gantry__onnx_file_t *file,
                                      const gantry__onnx_tensor_t *tensor,
                                      const gantry__onnx_element_t *element, uint8_t *out) {
    const size_t bytes = (size_t)tensor->bytes, count = (size_t)tensor->count;
    uint8_t *packed = gantry__onnx_is_packed(element) ? gantry__alloc(bytes, 1) : out;
    if (!packed) return GANTRY_RESOURCE_EXHAUSTED;
    const gantry_status_t status = read_external(file, tensor, packed);
    if (status == GANTRY_OK) make_elements(tensor->type, packed, bytes, out, count);
    if (packed != out) gantry__free(packed);
    return status;
}

static gantry_status_t write_sparse(const gantry__onnx_file_t *file,
                                    const gantry__onnx_tensor_t *tensor, uint8_t *out,
                                    size_t item_bytes) {
    const gantry__onnx_tensor_t *values = tensor->values;
    const size_t bytes = (size_t)values->count * item_bytes;
    uint8_t *items = gantry__alloc(bytes, 1);
    if (!items) return GANTRY_RESOURCE_EXHAUSTED;
    const gantry_status_t status = gantry__onnx_tensor_data(file, values, items, bytes);
    memset(out, 0, (size_t)tensor->count * item_bytes);
    for (int64_t i = 0; i < values->count && status == GANTRY_OK; ++i)
        memcpy(out + (size_t)gantry__onnx_sparse_index(tensor, i) * item_bytes,
               items + (size_t)i * item_bytes, item_bytes);
    gantry__free(items);
    return status;
}

gantry_status_t gantry__onnx_tensor_data(const gantry__onnx_file_t *file,
                                         const gantry__onnx_tensor_t *tensor, void *bytes,
                                         size_t size) {
    const gantry__onnx_element_t *element = gantry__onnx_element(tensor->type);
    const size_t item_bytes = gantry_dtype_size(element->stored);
    if (element->stored == GANTRY_DTYPE_NONE)
        return gantry__fail(GANTRY_UNIMPLEMENTED,
                            "%s: the tensor '%s' has the type %s, which Gantry does not have",
                            file->model->path, tensor->name, element->name);
    if (size / item_bytes != (uint64_t)tensor->count || size % item_bytes != 0)
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "%s: the tensor '%s' has %" PRId64
                            " elements of %zu bytes; there is room for %zu bytes",
                            file->model->path, tensor->name, tensor->count, item_bytes, size);
    if (tensor->count == 0) return GANTRY_OK;
    if (tensor->data == GANTRY__ONNX_SPARSE) return write_sparse(file, tensor, bytes, item_bytes);
    if (!tensor->raw.data) return write_external(file, tensor, element, bytes);
    make_elements(tensor->type, tensor->raw.data, tensor->raw.size, bytes, (size_t)tensor->count);
    return GANTRY_OK;
}

/* Whether bools are 0 and 1. */
static bool bools_are_plain(const uint8_t *bytes, size_t count) {
    uint8_t all = 0;
    for (size_t i = 0; i < count; ++i) all |= bytes[i];
    return all <= 1;
}

const void *gantry__onnx_tensor_span(const gantry__onnx_file_t *file,
                                     const gantry__onnx_tensor_t *tensor) {
    const gantry__onnx_element_t *element = gantry__onnx_element(tensor->type);
    (void)file;
    if (!tensor->raw.data || tensor->count == 0 || element->stored == GANTRY_DTYPE_NONE ||
        gantry__onnx_is_packed(element))
        return NULL;
    if ((uintptr_t)tensor->raw.data % (element->bits / 8) != 0) return NULL;
    if (GANTRY__IS_BIG_ENDIAN && element->bits > 8) return NULL;
    if (element->stored == GANTRY_BOOL && !bools_are_plain(tensor->raw.data, (size_t)tensor->count))
        return NULL;
    return tensor->raw.data;
}
