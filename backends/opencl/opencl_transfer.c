/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers: all are submitted and none is waited for. */
#include "opencl/opencl_backend.h"

static int32_t opencl_transfer_check(gantry_backend_stream_t *stream, cl_int native,
                                     const char *what, const gantry_span_t *span) {
    return gantry__driver_check_span(stream->device->host, native, what, span,
                                     stream->device->record->hardware_name);
}

static int32_t opencl_transfer_to_device(gantry_backend_stream_t *stream,
                                         const gantry_span_t *target, const void *source) {
    cl_int native = stream->device->cl->clEnqueueWriteBuffer(
        stream->queue, gantry__opencl_buffer(target->region), CL_FALSE,
        (size_t)target->offset_bytes, (size_t)target->size_bytes, source, 0, NULL, NULL);
    return opencl_transfer_check(stream, native, "writing", target);
}

/* The flag by which the program forbids the host to read its buffer; NULL: none. */
static const char *forbidding_flag(const gantry__opencl_symbols_t *cl, cl_mem memory) {
    cl_mem_flags flags = 0;
    if (cl->clGetMemObjectInfo(memory, CL_MEM_FLAGS, sizeof flags, &flags, NULL) != CL_SUCCESS)
        return NULL;
    return flags & CL_MEM_HOST_NO_ACCESS    ? "CL_MEM_HOST_NO_ACCESS"
           : flags & CL_MEM_HOST_WRITE_ONLY ? "CL_MEM_HOST_WRITE_ONLY"
                                            : NULL;
}

static int32_t opencl_transfer_to_host(gantry_backend_stream_t *stream, void *target,
                                       const gantry_span_t *source) {
    cl_int native = stream->device->cl->clEnqueueReadBuffer(
        stream->queue, gantry__opencl_buffer(source->region), CL_FALSE,
        (size_t)source->offset_bytes, (size_t)source->size_bytes, target, 0, NULL, NULL);
    const char *flag =
        native == CL_INVALID_OPERATION
            ? forbidding_flag(stream->device->cl, gantry__opencl_buffer(source->region))
            : NULL;
    if (flag)
        return gantry__driver_fail(
            stream->device->host, GANTRY_FAILED_PRECONDITION, 0,
            "the cl_mem %p is %s: kernels of its device use it, and a buffer that the host may read is accepted here",
            (void *)gantry__opencl_buffer(source->region), flag);
    return opencl_transfer_check(stream, native, "reading", source);
}

static int32_t opencl_transfer_copy(gantry_backend_stream_t *stream, const gantry_span_t *target,
                                    const gantry_span_t *source) {
    cl_int native = stream->device->cl->clEnqueueCopyBuffer(
        stream->queue, gantry__opencl_buffer(source->region), gantry__opencl_buffer(target->region),
        (size_t)source->offset_bytes, (size_t)target->offset_bytes, (size_t)target->size_bytes, 0,
        NULL, NULL);
    return opencl_transfer_check(stream, native, "copying", target);
}

static int32_t opencl_transfer_fill(gantry_backend_stream_t *stream, const gantry_span_t *target,
                                    const void *pattern, uint32_t pattern_bytes) {
    cl_int native = stream->device->cl->clEnqueueFillBuffer(
        stream->queue, gantry__opencl_buffer(target->region), pattern, pattern_bytes,
        (size_t)target->offset_bytes, (size_t)target->size_bytes, 0, NULL, NULL);
    return opencl_transfer_check(stream, native, "filling", target);
}

/* There is no copy_peer, because each device has its own context, and OpenCL copies only within
 * one; the core copies through the host. */
const gantry_transfer_ops_t gantry__opencl_transfer_ops = {
    .struct_size = sizeof gantry__opencl_transfer_ops,
    .to_device = opencl_transfer_to_device,
    .to_host = opencl_transfer_to_host,
    .copy = opencl_transfer_copy,
    .fill = opencl_transfer_fill,
    .copy_peer = NULL,
};
