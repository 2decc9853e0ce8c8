/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of ONNX Runtime, which only logs what fails in one. Gantry orders its work by tensors, on
 * all devices and for all sessions, so a stream orders nothing, and it keeps no failure: whoever
 * copies a value, or runs with it, waits for it and gets its error, each time.
 *
 *     of a program    the end of a run that it is given to waits for the device
 *     of a session    ONNX Runtime makes it for a run, whose end does not wait for the device
 *
 * A wait takes no error from the call that is to report it: it is one for a tensor of its own. */
#include <stdlib.h>

#include "provider.h"

typedef struct device_stream_t {
    ort_stream_impl_t base; /* must be first */
    ort_provider_t *provider;
    const gantry_logical_device_t *device;
} device_stream_t;

/* ---- waiting ---- */

/* A device computes in order: with the last kernel, all before it have ended. */
static gantry_status_t wait_for_kernel(gantry_scope_t *scope) {
    const gantry_tensor_t *last = gantry_neg(scope, gantry_scalar_f32(scope, 0));
    if (last) (void)gantry_scope_fail(scope, gantry_tensor_wait(last), gantry_last_message());
    return gantry_scope_end(scope);
}

ort_status_t *ort_wait_for_device(ort_provider_t *provider, const gantry_logical_device_t *device) {
    ORT_TRY(ort_check_device(provider, device));
    (void)pthread_rwlock_rdlock(&provider->work);
    gantry_scope_t *scope = gantry_scope_begin_on(provider->runtime, device);
    const gantry_status_t status = scope ? wait_for_kernel(scope) : GANTRY_RESOURCE_EXHAUSTED;
    (void)pthread_rwlock_unlock(&provider->work);
    return status == GANTRY_OK ? NULL : ort_fail_as(provider, status, gantry_last_message());
}

static ort_status_t *flush_stream(ort_stream_impl_t *self) {
    const device_stream_t *stream = (const device_stream_t *)self;
    return ort_wait_for_device(stream->provider, stream->device);
}

/* ---- what orders nothing ---- */

static ort_status_t *leave_stream(ort_stream_impl_t *self) {
    (void)self;
    return NULL;
}

static ort_status_t *leave_notification(ort_notification_t *self) {
    (void)self;
    return NULL;
}

static ort_status_t *leave_device_wait(ort_notification_t *self, ort_stream_t *consumer) {
    (void)self, (void)consumer;
    return NULL;
}

static void release_notification(ort_notification_t *self) { (void)self; }

static const ort_notification_t notification = {.version = ORT_VERSION,
                                                .Release = release_notification,
                                                .Activate = leave_notification,
                                                .WaitOnDevice = leave_device_wait,
                                                .WaitOnHost = leave_notification};

static ort_status_t *create_notification(ort_stream_impl_t *self,
                                         ort_notification_t **out_notification) {
    (void)self;
    *out_notification = (ort_notification_t *)(uintptr_t)&notification;
    return NULL;
}

/* ---- a stream ---- */

/* The driver's queue, for which a program may wait; NULL: the driver gives none. */
static void *stream_handle(ort_stream_impl_t *self) {
    gantry_native_t native = {.struct_size = sizeof native};
    const device_stream_t *stream = (const device_stream_t *)self;
    return gantry_device_get_native(stream->device, &native) == GANTRY_OK ? native.queue : NULL;
}

static void release_stream(ort_stream_impl_t *self) {
    ort_provider_release(((device_stream_t *)self)->provider);
    free(self);
}

ort_status_t *ort_stream_create(ort_provider_t *provider, const gantry_logical_device_t *device,
                                bool of_session, ort_stream_impl_t **out_stream) {
    device_stream_t *stream = calloc(1, sizeof *stream);
    *out_stream = NULL;
    if (!stream) return ort_out_of_memory(provider);
    stream->base = (ort_stream_impl_t){.version = ORT_VERSION,
                                       .Release = release_stream,
                                       .GetHandle = stream_handle,
                                       .CreateNotification = create_notification,
                                       .Flush = of_session ? leave_stream : flush_stream,
                                       .OnSessionRunEnd = leave_stream};
    stream->provider = ort_provider_retain(provider);
    stream->device = device;
    *out_stream = &stream->base;
    return NULL;
}
