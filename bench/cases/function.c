/* SPDX-License-Identifier: Apache-2.0 */
/* A function of 1000 adds of 4 elements, which are not fused: the time of a node. On OpenCL it is
 * compared with the driver's own enqueue of as many such kernels, with one wait at the end as
 * well. */
#include "bench.h"

#include <string.h>

#include "vendor.h"

#define NODES 1000

typedef struct subject_t {
    gantry_scope_t *scope;
    const gantry_tensor_t *x;
    gantry_function_t *function;
    bench_queue_t queue; /* the raw driver's */
} subject_t;

static void add_often(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = inputs[0];
    for (int i = 0; i < NODES; ++i) outputs[0] = gantry_add(scope, outputs[0], inputs[0]);
}

/* A call of the contender is a node: NODES of them are one call of the function. */
static bool call_function(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; i += NODES) {
        const gantry_tensor_t *y;
        if (gantry_function_call(subject->scope, subject->function, &subject->x, 1, &y, 1) !=
                GANTRY_OK ||
            gantry_tensor_wait(y) != GANTRY_OK)
            return false;
        gantry_tensor_drop(subject->scope, y);
    }
    return true;
}

static bool enqueue_raw(void *argument, int calls) {
    bench_queue_t *queue = &((subject_t *)argument)->queue;
    const size_t one = 1;
    for (int i = 0; i < calls; ++i) {
        if (queue->opencl.clEnqueueNDRangeKernel(queue->queue, queue->same, 1, NULL, &one, &one, 0,
                                                 NULL, NULL) != 0)
            return false;
        if ((i + 1) % NODES == 0 && queue->opencl.clFinish(queue->queue) != 0) return false;
    }
    return true;
}

/* Opens a subject; it returns false if a result is wrong, too. */
static bool open_subject(bench_t *bench, const char *device, subject_t *subject) {
    const float four[4] = {1, 2, 3, 4};
    float sums[4] = {0};
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(4)};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = GANTRY_PASS_ELEMENTWISE_FUSION};
    const gantry_tensor_t *y;
    memset(subject, 0, sizeof *subject);
    subject->scope = bench_scope(bench, device);
    if (!subject->scope) return false;
    subject->x =
        gantry_constant(subject->scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), four, sizeof four);
    if (!subject->x ||
        !bench_is_ok(gantry_function_trace(bench->runtime, "adds", add_often, NULL, &input, 1, 1,
                                           &options, &subject->function),
                     device, "function") ||
        !bench_is_ok(gantry_function_call(subject->scope, subject->function, &subject->x, 1, &y, 1),
                     device, "call") ||
        !bench_is_ok(gantry_tensor_read(y, sums, sizeof sums), device, "read"))
        return false;
    for (int i = 0; i < 4; ++i)
        bench->is_wrong |= sums[i] < four[i] * (NODES + 1) || sums[i] > four[i] * (NODES + 1);
    return true;
}

static void close_subject(subject_t *subject) {
    gantry_function_release(subject->function);
    if (subject->scope) (void)gantry_scope_end(subject->scope);
    if (subject->queue.queue) bench_queue_close(&subject->queue);
}

static void measure_on(bench_t *bench, const bench_device_t *device) {
    subject_t subject;
    if (open_subject(bench, device->alias, &subject)) {
        bench_contender_t contenders[] = {
            {.name = device->alias, .run = call_function, .subject = &subject},
            {.name = "raw OpenCL", .run = enqueue_raw, .subject = &subject}};
        const bool is_opencl = strncmp(device->alias, "opencl:", 7) == 0 &&
                               bench_queue_open(&subject.queue, device->hardware, 4096);
        const bench_measure_t shown = {.subject = "function",
                                       .work = "1000 adds of 4 elements, a node",
                                       .unit = "us",
                                       .per_second = 1e6,
                                       .reference = is_opencl ? &contenders[1] : NULL,
                                       .least_ratio = is_opencl ? 1 / 1.2 : 0};
        const size_t count = is_opencl ? 2 : 1;
        bench_interleave(contenders, count, bench->rounds, NODES);
        bench_report_contenders(&bench->report, &shown, contenders, count, 1);
    }
    close_subject(&subject);
}

void bench_function(bench_t *bench) {
    for (size_t i = 0; i < bench->device_count; ++i) measure_on(bench, &bench->devices[i]);
}
