/* SPDX-License-Identifier: Apache-2.0 */
/* Forms of constants (host/form.h) for kernels of the CPU backend. Owner: the core has the memory.
 * Threads: a call belongs to one thread. */
#ifndef GANTRY_KERNELS_CPU_FORM_H
#define GANTRY_KERNELS_CPU_FORM_H

#include "host/form.h"
#include "kernels/common/kernel_types.h"

/* A product keeps its packed constant where the other operand has at most so many lines: with more
 * of them, packing takes no part of the time that is worth the memory. */
#define GANTRY_CPU_FORM_LINES 1024

/* The memory of a form, which the caller must write unless *out_is_made; NULL: there is none. */
static inline char *gantry__cpu_form(gantry_op_call_t *call, uint32_t input, uint64_t number,
                                     uint64_t bytes, bool *out_is_made) {
    if ((call->flags & GANTRY__CALL_HAS_FORMS) == 0) return NULL;
    return (*(const gantry__form_fn *)call->core)(call, input, number, bytes, out_is_made);
}

#endif
