/* SPDX-License-Identifier: Apache-2.0 */
/* Orders of the axes of a tensor, and what becomes of one by an op.
 *
 * A tensor x of the body may be there in another order of axes, as a stored tensor s with
 * x = Transpose(s, order): axis k of x is axis order[k] of s. An order is four bits for each axis,
 * the first in the lowest ones; axes that a tensor does not have stay where they are. So x of NCHW,
 * stored as NHWC, has the order 0, 3, 1, 2.
 *
 * Owner: plain values. Threads: thread-safe. */
#ifndef GANTRY_FUNCTION_LAYOUT_PERM_H
#define GANTRY_FUNCTION_LAYOUT_PERM_H

#include <stdbool.h>
#include <stdint.h>

#include <gantry/types.h>

typedef uint32_t gantry__order_t;

enum {
    GANTRY__ORDER_SAME = 0x76543210,
    GANTRY__ORDER_TURNED = 0x76543201, /* a matrix, transposed */
    GANTRY__ORDER_LAST = 0x76542130    /* NCHW stored as NHWC */
};

static inline uint32_t gantry__order_at(gantry__order_t order, uint32_t axis) {
    return order >> 4 * axis & 15u;
}
gantry__order_t gantry__order_of(const uint8_t axes[GANTRY_MAX_RANK]);
/* The order of Transpose(x, by), for x of this order: r[k] = order[by[k]]. */
gantry__order_t gantry__order_transpose(gantry__order_t order, gantry__order_t by);
gantry__order_t gantry__order_invert(gantry__order_t order);
/* The stored shape of a tensor of this shape, and the shape of a stored tensor. */
gantry_shape_t gantry__order_store(gantry__order_t order, const gantry_shape_t *shape);
gantry_shape_t gantry__order_restore(gantry__order_t order, const gantry_shape_t *stored);
/* Whether the elements of a tensor of this shape are stored in one sequence by both orders: only
 * axes of size 1 are elsewhere. */
bool gantry__order_is_view(const gantry_shape_t *shape, gantry__order_t a, gantry__order_t b);
/* The order of the result of a Reshape of x from a shape to another, so that the stored result is a
 * Reshape of the stored x; false: there is none. */
bool gantry__order_reshape(const gantry_shape_t *from, gantry__order_t order,
                           const gantry_shape_t *to, gantry__order_t *out_order);
/* The order of x without the axes of a mask. */
gantry__order_t gantry__order_without(gantry__order_t order, int32_t rank, uint32_t axes);
/* Whether the axes of a mask follow each other in the stored tensor as in x, but for those of size
 * 1: a reduction then takes the elements in one sequence. */
bool gantry__order_keeps(const gantry_shape_t *shape, gantry__order_t order, uint32_t axes);

#endif
