/* Launches of items on the CPU: the text, compiled as C, on all threads. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>

#include "cpu/cpu_kernels.h"
#include "portable/item_kernel.h"

#define CHEAP_GRAIN INT64_C(8192) /* items that do not pay for a second thread */
#define COSTLY_GRAIN INT64_C(64)
#define NO_POSITION INT64_MAX

/* What kernels/launch.cl says of a fault slot. */
typedef struct fault_slot_t {
    uint32_t code, input;
    int64_t position;
} fault_slot_t;

typedef struct item_job_t {
    gantry_k_item_fn run;
    const gantry_k_item_launch_t *launch;
    void *spans[GANTRY_K_ITEM_SPANS];
    _Atomic int64_t position; /* the smallest that a part reported */
    _Atomic uint32_t code, input;
} item_job_t;

static const gantry_k_item_fn *find_functions(const gantry_k_items_t *items, const gantry_k_item_launch_t *launch) {
    for (uint32_t r = 0; r < items->row_count; r++) {
        const gantry_k_item_row_t *row = &items->rows[r];

        if (row->t == launch->t && row->i == launch->i) {
            return row->functions;
        }
    }
    return NULL;
}

static void note_fault(item_job_t *job, const fault_slot_t *slot) {
    int64_t known = atomic_load(&job->position);

    while (slot->position < known && !atomic_compare_exchange_weak(&job->position, &known, slot->position)) {
    }
    atomic_store(&job->input, slot->input); /* the same of all items of a launch */
    atomic_store(&job->code, slot->code);
}

static void run_part(void *context, int64_t begin, int64_t end) {
    item_job_t *job = context;
    fault_slot_t slot = {GANTRY_FAULT_NONE, 0, 0};
    void *spans[GANTRY_K_ITEM_SPANS + 1];

    memcpy(spans, job->spans, sizeof job->spans);
    spans[job->launch->span_count] = &slot;
    job->run(spans, job->launch->parameters, begin, end);
    if (slot.code != GANTRY_FAULT_NONE) {
        note_fault(job, &slot);
    }
}

static int32_t fail_permutation(gantry_op_call_t *call, int64_t value, int64_t limit) {
    char text[96];

    if (value >= 0 && value < limit) {
        (void)snprintf(text, sizeof text, "%" PRId64 " is duplicated in the input.", value);
    } else {
        (void)snprintf(text, sizeof text, "%" PRId64 " is not between 0 and %" PRId64, value, limit);
    }
    return call->services->fail(call, GANTRY_K_INVALID_ARGUMENT, text);
}

static int32_t fail(gantry_op_call_t *call, const item_job_t *job) {
    const gantry_arg_t *indices = call->inputs[atomic_load(&job->input)];
    const int64_t position = atomic_load(&job->position);
    char place[GANTRY_K_MAX_RANK * 22 + 4];
    char text[512];

    if (atomic_load(&job->code) == GANTRY_FAULT_DIVISION_BY_ZERO) {
        return call->services->fail(call, GANTRY_K_INVALID_ARGUMENT, "Integer division by zero");
    }
    if (atomic_load(&job->code) == GANTRY_FAULT_BAD_PERMUTATION) {
        return fail_permutation(call, gantry_k_host_int(indices, position), job->launch->limit);
    }
    if (job->launch->explain != NULL) {
        job->launch->explain(call, position, text, sizeof text);
        return call->services->fail(call, GANTRY_K_INVALID_ARGUMENT, text);
    }
    gantry__portable_print_place(indices->dims, indices->rank, position, place, sizeof place);
    (void)snprintf(text, sizeof text, "indices%s = %" PRId64 " is not in [0, %" PRId64 ")", place,
                   gantry_k_host_int(indices, position), job->launch->limit);
    return call->services->fail(call, GANTRY_K_INVALID_ARGUMENT, text);
}

static int64_t grain_of(const gantry_k_item_launch_t *launch) {
    if (launch->elements > 0) {
        return CHEAP_GRAIN / launch->elements;
    }
    return launch->is_costly ? COSTLY_GRAIN : CHEAP_GRAIN;
}

int32_t gantry__cpu_run_items(gantry_op_call_t *call, const gantry_k_items_t *items, gantry_k_item_launch_t *launch) {
    const gantry_k_item_fn *functions = find_functions(items, launch);
    const gantry_k_work_t work = {.count = launch->count, .run = launch->count};
    item_job_t job = {.launch = launch};

    if (functions == NULL) {
        return call->services->fail(call, GANTRY_K_INTERNAL, "the CPU backend has no such kernel for these types");
    }
    job.run = functions[launch->item];
    atomic_init(&job.position, NO_POSITION);
    atomic_init(&job.code, GANTRY_FAULT_NONE);
    atomic_init(&job.input, 0);
    memcpy(launch->parameters, &work, sizeof work);
    for (uint32_t k = 0; k < launch->span_count; k++) {
        job.spans[k] = (void *)(uintptr_t)(launch->spans[k].region + launch->spans[k].offset_bytes);
    }
    gantry__cpu_parallel_for(call->device, launch->count, grain_of(launch), run_part, &job);
    return atomic_load(&job.code) == GANTRY_FAULT_NONE ? GANTRY_K_OK : fail(call, &job);
}
