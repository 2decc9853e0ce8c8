/* SPDX-License-Identifier: Apache-2.0 */
#include "device/physical_device.h"
#include "kernel/view_probe.h"

#include <stdio.h>

/* One text for OpenCL C and CUDA C; a span is a base and an offset. */
static const char *const text[] = {
    "/* kernel gantry_probe (of one work-item): writes one word */\n"
    "#if defined(__OPENCL_VERSION__)\n"
    "__kernel void gantry_probe(__global uchar *base, const ulong offset, const uint value) {\n"
    "    *(__global uint *)(base + offset) = value;\n"
    "}\n"
    "#else\n"
    "extern \"C\" __global__ void gantry_probe(unsigned char *base, const unsigned long long offset, const unsigned int value) {\n"
    "    *(unsigned int *)(base + offset) = value;\n"
    "}\n"
    "#endif\n"};

static const gantry_program_source_t source = {
    .struct_size = sizeof source,
    .kinds = GANTRY_PROGRAM_OPENCL_C | GANTRY_PROGRAM_CUDA_C,
    .label = "core/view_probe",
    .parts = text,
    .part_count = 1,
};

#define PROBE_BYTES 256u
#define PROBE_WORD UINT32_C(0x5eed1e55)

/* State of the steps; NULL and 0: not made. */
typedef struct probe_t {
    const struct gantry_physical_device_t *view;
    const gantry_backend_t *backend;
    gantry_backend_device_t *handle;
    gantry_backend_kernel_t *kernel;
    gantry_region_t region;
    gantry_backend_stream_t *stream;
    uint32_t word;
} probe_t;

static gantry_status_t view_probe_step(const probe_t *probe, int32_t code, const char *what) {
    if (code == 0) return GANTRY_OK;
    return gantry__fail_prefix((gantry_status_t)code,
                               "the first launch on %s failed at %s: ", probe->view->alias, what);
}

static gantry_status_t view_probe_launch(const probe_t *probe) {
    const uint32_t value = PROBE_WORD;
    const gantry_launch_arg_t args[] = {
        {.kind = GANTRY_LAUNCH_SPAN, .as.span = {probe->region, 0, sizeof value}},
        {.kind = GANTRY_LAUNCH_SCALAR, .size_bytes = sizeof value, .as.value = &value},
    };
    const gantry_launch_t call = {.struct_size = sizeof call,
                                  .dimensions = 1,
                                  .global_size = {1, 1, 1},
                                  .local_size = {1, 1, 1},
                                  .args = args,
                                  .arg_count = 2};
    return view_probe_step(
        probe, probe->backend->program->launch(probe->stream, probe->kernel, &call), "the launch");
}

static gantry_status_t view_probe_run(probe_t *probe) {
    const gantry_backend_t *backend = probe->backend;
    GANTRY__TRY(view_probe_step(
        probe, backend->memory->region_alloc(probe->handle, PROBE_BYTES, &probe->region),
        "memory"));
    GANTRY__TRY(view_probe_step(
        probe, backend->stream->create(probe->handle, GANTRY_STREAM_COMPUTE, &probe->stream),
        "a stream"));
    GANTRY__TRY(view_probe_launch(probe));
    const gantry_span_t span = {probe->region, 0, sizeof probe->word};
    GANTRY__TRY(view_probe_step(
        probe, backend->transfer->to_host(probe->stream, &probe->word, &span), "reading"));
    GANTRY__TRY(view_probe_step(probe, backend->stream->synchronize(probe->stream), "waiting"));
    if (probe->word == PROBE_WORD) return GANTRY_OK;
    return gantry__fail(GANTRY_INTERNAL, "the first launch on %s wrote %08x, not %08x",
                        probe->view->alias, probe->word, PROBE_WORD);
}

/* If a step failed behind a submitted read, the read may be pending: destroying the stream waits
 * for it. */
static void clean_up(const probe_t *probe) {
    if (probe->stream) probe->backend->stream->destroy(probe->stream);
    if (probe->region)
        probe->backend->memory->region_free(probe->handle, probe->region, PROBE_BYTES);
}

gantry_status_t gantry__view_probe(void *user, const struct gantry_physical_device_t *view,
                                   gantry_backend_device_t *handle) {
    const gantry__view_probe_t *self = user;
    const gantry_backend_t *backend = view->backend->table;
    bool builds = GANTRY_ABI_HAS(backend, program) && backend->program &&
                  (view->info.program_kinds & source.kinds);
    if (!builds) return GANTRY_OK;
    gantry__program_cache_t cache;
    GANTRY__TRY(gantry__program_cache_init(&cache, self->heap, self->log, self->store,
                                           self->counters, backend, handle, &view->info));
    probe_t probe = {.view = view, .backend = backend, .handle = handle};
    gantry_status_t status =
        gantry__program_cache_kernel(&cache, &source, "", "gantry_probe", &probe.kernel);
    status = status == GANTRY_OK ? view_probe_run(&probe)
                                 : view_probe_step(&probe, (int32_t)status, "building");
    char why[GANTRY__MESSAGE_BYTES];
    (void)snprintf(why, sizeof why, "%s", status == GANTRY_OK ? "" : gantry__message());
    clean_up(&probe);
    gantry__program_cache_deinit(&cache);
    return status == GANTRY_OK ? GANTRY_OK : gantry__fail(status, "%s", why);
}
