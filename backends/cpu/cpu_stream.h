/* SPDX-License-Identifier: Apache-2.0 */
/* The types of streams and events that cpu_stream.c, cpu_event.c and cpu_transfer.c share.
 *
 * Owner: the core. Threads: streams externally synchronised, events thread-safe. */
#ifndef GANTRY_CPU_STREAM_H
#define GANTRY_CPU_STREAM_H

#include "cpu/cpu_backend.h"

struct gantry_backend_stream_t {
    gantry_backend_device_t *device;
};

/* Makes the recording thread's work before the event visible to the calling thread. */
void gantry__cpu_event_observe(gantry_backend_event_t *event);

#endif
