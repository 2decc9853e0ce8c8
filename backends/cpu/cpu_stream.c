/* SPDX-License-Identifier: Apache-2.0 */
/* Work is done when the submitting slot returns. So a stream only remembers its device, and no slot
 * waits. */
#include "cpu/cpu_stream.h"

static int32_t cpu_stream_create(gantry_backend_device_t *device, int32_t purpose,
                                 gantry_backend_stream_t **out_stream) {
    const gantry_host_t *host = device->host;
    gantry_backend_stream_t *stream = host->reallocate(host->self, NULL, 0, sizeof *stream);
    (void)purpose;
    *out_stream = stream;
    if (!stream) {
        return gantry__cpu_fail(host, GANTRY_RESOURCE_EXHAUSTED, 0,
                                "No memory for a stream of the CPU device (%zu bytes)",
                                sizeof *stream);
    }
    stream->device = device;
    return GANTRY_OK;
}

static void cpu_stream_destroy(gantry_backend_stream_t *stream) {
    const gantry_host_t *host = stream->device->host;
    host->reallocate(host->self, stream, sizeof *stream, 0);
}

static int32_t cpu_stream_synchronize(gantry_backend_stream_t *stream) {
    (void)stream;
    return GANTRY_OK;
}

static int32_t cpu_stream_wait_event(gantry_backend_stream_t *stream,
                                     gantry_backend_event_t *event) {
    (void)stream;
    gantry__cpu_event_observe(event);
    return GANTRY_OK;
}

const gantry_stream_ops_t gantry__cpu_stream_ops = {
    .struct_size = sizeof gantry__cpu_stream_ops,
    .create = cpu_stream_create,
    .destroy = cpu_stream_destroy,
    .flush = NULL,
    .synchronize = cpu_stream_synchronize,
    .wait_event = cpu_stream_wait_event,
};
