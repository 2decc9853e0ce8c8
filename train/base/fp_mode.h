/* SPDX-License-Identifier: Apache-2.0 */
/* The training library's use of host/fp_mode.h, which says why a call has a floating-point mode of
 * its own. Owner: the former mode is kept in the caller's block. Threads: thread-safe; only the
 * calling thread's mode changes. */
#ifndef GANTRY_TRAIN_FP_MODE_H
#define GANTRY_TRAIN_FP_MODE_H

#include <gantry/observe.h>

#include "host/fp_mode.h"

static inline void gantry__train_fp_end(gantry__fp_call_t *call) {
    gantry__fp_call_end(call, gantry_program_fp_mode);
}

/* GANTRY__TRAIN_OWN_FP_MODE(fp); at the top of a block makes the block run in Gantry's mode. Every
 * public call that computes on the host must have it. So must a layer, a rate, a body of a function
 * or loop, or a callback of the library that computes on the host, because it is called as the
 * program's are. */
#define GANTRY__TRAIN_OWN_FP_MODE(name)                                    \
    __attribute__((cleanup(gantry__train_fp_end))) gantry__fp_call_t name; \
    gantry__fp_call_begin(&name, gantry_program_fp_mode)

static inline void gantry__train_fp_end_callback(gantry__fp_callback_t *callback) {
    gantry__fp_callback_end(callback, gantry_program_fp_mode());
}

/* GANTRY__TRAIN_PROGRAM_FP_MODE(program); must be at the top of a block that calls a callback: the
 * block runs in the program's mode. */
#define GANTRY__TRAIN_PROGRAM_FP_MODE(name)                                              \
    __attribute__((cleanup(gantry__train_fp_end_callback))) gantry__fp_callback_t name = \
        gantry__fp_callback_begin(gantry_program_fp_mode())

#endif
