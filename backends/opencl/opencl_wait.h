/* SPDX-License-Identifier: Apache-2.0 */
/* How a thread waits for a device: as the driver does, or by a policy of the user. Owner: the
 * device. Threads: thread-safe. */
#ifndef GANTRY_OPENCL_WAIT_H
#define GANTRY_OPENCL_WAIT_H

#include <stdatomic.h>

#include "opencl/opencl_symbols.h"

/* The waits of one device; it must be all zero at first. */
typedef struct gantry__opencl_wait_t {
    atomic_int policy;        /* GANTRY__WAIT_... */
    atomic_bool is_burning;   /* the driver's own wait was seen to use a core */
    atomic_ullong typical_ns; /* a typical wait, in which the latest counts most */
} gantry__opencl_wait_t;

/* Waits for an event, whose queue must have been flushed. Returns what clWaitForEvents returns, or
 * the negative status of the event. */
cl_int gantry__opencl_wait(const gantry__opencl_symbols_t *cl, gantry__opencl_wait_t *wait,
                           cl_event event);

#endif
