/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: the gradient of an op, made of ops.
 *
 * A rule gets what was recorded of the op and the gradients of its outputs, and must set those of
 * its inputs. Each family of rules has one file, rule_<family>.c, with one table, which must be
 * sorted by name; rule.c joins the tables. A rule that fails must leave its failure in the scope.
 * Owner: rules are constant data; tensors belong to the call's scope. Threads: externally
 * synchronised, as the tape.
 *
 *     static void rule_square(gantry__rule_call_t *c) {
 *         const gantry_tensor_t *two = gantry__rule_scalar(c, c->x[0], 2);
 *         c->dx[0] = gantry_mul(c->scope, c->dy[0], gantry_mul(c->scope, two, c->x[0]));
 *     } */
#ifndef GANTRY_TRAIN_RULE_H
#define GANTRY_TRAIN_RULE_H

#include "train/tape/record.h"

/* The gradient of an input as slices: values are added to the rows of zeros that indices name. */
typedef struct gantry__rule_slices_t {
    bool is_accepted; /* else the rule sets dx */
    const gantry_tensor_t *values, *indices;
} gantry__rule_slices_t;

typedef struct gantry__rule_call_t {
    gantry_scope_t *scope;                      /* where the gradient's ops run */
    const gantry__record_t *record;             /* the op, its attributes */
    const gantry_tensor_t *const *x, *const *y; /* its inputs and outputs */
    const gantry_tensor_t *const *dy; /* the gradient of each output, or NULL; not all are NULL */
    const gantry_tensor_t **dx;       /* of each input; NULL at first, and where there is none */
    const bool *wants;                /* whether the gradient of the input is used */
    gantry__rule_slices_t *slices;    /* of each input, in place of dx */
} gantry__rule_call_t;

typedef void (*gantry__rule_fn)(gantry__rule_call_t *c);

typedef struct gantry__rule_t {
    const char *op;      /* NULL ends a table */
    gantry__rule_fn run; /* NULL: no gradient flows through the op */
} gantry__rule_t;

extern const gantry__rule_t gantry__rules_activation[], gantry__rules_attention[],
    gantry__rules_control[], gantry__rules_elementwise[], gantry__rules_flat[],
    gantry__rules_gamma[], gantry__rules_index[], gantry__rules_matrix[], gantry__rules_norm[],
    gantry__rules_pieces[], gantry__rules_reduce[], gantry__rules_resize[], gantry__rules_scan[],
    gantry__rules_segment[], gantry__rules_shape[], gantry__rules_unary[], gantry__rules_window[];

/* Returns the rule of an op, or NULL. */
const gantry__rule_t *gantry__rule_find(const char *op);
/* The rules of composed ops that have no rule above, for those that a tape observes whole, because
 * their sizes depend on data: rule_open.c. */
extern const gantry__rule_t gantry__rules_open[];
const gantry__rule_t *gantry__rule_find_open(const char *op);
/* The name of the op that has this one as a part; NULL if none has, or several have. */
const char *gantry__rule_whole_of(const char *part);
/* Rules that were found before, by the address of the op's name. Zeroed, it has none. */
#define GANTRY__RULE_MEMO 64 /* a power of two */
typedef struct gantry__rule_memo_t {
    const char *ops[GANTRY__RULE_MEMO];
    const gantry__rule_t *rules[GANTRY__RULE_MEMO];
} gantry__rule_memo_t;

/* The same by way of the memo, for each op that a tape observes. */
const gantry__rule_t *gantry__rule_recall(gantry__rule_memo_t *memo, const char *op);
/* Returns one of the tables, or NULL after the last one. */
const gantry__rule_t *gantry__rule_table(size_t index);

/* ---- for rules: NULL after a failure, which the scope keeps ---- */

/* Runs an op of one output, by its name. */
const gantry_tensor_t *gantry__rule_op(const gantry__rule_call_t *c, const char *op,
                                       const gantry_tensor_t *const *inputs, size_t input_count,
                                       const gantry_attr_value_t *attrs, size_t attr_count);
/* The same without attributes. */
const gantry_tensor_t *gantry__rule_op2(const gantry__rule_call_t *c, const char *op,
                                        const gantry_tensor_t *first,
                                        const gantry_tensor_t *second);
/* Returns a scalar of the type of `like`. */
const gantry_tensor_t *gantry__rule_scalar(const gantry__rule_call_t *c,
                                           const gantry_tensor_t *like, double value);
/* Returns value times x. */
const gantry_tensor_t *gantry__rule_scale(const gantry__rule_call_t *c, const gantry_tensor_t *x,
                                          double value);
/* Returns int32 [count] in host memory: axes, shapes, paddings. */
const gantry_tensor_t *gantry__rule_host_ints(const gantry__rule_call_t *c, const int64_t *values,
                                              size_t count);
/* Returns the recorded attribute; NULL if the op has none of this name. */
const gantry_attr_value_t *gantry__rule_attr(const gantry__rule_call_t *c, const char *name);
int64_t gantry__rule_attr_int(const gantry__rule_call_t *c, const char *name);
/* Fails the scope with Unimplemented: "the gradient of op X ..." */
void gantry__rule_lacks(const gantry__rule_call_t *c, const char *why);

static inline gantry_shape_t gantry__shape(const gantry_tensor_t *tensor) {
    return *gantry_tensor_shape(tensor);
}

#endif
