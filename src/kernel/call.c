/* SPDX-License-Identifier: Apache-2.0 */
/* The services of a kernel call, in this order: scratch and outputs; programs; launches, checked
 * against the limits of an imitated device; copies, fills and reads, checked before the backend
 * gets them; faults. At the end, begin and finish of the call.
 *
 * Each service that submits work takes the stream's lock only for that submission. call_note sees
 * every slot's result and reports a lost device. */
#include "kernel/call.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "backend/slot_failure.h"
#include "device/card_limit.h"
#include "device/fault.h"
#include "device/loss.h"
#include "device/transfer.h"
#include "host/repeat.h"

static gantry__call_t *from_abi(gantry_op_call_t *abi) { return abi->core; }

static gantry__stream_t *compute_stream(const gantry__call_t *call) {
    return &call->device->streams[GANTRY_STREAM_COMPUTE];
}

/* Passes on the result of a slot, and marks the device as lost if it says so. */
static int32_t call_note(gantry__call_t *call, int32_t code) {
    return (int32_t)gantry__loss_note(call->device, (gantry_status_t)code);
}

static int32_t serve_scratch(gantry_op_call_t *abi, uint64_t size_bytes, gantry_span_t *out_span) {
    gantry__call_t *call = from_abi(abi);
    *out_span = (gantry_span_t){0, 0, 0};
    if (size_bytes == 0) return GANTRY_OK;
    if (call->scratch_count == GANTRY__MAX_SCRATCH) {
        return (int32_t)gantry__fail(GANTRY_INTERNAL,
                                     "kernel of %s requests more than %d workspaces", abi->op,
                                     GANTRY__MAX_SCRATCH);
    }
    gantry__buffer_t *buffer;
    const gantry__allocation_t request = {.bytes = size_bytes,
                                          .owner = abi->op,
                                          .tag = call->tag,
                                          .temporary = true,
                                          .held = call->scratch_count + call->temporary_count};
    gantry_status_t status =
        call->capture
            ? gantry__capture_take_scratch(call->capture, &request, &buffer)
            : gantry__buffer_allocate(call->device, &request, GANTRY_STREAM_COMPUTE, &buffer);
    if (status != GANTRY_OK)
        return (int32_t)gantry__fail_prefix(
            status, "OOM when allocating temporary tensor for op %s: ", abi->op);
    if (!call->capture) call->scratch[call->scratch_count++] = buffer;
    *out_span = buffer->span;
    return GANTRY_OK;
}

static int32_t serve_allocate_output(gantry_op_call_t *abi, uint32_t index, int32_t rank,
                                     const int64_t *dims) {
    gantry__call_t *call = from_abi(abi);
    if (!call->make_output) {
        return (int32_t)gantry__fail(
            GANTRY_INTERNAL, "kernel of %s makes output %u itself, but its shape was inferred",
            abi->op, index);
    }
    return call->make_output(call, index, rank, dims);
}

static int32_t serve_kernel(gantry_op_call_t *abi, const gantry_program_source_t *source,
                            const char *options, const char *name,
                            gantry_backend_kernel_t **out_kernel) {
    gantry__call_t *call = from_abi(abi);
    if (!call->programs)
        return (int32_t)gantry__fail(GANTRY_INTERNAL, "%s builds no programs", call->device->name);
    GANTRY__PHASE(call->frame, PROGRAM);
    int32_t code = (int32_t)gantry__program_cache_kernel(call->programs, source, options, name,
                                                         call->memo, out_kernel);
    return call_note(call, code);
}

/* ---- the limits of a smaller device ---- */

static int32_t refuse_launch(const gantry__call_t *call, const gantry_backend_kernel_t *kernel,
                             const char *need, uint64_t limit, uint64_t own) {
    char name[160] = "";
    if (call->programs) gantry__program_cache_name(call->programs, kernel, name, sizeof name);
    return (int32_t)gantry__fail(
        GANTRY_RESOURCE_EXHAUSTED,
        "op %s on %s: kernel %s needs %s; the limit that this logical device imitates is %" PRIu64
        " (the card's own is %" PRIu64 ")",
        call->abi.op, call->device->name, name, need, limit, own);
}

static int32_t check_work_group(const gantry__call_t *call, const gantry_backend_kernel_t *kernel,
                                const gantry_launch_t *launch) {
    uint64_t items = 1, limit = call->device->info.max_work_group_size;
    for (uint32_t i = 0; i < launch->dimensions && i < 3; ++i) items *= launch->local_size[i];
    if (items <= limit) return GANTRY_OK; /* 0: the driver chooses */
    char need[96];
    (void)snprintf(need, sizeof need, "a work-group of %" PRIu64 " work-items", items);
    return refuse_launch(call, kernel, need, limit,
                         gantry__logical_view(call->device)->info.max_work_group_size);
}

static int32_t serve_kernel_info(gantry_op_call_t *abi, gantry_backend_kernel_t *kernel,
                                 gantry_kernel_info_t *out_info) {
    const gantry_program_ops_t *ops = from_abi(abi)->device->backend->program;
    uint32_t size = out_info->struct_size;
    memset(out_info, 0, size);
    out_info->struct_size = size;
    if (!GANTRY_ABI_HAS(ops, kernel_info) || !ops->kernel_info) return GANTRY_OK;
    return ops->kernel_info(kernel, out_info);
}

/* The local memory that the kernel declares and the launch's arguments take together. If the driver
 * does not report the first, it counts as 0. */
static int32_t check_local_memory(gantry__call_t *call, gantry_backend_kernel_t *kernel,
                                  const gantry_launch_t *launch) {
    gantry_kernel_info_t info = {.struct_size = sizeof info};
    uint64_t arguments = 0, limit = call->device->info.local_memory_bytes;
    for (uint32_t i = 0; i < launch->arg_count; ++i) {
        if (launch->args[i].kind == GANTRY_LAUNCH_LOCAL) arguments += launch->args[i].size_bytes;
    }
    if (serve_kernel_info(&call->abi, kernel, &info) != GANTRY_OK) info.local_bytes = 0;
    if (info.local_bytes + arguments <= limit) return GANTRY_OK;
    char need[128];
    (void)snprintf(need, sizeof need,
                   "%" PRIu64 " bytes of local memory (%" PRIu64 " declared, %" PRIu64
                   " as arguments)",
                   info.local_bytes + arguments, info.local_bytes, arguments);
    return refuse_launch(call, kernel, need, limit,
                         gantry__logical_view(call->device)->info.local_memory_bytes);
}

/* Checks a launch: ResourceExhausted for one that the card could run but the imitated device could
 * not. */
static int32_t check_launch(gantry__call_t *call, gantry_backend_kernel_t *kernel,
                            const gantry_launch_t *launch) {
    int32_t code = check_work_group(call, kernel, launch);
    return code != GANTRY_OK ? code : check_local_memory(call, kernel, launch);
}

/* A capture has a stream of its own, which no other thread uses. */
static void begin_submission(const gantry__call_t *call) {
    if (!call->capture) gantry__stream_begin(compute_stream(call));
}

static void end_submission(const gantry__call_t *call) {
    if (!call->capture) gantry__stream_end_busy(compute_stream(call));
}

static void count_launch(gantry__call_t *call) {
    if (call->capture) {
        ++call->capture->launches;
        return;
    }
    if (call->programs)
        atomic_fetch_add_explicit(&call->programs->counters->launches, 1, memory_order_relaxed);
    if (call->frame) gantry__profile_count_launch(call->frame);
}

/* ---- a launch that repeats ---- */

/* The tensor whose base must be argument i: the inputs, and then output 0. */
static const gantry_arg_t *launched_tensor(const gantry_op_call_t *abi, uint32_t i) {
    return i < abi->input_count ? abi->inputs[i] : abi->outputs[0];
}

static bool has_kept_form(const gantry_op_call_t *abi, const gantry_launch_t *launch,
                          uint32_t offsets_at) {
    const uint32_t tensors = abi->input_count + 1;
    if (launch->arg_count != tensors + 1 || tensors > GANTRY__KEPT_INPUTS + 1) return false;
    for (uint32_t i = 0; i < tensors; ++i) {
        if (launch->args[i].kind != GANTRY_LAUNCH_BASE ||
            memcmp(&launch->args[i].as.span, &launched_tensor(abi, i)->span,
                   sizeof(gantry_span_t)) != 0)
            return false;
    }
    const gantry_launch_arg_t *scalar = &launch->args[tensors];
    return scalar->kind == GANTRY_LAUNCH_SCALAR &&
           scalar->size_bytes <= GANTRY__KEPT_SCALAR_BYTES &&
           offsets_at + tensors * sizeof(uint64_t) <= scalar->size_bytes;
}

static GANTRY__COLD void keep_launch(gantry__call_t *call, gantry_backend_kernel_t *kernel,
                                     const gantry_launch_t *launch) {
    gantry__kept_launch_t *kept = call->keeps;
    if (call->abi.reserved == 0) return;
    kept->offsets_at = call->abi.reserved - 1;
    call->abi.reserved = 0;
    if (!has_kept_form(&call->abi, launch, kept->offsets_at)) return;
    const gantry_launch_arg_t *scalar = &launch->args[launch->arg_count - 1];
    kept->launch = *launch;
    kept->launch.args = NULL;
    kept->scalar_bytes = scalar->size_bytes;
    memcpy(kept->scalar, scalar->as.value, scalar->size_bytes);
    kept->kernel = kernel;
}

static int32_t serve_launch(gantry_op_call_t *abi, gantry_backend_kernel_t *kernel,
                            const gantry_launch_t *launch) {
    gantry__call_t *call = from_abi(abi);
    if (call->keeps) keep_launch(call, kernel, launch);
    if (call->device->imitates_launches) {
        int32_t refused = check_launch(call, kernel, launch);
        if (refused != GANTRY_OK) return refused;
    }
    count_launch(call);
    begin_submission(call);
    gantry_status_t code;
    GANTRY__CALL_SLOT(code, call->device->backend->program->launch(abi->stream, kernel, launch));
    end_submission(call);
    return call_note(call, (int32_t)code);
}

void gantry__call_keep_launch(gantry__call_t *call, gantry__kept_launch_t *kept) {
    call->keeps = kept;
    call->abi.flags |= GANTRY__CALL_KEEPS_LAUNCH;
}

int32_t gantry__call_repeat(gantry__call_t *call, const gantry__kept_launch_t *kept) {
    gantry_launch_arg_t args[GANTRY__KEPT_INPUTS + 2];
    uint64_t scalar[GANTRY__KEPT_SCALAR_BYTES / sizeof(uint64_t)];
    const uint32_t tensors = call->abi.input_count + 1;
    memcpy(scalar, kept->scalar, sizeof scalar);
    unsigned char *offset = (unsigned char *)scalar + kept->offsets_at;
    for (uint32_t i = 0; i < tensors; ++i, offset += sizeof(uint64_t)) {
        const gantry_span_t *span = &launched_tensor(&call->abi, i)->span;
        args[i].kind = GANTRY_LAUNCH_BASE;
        args[i].size_bytes = 0;
        args[i].as.span = *span;
        memcpy(offset, &span->offset_bytes, sizeof span->offset_bytes);
    }
    args[tensors] = (gantry_launch_arg_t){
        .kind = GANTRY_LAUNCH_SCALAR, .size_bytes = kept->scalar_bytes, .as = {.value = scalar}};
    gantry_launch_t launch = kept->launch;
    launch.args = args;
    /* the kernel was found without a search */
    atomic_fetch_add_explicit(&call->programs->counters->reused, 1, memory_order_relaxed);
    return serve_launch(&call->abi, kept->kernel, &launch);
}

/* ---- transfers: what no backend needs to do ---- */

static bool spans_overlap(const gantry_span_t *a, const gantry_span_t *b) {
    return a->region == b->region && a->offset_bytes < b->offset_bytes + b->size_bytes &&
           b->offset_bytes < a->offset_bytes + a->size_bytes;
}

/* Whether it is the copy of a tensor onto itself, which the kernel changes in place. */
static bool is_copy_onto_itself(const gantry_span_t *target, const gantry_span_t *source) {
    return target->region == source->region && target->offset_bytes == source->offset_bytes &&
           target->size_bytes == source->size_bytes;
}

static int32_t check_copy(const char *op, const gantry_span_t *target,
                          const gantry_span_t *source) {
    if (target->size_bytes != source->size_bytes)
        return (int32_t)gantry__fail(GANTRY_INTERNAL,
                                     "kernel of %s: a copy of %" PRIu64 " bytes into %" PRIu64
                                     ": both must be of one size",
                                     op, source->size_bytes, target->size_bytes);
    if (spans_overlap(target, source))
        return (int32_t)gantry__fail(
            GANTRY_INTERNAL,
            "kernel of %s: a copy of %" PRIu64 " bytes from offset %" PRIu64 " to %" PRIu64
            " of the same region: they must not overlap",
            op, source->size_bytes, source->offset_bytes, target->offset_bytes);
    return GANTRY_OK;
}

static int32_t check_fill(const char *op, const gantry_span_t *target, uint32_t pattern_bytes) {
    if (pattern_bytes != 1 && pattern_bytes != 2 && pattern_bytes != 4 && pattern_bytes != 8)
        return (int32_t)gantry__fail(GANTRY_INTERNAL,
                                     "kernel of %s: a fill pattern of %" PRIu32
                                     " bytes: 1, 2, 4 and 8 are accepted",
                                     op, pattern_bytes);
    if ((target->offset_bytes | target->size_bytes) % pattern_bytes != 0)
        return (int32_t)gantry__fail(GANTRY_INTERNAL,
                                     "kernel of %s: a fill of %" PRIu64 " bytes at offset %" PRIu64
                                     ": both must be multiples of the pattern's %" PRIu32 " bytes",
                                     op, target->size_bytes, target->offset_bytes, pattern_bytes);
    return GANTRY_OK;
}

static int32_t serve_copy(gantry_op_call_t *abi, const gantry_span_t *target,
                          const gantry_span_t *source) {
    if (is_copy_onto_itself(target, source)) return GANTRY_OK;
    int32_t refused = check_copy(abi->op, target, source);
    if (refused != GANTRY_OK || target->size_bytes == 0) return refused;
    gantry__call_t *call = from_abi(abi);
    begin_submission(call);
    gantry_status_t code;
    GANTRY__CALL_SLOT(code, call->device->backend->transfer->copy(abi->stream, target, source));
    end_submission(call);
    return call_note(call, (int32_t)code);
}

static int32_t serve_fill(gantry_op_call_t *abi, const gantry_span_t *target, const void *pattern,
                          uint32_t pattern_bytes) {
    int32_t refused = check_fill(abi->op, target, pattern_bytes);
    if (refused != GANTRY_OK || target->size_bytes == 0) return refused;
    gantry__call_t *call = from_abi(abi);
    begin_submission(call);
    gantry_status_t code;
    GANTRY__CALL_SLOT(
        code, call->device->backend->transfer->fill(abi->stream, target, pattern, pattern_bytes));
    end_submission(call);
    return call_note(call, (int32_t)code);
}

static int32_t serve_fault(gantry_op_call_t *abi, gantry_span_t *out_span) {
    gantry__call_t *call = from_abi(abi);
    if (call->fault)
        return (int32_t)gantry__fail(GANTRY_INTERNAL, "kernel of %s requests a second error slot",
                                     abi->op);
    if (call->capture)
        return (int32_t)gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "kernel of %s requests an error slot, which a graph does not keep", abi->op);
    gantry_status_t status =
        gantry__fault_create(call->device, abi->op, call->sequence, &call->fault, out_span);
    if (status == GANTRY_OK) call->fault->part_of = call->part_of;
    return (int32_t)status;
}

static void serve_fault_words(gantry_op_call_t *abi, const gantry_fault_words_t *words) {
    gantry__call_t *call = from_abi(abi);
    if (call->fault) gantry__fault_set_words(call->fault, words);
}

static int32_t serve_fail(gantry_op_call_t *abi, int32_t code, const char *text) {
    (void)abi;
    return (int32_t)gantry__fail(
        code > 0 && code <= GANTRY_DATA_LOSS ? (gantry_status_t)code : GANTRY_UNKNOWN, "%s", text);
}

/* Usually the compute stream itself: all work of the kernel is in front, whoever submitted it. If
 * the driver would wait for all of that work under the stream's lock, this thread waits first, and
 * the stream for reads is used. */
static int32_t call_reading_stream(gantry__call_t *call, gantry__stream_t **out_stream) {
    gantry__stream_t *stream = compute_stream(call);
    *out_stream = stream;
    if (!call->device->waits_for_pageable) return GANTRY_OK;
    gantry__stream_begin(stream);
    const gantry__point_t submitted = {stream, gantry__stream_end(stream)};
    *out_stream = &call->device->streams[GANTRY_STREAM_TO_HOST];
    return (int32_t)gantry__reads_wait_for(call->device, submitted);
}

static int32_t call_read_part(gantry__call_t *call, const gantry_span_t *part, void *target) {
    gantry__stream_t *stream;
    GANTRY__TRY(call_reading_stream(call, &stream));
    gantry__stream_begin(stream);
    gantry_status_t code;
    GANTRY__CALL_SLOT(code, call->device->backend->transfer->to_host(stream->handle, target, part));
    uint64_t count = gantry__stream_end(stream);
    const int32_t noted = call_note(call, (int32_t)code);
    gantry_status_t status = gantry__point_wait((gantry__point_t){stream, count});
    return noted != GANTRY_OK ? noted : (int32_t)status;
}

static int32_t serve_read(gantry_op_call_t *abi, const gantry_span_t *source, void *target,
                          uint64_t size_bytes) {
    if (size_bytes == 0) return GANTRY_OK;
    gantry__call_t *call = from_abi(abi);
    if (call->capture)
        return (int32_t)gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "kernel of %s reads from its device, which a graph does not keep", abi->op);
    call->has_read = true;
    if (size_bytes > source->size_bytes) {
        return (int32_t)gantry__fail(GANTRY_INTERNAL,
                                     "kernel of %s reads %" PRIu64 " bytes of a span of %" PRIu64,
                                     abi->op, size_bytes, source->size_bytes);
    }
    gantry_status_t status = gantry__loss_check(call->device);
    if (status != GANTRY_OK) return (int32_t)status;
    const gantry_span_t part = {source->region, source->offset_bytes, size_bytes};
    GANTRY__PHASE(call->frame, COPY);
    if (call->frame) call->frame->numbers.bytes_moved += size_bytes;
    return call_read_part(call, &part, target);
}

static void serve_library_took(gantry_op_call_t *abi, uint64_t bytes) {
    gantry__card_limit_grow(from_abi(abi)->device, bytes);
}

/* ---- forms of constants ---- */

static void *call_find_form(gantry_op_call_t *abi, uint32_t input, uint64_t number, uint64_t bytes,
                            bool *out_is_made) {
    gantry__call_t *call = from_abi(abi);
    /* a kernel may have put a copy into the input's place */
    if (!(call->constants >> input & 1) || abi->inputs[input] != call->own_inputs[input] ||
        call->makes_form)
        return NULL;
    const gantry__form_key_t key = {.device = call->device,
                                    .kernel = abi->kernel,
                                    .constant = abi->inputs[input]->span,
                                    .number = number,
                                    .bytes = bytes};
    if (!call->form) call->form = gantry__form_find(call->device, &key, abi->op);
    if (!call->form || memcmp(&call->form->key, &key, sizeof key) != 0 ||
        !gantry__form_begin(call->form, &call->makes_form))
        return NULL;
    *out_is_made = !call->makes_form;
    return call->form->buffer->data;
}

void gantry__call_offer_forms(gantry__call_t *call, uint32_t constants) {
    call->find_form = call_find_form;
    call->own_inputs = call->abi.inputs;
    call->constants = constants;
    call->abi.flags |= GANTRY__CALL_HAS_FORMS;
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
    .read = serve_read,
    .fault_words = serve_fault_words,
    .kernel_info = serve_kernel_info,
    .library_took = serve_library_took,
};

void gantry__call_init(gantry__call_t *call, gantry_logical_device_t *device,
                       gantry__program_cache_t *programs, uint64_t sequence) {
    call->abi.struct_size = sizeof call->abi;
    call->abi.device = device->handle;
    call->abi.stream = device->streams[GANTRY_STREAM_COMPUTE].handle;
    call->abi.device_info = &device->info;
    call->abi.services = &services;
    call->abi.core = call;
    call->device = device;
    call->programs = programs;
    call->memo = NULL;
    call->sequence = sequence;
    call->scratch_count = 0;
    call->tag = NULL;
    call->part_of = NULL;
    call->frame = NULL;
    call->temporary_count = 0;
    call->fault = NULL;
    call->capture = NULL;
    call->has_read = false;
    call->keeps = NULL;
    call->make_output = NULL;
    call->caller = NULL;
    call->makes_form = false;
    call->form = NULL;
}

gantry__fault_t *gantry__call_finish(gantry__call_t *call, gantry__point_t *out_point) {
    gantry__stream_t *stream = compute_stream(call);
    /* also counts the work that the kernel submitted through a vendor's library */
    const uint64_t count = gantry__stream_count(stream);
    *out_point = (gantry__point_t){stream, count};
    for (uint32_t i = 0; i < call->scratch_count; ++i) {
        gantry__buffer_mark_use(call->scratch[i], GANTRY_STREAM_COMPUTE, count);
        gantry__buffer_release(call->scratch[i]);
    }
    call->scratch_count = 0;
    gantry__fault_t *fault = call->fault;
    call->fault = NULL;
    if (fault) gantry__fault_submit(fault, *out_point);
    return fault;
}
