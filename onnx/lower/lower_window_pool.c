/* SPDX-License-Identifier: Apache-2.0 */
/* Pools. A pool of volumes is one of planes and then one along the depth: maxima, sums and counts
 * of boxes separate. */
#include "onnx/lower/window.h"

typedef const gantry_tensor_t tensor;

/* ---- pools of windows ---- */

typedef struct pool_t {
    gantry__onnx_window_t window;
    gantry_window_options_t options;
} pool_t;

typedef tensor *(*pool_planes_fn)(gantry_scope_t *scope, tensor *images, int64_t rows,
                                  int64_t columns, const gantry_window_options_t *options);

static gantry_status_t read_pool_window(gantry__onnx_call_t *call, pool_t *pool) {
    tensor *x = gantry__onnx_input(call, 0);
    GANTRY__TRY(gantry__onnx_read_kernel(call, x, NULL, &pool->window));
    GANTRY__TRY(gantry__onnx_read_padding(call, x, &pool->window));
    pool->options = gantry__onnx_plane_options(&pool->window);
    pool->options.ceil_mode = gantry__onnx_attr_int(call, "ceil_mode", 0) != 0;
    GANTRY__TRY(gantry__onnx_check_reach(call, &pool->window, pool->options.ceil_mode));
    pool->options.count_include_pad = gantry__onnx_attr_int(call, "count_include_pad", 0) != 0;
    return pool->window.rank == 3 ? gantry__onnx_need_shape(call, x) : GANTRY_OK;
}

/* The options of a pool along the depth, which is the rows of its images. */
static gantry_window_options_t depth_options(const pool_t *pool) {
    const gantry__onnx_window_t *window = &pool->window;
    gantry_window_options_t options = pool->options;
    options.strides[0] = window->strides[0];
    options.dilations[0] = window->dilations[0];
    options.strides[1] = options.dilations[1] = 1;
    options.explicit_paddings[0] = window->begin[0];
    options.explicit_paddings[1] = window->end[0];
    options.explicit_paddings[2] = options.explicit_paddings[3] = 0;
    options.padding = window->begin[0] != 0 || window->end[0] != 0 ? GANTRY_PADDING_EXPLICIT
                                                                   : GANTRY_PADDING_VALID;
    return options;
}

static tensor *pool_volumes(gantry__onnx_call_t *call, const pool_t *pool, tensor *x,
                            pool_planes_fn pool_planes) {
    const int64_t *d = gantry_tensor_shape(x)->dims;
    const int64_t batch = d[0], channels = d[1], depth = d[2];
    const gantry_window_options_t along = depth_options(pool);
    tensor *planes = pool_planes(
        call->scope,
        gantry_reshape(call->scope, x, GANTRY_SHAPE(batch, channels * depth, d[3], d[4])),
        pool->window.kernel[1], pool->window.kernel[2], &pool->options);
    if (!planes) return NULL;
    const int64_t rows = gantry_tensor_shape(planes)->dims[2],
                  columns = gantry_tensor_shape(planes)->dims[3];
    tensor *y = pool_planes(
        call->scope,
        gantry_reshape(call->scope, planes, GANTRY_SHAPE(batch, channels, depth, rows * columns)),
        pool->window.kernel[0], 1, &along);
    if (!y) return NULL;
    return gantry_reshape(
        call->scope, y,
        GANTRY_SHAPE(batch, channels, gantry_tensor_shape(y)->dims[2], rows, columns));
}

static tensor *pool_by_window(gantry__onnx_call_t *call, const pool_t *pool, tensor *x,
                              pool_planes_fn pool_planes) {
    if (pool->window.rank == 3) return x ? pool_volumes(call, pool, x, pool_planes) : NULL;
    return gantry__onnx_from_planes(
        call,
        pool_planes(call->scope, gantry__onnx_to_planes(call, x, &pool->window),
                    pool->window.kernel[1], pool->window.kernel[2], &pool->options),
        &pool->window);
}

/* Maxima of volumes: those of planes, then along the depth. The places of the second ones are in
 * the results of the first ones, whose places are those of the volume, because a plane has all
 * channels and depths as its channels. */
static gantry_status_t pool_volumes_with_places(gantry__onnx_call_t *call, const pool_t *pool) {
    gantry_scope_t *scope = call->scope;
    tensor *x = gantry__onnx_input(call, 0), *planes[2] = {NULL}, *results[2] = {NULL};
    const int64_t *d = gantry_tensor_shape(x)->dims;
    const int64_t batch = d[0], channels = d[1], depth = d[2];
    const gantry_window_options_t along = depth_options(pool);
    if (gantry__onnx_attr_int(call, "storage_order", 0) != 0)
        return gantry__onnx_unsupported(call, "storage_order 1 of three spatial dimensions");
    x = gantry_reshape(scope, x, GANTRY_SHAPE(batch, channels * depth, d[3], d[4]));
    GANTRY__TRY(gantry_max_pool2d_with_argmax(scope, x, pool->window.kernel[1],
                                              pool->window.kernel[2], &pool->options, true, false,
                                              planes));
    const int64_t rows = gantry_tensor_shape(planes[0])->dims[2],
                  columns = gantry_tensor_shape(planes[0])->dims[3];
    x = gantry_reshape(scope, planes[0], GANTRY_SHAPE(batch, channels, depth, rows * columns));
    GANTRY__TRY(gantry_max_pool2d_with_argmax(scope, x, pool->window.kernel[0], 1, &along, true,
                                              false, results));
    const gantry_shape_t shape =
        GANTRY_SHAPE(batch, channels, gantry_tensor_shape(results[0])->dims[2], rows, columns);
    tensor *places =
        gantry_reshape(scope, planes[1], GANTRY_SHAPE(batch * channels * depth * rows * columns));
    places = gantry_gather(scope, places, results[1], 0);
    GANTRY__TRY(gantry__onnx_set(call, 0, gantry_reshape(scope, results[0], shape)));
    return gantry__onnx_set(call, 1, gantry_reshape(scope, places, shape));
}

static gantry_status_t pool_with_places(gantry__onnx_call_t *call, const pool_t *pool) {
    if (pool->window.rank == 3) return pool_volumes_with_places(call, pool);
    tensor *x = gantry__onnx_to_planes(call, gantry__onnx_input(call, 0), &pool->window);
    tensor *results[2] = {NULL};
    GANTRY__TRY(gantry_max_pool2d_with_argmax(
        call->scope, x, pool->window.kernel[1], pool->window.kernel[2], &pool->options, true,
        gantry__onnx_attr_int(call, "storage_order", 0) != 0 && pool->window.rank == 2, results));
    GANTRY__TRY(
        gantry__onnx_set(call, 0, gantry__onnx_from_planes(call, results[0], &pool->window)));
    return gantry__onnx_set(call, 1, gantry__onnx_from_planes(call, results[1], &pool->window));
}

gantry_status_t gantry__onnx_lower_max_pool(gantry__onnx_call_t *call) {
    pool_t pool;
    GANTRY__TRY(read_pool_window(call, &pool));
    if (gantry__onnx_wants(call, 1)) return pool_with_places(call, &pool);
    return gantry__onnx_give(
        call, pool_by_window(call, &pool, gantry__onnx_input(call, 0), gantry_max_pool2d));
}

gantry_status_t gantry__onnx_lower_average_pool(gantry__onnx_call_t *call) {
    pool_t pool;
    GANTRY__TRY(read_pool_window(call, &pool));
    return gantry__onnx_give(
        call, pool_by_window(call, &pool, gantry__onnx_input(call, 0), gantry_avg_pool2d));
}

/* ---- p-norms ---- */

static tensor *lp_power(gantry__onnx_call_t *call, tensor *x, int64_t p) {
    if (p == 2) return gantry_square(call->scope, x);
    tensor *size = gantry_abs(call->scope, x);
    if (p == 1) return size;
    return gantry_pow(call->scope, size,
                      gantry__onnx_make_scalar(call, gantry_tensor_dtype(x), (double)p));
}

static tensor *lp_root(gantry__onnx_call_t *call, tensor *y, gantry_dtype_t dtype, int64_t p) {
    if (p == 2) return gantry_sqrt(call->scope, y);
    if (p == 1) return y;
    return gantry_pow(call->scope, y, gantry__onnx_make_scalar(call, dtype, 1 / (double)p));
}

static gantry_status_t read_power(gantry__onnx_call_t *call, int64_t *out_p) {
    *out_p = gantry__onnx_attr_int(call, "p", 2);
    return *out_p > 0 ? GANTRY_OK
                      : gantry__onnx_invalid(call, "p is %lld; it is 1 or more", (long long)*out_p);
}

/* Adds the padding, and what ceil_mode adds, as zeros, so that all windows have all elements: the
 * sum of a window is then its mean times the kernel's elements. */
static tensor *add_zeros(gantry__onnx_call_t *call, pool_t *pool, tensor *x) {
    const int32_t first = GANTRY__ONNX_MOST_SPATIAL - pool->window.rank;
    int64_t paddings[2 * GANTRY_MAX_RANK] = {0};
    bool is_padded = false;
    for (int32_t i = first; i < GANTRY__ONNX_MOST_SPATIAL; ++i) {
        gantry__onnx_window_t *window = &pool->window;
        const int64_t count = gantry__onnx_window_count(window, i, pool->options.ceil_mode);
        const int64_t end = (count - 1) * window->strides[i] +
                            gantry__onnx_window_reach(window, i) - window->begin[i] -
                            window->size[i];
        paddings[2 * (2 + i - first)] = window->begin[i];
        paddings[2 * (2 + i - first) + 1] = end > 0 ? end : 0;
        is_padded = is_padded || window->begin[i] > 0 || end > 0;
        window->begin[i] = window->end[i] = 0;
    }
    pool->options = gantry__onnx_plane_options(&pool->window);
    return is_padded ? gantry_pad(call->scope, x, paddings, NULL) : x;
}

gantry_status_t gantry__onnx_lower_lp_pool(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    pool_t pool;
    int64_t p;
    GANTRY__TRY(read_power(call, &p));
    GANTRY__TRY(read_pool_window(call, &pool));
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    const double count = (double)pool.window.kernel[0] * (double)pool.window.kernel[1] *
                         (double)pool.window.kernel[2];
    tensor *powers = add_zeros(call, &pool, lp_power(call, x, p));
    tensor *means = pool_by_window(call, &pool, powers, gantry_avg_pool2d);
    tensor *sums = gantry_mul(call->scope, means, gantry__onnx_make_scalar(call, dtype, count));
    return gantry__onnx_give(call, lp_root(call, sums, dtype, p));
}

/* ---- pools of whole images ---- */

typedef struct global_axes_t {
    gantry_reduce_options_t options;
    int32_t axes[GANTRY_MAX_RANK];
} global_axes_t;

static gantry_status_t spatial_axes(gantry__onnx_call_t *call, global_axes_t *global) {
    const int32_t rank = gantry_tensor_shape(gantry__onnx_input(call, 0))->rank;
    if (rank < 3)
        return gantry__onnx_invalid(call,
                                    "an input of %d dimensions; it has a batch, channels and "
                                    "spatial dimensions",
                                    (int)rank);
    global->options = (gantry_reduce_options_t){
        .struct_size = sizeof global->options, .axes = global->axes, .keep_dims = true};
    for (int32_t i = 2; i < rank; ++i) global->axes[global->options.axis_count++] = i;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_global_average_pool(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    global_axes_t global;
    GANTRY__TRY(spatial_axes(call, &global));
    return gantry__onnx_give(call, gantry_mean(call->scope, x, &global.options));
}

gantry_status_t gantry__onnx_lower_global_max_pool(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    global_axes_t global;
    GANTRY__TRY(spatial_axes(call, &global));
    return gantry__onnx_give(call, gantry_max(call->scope, x, &global.options));
}

gantry_status_t gantry__onnx_lower_global_lp_pool(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    global_axes_t global;
    int64_t p;
    GANTRY__TRY(read_power(call, &p));
    GANTRY__TRY(spatial_axes(call, &global));
    tensor *sums = gantry_sum(call->scope, lp_power(call, x, p), &global.options);
    return gantry__onnx_give(call, lp_root(call, sums, gantry_tensor_dtype(x), p));
}
