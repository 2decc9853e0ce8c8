/* SPDX-License-Identifier: Apache-2.0 */
/* Resize and TensorFlow's ops that resize images: one dimension after another, by a table of taps
 * for each (resize_table.h), which is made on the host. A dimension whose places are taken is a
 * Gather, or a broadcast if all are repeated equally often; one of two taps is _ResizeLinear, any
 * other _ResizeWeighted. A gradient goes back by the transposed table.
 *
 * Resize goes from the last dimension to the first; TensorFlow's ops have TensorFlow's order, and
 * with it its bits. Halves, and integers of 8 and 16 bits, are computed in float32, other integers
 * in float64, and rounded once at the end. */
#include <gantry/ops.h>

#include "compose/compose.h"
#include "compose/resize_table.h"
#include "run/call_op.h"
#include "run/runtime_state.h"
#include "run/tensor_state.h"

#include "ops/type_rows.h"

typedef const gantry_tensor_t tensor;

/* A call, with the tables of the dimensions that are resized; the others have no heap. */
typedef struct resize_run_t {
    const gantry__compose_t *c;
    gantry_scope_t *scope;
    const gantry__heap_t *heap;
    gantry__resize_table_t tables[GANTRY_MAX_RANK];
} resize_run_t;

static resize_run_t resize_begin(const gantry__compose_t *c) {
    return (resize_run_t){.c = c, .scope = c->scope, .heap = &c->scope->runtime->heap};
}

/* Whether nothing goes in or comes out: then the result is zeros, and needs no tables. */
static bool resize_is_nothing(const gantry__compose_t *c) {
    const gantry_shape_t *result = &c->call->out_shapes[0];
    if (c->inputs[0]->elements != 0 && gantry_shape_elements(result) != 0) return false;
    c->outputs[0] = gantry_zeros(c->scope, c->call->out_dtypes[0], *result);
    return true;
}

/* Gives the result, or the failure, and closes the tables. */
static void resize_end(resize_run_t *run, gantry_status_t status, tensor *result) {
    for (int32_t d = 0; d < GANTRY_MAX_RANK; ++d) gantry__resize_close(&run->tables[d]);
    if (status != GANTRY_OK) (void)gantry__scope_fail(run->scope, status);
    run->c->outputs[0] = result;
}

/* ---- one dimension ---- */

static gantry_shape_t resize_vector(int64_t size) { return GANTRY_SHAPE(size); }

/* A constant of `count` elements that `fill` writes. */
static tensor *resize_constant(resize_run_t *run, const gantry__resize_table_t *table,
                               gantry_dtype_t dtype, gantry_shape_t shape,
                               void (*fill)(const gantry__resize_table_t *table, void *out)) {
    const size_t bytes = (size_t)gantry_shape_elements(&shape) * gantry_dtype_size(dtype);
    void *data = gantry__heap_alloc(run->heap, bytes + 1);
    if (!data) {
        (void)gantry__scope_fail(run->scope, GANTRY_RESOURCE_EXHAUSTED);
        return NULL;
    }
    fill(table, data);
    tensor *made = gantry_constant(run->scope, dtype, shape, data, bytes);
    gantry__heap_free(run->heap, data, bytes + 1);
    return made;
}

static void fill_starts(const gantry__resize_table_t *table, void *out) {
    memcpy(out, table->starts, ((size_t)table->result + 1) * sizeof *table->starts);
}

static void fill_tap_places(const gantry__resize_table_t *table, void *out) {
    for (size_t t = 0; t < table->count; ++t) ((int32_t *)out)[t] = table->taps[t].place;
}

/* Every weight, or the second one of two: the part. */
static void fill_weights(const gantry__resize_table_t *table, void *out) {
    const size_t step = table->kind == GANTRY__RESIZE_BLENDS ? 2 : 1;
    for (size_t t = step - 1, i = 0; t < table->count; t += step, ++i) {
        if (table->is_double) {
            ((double *)out)[i] = table->taps[t].weight;
        } else {
            ((float *)out)[i] = (float)table->taps[t].weight;
        }
    }
}

static tensor *resize_take_places(resize_run_t *run, tensor *x, const gantry__resize_table_t *table,
                                  int32_t axis) {
    tensor *places =
        resize_constant(run, table, GANTRY_INT32, resize_vector(table->result), fill_tap_places);
    return gantry_gather(run->scope, x, places, axis);
}

/* x must be of the weights' type. */
static tensor *resize_weigh(resize_run_t *run, tensor *x, const gantry__resize_table_t *table,
                            int32_t axis) {
    const gantry_dtype_t dtype = table->is_double ? GANTRY_FLOAT64 : GANTRY_FLOAT32;
    const gantry_attr_value_t attr = gantry__attr_int("axis", axis);
    const gantry_shape_t taps = resize_vector((int64_t)table->count);
    if (table->kind == GANTRY__RESIZE_BLENDS) {
        tensor *inputs[] = {
            x,
            resize_constant(run, table, GANTRY_INT32, GANTRY_SHAPE(table->result, 2),
                            fill_tap_places),
            resize_constant(run, table, dtype, resize_vector(table->result), fill_weights)};
        return gantry__call_op(run->scope, GANTRY__OP_ID__ResizeLinear, inputs, 3, &attr, 1, NULL);
    }
    tensor *inputs[] = {
        x, resize_constant(run, table, GANTRY_INT32, resize_vector(table->result + 1), fill_starts),
        resize_constant(run, table, GANTRY_INT32, taps, fill_tap_places),
        resize_constant(run, table, dtype, taps, fill_weights)};
    return gantry__call_op(run->scope, GANTRY__OP_ID__ResizeWeighted, inputs, 4, &attr, 1, NULL);
}

static tensor *resize_dimension(resize_run_t *run, tensor *x, int32_t axis) {
    const gantry__resize_table_t *table = &run->tables[axis];
    if (!table->heap) return x;
    return table->kind == GANTRY__RESIZE_TAKES ? resize_take_places(run, x, table, axis)
                                               : resize_weigh(run, x, table, axis);
}

/* ---- repeated places ---- */

/* The shape with a dimension after each one that is repeated, of size 1 and of so many times. */
typedef struct resize_apart_t {
    gantry_shape_t apart, wide;
    int32_t axes[GANTRY_MAX_RANK]; /* of the dimensions that are added */
    size_t count;
} resize_apart_t;

/* False if not all tables repeat, or if there are too many dimensions. */
static bool resize_repeats(const resize_run_t *run, const gantry_shape_t *source,
                           resize_apart_t *out) {
    int32_t rank = 0;
    *out = (resize_apart_t){.count = 0};
    for (int32_t d = 0; d < source->rank; ++d) {
        const gantry__resize_table_t *table = &run->tables[d];
        const int64_t times = table->heap ? gantry__resize_repeats(table) : 1;
        if (times == 0 || rank + (times > 1) >= GANTRY_MAX_RANK) return false;
        out->apart.dims[rank] = out->wide.dims[rank] = source->dims[d];
        ++rank;
        if (times == 1) continue;
        out->axes[out->count++] = rank;
        out->apart.dims[rank] = 1;
        out->wide.dims[rank++] = times;
    }
    out->apart.rank = out->wide.rank = rank;
    return true;
}

/* Repeats places. In the last dimension they are single elements, which a broadcast would copy one
 * by one, so they are taken. */
static tensor *resize_repeat_all(resize_run_t *run, tensor *x, const resize_apart_t *by) {
    gantry_scope_t *s = run->scope;
    gantry_shape_t apart = by->apart, wide = by->wide;
    const int32_t last = x->shape.rank - 1;
    if (by->count > 0 && by->axes[by->count - 1] == wide.rank - 1) {
        x = resize_take_places(run, x, &run->tables[last], last);
        apart.dims[apart.rank - 2] = wide.dims[wide.rank - 2] = run->tables[last].result;
        apart.rank = wide.rank = wide.rank - 1;
        if (by->count == 1) return x;
    }
    return gantry_reshape(s, gantry_broadcast_to(s, gantry_reshape(s, x, apart), wide),
                          run->c->call->out_shapes[0]);
}

/* Takes places in all dimensions. */
static tensor *resize_take_all(resize_run_t *run, tensor *x) {
    resize_apart_t by;
    if (resize_repeats(run, &x->shape, &by)) return resize_repeat_all(run, x, &by);
    for (int32_t d = x->shape.rank - 1; d >= 0; --d) {
        const gantry__resize_table_t *table = &run->tables[d];
        if (table->heap && gantry__resize_repeats(table) != 1)
            x = resize_take_places(run, x, table, d);
        if (!x) return NULL;
    }
    return x;
}

/* ---- gradients ---- */

/* Adds the slices of an integer tensor that went to each place of the source. */
static tensor *resize_add_slices(resize_run_t *run, tensor *dy, const gantry__resize_table_t *table,
                                 int32_t axis) {
    gantry_scope_t *s = run->scope;
    int32_t perm[GANTRY_MAX_RANK];
    for (int32_t d = 0; d < GANTRY_MAX_RANK; ++d) perm[d] = d;
    perm[0] = axis;
    perm[axis] = 0;
    tensor *places =
        resize_constant(run, table, GANTRY_INT32, resize_vector(table->result), fill_tap_places);
    tensor *sums =
        gantry_unsorted_segment_sum(s, gantry_transpose(s, dy, perm), places, table->source);
    return gantry_transpose(s, sums, perm);
}

static gantry_status_t resize_weigh_back(resize_run_t *run, int32_t axis, tensor **x) {
    gantry__resize_table_t back = {.heap = NULL};
    const gantry_status_t status = gantry__resize_transpose(&run->tables[axis], &back);
    if (status == GANTRY_OK) *x = resize_weigh(run, *x, &back, axis);
    gantry__resize_close(&back);
    return status;
}

/* The gradient of the source, whose shape this is, in the type of dy. */
static gantry_status_t resize_sum_back(resize_run_t *run, const gantry_shape_t *source, tensor *dy,
                                       tensor **out) {
    gantry_scope_t *s = run->scope;
    const gantry_dtype_t dtype = dy->dtype;
    resize_apart_t by;
    if (resize_repeats(run, source, &by)) {
        const gantry_reduce_options_t over = {
            .struct_size = sizeof over, .axes = by.axes, .axis_count = by.count};
        if (by.count > 0)
            dy = gantry_reshape(s, gantry_sum(s, gantry_reshape(s, dy, by.wide), &over), *source);
        *out = dy;
        return GANTRY_OK;
    }
    const bool is_floating = GANTRY__TYPE_IS(dtype, FLOATING);
    tensor *x = gantry__compose_widen(run->c, dy);
    for (int32_t d = 0; d < source->rank && x; ++d) {
        gantry__resize_table_t *table = &run->tables[d];
        if (!table->heap) continue;
        table->is_double = x->dtype == GANTRY_FLOAT64;
        if (!is_floating) {
            x = resize_add_slices(run, x, table, d);
        } else {
            GANTRY__TRY(resize_weigh_back(run, d, &x));
        }
    }
    *out = gantry__compose_narrow(run->c, x, dtype);
    return GANTRY_OK;
}

/* ---- TensorFlow's images ---- */

/* Makes the tables of rows and columns of images. */
static gantry_status_t resize_read_images(resize_run_t *run, gantry__resize_images_t method,
                                          const gantry_shape_t *source,
                                          const gantry_shape_t *result) {
    const gantry_attr_t *corners = gantry__infer_attr(run->c->call, "align_corners"),
                        *centers = gantry__infer_attr(run->c->call, "half_pixel_centers");
    for (int32_t d = 1; d < 3; ++d) {
        const gantry__resize_pixels_t pixels = {.source = source->dims[d],
                                                .result = result->dims[d],
                                                .align_corners = corners->i,
                                                .half_pixel_centers = centers && centers->i};
        GANTRY__TRY(gantry__resize_of_images(method, &pixels, run->heap, &run->tables[d]));
    }
    return GANTRY_OK;
}

/* Images as float32, resized in the dimension `first` and then in the other one. */
static void resize_images(const gantry__compose_t *c, gantry__resize_images_t method,
                          int32_t first) {
    if (resize_is_nothing(c)) return;
    resize_run_t run = resize_begin(c);
    tensor *x = gantry__compose_narrow(c, c->inputs[0], GANTRY_FLOAT32);
    const gantry_status_t status =
        resize_read_images(&run, method, &c->inputs[0]->shape, &c->call->out_shapes[0]);
    if (status == GANTRY_OK)
        x = resize_dimension(&run, resize_dimension(&run, x, first), 3 - first);
    resize_end(&run, status, x);
}

void gantry__compose_resize_nearest(const gantry__compose_t *c) {
    if (resize_is_nothing(c)) return;
    resize_run_t run = resize_begin(c);
    tensor *x = c->inputs[0];
    const gantry_status_t status =
        resize_read_images(&run, GANTRY__IMAGES_NEAREST, &x->shape, &c->call->out_shapes[0]);
    if (status == GANTRY_OK) x = resize_take_all(&run, x);
    resize_end(&run, status, x);
}

/* Images of the same size stay as they are, as in TensorFlow. */
void gantry__compose_resize_bilinear(const gantry__compose_t *c) {
    const gantry_shape_t *source = &c->inputs[0]->shape, *result = &c->call->out_shapes[0];
    if (source->dims[1] == result->dims[1] && source->dims[2] == result->dims[2]) {
        c->outputs[0] = gantry__compose_narrow(c, c->inputs[0], GANTRY_FLOAT32);
    } else {
        resize_images(c, GANTRY__IMAGES_BILINEAR, 2);
    }
}

void gantry__compose_resize_bicubic(const gantry__compose_t *c) {
    resize_images(c, GANTRY__IMAGES_BICUBIC, 1);
}

void gantry__compose_resize_area(const gantry__compose_t *c) {
    const bool corners = gantry__infer_attr(c->call, "align_corners")->i;
    float scales[2];
    resize_images(c, GANTRY__IMAGES_AREA, 2);
    for (int d = 0; d < 2; ++d) {
        const gantry__resize_pixels_t pixels = {.source = c->inputs[0]->shape.dims[d + 1],
                                                .result = c->call->out_shapes[0].dims[d + 1],
                                                .align_corners = corners};
        scales[d] = gantry__resize_scale(&pixels);
    }
    const double factor = 1.0 / (double)(scales[0] * scales[1]);
    c->outputs[0] =
        gantry_mul(c->scope, c->outputs[0], gantry__compose_scalar(c, GANTRY_FLOAT32, factor));
}

static void resize_images_back(const gantry__compose_t *c, gantry__resize_images_t method,
                               gantry_dtype_t dtype) {
    if (resize_is_nothing(c)) return;
    resize_run_t run = resize_begin(c);
    tensor *dy = gantry__compose_narrow(c, c->inputs[0], dtype), *x = NULL;
    const gantry_shape_t *source = &c->call->out_shapes[0];
    gantry_status_t status = resize_read_images(&run, method, source, &c->inputs[0]->shape);
    if (status == GANTRY_OK && dy) status = resize_sum_back(&run, source, dy, &x);
    resize_end(&run, status, gantry__compose_narrow(c, x, c->call->out_dtypes[0]));
}

void gantry__compose_resize_nearest_grad(const gantry__compose_t *c) {
    resize_images_back(c, GANTRY__IMAGES_NEAREST, c->inputs[0]->dtype);
}

/* Halves get sums of float32. */
static gantry_dtype_t resize_sum_type(const gantry__compose_t *c) {
    return c->call->out_dtypes[0] == GANTRY_FLOAT64 ? GANTRY_FLOAT64 : GANTRY_FLOAT32;
}

void gantry__compose_resize_bilinear_grad(const gantry__compose_t *c) {
    resize_images_back(c, GANTRY__IMAGES_BILINEAR, resize_sum_type(c));
}

void gantry__compose_resize_bicubic_grad(const gantry__compose_t *c) {
    resize_images_back(c, GANTRY__IMAGES_BICUBIC, resize_sum_type(c));
}

/* ---- ScaleAndTranslate ---- */

static gantry_status_t resize_read_spans(resize_run_t *run, const gantry_shape_t *source,
                                         const gantry_shape_t *result) {
    const void *scale, *translation;
    GANTRY__TRY(gantry__infer_host_data(run->c->call, 2, &scale));
    GANTRY__TRY(gantry__infer_host_data(run->c->call, 3, &translation));
    for (int32_t d = 1; d < 3; ++d) {
        gantry__resize_spans_t spans = {
            .source = source->dims[d],
            .result = result->dims[d],
            .kernel_type = gantry__infer_attr(run->c->call, "kernel_type")->s,
            .antialias = gantry__infer_attr(run->c->call, "antialias")->i};
        memcpy(&spans.scale, (const char *)scale + (size_t)(d - 1) * sizeof(float), sizeof(float));
        memcpy(&spans.translation, (const char *)translation + (size_t)(d - 1) * sizeof(float),
               sizeof(float));
        GANTRY__TRY(gantry__resize_of_spans(&spans, run->heap, &run->tables[d]));
    }
    return GANTRY_OK;
}

void gantry__compose_scale_and_translate(const gantry__compose_t *c) {
    if (resize_is_nothing(c)) return;
    resize_run_t run = resize_begin(c);
    tensor *x = gantry__compose_narrow(c, c->inputs[0], GANTRY_FLOAT32);
    const gantry_status_t status =
        resize_read_spans(&run, &c->inputs[0]->shape, &c->call->out_shapes[0]);
    if (status == GANTRY_OK) x = resize_dimension(&run, resize_dimension(&run, x, 1), 2);
    resize_end(&run, status, x);
}

void gantry__compose_scale_and_translate_grad(const gantry__compose_t *c) {
    if (resize_is_nothing(c)) return;
    resize_run_t run = resize_begin(c);
    const gantry_shape_t *source = &c->call->out_shapes[0];
    tensor *x = NULL;
    gantry_status_t status = resize_read_spans(&run, source, &c->inputs[0]->shape);
    if (status == GANTRY_OK) status = resize_sum_back(&run, source, c->inputs[0], &x);
    resize_end(&run, status, x);
}

/* ---- Resize ---- */

static gantry_dtype_t resize_compute_type(const gantry__resize_call_t *call, gantry_dtype_t dtype) {
    const bool is_wide = GANTRY__TYPE_IS(dtype, INTEGERS) && gantry_dtype_size(dtype) > 2;
    if (call->mode == GANTRY__RESIZE_NEAREST) return dtype;
    return dtype == GANTRY_FLOAT64 || is_wide ? GANTRY_FLOAT64 : GANTRY_FLOAT32;
}

/* Makes the tables of all dimensions that change. */
static gantry_status_t resize_read_axes_of(resize_run_t *run, const gantry__resize_call_t *call,
                                           bool is_double) {
    for (int32_t d = 0; d < call->rank; ++d) {
        const gantry__resize_axis_t *axis = &call->axes[d];
        const bool crops = call->coordinate == GANTRY__RESIZE_TF_CROP_AND_RESIZE &&
                           (axis->from != 0 || axis->to != 1);
        if (!call->resizes[d] || (axis->scale == 1 && axis->result == axis->source && !crops))
            continue;
        GANTRY__TRY(gantry__resize_of_axis(call, d, is_double, run->heap, &run->tables[d]));
    }
    return GANTRY_OK;
}

static void fill_outside(const gantry__resize_table_t *table, void *out) {
    memcpy(out, table->outside, (size_t)table->result);
}

/* Puts the extrapolated value in the places outside. */
static tensor *resize_extrapolate(resize_run_t *run, tensor *x) {
    const double value = gantry__infer_attr(run->c->call, "extrapolation_value")->f;
    for (int32_t d = 0; x && d < x->shape.rank; ++d) {
        const gantry__resize_table_t *table = &run->tables[d];
        if (!table->outside) continue;
        gantry_shape_t shape = {.rank = x->shape.rank};
        for (int32_t i = 0; i < shape.rank; ++i) shape.dims[i] = i == d ? table->result : 1;
        const gantry_dtype_t made = GANTRY__TYPE_IS(x->dtype, FLOATING) ? x->dtype : GANTRY_FLOAT32;
        tensor *scalar =
            gantry__compose_narrow(run->c, gantry__compose_scalar(run->c, made, value), x->dtype);
        tensor *is_outside = resize_constant(run, table, GANTRY_BOOL, shape, fill_outside);
        x = gantry_select(run->scope, is_outside, scalar, x);
    }
    return x;
}

static tensor *resize_all(resize_run_t *run, const gantry__resize_call_t *call,
                          gantry_dtype_t computed) {
    tensor *x = gantry__compose_narrow(run->c, run->c->inputs[0], computed);
    const gantry_dtype_t dtype = run->c->call->out_dtypes[0];
    if (call->mode == GANTRY__RESIZE_NEAREST)
        return resize_extrapolate(run, resize_take_all(run, x));
    for (int32_t d = call->rank - 1; d >= 0; --d) x = resize_dimension(run, x, d);
    x = resize_extrapolate(run, x);
    if (GANTRY__TYPE_IS(dtype, INTEGERS)) x = gantry_rint(run->scope, x);
    return gantry__compose_narrow(run->c, x, dtype);
}

void gantry__compose_resize(const gantry__compose_t *c) {
    if (resize_is_nothing(c)) return;
    resize_run_t run = resize_begin(c);
    gantry__resize_call_t call;
    tensor *x = NULL;
    gantry_status_t status = gantry__resize_read(c->call, &c->inputs[0]->shape, 1, &call);
    const gantry_dtype_t computed = resize_compute_type(&call, c->inputs[0]->dtype);
    if (status == GANTRY_OK) status = resize_read_axes_of(&run, &call, computed == GANTRY_FLOAT64);
    if (status == GANTRY_OK) x = resize_all(&run, &call, computed);
    resize_end(&run, status, x);
}

void gantry__compose_resize_grad(const gantry__compose_t *c) {
    if (resize_is_nothing(c)) return;
    resize_run_t run = resize_begin(c);
    const gantry_shape_t *source = &c->call->out_shapes[0];
    gantry__resize_call_t call;
    tensor *x = NULL;
    gantry_status_t status = gantry__resize_read(c->call, source, 2, &call);
    if (status == GANTRY_OK)
        status = resize_read_axes_of(&run, &call, c->inputs[0]->dtype == GANTRY_FLOAT64);
    if (status == GANTRY_OK) status = resize_sum_back(&run, source, c->inputs[0], &x);
    resize_end(&run, status, x);
}
