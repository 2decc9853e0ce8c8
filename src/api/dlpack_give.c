/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of dlpack.h that give a struct: over the tensor's memory, or over a copy. */
#include <stdatomic.h>
#include <string.h>

#include "api/dlpack.h"
#include "backend/backend_check.h"
#include "base/fp_mode.h"
#include "device/sharing_queue.h"
#include "run/runtime_state.h"
#include "run/tensor_state.h"
#include "shared/struct_size.h"

#include "ops/type_rows.h"

/* What DLPack demands of data. TensorFlow ends the process when it meets less than 64 bytes. */
#define GIVEN_ALIGNMENT 256u

/* A managed tensor with all that it points to. Elements of its own follow the struct. */
typedef struct given_t {
    union {
        struct DLManagedTensorVersioned versioned;
        struct DLManagedTensor unversioned;
    } managed; /* the first field: its address is this struct's */
    int64_t shape[GANTRY_MAX_RANK], strides[GANTRY_MAX_RANK];
    atomic_uint references;
    gantry_tensor_t *tensor;
    size_t bytes;                   /* of the heap */
    void *elements;                 /* its own, aligned; NULL: the tensor's are given */
    gantry_backend_stream_t *queue; /* the consumer's, to the end; NULL: none is known */
} given_t;

/* Returns whether it was the last reference. */
static bool given_release(given_t *given) {
    gantry_tensor_t *tensor = given->tensor;
    if (!gantry__runtime_is_ours(tensor->runtime)) return false;
    if (atomic_fetch_sub_explicit(&given->references, 1, memory_order_acq_rel) != 1) return false;
    const gantry__heap_t *heap = &tensor->runtime->heap;
    if (given->queue) gantry__queue_close(tensor->device, given->queue, tensor->buffer);
    gantry__heap_free(heap, given, given->bytes);
    gantry_tensor_release(tensor);
    return true;
}

static void delete_versioned(struct DLManagedTensorVersioned *self) {
    (void)given_release(self->manager_ctx);
}
static void delete_unversioned(struct DLManagedTensor *self) {
    (void)given_release(self->manager_ctx);
}

void gantry__dlpack_keep(struct DLManagedTensorVersioned *given) {
    atomic_fetch_add_explicit(&((given_t *)given)->references, 1, memory_order_relaxed);
}
bool gantry__dlpack_drop(struct DLManagedTensorVersioned *given) {
    return given_release((given_t *)given);
}

static gantry_status_t describe_given(given_t *given, gantry__dl_tensor_t *out) {
    const gantry_tensor_t *tensor = given->tensor;
    const gantry_shape_t *shape = &tensor->shape;
    int64_t stride = 1;
    for (int32_t i = shape->rank; i-- > 0; stride *= shape->dims[i]) {
        given->shape[i] = shape->dims[i];
        given->strides[i] = stride;
    }
    *out = (gantry__dl_tensor_t){.device_type = GANTRY__DL_CPU,
                                 .ndim = shape->rank,
                                 .dtype = {(uint8_t)gantry__type_dlpack((int32_t)tensor->dtype),
                                           (uint8_t)(gantry_dtype_size(tensor->dtype) * 8), 1},
                                 .shape = given->shape,
                                 .strides = given->strides};
    if (given->elements) {
        out->data = given->elements;
        return GANTRY_OK;
    }
    if (!gantry__is_mappable(tensor)) return gantry__dlpack_describe_device(tensor, out);
    if (tensor->size_bytes > 0) out->data = tensor->data;
    return GANTRY_OK;
}

/* Whether the elements are the struct's own: a copy that was asked for, or few elements, which a
 * tensor has in its object, where they are not aligned enough. */
static bool needs_elements(const gantry_tensor_t *tensor, bool copies) {
    return tensor->size_bytes > 0 && (copies || tensor->data == tensor->inline_data);
}

/* Makes the elements ready for the consumer. */
static gantry_status_t give_elements(given_t *given, void *stream) {
    const gantry_tensor_t *tensor = given->tensor;
    if (given->elements) return gantry_tensor_read(tensor, given->elements, tensor->size_bytes);
    return gantry__is_mappable(tensor) ? gantry__tensor_settle(tensor)
                                       : gantry__dlpack_order(tensor, stream, &given->queue);
}

static void *align_up(given_t *end) {
    const uintptr_t over = (uintptr_t)end % GIVEN_ALIGNMENT;
    return (unsigned char *)end + (over ? GIVEN_ALIGNMENT - over : 0);
}

/* *out is in the new struct. */
static gantry_status_t make_given(const gantry_tensor_t *tensor,
                                  const gantry_to_dlpack_options_t *options,
                                  gantry__dl_tensor_t *(*place)(given_t *given),
                                  given_t **out_given) {
    const bool is_own = needs_elements(tensor, options->copies);
    const size_t bytes = sizeof(given_t) + (is_own ? tensor->size_bytes + GIVEN_ALIGNMENT - 1 : 0);
    given_t *given = gantry__heap_alloc(&tensor->runtime->heap, bytes);
    if (!given) return GANTRY_RESOURCE_EXHAUSTED;
    memset(given, 0, sizeof *given);
    atomic_init(&given->references, 1);
    given->tensor = gantry_tensor_retain(tensor);
    given->bytes = bytes;
    if (is_own) given->elements = align_up(given + 1);
    gantry_status_t status = give_elements(given, options->stream);
    if (status == GANTRY_OK) status = describe_given(given, place(given));
    if (status != GANTRY_OK) {
        (void)given_release(given);
        return status;
    }
    *out_given = given;
    return GANTRY_OK;
}

static gantry__dl_tensor_t *place_in_versioned(given_t *given) {
    return &given->managed.versioned.dl_tensor;
}
static gantry__dl_tensor_t *place_in_old(given_t *given) {
    return &given->managed.unversioned.dl_tensor;
}

static gantry_status_t check_giving(const gantry_tensor_t *tensor, const char *call,
                                    const gantry_to_dlpack_options_t *options) {
    GANTRY__TRY(gantry__check_concrete(tensor, call));
    const bool is_host = options->copies || gantry__is_mappable(tensor);
    if (is_host && gantry__dlpack_is_queue(options->stream))
        return gantry__refuse("%s: stream is %p for memory of the host; NULL is accepted", call,
                              options->stream);
    if (is_host || gantry__backend_interop(tensor->device->backend)) return GANTRY_OK;
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "%s: the memory of %s is not the host's, and its backend %s does not share it; a tensor of a CPU device, of opencl or of cuda is accepted, and with copies of every device",
        call, tensor->device->full_name, tensor->device->backend->name);
}

gantry_status_t gantry__dlpack_give(const gantry_tensor_t *tensor,
                                    const gantry_to_dlpack_options_t *options, const char *call,
                                    struct DLManagedTensorVersioned **out_managed) {
    given_t *given;
    GANTRY__TRY(check_giving(tensor, call, options));
    GANTRY__TRY(make_given(tensor, options, place_in_versioned, &given));
    struct DLManagedTensorVersioned *managed = &given->managed.versioned;
    managed->version = (gantry__dl_version_t){GANTRY__DLPACK_MAJOR, GANTRY__DLPACK_MINOR};
    managed->manager_ctx = given;
    managed->deleter = delete_versioned;
    managed->flags = options->copies ? GANTRY__DL_IS_COPIED : GANTRY__DL_READ_ONLY;
    *out_managed = managed;
    return GANTRY_OK;
}

gantry_status_t gantry_tensor_to_dlpack(const gantry_tensor_t *tensor,
                                        const gantry_to_dlpack_options_t *options,
                                        struct DLManagedTensorVersioned **out_managed) {
    GANTRY__OWN_FP_MODE(fp);
    const char *call = "gantry_tensor_to_dlpack";
    gantry_to_dlpack_options_t read;
    if (!out_managed) return gantry__refuse("%s: out_managed is NULL", call);
    *out_managed = NULL;
    GANTRY__TRY(gantry__struct_read(options, 0, &read, sizeof read, call));
    return gantry__dlpack_give(tensor, &read, call, out_managed);
}

gantry_status_t gantry_tensor_to_dlpack_unversioned(const gantry_tensor_t *tensor,
                                                    const gantry_to_dlpack_options_t *options,
                                                    struct DLManagedTensor **out_managed) {
    GANTRY__OWN_FP_MODE(fp);
    const char *call = "gantry_tensor_to_dlpack_unversioned";
    gantry_to_dlpack_options_t read;
    given_t *given;
    if (!out_managed) return gantry__refuse("%s: out_managed is NULL", call);
    *out_managed = NULL;
    GANTRY__TRY(gantry__struct_read(options, 0, &read, sizeof read, call));
    GANTRY__TRY(check_giving(tensor, call, &read));
    if (!read.copies)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "%s: the struct of DLPack before 1.0 cannot say that memory is read-only; with copies it is accepted",
            call);
    GANTRY__TRY(make_given(tensor, &read, place_in_old, &given));
    struct DLManagedTensor *managed = &given->managed.unversioned;
    managed->manager_ctx = given;
    managed->deleter = delete_unversioned;
    *out_managed = managed;
    return GANTRY_OK;
}
