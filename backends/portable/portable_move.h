/* What the files of the portable pack's move family share. Constant data and static inline functions; thread-safe. */
#ifndef GANTRY_PORTABLE_MOVE_H
#define GANTRY_PORTABLE_MOVE_H

#include <stdio.h>

#include "portable/move_shape.h"
#include "portable/portable_work.h"

GANTRY_GATHER_OPS(GANTRY_K_PORTABLE_KERNEL_DECLARATION)

#define GANTRY_MOVE_OPTIONS_BYTES 64

/* bytes: of an element. index_dtype 0: the program has no index type. */
static inline void gantry__move_options(const gantry_op_call_t *call, uint32_t bytes, int32_t index_dtype,
                                        char *options) {
    int type = gantry_k_twin_of(bytes), serial = gantry_k_is_serial(call);
    if (index_dtype == 0) {
        (void)snprintf(options, GANTRY_MOVE_OPTIONS_BYTES, "-DGANTRY_T_ID=%d -DGANTRY_SERIAL=%d", type, serial);
    } else {
        (void)snprintf(options, GANTRY_MOVE_OPTIONS_BYTES, "-DGANTRY_T_ID=%d -DGANTRY_I_ID=%d -DGANTRY_SERIAL=%d", type,
                       (int)index_dtype, serial);
    }
}

#endif
