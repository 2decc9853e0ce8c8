/* SPDX-License-Identifier: Apache-2.0 */
/* Composed ops: ops without kernels, whose function runs other ops in the ordinary way.
 *
 * The composed op is inferred first, so that its types, attributes and shapes are checked under its
 * own name. Its parts then run in a scope of their own with the caller's device and tag; each is
 * placed and recorded for itself, with the name of the op that the program called. What the
 * function made and did not hand over is released at the end; after a failure all of it is, and the
 * message has the composed op's name in front.
 *
 * A new one: a line in op/composed.def and in a family's definitions (flag GANTRY__OP_COMPOSED),
 * and its function in compose_<family>.c. The scope belongs to the calling thread. */
#ifndef GANTRY_COMPOSE_COMPOSE_H
#define GANTRY_COMPOSE_COMPOSE_H

#include "run/composed.h"
#include "run/scope_state.h"

/* One call of a composed op, for its function. */
typedef struct gantry__compose_t {
    /* for the parts: the functions of ops.h take it as any scope, and after a failure do nothing */
    gantry_scope_t *scope;
    gantry__infer_t *call; /* types, attributes, shapes of inputs and results: checked */
    const gantry_tensor_t *const *inputs;
    /* to be set: tensors of that scope, or inputs; NULL after a failure */
    const gantry_tensor_t **outputs;
} gantry__compose_t;

#define PART(name)
#define COMPOSED(name, function, parts) void gantry__compose_##function(const gantry__compose_t *c);
#include "op/composed.def"
#undef COMPOSED
#undef PART

/* ---- for the functions ---- */

/* A tensor on the host, whatever the scope asks for: results that programs read at once (Shape),
 * inputs that describe a part. */
const gantry_tensor_t *gantry__compose_host(const gantry__compose_t *c, gantry_dtype_t dtype,
                                            gantry_shape_t shape, const void *data);
/* from, from + step, ... below limit: int64. */
const gantry_tensor_t *gantry__compose_range(const gantry__compose_t *c, int64_t from,
                                             int64_t limit, int64_t step);
/* A scalar of this floating type, on the scope's device. */
const gantry_tensor_t *gantry__compose_scalar(const gantry__compose_t *c, gantry_dtype_t dtype,
                                              double value);
/* Halves as float32, for parts between which nothing should be rounded; and a result as the type
 * it has. Other types stay as they are. */
const gantry_tensor_t *gantry__compose_widen(const gantry__compose_t *c, const gantry_tensor_t *x);
const gantry_tensor_t *gantry__compose_narrow(const gantry__compose_t *c, const gantry_tensor_t *x,
                                              gantry_dtype_t dtype);

#endif
