/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers: from the program's memory to the device's and back, by size, as a program sees them: a
 * constant made and waited for, a tensor read. References: memcpy for the CPU, blocking calls of
 * the raw driver for OpenCL. */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

#include "vendor.h"

#define TRANSFER_MOST_BYTES ((size_t)64 << 20)

typedef struct subject_t {
    gantry_scope_t *scope;
    const gantry_tensor_t *source; /* read back from here */
    bench_queue_t *queue;          /* the raw driver's; NULL: memcpy */
    char *host, *other;
    size_t bytes;
} subject_t;

static bool to_device(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        gantry_shape_t shape = GANTRY_SHAPE((int64_t)(subject->bytes / 4));
        const gantry_tensor_t *x =
            gantry_constant(subject->scope, GANTRY_FLOAT32, shape, subject->host, subject->bytes);
        if (!x || gantry_tensor_wait(x) != GANTRY_OK) return false;
        gantry_tensor_drop(subject->scope, x);
    }
    return true;
}

static bool to_host(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        if (gantry_tensor_read(subject->source, subject->host, subject->bytes) != GANTRY_OK)
            return false;
    }
    return true;
}

/* Through a pointer that the compiler cannot see through, so that equal copies in a row are not
 * one. */
static void *(*volatile copy_bytes)(void *, const void *, size_t) = memcpy;

static bool raw_to_device(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        bench_queue_t *queue = subject->queue;
        if (!queue) {
            (void)copy_bytes(subject->other, subject->host, subject->bytes);
        } else if (queue->opencl.clEnqueueWriteBuffer(queue->queue, queue->buffer, 1, 0,
                                                      subject->bytes, subject->host, 0, NULL,
                                                      NULL)) {
            return false;
        }
    }
    return true;
}

static bool raw_to_host(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        bench_queue_t *queue = subject->queue;
        if (!queue) {
            (void)copy_bytes(subject->host, subject->other, subject->bytes);
        } else if (queue->opencl.clEnqueueReadBuffer(queue->queue, queue->buffer, 1, 0,
                                                     subject->bytes, subject->host, 0, NULL,
                                                     NULL)) {
            return false;
        }
    }
    return true;
}

static void format_size(char *out, size_t out_bytes, const char *way, size_t bytes) {
    bool mebi = bytes >= (size_t)1 << 20;
    (void)snprintf(out, out_bytes, "%s, %zu %s", way, mebi ? bytes >> 20 : bytes >> 10,
                   mebi ? "MiB" : "KiB");
}

static void measure(bench_t *bench, subject_t *subject, const char *device, bool in) {
    char work[48];
    format_size(work, sizeof work, in ? "to the device" : "to the host", subject->bytes);
    bench_contender_t contenders[2] = {
        {.name = device, .run = in ? to_device : to_host, .subject = subject},
        {.name = subject->queue ? "raw OpenCL" : "memcpy",
         .run = in ? raw_to_device : raw_to_host,
         .subject = subject},
    };
    bench_measure_t shown = {
        "transfer", work, "GB/s", (double)subject->bytes * 1e-9, 0, &contenders[1], 0, 0, false};
    size_t calls = ((size_t)8 << 20) / subject->bytes;
    bench_interleave(contenders, 2, bench->quick ? bench->rounds : (bench->rounds + 1) / 2,
                     calls < 1     ? 1
                     : calls > 200 ? 200
                                   : (int)calls);
    bench_report_contenders(&bench->report, &shown, contenders, 2, 1);
}

static void measure_sizes(bench_t *bench, subject_t *subject, const char *device) {
    static const size_t sizes[] = {(size_t)4 << 10, (size_t)64 << 10, (size_t)1 << 20,
                                   (size_t)16 << 20, TRANSFER_MOST_BYTES};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        subject->bytes = sizes[i];
        measure(bench, subject, device, true);
        gantry_shape_t shape = GANTRY_SHAPE((int64_t)(subject->bytes / 4));
        subject->source = bench_random(subject->scope, shape, 1);
        if (!subject->source) return;
        measure(bench, subject, device, false);
        gantry_tensor_drop(subject->scope, subject->source);
    }
}

void bench_transfer(bench_t *bench) {
    for (size_t i = 0; i < bench->device_count; ++i) {
        const bench_device_t *device = &bench->devices[i];
        bool is_opencl = strncmp(device->alias, "opencl:", 7) == 0;
        bench_queue_t queue;
        subject_t subject = {.scope = bench_scope(bench, device->alias)};
        subject.host = calloc(1, TRANSFER_MOST_BYTES);
        subject.other = calloc(1, TRANSFER_MOST_BYTES);
        if (is_opencl && bench_queue_open(&queue, device->hardware, TRANSFER_MOST_BYTES))
            subject.queue = &queue;
        if (subject.scope && subject.host && subject.other) {
            memset(subject.host, 1, TRANSFER_MOST_BYTES);
            memset(subject.other, 1, TRANSFER_MOST_BYTES);
            measure_sizes(bench, &subject, device->alias);
        }
        if (subject.queue) bench_queue_close(&queue);
        free(subject.host);
        free(subject.other);
        if (subject.scope) (void)gantry_scope_end(subject.scope);
    }
}
