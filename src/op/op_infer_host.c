/* SPDX-License-Identifier: Apache-2.0 */
/* Host arguments of a call under inference (shapes, axes, seeds), open sizes, and the texts of
 * messages. */
#include "op/op_infer.h"

#include <stdio.h>

#include "ops/type_rows.h"

/* ---- texts ---- */

gantry__short_text_t gantry__shape_text(const gantry_shape_t *shape) {
    gantry__short_text_t out;
    (void)gantry_shape_format(shape, out.text, sizeof out.text);
    return out;
}

gantry__short_text_t gantry__type_mask_text(uint64_t mask) {
    gantry__short_text_t out = {""};
    size_t used = 0;
    for (int dtype = 1; dtype < 64 && used < sizeof out.text; ++dtype) {
        if (!(mask >> dtype & 1)) continue;
        used += (size_t)snprintf(out.text + used, sizeof out.text - used, "%s%s", used ? ", " : "",
                                 gantry_dtype_name((gantry_dtype_t)dtype));
    }
    return out;
}

/* ---- open sizes ---- */

bool gantry__shape_is_open(const gantry_shape_t *shape) {
    for (int32_t d = 0; d < shape->rank; ++d) {
        if (shape->dims[d] < 0) return true;
    }
    return false;
}

gantry_shape_t gantry__shape_open(int32_t rank) {
    gantry_shape_t shape = {.rank = rank};
    for (int32_t d = 0; d < rank; ++d) shape.dims[d] = -1;
    return shape;
}

bool gantry__merge_shapes(gantry_shape_t *shape, const gantry_shape_t *with) {
    bool fits = shape->rank == with->rank;
    for (int32_t d = 0; fits && d < with->rank; ++d)
        fits = gantry__merge_sizes(&shape->dims[d], with->dims[d]);
    return fits;
}

bool gantry__shapes_fit(const gantry_shape_t *shape, const gantry_shape_t *with) {
    bool fits = shape->rank == with->rank;
    for (int32_t d = 0; fits && d < with->rank; ++d)
        fits = gantry__sizes_fit(shape->dims[d], with->dims[d]);
    return fits;
}

/* ---- host arguments ---- */

static const char *input_name(const gantry__infer_t *call, uint32_t input) {
    return gantry__op_input_arg(call->op, call->input_count, input)->name;
}

gantry_status_t gantry__fail_open_rank(const gantry__infer_t *call, uint32_t input) {
    return gantry__fail(
        GANTRY_UNIMPLEMENTED,
        "the number or the rank of its results depends on data: on the sizes and elements of %s; known ones are accepted",
        input_name(call, input));
}

bool gantry__infer_is_open(gantry__infer_t *call, uint32_t input) {
    if (!(call->symbolic >> input & 1) || gantry_shape_elements(call->shapes[input]) == 0)
        return false;
    call->is_open = true;
    return true;
}

gantry_status_t gantry__infer_host_data(gantry__infer_t *call, uint32_t input,
                                        const void **out_data) {
    *out_data = call->host_value(call->caller, input);
    if (*out_data) return GANTRY_OK;
    return gantry__fail_prefix(GANTRY_UNKNOWN, "input %u (%s) cannot be read: ", (unsigned)input,
                               input_name(call, input));
}

gantry_status_t gantry__infer_ints(gantry__infer_t *call, uint32_t input,
                                   gantry__host_ints_t *out_ints) {
    const void *data = NULL;
    int64_t count = gantry_shape_elements(call->shapes[input]);
    if (count != 0) GANTRY__TRY(gantry__infer_host_data(call, input, &data));
    *out_ints = (gantry__host_ints_t){.data = data, .dtype = call->dtypes[input], .count = count};
    return GANTRY_OK;
}

static gantry_status_t check_single(const gantry__infer_t *call, uint32_t input) {
    if (gantry__sizes_fit(gantry_shape_elements(call->shapes[input]), 1)) return GANTRY_OK;
    return gantry__refuse("input %u (%s) must be a tensor with a single value, got shape %s",
                          (unsigned)input, input_name(call, input),
                          gantry__shape_text(call->shapes[input]).text);
}

gantry_status_t gantry__infer_int(gantry__infer_t *call, uint32_t input, int64_t *out_value) {
    gantry__host_ints_t ints;
    GANTRY__TRY(check_single(call, input));
    GANTRY__TRY(gantry__infer_ints(call, input, &ints));
    *out_value = gantry__host_int(&ints, 0);
    return GANTRY_OK;
}

gantry_status_t gantry__infer_int_or_open(gantry__infer_t *call, uint32_t input, int64_t *out_value,
                                          bool *out_is_open) {
    *out_value = 0;
    *out_is_open = gantry__infer_is_open(call, input);
    return *out_is_open ? check_single(call, input) : gantry__infer_int(call, input, out_value);
}

gantry_status_t gantry__infer_reach(const gantry__infer_t *call, const char *attr, int64_t last) {
    const gantry_dtype_t dtype = (gantry_dtype_t)gantry__infer_attr(call, attr)->i;
    const uint64_t reach = gantry__type_greatest((int32_t)dtype);
    if (last <= 0 || (uint64_t)last <= reach) return GANTRY_OK;
    return gantry__refuse(
        "attribute '%s' is %s, which holds numbers up to %llu, and %lld is possible; a larger type is accepted",
        attr, gantry_dtype_name(dtype), (unsigned long long)reach, (long long)last);
}

gantry_status_t gantry__infer_rank_fits(int64_t rank) {
    if (rank <= GANTRY_MAX_RANK) return GANTRY_OK;
    return gantry__refuse("the result would have %lld dimensions; tensors have at most %d",
                          (long long)rank, GANTRY_MAX_RANK);
}

gantry_status_t gantry__infer_dims(gantry__infer_t *call, uint32_t input, bool scalar_too,
                                   gantry_shape_t *out_shape) {
    const gantry_shape_t *given = call->shapes[input];
    const char *name = input_name(call, input);
    if (given->rank != 1 && !(scalar_too && given->rank == 0)) {
        return gantry__refuse("%s must be a vector of {int32,int64}, got shape %s", name,
                              gantry__shape_text(given).text);
    }
    const int64_t count = gantry_shape_elements(given);
    GANTRY__TRY(gantry__infer_rank_fits(count));
    gantry__host_ints_t ints = {.data = NULL};
    if (!gantry__infer_is_open(call, input))
        GANTRY__TRY(gantry__infer_ints(call, input, &ints));
    else if (count < 0)
        return gantry__fail_open_rank(call, input);
    *out_shape = gantry__shape_open((int32_t)count);
    for (int32_t i = 0; i < out_shape->rank; ++i) {
        int64_t size;
        if (!gantry__infer_number(call, input, &ints, i, &size)) continue;
        out_shape->dims[i] = size;
        if (size >= 0) continue;
        return gantry__refuse("Dimension %lld must be >= 0 (%s[%d])", (long long)out_shape->dims[i],
                              name, (int)i);
    }
    return GANTRY_OK;
}

static GANTRY__COLD gantry_status_t fail_choice(const char *name, const char *value,
                                                const char *const *words, size_t count) {
    gantry__short_text_t all = {""};
    size_t used = 0;
    for (size_t i = 0; i < count && used < sizeof all.text; ++i) {
        used += (size_t)snprintf(all.text + used, sizeof all.text - used, "%s\"%s\"", i ? ", " : "",
                                 words[i]);
    }
    return gantry__refuse("Value for attr '%s' of \"%s\" is not in the list of allowed values: %s",
                          name, value, all.text);
}

gantry_status_t gantry__infer_choice(const gantry__infer_t *call, const char *name,
                                     const char *const *words, size_t count, size_t *out_place) {
    const char *value = gantry__infer_attr(call, name)->s;
    for (size_t i = 0; i < count; ++i) {
        if (value != words[i] && strcmp(value, words[i]) != 0) continue; /* most are the default */
        *out_place = i;
        return GANTRY_OK;
    }
    return fail_choice(name, value, words, count);
}

const gantry_attr_t *gantry__infer_attr(const gantry__infer_t *call, const char *name) {
    const gantry__op_attr_t *def = call->op->attrs;
    for (uint32_t i = 0; i < call->op->attr_count; ++i, ++def) {
        if (gantry__attr_is(def, name)) return &call->attrs[i];
    }
    return NULL;
}
