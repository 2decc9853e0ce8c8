/* SPDX-License-Identifier: Apache-2.0 */
/* Sharing: a tensor over the program's memory, made and given back, and a tensor's memory given
 * out. On the CPU the memory is the host's; on OpenCL and CUDA it is of the program's context, over
 * which a runtime of its own is made. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "cuda_vendor.h"
#include "vendor.h"

#define SHARING_FLOATS 1024
#define SHARING_CALLS 2000
#define SHARING_MOST_US 2.0

typedef struct subject_t {
    gantry_scope_t *scope;
    const gantry_logical_device_t *device;
    const gantry_tensor_t *x; /* whose memory is given out */
    void *memory;
    bool is_host;
} subject_t;

static const gantry_tensor_t *take_in(const subject_t *subject) {
    const gantry_shape_t shape = GANTRY_SHAPE(SHARING_FLOATS);
    if (!subject->is_host)
        return gantry_tensor_from_device_memory(subject->scope, subject->device, GANTRY_FLOAT32,
                                                shape, subject->memory, 0, NULL);
    return gantry_tensor_from_memory(subject->scope, GANTRY_FLOAT32, shape, subject->memory,
                                     SHARING_FLOATS * sizeof(float), NULL);
}

static bool run_in(void *argument, int calls) {
    const subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        const gantry_tensor_t *tensor = take_in(subject);
        if (!tensor) return false;
        gantry_tensor_drop(subject->scope, tensor);
    }
    return true;
}

static bool give_out(const subject_t *subject) {
    gantry_device_memory_t memory = {.struct_size = sizeof memory};
    const void *data;
    if (!subject->is_host) return gantry_tensor_get_device_memory(subject->x, &memory) == GANTRY_OK;
    return gantry_tensor_map(subject->x, &data) == GANTRY_OK &&
           gantry_tensor_unmap(subject->x) == GANTRY_OK;
}

static bool run_out(void *argument, int calls) {
    for (int i = 0; i < calls; ++i) {
        if (!give_out(argument)) return false;
    }
    return true;
}

static void measure(bench_t *bench, const char *work, const char *on, subject_t *subject,
                    bool (*run)(void *argument, int calls)) {
    const bench_measure_t shown = {.subject = "sharing",
                                   .work = work,
                                   .unit = "us",
                                   .per_second = 1e6,
                                   .most = SHARING_MOST_US};
    bench_contender_t contender = {.name = on, .run = run, .subject = subject};
    bench_interleave(&contender, 1, bench->rounds, SHARING_CALLS);
    bench_report_contenders(&bench->report, &shown, &contender, 1, 1);
}

static void measure_both(bench_t *bench, const char *on, subject_t *subject) {
    subject->x = bench_random(subject->scope, GANTRY_SHAPE(SHARING_FLOATS), 1);
    if (!subject->x) return;
    measure(bench, "memory in, and back", on, subject, run_in);
    measure(bench, "memory out", on, subject, run_out);
}

static void measure_host(bench_t *bench, const char *on) {
    subject_t subject = {.scope = bench_scope(bench, on), .is_host = true};
    subject.memory = calloc(SHARING_FLOATS, sizeof(float));
    if (subject.scope && subject.memory) measure_both(bench, on, &subject);
    if (subject.scope) (void)gantry_scope_end(subject.scope);
    free(subject.memory);
}

/* Measures in a runtime over the program's context and queue. */
static void measure_over(bench_t *bench, const bench_device_t *device,
                         const gantry_adopted_context_t *adopted, void *memory) {
    const gantry_adopted_context_t *const list[] = {adopted};
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .adopted = list, .adopted_count = 1};
    gantry_runtime_t *runtime = NULL;
    subject_t subject = {.memory = memory};
    gantry_status_t status = gantry_runtime_create(&options, &runtime);
    if (status == GANTRY_OK)
        status = gantry_find_logical_device(runtime, device->alias, &subject.device);
    gantry_native_t native = {.struct_size = sizeof native};
    if (status == GANTRY_OK) status = gantry_device_get_native(subject.device, &native);
    if (bench_is_ok(status, device->alias, "the program's context") && native.is_adopted) {
        /* of equal devices, the queue is the first one's */
        subject.scope = gantry_scope_begin(runtime, device->alias);
        if (subject.scope) measure_both(bench, device->alias, &subject);
        (void)gantry_scope_end(subject.scope);
    }
    gantry_runtime_release(runtime);
}

static void measure_opencl(bench_t *bench, const bench_device_t *device) {
    bench_queue_t queue;
    if (!bench_queue_open(&queue, device->hardware, SHARING_FLOATS * sizeof(float))) return;
    const gantry_adopted_context_t adopted = {.struct_size = sizeof adopted,
                                              .backend = "opencl",
                                              .context = queue.context,
                                              .queue = queue.queue};
    measure_over(bench, device, &adopted, queue.buffer);
    bench_queue_close(&queue);
}

static void measure_cuda(bench_t *bench, const bench_device_t *device) {
    bench_card_t card;
    if (bench_card_open(&card, device->uuid)) {
        const bench_address_t memory = bench_card_alloc(&card, SHARING_FLOATS * sizeof(float));
        const gantry_adopted_context_t adopted = {.struct_size = sizeof adopted,
                                                  .backend = "cuda",
                                                  .context = card.context,
                                                  .queue = card.stream};
        if (memory) measure_over(bench, device, &adopted, (void *)(uintptr_t)memory);
        bench_card_free(&card, memory);
    }
    bench_card_close(&card);
}

void bench_sharing(bench_t *bench) {
    for (size_t i = 0; i < bench->device_count; ++i) {
        const bench_device_t *device = &bench->devices[i];
        if (strncmp(device->alias, "cpu:", 4) == 0) measure_host(bench, device->alias);
        if (strncmp(device->alias, "opencl:", 7) == 0) measure_opencl(bench, device);
        if (strncmp(device->alias, "cuda:", 5) == 0) measure_cuda(bench, device);
    }
}
