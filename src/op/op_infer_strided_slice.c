/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of StridedSlice and its gradient.
 *
 * begin, end and strides have one entry per part of the slice's text. A bit of a mask gives the
 * meaning of an entry, the first of these that is set:
 *
 *     ellipsis_mask     as many whole dimensions as no other entry takes; one at the end when there
 *                       is none
 *     new_axis_mask     a dimension of 1
 *     shrink_axis_mask  one index, whose dimension goes
 *     otherwise         begin : end : stride; a bit of begin_mask or end_mask means that this end
 *                       is not given
 *
 * Indices below 0 count from the end of the dimension, and are then clipped to it. A range is open
 * if its dimension, or a number that it uses, is not known. Source: TensorFlow's definition. */
#include <inttypes.h>

#include "op/op_infer.h"

#define MOST_ENTRIES 31 /* TensorFlow's masks have 32 bits */

typedef struct spec_t {
    gantry__infer_t *call;
    gantry__host_ints_t numbers[4]; /* by input */
    uint32_t begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
    int32_t entries;
    int32_t covered; /* dimensions that the ellipsis covers */
} spec_t;

static gantry_status_t read_mask(const gantry__infer_t *call, const char *name,
                                 uint32_t *out_mask) {
    const int64_t value = gantry__infer_attr(call, name)->i;
    if (value < INT32_MIN || value > INT32_MAX) {
        return gantry__refuse("Attr %s has value %" PRId64 " out of range for an int32", name,
                              value);
    }
    *out_mask = (uint32_t)value;
    return GANTRY_OK;
}

static bool has_bit(uint32_t mask, int32_t entry) { return mask >> entry & 1; }

static gantry_status_t count_covered(const gantry_shape_t *input, spec_t *spec) {
    const uint32_t mask = spec->ellipsis_mask & ((UINT32_C(1) << spec->entries) - 1);
    int32_t taken = 0;
    if (spec->ellipsis_mask & (spec->ellipsis_mask - 1)) {
        return gantry__refuse("Multiple ellipses in slice spec not allowed");
    }
    for (int32_t i = 0; i < spec->entries; ++i) {
        taken += !has_bit(mask, i) && !has_bit(spec->new_axis_mask, i);
    }
    spec->ellipsis_mask = mask;
    spec->covered = input->rank > taken ? input->rank - taken : 0;
    return GANTRY_OK;
}

enum { BEGIN = 1, END = 2, STRIDES = 3 }; /* inputs */

/* Reads a number of the specification; false: it is not known. */
static bool number_of(const spec_t *spec, uint32_t input, int32_t entry, int64_t *out) {
    return gantry__infer_number(spec->call, input, &spec->numbers[input], entry, out);
}

static gantry_status_t read_spec(gantry__infer_t *call, const gantry_shape_t *input, spec_t *out) {
    const gantry_shape_t *begin = call->shapes[1], *end = call->shapes[2],
                         *strides = call->shapes[3];
    gantry_shape_t all = *begin;
    if (begin->rank != 1 || !gantry__merge_shapes(&all, end) ||
        !gantry__merge_shapes(&all, strides) || all.dims[0] > MOST_ENTRIES) {
        return gantry__refuse(
            "Expected begin, end, and strides to be 1D equal size tensors of at most %d entries, but got shapes %s, %s, and %s instead.",
            MOST_ENTRIES, gantry__shape_text(begin).text, gantry__shape_text(end).text,
            gantry__shape_text(strides).text);
    }
    GANTRY__TRY(read_mask(call, "begin_mask", &out->begin_mask));
    GANTRY__TRY(read_mask(call, "end_mask", &out->end_mask));
    GANTRY__TRY(read_mask(call, "ellipsis_mask", &out->ellipsis_mask));
    GANTRY__TRY(read_mask(call, "new_axis_mask", &out->new_axis_mask));
    GANTRY__TRY(read_mask(call, "shrink_axis_mask", &out->shrink_axis_mask));
    out->call = call;
    for (uint32_t i = BEGIN; i <= STRIDES; ++i) {
        if (!gantry__infer_is_open(call, i))
            GANTRY__TRY(gantry__infer_ints(call, i, &out->numbers[i]));
    }
    if (all.dims[0] < 0) return gantry__fail_open_rank(call, 1);
    out->entries = (int32_t)all.dims[0];
    return count_covered(input, out);
}

static gantry_status_t infer_strided_slice_check_index(const spec_t *spec, int32_t entry,
                                                       int32_t axis, int64_t size) {
    int64_t stride, given;
    if (number_of(spec, STRIDES, entry, &stride) && stride <= 0) {
        return gantry__refuse("only stride 1 allowed on non-range indexing.");
    }
    if (size < 0 || !number_of(spec, BEGIN, entry, &given)) return GANTRY_OK;
    const int64_t index = given < 0 ? given + size : given;
    if (index < 0 || index >= size) {
        return gantry__refuse("slice index %" PRId64 " of dimension %d out of bounds.", index,
                              (int)axis);
    }
    return GANTRY_OK;
}

/* An end of the range: open, or an index in [least, most]. */
static int64_t place_of(int64_t index, bool is_open, int64_t open, int64_t size, int64_t least,
                        int64_t most) {
    if (is_open) return open;
    index += index < 0 ? size : 0;
    return index < least ? least : index > most ? most : index;
}

/* The number, or 0 where an open end ignores it. False: it is needed and not known. */
static bool end_of(const spec_t *spec, uint32_t input, uint32_t mask, int32_t entry, int64_t *out) {
    *out = 0;
    return number_of(spec, input, entry, out) || has_bit(mask, entry);
}

static gantry__range_t read_range(const spec_t *spec, int32_t entry, int64_t size) {
    int64_t stride, from, to;
    if (size < 0 || !number_of(spec, STRIDES, entry, &stride) ||
        !end_of(spec, BEGIN, spec->begin_mask, entry, &from) ||
        !end_of(spec, END, spec->end_mask, entry, &to))
        return (gantry__range_t){-1, -1, 1};
    const int64_t least = stride > 0 ? 0 : -1, most = stride > 0 ? size : size - 1;
    const int64_t first = stride > 0 ? least : most, last = stride > 0 ? most : least;
    const int64_t begin =
        place_of(from, has_bit(spec->begin_mask, entry), first, size, least, most);
    const int64_t end = place_of(to, has_bit(spec->end_mask, entry), last, size, least, most);
    const int64_t length = end - begin;
    if (length == 0 || (length < 0) != (stride < 0)) return (gantry__range_t){begin, 0, stride};
    /* A stride of 0 is refused before. NOLINTNEXTLINE(clang-analyzer-core.DivideZero) */
    return (gantry__range_t){begin, length / stride + (length % stride != 0), stride};
}

/* Reads one index, which was checked before. */
static gantry__range_t infer_strided_slice_read_index(const spec_t *spec, int32_t entry,
                                                      int64_t size) {
    int64_t given;
    if (size < 0 || !number_of(spec, BEGIN, entry, &given)) return (gantry__range_t){-1, 1, 1};
    return (gantry__range_t){given < 0 ? given + size : given, 1, 1};
}

static gantry_status_t check_entry(const gantry_shape_t *input, const spec_t *spec, int32_t entry,
                                   int32_t axis) {
    if (input->rank == 0) return gantry__refuse("Attempting to slice scalar input.");
    if (axis >= input->rank) {
        return gantry__refuse("Index out of range using input dim %d; input has only %d dims",
                              (int)axis, (int)input->rank);
    }
    int64_t stride;
    if (number_of(spec, STRIDES, entry, &stride) && stride == 0) {
        return gantry__refuse("strides[%d] must be non-zero", (int)entry);
    }
    if (has_bit(spec->shrink_axis_mask, entry))
        return infer_strided_slice_check_index(spec, entry, axis, input->dims[axis]);
    return GANTRY_OK;
}

static gantry_status_t infer_strided_slice_append(gantry_shape_t *shape, int64_t size) {
    GANTRY__TRY(gantry__infer_rank_fits((int64_t)shape->rank + 1));
    shape->dims[shape->rank++] = size;
    return GANTRY_OK;
}

typedef struct walk_t {
    const gantry_shape_t *input;
    gantry__range_t *ranges;
    gantry_shape_t *out;
    int32_t axis; /* of the input, next */
} walk_t;

static gantry_status_t take_whole(walk_t *walk) {
    const int64_t size = walk->input->dims[walk->axis];
    walk->ranges[walk->axis++] = (gantry__range_t){0, size, 1};
    return infer_strided_slice_append(walk->out, size);
}

static gantry_status_t take_entry(walk_t *walk, const spec_t *spec, int32_t entry) {
    GANTRY__TRY(check_entry(walk->input, spec, entry, walk->axis));
    const bool shrinks = has_bit(spec->shrink_axis_mask, entry);
    const int64_t size = walk->input->dims[walk->axis];
    gantry__range_t *range = &walk->ranges[walk->axis++];
    *range =
        shrinks ? infer_strided_slice_read_index(spec, entry, size) : read_range(spec, entry, size);
    return shrinks ? GANTRY_OK : infer_strided_slice_append(walk->out, range->count);
}

gantry_status_t gantry__slice_ranges(gantry__infer_t *call, const gantry_shape_t *input,
                                     gantry__range_t out_ranges[GANTRY_MAX_RANK],
                                     gantry_shape_t *out_shape) {
    walk_t walk = {.input = input, .ranges = out_ranges, .out = out_shape};
    spec_t spec = {0};
    GANTRY__TRY(read_spec(call, input, &spec));
    out_shape->rank = 0;
    for (int32_t i = 0; i < spec.entries; ++i) {
        if (has_bit(spec.ellipsis_mask, i)) {
            for (int32_t k = 0; k < spec.covered; ++k) GANTRY__TRY(take_whole(&walk));
        } else if (has_bit(spec.new_axis_mask, i)) {
            GANTRY__TRY(infer_strided_slice_append(out_shape, 1));
        } else {
            GANTRY__TRY(take_entry(&walk, &spec, i));
        }
    }
    while (walk.axis < input->rank) GANTRY__TRY(take_whole(&walk));
    return GANTRY_OK;
}

gantry_status_t gantry__infer_strided_slice(gantry__infer_t *call) {
    const gantry_shape_t *input = call->shapes[0];
    gantry__range_t ranges[GANTRY_MAX_RANK];
    gantry__piece_t piece = {.first = 0};
    GANTRY__TRY(gantry__slice_ranges(call, input, ranges, &call->out_shapes[0]));
    for (int32_t d = 0; d < input->rank; ++d) {
        piece.is_apart |=
            (ranges[d].begin < 0 && ranges[d].count != 0) || (d > 0 && input->dims[d] < 0);
        gantry__piece_extend(&piece, input->dims[d], ranges[d].begin, ranges[d].count,
                             ranges[d].stride);
    }
    if (!piece.is_apart) call->piece_first = (int64_t)piece.first;
    return GANTRY_OK;
}

gantry_status_t gantry__infer_strided_slice_grad(gantry__infer_t *call) {
    gantry_shape_t *whole = &call->out_shapes[0], slice;
    gantry__range_t ranges[GANTRY_MAX_RANK];
    GANTRY__TRY(gantry__infer_dims(call, 0, false, whole));
    GANTRY__TRY(gantry__slice_ranges(call, whole, ranges, &slice));
    if (gantry__shapes_fit(&slice, call->shapes[4])) return GANTRY_OK;
    return gantry__refuse("shape of dy was %s instead of %s",
                          gantry__shape_text(call->shapes[4]).text,
                          gantry__shape_text(&slice).text);
}
