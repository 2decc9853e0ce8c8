/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of a file. Elements stay in the file's bytes where they are packed there: raw_data, and
 * float_data and double_data in one piece. Other fields of numbers are packed into the arena. */
#include "onnx/graph/build.h"

#include <inttypes.h>
#include <string.h>

#include "host/bits.h"
#include "onnx/base/limits.h"
#include "shared/memory.h"
#include "onnx/graph/element.h"

/* Sizes, and the count of elements, which must fit whatever the type is. */
gantry_status_t gantry__onnx_make_dims(gantry__onnx_build_t *build, const int64_t *sizes,
                                       size_t rank, gantry__onnx_tensor_t *tensor) {
    int64_t count = 1;
    if (rank > GANTRY_MAX_RANK)
        return gantry__onnx_lacks(build->reader,
                                  "the tensor '%s' has %zu dimensions; at most %d are accepted",
                                  tensor->name, rank, GANTRY_MAX_RANK);
    int64_t *dims = gantry__onnx_model_alloc(build->reader, rank, sizeof *dims);
    if (!dims) return GANTRY_RESOURCE_EXHAUSTED;
    bool is_empty = false;
    for (size_t i = 0; i < rank; ++i) {
        dims[i] = sizes[i];
        is_empty = is_empty || dims[i] == 0;
        if (dims[i] < 0)
            return gantry__onnx_bad(build->reader,
                                    "the tensor '%s' has the size %" PRId64
                                    " in dimension %zu; 0 and more are accepted",
                                    tensor->name, dims[i], i);
    }
    for (size_t i = 0; i < rank && !is_empty; ++i) {
        if (dims[i] > (INT64_MAX >> 8) / count)
            return gantry__onnx_bad(build->reader,
                                    "the tensor '%s' has sizes whose product is too large; at most "
                                    "%" PRId64 " elements are accepted",
                                    tensor->name, INT64_MAX >> 8);
        count *= dims[i];
    }
    tensor->rank = (uint32_t)rank;
    tensor->dims = dims;
    tensor->count = is_empty ? 0 : count;
    return GANTRY_OK;
}

/* Bytes of the data fields that came, by field; more than one with data is refused. */
static gantry_status_t check_fields(gantry__onnx_build_t *build,
                                    const gantry__onnx_wire_tensor_t *m,
                                    const gantry__onnx_tensor_t *tensor) {
    const int fields = (m->float_data.count > 0) + (m->int32_data.count > 0) +
                       (m->string_data.count > 0) + (m->int64_data.count > 0) +
                       (m->raw_data.size > 0) + (m->double_data.count > 0) +
                       (m->uint64_data.count > 0);
    if (GANTRY__ONNX_HAS(tensor, m, segment))
        return gantry__onnx_lacks(build->reader,
                                  "the tensor '%s' is a segment of a tensor; whole "
                                  "tensors are accepted",
                                  tensor->name);
    if (m->data_location != 0 && m->data_location != 1)
        return gantry__onnx_bad(build->reader,
                                "the tensor '%s' has its data at the place %" PRId64
                                "; 0, the model, and 1, another file, are accepted",
                                tensor->name, m->data_location);
    if (m->data_location == 1 && fields > 0)
        return gantry__onnx_bad(build->reader,
                                "the tensor '%s' has data in the model and in another file; one "
                                "of them is accepted",
                                tensor->name);
    if (fields > 1)
        return gantry__onnx_bad(build->reader,
                                "the tensor '%s' has data in %d fields; one is accepted",
                                tensor->name, fields);
    if (fields == 1 && tensor->count == 0)
        return gantry__onnx_bad(build->reader,
                                "the tensor '%s' has data and no elements; none "
                                "are accepted",
                                tensor->name);
    return GANTRY_OK;
}

static gantry_status_t take_raw(gantry__onnx_build_t *build, gantry__onnx_bytes_t raw,
                                const gantry__onnx_element_t *element,
                                gantry__onnx_tensor_t *tensor) {
    const uint64_t needed = gantry__onnx_packed_bytes(element, tensor->count);
    if (element->field == GANTRY__ONNX_IN_TEXTS)
        return gantry__onnx_bad(build->reader,
                                "the tensor '%s' of texts has raw_data; string_data "
                                "is accepted",
                                tensor->name);
    if (raw.size != needed)
        return gantry__onnx_bad(build->reader,
                                "the tensor '%s' has %zu bytes of raw_data; its %" PRId64
                                " elements of type %s take %" PRIu64,
                                tensor->name, raw.size, tensor->count, element->name, needed);
    tensor->data = GANTRY__ONNX_RAW;
    tensor->raw = (gantry__onnx_bytes_t){raw.data, (size_t)needed};
    return GANTRY_OK;
}

static gantry_status_t wrong_count(gantry__onnx_build_t *build, const gantry__onnx_tensor_t *tensor,
                                   const gantry__onnx_element_t *element, size_t count,
                                   uint64_t needed) {
    return gantry__onnx_bad(build->reader,
                            "the tensor '%s' has %zu numbers in the field of type %s; its %" PRId64
                            " elements take %" PRIu64,
                            tensor->name, count, element->name, tensor->count, needed);
}

/* Numbers that are packed already. */
static gantry_status_t take_packed(gantry__onnx_build_t *build, const uint8_t *items, size_t count,
                                   size_t item_bytes, const gantry__onnx_element_t *element,
                                   gantry__onnx_tensor_t *tensor) {
    const uint64_t needed = gantry__onnx_packed_bytes(element, tensor->count);
    const gantry__onnx_bytes_t file = build->reader->bytes;
    const uint8_t *data = items;
    if (count != needed / item_bytes)
        return wrong_count(build, tensor, element, count, needed / item_bytes);
    if ((uintptr_t)items - (uintptr_t)file.data >= file.size) {
        uint8_t *copy = gantry__onnx_model_alloc(build->reader, count, item_bytes);
        if (!copy) return GANTRY_RESOURCE_EXHAUSTED;
        data = memcpy(copy, items, count * item_bytes);
    }
    tensor->data = GANTRY__ONNX_NUMBERS;
    tensor->raw = (gantry__onnx_bytes_t){data, (size_t)needed};
    return GANTRY_OK;
}

/* Numbers of the wire's 64 bits are made as narrow as the type is. */
static gantry_status_t take_ints(gantry__onnx_build_t *build, const int64_t *items, size_t count,
                                 const gantry__onnx_element_t *element,
                                 gantry__onnx_tensor_t *tensor) {
    const uint64_t needed = gantry__onnx_packed_bytes(element, tensor->count);
    const size_t bytes = element->bits < 8 ? 1 : element->bits / 8;
    if (count != needed / bytes) return wrong_count(build, tensor, element, count, needed / bytes);
    GANTRY__TRY(gantry__onnx_work(build->reader, count));
    uint8_t *packed = gantry__onnx_model_alloc(build->reader, count, bytes);
    if (!packed) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i) {
        if (items[i] < element->least || items[i] > element->most)
            return gantry__onnx_bad(build->reader,
                                    "the tensor '%s' has the number %" PRId64
                                    " at element %zu; type %s is %" PRId64 " to %" PRId64,
                                    tensor->name, items[i], i, element->name, element->least,
                                    element->most);
        const uint64_t little = gantry__bits_little((uint64_t)items[i]);
        memcpy(packed + i * bytes, &little, bytes);
    }
    tensor->data = GANTRY__ONNX_NUMBERS;
    tensor->raw = (gantry__onnx_bytes_t){packed, count * bytes};
    return GANTRY_OK;
}

static gantry_status_t take_texts(gantry__onnx_build_t *build,
                                  const gantry__onnx_wire_tensor_t *message,
                                  const gantry__onnx_element_t *element,
                                  gantry__onnx_tensor_t *tensor) {
    const size_t count = message->string_data.count;
    if (count != (uint64_t)tensor->count)
        return wrong_count(build, tensor, element, count, (uint64_t)tensor->count);
    gantry__onnx_bytes_t *texts = gantry__onnx_model_alloc(build->reader, count, sizeof *texts);
    if (!texts) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(texts, message->string_data.items, count * sizeof *texts);
    tensor->data = GANTRY__ONNX_STRINGS;
    tensor->texts = texts;
    return GANTRY_OK;
}

/* Takes the data of a tensor that has elements. */
static gantry_status_t take_data(gantry__onnx_build_t *build, const gantry__onnx_wire_tensor_t *m,
                                 const gantry__onnx_element_t *element,
                                 gantry__onnx_tensor_t *tensor) {
    if (GANTRY__ONNX_HAS(tensor, m, raw_data) && m->raw_data.size > 0)
        return take_raw(build, m->raw_data, element, tensor);
    switch (element->field) {
        case GANTRY__ONNX_IN_FLOATS:
            return take_packed(build, m->float_data.items, m->float_data.count, 4, element, tensor);
        case GANTRY__ONNX_IN_DOUBLES:
            return take_packed(build, m->double_data.items, m->double_data.count, 8, element,
                               tensor);
        case GANTRY__ONNX_IN_INTS:
            return take_ints(build, m->int32_data.items, m->int32_data.count, element, tensor);
        case GANTRY__ONNX_IN_LONGS:
            return take_ints(build, m->int64_data.items, m->int64_data.count, element, tensor);
        case GANTRY__ONNX_IN_UNSIGNED:
            return take_ints(build, m->uint64_data.items, m->uint64_data.count, element, tensor);
        default: return take_texts(build, m, element, tensor);
    }
}

static gantry_status_t fill_tensor(gantry__onnx_build_t *build,
                                   const gantry__onnx_wire_tensor_t *message,
                                   gantry__onnx_tensor_t *tensor) {
    GANTRY__TRY(
        gantry__onnx_copy_name(build, message->name, "the name of a tensor", &tensor->name));
    const gantry__onnx_element_t *element = gantry__onnx_element(message->data_type);
    if (!element && message->data_type == 0)
        return gantry__onnx_bad(build->reader, "the tensor '%s' has no type; 1 to 28 are accepted",
                                tensor->name);
    if (!element)
        return gantry__onnx_lacks(build->reader,
                                  "the tensor '%s' has the type %" PRId64 "; 1 to 28 are accepted",
                                  tensor->name, message->data_type);
    tensor->type = (int32_t)message->data_type;
    GANTRY__TRY(gantry__onnx_make_dims(build, message->dims.items, message->dims.count, tensor));
    GANTRY__TRY(check_fields(build, message, tensor));
    if (message->data_location == 1) return gantry__onnx_make_external(build, message, tensor);
    if (tensor->count == 0) return GANTRY_OK;
    return take_data(build, message, element, tensor);
}

gantry_status_t gantry__onnx_make_tensor(gantry__onnx_build_t *build,
                                         const gantry__onnx_wire_tensor_t *message,
                                         gantry__onnx_tensor_t **out_tensor) {
    gantry__onnx_tensor_t *tensor = gantry__onnx_model_alloc(build->reader, 1, sizeof *tensor);
    *out_tensor = tensor;
    return tensor ? fill_tensor(build, message, tensor) : GANTRY_RESOURCE_EXHAUSTED;
}
