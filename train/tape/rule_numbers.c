/* SPDX-License-Identifier: Apache-2.0 */
/* Axes and numbers that an op takes as an input and that are not known while a function is traced:
 * what a rule does with them is computed in each call.
 *
 * Axes become a mask over the dimensions; sizes along them, before and after them are sums and
 * products of the sizes that the mask takes. */
#include "train/base/inner_scope.h"
#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

/* int32 [rank]: 0, 1, ... */
static tensor *dimensions(const gantry__rule_call_t *c, int32_t rank) {
    int64_t numbers[GANTRY_MAX_RANK];
    for (int32_t d = 0; d < rank; ++d) numbers[d] = d;
    return gantry__rule_host_ints(c, numbers, (size_t)rank);
}

/* int32 [count], from 0 on. */
static tensor *axes_of(const gantry__rule_call_t *c, size_t input, int32_t rank) {
    gantry_scope_t *s = c->scope;
    tensor *given =
        gantry_reshape(s, gantry__train_cast(s, c->x[input], GANTRY_INT32), GANTRY_SHAPE(-1));
    tensor *behind = gantry_add(s, given, gantry_scalar_i32(s, rank));
    return gantry_select(s, gantry_less(s, given, gantry_scalar_i32(s, 0)), behind, given);
}

tensor *gantry__rule_is_axis(const gantry__rule_call_t *c, size_t input, int32_t rank) {
    static const int32_t last = 1;
    gantry_scope_t *s = c->scope;
    tensor *column = gantry_expand_dims(s, dimensions(c, rank), -1);
    return gantry_any(s, gantry_equal(s, column, axes_of(c, input, rank)),
                      &(gantry_reduce_options_t){.axes = &last, .axis_count = 1});
}

tensor *gantry__rule_is_before(const gantry__rule_call_t *c, size_t input, int32_t rank,
                               int32_t from) {
    gantry_scope_t *s = c->scope;
    tensor *all = dimensions(c, rank);
    return gantry_logical_and(s, gantry_less(s, all, axes_of(c, input, rank)),
                              gantry_greater_equal(s, all, gantry_scalar_i32(s, from)));
}

tensor *gantry__rule_is_behind(const gantry__rule_call_t *c, size_t input, int32_t rank) {
    return gantry_greater(c->scope, dimensions(c, rank), axes_of(c, input, rank));
}

gantry__rule_size_t gantry__rule_sizes_where(const gantry__rule_call_t *c, tensor *mask,
                                             tensor *x) {
    gantry_scope_t *s = c->scope;
    tensor *chosen =
        gantry_select(s, mask, gantry_shape(s, x, GANTRY_INT64), gantry_scalar_i64(s, 1));
    return (gantry__rule_size_t){-1, gantry_prod(s, chosen, NULL)};
}

tensor *gantry__rule_keep_axes(const gantry__rule_call_t *c, tensor *mask, tensor *reduced) {
    gantry_scope_t *s = c->scope;
    tensor *sizes =
        gantry_select(s, mask, gantry_scalar_i32(s, 1), gantry_shape(s, c->x[0], GANTRY_INT32));
    return reduced ? gantry__rule_op2(c, "Reshape", reduced, sizes) : NULL;
}

tensor *gantry__rule_order_axes(const gantry__rule_call_t *c, tensor *mask, int32_t rank) {
    gantry_scope_t *s = c->scope;
    tensor *all = dimensions(c, rank);
    tensor *places = gantry_select(s, mask, all, gantry_add(s, all, gantry_scalar_i32(s, rank)));
    return gantry_argsort(s, places, 0, false);
}
