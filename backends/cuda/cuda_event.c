/* SPDX-License-Identifier: Apache-2.0 */
/* Events without times. One that was never recorded counts as past, for the driver as for the
 * interface. */
#include "cuda/cuda_backend.h"

static int32_t cuda_event_create(gantry_backend_device_t *device,
                                 gantry_backend_event_t **out_event) {
    gantry_backend_event_t *event = gantry__driver_alloc(device->host, sizeof *event);
    *out_event = NULL;
    if (!event) return GANTRY_K_RESOURCE_EXHAUSTED;
    event->device = device;
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(device, native,
                      device->cu->cuEventCreate(&event->handle, GANTRY__CU_EVENT_DISABLE_TIMING));
    if (native != GANTRY__CU_SUCCESS) {
        gantry__host_free(device->host, event, sizeof *event);
        return gantry__driver_check(device->host, native, "making an event on \"%.200s\"",
                                    device->record->hardware_name);
    }
    *out_event = event;
    return GANTRY_K_OK;
}

static void cuda_event_destroy(gantry_backend_event_t *event) {
    gantry_backend_device_t *device = event->device;
    if (gantry__cuda_enter(device) == GANTRY__CU_SUCCESS) {
        device->cu->cuEventDestroy_v2(event->handle);
        gantry__cuda_leave(device);
    }
    gantry__host_free(device->host, event, sizeof *event);
}

static int32_t cuda_event_record(gantry_backend_event_t *event, gantry_backend_stream_t *stream) {
    gantry_backend_device_t *device = event->device;
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(device, native, device->cu->cuEventRecord(event->handle, stream->handle));
    return gantry__driver_check(device->host, native, "recording an event on \"%.200s\"",
                                device->record->hardware_name);
}

static int32_t cuda_event_query(gantry_backend_event_t *event, int32_t *out_done) {
    gantry_backend_device_t *device = event->device;
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(device, native, device->cu->cuEventQuery(event->handle));
    *out_done = native != GANTRY__CU_NOT_READY;
    return native == GANTRY__CU_NOT_READY
               ? GANTRY_K_OK
               : gantry__driver_check(device->host, native, "asking an event of \"%.200s\"",
                                      device->record->hardware_name);
}

static int32_t cuda_event_synchronize(gantry_backend_event_t *event) {
    gantry_backend_device_t *device = event->device;
    gantry__cu_result_t native;
    GANTRY__CUDA_CALL(device, native, device->cu->cuEventSynchronize(event->handle));
    return gantry__driver_check(device->host, native, "waiting for an event of \"%.200s\"",
                                device->record->hardware_name);
}

const gantry_event_ops_t gantry__cuda_event_ops = {
    .struct_size = sizeof gantry__cuda_event_ops,
    .create = cuda_event_create,
    .destroy = cuda_event_destroy,
    .record = cuda_event_record,
    .query = cuda_event_query,
    .synchronize = cuda_event_synchronize,
};
