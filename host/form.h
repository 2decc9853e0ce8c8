/* SPDX-License-Identifier: Apache-2.0 */
/* Forms: what a kernel makes of a constant operand once and keeps between calls, such as its packed
 * panels. The core offers them to the backend inside its library, which is why they are no slot of
 * gantry_call_services_t.
 *
 * Owner: the core has the memory. Threads: a call belongs to one thread. */
#ifndef GANTRY_HOST_FORM_H
#define GANTRY_HOST_FORM_H

#include <stdbool.h>
#include <stdint.h>

struct gantry_op_call_t;

/* A bit of gantry_op_call_t.flags: core points to a gantry__form_fn. */
#define GANTRY__CALL_HAS_FORMS (UINT32_C(1) << 31)

/* Memory of `bytes` bytes for a form of input `input`; NULL: the input is no constant, or there is
 * no room, and the kernel must do without. Forms of one input with equal numbers and sizes must be
 * equal. A call has one form at most. If not *out_is_made, the call must write all of it before
 * compute returns OK. */
typedef void *(*gantry__form_fn)(struct gantry_op_call_t *call, uint32_t input, uint64_t number,
                                 uint64_t bytes, bool *out_is_made);

#endif
