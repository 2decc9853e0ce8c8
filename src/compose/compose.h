/* SPDX-License-Identifier: Apache-2.0 */
/* Composed ops: ops without kernels, whose function runs other ops in the ordinary way.
 *
 * The composed op is inferred first, so that its types, attributes and shapes are checked under its
 * own name. Its parts then run in a scope of their own, with the caller's device and tag. Each part
 * is placed and recorded by itself, with the name of the op that the program called. At the end all
 * tensors that are no outputs are released. A failure releases the outputs too, and puts the
 * composed op's name in front of the message.
 *
 * To add one: a line in op/composed.def and in a family's definitions (flag GANTRY__OP_COMPOSED),
 * and its function in compose_<family>.c. The function must set every output, unless it leaves the
 * scope failed, and must not end the scope. Threads: the scope belongs to the calling thread. */
#ifndef GANTRY_COMPOSE_COMPOSE_H
#define GANTRY_COMPOSE_COMPOSE_H

#include "run/composed.h"
#include "run/scope_state.h"

/* One call of a composed op, for its function. */
typedef struct gantry__compose_t {
    /* for the parts: the functions of ops.h take it as any scope, and do nothing after a failure */
    gantry_scope_t *scope;
    gantry__infer_t *call; /* types, attributes, shapes of inputs and results: checked */
    const gantry_tensor_t *const *inputs;
    gantry_logical_device_t *host; /* where gantry__compose_host makes tensors */
    /* the function must set them: to tensors of that scope, or inputs; NULL after a failure */
    const gantry_tensor_t **outputs;
} gantry__compose_t;

#define PART(name)
#define COMPOSED(name, function, parts) void gantry__compose_##function(const gantry__compose_t *c);
#include "op/composed.def"
#undef COMPOSED
#undef PART

/* ---- for the functions ---- */

/* Whether a Reshape to this shape finds all sizes: at most one is open, and then none is 0. */
bool gantry__takes_reshape(const gantry_shape_t *shape);

/* Makes a tensor on the host, whatever the scope requests: for results that programs read at once
 * (Shape), and for inputs that describe a part. The result of an op that is placed on a CPU is made
 * there. */
const gantry_tensor_t *gantry__compose_host(const gantry__compose_t *c, gantry_dtype_t dtype,
                                            const gantry_shape_t *shape, const void *data);
/* Makes the int64 tensor from, from + step, ... below limit. */
const gantry_tensor_t *gantry__compose_range(const gantry__compose_t *c, int64_t from,
                                             int64_t limit, int64_t step);
/* Makes a scalar of this type, which must be floating or an integer, on the scope's device. */
const gantry_tensor_t *gantry__compose_scalar(const gantry__compose_t *c, gantry_dtype_t dtype,
                                              double value);
/* Converts float16 and bfloat16 to float32, for parts between which nothing may be rounded; and
 * back to a result's type. Other types stay unchanged. */
const gantry_tensor_t *gantry__compose_widen(const gantry__compose_t *c, const gantry_tensor_t *x);
const gantry_tensor_t *gantry__compose_narrow(const gantry__compose_t *c, const gantry_tensor_t *x,
                                              gantry_dtype_t dtype);

#endif
