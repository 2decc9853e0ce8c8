/* SPDX-License-Identifier: Apache-2.0 */
#include "train/data/element.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "shared/memory.h"

/* ---- buffers ---- */

gantry_status_t gantry__train_buffer_reserve(gantry__train_buffer_t *buffer, size_t bytes,
                                             size_t kept_bytes) {
    if (buffer->block && bytes <= buffer->capacity) return GANTRY_OK;
    const size_t whole =
        bytes < SIZE_MAX - GANTRY__TRAIN_ALIGNMENT ? bytes + GANTRY__TRAIN_ALIGNMENT : SIZE_MAX;
    unsigned char *block = gantry__alloc(whole, 1);
    if (!block) return GANTRY_RESOURCE_EXHAUSTED;
    unsigned char *aligned =
        block + (GANTRY__TRAIN_ALIGNMENT - (uintptr_t)block % GANTRY__TRAIN_ALIGNMENT);
    if (kept_bytes > 0) memcpy(aligned, buffer->bytes, kept_bytes);
    gantry__train_buffer_deinit(buffer);
    *buffer = (gantry__train_buffer_t){aligned, block, bytes};
    return GANTRY_OK;
}

void gantry__train_buffer_deinit(gantry__train_buffer_t *buffer) {
    gantry__free(buffer->block);
    *buffer = (gantry__train_buffer_t){.capacity = 0};
}

/* ---- elements ---- */

static gantry_status_t element_grow(gantry_element_t *element, size_t count) {
    gantry_array_t *components = gantry__alloc(count, sizeof *components);
    gantry__train_buffer_t *buffers = gantry__alloc(count, sizeof *buffers);
    if (!components || !buffers) {
        gantry__free(components);
        gantry__free(buffers);
        return GANTRY_RESOURCE_EXHAUSTED;
    }
    if (element->capacity > 0) {
        memcpy(components, element->components, element->capacity * sizeof *components);
        memcpy(buffers, element->buffers, element->capacity * sizeof *buffers);
    }
    gantry__free(element->components);
    gantry__free(element->buffers);
    element->components = components;
    element->buffers = buffers;
    element->capacity = count;
    return GANTRY_OK;
}

gantry_status_t gantry__train_element_resize(gantry_element_t *element, size_t count) {
    if (count > element->capacity) GANTRY__TRY(element_grow(element, count));
    for (size_t i = element->count; i < count; ++i)
        element->components[i] = (gantry_array_t){.data = NULL};
    element->count = count;
    return GANTRY_OK;
}

void gantry__train_element_deinit(gantry_element_t *element) {
    for (size_t i = 0; i < element->capacity; ++i)
        gantry__train_buffer_deinit(&element->buffers[i]);
    gantry__free(element->components);
    gantry__free(element->buffers);
    *element = (gantry_element_t){.count = 0};
}

gantry_status_t gantry__train_element_copy(gantry_element_t *empty, const gantry_element_t *from) {
    GANTRY__TRY(gantry__train_element_resize(empty, from->count));
    for (size_t i = 0; i < from->count; ++i) {
        empty->components[i] = from->components[i];
        if (from->components[i].data != from->buffers[i].bytes) continue;
        size_t bytes;
        (void)gantry__train_array_bytes(from->components[i].dtype, &from->components[i].shape,
                                        &bytes);
        GANTRY__TRY(gantry__train_buffer_reserve(&empty->buffers[i], bytes, 0));
        if (bytes > 0) memcpy(empty->buffers[i].bytes, from->buffers[i].bytes, bytes);
        empty->components[i].data = empty->buffers[i].bytes;
    }
    return GANTRY_OK;
}

void gantry__train_element_exchange(gantry_element_t *a, gantry_element_t *b) {
    const gantry_element_t kept = *a;
    *a = *b;
    *b = kept;
}

/* ---- elements that a callback makes ---- */

void gantry__train_element_begin(gantry_element_t *element, gantry__train_problem_t *problem) {
    problem->status = GANTRY_OK;
    problem->text[0] = '\0';
    element->count = 0;
    element->problem = problem;
    (void)gantry_fail(GANTRY_OK, ""); /* so that a text after the call is the callback's */
}

gantry_status_t gantry__train_element_end(gantry_element_t *element, gantry_status_t returned,
                                          const char *call, uint64_t index) {
    const gantry__train_problem_t *problem = element->problem;
    element->problem = NULL;
    if (problem->status != GANTRY_OK && returned == GANTRY_OK) returned = problem->status;
    if (returned != GANTRY_OK) {
        char text[GANTRY__TRAIN_PROBLEM_BYTES];
        (void)snprintf(text, sizeof text, "%s",
                       problem->text[0]           ? problem->text
                       : gantry_last_message()[0] ? gantry_last_message()
                                                  : "it gave no text to gantry_element_fail");
        return gantry__train_fail(returned, "%s failed for element %" PRIu64 " with %s: %s", call,
                                  index, gantry_status_name(returned), text);
    }
    for (size_t i = 0; i < element->count; ++i) {
        if (element->components[i].dtype != GANTRY_DTYPE_NONE) continue;
        return gantry__train_refuse(
            NULL,
            "%s gave element %" PRIu64
            " no component %zu, but a later one; components from 0 on are accepted",
            call, index, i);
    }
    if (element->count > 0) return GANTRY_OK;
    return gantry__train_refuse(NULL,
                                "%s gave element %" PRIu64 " no component; 1 to %d are accepted",
                                call, index, GANTRY_MAX_COMPONENTS);
}

gantry_status_t gantry_element_fail(gantry_element_t *element, gantry_status_t status,
                                    const char *text) {
    if (!element || !element->problem || status == GANTRY_OK) return status;
    element->problem->status = status;
    (void)snprintf(element->problem->text, sizeof element->problem->text, "%s", text ? text : "");
    return status;
}

static void *element_refuse(gantry_element_t *element, gantry_status_t status) {
    (void)gantry_element_fail(element, status, gantry_last_message());
    return NULL;
}

static gantry_status_t check_component(size_t index, gantry_dtype_t dtype,
                                       const gantry_shape_t *shape, size_t *out_bytes) {
    if (index >= GANTRY_MAX_COMPONENTS) {
        return gantry__train_refuse(NULL,
                                    "gantry_element_component: index is %zu; 0 to %d are accepted",
                                    index, GANTRY_MAX_COMPONENTS - 1);
    }
    if (!shape) return gantry__train_refuse(NULL, "gantry_element_component: the shape is NULL");
    if (gantry__train_array_bytes(dtype, shape, out_bytes)) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "gantry_element_component: component %zu is %s; a type of gantry_dtype_t, at most %d dimensions, none negative, and a size that fits into memory are accepted",
        index, gantry__train_array_text(dtype, shape).text, GANTRY_MAX_RANK);
}

void *gantry_element_component(gantry_element_t *element, size_t index, gantry_dtype_t dtype,
                               const gantry_shape_t *shape) {
    if (!element)
        return gantry__train_refuse_pointer(NULL, "gantry_element_component: the element is NULL");
    size_t bytes = 0;
    gantry_status_t status = check_component(index, dtype, shape, &bytes);
    if (status == GANTRY_OK && index >= element->count)
        status = gantry__train_element_resize(element, index + 1);
    if (status == GANTRY_OK)
        status = gantry__train_buffer_reserve(&element->buffers[index], bytes, 0);
    if (status != GANTRY_OK) return element_refuse(element, status);
    unsigned char *data = element->buffers[index].bytes;
    element->components[index] = (gantry_array_t){dtype, *shape, data};
    return data;
}

/* ---- arrays ---- */

bool gantry__train_array_bytes(gantry_dtype_t dtype, const gantry_shape_t *shape,
                               size_t *out_bytes) {
    const size_t item = gantry_dtype_size(dtype);
    const int64_t elements = gantry_shape_elements(shape);
    *out_bytes = 0;
    if (item == 0 || elements < 0 || (uint64_t)elements > SIZE_MAX / 2 / item) return false;
    *out_bytes = (size_t)elements * item;
    return true;
}

gantry__train_array_text_t gantry__train_array_text(gantry_dtype_t dtype,
                                                    const gantry_shape_t *shape) {
    gantry__train_array_text_t out;
    const size_t used =
        (size_t)snprintf(out.text, sizeof out.text, "%s ", gantry_dtype_name(dtype));
    if (shape->rank < 0 || shape->rank > GANTRY_MAX_RANK) {
        (void)snprintf(out.text + used, sizeof out.text - used, "of rank %d", (int)shape->rank);
    } else {
        (void)gantry_shape_format(shape, out.text + used, sizeof out.text - used);
    }
    return out;
}
