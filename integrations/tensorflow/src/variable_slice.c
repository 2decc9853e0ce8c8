/* SPDX-License-Identifier: Apache-2.0 */
/* Values that are assigned to a strided slice of a variable.
 *
 *     v[1:7:2, :, 3] = x        places (1, 0, 3) (1, 1, 3) ... of the first three dimensions
 *
 * The leading dimensions that the slice cuts are enumerated on the host; what follows them is taken
 * whole, so rows of a table are one place each. Gantry's ResourceScatterNdUpdate writes the value's
 * slices to these places, in place. Nothing else of the variable is read or written. */
#include <stdlib.h>
#include <string.h>

#include "variable_indices.h"
#include "variable_row.h"

/* Numbers and masks of the op. */
typedef struct slice_spec_t {
    int64_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
} slice_spec_t;

/* What is assigned in one dimension: places begin, begin + stride, ... */
typedef struct slice_range_t {
    int64_t begin, stride, count;
} slice_range_t;

typedef struct slice_call_t {
    bridge_call_t *call;
    const slice_spec_t *spec;
    variables_t variables;
    const int64_t *begin, *end, *strides;
    int64_t entries; /* the length of the three lists */
    slice_range_t ranges[GANTRY_MAX_RANK];
    gantry_shape_t result; /* the slice's, as the program sees it */
} slice_call_t;

static bool is_set(int64_t mask, int64_t bit) { return mask >> bit & 1; }

/* ---- from the lists to ranges ---- */

static int64_t variable_slice_clamp_place(int64_t place, int64_t size, int64_t least,
                                          int64_t most) {
    if (place < 0) place += size;
    return place < least ? least : place > most ? most : place;
}

static bool take_range(slice_call_t *slice, int64_t entry, int64_t size, slice_range_t *out) {
    const slice_spec_t *spec = slice->spec;
    const int64_t stride = slice->strides[entry], begin = slice->begin[entry];
    if (stride == 0) {
        bridge_fail(slice->call, GANTRY_INVALID_ARGUMENT, "strides[%lld] must be non-zero",
                    (long long)entry);
        return false;
    }
    if (is_set(spec->shrink_axis_mask, entry)) {
        const int64_t place = begin < 0 ? begin + size : begin;
        *out = (slice_range_t){.begin = place, .stride = 1, .count = 1};
        if (place >= 0 && place < size) return true;
        bridge_fail(slice->call, GANTRY_INVALID_ARGUMENT,
                    "slice index %lld of dimension %lld out of bounds.", (long long)begin,
                    (long long)entry);
        return false;
    }
    const bool is_up = stride > 0;
    const int64_t least = is_up ? 0 : -1, most = is_up ? size : size - 1;
    const int64_t first = is_set(spec->begin_mask, entry)
                              ? (is_up ? 0 : size - 1)
                              : variable_slice_clamp_place(begin, size, least, most);
    const int64_t last = is_set(spec->end_mask, entry)
                             ? (is_up ? size : -1)
                             : variable_slice_clamp_place(slice->end[entry], size, least, most);
    const int64_t length = is_up ? last - first : first - last, step = is_up ? stride : -stride;
    *out = (slice_range_t){
        .begin = first, .stride = stride, .count = length > 0 ? (length - 1) / step + 1 : 0};
    return true;
}

static void variable_slice_add_result(slice_call_t *slice, int64_t size) {
    if (slice->result.rank < GANTRY_MAX_RANK) slice->result.dims[slice->result.rank++] = size;
}

/* The number of the variable's dimensions that an entry of the lists means; an ellipsis means
 * many. */
static int32_t dimensions_of(const slice_call_t *slice, int64_t entry, int32_t rank) {
    int64_t named = 0;
    if (!is_set(slice->spec->ellipsis_mask, entry))
        return is_set(slice->spec->new_axis_mask, entry) ? 0 : 1;
    for (int64_t i = 0; i < slice->entries; ++i)
        named += !is_set(slice->spec->ellipsis_mask | slice->spec->new_axis_mask, i);
    return (int32_t)(rank - named);
}

static void variable_slice_take_whole(slice_call_t *slice, int32_t *dimension, int32_t end,
                                      const gantry_shape_t *shape) {
    for (; *dimension < end && *dimension < shape->rank; ++*dimension) {
        const int64_t size = shape->dims[*dimension];
        slice->ranges[*dimension] = (slice_range_t){.begin = 0, .stride = 1, .count = size};
        variable_slice_add_result(slice, size);
    }
}

static bool take_ranges(slice_call_t *slice, const gantry_shape_t *shape) {
    int32_t dimension = 0;
    for (int64_t i = 0; i < slice->entries; ++i) {
        const int32_t count = dimensions_of(slice, i, shape->rank);
        if (dimension + count > shape->rank) {
            bridge_fail(slice->call, GANTRY_INVALID_ARGUMENT,
                        "Attempting to slice %lld dimensions of a variable that has %d",
                        (long long)slice->entries, shape->rank);
            return false;
        }
        if (is_set(slice->spec->ellipsis_mask, i)) {
            variable_slice_take_whole(slice, &dimension, dimension + count, shape);
        } else if (count == 0) {
            variable_slice_add_result(slice, 1);
        } else {
            slice_range_t *range = &slice->ranges[dimension];
            if (!take_range(slice, i, shape->dims[dimension++], range)) return false;
            if (!is_set(slice->spec->shrink_axis_mask, i))
                variable_slice_add_result(slice, range->count);
        }
    }
    variable_slice_take_whole(slice, &dimension, shape->rank, shape);
    return true;
}

/* ---- from ranges to places ---- */

/* The number of leading dimensions up to the last one that is not taken whole, at least one. */
static int32_t count_leading(const slice_call_t *slice, const gantry_shape_t *shape) {
    int32_t leading = shape->rank;
    while (leading > 1 && slice->ranges[leading - 1].count == shape->dims[leading - 1] &&
           slice->ranges[leading - 1].stride == 1)
        --leading;
    return leading;
}

static const gantry_tensor_t *list_slices(const slice_call_t *slice, int32_t leading,
                                          int64_t count) {
    int64_t *list = malloc((size_t)(count * leading) * sizeof *list + 1);
    if (!list) {
        bridge_fail_memory(slice->call);
        return NULL;
    }
    for (int64_t i = 0; i < count; ++i) {
        int64_t rest = i;
        for (int32_t d = leading; d-- > 0; rest /= slice->ranges[d].count)
            list[i * leading + d] =
                slice->ranges[d].begin + rest % slice->ranges[d].count * slice->ranges[d].stride;
    }
    const gantry_tensor_t *places =
        gantry_constant(slice->call->scope, GANTRY_INT64, GANTRY_SHAPE(count, leading), list,
                        (size_t)(count * leading) * sizeof *list);
    free(list);
    return places;
}

static void write_slice(slice_call_t *slice, const gantry_shape_t *shape,
                        const gantry_tensor_t *value) {
    const int32_t leading = count_leading(slice, shape);
    gantry_shape_t parts = GANTRY_SHAPE(1);
    for (int32_t d = 0; d < leading; ++d) parts.dims[0] *= slice->ranges[d].count;
    for (int32_t d = leading; d < shape->rank; ++d) parts.dims[parts.rank++] = shape->dims[d];
    if (gantry_shape_elements(&parts) == 0) return;
    const gantry_tensor_t *const inputs[] = {list_slices(slice, leading, parts.dims[0]),
                                             gantry_reshape(slice->call->scope, value, parts)};
    (void)gantry_op_update(slice->call->scope, "ResourceScatterNdUpdate", slice->variables.values,
                           1, inputs, 2, &variable_ignores_bad, 1);
}

/* Gives the value the slice's shape; leading dimensions of size 1 that it has in addition do not
 * count. Returns NULL if the call has failed. */
static const gantry_tensor_t *fit_value(const slice_call_t *slice, const gantry_tensor_t *value) {
    const gantry_shape_t *wanted = &slice->result;
    gantry_shape_t given = *gantry_tensor_shape(value);
    int32_t extra = 0;
    while (given.rank - extra > wanted->rank && given.dims[extra] == 1) ++extra;
    given.rank -= extra;
    memmove(given.dims, given.dims + extra, (size_t)given.rank * sizeof *given.dims);
    bool fits = given.rank <= wanted->rank;
    for (int32_t d = 1; fits && d <= given.rank; ++d)
        fits = given.dims[given.rank - d] == 1 ||
               given.dims[given.rank - d] == wanted->dims[wanted->rank - d];
    if (!fits) {
        char into[256], from[256];
        (void)gantry_shape_format(wanted, into, sizeof into);
        (void)gantry_shape_format(gantry_tensor_shape(value), from, sizeof from);
        bridge_fail(slice->call, GANTRY_INVALID_ARGUMENT,
                    "Cannot broadcast input shape %s into final shape %s", from, into);
        return NULL;
    }
    if (extra > 0) value = gantry_reshape(slice->call->scope, value, given);
    return gantry_shape_equal(&given, wanted)
               ? value
               : gantry_broadcast_to(slice->call->scope, value, *wanted);
}

static void assign_slice(slice_call_t *slice, const gantry_tensor_t *value) {
    gantry_tensor_t **variable = &slice->variables.values[0];
    const gantry_shape_t *shape = gantry_tensor_shape(*variable);
    if (!take_ranges(slice, shape)) return;
    value = fit_value(slice, value);
    if (!value) return;
    if (shape->rank > 0) {
        write_slice(slice, shape, value);
        return;
    }
    value = gantry_reshape(slice->call->scope, value, *shape);
    if (!value) return;
    gantry_tensor_release(*variable);
    *variable = gantry_tensor_retain(value);
}

/* ---- the kernel ---- */

static void slice_compute(void *data, TF_OpKernelContext *context) {
    bridge_call_t call;
    indices_t lists[3] = {{.list = NULL}, {.list = NULL}, {.list = NULL}};
    if (!bridge_begin(&call, context)) return;
    slice_call_t slice = {.call = &call, .spec = data};
    bool is_read = true;
    for (int i = 0; i < 3; ++i) is_read = is_read && indices_read(&lists[i], &call, i + 1);
    const gantry_tensor_t *value = bridge_input(&call, 4);
    slice.begin = lists[0].list;
    slice.end = lists[1].list;
    slice.strides = lists[2].list;
    slice.entries = lists[0].count;
    variables_begin(&slice.variables, &call, 1, true);
    if (is_read && !bridge_has_failed(&call)) assign_slice(&slice, value);
    variables_end(&slice.variables);
    bridge_end(&call);
    for (int i = 0; i < 3; ++i) indices_free(&lists[i]);
}

static void *slice_create(TF_OpKernelConstruction *construction) {
    slice_spec_t *spec = calloc(1, sizeof *spec);
    if (!spec) {
        bridge_refuse_memory(construction);
        return NULL;
    }
    const struct {
        const char *name;
        int64_t *out;
    } masks[] = {{"begin_mask", &spec->begin_mask},
                 {"end_mask", &spec->end_mask},
                 {"ellipsis_mask", &spec->ellipsis_mask},
                 {"new_axis_mask", &spec->new_axis_mask},
                 {"shrink_axis_mask", &spec->shrink_axis_mask}};
    TF_Status *status = TF_NewStatus();
    for (size_t i = 0; i < sizeof masks / sizeof masks[0]; ++i)
        TF_OpKernelConstruction_GetAttrInt64(construction, masks[i].name, masks[i].out, status);
    TF_DeleteStatus(status);
    return spec;
}

static void slice_destroy(void *spec) { free(spec); }

void variable_slice_register(uint64_t types, bool is_by_reference) {
    register_kernel_t kernel = {.op = "ResourceStridedSliceAssign",
                                .types = {{"T", types}},
                                .host_args = {"begin", "end", "strides", "ref"},
                                .create = slice_create,
                                .compute = slice_compute,
                                .destroy = slice_destroy};
    if (is_by_reference) {
        kernel.op = "StridedSliceAssign";
        kernel.host_args[3] = NULL;
    }
    register_kernel(&kernel);
}
