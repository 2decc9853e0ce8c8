/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of dlpack.h that give a struct: over the tensor's memory, or over a copy. */
#include <stdatomic.h>

#include "api/dlpack.h"
#include "base/fp_mode.h"
#include "run/runtime_state.h"
#include "run/tensor_state.h"
#include "shared/struct_size.h"

#include "ops/type_rows.h"

/* A managed tensor with all that it points to. */
typedef struct given_t {
    union {
        struct DLManagedTensorVersioned versioned;
        struct DLManagedTensor unversioned;
    } managed; /* the first field: its address is this struct's */
    int64_t shape[GANTRY_MAX_RANK], strides[GANTRY_MAX_RANK];
    atomic_uint references;
    gantry_tensor_t *tensor;
    void *copy; /* the elements in heap memory; NULL: the tensor's are given */
} given_t;

/* Returns whether it was the last reference. */
static bool given_release(given_t *given) {
    gantry_tensor_t *tensor = given->tensor;
    if (!gantry__runtime_is_ours(tensor->runtime)) return false;
    if (atomic_fetch_sub_explicit(&given->references, 1, memory_order_acq_rel) != 1) return false;
    const gantry__heap_t *heap = &tensor->runtime->heap;
    gantry__heap_free(heap, given->copy, tensor->size_bytes);
    gantry__heap_free(heap, given, sizeof *given);
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

static void describe_given(given_t *given, gantry__dl_tensor_t *out) {
    const gantry_tensor_t *tensor = given->tensor;
    const gantry_shape_t *shape = &tensor->shape;
    int64_t stride = 1;
    for (int32_t i = shape->rank; i-- > 0; stride *= shape->dims[i]) {
        given->shape[i] = shape->dims[i];
        given->strides[i] = stride;
    }
    *out = (gantry__dl_tensor_t){.data = given->copy              ? given->copy
                                         : tensor->size_bytes > 0 ? tensor->data
                                                                  : NULL,
                                 .device_type = GANTRY__DL_CPU,
                                 .ndim = shape->rank,
                                 .dtype = {(uint8_t)gantry__type_dlpack((int32_t)tensor->dtype),
                                           (uint8_t)(gantry_dtype_size(tensor->dtype) * 8), 1},
                                 .shape = given->shape,
                                 .strides = given->strides};
}

static gantry_status_t read_copy(given_t *given) {
    const gantry_tensor_t *tensor = given->tensor;
    if (tensor->size_bytes == 0) return GANTRY_OK;
    given->copy = gantry__heap_alloc(&tensor->runtime->heap, tensor->size_bytes);
    if (!given->copy) return GANTRY_RESOURCE_EXHAUSTED;
    return gantry_tensor_read(tensor, given->copy, tensor->size_bytes);
}

static gantry_status_t make_given(const gantry_tensor_t *tensor, bool copies, given_t **out_given) {
    given_t *given = gantry__heap_zalloc(&tensor->runtime->heap, sizeof *given);
    if (!given) return GANTRY_RESOURCE_EXHAUSTED;
    atomic_init(&given->references, 1);
    given->tensor = gantry_tensor_retain(tensor);
    gantry_status_t status = copies ? read_copy(given) : gantry__tensor_settle(tensor);
    if (status != GANTRY_OK) {
        (void)given_release(given);
        return status;
    }
    *out_given = given;
    return GANTRY_OK;
}

/* Checks the call and reads its options. */
static gantry_status_t check_giving(const gantry_tensor_t *tensor, const char *call,
                                    const gantry_to_dlpack_options_t *given,
                                    gantry_to_dlpack_options_t *options) {
    GANTRY__TRY(gantry__struct_read(given, 0, options, sizeof *options, call));
    GANTRY__TRY(gantry__check_concrete(tensor, call));
    if (options->copies || gantry__is_mappable(tensor)) return GANTRY_OK;
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "%s: the memory of %s is not the host's; a tensor of a CPU device, and with copies of every device, is accepted",
        call, tensor->device->full_name);
}

gantry_status_t gantry__dlpack_give(const gantry_tensor_t *tensor,
                                    const gantry_to_dlpack_options_t *options, const char *call,
                                    struct DLManagedTensorVersioned **out_managed) {
    gantry_to_dlpack_options_t read;
    given_t *given;
    GANTRY__TRY(check_giving(tensor, call, options, &read));
    GANTRY__TRY(make_given(tensor, read.copies, &given));
    struct DLManagedTensorVersioned *managed = &given->managed.versioned;
    managed->version = (gantry__dl_version_t){GANTRY__DLPACK_MAJOR, GANTRY__DLPACK_MINOR};
    managed->manager_ctx = given;
    managed->deleter = delete_versioned;
    managed->flags = read.copies ? GANTRY__DL_IS_COPIED : GANTRY__DL_READ_ONLY;
    describe_given(given, &managed->dl_tensor);
    *out_managed = managed;
    return GANTRY_OK;
}

gantry_status_t gantry_tensor_to_dlpack(const gantry_tensor_t *tensor,
                                        const gantry_to_dlpack_options_t *options,
                                        struct DLManagedTensorVersioned **out_managed) {
    GANTRY__OWN_FP_MODE(fp);
    const char *call = "gantry_tensor_to_dlpack";
    if (!out_managed) return gantry__refuse("%s: out_managed is NULL", call);
    *out_managed = NULL;
    return gantry__dlpack_give(tensor, options, call, out_managed);
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
    GANTRY__TRY(check_giving(tensor, call, options, &read));
    if (!read.copies)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "%s: the struct of DLPack before 1.0 cannot say that memory is read-only; with copies it is accepted",
            call);
    GANTRY__TRY(make_given(tensor, true, &given));
    struct DLManagedTensor *managed = &given->managed.unversioned;
    managed->manager_ctx = given;
    managed->deleter = delete_unversioned;
    describe_given(given, &managed->dl_tensor);
    *out_managed = managed;
    return GANTRY_OK;
}
