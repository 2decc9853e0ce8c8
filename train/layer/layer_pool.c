/* SPDX-License-Identifier: Apache-2.0 */
/* Pools, channels last. */
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/layer/layer_state.h"

typedef const gantry_tensor_t tensor;

typedef struct pool_t {
    const char *kind; /* "MaxPooling1D" */
    int64_t sizes[2]; /* rows and columns of the window */
    gantry_window_options_t window;
    int32_t rank; /* of its inputs */
} pool_t;

static gantry_status_t check_window(const pool_t *p, const gantry_shape_t *input) {
    if (p->window.padding == GANTRY_PADDING_SAME) return GANTRY_OK;
    return gantry__layer_check_window(p->kind, input, p->rank - 2, p->sizes);
}

static gantry_status_t pool_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                  size_t input_count, void *user) {
    const pool_t *p = user;
    GANTRY__TRY(gantry__layer_check_rank(layer->kind.name, inputs, input_count, p->rank, p->rank));
    return check_window(p, inputs);
}

/* Returns the input; NULL if its size was open and it is smaller than the window. */
static tensor *take_input(const gantry_layer_call_t *call, const pool_t *p) {
    const gantry_status_t status = check_window(p, gantry_tensor_shape(call->inputs[0]));
    return gantry__train_hand_on(call->scope, status) == GANTRY_OK ? call->inputs[0] : NULL;
}

static tensor *max_pool1d_call(const gantry_layer_call_t *call, void *user) {
    const pool_t *p = user;
    return gantry_max_pool1d(call->scope, take_input(call, p), p->sizes[0], &p->window);
}

static tensor *avg_pool1d_call(const gantry_layer_call_t *call, void *user) {
    const pool_t *p = user;
    return gantry_avg_pool1d(call->scope, take_input(call, p), p->sizes[0], &p->window);
}

static tensor *max_pool2d_call(const gantry_layer_call_t *call, void *user) {
    const pool_t *p = user;
    return gantry_max_pool2d(call->scope, take_input(call, p), p->sizes[0], p->sizes[1],
                             &p->window);
}

static tensor *avg_pool2d_call(const gantry_layer_call_t *call, void *user) {
    const pool_t *p = user;
    return gantry_avg_pool2d(call->scope, take_input(call, p), p->sizes[0], p->sizes[1],
                             &p->window);
}

static bool pool_check_size(const char *name, const char *of, int64_t size, int64_t strides,
                            int64_t given_strides) {
    if (size > 0 && strides > 0) return true;
    return gantry__train_refuse_bool(
        NULL, "layer %s: %ssize %lld with strides %lld; positive numbers are accepted", name, of,
        (long long)size, (long long)given_strides);
}

static gantry_layer_t *pool_layer_make(const char *name,
                                       tensor *(*call)(const gantry_layer_call_t *call, void *user),
                                       int32_t rank, int64_t size,
                                       const gantry_pool_options_t *options) {
    const gantry_layer_kind_t kind = GANTRY__LAYER_KIND(name, pool_build, call);
    gantry_pool_options_t o;
    if (gantry__struct_read(options, sizeof o, &o, sizeof o, "gantry_pool_options_t") != GANTRY_OK)
        return NULL;
    if (rank == 3 && (!gantry__layer_check_unused(name, "pool_columns", o.pool_columns, 0) ||
                      !gantry__layer_check_unused(name, "column_strides", o.column_strides, 0)))
        return NULL;
    const int64_t strides = o.strides ? o.strides : size,
                  columns = o.pool_columns ? o.pool_columns : size,
                  column_strides = o.column_strides ? o.column_strides
                                   : o.strides      ? o.strides
                                                    : columns;
    if (!pool_check_size(name, "", size, strides, o.strides) ||
        !pool_check_size(name, "columns of ", columns, column_strides, o.column_strides))
        return NULL;
    gantry_layer_t *layer = gantry__layer_make(&kind, sizeof(pool_t), o.name);
    if (layer)
        *(pool_t *)layer->user = (pool_t){
            .kind = name,
            .sizes = {size, columns},
            .rank = rank,
            .window = {.strides = {strides, column_strides},
                       .padding = o.same_padding ? GANTRY_PADDING_SAME : GANTRY_PADDING_VALID}};
    return layer;
}

gantry_layer_t *gantry_max_pool1d_layer(int64_t pool_size, const gantry_pool_options_t *options) {
    return pool_layer_make("MaxPooling1D", max_pool1d_call, 3, pool_size, options);
}

gantry_layer_t *gantry_avg_pool1d_layer(int64_t pool_size, const gantry_pool_options_t *options) {
    return pool_layer_make("AveragePooling1D", avg_pool1d_call, 3, pool_size, options);
}

gantry_layer_t *gantry_max_pool2d_layer(int64_t pool_size, const gantry_pool_options_t *options) {
    return pool_layer_make("MaxPooling2D", max_pool2d_call, 4, pool_size, options);
}

gantry_layer_t *gantry_avg_pool2d_layer(int64_t pool_size, const gantry_pool_options_t *options) {
    return pool_layer_make("AveragePooling2D", avg_pool2d_call, 4, pool_size, options);
}

/* ---- over all of a sample ---- */

/* "global_max_pooling_1", which the model gave, becomes "global_max_pooling2d_1". */
static gantry_status_t name_after_rank(gantry_layer_t *layer, int32_t rank) {
    char name[128];
    char *end = layer->name ? strstr(layer->name, "_pooling") : NULL;
    if (layer->has_own_name || !end) return GANTRY_OK;
    end += strlen("_pooling");
    if (*end != '\0' && *end != '_') return GANTRY_OK; /* built again */
    (void)snprintf(name, sizeof name, "%.*s%dd%s", (int)(end - layer->name), layer->name, rank - 2,
                   end);
    gantry__free(layer->name);
    layer->name = gantry__strdup(name);
    return layer->name ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

/* From here on the layer has the name of Keras's class. */
static gantry_status_t global_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                    size_t input_count, const char *of_lines,
                                    const char *of_images) {
    GANTRY__TRY(gantry__layer_check_rank(layer->kind.name, inputs, input_count, 3, 4));
    layer->kind.name = inputs[0].rank == 3 ? of_lines : of_images;
    return name_after_rank(layer, inputs[0].rank);
}

static gantry_status_t global_max_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                        size_t input_count, void *user) {
    (void)user;
    return global_build(layer, inputs, input_count, "GlobalMaxPooling1D", "GlobalMaxPooling2D");
}

static gantry_status_t global_avg_build(gantry_layer_t *layer, const gantry_shape_t *inputs,
                                        size_t input_count, void *user) {
    (void)user;
    return global_build(layer, inputs, input_count, "GlobalAveragePooling1D",
                        "GlobalAveragePooling2D");
}

static gantry_reduce_options_t all_but_ends(tensor *x) {
    static const int32_t axes[] = {1, 2};
    return (gantry_reduce_options_t){.axes = axes,
                                     .axis_count = (size_t)gantry_tensor_shape(x)->rank - 2};
}

static tensor *global_max_call(const gantry_layer_call_t *call, void *user) {
    const gantry_reduce_options_t over = all_but_ends(call->inputs[0]);
    (void)user;
    return gantry_max(call->scope, call->inputs[0], &over);
}

static tensor *global_avg_call(const gantry_layer_call_t *call, void *user) {
    const gantry_reduce_options_t over = all_but_ends(call->inputs[0]);
    gantry_scope_t *s = call->scope;
    tensor *x = call->inputs[0];
    (void)user;
    if (!call->masks[0] || gantry_tensor_shape(x)->rank != 3) return gantry_mean(s, x, &over);
    const gantry_dtype_t dtype = gantry_tensor_dtype(x);
    tensor *seen = gantry_expand_dims(s, call->masks[0], 2);
    x = gantry_select(s, seen, x, gantry__train_constant(s, dtype, 0));
    return gantry_div(s, gantry_sum(s, x, &over),
                      gantry_sum(s, gantry_cast(s, seen, dtype), &over));
}

gantry_layer_t *gantry_global_max_pool(const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("GlobalMaxPooling", global_max_build, global_max_call);
    return gantry__layer_make(&kind, 0, name);
}

gantry_layer_t *gantry_global_avg_pool(const char *name) {
    static const gantry_layer_kind_t kind =
        GANTRY__LAYER_KIND("GlobalAveragePooling", global_avg_build, global_avg_call);
    return gantry__layer_make(&kind, 0, name);
}
