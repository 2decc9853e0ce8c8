/* SPDX-License-Identifier: Apache-2.0 */
/* Pools of images whose channels come first have the bits of pools of the transposed images, for
 * random sizes, steps, dilations and paddings. Header only. */
#ifndef TESTS_POOL_PLANES_CASE_H
#define TESTS_POOL_PLANES_CASE_H

#include "random_images.h"

static const gantry_dtype_t pool_planes_types[] = {GANTRY_FLOAT32,  GANTRY_FLOAT64, GANTRY_FLOAT16,
                                                   GANTRY_BFLOAT16, GANTRY_INT32,   GANTRY_UINT8};

typedef struct pool_planes_t {
    bool is_mean;
    int64_t rows, columns;
    gantry_window_options_t options;
} pool_planes_t;

static inline const gantry_tensor_t *pool_planes_call(images_net_t *net, const pool_planes_t *pool,
                                                      const gantry_tensor_t *x, bool is_first) {
    gantry_window_options_t options = pool->options;
    options.channels_first = is_first;
    if (!is_first) x = images_turn(net, x, 0, 2, 3, 1);
    x = pool->is_mean ? gantry_avg_pool2d(net->scope, x, pool->rows, pool->columns, &options)
                      : gantry_max_pool2d(net->scope, x, pool->rows, pool->columns, &options);
    return is_first ? x : images_turn(net, x, 0, 3, 1, 2);
}

/* x with a number in the place of NaN, whose sign and payload no op promises. */
static inline const gantry_tensor_t *pool_planes_numbers(gantry_scope_t *scope,
                                                         const gantry_tensor_t *x) {
    const gantry_tensor_t *number =
        gantry_cast(scope, gantry_scalar_f32(scope, 123.0f), gantry_tensor_dtype(x));
    return gantry_select(scope, gantry_equal(scope, x, x), x, number);
}

/* Some elements are NaN, infinite or -0. */
static inline const gantry_tensor_t *pool_planes_images(images_net_t *net, gantry_dtype_t dtype,
                                                        gantry_shape_t shape) {
    static const float rare[] = {NAN, INFINITY, -INFINITY, -0.0f};
    const int64_t count = gantry_shape_elements(&shape);
    float *values = malloc((size_t)count * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < count; ++i) {
        const bool is_rare =
            dtype != GANTRY_INT32 && dtype != GANTRY_UINT8 && images_below(net, 40) == 0;
        values[i] = is_rare ? rare[images_below(net, 4)] : (float)images_below(net, 200) - 40;
    }
    const gantry_tensor_t *x =
        gantry_constant(net->scope, GANTRY_FLOAT32, shape, values, (size_t)count * sizeof *values);
    free(values);
    return gantry_cast(net->scope, x, dtype);
}

static inline pool_planes_t pool_planes_make(images_net_t *net, gantry_dtype_t dtype) {
    pool_planes_t pool = {
        .is_mean = dtype != GANTRY_INT32 && dtype != GANTRY_UINT8 && images_below(net, 2),
        .rows = 1 + images_below(net, 5),
        .columns = 1 + images_below(net, 5),
        .options = {.struct_size = sizeof pool.options,
                    .strides = {1 + images_below(net, 3), 1 + images_below(net, 3)},
                    .ceil_mode = images_below(net, 2)}};
    if (images_below(net, 3) == 0) {
        pool.options.dilations[0] = 1 + images_below(net, 3);
        pool.options.dilations[1] = 1 + images_below(net, 3);
    }
    const uint32_t padding = images_below(net, 3);
    pool.options.padding = padding == 0   ? GANTRY_PADDING_SAME
                           : padding == 1 ? GANTRY_PADDING_VALID
                                          : GANTRY_PADDING_EXPLICIT;
    for (int d = 0; padding == 2 && d < 4; ++d)
        pool.options.explicit_paddings[d] =
            images_below(net, (uint32_t)(d < 2 ? pool.rows : pool.columns));
    pool.options.ceil_mode = padding == 2 && pool.options.ceil_mode;
    pool.options.count_include_pad = pool.is_mean && images_below(net, 2);
    return pool;
}

/* Compares `count` pools, of which the last are of wide images. */
static inline void pool_planes_check(gantry_runtime_t *runtime, const char *device,
                                     gantry_dtype_t dtype, uint32_t count) {
    images_net_t net = {.state = 77 + dtype};
    for (uint32_t i = 0; i < count; ++i) {
        const int64_t width =
            i * 10 < count * 9 ? 13 + images_below(&net, 12) : 1015 + images_below(&net, 1100);
        const gantry_shape_t shape =
            GANTRY_SHAPE(1 + images_below(&net, 2), 1 + images_below(&net, 4),
                         13 + images_below(&net, 4), width);
        const pool_planes_t pool = pool_planes_make(&net, dtype);
        net.scope = gantry_scope_begin(runtime, device);
        const gantry_tensor_t *x = pool_planes_images(&net, dtype, shape), *results[2];
        char *data[2];
        for (int k = 0; k < 2; ++k) {
            results[k] = pool_planes_call(&net, &pool, x, k == 0);
            results[k] = pool_planes_numbers(net.scope, results[k]);
            if (!results[k]) fail_msg("%s", gantry_scope_message(net.scope));
            data[k] = malloc(gantry_tensor_bytes(results[k]) + 1);
            assert_non_null(data[k]);
            assert_int_equal(
                gantry_tensor_read(results[k], data[k], gantry_tensor_bytes(results[k])),
                GANTRY_OK);
        }
        if (memcmp(data[0], data[1], gantry_tensor_bytes(results[0])) != 0)
            fail_msg("pool %u of %s on %s: other bits than with channels last", i,
                     gantry_dtype_name(dtype), device);
        for (int k = 0; k < 2; ++k) free(data[k]);
        assert_int_equal(gantry_scope_end(net.scope), GANTRY_OK);
    }
}

#endif
