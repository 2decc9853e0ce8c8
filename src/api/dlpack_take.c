/* SPDX-License-Identifier: Apache-2.0 */
/* The calls of dlpack.h that take a struct: its memory becomes a tensor in place, or its elements
 * are copied. */
#include <string.h>

#include "api/dlpack.h"
#include "base/fp_mode.h"
#include "run/scope_state.h"
#include "run/trace_hooks.h"
#include "shared/struct_size.h"

/* Elements in the order of their indices. The dimensions from `outer` on are adjacent. */
typedef struct gather_t {
    const gantry_shape_t *shape;
    const int64_t *strides; /* in elements */
    int64_t size;           /* of an element */
    int32_t outer;
    size_t run_bytes; /* that are adjacent */
} gather_t;

static gather_t begin_gather(const gantry__memory_t *memory, const int64_t *strides) {
    const gantry_shape_t *shape = &memory->shape;
    int32_t outer = shape->rank;
    int64_t run = 1;
    while (outer > 0 && (shape->dims[outer - 1] == 1 || strides[outer - 1] == run))
        run *= shape->dims[--outer];
    const size_t size = gantry_dtype_size(memory->dtype);
    return (gather_t){shape, strides, (int64_t)size, outer, (size_t)run * size};
}

/* Copies the elements of one dimension and those in it; returns the end of what was written. */
static unsigned char *gather_strided(const gather_t *gather, int32_t dim, unsigned char *out,
                                     const unsigned char *in) {
    if (dim == gather->outer) {
        memcpy(out, in, gather->run_bytes);
        return out + gather->run_bytes;
    }
    const int64_t count = gather->shape->dims[dim];
    /* of one element, the stride leads nowhere and may be any number */
    const int64_t step = count > 1 ? gather->strides[dim] * gather->size : 0;
    for (int64_t i = 0; i < count; ++i) out = gather_strided(gather, dim + 1, out, in + i * step);
    return out;
}

static gantry_status_t make_gathered(gantry_scope_t *scope, const gantry__dl_taken_t *taken,
                                     const gantry__memory_t *memory, gantry_tensor_t **out_tensor) {
    const gantry__allocation_t purpose = {.owner = "Const", .tag = scope->tag};
    const gather_t gather = begin_gather(memory, taken->tensor->strides);
    gantry_logical_device_t *host;
    GANTRY__TRY(gantry__open_host(scope, &host));
    GANTRY__TRY(gantry__tensor_create_for(scope, host, memory->dtype, &memory->shape, &purpose,
                                          out_tensor));
    unsigned char *out = (*out_tensor)->data;
    (void)gather_strided(&gather, 0, out, memory->data);
    for (size_t i = 0; memory->dtype == GANTRY_BOOL && i < memory->bytes; ++i) out[i] = out[i] != 0;
    return scope->trace ? gantry__trace_constant(scope, *out_tensor) : GANTRY_OK;
}

static gantry_status_t take_strided(gantry_scope_t *scope, const gantry__dl_taken_t *taken,
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
    memory->options.release(memory->options.user);
    *out_tensor = tensor;
    return GANTRY_OK;
}

bool gantry__dlpack_is_writable(const gantry__dl_taken_t *taken) {
    return (taken->flags & (GANTRY__DL_IS_COPIED | GANTRY__DL_READ_ONLY)) == GANTRY__DL_IS_COPIED;
}

static gantry_status_t take_host(gantry_scope_t *scope, const gantry__dl_taken_t *taken,
                                 const gantry_from_dlpack_options_t *options,
                                 gantry_tensor_t **out_tensor) {
    gantry__memory_t memory = {.options = {.struct_size = sizeof memory.options,
                                           .requires_no_copy = options->requires_no_copy,
                                           .is_writable = gantry__dlpack_is_writable(taken),
                                           .release = gantry__dlpack_release}};
    gantry__dl_extent_t extent;
    gantry__dl_held_t *held;
    GANTRY__TRY(gantry__dlpack_read(taken, &memory, &extent));
    if (gantry__dlpack_is_queue(options->stream))
        return gantry__refuse("%s: stream is %p for memory of the host; NULL is accepted",
                              taken->call, options->stream);
    GANTRY__TRY(gantry__dlpack_hold(scope->runtime, taken, &held));
    memory.options.user = held;
    gantry_status_t status =
        memory.bytes > 0 && !gantry__dlpack_is_row_major(&memory.shape, taken->tensor->strides)
            ? take_strided(scope, taken, &memory, out_tensor)
            : gantry__from_memory(scope, &memory, taken->call, out_tensor);
    if (status != GANTRY_OK) gantry__dlpack_unhold(held);
    return status;
}

static gantry_status_t take_dlpack(gantry_scope_t *scope, const gantry__dl_taken_t *taken,
                                   const gantry_from_dlpack_options_t *options,
                                   gantry_tensor_t **out_tensor) {
    return gantry__dlpack_is_device(taken->tensor)
               ? gantry__dlpack_take_device(scope, taken, options, out_tensor)
               : take_host(scope, taken, options, out_tensor);
}

gantry_status_t gantry__dlpack_take(gantry_scope_t *scope, struct DLManagedTensorVersioned *managed,
                                    const gantry_from_dlpack_options_t *options, const char *call,
                                    gantry_tensor_t **out_tensor) {
    if (managed->version.major != GANTRY__DLPACK_MAJOR)
        return gantry__refuse("%s: a tensor of DLPack %u.%u; version %d of any minor is accepted",
                              call, managed->version.major, managed->version.minor,
                              GANTRY__DLPACK_MAJOR);
    const gantry__dl_taken_t taken = {
        .call = call, .versioned = managed, .tensor = &managed->dl_tensor, .flags = managed->flags};
    return take_dlpack(scope, &taken, options, out_tensor);
}

static gantry_status_t from_dlpack(gantry_scope_t *scope, struct DLManagedTensorVersioned *managed,
                                   const gantry_from_dlpack_options_t *options,
                                   gantry_tensor_t **out_tensor) {
    const char *call = "gantry_tensor_from_dlpack";
    gantry_from_dlpack_options_t read;
    if (!managed) return gantry__refuse("%s: managed is NULL", call);
    GANTRY__TRY(gantry__struct_read(options, 0, &read, sizeof read, call));
    return gantry__dlpack_take(scope, managed, &read, call, out_tensor);
}

const gantry_tensor_t *gantry_tensor_from_dlpack(gantry_scope_t *scope,
                                                 struct DLManagedTensorVersioned *managed,
                                                 const gantry_from_dlpack_options_t *options) {
    GANTRY__OWN_FP_MODE(fp);
    if (gantry__scope_check(scope) != GANTRY_OK) return NULL;
    gantry_tensor_t *tensor = NULL;
    gantry_status_t status = from_dlpack(scope, managed, options, &tensor);
    if (status != GANTRY_OK) (void)gantry__scope_fail(scope, status);
    return tensor;
}

static gantry_status_t from_dlpack_old(gantry_scope_t *scope, struct DLManagedTensor *managed,
                                       const gantry_from_dlpack_options_t *options,
                                       gantry_tensor_t **out_tensor) {
    const char *call = "gantry_tensor_from_dlpack_unversioned";
    gantry_from_dlpack_options_t read;
    if (!managed) return gantry__refuse("%s: managed is NULL", call);
    GANTRY__TRY(gantry__struct_read(options, 0, &read, sizeof read, call));
    const gantry__dl_taken_t taken = {.call = call, .old = managed, .tensor = &managed->dl_tensor};
    return take_dlpack(scope, &taken, &read, out_tensor);
}

const gantry_tensor_t *gantry_tensor_from_dlpack_unversioned(
    gantry_scope_t *scope, struct DLManagedTensor *managed,
    const gantry_from_dlpack_options_t *options) {
    GANTRY__OWN_FP_MODE(fp);
    if (gantry__scope_check(scope) != GANTRY_OK) return NULL;
    gantry_tensor_t *tensor = NULL;
    gantry_status_t status = from_dlpack_old(scope, managed, options, &tensor);
    if (status != GANTRY_OK) (void)gantry__scope_fail(scope, status);
    return tensor;
}
