/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of items on the CPU: the text, which is compiled as C, runs on all threads. */
#include <stdatomic.h>

#include "kernels/common/cpu_kernels.h"
#include "kernels/common/item_kernel.h"

#define CHEAP_GRAIN INT64_C(8192) /* so many items do not pay for a second thread */
#define COSTLY_GRAIN INT64_C(64)
#define NO_POSITION INT64_MAX

/* The fault slot as kernels/common/launch.cl lays it out. */
typedef struct fault_slot_t {
    uint32_t code, input;
    int64_t position;
} fault_slot_t;

typedef struct item_job_t {
    gantry__k_item_fn run;
    const gantry__k_item_launch_t *launch;
    void *spans[GANTRY_K_ITEM_SPANS];
    _Atomic int64_t position; /* the smallest position that a part reported, or NO_POSITION */
} item_job_t;

static const gantry__k_item_fn *find_functions(const gantry__k_items_t *items,
                                               const gantry__k_item_launch_t *launch, int level) {
    for (; level >= 0; --level) {
        const gantry__k_item_row_t *row = items->rows[level];

        for (; row && row->functions; ++row) {
            if (row->t == launch->t && row->i == launch->i) return row->functions;
        }
    }
    return NULL;
}

static void note_fault(item_job_t *job, int64_t position) {
    int64_t known = atomic_load(&job->position);

    while (position < known && !atomic_compare_exchange_weak(&job->position, &known, position)) {
    }
}

static void run_part(void *context, int64_t begin, int64_t end) {
    item_job_t *job = context;
    fault_slot_t slot = {GANTRY_FAULT_NONE, 0, 0};
    void *spans[GANTRY_K_ITEM_SPANS + 1];

    memcpy(spans, job->spans, sizeof job->spans);
    spans[job->launch->span_count] = &slot;
    job->run(spans, job->launch->parameters, begin, end);
    if (slot.code != GANTRY_FAULT_NONE) {
        note_fault(job, slot.position);
    }
}

static int32_t fail(gantry_op_call_t *call, const item_job_t *job) {
    char text[512];

    job->launch->explain(call, atomic_load(&job->position), text, sizeof text);
    return call->services->fail(call, GANTRY_INVALID_ARGUMENT, text);
}

static int64_t cpu_grain_of(const gantry__k_item_launch_t *launch) {
    if (launch->grain > 0) return launch->grain;
    if (launch->elements > 0) return CHEAP_GRAIN / launch->elements;
    return launch->is_costly ? COSTLY_GRAIN : CHEAP_GRAIN;
}

int32_t gantry__cpu_run_items(gantry_op_call_t *call, const gantry__k_items_t *items,
                              gantry__k_item_launch_t *launch) {
    const gantry__k_item_fn *functions = find_functions(items, launch, call->device->simd_level);
    const gantry__k_work_t work = {.count = launch->count, .run = launch->count};
    item_job_t job = {.launch = launch};

    if (!functions) {
        return call->services->fail(call, GANTRY_INTERNAL,
                                    "the CPU backend has no such kernel for these types");
    }
    job.run = functions[launch->item];
    atomic_init(&job.position, NO_POSITION);
    memcpy(launch->parameters, &work, sizeof work);
    for (uint32_t k = 0; k < launch->span_count; ++k) {
        job.spans[k] = (void *)(uintptr_t)(launch->spans[k].region + launch->spans[k].offset_bytes);
    }
    gantry__cpu_parallel_for(call->device, launch->count, cpu_grain_of(launch), run_part, &job);
    return atomic_load(&job.position) == NO_POSITION ? GANTRY_OK : fail(call, &job);
}
