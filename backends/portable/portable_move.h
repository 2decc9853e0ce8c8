/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the portable pack's move family share. Constant data and static inline
 * functions; thread-safe. */
#ifndef GANTRY_PORTABLE_MOVE_H
#define GANTRY_PORTABLE_MOVE_H

#include "portable/move_shape.h"
#include "portable/portable_work.h"
#include "portable/program_options.h"

GANTRY_GATHER_OPS(GANTRY_K_PORTABLE_KERNEL_DECLARATION)

/* bytes: of an element. index_dtype 0: the program has no index type. */
static inline gantry_k_options_t gantry__move_options(const gantry_op_call_t *call, uint32_t bytes,
                                                      int32_t index_dtype) {
    gantry_k_options_t options = gantry_k_options_of_type(call, gantry_k_twin_of(bytes));
    if (index_dtype != 0) gantry_k_define(&options, "I_ID", (uint32_t)index_dtype);
    return options;
}

#endif
