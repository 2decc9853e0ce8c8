/* SPDX-License-Identifier: Apache-2.0 */
/* The core's use of host/fp_mode.h, which explains what a floating-point mode is and why the
 * library has its own. Owner: each thread has a slot of its own. Threads: thread-safe. */
#ifndef GANTRY_BASE_FP_MODE_H
#define GANTRY_BASE_FP_MODE_H

#include "host/fp_mode.h"

/* The slot of the calling thread. */
gantry__fp_program_t *gantry__fp_slot(void);

static inline void gantry__fp_end(gantry__fp_call_t *call) {
    gantry__fp_call_end(call, gantry__fp_slot);
}

/* GANTRY__OWN_FP_MODE(fp); at the top of a block: the block runs in Gantry's mode. Every public
 * call must have it that computes, reads, formats or parses numbers, or calls a driver or a
 * library. */
#define GANTRY__OWN_FP_MODE(name)                                    \
    __attribute__((cleanup(gantry__fp_end))) gantry__fp_call_t name; \
    gantry__fp_call_begin(&name, gantry__fp_slot)

static inline void gantry__fp_end_callback(gantry__fp_callback_t *callback) {
    gantry__fp_callback_end(callback, gantry__fp_slot());
}

/* GANTRY__PROGRAM_FP_MODE(fp); at the top of a block that calls a callback. */
#define GANTRY__PROGRAM_FP_MODE(name)                                              \
    __attribute__((cleanup(gantry__fp_end_callback))) gantry__fp_callback_t name = \
        gantry__fp_callback_begin(gantry__fp_slot())

#endif
