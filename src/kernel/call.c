#include "kernel/call.h"

#include "device/loss.h"

static gantry__call_t *from_abi(gantry_op_call_t *abi) { return abi->core; }

static gantry__stream_t *compute_stream(const gantry__call_t *call) {
    return &call->device->streams[GANTRY_STREAM_COMPUTE];
}

/* What a slot of the device returned, the loss of the device made known. */
static int32_t note(gantry__call_t *call, int32_t code) {
    return (int32_t)gantry__loss_note(call->device, (gantry_status_t)code);
}

static int32_t serve_scratch(gantry_op_call_t *abi, uint64_t size_bytes, gantry_span_t *out_span) {
    gantry__call_t *call = from_abi(abi);
    *out_span = (gantry_span_t){0, 0, 0};
    if (size_bytes == 0) return GANTRY_OK;
    if (call->scratch_count == GANTRY__MAX_SCRATCH) {
        return (int32_t)gantry__fail(GANTRY_INTERNAL, "kernel of %s asks for more than %d workspaces", abi->op,
                                     GANTRY__MAX_SCRATCH);
    }
    gantry__buffer_t *buffer;
    gantry_status_t status = gantry__buffer_create(call->device, size_bytes, GANTRY_STREAM_COMPUTE, abi->op, &buffer);
    if (status != GANTRY_OK)
        return (int32_t)gantry__fail_prefix(status, "OOM when allocating temporary tensor for op %s: ", abi->op);
    call->scratch[call->scratch_count++] = buffer;
    *out_span = buffer->span;
    return GANTRY_OK;
}

static int32_t serve_allocate_output(gantry_op_call_t *abi, uint32_t index, int32_t rank, const int64_t *dims) {
    gantry__call_t *call = from_abi(abi);
    if (!call->make_output) {
        return (int32_t)gantry__fail(GANTRY_INTERNAL, "kernel of %s makes output %u itself, but its shape was inferred",
                                     abi->op, index);
    }
    return call->make_output(call, index, rank, dims);
}

static int32_t serve_kernel(gantry_op_call_t *abi, const gantry_program_source_t *source, const char *options,
                            const char *name, gantry_backend_kernel_t **out_kernel) {
    gantry__call_t *call = from_abi(abi);
    if (!call->programs) return (int32_t)gantry__fail(GANTRY_INTERNAL, "%s builds no programs", call->device->name);
    return note(call, (int32_t)gantry__program_cache_kernel(call->programs, source, options, name, out_kernel));
}

static int32_t serve_launch(gantry_op_call_t *abi, gantry_backend_kernel_t *kernel, const gantry_launch_t *launch) {
    gantry__call_t *call = from_abi(abi);
    if (call->programs) atomic_fetch_add_explicit(&call->programs->counters->launches, 1, memory_order_relaxed);
    gantry__stream_t *stream = compute_stream(call);
    gantry__stream_begin(stream);
    int32_t code = call->device->backend->program->launch(abi->stream, kernel, launch);
    (void)gantry__stream_end(stream);
    return note(call, code);
}

static int32_t serve_copy(gantry_op_call_t *abi, const gantry_span_t *target, const gantry_span_t *source) {
    if (target->size_bytes == 0) return GANTRY_OK;
    gantry__call_t *call = from_abi(abi);
    gantry__stream_t *stream = compute_stream(call);
    gantry__stream_begin(stream);
    int32_t code = call->device->backend->transfer->copy(abi->stream, target, source);
    (void)gantry__stream_end(stream);
    return note(call, code);
}

static int32_t serve_fill(gantry_op_call_t *abi, const gantry_span_t *target, const void *pattern,
                          uint32_t pattern_bytes) {
    if (target->size_bytes == 0) return GANTRY_OK;
    gantry__call_t *call = from_abi(abi);
    gantry__stream_t *stream = compute_stream(call);
    gantry__stream_begin(stream);
    int32_t code = call->device->backend->transfer->fill(abi->stream, target, pattern, pattern_bytes);
    (void)gantry__stream_end(stream);
    return note(call, code);
}

static int32_t serve_fault(gantry_op_call_t *abi, gantry_span_t *out_span) {
    gantry__call_t *call = from_abi(abi);
    if (call->fault)
        return (int32_t)gantry__fail(GANTRY_INTERNAL, "kernel of %s asks for a second error slot", abi->op);
    return (int32_t)gantry__fault_create(call->device, abi->op, call->sequence, &call->fault, out_span);
}

static int32_t serve_fail(gantry_op_call_t *abi, int32_t code, const char *text) {
    (void)abi;
    return (int32_t)gantry__fail(code > 0 && code <= GANTRY_DATA_LOSS ? (gantry_status_t)code : GANTRY_UNKNOWN, "%s",
                                 text);
}

static const gantry_call_services_t services = {
    .struct_size = sizeof(gantry_call_services_t),
    .scratch = serve_scratch,
    .allocate_output = serve_allocate_output,
    .kernel = serve_kernel,
    .launch = serve_launch,
    .copy = serve_copy,
    .fill = serve_fill,
    .fault = serve_fault,
    .fail = serve_fail,
};

void gantry__call_init(gantry__call_t *call, gantry_logical_device_t *device, gantry__program_cache_t *programs,
                       uint64_t sequence) {
    call->abi.struct_size = sizeof call->abi;
    call->abi.device = device->handle;
    call->abi.stream = device->streams[GANTRY_STREAM_COMPUTE].handle;
    call->abi.device_info = &device->physical->info;
    call->abi.services = &services;
    call->abi.core = call;
    call->device = device;
    call->programs = programs;
    call->sequence = sequence;
    call->scratch_count = 0;
    call->fault = NULL;
    call->make_output = NULL;
    call->caller = NULL;
}

gantry__fault_t *gantry__call_finish(gantry__call_t *call, gantry__point_t *out_point) {
    gantry__stream_t *stream = compute_stream(call);
    gantry__stream_begin(stream); /* counts what the kernel submitted on its own, through a vendor's library */
    uint64_t count = gantry__stream_end(stream);
    *out_point = (gantry__point_t){stream, count};
    for (uint32_t i = 0; i < call->scratch_count; ++i) {
        gantry__buffer_mark_use(call->scratch[i], GANTRY_STREAM_COMPUTE, count);
        gantry__buffer_release(call->scratch[i]);
    }
    call->scratch_count = 0;
    gantry__fault_t *fault = call->fault;
    call->fault = NULL;
    if (fault) fault->point = *out_point;
    return fault;
}
