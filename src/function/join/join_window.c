/* SPDX-License-Identifier: Apache-2.0 */
/* gantry_reduce_window_with_body: pads the operands with inits, then joins windows one axis after
 * the other, the last axis first. So a window's elements are joined in row-major order.
 *
 * Along an axis, blocks of 1, 2, 4, ... neighbours are joined at all places at once, each from two
 * of half its size. A window of w elements is cut into blocks by the binary digits of w, the
 * largest first, and these are joined from the last to the first. `dilation` is the distance of
 * neighbours.
 *
 *     w = 7:   blocks of 4 at 0, of 2 at 4, of 1 at 6:   ((0 1)(2 3)) ((4 5) 6)
 *
 * An axis takes fewer than 2 log2(w) calls of the body. The largest block is needed once a window,
 * so it is joined only where windows begin: every `stride` elements. */
#include <gantry/ops.h>

#include "base/fp_mode.h"
#include "function/join/join.h"
#include "shared/struct_size.h"

typedef const gantry_tensor_t tensor;

#define MOST_WINDOW ((int64_t)1 << 31) /* of each number, so that sums do not overflow */

typedef struct window_axis_t {
    int64_t window, stride, base_dilation, dilation, low, high;
    int64_t outputs; /* windows along the axis; -1: open, and the axis stays as it is */
} window_axis_t;

typedef struct window_plan_t {
    window_axis_t axes[GANTRY_MAX_RANK];
    int32_t rank;
    bool pads;
} window_plan_t;

/* ---- the plan ---- */

static gantry_status_t window_read(const char *what, const int64_t *given, int32_t axis,
                                   int64_t least, int64_t *out) {
    if (!given) return GANTRY_OK;
    *out = given[axis];
    if (*out >= least && *out <= MOST_WINDOW) return GANTRY_OK;
    return gantry__refuse("%s[%d] is %lld; %lld to %lld are accepted", what, axis, (long long)*out,
                          (long long)least, (long long)MOST_WINDOW);
}

static gantry_status_t window_read_padding(const int64_t *paddings, int32_t axis,
                                           window_axis_t *at) {
    if (!paddings) return GANTRY_OK;
    at->low = paddings[2 * axis];
    at->high = paddings[2 * axis + 1];
    if (at->low >= -MOST_WINDOW && at->low <= MOST_WINDOW && at->high >= -MOST_WINDOW &&
        at->high <= MOST_WINDOW)
        return GANTRY_OK;
    return gantry__refuse("the paddings of axis %d are %lld and %lld; %lld to %lld are accepted",
                          axis, (long long)at->low, (long long)at->high, -(long long)MOST_WINDOW,
                          (long long)MOST_WINDOW);
}

static bool window_is_plain(const window_axis_t *at) {
    return at->window == 1 && at->stride == 1 && at->base_dilation == 1 && at->low == 0 &&
           at->high == 0;
}

/* Finds the number of windows along an axis of `size` elements. */
static gantry_status_t window_count(window_axis_t *at, int32_t axis, int64_t size) {
    at->outputs = -1;
    if (size < 0 && window_is_plain(at)) return GANTRY_OK;
    if (size < 0)
        return gantry__fail(GANTRY_UNIMPLEMENTED,
                            "the size of axis %d is open; a window, stride and dilation of 1 "
                            "without paddings are accepted along it",
                            axis);
    if (at->base_dilation > 1 && size > INT64_MAX / (4 * MOST_WINDOW))
        return gantry__refuse("axis %d has %lld elements, too many for a base dilation", axis,
                              (long long)size);
    const int64_t dilated = size > 0 ? (size - 1) * at->base_dilation + 1 : 0;
    const int64_t padded = dilated + at->low + at->high;
    const int64_t reach = (at->window - 1) * at->dilation + 1;
    if (padded < 0)
        return gantry__refuse(
            "the paddings of axis %d, %lld and %lld, remove more than its %lld "
            "elements; at most these are accepted",
            axis, (long long)at->low, (long long)at->high, (long long)dilated);
    at->outputs = padded < reach ? 0 : (padded - reach) / at->stride + 1;
    return GANTRY_OK;
}

static gantry_status_t window_make_plan(const gantry_shape_t *shape, const int64_t *window,
                                        const gantry_window_body_options_t *options,
                                        window_plan_t *plan) {
    plan->rank = shape->rank;
    for (int32_t d = 0; d < shape->rank; ++d) {
        window_axis_t *at = &plan->axes[d];
        *at = (window_axis_t){.stride = 1, .base_dilation = 1, .dilation = 1};
        GANTRY__TRY(window_read("window", window, d, 1, &at->window));
        GANTRY__TRY(window_read("strides", options->strides, d, 1, &at->stride));
        GANTRY__TRY(
            window_read("base_dilations", options->base_dilations, d, 1, &at->base_dilation));
        GANTRY__TRY(
            window_read("window_dilations", options->window_dilations, d, 1, &at->dilation));
        GANTRY__TRY(window_read_padding(options->paddings, d, at));
        GANTRY__TRY(window_count(at, d, shape->dims[d]));
        plan->pads |= at->base_dilation > 1 || at->low != 0 || at->high != 0;
    }
    return GANTRY_OK;
}

/* ---- joining ---- */

static gantry_status_t window_pad(const gantry__join_t *join, const window_plan_t *plan,
                                  tensor *const *inits, tensor **x) {
    int64_t paddings[2 * GANTRY_MAX_RANK], interior[GANTRY_MAX_RANK];
    for (int32_t d = 0; d < plan->rank; ++d) {
        paddings[2 * d] = plan->axes[d].low;
        paddings[2 * d + 1] = plan->axes[d].high;
        interior[d] = plan->axes[d].base_dilation - 1;
    }
    return gantry__join_pad(join, inits, paddings, interior, x);
}

/* out = left at `begin` and `count` places from there on, joined with right, which may be out;
 * NULL: nothing. */
static gantry_status_t window_join_at(const gantry__join_t *join, tensor *const *left, int32_t axis,
                                      int64_t begin, int64_t count, int64_t stride,
                                      tensor *const *right, tensor **out) {
    gantry__joined_t piece, made;
    GANTRY__TRY(gantry__join_slice(join, left, axis, begin, count, stride, piece));
    if (right) {
        GANTRY__TRY(gantry__join_call(join, piece, right, made));
        gantry__join_drop(join, piece);
        gantry__join_drop(join, right);
    }
    gantry__join_copy(join, right ? made : piece, out);
    return GANTRY_OK;
}

/* x becomes blocks of twice the size, at `count` places. */
static gantry_status_t window_double(const gantry__join_t *join, tensor **x, int32_t axis,
                                     int64_t apart, int64_t count, int64_t stride) {
    gantry__joined_t right, made;
    GANTRY__TRY(gantry__join_slice(join, x, axis, apart, count, stride, right));
    GANTRY__TRY(window_join_at(join, x, axis, 0, count, stride, right, made));
    gantry__join_drop(join, x);
    gantry__join_copy(join, made, x);
    return GANTRY_OK;
}

/* The windows along an axis. x, with its tensors, has at least one window there. */
static gantry_status_t window_along(const gantry__join_t *join, tensor **x, int32_t axis,
                                    const window_axis_t *at) {
    int64_t length = x[0]->shape.dims[axis], offset = at->window, stride = at->stride;
    gantry__joined_t joined;
    bool has_joined = false;
    for (int64_t block = 1;; block *= 2) {
        if (at->window & block) {
            offset -= block;
            GANTRY__TRY(window_join_at(join, x, axis, offset * at->dilation, at->outputs, stride,
                                       has_joined ? joined : NULL, joined));
            has_joined = true;
        }
        if (block > at->window / 2) break;
        const bool is_last = 2 * block > at->window / 2;
        length -= block * at->dilation;
        GANTRY__TRY(window_double(join, x, axis, block * at->dilation,
                                  is_last ? at->outputs : length, is_last ? stride : 1));
        if (is_last) stride = 1;
    }
    gantry__join_drop(join, x);
    gantry__join_copy(join, joined, x);
    return GANTRY_OK;
}

static gantry_status_t window_axis(const gantry__join_t *join, tensor **x, int32_t axis,
                                   const window_axis_t *at) {
    if (at->outputs < 0 || (at->window == 1 && at->stride == 1)) return GANTRY_OK;
    if (at->outputs > 0) return window_along(join, x, axis, at);
    gantry__joined_t none;
    GANTRY__TRY(gantry__join_slice(join, x, axis, 0, 0, 1, none));
    gantry__join_drop(join, x);
    gantry__join_copy(join, none, x);
    return GANTRY_OK;
}

static gantry_status_t window_joined(gantry__join_t *join, tensor *const *operands,
                                     tensor *const *inits, const int64_t *window,
                                     const gantry_window_body_options_t *given, tensor **x) {
    gantry_window_body_options_t options;
    window_plan_t plan = {.rank = 0};
    GANTRY__TRY(gantry__struct_read(given, 0, &options, sizeof options, "options"));
    GANTRY__TRY(gantry__join_begin(join, operands));
    if (!window && operands[0]->shape.rank > 0)
        return gantry__refuse("window is NULL; a size for each of %d axes is accepted",
                              operands[0]->shape.rank);
    GANTRY__TRY(gantry__join_check_inits(join, operands, inits));
    GANTRY__TRY(window_make_plan(&operands[0]->shape, window, &options, &plan));
    gantry__join_copy(join, operands, x);
    if (plan.pads) GANTRY__TRY(window_pad(join, &plan, inits, x));
    for (int32_t d = plan.rank - 1; d >= 0; --d)
        GANTRY__TRY(window_axis(join, x, d, &plan.axes[d]));
    return gantry__join_inits(join, inits, x);
}

gantry_status_t gantry_reduce_window_with_body(gantry_scope_t *scope, tensor *const *operands,
                                               tensor *const *inits, size_t count,
                                               gantry_function_body_fn body, void *user,
                                               const int64_t *window,
                                               const gantry_window_body_options_t *options,
                                               tensor **outputs) {
    GANTRY__OWN_FP_MODE(fp);
    gantry__join_t join =
        gantry__join_of("gantry_reduce_window_with_body", scope, body, user, count, outputs);
    gantry__joined_t x;
    const gantry_status_t status = window_joined(&join, operands, inits, window, options, x);
    return gantry__join_end(&join, status, x);
}
