/* SPDX-License-Identifier: Apache-2.0 */
/* The step "compute" of an op (run/eager.c): the kernel is called, or the next one of the plan if
 * that one declines, and makes the results whose shape depends on data. Then the results carry the
 * point that they are ready at, and the faults that they depend on. */
#include "device/fault.h"
#include "device/logical_device.h"
#include "device/loss.h"
#include "run/eager_state.h"

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
    if (index >= eager->made_count || eager->results[index].element_count >= 0) {
        return (int32_t)gantry__fail(
            GANTRY_INTERNAL, "kernel of %s makes output %u, which %s", eager->op->name, index,
            index < eager->made_count ? "is there already" : "does not exist");
    }
    gantry_shape_t shape = {.rank = rank};
    for (int32_t k = 0; k < rank && k < GANTRY_MAX_RANK; ++k) shape.dims[k] = dims[k];
    gantry_status_t status = check_made_shape(eager, index, &shape);
    if (status != GANTRY_OK) return (int32_t)status;
    eager->infer.out_shapes[index] = shape;
    eager->results[index].element_count = gantry_shape_elements(&shape);
    return (int32_t)gantry__eager_allocate_output(eager, index);
}

static gantry_status_t check_all_made(const gantry__eager_t *eager) {
    for (uint32_t i = 0; i < eager->made_count; ++i) {
        if (!eager->made[i])
            return gantry__fail(GANTRY_INTERNAL, "kernel of %s succeeded without making output %u",
                                eager->op->name, i);
    }
    return GANTRY_OK;
}

/* ---- the kernel ---- */

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

static gantry_status_t call_kernel(gantry__eager_t *eager) {
    return eager->frame ? gantry__eager_call_recorded(eager) : gantry__eager_call(eager);
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

static GANTRY__COLD gantry_status_t call_others(gantry__eager_t *eager, gantry_status_t status) {
    const uint32_t before = gantry__failures() - 1; /* also forgets the failure that led here */
    while (status != GANTRY_OK && eager_hand_over(eager)) {
        status = call_kernel(eager);
        if (status == GANTRY_OK) gantry__forget_since(before);
    }
    return status;
}

gantry_status_t gantry__eager_compute(gantry__eager_t *eager) {
    gantry__stream_t *stream = &eager->device->streams[GANTRY_STREAM_COMPUTE];
    if (eager->frame) gantry__eager_settle_points(eager);
    if (eager->point_count > 0)
        GANTRY__TRY(gantry__stream_wait_for(stream, eager->points, eager->point_count));
    if (!has_work(eager)) return gantry__eager_inherit_faults(eager, NULL);
    eager->call.make_output = eager_make_output;
    eager->call.caller = eager;
    gantry_status_t status = call_kernel(eager);
    if (status != GANTRY_OK) status = call_others(eager, status);
    if (eager->call.fault) prepare_text(eager, eager->call.fault);
    gantry__point_t point;
    gantry__fault_t *fault = gantry__call_finish(&eager->call, &point);
    if (eager->frame) gantry__eager_settle_kernel(eager, point);
    mark_uses(eager, point);
    status = gantry__loss_note(eager->device, status);
    if (status == GANTRY_OK) status = check_all_made(eager);
    if (status == GANTRY_OK && (fault || eager->has_faults))
        status = gantry__eager_inherit_faults(eager, fault);
    if (fault) gantry__fault_release(fault);
    return status;
}
