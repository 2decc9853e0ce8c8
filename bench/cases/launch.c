/* SPDX-License-Identifier: Apache-2.0 */
/* Launching: the smallest op through Gantry, against the driver's own enqueue of such a kernel.
 * Many with one wait at the end (pipelined), and each with a wait. Also the driver's own cost of
 * waiting for a kernel of about 50 us: the driver of a processor must wake a thread, another one
 * for a second work-item, and the caller. */
#include "bench.h"

#include <string.h>

#include "vendor.h"

#define LAUNCH_PIPELINED_CALLS 1000
#define LAUNCH_WAITED_CALLS 200
#define LAUNCH_BUSY_CALLS 50
#define LAUNCH_BUSY_ROUNDS 35000

typedef struct subject_t {
    gantry_scope_t *scope;
    const gantry_tensor_t *x;
    bench_queue_t queue; /* the raw driver's */
} subject_t;

static bool waited(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        const gantry_tensor_t *y = gantry_add(subject->scope, subject->x, subject->x);
        if (!y || gantry_tensor_wait(y) != GANTRY_OK) return false;
        gantry_tensor_drop(subject->scope, y);
    }
    return true;
}

static bool pipelined(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        const gantry_tensor_t *y = gantry_add(subject->scope, subject->x, subject->x);
        if (!y) return false;
        if (i + 1 == calls && gantry_tensor_wait(y) != GANTRY_OK) return false;
        gantry_tensor_drop(subject->scope, y);
    }
    return true;
}

static bool raw_enqueue(bench_queue_t *queue) {
    size_t global = 4;
    return queue->opencl.clEnqueueNDRangeKernel(queue->queue, queue->kernel, 1, NULL, &global, NULL,
                                                0, NULL, NULL) == 0;
}

static bool raw_waited(void *argument, int calls) {
    bench_queue_t *queue = &((subject_t *)argument)->queue;
    for (int i = 0; i < calls; ++i) {
        if (!raw_enqueue(queue) || queue->opencl.clFinish(queue->queue) != 0) return false;
    }
    return true;
}

static bool raw_pipelined(void *argument, int calls) {
    bench_queue_t *queue = &((subject_t *)argument)->queue;
    for (int i = 0; i < calls; ++i) {
        if (!raw_enqueue(queue)) return false;
    }
    return queue->opencl.clFinish(queue->queue) == 0;
}

static bool raw_busy(bench_queue_t *queue, int calls, size_t items, bool wait) {
    const int32_t rounds = LAUNCH_BUSY_ROUNDS;
    const size_t local = 1;
    if (queue->opencl.clSetKernelArg(queue->busy, 1, sizeof rounds, &rounds) != 0) return false;
    for (int i = 0; i < calls; ++i) {
        if (queue->opencl.clEnqueueNDRangeKernel(queue->queue, queue->busy, 1, NULL, &items, &local,
                                                 0, NULL, NULL) != 0)
            return false;
        if ((wait || i + 1 == calls) && queue->opencl.clFinish(queue->queue) != 0) return false;
    }
    return true;
}

static bool busy_in_a_row(void *argument, int calls) {
    return raw_busy(&((subject_t *)argument)->queue, calls, 1, false);
}

static bool busy_waited(void *argument, int calls) {
    return raw_busy(&((subject_t *)argument)->queue, calls, 1, true);
}

static bool two_waited(void *argument, int calls) {
    return raw_busy(&((subject_t *)argument)->queue, calls, 2, true);
}

static bool open_subject(bench_t *bench, const char *device, subject_t *subject) {
    const float four[4] = {1, 2, 3, 4};
    memset(subject, 0, sizeof *subject);
    subject->scope = bench_scope(bench, device);
    if (!subject->scope) return false;
    subject->x =
        gantry_constant(subject->scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), four, sizeof four);
    return subject->x && bench_is_ok(gantry_tensor_wait(subject->x), device, "constant");
}

static void close_subject(subject_t *subject) {
    if (subject->scope) (void)gantry_scope_end(subject->scope);
    if (subject->queue.queue) bench_queue_close(&subject->queue);
}

/* Measures one device and its raw driver; the contenders are cpu:0, the device and the driver. */
static void measure(bench_t *bench, subject_t *cpu, subject_t *subject,
                    const bench_device_t *device, bool wait) {
    bench_contender_t contenders[3] = {0};
    size_t count = 0, device_count;
    bool (*ours)(void *, int) = wait ? waited : pipelined;
    if (cpu)
        contenders[count++] = (bench_contender_t){.name = "cpu:0", .run = ours, .subject = cpu};
    if (subject)
        contenders[count++] =
            (bench_contender_t){.name = device->alias, .run = ours, .subject = subject};
    device_count = count;
    bench_measure_t shown = {
        "launch", wait ? "add of 4 elements, each waited for" : "add of 4 elements, 1000 in a row",
        "us",     0,
        1e6,      NULL,
        0,        0,
        false};
    if (subject && subject->queue.queue) {
        contenders[count] = (bench_contender_t){
            .name = "raw OpenCL", .run = wait ? raw_waited : raw_pipelined, .subject = subject};
        shown.reference = &contenders[count++];
    }
    bench_interleave(contenders, count, bench->rounds,
                     wait ? LAUNCH_WAITED_CALLS : LAUNCH_PIPELINED_CALLS);
    bench_report_contenders(&bench->report, &shown, contenders, count, device_count);
}

static void measure_driver(bench_t *bench, subject_t *subject) {
    bench_contender_t contenders[] = {
        {.name = "raw, in a row", .run = busy_in_a_row, .subject = subject},
        {.name = "raw, waited for", .run = busy_waited, .subject = subject},
        {.name = "raw, two, waited for", .run = two_waited, .subject = subject}};
    const size_t count = sizeof contenders / sizeof contenders[0];
    bench_measure_t shown = {"launch", "kernel of some 50 us", "us", 0, 1e6, &contenders[0], 0, 0,
                             false};
    bench_interleave(contenders, count, bench->rounds, LAUNCH_BUSY_CALLS);
    bench_report_contenders(&bench->report, &shown, contenders, count, 0);
}

void bench_launch(bench_t *bench) {
    subject_t cpu, other;
    bool has_cpu = bench->device_count > 0 && strcmp(bench->devices[0].alias, "cpu:0") == 0;
    if (has_cpu && !open_subject(bench, "cpu:0", &cpu)) {
        close_subject(&cpu);
        has_cpu = false;
    }
    if (has_cpu && bench->device_count == 1) {
        measure(bench, &cpu, NULL, NULL, false);
        measure(bench, &cpu, NULL, NULL, true);
    }
    for (size_t i = has_cpu ? 1 : 0; i < bench->device_count; ++i) {
        const bench_device_t *device = &bench->devices[i];
        if (open_subject(bench, device->alias, &other)) {
            if (strncmp(device->alias, "opencl:", 7) == 0)
                (void)bench_queue_open(&other.queue, device->hardware, 4096);
            measure(bench, has_cpu ? &cpu : NULL, &other, device, false);
            measure(bench, has_cpu ? &cpu : NULL, &other, device, true);
            if (other.queue.queue) measure_driver(bench, &other);
        }
        close_subject(&other);
    }
    if (has_cpu) close_subject(&cpu);
}
