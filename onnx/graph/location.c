/* SPDX-License-Identifier: Apache-2.0 */
/* Where a tensor's data are in another file: a path from the model's folder, which may not leave
 * it, an offset and a length. The file is not looked at here. */
#include <inttypes.h>
#include <string.h>

#include "onnx/base/limits.h"
#include "shared/memory.h"
#include "onnx/graph/build.h"
#include "onnx/graph/element.h"

/* A decimal number. */
static bool read_number(gantry__onnx_bytes_t text, uint64_t *out_number) {
    uint64_t number = 0;
    if (text.size == 0 || text.size > 19) return false;
    for (size_t i = 0; i < text.size; ++i) {
        if (text.data[i] < '0' || text.data[i] > '9') return false;
        number = number * 10 + (uint64_t)(text.data[i] - '0');
    }
    *out_number = number;
    return true;
}

/* Each part of a path between slashes must be a name, or, before the last one, ".". */
static bool stays_in_folder(const char *location) {
    if (*location == 0 || *location == '/' || strchr(location, '\\')) return false;
    for (;;) {
        const size_t size = strcspn(location, "/");
        const bool is_dot = size == 1 && location[0] == '.', is_last = location[size] == 0;
        if (size == 0 || (is_dot && is_last) ||
            (size == 2 && location[0] == '.' && location[1] == '.'))
            return false;
        if (is_last) return true;
        location += size + 1;
    }
}

static gantry_status_t location_take_entry(gantry__onnx_build_t *build,
                                           const gantry__onnx_wire_entry_t *e,
                                           gantry__onnx_tensor_t *tensor, uint64_t *out_length) {
    const bool is_offset = gantry__onnx_is(e->key, "offset");
    if (gantry__onnx_is(e->key, "location"))
        return gantry__onnx_copy_name(build, e->value, "the location of external data",
                                      &tensor->location);
    if (gantry__onnx_is(e->key, "basepath") && e->value.size > 0)
        return gantry__onnx_lacks(build->reader,
                                  "the external data of the tensor '%s' have a basepath, '%.*s'; "
                                  "the model's folder is accepted",
                                  tensor->name, GANTRY__ONNX_SHOWN(e->value));
    if (!is_offset && !gantry__onnx_is(e->key, "length")) return GANTRY_OK;
    if (read_number(e->value, is_offset ? &tensor->offset : out_length)) return GANTRY_OK;
    return gantry__onnx_bad(build->reader,
                            "the external data of the tensor '%s' have the %s '%.*s'; a decimal "
                            "number is accepted",
                            tensor->name, is_offset ? "offset" : "length",
                            GANTRY__ONNX_SHOWN(e->value));
}

gantry_status_t gantry__onnx_make_external(gantry__onnx_build_t *build,
                                           const gantry__onnx_wire_tensor_t *message,
                                           gantry__onnx_tensor_t *tensor) {
    const gantry__onnx_element_t *element = gantry__onnx_element(tensor->type);
    uint64_t length = UINT64_MAX;
    tensor->location = "";
    tensor->bytes = gantry__onnx_packed_bytes(element, tensor->count);
    for (size_t i = 0; i < message->external_data.count; ++i)
        GANTRY__TRY(location_take_entry(build, &message->external_data.items[i], tensor, &length));
    if (!stays_in_folder(tensor->location))
        return gantry__onnx_bad(
            build->reader,
            "the external data of the tensor '%s' have the location '%s'; a "
            "path to a file in the model's folder without '..' and '\\' is accepted",
            tensor->name, tensor->location);
    if (element->field == GANTRY__ONNX_IN_TEXTS)
        return gantry__onnx_bad(build->reader,
                                "the tensor '%s' of texts has external data; string_data is "
                                "accepted",
                                tensor->name);
    if (length < tensor->bytes)
        return gantry__onnx_bad(build->reader,
                                "the external data of the tensor '%s' have %" PRIu64
                                " bytes; its %" PRId64 " elements of type %s take %" PRIu64,
                                tensor->name, length, tensor->count, element->name, tensor->bytes);
    if (tensor->offset > INT64_MAX - tensor->bytes)
        return gantry__onnx_bad(build->reader,
                                "the external data of the tensor '%s' begin at byte %" PRIu64
                                "; no file is so large",
                                tensor->name, tensor->offset);
    GANTRY__TRY(gantry__onnx_grow_list(build->reader, &build->externals, build->external_count,
                                       &build->external_capacity, sizeof *build->externals));
    build->externals[build->external_count++] = tensor;
    tensor->length = length == UINT64_MAX ? tensor->bytes : length;
    tensor->data = GANTRY__ONNX_EXTERNAL;
    return GANTRY_OK;
}
