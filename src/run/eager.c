/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one op:
 *
 *   infer     types and shapes of the results; host inputs are read here when a shape depends on
 *             them
 *   plan      device and kernels, from the plan cache or the placer
 *   gather    inputs: host pointers, or memory on that device (copied there from elsewhere)
 *   allocate  results whose shape is known: in new memory, or in that of a donated input
 *   compute   the kernel makes the other results (their shape depends on data: it reads counts back
 *             first) and submits to the device's compute stream, after the points at which its
 *             inputs become ready
 *   publish   results carry the point they are ready at and the faults they depend on; the record
 *             is written
 *
 * If a profile is recorded, its frame is switched at each step (run/profile.h). If the result is
 * its input's memory (another shape of it, an aligned piece), or is known by now, nothing is
 * gathered, allocated or computed. A composed op is inferred here and then runs its parts, each of
 * which comes this way (src/compose). Everything lives on the stack until publish. A failure at any
 * step releases the intermediate objects, and the scope keeps it. */
#include "run/eager.h"

#include <stdio.h>
#include <string.h>

#include "base/fp_mode.h"
#include "device/device_open.h"
#include "device/fault.h"
#include "device/loss.h"
#include "run/composed.h"
#include "run/dispatch.h"
#include "run/observe.h"
#include "run/trace_hooks.h"

/* Calls with at most this many inputs have a small frame. */
#define FEW_INPUTS 12
#define FEW_OUTPUTS 6

/* Sets the counters only: the arrays are filled as far as they are used. */
static void eager_begin(gantry__eager_t *eager) {
    eager->kept = NULL;
    eager->device = NULL;
    eager->exhausted = NULL;
    eager->choice = 0;
    eager->in_place = eager->has_faults = false;
    eager->bytes_copied = 0;
    eager->host_status = GANTRY_OK;
    eager->copy_count = eager->owned_count = eager->made_count = eager->point_count = 0;
}

static void eager_end(gantry__eager_t *eager) {
    for (uint32_t i = 0; i < eager->copy_count; ++i) gantry_tensor_release(eager->copies[i]);
    for (uint32_t i = 0; i < eager->owned_count; ++i)
        gantry__heap_free(&eager->runtime->heap, eager->owned[i].bytes, eager->owned[i].size);
    for (uint32_t i = 0; i < eager->made_count; ++i) gantry_tensor_release(eager->made[i]);
}

/* ---- infer ---- */

static gantry_status_t check_inputs(gantry__eager_t *eager) {
    for (uint32_t i = 0; i < eager->input_count; ++i) {
        const gantry_tensor_t *input = eager->inputs[i];
        if (!input) {
            const gantry__op_arg_t *arg = gantry__op_input_arg(eager->op, eager->input_count, i);
            return gantry__fail(GANTRY_INVALID_ARGUMENT,
                                "op %s: input %u (%s) is NULL; a tensor is accepted",
                                eager->op->name, i, arg ? arg->name : "one too many");
        }
        if (input->runtime != eager->runtime) {
            return gantry__fail(
                GANTRY_INVALID_ARGUMENT,
                "op %s: input %u belongs to another runtime; tensors of the scope's runtime are accepted",
                eager->op->name, i);
        }
        if (input->is_symbolic)
            GANTRY__TRY(gantry__trace_check_input(eager->scope, input, eager->op->name, i));
        eager->has_faults |= input->fault_count > 0 && gantry__tensor_has_faults(input);
    }
    return GANTRY_OK;
}

/* The elements of an input on the host; waits if it is on a device. */
static const void *host_value(void *caller, uint32_t i) {
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

static gantry_status_t check_room(const gantry__eager_t *eager) {
    if (eager->infer.output_count <= eager->room) return GANTRY_OK;
    return gantry__fail(GANTRY_INVALID_ARGUMENT, "op %s has %u outputs; room for %zu is given",
                        eager->op->name, eager->infer.output_count, eager->room);
}

static inline gantry_status_t infer(gantry__eager_t *eager, bool is_traced) {
    gantry__infer_t *call = &eager->infer;
    call->op = eager->op;
    call->input_count = eager->input_count;
    call->host_value = host_value;
    call->caller = eager;
    call->symbolic = 0;
    call->is_open = false;
    for (uint32_t i = 0; i < eager->input_count; ++i) {
        call->shapes[i] = &eager->inputs[i]->shape;
        call->dtypes[i] = eager->inputs[i]->dtype;
    }
    gantry_status_t status = is_traced ? gantry__eager_infer_in_trace(eager)
                                       : gantry__op_infer(call, eager->attrs, eager->attr_count);
    if (status == GANTRY_OK) return check_room(eager);
    return eager->host_status != GANTRY_OK ? eager->host_status : status;
}

/* ---- plan ---- */

static void fill_arg(gantry_arg_t *arg, gantry_dtype_t dtype, const gantry_shape_t *shape,
                     int64_t elements) {
    arg->struct_size = sizeof *arg;
    arg->dtype = (int32_t)dtype;
    arg->rank = shape->rank;
    arg->in_host_memory = 0;
    arg->dims = shape->dims;
    arg->element_count = elements;
    arg->span = (gantry_span_t){0, 0, 0};
    arg->data = NULL;
}

/* Describes the call for a kernel's supports(). */
static void describe_call(gantry__eager_t *eager) {
    gantry_op_call_t *abi = &eager->call.abi;
    abi->input_count = eager->input_count;
    abi->output_count = eager->infer.output_count;
    abi->attr_count = eager->op->attr_count;
    abi->inputs = eager->input_args;
    abi->outputs = eager->output_args;
    abi->attrs = eager->attr_args;
    abi->op = eager->op->name;
    abi->kernel = NULL;
    for (uint32_t i = 0; i < eager->input_count; ++i) {
        eager->input_args[i] = &eager->args[i];
        fill_arg(&eager->args[i], eager->inputs[i]->dtype, &eager->inputs[i]->shape,
                 eager->inputs[i]->elements);
    }
    for (uint32_t i = 0; i < eager->infer.output_count; ++i) {
        eager->output_args[i] = &eager->results[i];
        fill_arg(eager->output_args[i], eager->infer.out_dtypes[i], &eager->infer.out_shapes[i],
                 gantry_shape_elements(&eager->infer.out_shapes[i]));
    }
    for (uint32_t i = 0; i < eager->op->attr_count; ++i)
        eager->attr_args[i] = &eager->infer.attrs[i];
}

/* Chooses the first kernel of the plan that takes these shapes; false if all decline. */
static bool choose_kernel(gantry__eager_t *eager) {
    const gantry__plan_t *plan = &eager->kept->plan;
    for (eager->choice = 0; eager->choice < plan->kernel_count; ++eager->choice) {
        const gantry_kernel_def_t *def = plan->kernels[eager->choice]->def;
        eager->call.abi.kernel = def;
        if (!def->supports || def->supports(&eager->call.abi)) return true;
    }
    return false;
}

/* Plans without the shapes first, because such a plan is kept. If all kernels of its device
 * decline, places the op again with the shapes. A device that was not open could not judge them
 * then, so this may repeat once for each device. */
static gantry_status_t plan(gantry__eager_t *eager) {
    const gantry__wish_t *wish;
    GANTRY__TRY(gantry__eager_wish(eager, &wish));
    gantry__place_request_t request = gantry__dispatch_request(
        eager->runtime, eager->op, eager->infer.attrs, wish, eager->pinned);
    request.exhausted = eager->exhausted;
    for (;;) {
        GANTRY__TRY(gantry__dispatch_plan(eager->runtime, &request, &eager->kept));
        eager->device = eager->kept->plan.device;
        bool was_open = atomic_load_explicit(&eager->device->is_open, memory_order_acquire);
        GANTRY__TRY(gantry__logical_device_open(eager->device));
        /* opening may have given the card to its other view, which has other kernels; from now on
         * the view stays */
        if (eager->kept->plan.view != gantry__logical_view(eager->device)) continue;
        gantry__call_init(&eager->call, eager->device, NULL, 0);
        if (choose_kernel(eager)) break;
        if (request.call && was_open) {
            return gantry__fail(GANTRY_INTERNAL,
                                "op %s: the kernels of %s accepted this call and now decline it",
                                eager->op->name, eager->device->name);
        }
        request.call = &eager->call.abi;
    }
    eager->call.tag = eager->scope->tag;
    eager->call.frame = eager->frame;
    eager->call.part_of = eager->scope->called ? eager->scope->called->name : NULL;
    return gantry__runtime_programs(eager->runtime, eager->device, &eager->call.programs);
}

/* ---- gather and allocate ---- */

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

static gantry_status_t gather(gantry__eager_t *eager) {
    uint64_t host_inputs = eager->kept->plan.host_inputs[eager->choice];
    for (uint32_t i = 0; i < eager->input_count; ++i) {
        gantry_arg_t *arg = &eager->args[i];
        eager->used[i] = NULL;
        if (host_inputs && host_inputs >> definition_of(eager, i) & 1) {
            const void *data = host_value(eager, i);
            if (!data) return eager->host_status;
            arg->in_host_memory = 1;
            memcpy(&arg->data, &data, sizeof data); /* kernels do not write inputs */
            continue;
        }
        const gantry_tensor_t *local = eager->inputs[i];
        if (local->device != eager->device) GANTRY__TRY(bring_input(eager, i, true, &local));
        eager->used[i] = local;
        bind_arg(arg, local);
        if (local->ready.stream && !gantry__point_is_past(local->ready))
            eager->points[eager->point_count++] = local->ready;
    }
    return GANTRY_OK;
}

/* Puts an output into the donor's memory, after pending uses by other streams. */
static gantry_status_t eager_take_over(gantry__eager_t *eager, uint32_t i,
                                       const gantry_tensor_t *donor) {
    GANTRY__TRY(gantry__tensor_reuse(donor, eager->infer.out_dtypes[i], &eager->infer.out_shapes[i],
                                     &eager->made[i]));
    bind_arg(eager->output_args[i], eager->made[i]);
    eager->in_place = true;
    if (i > 0) return gantry__buffer_follow_other_uses(donor->buffer); /* points has no room */
    if (!eager->device->synchronous)
        eager->point_count += gantry__buffer_other_uses(donor->buffer, GANTRY_STREAM_COMPUTE,
                                                        eager->points + eager->point_count);
    return GANTRY_OK;
}

static gantry_status_t allocate_output(gantry__eager_t *eager, uint32_t i) {
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
    bind_arg(eager->output_args[i], eager->made[i]);
    return GANTRY_OK;
}

static gantry_status_t eager_allocate(gantry__eager_t *eager) {
    while (eager->made_count < eager->infer.output_count) {
        uint32_t i = eager->made_count++;
        eager->made[i] = NULL;
        if (eager->output_args[i]->element_count >= 0) GANTRY__TRY(allocate_output(eager, i));
    }
    return GANTRY_OK;
}

/* ---- results whose shape depends on data ---- */

static gantry_status_t check_made_shape(const gantry__eager_t *eager, uint32_t index,
                                        const gantry_shape_t *given) {
    const gantry_shape_t *inferred = &eager->infer.out_shapes[index];
    bool agrees = given->rank == inferred->rank && gantry_shape_elements(given) >= 0;
    for (int32_t k = 0; agrees && k < given->rank; ++k)
        agrees = inferred->dims[k] == -1 || inferred->dims[k] == given->dims[k];
    if (agrees) return GANTRY_OK;
    char from_kernel[GANTRY_MAX_RANK * 21 + 3], from_op[GANTRY_MAX_RANK * 21 + 3];
    (void)gantry_shape_format(given, from_kernel, sizeof from_kernel);
    (void)gantry_shape_format(inferred, from_op, sizeof from_op);
    return gantry__fail(GANTRY_INTERNAL,
                        "kernel of %s makes output %u as %s; by the op's definition it is %s",
                        eager->op->name, index, from_kernel, from_op);
}

/* Implements the service allocate_output. */
static int32_t eager_make_output(gantry__call_t *call, uint32_t index, int32_t rank,
                                 const int64_t *dims) {
    gantry__eager_t *eager = call->caller;
    if (index >= eager->made_count || eager->output_args[index]->element_count >= 0) {
        return (int32_t)gantry__fail(
            GANTRY_INTERNAL, "kernel of %s makes output %u, which %s", eager->op->name, index,
            index < eager->made_count ? "is there already" : "does not exist");
    }
    gantry_shape_t shape = {.rank = rank};
    for (int32_t k = 0; k < rank && k < GANTRY_MAX_RANK; ++k) shape.dims[k] = dims[k];
    gantry_status_t status = check_made_shape(eager, index, &shape);
    if (status != GANTRY_OK) return (int32_t)status;
    eager->infer.out_shapes[index] = shape;
    eager->output_args[index]->element_count = gantry_shape_elements(&shape);
    return (int32_t)allocate_output(eager, index);
}

static gantry_status_t check_all_made(const gantry__eager_t *eager) {
    for (uint32_t i = 0; i < eager->made_count; ++i) {
        if (!eager->made[i])
            return gantry__fail(GANTRY_INTERNAL, "kernel of %s succeeded without making output %u",
                                eager->op->name, i);
    }
    return GANTRY_OK;
}

/* ---- compute ---- */

static gantry_status_t inherit_faults(gantry__eager_t *eager, gantry__fault_t *fault) {
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

/* Writes the place of the op, and keeps the inputs whose bad value the text of the fault names. */
static void prepare_text(const gantry__eager_t *eager, gantry__fault_t *fault) {
    const gantry_fault_words_t *words = &fault->words;
    if (eager->scope->place) gantry__eager_print_place(eager, fault->text);
    if (!words->value_text || words->value_input < 0 ||
        words->value_input >= (int32_t)eager->input_count)
        return;
    const gantry_tensor_t *input = eager->inputs[words->value_input];
    if (input->buffer && input->device == eager->device)
        gantry__fault_keep_values(fault, input->buffer, input->offset_bytes, (int32_t)input->dtype);
}

static void mark_uses(gantry__eager_t *eager, gantry__point_t point) {
    if (eager->device->synchronous) return;
    for (uint32_t i = 0; i < eager->input_count; ++i) {
        if (eager->used[i] && eager->used[i]->buffer)
            gantry__buffer_mark_use(eager->used[i]->buffer, GANTRY_STREAM_COMPUTE, point.count);
    }
    for (uint32_t i = 0; i < eager->made_count; ++i) {
        if (!eager->made[i]) continue; /* the kernel failed before it made this output */
        if (eager->made[i]->buffer)
            gantry__buffer_mark_use(eager->made[i]->buffer, GANTRY_STREAM_COMPUTE, point.count);
        eager->made[i]->ready = point;
    }
}

static bool has_work(const gantry__eager_t *eager) {
    for (uint32_t i = 0; i < eager->made_count; ++i) {
        if (!eager->made[i] || eager->made[i]->size_bytes > 0) return true;
    }
    return false;
}

static gantry_status_t call_kernel(gantry__eager_t *eager, const gantry__profile_frame_t *frame) {
    return frame ? gantry__eager_call_recorded(eager) : gantry__eager_call(eager);
}

/* Chooses the next kernel of the plan that takes the call, if the failed one now declines it. Work
 * that the failed kernel submitted is before it on the same stream. */
static bool eager_hand_over(gantry__eager_t *eager) {
    const gantry__plan_t *plan = &eager->kept->plan;
    const gantry_kernel_def_t *failed = eager->call.abi.kernel;
    const uint64_t host_inputs = plan->host_inputs[eager->choice];
    if (eager->in_place || eager->call.fault || !failed->supports ||
        failed->supports(&eager->call.abi))
        return false;
    while (++eager->choice < plan->kernel_count) {
        const gantry_kernel_def_t *def = plan->kernels[eager->choice]->def;
        eager->call.abi.kernel = def;
        if (plan->host_inputs[eager->choice] == host_inputs &&
            (!def->supports || def->supports(&eager->call.abi)))
            return true;
    }
    return false;
}

static GANTRY__COLD gantry_status_t call_others(gantry__eager_t *eager,
                                                const gantry__profile_frame_t *frame,
                                                gantry_status_t status) {
    const uint32_t before = gantry__failures() - 1; /* also forgets the failure that led here */
    while (status != GANTRY_OK && eager_hand_over(eager)) {
        status = call_kernel(eager, frame);
        if (status == GANTRY_OK) gantry__forget_since(before);
    }
    return status;
}

static gantry_status_t eager_compute(gantry__eager_t *eager, const gantry__profile_frame_t *frame) {
    gantry__stream_t *stream = &eager->device->streams[GANTRY_STREAM_COMPUTE];
    if (frame) gantry__eager_settle_points(eager);
    if (eager->point_count > 0)
        GANTRY__TRY(gantry__stream_wait_for(stream, eager->points, eager->point_count));
    if (!has_work(eager)) return inherit_faults(eager, NULL);
    eager->call.make_output = eager_make_output;
    eager->call.caller = eager;
    gantry_status_t status = call_kernel(eager, frame);
    if (status != GANTRY_OK) status = call_others(eager, frame, status);
    if (eager->call.fault) prepare_text(eager, eager->call.fault);
    gantry__point_t point;
    gantry__fault_t *fault = gantry__call_finish(&eager->call, &point);
    if (frame) gantry__eager_settle_kernel(eager, point);
    mark_uses(eager, point);
    status = gantry__loss_note(eager->device, status);
    if (status == GANTRY_OK) status = check_all_made(eager);
    if (status == GANTRY_OK) status = inherit_faults(eager, fault);
    gantry__fault_release(fault);
    return status;
}

/* Whether the result is a piece of an input on this device, aligned as kernels expect it, and too
 * large for the tensor's object. */
static bool is_piece(const gantry__eager_t *eager) {
    if (eager->infer.piece_first < 0) return false;
    const gantry_tensor_t *input = eager->inputs[0];
    const uint64_t size = gantry_dtype_size(input->dtype),
                   first = (uint64_t)eager->infer.piece_first * size;
    return input->buffer && input->device == eager->device &&
           (uint64_t)eager->output_args[0]->element_count * size > GANTRY__INLINE_BYTES &&
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
    GANTRY__TRY(gantry__tensor_from_host(eager->runtime, eager->device, GANTRY_BOOL,
                                         &eager->infer.out_shapes[0], &value, eager->scope->tag,
                                         &eager->made[0]));
    eager->made_count = 1;
    return inherit_faults(eager, NULL);
}

static gantry_status_t make_alias(gantry__eager_t *eager) {
    const gantry_tensor_t *local;
    GANTRY__TRY(bring_input(eager, 0, false, &local));
    GANTRY__TRY(gantry__tensor_alias(local, &eager->infer.out_shapes[0], &eager->made[0]));
    eager->made_count = 1;
    return gantry__tensor_inherit_faults(eager->made[0], eager->inputs[0]);
}

/* ---- publish ---- */

static void publish(gantry__eager_t *eager) {
    for (uint32_t i = 0; i < eager->made_count; ++i) {
        gantry__scope_adopt(eager->scope, eager->made[i]);
        eager->outputs[i] = eager->made[i];
    }
    eager->made_count = 0;
}

static gantry_status_t eager_run(gantry__eager_t *eager) {
    GANTRY__TRY(check_inputs(eager));
    GANTRY__TRY(gantry__runtime_initialize(eager->runtime, eager->op->name));
    if (eager->scope->trace) {
        GANTRY__TRY(infer(eager, true));
        return gantry__eager_record(eager);
    }
    GANTRY__TRY(infer(eager, false));
    if (eager->op->flags & GANTRY__OP_COMPOSED) {
        eager->made_count = eager->infer.output_count;
        return gantry__compose(eager->scope, &eager->infer, eager->inputs, eager->made);
    }
    describe_call(eager);
    gantry__profile_frame_t *frame = eager->frame;
    (void)gantry__profile_enter(frame, GANTRY__PHASE_PLACEMENT);
    gantry_status_t status = plan(eager);
    (void)gantry__profile_enter(frame, GANTRY__PHASE_COPY);
    if (status != GANTRY_OK) {
        if (eager->kept && !eager->kept->plan.device)
            (void)gantry__dispatch_note(eager->scope, eager->kept, eager->op->name, 0);
        return status;
    }
    bool is_alias = (eager->op->flags & GANTRY__OP_ALIAS) != 0,
         is_view = !is_alias && is_piece(eager);
    bool is_known = eager->infer.known_bool >= 0;
    if (is_known) {
        status = make_known(eager);
    } else if (is_alias) {
        status = make_alias(eager);
    } else if (is_view) {
        status = make_piece(eager);
    } else {
        status = gather(eager);
        (void)gantry__profile_enter(frame, GANTRY__PHASE_ALLOCATION);
        if (status == GANTRY_OK) status = eager_allocate(eager);
    }
    (void)gantry__profile_enter(frame, GANTRY__PHASE_SCOPE);
    eager->call.sequence = gantry__dispatch_note_op(eager->scope, eager->kept, eager->bytes_copied);
    if (status == GANTRY_OK && !is_alias && !is_view && !is_known)
        status = eager_compute(eager, frame);
    return status == GANTRY_OK ? GANTRY_OK : gantry__eager_fail_in_place(eager, status);
}

/* The ladder's last rung, if allowed: a CPU runs the op. The first message stays in front. */
static GANTRY__COLD gantry_status_t run_on_cpu(gantry__eager_t *eager) {
    char first[GANTRY__MESSAGE_BYTES];
    (void)snprintf(first, sizeof first, "%s", gantry__message());
    const gantry_logical_device_t *exhausted = eager->device;
    eager_end(eager);
    eager_begin(eager);
    eager->exhausted = exhausted;
    if (eager_run(eager) == GANTRY_OK) return GANTRY_OK;
    return gantry__fail_prefix(GANTRY_RESOURCE_EXHAUSTED,
                               "%.1400s; and moving op %s to a CPU failed: ", first,
                               eager->op->name);
}

static bool may_move(const gantry__eager_t *eager) {
    if (!eager->runtime->devices.policy.oom_fallback || eager->pinned || !eager->device ||
        eager->in_place)
        return false;
    return eager->device->index < 0 || strcmp(eager->device->physical->type, "CPU") != 0;
}

/* ---- the stack that a call needs ---- */

static gantry_status_t run_to_end(gantry__eager_t *eager, size_t *output_count) {
    gantry_status_t status = eager_run(eager);
    if (status == GANTRY_RESOURCE_EXHAUSTED && may_move(eager)) status = run_on_cpu(eager);
    if (status == GANTRY_OK) {
        *output_count = eager->made_count;
        publish(eager);
        if (eager->scope->observer) status = gantry__observe_op(eager, output_count);
    }
    eager_end(eager);
    return status;
}

/* A frame with arrays for this many inputs and outputs: some 150 bytes each. Calls without lists of
 * 64 do not pay for them. */
#define GIVE_ROOM(inlining, name, INPUTS, OUTPUTS)                                       \
    static inlining gantry_status_t name(gantry__eager_t *eager, size_t *output_count) { \
        const gantry_shape_t *shapes[INPUTS];                                            \
        gantry_dtype_t dtypes[INPUTS], out_dtypes[OUTPUTS];                              \
        gantry_shape_t out_shapes[OUTPUTS];                                              \
        gantry_tensor_t *copies[INPUTS], *made[OUTPUTS];                                 \
        const gantry_tensor_t *used[INPUTS];                                             \
        gantry__owned_t owned[INPUTS];                                                   \
        gantry__point_t points[INPUTS + GANTRY__STREAMS];                                \
        gantry_arg_t args[INPUTS], results[OUTPUTS], *output_args[OUTPUTS];              \
        const gantry_arg_t *input_args[INPUTS];                                          \
        eager->infer.shapes = shapes;                                                    \
        eager->infer.dtypes = dtypes;                                                    \
        eager->infer.out_shapes = out_shapes;                                            \
        eager->infer.out_dtypes = out_dtypes;                                            \
        eager->copies = copies;                                                          \
        eager->owned = owned;                                                            \
        eager->used = used;                                                              \
        eager->points = points;                                                          \
        eager->args = args;                                                              \
        eager->input_args = input_args;                                                  \
        eager->made = made;                                                              \
        eager->results = results;                                                        \
        eager->output_args = output_args;                                                \
        return run_to_end(eager, output_count);                                          \
    }
GIVE_ROOM(inline, run_few, FEW_INPUTS, FEW_OUTPUTS)
GIVE_ROOM(GANTRY__NOINLINE, run_many_inputs, GANTRY__MAX_INPUTS, FEW_OUTPUTS)
GIVE_ROOM(GANTRY__NOINLINE, run_many_outputs, GANTRY__MAX_INPUTS, GANTRY__MAX_OUTPUTS)

/* The attribute that counts the outputs of a list is read here, before it is checked. */
static bool has_few_outputs(const gantry__eager_t *eager) {
    const gantry__op_def_t *op = eager->op;
    if (!(gantry__op_outputs(op)[0].flags & GANTRY__ARG_LIST))
        return op->output_count <= FEW_OUTPUTS;
    for (size_t i = 0; i < eager->attr_count; ++i) {
        const gantry_attr_value_t *attr = &eager->attrs[i];
        if ((attr->kind == GANTRY_ATTR_INTS || attr->kind == GANTRY_ATTR_INT) &&
            attr->i > FEW_OUTPUTS && strcmp(attr->name ? attr->name : "", "program") != 0)
            return false;
    }
    return true;
}

static gantry_status_t run_in_room(gantry__eager_t *eager, size_t *output_count) {
    if (!has_few_outputs(eager)) return run_many_outputs(eager, output_count);
    return eager->input_count > FEW_INPUTS ? run_many_inputs(eager, output_count)
                                           : run_few(eager, output_count);
}

static gantry_status_t check_and_run(gantry_scope_t *scope, const gantry__op_def_t *op,
                                     const gantry_tensor_t *const *inputs, size_t input_count,
                                     const gantry_attr_value_t *attrs, size_t attr_count,
                                     const gantry_logical_device_t *pinned,
                                     const gantry_tensor_t **outputs, size_t room,
                                     size_t *output_count) {
    GANTRY__TRY(gantry__scope_check(scope));
    if (input_count > GANTRY__MAX_INPUTS) {
        (void)gantry__fail(GANTRY_INVALID_ARGUMENT,
                           "op %s is given %zu inputs; at most %d are accepted", op->name,
                           input_count, GANTRY__MAX_INPUTS);
        return gantry__scope_fail(scope, GANTRY_INVALID_ARGUMENT);
    }
    gantry_status_t status = scope->composed ? gantry__check_part(scope, op) : GANTRY_OK;
    if (status != GANTRY_OK) return gantry__scope_fail(scope, status);
    const uint32_t *failures = gantry__failure_count(), before = *failures;
    gantry__eager_t eager;
    gantry__profile_frame_t frame;
    eager.scope = scope;
    eager.runtime = scope->runtime;
    eager.op = op;
    eager.inputs = inputs;
    eager.input_count = (uint32_t)input_count;
    eager.attrs = attrs;
    eager.attr_count = attr_count;
    eager.pinned = pinned;
    eager.outputs = outputs;
    eager.room = room;
    eager.frame = gantry__profile_begin_call(&scope->runtime->devices, &frame);
    eager_begin(&eager);
    status = run_in_room(&eager, output_count);
    if (scope->donated_count > 0) gantry__scope_end_donated(scope, inputs, input_count);
    scope->overwritten = 0;
    if (scope->trace && !scope->composed) scope->next_name[0] = '\0';
    if (eager.frame) gantry__eager_keep_profile(&eager);
    if (status != GANTRY_OK) return gantry__scope_fail(scope, status);
    /* an optional step failed, or a device's memory ran out */
    if (*failures != before) gantry__forget_since(before);
    return GANTRY_OK;
}

gantry_status_t gantry__run_op_into(gantry_scope_t *scope, const gantry__op_def_t *op,
                                    const gantry_tensor_t *const *inputs, size_t input_count,
                                    const gantry_attr_value_t *attrs, size_t attr_count,
                                    const gantry_logical_device_t *pinned,
                                    const gantry_tensor_t **outputs, size_t *output_count) {
    GANTRY__OWN_FP_MODE(fp);
    const size_t room = *output_count;
    *output_count = 0;
    gantry_status_t status = check_and_run(scope, op, inputs, input_count, attrs, attr_count,
                                           pinned, outputs, room, output_count);
    for (size_t i = *output_count; i < room; ++i) outputs[i] = NULL;
    return status;
}

gantry_status_t gantry__run_op(gantry_scope_t *scope, const gantry__op_def_t *op,
                               const gantry_tensor_t *const *inputs, size_t input_count,
                               const gantry_attr_value_t *attrs, size_t attr_count,
                               const gantry_logical_device_t *pinned,
                               const gantry_tensor_t **outputs) {
    size_t count = op->output_count;
    return gantry__run_op_into(scope, op, inputs, input_count, attrs, attr_count, pinned, outputs,
                               &count);
}
