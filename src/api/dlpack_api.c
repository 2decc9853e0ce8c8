/* SPDX-License-Identifier: Apache-2.0 */
/* The C functions of dlpack.h, in this order: reading the struct; taking a tensor, in place or
 * element by element; giving one. */
#include <gantry/dlpack.h>

#include <inttypes.h>
#include <string.h>

#include "api/dlpack_abi.h"
#include "api/interop.h"
#include "base/fp_mode.h"
#include "run/scope_state.h"
#include "run/trace_hooks.h"
#include "shared/struct_size.h"

#include "ops/type_rows.h"

/* ---- the struct ---- */

/* A DLPack tensor that a program gave; deleter has one of both types. */
typedef struct taken_t {
    const char *call;
    const gantry__dl_tensor_t *tensor;
    gantry_release_fn release;
    void *managed;
} taken_t;

static const int32_t types[] = {
#define TYPE(short) GANTRY_ID_##short,
    GANTRY_ELEMENT_TYPES(TYPE)
#undef TYPE
};

static gantry_status_t check_device(const taken_t *taken) {
    const int32_t type = taken->tensor->device_type;
    if (type == GANTRY__DL_CPU || type == GANTRY__DL_CUDA_HOST || type == GANTRY__DL_ROCM_HOST)
        return GANTRY_OK;
    return gantry__refuse(
        "%s: the memory is of DLPack's device type %d, device %d; memory of the host is accepted: kDLCPU (1), kDLCUDAHost (3) and kDLROCMHost (11)",
        taken->call, (int)type, (int)taken->tensor->device_id);
}

static gantry_status_t read_dl_type(const taken_t *taken, gantry_dtype_t *out_dtype) {
    const gantry__dl_tensor_t *tensor = taken->tensor;
    for (size_t i = 0; tensor->dtype.lanes == 1 && i < sizeof types / sizeof types[0]; ++i) {
        if (gantry__type_dlpack(types[i]) != tensor->dtype.code ||
            gantry__type_bytes(types[i]) * 8 != tensor->dtype.bits)
            continue;
        *out_dtype = (gantry_dtype_t)types[i];
        return GANTRY_OK;
    }
    return gantry__refuse(
        "%s: DLPack's type of code %u, %u bits and %u lanes is none of gantry_dtype_t; one lane of those types is accepted",
        taken->call, tensor->dtype.code, tensor->dtype.bits, tensor->dtype.lanes);
}

static gantry_status_t read_shape(const taken_t *taken, gantry_shape_t *out_shape) {
    const gantry__dl_tensor_t *tensor = taken->tensor;
    if (tensor->ndim < 0 || tensor->ndim > GANTRY_MAX_RANK || (tensor->ndim > 0 && !tensor->shape))
        return gantry__refuse(
            "%s: %d dimensions%s; 0 to %d dimensions with their sizes are accepted", taken->call,
            (int)tensor->ndim, tensor->shape ? "" : " without sizes", GANTRY_MAX_RANK);
    *out_shape = (gantry_shape_t){.rank = tensor->ndim};
    for (int32_t i = 0; i < tensor->ndim; ++i) out_shape->dims[i] = tensor->shape[i];
    const int64_t elements = gantry_shape_elements(out_shape);
    if (elements >= 0 && (elements == 0 || tensor->data)) return GANTRY_OK;
    char text[GANTRY_MAX_RANK * 24];
    (void)gantry_shape_format(out_shape, text, sizeof text);
    return elements < 0
               ? gantry__refuse("%s: shape %s is not possible; dimensions from 0 on are accepted",
                                taken->call, text)
               : gantry__refuse("%s: data of shape %s is NULL; an address is accepted", taken->call,
                                text);
}

/* The distances of elements in bytes must not leave the numbers that an address has. */
static gantry_status_t check_strides(const taken_t *taken, const gantry__memory_t *memory) {
    const int64_t size = (int64_t)gantry_dtype_size(memory->dtype);
    const int64_t *strides = taken->tensor->strides;
    for (int32_t i = 0; strides && memory->bytes > 0 && i < memory->shape.rank; ++i) {
        const int64_t most = INT64_MAX / 16 / size / memory->shape.dims[i];
        if (memory->shape.dims[i] == 1) continue; /* its stride leads nowhere */
        if (strides[i] < -most || strides[i] > most)
            return gantry__refuse("%s: stride %" PRId64 " of dimension %d; -%" PRId64 " to %" PRId64
                                  " is accepted",
                                  taken->call, strides[i], (int)i, most, most);
    }
    return GANTRY_OK;
}

static gantry_status_t read_memory(const taken_t *taken, gantry__memory_t *memory) {
    GANTRY__TRY(check_device(taken));
    GANTRY__TRY(read_dl_type(taken, &memory->dtype));
    GANTRY__TRY(read_shape(taken, &memory->shape));
    memory->bytes =
        (size_t)gantry_shape_elements(&memory->shape) * gantry_dtype_size(memory->dtype);
    if (memory->bytes > 0)
        memory->data = (unsigned char *)taken->tensor->data + taken->tensor->byte_offset;
    return check_strides(taken, memory);
}

static bool is_row_major(const gantry_shape_t *shape, const int64_t *strides) {
    int64_t wanted = 1;
    for (int32_t i = shape->rank; strides && i-- > 0; wanted *= shape->dims[i]) {
        if (shape->dims[i] > 1 && strides[i] != wanted) return false;
    }
    return true;
}

/* ---- taking ---- */

/* Copies the elements of one dimension and those in it; returns the end of what was written. */
static unsigned char *gather_strided(unsigned char *out, const unsigned char *in,
                                     const gantry_shape_t *shape, const int64_t *strides,
                                     int32_t dim, size_t size) {
    if (dim == shape->rank) {
        memcpy(out, in, size);
        return out + size;
    }
    for (int64_t i = 0; i < shape->dims[dim]; ++i)
        out = gather_strided(out, in + i * strides[dim] * (int64_t)size, shape, strides, dim + 1,
                             size);
    return out;
}

static gantry_status_t make_gathered(gantry_scope_t *scope, const taken_t *taken,
                                     const gantry__memory_t *memory, gantry_tensor_t **out_tensor) {
    const gantry__allocation_t purpose = {.owner = "Const", .tag = scope->tag};
    gantry_logical_device_t *host;
    GANTRY__TRY(gantry__open_host(scope, &host));
    GANTRY__TRY(gantry__tensor_create_for(scope, host, memory->dtype, &memory->shape, &purpose,
                                          out_tensor));
    unsigned char *out = (*out_tensor)->data;
    (void)gather_strided(out, memory->data, &memory->shape, taken->tensor->strides, 0,
                         gantry_dtype_size(memory->dtype));
    for (size_t i = 0; memory->dtype == GANTRY_BOOL && i < memory->bytes; ++i) out[i] = out[i] != 0;
    return scope->trace ? gantry__trace_constant(scope, *out_tensor) : GANTRY_OK;
}

static gantry_status_t take_strided(gantry_scope_t *scope, const taken_t *taken,
                                    const gantry__memory_t *memory, gantry_tensor_t **out_tensor) {
    gantry_tensor_t *tensor = NULL;
    if (memory->options.requires_no_copy)
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "%s: requires_no_copy: the strides are not those of row-major order, which is accepted",
            taken->call);
    gantry_status_t status = make_gathered(scope, taken, memory, &tensor);
    if (status != GANTRY_OK) {
        gantry_tensor_release(tensor);
        return status;
    }
    gantry__scope_adopt(scope, tensor);
    taken->release(taken->managed);
    *out_tensor = tensor;
    return GANTRY_OK;
}

static gantry_status_t take_dlpack(gantry_scope_t *scope, const taken_t *taken,
                                   const gantry_from_dlpack_options_t *given,
                                   gantry_tensor_t **out_tensor) {
    gantry_from_dlpack_options_t options;
    GANTRY__TRY(gantry__struct_read(given, 0, &options, sizeof options, taken->call));
    gantry__memory_t memory = {.options = {.struct_size = sizeof memory.options,
                                           .requires_no_copy = options.requires_no_copy,
                                           .release = taken->release,
                                           .user = taken->managed}};
    GANTRY__TRY(read_memory(taken, &memory));
    if (memory.bytes > 0 && !is_row_major(&memory.shape, taken->tensor->strides))
        return take_strided(scope, taken, &memory, out_tensor);
    return gantry__from_memory(scope, &memory, taken->call, out_tensor);
}

static void delete_versioned(void *managed) {
    struct DLManagedTensorVersioned *self = managed;
    if (self->deleter) self->deleter(self);
}

static void delete_unversioned(void *managed) {
    struct DLManagedTensor *self = managed;
    if (self->deleter) self->deleter(self);
}

static gantry_status_t check_dlpack_version(const struct DLManagedTensorVersioned *managed,
                                            const char *call) {
    if (managed->version.major == GANTRY__DLPACK_MAJOR) return GANTRY_OK;
    return gantry__refuse("%s: a tensor of DLPack %u.%u; version %d of any minor is accepted", call,
                          managed->version.major, managed->version.minor, GANTRY__DLPACK_MAJOR);
}

const gantry_tensor_t *gantry_tensor_from_dlpack(gantry_scope_t *scope,
                                                 struct DLManagedTensorVersioned *managed,
                                                 const gantry_from_dlpack_options_t *options) {
    GANTRY__OWN_FP_MODE(fp);
    if (gantry__scope_check(scope) != GANTRY_OK) return NULL;
    gantry_tensor_t *tensor = NULL;
    const char *call = "gantry_tensor_from_dlpack";
    const taken_t taken = {call, managed ? &managed->dl_tensor : NULL, delete_versioned, managed};
    gantry_status_t status =
        managed ? check_dlpack_version(managed, call) : gantry__refuse("%s: managed is NULL", call);
    if (status == GANTRY_OK) status = take_dlpack(scope, &taken, options, &tensor);
    if (status != GANTRY_OK) (void)gantry__scope_fail(scope, status);
    return tensor;
}

const gantry_tensor_t *gantry_tensor_from_dlpack_unversioned(
    gantry_scope_t *scope, struct DLManagedTensor *managed,
    const gantry_from_dlpack_options_t *options) {
    GANTRY__OWN_FP_MODE(fp);
    if (gantry__scope_check(scope) != GANTRY_OK) return NULL;
    gantry_tensor_t *tensor = NULL;
    const char *call = "gantry_tensor_from_dlpack_unversioned";
    const taken_t taken = {call, managed ? &managed->dl_tensor : NULL, delete_unversioned, managed};
    gantry_status_t status = managed ? take_dlpack(scope, &taken, options, &tensor)
                                     : gantry__refuse("%s: managed is NULL", call);
    if (status != GANTRY_OK) (void)gantry__scope_fail(scope, status);
    return tensor;
}

/* ---- giving ---- */

/* A managed tensor with all that it points to. */
typedef struct given_t {
    union {
        struct DLManagedTensorVersioned versioned;
        struct DLManagedTensor unversioned;
    } managed; /* the first field: its address is this struct's */
    int64_t shape[GANTRY_MAX_RANK], strides[GANTRY_MAX_RANK];
    gantry_tensor_t *tensor;
    void *copy; /* the elements in heap memory; NULL: the tensor's are given */
} given_t;

static void given_free(given_t *given) {
    gantry_tensor_t *tensor = given->tensor;
    if (!gantry__runtime_is_ours(tensor->runtime)) return;
    const gantry__heap_t *heap = &tensor->runtime->heap;
    gantry__heap_free(heap, given->copy, tensor->size_bytes);
    gantry__heap_free(heap, given, sizeof *given);
    gantry_tensor_release(tensor);
}

static void free_versioned(struct DLManagedTensorVersioned *self) { given_free(self->manager_ctx); }
static void free_unversioned(struct DLManagedTensor *self) { given_free(self->manager_ctx); }

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
    given->tensor = gantry_tensor_retain(tensor);
    gantry_status_t status = copies ? read_copy(given) : gantry__tensor_settle(tensor);
    if (status != GANTRY_OK) {
        given_free(given);
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

gantry_status_t gantry_tensor_to_dlpack(const gantry_tensor_t *tensor,
                                        const gantry_to_dlpack_options_t *options,
                                        struct DLManagedTensorVersioned **out_managed) {
    GANTRY__OWN_FP_MODE(fp);
    const char *call = "gantry_tensor_to_dlpack";
    gantry_to_dlpack_options_t read;
    given_t *given;
    if (!out_managed) return gantry__refuse("%s: out_managed is NULL", call);
    *out_managed = NULL;
    GANTRY__TRY(check_giving(tensor, call, options, &read));
    GANTRY__TRY(make_given(tensor, read.copies, &given));
    struct DLManagedTensorVersioned *managed = &given->managed.versioned;
    managed->version.major = GANTRY__DLPACK_MAJOR;
    managed->version.minor = GANTRY__DLPACK_MINOR;
    managed->manager_ctx = given;
    managed->deleter = free_versioned;
    managed->flags = read.copies ? GANTRY__DL_IS_COPIED : GANTRY__DL_READ_ONLY;
    describe_given(given, &managed->dl_tensor);
    *out_managed = managed;
    return GANTRY_OK;
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
    managed->deleter = free_unversioned;
    describe_given(given, &managed->dl_tensor);
    *out_managed = managed;
    return GANTRY_OK;
}
