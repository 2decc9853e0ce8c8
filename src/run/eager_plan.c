/* SPDX-License-Identifier: Apache-2.0 */
/* The step "plan" of an op (run/eager.c): its device and kernels, from the plan cache or the
 * placer. */
#include "base/shape_limit.h"
#include "device/device_open.h"
#include "run/dispatch.h"
#include "run/eager_state.h"

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
    abi->flags = 0;
    abi->reserved = 0;
    for (uint32_t i = 0; i < eager->input_count; ++i) {
        eager->input_args[i] = &eager->args[i];
        fill_arg(&eager->args[i], eager->inputs[i]->dtype, &eager->inputs[i]->shape,
                 eager->inputs[i]->elements);
    }
    for (uint32_t i = 0; i < eager->infer.output_count; ++i) {
        eager->output_args[i] = &eager->results[i];
        fill_arg(&eager->results[i], eager->infer.out_dtypes[i], &eager->infer.out_shapes[i],
                 gantry__shape_elements(&eager->infer.out_shapes[i]));
    }
    for (uint32_t i = 0; i < eager->op->attr_count; ++i) eager->attr_args[i] = &eager->attrs[i];
}

/* Chooses the first kernel of the plan that takes these shapes; false if all decline. */
static bool choose_kernel(gantry__eager_t *eager) {
    const gantry__plan_t *plan = &eager->kept->plan;
    eager->call.abi.flags = gantry__plan_call_flags(plan);
    for (eager->choice = 0; eager->choice < plan->kernel_count; ++eager->choice) {
        const gantry_kernel_def_t *def = plan->kernels[eager->choice]->def;
        eager->call.abi.kernel = def;
        if (!def->supports || def->supports(&eager->call.abi)) return true;
    }
    return false;
}

/* Takes the plan of an earlier call, which opened the device. False if it must be made: the card
 * has another view since then, or no kernel takes the call. */
static bool take_kept_plan(gantry__eager_t *eager) {
    eager->kept = eager->repeat->kept;
    eager->device = eager->kept->plan.device;
    if (eager->kept->plan.view != gantry__logical_view(eager->device)) return false;
    gantry__call_init(&eager->call, eager->device, NULL, 0);
    return choose_kernel(eager);
}

/* Plans without the shapes first, because such a plan is kept. If all kernels of its device
 * decline, places the op again with the shapes. A device that was not open could not judge them
 * then, so this may repeat once for each device. */
static GANTRY__NOINLINE gantry_status_t find_plan_and_open(gantry__eager_t *eager) {
    const gantry__wish_t *wish;
    GANTRY__TRY(gantry__eager_wish(eager, &wish));
    gantry__place_request_t request =
        gantry__dispatch_request(eager->runtime, eager->op, eager->attrs, wish,
                                 eager->request->pinned, eager->scope->order.batch_invariant);
    request.any_order = eager->scope->order.any;
    request.exhausted = eager->exhausted;
    for (;;) {
        GANTRY__TRY(gantry__plan_cache_place(&eager->runtime->plans, &request, &eager->kept));
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
    return GANTRY_OK;
}

gantry_status_t gantry__eager_plan(gantry__eager_t *eager) {
    describe_call(eager);
    if (!eager->repeat || !take_kept_plan(eager)) {
        eager->repeat = NULL;
        GANTRY__TRY(find_plan_and_open(eager));
    }
    if (eager->record) gantry__call_keep_launch(&eager->call, &eager->record->launch);
    eager->call.tag = eager->scope->tag;
    eager->call.frame = eager->frame;
    eager->call.memo = &eager->kept->memo;
    eager->call.part_of = eager->scope->called ? eager->scope->called->name : NULL;
    return gantry__runtime_programs(eager->runtime, eager->device, &eager->call.programs);
}
