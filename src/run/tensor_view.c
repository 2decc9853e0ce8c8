/* SPDX-License-Identifier: Apache-2.0 */
/* A view of a part of a tensor's memory under another type and shape, for programs that keep many
 * values in one tensor.
 *
 *     buffer   |........|==== tensor ====|....|
 *     view              |first|=view=|           holds the buffer, is ready when the tensor is
 *
 * A span goes to kernels as a base and an offset, so that a view needs no more alignment than its
 * elements. Results need more (gantry__buffer_is_aligned): an op that may write over a view that
 * ends with it takes new memory instead. Elements inside a tensor's object are copied. */
#include <gantry/scope.h>

#include <inttypes.h>
#include <string.h>

#include "base/shape_limit.h"
#include "device/buffer.h"
#include "run/scope_state.h"

typedef struct view_t {
    const gantry_tensor_t *tensor;
    uint64_t first_byte;
    gantry_dtype_t dtype;
    const gantry_shape_t *shape;
} view_t;

static gantry_status_t check_viewed(const gantry_scope_t *scope, const gantry_tensor_t *tensor) {
    if (!tensor)
        return gantry__refuse(
            "gantry_tensor_view: the tensor is NULL; a tensor that an op made is accepted");
    if (tensor->runtime != scope->runtime)
        return gantry__refuse(
            "gantry_tensor_view: the tensor belongs to another runtime; tensors of the scope's runtime are accepted");
    return tensor->is_symbolic ? gantry__tensor_fail_symbolic(tensor) : GANTRY_OK;
}

/* Kernels rely on bools that are 0 or 1. */
static gantry_status_t check_view_type(const view_t *view) {
    if (gantry_dtype_size(view->dtype) == 0)
        return gantry__refuse(
            "gantry_tensor_view: dtype %d is no element type; a value of gantry_dtype_t is accepted",
            (int)view->dtype);
    if (view->dtype == GANTRY_BOOL && view->tensor->dtype != GANTRY_BOOL)
        return gantry__refuse(
            "gantry_tensor_view: a view of %s as bool is refused, since a bool must be 0 or 1; gantry_cast makes bools of all values",
            gantry_dtype_name(view->tensor->dtype));
    return GANTRY_OK;
}

static gantry_status_t check_view_size(const view_t *view) {
    const uint64_t bytes = view->tensor->size_bytes, first = view->first_byte;
    const int64_t elements = gantry_shape_elements(view->shape);
    if (elements < 0) {
        char shape[GANTRY_MAX_RANK * 21 + 3];
        (void)gantry_shape_format(view->shape, shape, sizeof shape);
        return gantry__refuse(
            "gantry_tensor_view: shape %s of rank %d has no size; ranks 0 to %d, dimensions from 0 on, and a product of at most " GANTRY__MOST_ELEMENTS_TEXT
            " are accepted",
            shape, view->shape->rank, GANTRY_MAX_RANK);
    }
    if (first > bytes)
        return gantry__refuse("gantry_tensor_view: first_byte %" PRIu64
                              " is beyond the tensor's %" PRIu64 " bytes; 0 to %" PRIu64
                              " is accepted",
                              first, bytes, bytes);
    const uint64_t most = (bytes - first) / gantry_dtype_size(view->dtype);
    if ((uint64_t)elements <= most) return GANTRY_OK;
    return gantry__refuse("gantry_tensor_view: %" PRId64 " elements of %s from byte %" PRIu64
                          " on lie beyond the tensor's %" PRIu64 " bytes; at most %" PRIu64
                          " are accepted there",
                          elements, gantry_dtype_name(view->dtype), first, bytes, most);
}

/* The tensor may be a view itself, which begins at a place that suits its own elements only; so may
 * memory of the program, whose address counts where the host has it. */
static gantry_status_t check_view_alignment(const view_t *view) {
    const uint64_t size = gantry_dtype_size(view->dtype);
    if (gantry__tensor_bytes_to_align(view->tensor, view->first_byte, size) == 0) return GANTRY_OK;
    return gantry__refuse("gantry_tensor_view: first_byte %" PRIu64
                          " is not aligned for %s; %" PRIu64 " and every %" PRIu64
                          " bytes from there on are accepted",
                          view->first_byte, gantry_dtype_name(view->dtype),
                          gantry__tensor_bytes_to_align(view->tensor, 0, size), size);
}

static void empty_view(gantry_tensor_t *tensor) {
    gantry__buffer_release(tensor->buffer);
    tensor->buffer = NULL;
    tensor->data = NULL;
    tensor->offset_bytes = 0;
    tensor->ready = (gantry__point_t){NULL, 0};
}

static gantry_status_t make_view(const view_t *view, gantry_tensor_t **out_tensor) {
    GANTRY__TRY(gantry__tensor_view(view->tensor, view->first_byte, view->shape, out_tensor));
    gantry_tensor_t *tensor = *out_tensor;
    gantry__tensor_retype(tensor, view->dtype);
    if (tensor->size_bytes == 0) {
        empty_view(tensor);
    } else if (!tensor->buffer) {
        memmove(tensor->inline_data, tensor->data, tensor->size_bytes);
        tensor->data = tensor->inline_data;
    }
    gantry_status_t status = gantry__tensor_inherit_faults(tensor, view->tensor);
    if (status != GANTRY_OK) gantry_tensor_release(tensor);
    return status;
}

const gantry_tensor_t *gantry_tensor_view(gantry_scope_t *scope, const gantry_tensor_t *tensor,
                                          uint64_t first_byte, gantry_dtype_t dtype,
                                          gantry_shape_t shape) {
    const view_t view = {tensor, first_byte, dtype, &shape};
    gantry_tensor_t *made = NULL;
    if (gantry__scope_check(scope) != GANTRY_OK) return NULL;
    gantry_status_t status = check_viewed(scope, tensor);
    if (status == GANTRY_OK) status = check_view_type(&view);
    if (status == GANTRY_OK) status = check_view_size(&view);
    if (status == GANTRY_OK) status = check_view_alignment(&view);
    if (status == GANTRY_OK) status = make_view(&view, &made);
    if (status != GANTRY_OK) {
        (void)gantry__scope_fail(scope, status);
        return NULL;
    }
    gantry__scope_adopt(scope, made);
    return made;
}
