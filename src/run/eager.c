/* SPDX-License-Identifier: Apache-2.0 */
/* The way of one op:
 *
 *   infer     types and shapes of the results; host inputs are read here when a shape depends on
 *             them
 *   plan      device and kernels, from the plan cache or the placer: eager_plan.c. A call that
 *             repeats takes both from an earlier one: eager_repeat.c
 *   gather    inputs: host pointers, or memory on that device (copied there from elsewhere):
 *             eager_memory.c
 *   allocate  results whose shape is known: in new memory, or in that of a donated input
 *   compute   the kernel makes the other results (their shape depends on data: it reads counts back
 *             first) and submits to the device's compute stream, after the points at which its
 *             inputs become ready: eager_compute.c
 *   publish   results carry the point they are ready at and the faults they depend on; the record
 *             is written
 *
 * If a profile is recorded, its frame is switched at each step (run/profile.h). If the result is
 * its input's memory (another shape of it, an aligned piece), or is known by now, nothing is
 * gathered, allocated or computed. A composed op is inferred here and then runs its parts, each of
 * which comes this way (src/compose). Everything is on the stack until publish. A failure at any
 * step releases the intermediate objects, and the scope keeps it. */
#include "run/eager.h"

#include <stdio.h>
#include <string.h>

#include "base/fp_mode.h"
#include "device/logical_device.h"
#include "run/composed.h"
#include "run/dispatch.h"
#include "run/observe.h"
#include "run/trace_hooks.h"

/* Sets the counters only: the arrays are filled as far as they are used. */
static void eager_begin(gantry__eager_t *eager) {
    eager->repeat = NULL;
    eager->record = NULL;
    eager->attrs = eager->infer.attrs;
    eager->kept = NULL;
    eager->device = NULL;
    eager->exhausted = NULL;
    eager->choice = 0;
    eager->in_place = false;
    eager->bytes_copied = 0;
    eager->host_status = GANTRY_OK;
    eager->copy_count = eager->owned_count = eager->made_count = eager->point_count = 0;
}

static void eager_end(gantry__eager_t *eager) {
    for (uint32_t i = 0; i < eager->copy_count; ++i) gantry_tensor_release(eager->copies[i]);
    for (uint32_t i = 0; i < eager->owned_count; ++i)
        gantry__heap_free(&eager->runtime->heap, eager->owned[i].bytes, eager->owned[i].size);
    for (uint32_t i = 0; i < eager->made_count; ++i) gantry_tensor_release(eager->made[i]);
    if (eager->record) gantry__eager_drop_record(eager);
}

/* ---- infer ---- */

static gantry_status_t check_inputs(gantry__eager_t *eager) {
    bool has_faults = false;
    for (uint32_t i = 0; i < eager->input_count; ++i) {
        const gantry_tensor_t *input = eager->inputs[i];
        if (!input) {
            const gantry__op_arg_t *arg = gantry__op_input_arg(eager->op, eager->input_count, i);
            return gantry__refuse("op %s: input %u (%s) is NULL; a tensor is accepted",
                                  eager->op->name, i, arg ? arg->name : "one too many");
        }
        if (input->runtime != eager->runtime) {
            return gantry__refuse(
                "op %s: input %u belongs to another runtime; tensors of the scope's runtime are accepted",
                eager->op->name, i);
        }
        if (input->is_symbolic)
            GANTRY__TRY(gantry__trace_check_input(eager->scope, input, eager->op->name, i));
        has_faults |= input->fault_count > 0 && gantry__tensor_has_faults(input);
    }
    eager->has_faults = has_faults;
    return GANTRY_OK;
}

static gantry_status_t check_room(const gantry__eager_t *eager) {
    if (eager->infer.output_count <= eager->request->room) return GANTRY_OK;
    return gantry__refuse("op %s has %u outputs; room for %zu is given", eager->op->name,
                          eager->infer.output_count, eager->request->room);
}

static gantry_status_t infer(gantry__eager_t *eager) {
    gantry__infer_t *call = &eager->infer;
    call->op = eager->op;
    call->input_count = eager->input_count;
    call->host_value = gantry__eager_host_value;
    call->caller = eager;
    call->symbolic = 0;
    call->is_open = false;
    for (uint32_t i = 0; i < eager->input_count; ++i) {
        call->shapes[i] = &eager->inputs[i]->shape;
        call->dtypes[i] = eager->inputs[i]->dtype;
    }
    gantry_status_t status = eager->scope->trace ? gantry__eager_infer_in_trace(eager)
                                                 : gantry__op_infer(call, eager->request->attrs,
                                                                    eager->request->attr_count);
    if (status == GANTRY_OK) return check_room(eager);
    return eager->host_status != GANTRY_OK ? eager->host_status : status;
}

/* ---- all steps ---- */

static gantry_status_t run_on_device(gantry__eager_t *eager) {
    gantry__profile_frame_t *frame = eager->frame;
    bool computes;
    (void)gantry__profile_enter(frame, GANTRY__PHASE_PLACEMENT);
    gantry_status_t status = gantry__eager_plan(eager);
    (void)gantry__profile_enter(frame, GANTRY__PHASE_COPY);
    if (status != GANTRY_OK) {
        if (eager->kept && !eager->kept->plan.device)
            (void)gantry__dispatch_note(eager->scope, eager->kept, eager->op->name, 0);
        return status;
    }
    status = gantry__eager_make_results(eager, &computes);
    (void)gantry__profile_enter(frame, GANTRY__PHASE_SCOPE);
    eager->call.sequence = gantry__dispatch_note_op(eager->scope, eager->kept, eager->bytes_copied);
    if (status == GANTRY_OK && computes) status = gantry__eager_compute(eager);
    if (status == GANTRY_OK && eager->record) gantry__eager_share_record(eager);
    return status == GANTRY_OK ? GANTRY_OK : gantry__eager_fail_in_place(eager, status);
}

static gantry_status_t eager_run(gantry__eager_t *eager) {
    GANTRY__TRY(check_inputs(eager));
    GANTRY__TRY(gantry__runtime_initialize(eager->runtime, eager->op->name));
    if (gantry__eager_find_repeat(eager)) return run_on_device(eager);
    GANTRY__TRY(infer(eager));
    if (eager->scope->trace) return gantry__eager_record(eager);
    if (!(eager->op->flags & GANTRY__OP_COMPOSED)) return run_on_device(eager);
    eager->made_count = eager->infer.output_count;
    return gantry__compose(eager->scope, &eager->infer, eager->inputs, eager->made);
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
    if (!eager->runtime->devices.policy.oom_fallback || eager->request->pinned || !eager->device ||
        eager->in_place || eager->scope->order.batch_invariant)
        return false;
    return eager->device->index < 0 || strcmp(eager->device->physical->type, "CPU") != 0;
}

/* ---- publish ---- */

/* Returns the number of outputs. */
static size_t publish(gantry__eager_t *eager) {
    const size_t count = eager->made_count;
    for (uint32_t i = 0; i < count; ++i) {
        gantry__scope_adopt(eager->scope, eager->made[i]);
        eager->request->outputs[i] = eager->made[i];
    }
    eager->made_count = 0;
    return count;
}

static gantry_status_t run_and_publish(gantry__eager_t *eager, size_t *out_count) {
    gantry_status_t status = eager_run(eager);
    if (status == GANTRY_RESOURCE_EXHAUSTED && may_move(eager)) status = run_on_cpu(eager);
    const size_t count = status == GANTRY_OK ? publish(eager) : 0;
    if (status == GANTRY_OK && eager->scope->observer) status = gantry__observe_op(eager);
    *out_count = status == GANTRY_OK ? count : 0;
    eager_end(eager);
    return status;
}

/* ---- the stack that a call needs ---- */

/* Arrays with an entry for each input or output, some 150 bytes together. */
#define ROOM(INPUTS, OUTPUTS)                                               \
    struct {                                                                \
        const gantry_shape_t *shapes[INPUTS];                               \
        gantry_dtype_t dtypes[INPUTS], out_dtypes[OUTPUTS];                 \
        gantry_shape_t out_shapes[OUTPUTS];                                 \
        gantry_tensor_t *copies[INPUTS], *made[OUTPUTS];                    \
        const gantry_tensor_t *used[INPUTS];                                \
        gantry__owned_t owned[INPUTS];                                      \
        gantry__point_t points[INPUTS + GANTRY__STREAMS];                   \
        gantry_arg_t args[INPUTS], results[OUTPUTS], *output_args[OUTPUTS]; \
        const gantry_arg_t *input_args[INPUTS];                             \
    }

#define USE_ROOM(eager, room)                          \
    do {                                               \
        (eager)->infer.shapes = (room).shapes;         \
        (eager)->infer.dtypes = (room).dtypes;         \
        (eager)->infer.out_shapes = (room).out_shapes; \
        (eager)->infer.out_dtypes = (room).out_dtypes; \
        (eager)->copies = (room).copies;               \
        (eager)->owned = (room).owned;                 \
        (eager)->used = (room).used;                   \
        (eager)->points = (room).points;               \
        (eager)->args = (room).args;                   \
        (eager)->input_args = (room).input_args;       \
        (eager)->made = (room).made;                   \
        (eager)->results = (room).results;             \
        (eager)->output_args = (room).output_args;     \
    } while (0)

/* Most calls: they do not pay for lists of 64. */
enum { FEW_INPUTS = 12, FEW_OUTPUTS = 6 };

/* The attribute that counts the outputs of a list is read here, before it is checked. */
static bool has_few_outputs(const gantry__op_request_t *request) {
    const gantry__op_def_t *op = request->op;
    if (!(gantry__op_outputs(op)[0].flags & GANTRY__ARG_LIST))
        return op->output_count <= FEW_OUTPUTS;
    for (size_t i = 0; i < request->attr_count; ++i) {
        const gantry_attr_value_t *attr = &request->attrs[i];
        if ((attr->kind == GANTRY_ATTR_INTS || attr->kind == GANTRY_ATTR_INT) &&
            attr->i > FEW_OUTPUTS && strcmp(attr->name ? attr->name : "", "program") != 0)
            return false;
    }
    return true;
}

static GANTRY__NOINLINE gantry_status_t run_with_list(gantry__eager_t *eager, size_t *out_count) {
    ROOM(GANTRY__MAX_INPUTS, FEW_OUTPUTS) room;
    USE_ROOM(eager, room);
    return run_and_publish(eager, out_count);
}

static GANTRY__NOINLINE gantry_status_t run_with_lists(gantry__eager_t *eager, size_t *out_count) {
    ROOM(GANTRY__MAX_INPUTS, GANTRY__MAX_OUTPUTS) room;
    USE_ROOM(eager, room);
    return run_and_publish(eager, out_count);
}

static gantry_status_t run_in_room(gantry__eager_t *eager, size_t *out_count) {
    if (!has_few_outputs(eager->request)) return run_with_lists(eager, out_count);
    if (eager->input_count > FEW_INPUTS) return run_with_list(eager, out_count);
    ROOM(FEW_INPUTS, FEW_OUTPUTS) room;
    USE_ROOM(eager, room);
    return run_and_publish(eager, out_count);
}

/* ---- the call ---- */

static gantry_status_t eager_check_call(gantry_scope_t *scope,
                                        const gantry__op_request_t *request) {
    GANTRY__TRY(gantry__scope_check(scope));
    if (request->input_count > GANTRY__MAX_INPUTS) {
        return gantry__scope_fail(
            scope, gantry__refuse("op %s is given %zu inputs; at most %d are accepted",
                                  request->op->name, request->input_count, GANTRY__MAX_INPUTS));
    }
    if (!scope->composed) return GANTRY_OK;
    return gantry__scope_fail(scope, gantry__check_part(scope, request->op));
}

static gantry_status_t run_request(gantry_scope_t *scope, const gantry__op_request_t *request,
                                   size_t *out_count) {
    GANTRY__TRY(eager_check_call(scope, request));
    const uint32_t *failures = gantry__failure_count(), before = *failures;
    gantry__eager_t eager;
    gantry__profile_frame_t frame;
    eager.scope = scope;
    eager.runtime = scope->runtime;
    eager.request = request;
    eager.op = request->op;
    eager.inputs = request->inputs;
    eager.input_count = (uint32_t)request->input_count;
    eager.frame = gantry__profile_begin_call(&scope->runtime->devices, &frame);
    eager_begin(&eager);
    gantry_status_t status = run_in_room(&eager, out_count);
    if (scope->donated_count > 0)
        gantry__scope_end_donated(scope, request->inputs, request->input_count);
    scope->overwritten = 0;
    if (scope->trace && !scope->composed) scope->next_name[0] = '\0';
    if (eager.frame) gantry__eager_keep_profile(&eager);
    if (status != GANTRY_OK) return gantry__scope_fail(scope, status);
    /* an optional step failed, or a device's memory ran out */
    if (*failures != before) gantry__forget_since(before);
    return GANTRY_OK;
}

gantry_status_t gantry__run_op(gantry_scope_t *scope, const gantry__op_request_t *request,
                               size_t *out_count) {
    GANTRY__OWN_FP_MODE(fp);
    size_t count = 0;
    gantry_status_t status = run_request(scope, request, &count);
    for (size_t i = count; i < request->room; ++i) request->outputs[i] = NULL;
    if (out_count) *out_count = count;
    return status;
}
