/* SPDX-License-Identifier: Apache-2.0 */
/* An event is done when it is recorded, because all work before it is done. It must still carry
 * memory order: a thread that queries the event must see the results of the work before the record.
 * One atomic counter does this. */
#include <stdatomic.h>

#include "cpu/cpu_stream.h"

struct gantry_backend_event_t {
    const gantry_host_t *host;
    atomic_uint records;
};

static int32_t cpu_event_create(gantry_backend_device_t *device,
                                gantry_backend_event_t **out_event) {
    const gantry_host_t *host = device->host;
    gantry_backend_event_t *event = host->reallocate(host->self, NULL, 0, sizeof *event);
    *out_event = event;
    if (!event) {
        return gantry__cpu_fail(host, GANTRY_RESOURCE_EXHAUSTED, 0,
                                "No memory for an event of the CPU device (%zu bytes)",
                                sizeof *event);
    }
    event->host = host;
    atomic_init(&event->records, 0);
    return GANTRY_OK;
}

static void cpu_event_destroy(gantry_backend_event_t *event) {
    event->host->reallocate(event->host->self, event, sizeof *event, 0);
}

static int32_t cpu_event_record(gantry_backend_event_t *event, gantry_backend_stream_t *stream) {
    (void)stream;
    atomic_fetch_add_explicit(&event->records, 1, memory_order_release);
    return GANTRY_OK;
}

void gantry__cpu_event_observe(gantry_backend_event_t *event) {
    (void)atomic_load_explicit(&event->records, memory_order_acquire);
}

static int32_t cpu_event_query(gantry_backend_event_t *event, int32_t *out_done) {
    gantry__cpu_event_observe(event);
    *out_done = 1;
    return GANTRY_OK;
}

static int32_t cpu_event_synchronize(gantry_backend_event_t *event) {
    gantry__cpu_event_observe(event);
    return GANTRY_OK;
}

const gantry_event_ops_t gantry__cpu_event_ops = {
    .struct_size = sizeof gantry__cpu_event_ops,
    .create = cpu_event_create,
    .destroy = cpu_event_destroy,
    .record = cpu_event_record,
    .query = cpu_event_query,
    .synchronize = cpu_event_synchronize,
};
