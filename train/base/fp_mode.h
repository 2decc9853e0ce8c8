/* SPDX-License-Identifier: Apache-2.0 */
/* The training library's use of host/fp_mode.h, which says what it is about. Thread-safe. */
#ifndef GANTRY_TRAIN_FP_MODE_H
#define GANTRY_TRAIN_FP_MODE_H

#include <gantry/observe.h>

#include "host/fp_mode.h"

static inline void gantry__train_fp_end(gantry__fp_call_t *call) {
    gantry__fp_call_end(call, gantry_program_fp_mode);
}

/* GANTRY__TRAIN_OWN_FP_MODE(fp); at the top of a block: the block runs in Gantry's mode. Every
 * public call has it that computes on the host. So has a layer, a rate, a body of a function or
 * loop, or a callback of the library that does: it is called as the program's are. */
#define GANTRY__TRAIN_OWN_FP_MODE(name)                                    \
    __attribute__((cleanup(gantry__train_fp_end))) gantry__fp_call_t name; \
    gantry__fp_call_begin(&name, gantry_program_fp_mode)

static inline void gantry__train_fp_end_callback(gantry__fp_callback_t *callback) {
    gantry__fp_callback_end(callback, gantry_program_fp_mode());
}

/* GANTRY__TRAIN_PROGRAM_FP_MODE(program); at the top of a block that calls a callback. */
#define GANTRY__TRAIN_PROGRAM_FP_MODE(name)                                              \
    __attribute__((cleanup(gantry__train_fp_end_callback))) gantry__fp_callback_t name = \
        gantry__fp_callback_begin(gantry_program_fp_mode())

#endif
