/* SPDX-License-Identifier: Apache-2.0 */
/* The steps "gather" and "allocate" of an op (run/eager.c): its inputs where its kernel reads them,
 * and memory for its results. If the result is its input's memory, or is known by now, it is made
 * here, and no kernel is needed. */
#include <string.h>

#include "device/fault.h"
#include "device/logical_device.h"
#include "run/dispatch.h"
#include "run/eager_state.h"

/* ---- gather ---- */

const void *gantry__eager_host_value(void *caller, uint32_t i) {
    gantry__eager_t *eager = caller;
    const gantry_tensor_t *input = eager->inputs[i];
    for (uint32_t k = 0; k < eager->owned_count; ++k) {
        if (eager->owned[k].input == i) return eager->owned[k].bytes;
    }
    const void *data;
    void *owned;
    eager->host_status = gantry__tensor_host_data(input, &data, &owned);
    if (eager->host_status != GANTRY_OK) return NULL;
    if (owned) {
        eager->owned[eager->owned_count].bytes = owned;
        eager->owned[eager->owned_count].size = input->size_bytes;
        eager->owned[eager->owned_count++].input = i;
    }
    return data;
}

static void bind_arg(gantry_arg_t *arg, const gantry_tensor_t *tensor) {
    if (tensor->buffer) {
        arg->span = tensor->buffer->span;
        arg->span.offset_bytes += tensor->offset_bytes;
        arg->span.size_bytes = tensor->size_bytes;
        arg->data = tensor->data;
    } else if (tensor->data) {
        arg->span = (gantry_span_t){(uint64_t)(uintptr_t)tensor->data, 0, tensor->size_bytes};
        arg->data = tensor->data;
    }
}

/* Brings an input to the device; ends_with_op: the copy is for the kernel only, not for a
 * result. */
static gantry_status_t bring_input(gantry__eager_t *eager, uint32_t i, bool ends_with_op,
                                   const gantry_tensor_t **out_local) {
    const gantry_tensor_t *input = eager->inputs[i];
    *out_local = input;
    if (input->device == eager->device) return GANTRY_OK;
    if (!input->is_own)
        GANTRY__TRY(
            gantry__dispatch_check_policy(eager->runtime, eager->op, i, input, eager->device));
    gantry_tensor_t *copy;
    const gantry__allocation_t purpose = {.owner = "copy",
                                          .tag = eager->scope->tag,
                                          .temporary = ends_with_op,
                                          .held = eager->call.temporary_count};
    GANTRY__TRY(gantry__tensor_copy_to(input, eager->device, &purpose, &copy));
    eager->copies[eager->copy_count++] = copy;
    if (copy->buffer && ends_with_op) ++eager->call.temporary_count;
    eager->bytes_copied += input->size_bytes;
    *out_local = copy;
    return GANTRY_OK;
}

/* The definition that flat input i belongs to. */
static uint32_t definition_of(const gantry__eager_t *eager, uint32_t i) {
    const gantry__op_def_t *op = eager->op;
    if (op->input_count == eager->input_count) return i;
    return (uint32_t)(gantry__op_input_arg(op, eager->input_count, i) - op->inputs);
}

/* Whether the kernel need not be made to wait for the point. A profile also waits for points that
 * the device's stream is after. */
static bool is_after(const gantry__eager_t *eager, gantry__point_t point) {
    if (eager->frame) return gantry__point_is_past(point);
    return gantry__stream_is_after(&eager->device->streams[GANTRY_STREAM_COMPUTE], point);
}

static gantry_status_t gather(gantry__eager_t *eager) {
    uint64_t host_inputs = eager->kept->plan.host_inputs[eager->choice];
    for (uint32_t i = 0; i < eager->input_count; ++i) {
        gantry_arg_t *arg = &eager->args[i];
        eager->used[i] = NULL;
        if (host_inputs && host_inputs >> definition_of(eager, i) & 1) {
            const void *data = gantry__eager_host_value(eager, i);
            if (!data) return eager->host_status;
            arg->in_host_memory = 1;
            memcpy(&arg->data, &data, sizeof data); /* kernels do not write inputs */
            continue;
        }
        const gantry_tensor_t *local = eager->inputs[i];
        if (local->device != eager->device) GANTRY__TRY(bring_input(eager, i, true, &local));
        eager->used[i] = local;
        bind_arg(arg, local);
        if (local->ready.stream && !is_after(eager, local->ready))
            eager->points[eager->point_count++] = local->ready;
    }
    return GANTRY_OK;
}

/* ---- allocate ---- */

/* Puts an output into the donor's memory, after pending uses by other streams. */
static gantry_status_t eager_take_over(gantry__eager_t *eager, uint32_t i,
                                       const gantry_tensor_t *donor) {
    GANTRY__TRY(gantry__tensor_reuse(donor, eager->infer.out_dtypes[i], &eager->infer.out_shapes[i],
                                     &eager->made[i]));
    bind_arg(&eager->results[i], eager->made[i]);
    eager->in_place = true;
    if (i > 0) return gantry__buffer_follow_other_uses(donor->buffer); /* points has no room */
    if (!eager->device->synchronous)
        eager->point_count += gantry__buffer_other_uses(donor->buffer, GANTRY_STREAM_COMPUTE,
                                                        eager->points + eager->point_count);
    return GANTRY_OK;
}

gantry_status_t gantry__eager_allocate_output(gantry__eager_t *eager, uint32_t i) {
    const bool may_have_donor =
        (eager->scope->donated_count | eager->scope->overwritten) > 0 && !eager->scope->observer;
    const gantry_tensor_t *donor = may_have_donor ? gantry__eager_find_donor(eager, i) : NULL;
    if (donor) return eager_take_over(eager, i, donor);
    const gantry__allocation_t purpose = {
        .owner = eager->op->name,
        .tag = eager->scope->tag,
        .held = eager->call.temporary_count + eager->call.scratch_count};
    GANTRY__TRY(gantry__tensor_create_for(eager->scope, eager->device, eager->infer.out_dtypes[i],
                                          &eager->infer.out_shapes[i], &purpose, &eager->made[i]));
    bind_arg(&eager->results[i], eager->made[i]);
    return GANTRY_OK;
}

static gantry_status_t eager_allocate(gantry__eager_t *eager) {
    while (eager->made_count < eager->infer.output_count) {
        uint32_t i = eager->made_count++;
        eager->made[i] = NULL;
        if (eager->results[i].element_count >= 0)
            GANTRY__TRY(gantry__eager_allocate_output(eager, i));
    }
    return GANTRY_OK;
}

/* ---- results without a kernel ---- */

gantry_status_t gantry__eager_inherit_faults(gantry__eager_t *eager, gantry__fault_t *fault) {
    if (!fault && !eager->has_faults) return GANTRY_OK;
    for (uint32_t k = 0; k < eager->made_count; ++k) {
        for (uint32_t i = 0; i < eager->input_count; ++i) {
            const gantry_tensor_t *input = eager->inputs[i];
            if (input->fault_count > 0)
                GANTRY__TRY(gantry__tensor_inherit_faults(eager->made[k], input));
        }
        if (fault)
            GANTRY__TRY(gantry__tensor_add_fault(eager->made[k], gantry__fault_retain(fault)));
    }
    return GANTRY_OK;
}

/* Whether the result is a piece of an input on this device, aligned as kernels expect it, and too
 * large for the tensor's object. */
static bool is_piece(const gantry__eager_t *eager) {
    if (eager->infer.piece_first < 0) return false;
    const gantry_tensor_t *input = eager->inputs[0];
    const uint64_t size = gantry_dtype_size(input->dtype),
                   first = (uint64_t)eager->infer.piece_first * size;
    return input->buffer && input->device == eager->device &&
           (uint64_t)eager->results[0].element_count * size > GANTRY__INLINE_BYTES &&
           gantry__buffer_is_aligned(input->buffer, input->offset_bytes + first);
}

static gantry_status_t make_piece(gantry__eager_t *eager) {
    const gantry_tensor_t *input = eager->inputs[0];
    const uint64_t first = (uint64_t)eager->infer.piece_first * gantry_dtype_size(input->dtype);
    GANTRY__TRY(gantry__tensor_view(input, first, &eager->infer.out_shapes[0], &eager->made[0]));
    eager->made_count = 1;
    return gantry__tensor_inherit_faults(eager->made[0], input);
}

/* Makes a result that does not depend on the inputs' elements. */
static gantry_status_t make_known(gantry__eager_t *eager) {
    const unsigned char value = (unsigned char)eager->infer.known_bool;
    GANTRY__TRY(gantry__tensor_from_host_for(eager->scope, eager->device, GANTRY_BOOL,
                                             &eager->infer.out_shapes[0], &value, &eager->made[0]));
    eager->made_count = 1;
    return gantry__eager_inherit_faults(eager, NULL);
}

/* A view of the program's may begin where elements of the result's type may not: it is copied. */
static gantry_status_t align_input(gantry__eager_t *eager, const gantry_tensor_t **local) {
    const gantry__allocation_t purpose = {.owner = eager->op->name, .tag = eager->scope->tag};
    gantry_tensor_t **aligned = &eager->copies[eager->copy_count++];
    *aligned = gantry_tensor_retain(*local);
    GANTRY__TRY(
        gantry__tensor_align(aligned, gantry_dtype_size(eager->infer.out_dtypes[0]), &purpose));
    *local = *aligned;
    return GANTRY_OK;
}

static gantry_status_t make_alias(gantry__eager_t *eager) {
    const gantry_tensor_t *local;
    const gantry_dtype_t dtype = eager->infer.out_dtypes[0];
    GANTRY__TRY(bring_input(eager, 0, false, &local));
    if (dtype != local->dtype) GANTRY__TRY(align_input(eager, &local));
    GANTRY__TRY(
        gantry__tensor_alias(eager->scope, local, &eager->infer.out_shapes[0], &eager->made[0]));
    eager->made_count = 1;
    if (dtype != local->dtype) gantry__tensor_retype(eager->made[0], dtype);
    return gantry__tensor_inherit_faults(eager->made[0], eager->inputs[0]);
}

/* ---- both steps ---- */

gantry_status_t gantry__eager_make_results(gantry__eager_t *eager, bool *out_computes) {
    *out_computes = false;
    if (eager->infer.known_bool >= 0) return make_known(eager);
    if (eager->op->flags & GANTRY__OP_ALIAS) return make_alias(eager);
    if (is_piece(eager)) return make_piece(eager);
    *out_computes = true;
    GANTRY__TRY(gather(eager));
    (void)gantry__profile_enter(eager->frame, GANTRY__PHASE_ALLOCATION);
    return eager_allocate(eager);
}
