/* SPDX-License-Identifier: Apache-2.0 */
/* Counters of kernels and copies. TensorFlow's C API gives a create function neither its
 * registration nor anything of ours. A wrapped kernel therefore finds its row by the name of the
 * node's op. */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "report.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bridge.h"
#include "copy_count.h"
#include "stream.h"
#include "switch.h"

enum { MOST_ROWS = 1024 };

/* An op whose kernels are counted. */
typedef struct report_row_t {
    register_kernel_t kernel;
    _Atomic uint64_t calls[DEVICE_MOST];
} report_row_t;

/* A wrapped kernel. */
typedef struct report_kernel_t {
    report_row_t *row;
    void *kernel;
    char node[256];
} report_kernel_t;

typedef struct report_t {
    size_t row_count;
    report_row_t *rows; /* room for MOST_ROWS; NULL: kernels are not counted */
    atomic_bool ends_at_exit;
} report_t;

static report_t counts;

/* ---- wrapped kernels ---- */

static bool has_value(const char *name) {
    const char *value = getenv(name);
    return value && *value;
}

static report_row_t *find_row(const char *op) {
    for (size_t i = 0; i < counts.row_count; ++i) {
        if (!strcmp(counts.rows[i].kernel.op, op)) return &counts.rows[i];
    }
    return NULL;
}

/* The row of a kernel that is registered; NULL: it is not counted. An op with several kernels has
 * one row, if they have the same functions. */
static report_row_t *make_row(const register_kernel_t *kernel) {
    report_row_t *row = find_row(kernel->op);
    if (row) return row->kernel.create == kernel->create ? row : NULL;
    if (counts.row_count == MOST_ROWS) return NULL;
    row = &counts.rows[counts.row_count++];
    row->kernel = *kernel;
    return row;
}

/* Ends the trace when the process ends. Devices are open when TensorFlow makes kernels, so a
 * driver's own handlers run after this one. */
static void end_trace_at_exit(void) {
    if (atomic_exchange(&counts.ends_at_exit, true) || !has_value("GANTRY_TRACE")) return;
    (void)atexit(gantry_tensorflow_end_trace);
}

static void *create_counted(TF_OpKernelConstruction *construction) {
    char op[128];
    if (!bridge_op_name(construction, op, sizeof op)) return NULL;
    report_kernel_t *counted = calloc(1, sizeof *counted);
    if (!counted) {
        bridge_refuse_memory(construction);
        return NULL;
    }
    const TF_StringView node = TF_OpKernelConstruction_GetName(construction);
    snprintf(counted->node, sizeof counted->node, "%.*s", (int)node.len, node.data);
    counted->row = find_row(op);
    counted->kernel = counted->row->kernel.create(construction);
    end_trace_at_exit();
    return counted;
}

static void destroy_counted(void *data) {
    report_kernel_t *counted = data;
    if (!counted) return;
    if (counted->row->kernel.destroy) counted->row->kernel.destroy(counted->kernel);
    free(counted);
}

static uint64_t report_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void count_call(report_row_t *row, TF_OpKernelContext *context) {
    TF_Status *status = TF_NewStatus();
    const SP_Stream stream = TF_GetStream(context, status);
    if (stream)
        atomic_fetch_add_explicit(&row->calls[stream_device(stream)], 1, memory_order_relaxed);
    TF_DeleteStatus(status);
}

static void compute_counted(void *data, TF_OpKernelContext *context) {
    const report_kernel_t *counted = data;
    const uint64_t begin = report_now_ns();
    count_call(counted->row, context);
    counted->row->kernel.compute(counted->kernel, context);
    if (device_runtime())
        (void)gantry_trace_add(device_runtime(), counted->node, counted->row->kernel.op, begin,
                               report_now_ns());
}

void report_wrap(register_kernel_t *kernel) {
    if (!counts.rows && (switch_is_on("GANTRY_TF_REPORT") || has_value("GANTRY_TRACE")))
        counts.rows = calloc(MOST_ROWS, sizeof *counts.rows);
    if (!counts.rows || !make_row(kernel)) return;
    kernel->create = create_counted;
    kernel->compute = compute_counted;
    kernel->destroy = destroy_counted;
}

/* ---- the report ---- */

typedef struct report_text_t {
    char *out;
    size_t bytes, length;
} report_text_t;

__attribute__((format(printf, 2, 3))) static void report_put(report_text_t *text,
                                                             const char *format, ...) {
    const size_t room = text->bytes > text->length ? text->bytes - text->length : 0;
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(room ? text->out + text->length : NULL, room, format, arguments);
    va_end(arguments);
    if (length > 0) text->length += (size_t)length;
}

/* Writes a string, in which names of drivers may have any character. */
static void report_put_string(report_text_t *text, const char *string) {
    report_put(text, "\"");
    for (; *string; ++string) {
        const unsigned char c = (unsigned char)*string;
        if (c < 32 || c == '"' || c == '\\')
            report_put(text, "\\u%04x", c);
        else
            report_put(text, "%c", c);
    }
    report_put(text, "\"");
}

static void report_put_device(report_text_t *text, uint32_t i) {
    static const char *const ways[COPY_WAYS] = {"to_device", "to_host", "from_device"};
    gantry_memory_info_t info = {.struct_size = sizeof info};
    (void)gantry_get_memory_info(device_runtime(), device_at(i)->name, &info);
    report_put(text, "%s{\"name\":\"GPU:%u\",\"hardware\":", i ? "," : "", i);
    report_put_string(text, device_at(i)->hardware);
    report_put(text, ",\"bytes\":%llu,\"peak_bytes\":%llu,\"limit_bytes\":%llu",
               (unsigned long long)info.current_bytes, (unsigned long long)info.peak_bytes,
               (unsigned long long)info.limit_bytes);
    for (size_t way = 0; way < COPY_WAYS; ++way) {
        uint64_t copies, bytes;
        copy_count_read((copy_way_t)way, i, &copies, &bytes);
        report_put(text, ",\"%s\":{\"copies\":%llu,\"bytes\":%llu}", ways[way],
                   (unsigned long long)copies, (unsigned long long)bytes);
    }
    report_put(text, "}");
}

static bool report_put_row(report_text_t *text, const report_row_t *row, bool is_first) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < device_count(); ++i) sum += atomic_load(&row->calls[i]);
    if (!sum) return false;
    report_put(text, "%s{\"op\":\"%s\",\"calls\":[", is_first ? "" : ",", row->kernel.op);
    for (uint32_t i = 0; i < device_count(); ++i)
        report_put(text, "%s%llu", i ? "," : "", (unsigned long long)atomic_load(&row->calls[i]));
    report_put(text, "]}");
    return true;
}

size_t gantry_tensorflow_report(char *out, size_t out_bytes) {
    report_text_t text = {out, out_bytes, 0};
    if (!device_runtime()) {
        report_put(&text, "{}");
        return text.length;
    }
    report_put(&text, "{\"devices\":[");
    for (uint32_t i = 0; i < device_count(); ++i) report_put_device(&text, i);
    report_put(&text, "],\"counts_kernels\":%s,\"kernels\":[", counts.rows ? "true" : "false");
    bool is_first = true;
    for (size_t i = 0; i < counts.row_count; ++i)
        if (report_put_row(&text, &counts.rows[i], is_first)) is_first = false;
    report_put(&text, "]}");
    return text.length;
}

void gantry_tensorflow_end_trace(void) {
    if (device_runtime() && !device_is_forked()) (void)gantry_trace_stop(device_runtime());
}
