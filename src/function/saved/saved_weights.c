/* SPDX-License-Identifier: Apache-2.0 */
/* The weights of a saved function. Those that the host has in its own memory are made first, and
 * then read in the order of the file, neighbours by one call; those of its front are copied from
 * there. Those that it has in the file share one mapping. All others are loaded one by one.
 * Variables come last, because they may be copies. */
#include "function/saved/saved_weights.h"

#include <stdlib.h>
#include <string.h>

#include <gantry/interop.h>
#include <gantry/io.h>

#include "base/file_map.h"
#include "base/files.h"
#include "run/dispatch.h"
#include "run/runtime_state.h"
#include "run/scope_state.h"
#include "run/tensor_stream.h"

#define MOST_PARTS 256 /* of one read */

/* A tensor without its elements, which are in the file from `begin` on. */
typedef struct weights_part_t {
    uint64_t begin;
    const gantry_tensor_t *made;
} weights_part_t;

typedef struct weights_load_t {
    const gantry__saved_file_t *from;
    bool *is_taken;        /* by tensor of the header */
    weights_part_t *parts; /* at most one for each weight */
    size_t part_count;
    gantry__file_map_t *map; /* of the data; NULL: not made yet */
} weights_load_t;

/* ---- tensors of the file ---- */

static GANTRY__COLD gantry_status_t saved_weights_fail(const gantry__saved_weight_t *weight,
                                                       const gantry__safetensors_tensor_t *tensor) {
    char wanted[GANTRY_MAX_RANK * 24], stored[GANTRY_MAX_RANK * 24];
    (void)gantry_shape_format(&weight->shape, wanted, sizeof wanted);
    (void)gantry_shape_format(&tensor->shape, stored, sizeof stored);
    return gantry__fail(GANTRY_DATA_LOSS, "tensor \"%s\" is %s %s; its graph accepts %s %s",
                        gantry__graph_label(weight->name).text, tensor->type_name, stored,
                        gantry_dtype_name(weight->dtype), wanted);
}

static gantry_status_t saved_weights_find(const weights_load_t *load,
                                          const gantry__saved_weight_t *weight,
                                          const gantry__safetensors_tensor_t **out) {
    const gantry__safetensors_t *header = &load->from->header;
    const gantry__safetensors_tensor_t *tensor = gantry__safetensors_find(header, weight->name);
    if (!tensor)
        return gantry__fail(GANTRY_DATA_LOSS, "it has no tensor \"%s\", which its graph needs",
                            gantry__graph_label(weight->name).text);
    bool *is_taken = &load->is_taken[tensor - header->tensors];
    if (*is_taken)
        return gantry__fail(GANTRY_DATA_LOSS, "its graph has the tensor \"%s\" twice",
                            gantry__graph_label(weight->name).text);
    *is_taken = true;
    *out = tensor;
    if (tensor->dtype == weight->dtype && tensor->dim_count <= GANTRY_MAX_RANK &&
        gantry_shape_equal(&tensor->shape, &weight->shape))
        return GANTRY_OK;
    return saved_weights_fail(weight, tensor);
}

/* ---- elements ---- */

static int weights_compare_parts(const void *left, const void *right) {
    const weights_part_t *a = left, *b = right;
    return a->begin == b->begin ? 0 : a->begin < b->begin ? -1 : 1;
}

/* Reads parts that follow each other in the file, from *at on, and moves *at after them. */
static gantry_status_t weights_read_neighbours(const weights_load_t *load, size_t *at) {
    gantry__os_part_t parts[MOST_PARTS];
    const uint64_t begin = load->parts[*at].begin;
    uint64_t end = begin;
    int count = 0;
    for (; count < MOST_PARTS && *at < load->part_count; ++count, ++*at) {
        const weights_part_t *part = &load->parts[*at];
        if (part->begin != end) break;
        parts[count] = (gantry__os_part_t){part->made->data, part->made->size_bytes};
        end += part->made->size_bytes;
    }
    return gantry__file_read_parts(load->from->file, load->from->path, begin, parts, (size_t)count);
}

static gantry_status_t weights_read_parts(weights_load_t *load) {
    size_t at = 0;
    qsort(load->parts, load->part_count, sizeof load->parts[0], weights_compare_parts);
    while (at < load->part_count) GANTRY__TRY(weights_read_neighbours(load, &at));
    return GANTRY_OK;
}

static void weights_fill(weights_load_t *load, uint64_t begin, const gantry_tensor_t *made) {
    const gantry__saved_file_t *from = load->from;
    if (made->size_bytes == 0) return;
    if (begin + made->size_bytes <= from->front_bytes)
        memcpy(made->data, from->front + begin, made->size_bytes);
    else
        load->parts[load->part_count++] = (weights_part_t){begin, made};
}

/* A tensor over the file, if it is on the host; else from there. NULL: the scope has the error. */
static const gantry_tensor_t *weights_map(weights_load_t *load, gantry_scope_t *scope,
                                          const gantry__safetensors_tensor_t *tensor) {
    const gantry__saved_file_t *from = load->from;
    gantry__kept_plan_t *kept;
    gantry_status_t status = gantry__plan_core_op(scope, GANTRY__OP_ID_Const, "_EagerConst",
                                                  tensor->dtype, false, NULL, &kept);
    if (status == GANTRY_OK && kept->plan.device != from->runtime->host)
        return gantry_map_elements(scope, from->file, from->path,
                                   (int64_t)(from->data_offset + tensor->begin), tensor->dtype,
                                   tensor->shape);
    if (status == GANTRY_OK && !load->map)
        status = gantry__file_map(&from->runtime->heap, from->file, from->path, from->data_offset,
                                  (size_t)(from->size - from->data_offset), &load->map);
    if (status != GANTRY_OK) {
        (void)gantry__scope_fail(scope, status);
        return NULL;
    }
    (void)gantry__dispatch_note(scope, kept, "_EagerConst", 0);
    const gantry_from_memory_options_t options = {.struct_size = sizeof options,
                                                  .release = gantry__file_unmap,
                                                  .user = gantry__file_map_retain(load->map)};
    const gantry_tensor_t *mapped = gantry_tensor_from_memory(
        scope, tensor->dtype, tensor->shape, load->map->data + tensor->begin,
        (size_t)(tensor->end - tensor->begin), &options);
    if (!mapped) gantry__file_unmap(load->map);
    return mapped;
}

/* A tensor that was read with the front is copied from there. */
static const gantry_tensor_t *load_alone(weights_load_t *load, gantry_scope_t *scope,
                                         const gantry__safetensors_tensor_t *tensor,
                                         bool is_in_front) {
    const gantry__saved_file_t *from = load->from;
    const uint64_t begin = from->data_offset + tensor->begin;
    if (is_in_front)
        return gantry_constant(scope, tensor->dtype, tensor->shape, from->front + begin,
                               (size_t)(tensor->end - tensor->begin));
    return from->maps ? weights_map(load, scope, tensor)
                      : gantry_load_elements(scope, from->file, from->path, (int64_t)begin,
                                             tensor->dtype, tensor->shape);
}

/* Elements of bool are looked at one by one where they are read. */
static gantry_status_t load_weight(weights_load_t *load, gantry__saved_weight_t *weight) {
    const gantry__saved_file_t *from = load->from;
    const gantry__safetensors_tensor_t *tensor = NULL;
    GANTRY__TRY(saved_weights_find(load, weight, &tensor));
    const bool is_plain = !from->maps && tensor->dtype != GANTRY_BOOL;
    const uint64_t begin = from->data_offset + tensor->begin;
    gantry_scope_t *scope =
        weight->flags & GANTRY__SAVED_ON_HOST && from->host ? from->host : from->scope;
    if (is_plain)
        GANTRY__TRY(gantry__tensor_to_fill(scope, tensor->dtype, &tensor->shape, &weight->tensor));
    if (weight->tensor) {
        weights_fill(load, begin, weight->tensor);
        return GANTRY_OK;
    }
    const bool is_in_front = is_plain && from->data_offset + tensor->end <= from->front_bytes;
    const gantry_tensor_t *loaded = load_alone(load, scope, tensor, is_in_front);
    weight->tensor = gantry_tensor_retain(loaded);
    gantry_tensor_drop(scope, loaded);
    return loaded ? GANTRY_OK : gantry_scope_status(scope);
}

static gantry_status_t weights_make_variable(const gantry__saved_file_t *from,
                                             gantry__saved_weight_t *weight) {
    gantry_scope_t *scope =
        weight->flags & GANTRY__SAVED_ON_HOST && from->host ? from->host : from->scope;
    weight->variable = gantry_variable_create(scope, weight->tensor, weight->name);
    gantry_tensor_release(weight->tensor);
    weight->tensor = NULL;
    return weight->variable ? GANTRY_OK : gantry_scope_status(scope);
}

static gantry_status_t weights_load_all(weights_load_t *load, gantry__saved_weight_t *weights,
                                        uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) GANTRY__TRY(load_weight(load, &weights[i]));
    GANTRY__TRY(weights_read_parts(load));
    for (uint32_t i = 0; i < count; ++i) {
        if (weights[i].flags & GANTRY__SAVED_IS_VARIABLE)
            GANTRY__TRY(weights_make_variable(load->from, &weights[i]));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__saved_load_weights(void *file, gantry__saved_weight_t *weights,
                                           uint32_t count) {
    const gantry__saved_file_t *from = file;
    const gantry__heap_t *heap = &from->runtime->heap;
    const size_t part_bytes = count * sizeof(weights_part_t);
    weights_load_t load = {.from = from,
                           .is_taken = gantry__heap_zalloc(heap, from->header.count),
                           .parts = gantry__heap_alloc(heap, part_bytes)};
    const gantry_status_t status = load.is_taken && load.parts
                                       ? weights_load_all(&load, weights, count)
                                       : GANTRY_RESOURCE_EXHAUSTED;
    gantry__file_unmap(load.map);
    gantry__heap_free(heap, load.parts, part_bytes);
    gantry__heap_free(heap, load.is_taken, from->header.count);
    return status;
}
