/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by gantry__op_infer and the shape functions of the op families: host arguments, texts for
 * messages.
 *
 * For src/op, and for the functions of composed ops in src/compose. A shape function sets
 * call->out_shapes from call->shapes, attrs and host arguments, or returns InvalidArgument.
 * gantry__op_infer puts the op's name in front of the message, and checks that a result's size
 * fits. Owns nothing, uses no heap. Thread-safe.
 *
 * One function serves calls and traces. In a trace a size of -1 is open, and the numbers of a host
 * argument may not be known. A shape function then sets a size only if it holds for every call that
 * succeeds, and -1 otherwise:
 *
 *     sizes that must be equal    one of them may be open: gantry__merge_sizes, gantry__shapes_fit
 *     arithmetic on sizes         the result is open if a size is
 *     numbers of a host argument  gantry__infer_is_open must come first, because reading fails then
 *     the rank of a result        gantry__fail_open_rank if it depends on data */
#ifndef GANTRY_OP_OP_INFER_H
#define GANTRY_OP_OP_INFER_H

#include <string.h>

#include "op/op_def.h"

/* ---- texts ---- */

/* The text of a shape or list by value, so that a call can be an argument of gantry__fail. */
typedef struct gantry__short_text_t {
    char text[192];
} gantry__short_text_t;

gantry__short_text_t gantry__shape_text(const gantry_shape_t *shape);
/* Writes the types in mask: "float32, int32". */
gantry__short_text_t gantry__type_mask_text(uint64_t mask);

/* ---- open sizes ---- */

/* A shape with open sizes. */
gantry_shape_t gantry__shape_open(int32_t rank);
/* Merges two sizes that must be equal: false if they cannot be. An open *size becomes the other
 * one. */
static inline bool gantry__merge_sizes(int64_t *size, int64_t with) {
    if (*size == with || with < 0) return true;
    if (*size >= 0) return false;
    *size = with;
    return true;
}
static inline bool gantry__sizes_fit(int64_t size, int64_t with) {
    return size == with || size < 0 || with < 0;
}
/* Merges all sizes of two shapes; *shape is undefined if they do not fit. */
bool gantry__merge_shapes(gantry_shape_t *shape, const gantry_shape_t *with);
bool gantry__shapes_fit(const gantry_shape_t *shape, const gantry_shape_t *with);
/* The sum of two sizes, and a size divided by a number; open if a size is. */
static inline int64_t gantry__size_add(int64_t size, int64_t with) {
    return size < 0 || with < 0 ? -1 : size + with;
}
static inline int64_t gantry__size_divide(int64_t size, int64_t by) {
    return size < 0 ? -1 : size / by;
}
/* Fails with Unimplemented: the rank of a result, or how many there are, depends on the sizes or
 * the elements of an input. */
gantry_status_t gantry__fail_open_rank(const gantry__infer_t *call, uint32_t input);

/* ---- pieces of a tensor ---- */

/* A box of a tensor, built dimension by dimension from the outermost; all 0 at first. */
typedef struct gantry__piece_t {
    uint64_t first; /* position of its first element; meaningless for an empty box */
    bool has_rows;  /* more than one element so far */
    bool is_apart;  /* its elements are not contiguous */
} gantry__piece_t;

/* The elements that a slice has of one dimension: count of them, from begin on, each `stride` after
 * the one before. */
typedef struct gantry__range_t {
    int64_t begin, count, stride;
} gantry__range_t;

/* A slice of a tensor of `input`'s shape, from inputs 1 to 3 of the call (begin, end, strides) and
 * its masks: a range for each dimension of the tensor, and the slice's shape. */
gantry_status_t gantry__slice_ranges(gantry__infer_t *call, const gantry_shape_t *input,
                                     gantry__range_t out_ranges[GANTRY_MAX_RANK],
                                     gantry_shape_t *out_shape);

/* Adds a dimension of `size`, of which the piece has `count` elements from begin on, each `stride`
 * after the one before. */
void gantry__piece_extend(gantry__piece_t *piece, int64_t size, int64_t begin, int64_t count,
                          int64_t stride);

/* ---- host arguments ---- */

/* The numbers of an int16, int32 or int64 host argument. data is NULL only if count is 0. */
typedef struct gantry__host_ints_t {
    const void *data;
    gantry_dtype_t dtype;
    int64_t count;
} gantry__host_ints_t;

static inline int64_t gantry__host_int(const gantry__host_ints_t *ints, int64_t index) {
    if (ints->dtype == GANTRY_INT32) {
        int32_t value;
        memcpy(&value, (const char *)ints->data + (size_t)index * sizeof value, sizeof value);
        return value;
    }
    if (ints->dtype == GANTRY_INT16) {
        int16_t value;
        memcpy(&value, (const char *)ints->data + (size_t)index * sizeof value, sizeof value);
        return value;
    }
    int64_t value;
    memcpy(&value, (const char *)ints->data + (size_t)index * sizeof value, sizeof value);
    return value;
}

/* A number of a host argument; false: it is not known, and *out may have changed. ints: all of
 * them, if they are known. */
static inline bool gantry__infer_number(const gantry__infer_t *call, uint32_t input,
                                        const gantry__host_ints_t *ints, int64_t index,
                                        int64_t *out) {
    if (call->symbolic >> input & 1)
        return call->known_number && call->known_number(call->caller, input, index, out);
    *out = gantry__host_int(ints, index);
    return true;
}
/* Whether the numbers of a host argument are not known, because it is symbolic in a trace; then the
 * op is inferred again in each call. False for an argument without elements. */
bool gantry__infer_is_open(gantry__infer_t *call, uint32_t input);
/* The bytes of an input of any type; Unknown if the caller could not read them (its message stays,
 * with the argument's name in front). */
gantry_status_t gantry__infer_host_data(gantry__infer_t *call, uint32_t input,
                                        const void **out_data);
gantry_status_t gantry__infer_ints(gantry__infer_t *call, uint32_t input,
                                   gantry__host_ints_t *out_ints);
/* The only number of an input of one element. */
gantry_status_t gantry__infer_int(gantry__infer_t *call, uint32_t input, int64_t *out_value);
/* The same; *out_is_open says that the number is not known, and then *out_value is 0. */
gantry_status_t gantry__infer_int_or_open(gantry__infer_t *call, uint32_t input, int64_t *out_value,
                                          bool *out_is_open);
/* Sizes of dimensions: a vector of at most 8 numbers >= 0, or open sizes. With scalar_too, a scalar
 * counts as a vector of one. */
gantry_status_t gantry__infer_dims(gantry__infer_t *call, uint32_t input, bool scalar_too,
                                   gantry_shape_t *out_shape);

/* ---- attributes and shapes ---- */

/* The call's attribute of that name; NULL if the op has none. */
const gantry_attr_t *gantry__infer_attr(const gantry__infer_t *call, const char *name);
/* Broadcasts by NumPy's rules; false if a and b do not fit. *out may be a or b. An open size
 * becomes the other size, unless that is 1. */
bool gantry__broadcast_shapes(const gantry_shape_t *a, const gantry_shape_t *b,
                              gantry_shape_t *out);
/* Whether the attribute has this name. Two letters differ between most names of an op. */
static inline bool gantry__attr_is(const gantry__op_attr_t *def, const char *name) {
    return def->name[0] == name[0] && def->name[1] == name[1] && strcmp(def->name, name) == 0;
}
/* InvalidArgument unless the string attribute is one of `count` words; *out_place is its index. */
gantry_status_t gantry__infer_choice(const gantry__infer_t *call, const char *name,
                                     const char *const *words, size_t count, size_t *out_place);
/* InvalidArgument unless the types of inputs 0 and 1, and of the result, are those of a product of
 * small integers. */
gantry_status_t gantry__infer_small_types(const gantry__infer_t *call);
/* InvalidArgument unless the zero point `input`, which may be left out, is a scalar, a vector of
 * `lines` elements or a tensor of the shape `each`; NULL: no such tensor. */
gantry_status_t gantry__infer_zero_point(const gantry__infer_t *call, uint32_t input, int64_t lines,
                                         const gantry_shape_t *each);
/* InvalidArgument unless the integers of the type attribute reach `last`: positions never wrap
 * around. */
gantry_status_t gantry__infer_reach(const gantry__infer_t *call, const char *attr, int64_t last);
/* InvalidArgument if rank is more than a shape can hold. */
gantry_status_t gantry__infer_rank_fits(int64_t rank);

/* ---- shape functions ---- */

/* Of each op: reads the call's types, attributes and shapes of inputs, and sets those of its
 * outputs. */
#define OP(name, summary, flags, infer, inputs, outputs, attrs) \
    gantry_status_t infer(gantry__infer_t *call);
#include "op/op_definitions.def"
#undef OP

/* the shape that BroadcastArgs returns */
gantry_status_t gantry__broadcast_args(gantry__infer_t *call, gantry_shape_t *out_both);
/* the two lists of axes that BroadcastGradientArgs returns, as shapes */
gantry_status_t gantry__broadcast_gradient_args(gantry__infer_t *call, gantry_shape_t out_axes[2]);
/* A row of LayerNormRows is one chunk of the tree of sums. */
enum { GANTRY__LAYER_NORM_ROWS_MOST = 4096 };
/* The most elements of a head of ScaledDotProductAttention: the kernels hold blocks of heads. */
enum { GANTRY__ATTENTION_DIM_MOST = 1024 };
/* The most parts of DepthwiseFilterParts. */
enum { GANTRY__DEPTHWISE_PARTS_MOST = 128 };

#endif
