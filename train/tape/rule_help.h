/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of rules: shapes with sizes that depend on data (-1 while a function is traced), and ops
 * that take the attributes of the recorded op. They return NULL after a failure, which the scope
 * keeps.
 *
 * Owner: tensors belong to the call's scope. Threads: externally synchronised, as the tape. */
#ifndef GANTRY_TRAIN_RULE_HELP_H
#define GANTRY_TRAIN_RULE_HELP_H

#include "train/tape/rule.h"

#define GANTRY__RULE_COUNT(array) (sizeof(array) / sizeof *(array))

/* Returns how many sizes depend on data. */
int32_t gantry__rule_open_sizes(const gantry_tensor_t *tensor);
/* Returns x in the shape of `like`, or repeated to it. */
const gantry_tensor_t *gantry__rule_reshape_like(const gantry__rule_call_t *c,
                                                 const gantry_tensor_t *x,
                                                 const gantry_tensor_t *like);
const gantry_tensor_t *gantry__rule_broadcast_like(const gantry__rule_call_t *c,
                                                   const gantry_tensor_t *x,
                                                   const gantry_tensor_t *like);
/* Returns the size of a dimension, in int32. */
const gantry_tensor_t *gantry__rule_size(const gantry__rule_call_t *c, const gantry_tensor_t *x,
                                         int32_t dimension);
/* A number of elements: known, or computed in each call. */
typedef struct gantry__rule_size_t {
    int64_t known;               /* -1: it is `open` */
    const gantry_tensor_t *open; /* an int64 scalar */
} gantry__rule_size_t;

/* Returns the product of x's sizes of dimensions `from` to `to`. */
gantry__rule_size_t gantry__rule_sizes(const gantry__rule_call_t *c, const gantry_tensor_t *x,
                                       int32_t from, int32_t to);
gantry__rule_size_t gantry__rule_times(const gantry__rule_call_t *c, gantry__rule_size_t a,
                                       gantry__rule_size_t b);
/* Returns the size as an int64 scalar. */
const gantry_tensor_t *gantry__rule_size_tensor(const gantry__rule_call_t *c,
                                                gantry__rule_size_t size);
/* Returns x with these sizes. */
const gantry_tensor_t *gantry__rule_reshape_by(const gantry__rule_call_t *c,
                                               const gantry_tensor_t *x,
                                               const gantry__rule_size_t *sizes, int32_t count);
/* Reads the elements of an input, which must be int32 or int64, at most `room` of them. It returns
 * false where they are not known, because a function is traced. */
bool gantry__rule_knows_ints(const gantry__rule_call_t *c, size_t input, int64_t *out, size_t room,
                             size_t *out_count);
/* Reads an axis that an input gives, counted from 0; it returns false where the axis is not
 * known. */
bool gantry__rule_axis(const gantry__rule_call_t *c, size_t input, int32_t rank, int32_t *out);
/* ---- axes that are not known: rule_numbers.c ---- */

/* Each returns bool [rank]: the dimensions that the axes of an input name; those before its one
 * axis, from a dimension on; those after it. */
const gantry_tensor_t *gantry__rule_is_axis(const gantry__rule_call_t *c, size_t input,
                                            int32_t rank);
const gantry_tensor_t *gantry__rule_is_before(const gantry__rule_call_t *c, size_t input,
                                              int32_t rank, int32_t from);
const gantry_tensor_t *gantry__rule_is_behind(const gantry__rule_call_t *c, size_t input,
                                              int32_t rank);
/* Returns the product of x's sizes of the dimensions that the mask takes. */
gantry__rule_size_t gantry__rule_sizes_where(const gantry__rule_call_t *c,
                                             const gantry_tensor_t *mask, const gantry_tensor_t *x);
/* Returns what is left of input 0 after a reduction of the masked dimensions, which come back with
 * size 1. */
const gantry_tensor_t *gantry__rule_keep_axes(const gantry__rule_call_t *c,
                                              const gantry_tensor_t *mask,
                                              const gantry_tensor_t *reduced);
/* Returns int32 [rank]: the masked dimensions, then the others. */
const gantry_tensor_t *gantry__rule_order_axes(const gantry__rule_call_t *c,
                                               const gantry_tensor_t *mask, int32_t rank);

/* Runs an op of up to four inputs, the first NULL of which ends them, with the recorded attributes
 * of these names; an attribute that the op lacks is left out. */
const gantry_tensor_t *gantry__rule_again(const gantry__rule_call_t *c, const char *op,
                                          const gantry_tensor_t *const inputs[4],
                                          const char *const *attr_names, size_t attr_count);
/* Adds each element of dy to the element of `like`'s shape from which `places` says that it comes.
 * places must have dy's shape, and row-major positions. */
const gantry_tensor_t *gantry__rule_put_back(const gantry__rule_call_t *c,
                                             const gantry_tensor_t *dy,
                                             const gantry_tensor_t *places,
                                             const gantry_tensor_t *like);
/* Sums a gradient over the dimensions along which `like` was broadcast. */
const gantry_tensor_t *gantry__rule_sum_to(const gantry__rule_call_t *c,
                                           const gantry_tensor_t *gradient,
                                           const gantry_tensor_t *like);
/* The same where the dimensions follow from the sizes of each call. */
const gantry_tensor_t *gantry__rule_sum_open(const gantry__rule_call_t *c,
                                             const gantry_tensor_t *gradient,
                                             const gantry_tensor_t *like);
/* A scalar of the type of input 0. */
const gantry_tensor_t *gantry__rule_number(const gantry__rule_call_t *c, double value);
/* Sets the gradient of input 0: dy times the derivative. */
void gantry__rule_chain(const gantry__rule_call_t *c, const gantry_tensor_t *derivative);
/* Returns the gradient of an output, or zeros where nothing depends on the output. */
const gantry_tensor_t *gantry__rule_dy(const gantry__rule_call_t *c, size_t output);

#endif
