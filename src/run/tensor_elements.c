/* SPDX-License-Identifier: Apache-2.0 */
/* The elements of tensors on their way: into a new tensor, from host memory or from another
 * device; and out of one, to host memory or as text.
 *
 * device/transfer.c moves bytes. Reads that the caller does not wait for are in tensor_read.c. */
#include <gantry/tensor.h>

#include <string.h>

#include "base/fp_mode.h"
#include "device/loss.h"
#include "device/transfer.h"
#include "io/tensor_format.h"
#include "run/scope_state.h"
#include "shared/struct_size.h"

#define MOST_PUT_BYTES (INT64_C(1) << 20)
/* below this, calling a device's own copy takes longer than copying */
#define SHORT_READ_BYTES 2048

/* ---- into a new tensor ---- */

/* Counts copies of a few bytes that no buffer takes part in. */
static void tensor_count_moved(const gantry_runtime_t *runtime, uint64_t bytes) {
    gantry__profile_frame_t *frame = gantry__device_frame(&runtime->devices);
    if (frame) frame->numbers.bytes_moved += bytes;
}

/* A single element goes to an asynchronous device as a fill: the ops that take it find it on their
 * own stream. */
static bool is_filled(const gantry_logical_device_t *device, gantry_dtype_t dtype,
                      const gantry_shape_t *shape) {
    const size_t size = gantry_dtype_size(dtype);
    return !device->synchronous && (size == 1 || size == 2 || size == 4 || size == 8) &&
           gantry_shape_elements(shape) == 1;
}

/* To a C program, NumPy and TensorFlow, a bool that is not 0 is true; kernels rely on 1. As fast as
 * a copy: the compiler vectorises this loop and the next one. */
static void copy_bools(unsigned char *target, const unsigned char *source, size_t count) {
    for (size_t i = 0; i < count; ++i) target[i] = source[i] != 0;
}

/* Whether a byte is neither 0 nor 1. Both halves run side by side: a single sum would wait for its
 * previous value. */
static bool has_odd_bool(const unsigned char *bytes, size_t count) {
    const size_t half = count / 2;
    unsigned char first = 0, second = count % 2 ? bytes[count - 1] : 0;
    for (size_t i = 0; i < half; ++i) {
        first |= bytes[i];
        second |= bytes[half + i];
    }
    return (first | second) > 1;
}

/* Whether bools are copied unchecked into memory that this thread writes itself. Larger ones go
 * through the device's copy, which has all threads. */
static bool are_put(const gantry_logical_device_t *device, const gantry_shape_t *shape) {
    return device->host_addressable && device->synchronous &&
           gantry_shape_elements(shape) <= MOST_PUT_BYTES;
}

static gantry_status_t put_bools(gantry_tensor_t *tensor, const unsigned char *data) {
    gantry__profile_frame_t *frame = gantry__device_frame(&tensor->runtime->devices);
    GANTRY__TRY(gantry__loss_check(tensor->device));
    gantry__phase_t before = gantry__profile_enter(frame, GANTRY__PHASE_COPY);
    copy_bools(tensor->data, data, tensor->size_bytes);
    if (frame) frame->numbers.bytes_moved += tensor->size_bytes;
    (void)gantry__profile_enter(frame, before);
    return GANTRY_OK;
}

static gantry_status_t from_odd_bools(gantry_runtime_t *runtime, gantry_logical_device_t *device,
                                      const gantry_shape_t *shape, const unsigned char *data,
                                      const char *tag, gantry_tensor_t **out_tensor) {
    const size_t count = (size_t)gantry_shape_elements(shape);
    *out_tensor = NULL;
    unsigned char *bools = gantry__heap_alloc(&runtime->heap, count);
    if (!bools) return GANTRY_RESOURCE_EXHAUSTED;
    copy_bools(bools, data, count);
    gantry_status_t status =
        gantry__tensor_from_host(runtime, device, GANTRY_BOOL, shape, bools, tag, out_tensor);
    gantry__heap_free(&runtime->heap, bools, count);
    return status;
}

/* scope: whose spare objects serve, or NULL. */
static gantry_status_t make_from_host(gantry_runtime_t *runtime, gantry_scope_t *scope,
                                      gantry_logical_device_t *device, gantry_dtype_t dtype,
                                      const gantry_shape_t *shape, const void *data,
                                      const char *tag, gantry_tensor_t **out_tensor) {
    const bool puts_bools = dtype == GANTRY_BOOL && are_put(device, shape);
    if (dtype == GANTRY_BOOL && !puts_bools &&
        has_odd_bool(data, (size_t)gantry_shape_elements(shape)))
        return from_odd_bools(runtime, device, shape, data, tag, out_tensor);
    const gantry__allocation_t purpose = {.owner = "Const", .tag = tag};
    const bool fills = is_filled(device, dtype, shape);
    GANTRY__TRY(gantry__tensor_create_at(runtime, scope, device, dtype, shape,
                                         fills ? GANTRY_STREAM_COMPUTE : GANTRY_STREAM_TO_DEVICE,
                                         &purpose, out_tensor));
    gantry_tensor_t *tensor = *out_tensor;
    gantry_status_t status = GANTRY_OK;
    if (puts_bools && tensor->data) {
        status = put_bools(tensor, data);
    } else if (fills && tensor->buffer) {
        status = gantry__fill_from_host(tensor->buffer, data, (uint32_t)tensor->size_bytes,
                                        &tensor->ready);
    } else if (tensor->buffer) {
        status = gantry__copy_from_host(tensor->buffer, data, tensor->size_bytes, &tensor->ready);
    } else if (tensor->size_bytes > 0) {
        memcpy(tensor->inline_data, data, tensor->size_bytes);
        tensor_count_moved(runtime, tensor->size_bytes);
    }
    if (status != GANTRY_OK) {
        gantry_tensor_release(tensor);
        *out_tensor = NULL;
    }
    return status;
}

gantry_status_t gantry__tensor_from_host(gantry_runtime_t *runtime, gantry_logical_device_t *device,
                                         gantry_dtype_t dtype, const gantry_shape_t *shape,
                                         const void *data, const char *tag,
                                         gantry_tensor_t **out_tensor) {
    return make_from_host(runtime, NULL, device, dtype, shape, data, tag, out_tensor);
}

gantry_status_t gantry__tensor_from_host_for(gantry_scope_t *scope, gantry_logical_device_t *device,
                                             gantry_dtype_t dtype, const gantry_shape_t *shape,
                                             const void *data, gantry_tensor_t **out_tensor) {
    return make_from_host(scope->runtime, scope, device, dtype, shape, data, scope->tag,
                          out_tensor);
}

static gantry_status_t copy_elements(gantry_tensor_t *target, const gantry_tensor_t *source) {
    if (source->size_bytes == 0) return GANTRY_OK;
    if (source->data && source->device->synchronous) {
        if (!target->buffer) {
            memcpy(target->data, source->data, source->size_bytes);
            tensor_count_moved(source->runtime, source->size_bytes);
            return GANTRY_OK;
        }
        return gantry__copy_from_host(target->buffer, source->data, source->size_bytes,
                                      &target->ready);
    }
    if (!target->buffer)
        return gantry__copy_to_host(target->data, source->buffer, source->offset_bytes,
                                    source->size_bytes, source->ready);
    return gantry__copy_across(target->buffer, source->buffer, source->offset_bytes,
                               source->size_bytes, source->ready, &target->ready);
}

gantry_status_t gantry__tensor_copy_to(const gantry_tensor_t *source,
                                       gantry_logical_device_t *device,
                                       const gantry__allocation_t *purpose,
                                       gantry_tensor_t **out_tensor) {
    GANTRY__TRY(gantry__tensor_create(source->runtime, device, source->dtype, &source->shape,
                                      GANTRY_STREAM_TO_DEVICE, purpose, out_tensor));
    gantry_status_t status = copy_elements(*out_tensor, source);
    if (status == GANTRY_OK) status = gantry__tensor_inherit_faults(*out_tensor, source);
    if (status != GANTRY_OK) {
        gantry_tensor_release(*out_tensor);
        *out_tensor = NULL;
    }
    return status;
}

gantry_status_t gantry__tensor_align(gantry_tensor_t **tensor, uint64_t size,
                                     const gantry__allocation_t *purpose) {
    gantry_tensor_t *copy;
    if (size == 0 || gantry__tensor_bytes_to_align(*tensor, 0, size) == 0) return GANTRY_OK;
    GANTRY__TRY(gantry__tensor_copy_to(*tensor, (*tensor)->device, purpose, &copy));
    gantry_tensor_release(*tensor);
    *tensor = copy;
    return GANTRY_OK;
}

/* ---- out of a tensor ---- */

static gantry_status_t check_tensor(const gantry_tensor_t *tensor) {
    if (!tensor) return gantry__refuse("the tensor is NULL; a tensor that an op made is accepted");
    GANTRY__TRY(gantry__runtime_check_well(tensor->runtime));
    return tensor->is_symbolic ? gantry__tensor_fail_symbolic(tensor) : GANTRY_OK;
}

gantry_status_t gantry__tensor_host_data(const gantry_tensor_t *tensor, const void **out_data,
                                         void **out_owned) {
    *out_owned = NULL;
    *out_data = NULL;
    if (tensor->is_symbolic) return gantry__tensor_fail_symbolic(tensor);
    GANTRY__TRY(gantry__tensor_settle(tensor));
    if (tensor->size_bytes == 0) {
        *out_data = tensor->inline_data; /* never read, never NULL */
        return GANTRY_OK;
    }
    if (tensor->data && tensor->device->synchronous) {
        *out_data = tensor->data;
        return GANTRY_OK;
    }
    void *copy = gantry__heap_alloc(&tensor->runtime->heap, tensor->size_bytes);
    if (!copy) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = gantry__copy_to_host(copy, tensor->buffer, tensor->offset_bytes,
                                                  tensor->size_bytes, tensor->ready);
    if (status != GANTRY_OK) {
        gantry__heap_free(&tensor->runtime->heap, copy, tensor->size_bytes);
        return status;
    }
    *out_data = *out_owned = copy;
    return GANTRY_OK;
}

static gantry_status_t tensor_check_room(const gantry_tensor_t *tensor, const void *out,
                                         size_t bytes) {
    if (!out && tensor->size_bytes > 0)
        return gantry__refuse("reading a tensor: out is NULL; the address of %zu bytes is accepted",
                              tensor->size_bytes);
    if (bytes == tensor->size_bytes) return GANTRY_OK;
    return gantry__refuse(
        "reading a tensor of %zu bytes into %zu bytes; exactly its size is accepted",
        tensor->size_bytes, bytes);
}

gantry_status_t gantry__tensor_check_read(const gantry_tensor_t *tensor, const void *out,
                                          size_t bytes) {
    GANTRY__TRY(check_tensor(tensor));
    return tensor_check_room(tensor, out, bytes);
}

gantry_status_t gantry_tensor_read(const gantry_tensor_t *tensor, void *out, size_t bytes) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__tensor_check_read(tensor, out, bytes));
    GANTRY__RECORD(recorded, tensor->runtime, GANTRY__PROFILE_READ, tensor->device);
    GANTRY__PHASE(recorded.frame, COPY);
    if (tensor->fault_count > 0) GANTRY__TRY(gantry__tensor_settle(tensor));
    if (bytes == 0) return GANTRY_OK;
    if (tensor->data && tensor->device->synchronous && bytes < SHORT_READ_BYTES) {
        if (recorded.frame) recorded.frame->numbers.bytes_moved += bytes;
        memcpy(out, tensor->data, bytes);
        return GANTRY_OK;
    }
    return gantry__copy_to_host(out, tensor->buffer, tensor->offset_bytes, bytes, tensor->ready);
}

gantry_status_t gantry_tensor_wait(const gantry_tensor_t *tensor) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(check_tensor(tensor));
    GANTRY__RECORD(recorded, tensor->runtime, GANTRY__PROFILE_WAITED, tensor->device);
    if (tensor->buffer) GANTRY__TRY(gantry__loss_check(tensor->device));
    GANTRY__TRY(gantry__point_wait(tensor->ready));
    return gantry__tensor_settle(tensor);
}

static gantry_status_t read_format_options(const gantry_format_options_t *given,
                                           gantry__format_options_t *out_layout) {
    gantry_format_options_t options;
    GANTRY__TRY(gantry__struct_read(given, 0, &options, sizeof options, "format options"));
    *out_layout = (gantry__format_options_t){.precision = options.precision,
                                             .threshold = options.threshold,
                                             .edge_items = options.edge_items,
                                             .line_width = options.line_width,
                                             .suppress = options.suppress,
                                             .as_tensorflow = options.as_tensorflow};
    return GANTRY_OK;
}

static gantry_status_t format(const gantry_tensor_t *tensor, const gantry_format_options_t *options,
                              char *out, size_t out_bytes, size_t *out_needed) {
    gantry__format_options_t layout;
    GANTRY__TRY(read_format_options(options, &layout));
    const void *data;
    void *owned;
    GANTRY__TRY(gantry__tensor_host_data(tensor, &data, &owned));
    gantry__text_t text;
    gantry__text_init(&text, &tensor->runtime->heap);
    (void)gantry__format_array(tensor->dtype, &tensor->shape, data, &layout, &text);
    gantry_status_t status = gantry__text_status(&text);
    if (status == GANTRY_OK && out && out_bytes > 0) {
        size_t copied = text.length < out_bytes - 1 ? text.length : out_bytes - 1;
        memcpy(out, gantry__text_get(&text), copied);
        out[copied] = '\0';
    }
    if (out_needed) *out_needed = text.length;
    gantry__text_deinit(&text);
    gantry__heap_free(&tensor->runtime->heap, owned, tensor->size_bytes);
    return status;
}

gantry_status_t gantry_tensor_format(const gantry_tensor_t *tensor,
                                     const gantry_format_options_t *options, char *out,
                                     size_t out_bytes, size_t *out_needed) {
    GANTRY__OWN_FP_MODE(fp);
    if (out && out_bytes > 0) out[0] = '\0';
    if (out_needed) *out_needed = 0;
    GANTRY__TRY(check_tensor(tensor));
    if (!out && out_bytes > 0)
        return gantry__refuse("gantry_tensor_format: out is NULL, but out_bytes is %zu", out_bytes);
    GANTRY__RECORD(recorded, tensor->runtime, GANTRY__PROFILE_READ, tensor->device);
    return format(tensor, options, out, out_bytes, out_needed);
}
