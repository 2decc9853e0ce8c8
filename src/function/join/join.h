/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that join elements (gantry/join.h): calling them on whole tensors, the parts of tensors
 * that are joined, and the two orders in which a sequence is.
 *
 * All of it is made of public ops, in a scope inside the caller's. A list of tensors has an entry
 * for each operand. A function that takes a list "with its tensors" drops those that the join's
 * scope owns. After a failure lists are undefined.
 *
 * Owner: the join's scope owns what is made in it; a join is the caller's. Threads: a join belongs
 * to the thread of its scope. */
#ifndef GANTRY_FUNCTION_JOIN_H
#define GANTRY_FUNCTION_JOIN_H

#include <gantry/join.h>

#include "function/trace/control.h"

typedef struct gantry__join_t {
    const char *name;      /* the public call's, for messages */
    gantry_scope_t *outer; /* the caller's */
    gantry_scope_t *scope; /* of what is made on the way, inside the caller's */
    gantry_function_body_fn body;
    void *user;
    uint32_t count;                  /* operands */
    const gantry_tensor_t **outputs; /* the caller's */
} gantry__join_t;

typedef const gantry_tensor_t *gantry__joined_t[GANTRY_MAX_JOINED];

/* A join of a public call's arguments. It must be ended by gantry__join_end. */
gantry__join_t gantry__join_of(const char *name, gantry_scope_t *scope,
                               gantry_function_body_fn body, void *user, size_t count,
                               const gantry_tensor_t **outputs);
/* Checks count, body, outputs, and count operands of one shape, then begins the join's scope. Each
 * call compares sizes that are open. */
gantry_status_t gantry__join_begin(gantry__join_t *join, const gantry_tensor_t *const *operands);
/* InvalidArgument unless a tensor is given that the caller's scope takes: "what number". */
gantry_status_t gantry__join_check_tensor(const gantry__join_t *join, const char *what,
                                          uint32_t number, const gantry_tensor_t *given);
/* InvalidArgument unless an operand of this rank has the axis, which may count from its end;
 * number -1: it is the only one. */
gantry_status_t gantry__join_check_axis(int64_t axis, int64_t number, int32_t rank);
/* InvalidArgument unless there is an init for each operand: a scalar of its type. */
gantry_status_t gantry__join_check_inits(const gantry__join_t *join,
                                         const gantry_tensor_t *const *operands,
                                         const gantry_tensor_t *const *inits);
/* In each call, ops of the join's scope that come after this one wait until sizes, a vector of
 * int64, are compared with those of x, "what number", some of which are open: InvalidArgument. */
gantry_status_t gantry__join_wait_for_sizes(const gantry__join_t *join, const char *what,
                                            uint32_t number, const gantry_tensor_t *x,
                                            const gantry_tensor_t *sizes);
/* Moves results to the caller's scope as its outputs if status is OK, ends the join's scope, and
 * returns the status of the caller's scope, with the call's name in front of the message. Outputs
 * are NULL after a failure. */
gantry_status_t gantry__join_end(gantry__join_t *join, gantry_status_t status,
                                 const gantry_tensor_t *const *results);

/* The status of the join's scope, with its message, after ops in it. */
gantry_status_t gantry__join_status(const gantry__join_t *join);
/* Calls the body: out = body(left, right), which the join's scope owns. out may be left or right.
 * InvalidArgument, with the output's number, for an output of another type or shape. */
gantry_status_t gantry__join_call(const gantry__join_t *join, const gantry_tensor_t *const *left,
                                  const gantry_tensor_t *const *right, const gantry_tensor_t **out);
/* Drops the tensors of a list that the join's scope owns, and no other list has. */
void gantry__join_drop(const gantry__join_t *join, const gantry_tensor_t *const *list);

/* to[i] = from[i]. */
void gantry__join_copy(const gantry__join_t *join, const gantry_tensor_t *const *from,
                       const gantry_tensor_t **to);
/* out[i] = the elements begin, begin + stride, ..., count of them, along an axis of x[i]. out must
 * not be x. */
gantry_status_t gantry__join_slice(const gantry__join_t *join, const gantry_tensor_t *const *x,
                                   int32_t axis, int64_t begin, int64_t count, int64_t stride,
                                   const gantry_tensor_t **out);
/* out[i] = first[i] and then second[i] along an axis; out may be either. */
gantry_status_t gantry__join_concat(const gantry__join_t *join, const gantry_tensor_t *const *first,
                                    const gantry_tensor_t *const *second, int32_t axis,
                                    const gantry_tensor_t **out);

/* Pads x, with its tensors, with inits: paddings and interior as of gantry_pad, interior not NULL;
 * an open axis is not padded. */
gantry_status_t gantry__join_pad(const gantry__join_t *join, const gantry_tensor_t *const *inits,
                                 const int64_t *paddings, const int64_t *interior,
                                 const gantry_tensor_t **x);

/* Joins the known, positive number of elements along an axis of x, with its tensors, into one: the
 * axis keeps size 1. In the order of sums, or of neighbours. */
gantry_status_t gantry__join_tree(const gantry__join_t *join, const gantry_tensor_t **x,
                                  int32_t axis, bool in_order);
/* out[i] = inits[i] wherever x[i] has an element; it may be inits[i] itself. */
gantry_status_t gantry__join_spread(const gantry__join_t *join, const gantry_tensor_t *const *inits,
                                    const gantry_tensor_t *const *x, const gantry_tensor_t **out);
/* Joins inits, once, as the left elements, to x, with its tensors. */
gantry_status_t gantry__join_inits(const gantry__join_t *join, const gantry_tensor_t *const *inits,
                                   const gantry_tensor_t **x);

#endif
