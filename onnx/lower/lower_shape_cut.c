/* SPDX-License-Identifier: Apache-2.0 */
/* Joining, cutting and padding. */
#include <string.h>

#include "onnx/lower/move.h"

typedef const gantry_tensor_t tensor;

gantry_status_t gantry__onnx_lower_concat(gantry__onnx_call_t *call) {
    int64_t axis;
    const int32_t rank = gantry_tensor_shape(gantry__onnx_input(call, 0))->rank;
    GANTRY__TRY(
        gantry__onnx_axis(call, gantry__onnx_attr_int(call, "axis", 1), (uint32_t)rank, &axis));
    return gantry__onnx_give(
        call, gantry__onnx_concat(call, call->inputs, call->input_count, (int32_t)axis));
}

/* ---- Split ---- */

/* Equal parts of a size; from version 18 on the last one may be smaller. */
static gantry_status_t split_evenly(gantry__onnx_call_t *call, int64_t size, int64_t *parts) {
    const int64_t count = (int64_t)call->output_count;
    const int64_t given = gantry__onnx_attr_int(call, "num_outputs", count);
    const int64_t part = (size + count - 1) / count, last = size - (count - 1) * part;
    if (given != count)
        return gantry__onnx_invalid(call, "num_outputs is %lld for %lld outputs", (long long)given,
                                    (long long)count);
    if (last < 0 || (last != part && gantry__onnx_version(call) < 18))
        return gantry__onnx_invalid(call, "a size of %lld is not cut into %lld parts",
                                    (long long)size, (long long)count);
    for (int64_t i = 0; i < count; ++i) parts[i] = i < count - 1 ? part : last;
    return GANTRY_OK;
}

static gantry_status_t split_sizes(gantry__onnx_call_t *call, int64_t size,
                                   const int64_t **out_parts) {
    size_t count;
    const int64_t *given = gantry__onnx_attr_ints(call, "split", &count);
    int64_t sum = 0;
    if (gantry__onnx_version(call) >= 13 && gantry__onnx_input(call, 1))
        GANTRY__TRY(gantry__onnx_get_ints(call, 1, "split", &given, &count));
    if (!given) {
        int64_t *parts = gantry__onnx_scratch(call, call->output_count, sizeof *parts);
        if (!parts) return GANTRY_RESOURCE_EXHAUSTED;
        *out_parts = parts;
        return split_evenly(call, size, parts);
    }
    for (size_t i = 0; i < count; ++i) {
        if (given[i] < 0 || given[i] > size)
            return gantry__onnx_invalid(call, "a part of %lld elements of %lld",
                                        (long long)given[i], (long long)size);
        sum += given[i];
    }
    if (count != call->output_count || sum != size)
        return gantry__onnx_invalid(
            call, "%zu parts of %lld elements together, for %zu outputs of a size of %lld", count,
            (long long)sum, call->output_count, (long long)size);
    *out_parts = given;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_split(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    const int64_t *parts = NULL;
    int64_t axis, begin[GANTRY_MAX_RANK] = {0}, size[GANTRY_MAX_RANK];
    GANTRY__TRY(gantry__onnx_axis(call, gantry__onnx_attr_int(call, "axis", 0),
                                  (uint32_t)shape->rank, &axis));
    if (shape->dims[axis] < 0) GANTRY__TRY(gantry__onnx_need_shape(call, x));
    GANTRY__TRY(split_sizes(call, shape->dims[axis], &parts));
    for (int32_t i = 0; i < shape->rank; ++i) size[i] = -1;
    for (size_t i = 0; i < call->output_count; begin[axis] += parts[i++]) {
        size[axis] = parts[i];
        if (!gantry__onnx_wants(call, i)) continue;
        GANTRY__TRY(gantry__onnx_set(
            call, i,
            parts[i] == shape->dims[axis] ? x : gantry_slice(call->scope, x, begin, size)));
    }
    return GANTRY_OK;
}

/* ---- Slice ---- */

/* The entries of a StridedSlice, one for each dimension, and the sizes of a Slice. */
typedef struct slice_plan_t {
    int64_t begin[GANTRY_MAX_RANK], end[GANTRY_MAX_RANK], step[GANTRY_MAX_RANK],
        size[GANTRY_MAX_RANK];
    gantry_strided_slice_options_t masks;
    bool is_whole, is_box;
} slice_plan_t;

static void plan_whole(slice_plan_t *plan, int32_t rank) {
    *plan = (slice_plan_t){.is_whole = true, .is_box = true};
    for (int32_t i = 0; i < rank; ++i) {
        plan->step[i] = 1;
        plan->size[i] = -1;
    }
    plan->masks.struct_size = sizeof plan->masks;
    plan->masks.begin_mask = plan->masks.end_mask = (int32_t)((1u << rank) - 1);
}

static int64_t clamp_to(int64_t value, int64_t least, int64_t most) {
    return value < least ? least : value > most ? most : value;
}

/* An axis of a size that is not known: numbers as they are; those beyond all sizes are masks. */
static void plan_open_axis(slice_plan_t *plan, int32_t axis, int64_t begin, int64_t end,
                           int64_t step) {
    const int64_t most = INT32_MAX;
    const int32_t bit = (int32_t)(1u << axis);
    plan->is_whole = plan->is_box = false;
    plan->begin[axis] = begin;
    plan->end[axis] = end;
    plan->step[axis] = step;
    if (step > 0 ? begin > -most : begin < most) plan->masks.begin_mask &= ~bit;
    if (step > 0 ? end < most : end > -most) plan->masks.end_mask &= ~bit;
}

/* An axis of a known size: begin and end inside, or for a negative step end -1. */
static void plan_axis(slice_plan_t *plan, int32_t axis, int64_t size, int64_t begin, int64_t end,
                      int64_t step) {
    const int32_t bit = (int32_t)(1u << axis);
    const int64_t last = size - 1;
    begin = clamp_to(begin < 0 ? begin + size : begin, 0, step > 0 ? size : last);
    end = step > 0 ? clamp_to(end < 0 ? end + size : end, 0, size)
                   : clamp_to(end < 0 ? end + size : end, -1, last);
    int64_t count = 0;
    if (step > 0 && end > begin) count = (end - begin - 1) / step + 1;
    if (step < 0 && size > 0 && end < begin)
        count = (begin - end - 1) / (step < -size ? size : -step) + 1;
    if (count < 2) step = 1; /* One element has no step, and no step overflows. */
    plan->is_whole = plan->is_whole && count == size && step == 1;
    plan->is_box = plan->is_box && step == 1;
    plan->begin[axis] = count == 0 ? 0 : begin;
    plan->size[axis] = count;
    plan->step[axis] = step;
    plan->end[axis] = count == 0 ? 0 : count == 1 ? begin + 1 : end;
    plan->masks.begin_mask &= ~bit;
    if (!(step < 0 && end < 0)) plan->masks.end_mask &= ~bit;
}

static tensor *slice_by_plan(gantry__onnx_call_t *call, tensor *x, const slice_plan_t *plan) {
    if (plan->is_whole) return x;
    if (plan->is_box) return gantry_slice(call->scope, x, plan->begin, plan->size);
    return gantry_strided_slice(call->scope, x, plan->begin, plan->end, plan->step,
                                (size_t)gantry_tensor_shape(x)->rank, &plan->masks);
}

/* Lists of a Slice: attributes, or from version 10 on inputs. NULL: left out. */
typedef struct slice_lists_t {
    const int64_t *begins, *ends, *axes, *steps;
    size_t begin_count, end_count, axis_count, step_count;
} slice_lists_t;

static gantry_status_t read_slice_lists(gantry__onnx_call_t *call, slice_lists_t *lists) {
    *lists = (slice_lists_t){0};
    if (gantry__onnx_version(call) < 10) {
        lists->begins = gantry__onnx_attr_ints(call, "starts", &lists->begin_count);
        lists->ends = gantry__onnx_attr_ints(call, "ends", &lists->end_count);
        lists->axes = gantry__onnx_attr_ints(call, "axes", &lists->axis_count);
    } else {
        GANTRY__TRY(gantry__onnx_get_ints(call, 1, "starts", &lists->begins, &lists->begin_count));
        GANTRY__TRY(gantry__onnx_get_ints(call, 2, "ends", &lists->ends, &lists->end_count));
        if (gantry__onnx_input(call, 3))
            GANTRY__TRY(gantry__onnx_get_ints(call, 3, "axes", &lists->axes, &lists->axis_count));
        if (gantry__onnx_input(call, 4))
            GANTRY__TRY(gantry__onnx_get_ints(call, 4, "steps", &lists->steps, &lists->step_count));
    }
    const size_t count = lists->begin_count;
    if (lists->end_count == count && (!lists->axes || lists->axis_count == count) &&
        (!lists->steps || lists->step_count == count))
        return GANTRY_OK;
    return gantry__onnx_invalid(call, "%zu starts, %zu ends, %zu axes and %zu steps", count,
                                lists->end_count, lists->axis_count, lists->step_count);
}

gantry_status_t gantry__onnx_lower_slice(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    slice_lists_t lists;
    slice_plan_t plan;
    bool is_cut[GANTRY_MAX_RANK] = {false};
    GANTRY__TRY(read_slice_lists(call, &lists));
    plan_whole(&plan, shape->rank);
    for (size_t i = 0; i < lists.begin_count; ++i) {
        const int64_t step = lists.steps ? lists.steps[i] : 1;
        int64_t axis;
        GANTRY__TRY(gantry__onnx_axis(call, lists.axes ? lists.axes[i] : (int64_t)i,
                                      (uint32_t)shape->rank, &axis));
        if (step == 0 || is_cut[axis])
            return gantry__onnx_invalid(
                call, step == 0 ? "the step of axis %lld is 0" : "axis %lld occurs twice",
                (long long)axis);
        is_cut[axis] = true;
        /* A begin in front of the first element is the first one, which StridedSlice leaves out. */
        if (shape->dims[axis] < 0 && step < 0 && lists.begins[i] < -1)
            GANTRY__TRY(gantry__onnx_need_shape(call, x));
        if (shape->dims[axis] < 0)
            plan_open_axis(&plan, (int32_t)axis, lists.begins[i], lists.ends[i], step);
        else
            plan_axis(&plan, (int32_t)axis, shape->dims[axis], lists.begins[i], lists.ends[i],
                      step);
    }
    return gantry__onnx_give(call, slice_by_plan(call, x, &plan));
}

/* ---- Pad ---- */

static gantry_status_t read_pad_mode(gantry__onnx_call_t *call, gantry_pad_mode_t *out_mode) {
    static const struct {
        const char *name;
        gantry_pad_mode_t mode;
    } modes[] = {{"constant", GANTRY_PAD_CONSTANT},
                 {"reflect", GANTRY_PAD_REFLECT},
                 {"edge", GANTRY_PAD_EDGE},
                 {"wrap", GANTRY_PAD_WRAP}};
    const char *name = gantry__onnx_attr_text(call, "mode", "constant");
    for (size_t i = 0; i < sizeof modes / sizeof *modes; ++i) {
        if (strcmp(name, modes[i].name) != 0) continue;
        *out_mode = modes[i].mode;
        return GANTRY_OK;
    }
    return gantry__onnx_invalid(call, "mode '%s'; modes are constant, reflect, edge and wrap",
                                name);
}

/* Reads pads in Gantry's order: before and after, by dimension. */
static gantry_status_t read_pad_sizes(gantry__onnx_call_t *call, int32_t rank, int64_t *paddings) {
    const int64_t *pads, *axes = NULL;
    size_t pad_count, axis_count = (size_t)rank;
    if (gantry__onnx_version(call) < 11)
        pads = gantry__onnx_attr_ints(call, "pads", &pad_count);
    else
        GANTRY__TRY(gantry__onnx_get_ints(call, 1, "pads", &pads, &pad_count));
    if (gantry__onnx_input(call, 3))
        GANTRY__TRY(gantry__onnx_get_ints(call, 3, "axes", &axes, &axis_count));
    if (pad_count != 2 * axis_count)
        return gantry__onnx_invalid(call, "pads has %zu numbers for %zu dimensions", pad_count,
                                    axis_count);
    for (size_t i = 0; i < axis_count; ++i) {
        int64_t axis;
        GANTRY__TRY(gantry__onnx_axis(call, axes ? axes[i] : (int64_t)i, (uint32_t)rank, &axis));
        paddings[2 * axis] = pads[i];
        paddings[2 * axis + 1] = pads[i + axis_count];
    }
    return GANTRY_OK;
}

/* The padded value, a scalar of x's type; NULL: 0. */
static gantry_status_t pad_value(gantry__onnx_call_t *call, tensor *x, tensor **out_value) {
    const double *known;
    size_t count;
    *out_value = NULL;
    if (gantry__onnx_version(call) < 11) {
        const float value = gantry__onnx_attr_float(call, "value", 0);
        if (value != 0)
            *out_value = gantry__onnx_make_scalar(call, gantry_tensor_dtype(x), (double)value);
        return GANTRY_OK;
    }
    tensor *given = gantry__onnx_input(call, 2);
    if (!given || gantry_tensor_elements(given) == 0) return GANTRY_OK;
    if (!gantry__onnx_is_known(call, given))
        return gantry__onnx_get_doubles(call, 2, "constant_value", &known, &count);
    *out_value = gantry_tensor_shape(given)->rank == 0
                     ? given
                     : gantry_reshape(call->host, given, GANTRY_SCALAR);
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_lower_pad(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    int64_t paddings[2 * GANTRY_MAX_RANK] = {0};
    bool is_same = true;
    gantry_pad_options_t options = {.struct_size = sizeof options};
    GANTRY__TRY(read_pad_mode(call, &options.mode));
    GANTRY__TRY(read_pad_sizes(call, shape->rank, paddings));
    if (options.mode == GANTRY_PAD_CONSTANT) GANTRY__TRY(pad_value(call, x, &options.value));
    for (int32_t i = 0; i < 2 * shape->rank; ++i) {
        is_same = is_same && paddings[i] == 0;
        options.crop = options.crop || paddings[i] < 0 ||
                       (options.mode == GANTRY_PAD_REFLECT && paddings[i] >= shape->dims[i / 2]);
    }
    return gantry__onnx_give(call, is_same ? x : gantry_pad(call->scope, x, paddings, &options));
}

gantry_status_t gantry__onnx_lower_center_crop_pad(gantry__onnx_call_t *call) {
    tensor *x = gantry__onnx_input(call, 0);
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    const gantry_pad_options_t options = {.struct_size = sizeof options, .crop = true};
    const int64_t *sizes;
    size_t size_count, axis_count;
    int64_t paddings[2 * GANTRY_MAX_RANK] = {0};
    bool is_taken[GANTRY_MAX_RANK] = {false};
    const int64_t *axes = gantry__onnx_attr_ints(call, "axes", &axis_count);
    GANTRY__TRY(gantry__onnx_get_ints(call, 1, "shape", &sizes, &size_count));
    GANTRY__TRY(gantry__onnx_need_shape(call, x));
    if (!axes) axis_count = (size_t)shape->rank;
    if (size_count != axis_count)
        return gantry__onnx_invalid(call, "shape has %zu sizes for %zu axes", size_count,
                                    axis_count);
    for (size_t i = 0; i < axis_count; ++i) {
        int64_t axis;
        GANTRY__TRY(
            gantry__onnx_axis(call, axes ? axes[i] : (int64_t)i, (uint32_t)shape->rank, &axis));
        if (is_taken[axis])
            return gantry__onnx_invalid(call, "axis %lld occurs twice", (long long)axes[i]);
        is_taken[axis] = true;
        if (sizes[i] < 0)
            return gantry__onnx_invalid(call, "shape has a size of %lld", (long long)sizes[i]);
        const int64_t change = sizes[i] - shape->dims[axis];
        paddings[2 * axis] = change / 2; /* Toward zero, for both directions. */
        paddings[2 * axis + 1] = change - change / 2;
    }
    return gantry__onnx_give(call, gantry_pad(call->scope, x, paddings, &options));
}
