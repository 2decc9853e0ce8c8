/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of items on devices that build programs. */
#include <string.h>

#include "kernels/common/item_kernel.h"
#include "kernels/common/program_options.h"

static gantry__k_options_t items_device_options_of(const gantry_op_call_t *call,
                                                   const gantry__k_item_launch_t *launch) {
    gantry__k_options_t options = gantry__k_options(call);

    if (launch->t != 0) {
        gantry__k_define_type(&options, "T", launch->t);
    }
    if (launch->i != 0) {
        gantry__k_define_type(&options, "I", launch->i);
    }
    return options;
}

/* The number of items that pays for a work-item of a processor, by the launch's fields. */
static gantry__k_work_t work_of(const gantry_op_call_t *call,
                                const gantry__k_item_launch_t *launch) {
    const int64_t bytes =
        launch->item_bytes != 0 ? launch->item_bytes : (int64_t)gantry__k_size(launch->t);
    const int64_t of_runs = launch->elements > 1 ? GANTRY_K_SHORTEST_RUN / launch->elements + 1 : 0;
    const int64_t least = launch->grain > 0 ? launch->grain : of_runs;
    const int64_t even = (launch->count - 1) / (gantry__k_units(call) * GANTRY_K_RUNS_PER_CORE) + 1;
    gantry__k_work_t work = gantry__k_work(call, launch->count, bytes, launch->is_costly);

    if (least > 0) {
        work.run = even > least ? even : least;
    }
    return work;
}

/* The size of a fault slot (kernels/common/launch.cl). */
#define UNREAD_SLOT_BYTES 64

int32_t gantry__portable_run_items(gantry_op_call_t *call, const gantry__k_items_t *items,
                                   gantry__k_item_launch_t *launch) {
    const gantry__k_work_t work = work_of(call, launch);
    gantry_launch_arg_t args[GANTRY_K_ITEM_SPANS + 2];
    gantry_backend_kernel_t *kernel;
    uint32_t count = 0;
    const gantry__k_options_t options = items_device_options_of(call, launch);

    memcpy(launch->parameters, &work, sizeof work);
    while (count < launch->span_count) {
        args[count] = gantry__k_raw_span(launch->spans[count]);
        count++;
    }
    args[count++] = gantry__k_scalar(launch->parameters, launch->parameter_bytes);
    GANTRY__TRY(call->services->kernel(call, items->source, options.text,
                                       items->names[launch->item], &kernel));
    if (launch->can_fail) {
        gantry_span_t fault;
        GANTRY__TRY(launch->never_fails ? call->services->scratch(call, UNREAD_SLOT_BYTES, &fault)
                                        : gantry__k_fault(call, &launch->words, &fault));
        args[count++] = gantry__k_raw_span(fault);
    }
    return gantry__k_launch_work(call, kernel, &work, args, count);
}
