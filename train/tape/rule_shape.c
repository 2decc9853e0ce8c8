/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of ops that move whole tensors: shapes, orders, blocks, repetition, casts. */
#include <string.h>

#include "train/base/inner_scope.h"
#include "train/tape/rule_help.h"

typedef const gantry_tensor_t tensor;

/* ---- the same elements ---- */

static void rule_identity(gantry__rule_call_t *c) { c->dx[0] = c->dy[0]; }

static void rule_reshape(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_reshape_like(c, c->dy[0], c->x[0]);
}

static void rule_cast(gantry__rule_call_t *c) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(c->x[0]);
    if (gantry__train_is_float(dtype) && gantry__train_is_float(gantry_tensor_dtype(c->dy[0])))
        c->dx[0] = gantry_cast(c->scope, c->dy[0], dtype);
}

/* ---- another order ---- */

static void rule_transpose(gantry__rule_call_t *c) {
    int64_t perm[GANTRY_MAX_RANK];
    int32_t inverse[GANTRY_MAX_RANK];
    size_t count;
    if (!gantry__rule_knows_ints(c, 1, perm, GANTRY_MAX_RANK, &count)) {
        c->dx[0] = gantry__rule_op2(c, "Transpose", c->dy[0],
                                    gantry_invert_permutation(c->scope, c->x[1]));
        return;
    }
    for (size_t i = 0; i < count; ++i)
        inverse[perm[i] < 0 ? perm[i] + (int64_t)count : perm[i]] = (int32_t)i;
    c->dx[0] = gantry_transpose(c->scope, c->dy[0], inverse);
}

static void rule_reverse(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_op2(c, "Reverse", c->dy[0], c->x[1]);
}

/* Back by the same shifts. */
static void rule_roll(gantry__rule_call_t *c) {
    tensor *inputs[] = {c->dy[0], gantry_neg(c->scope, c->x[1]), c->x[2], NULL};
    c->dx[0] = gantry__rule_again(c, "Roll", inputs, NULL, 0);
}

/* ---- blocks: each op's gradient is the opposite op ---- */

static const char *const block_attrs[] = {"block_size", "data_format"};

static void rule_space_to_depth(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_again(c, "DepthToSpace", (tensor *[4]){c->dy[0]}, block_attrs,
                                  GANTRY__RULE_COUNT(block_attrs));
}

static void rule_depth_to_space(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_again(c, "SpaceToDepth", (tensor *[4]){c->dy[0]}, block_attrs,
                                  GANTRY__RULE_COUNT(block_attrs));
}

static void rule_space_to_batch(gantry__rule_call_t *c) {
    tensor *inputs[] = {c->dy[0], c->x[1], c->x[2], NULL};
    c->dx[0] = gantry__rule_again(c, "BatchToSpaceND", inputs, NULL, 0);
}

static void rule_batch_to_space(gantry__rule_call_t *c) {
    tensor *inputs[] = {c->dy[0], c->x[1], c->x[2], NULL};
    c->dx[0] = gantry__rule_again(c, "SpaceToBatchND", inputs, NULL, 0);
}

/* ---- windows of images ---- */

static const char *const patch_attrs[] = {"ksizes", "strides", "rates", "padding",
                                          "explicit_paddings"};

static void rule_extract_patches(gantry__rule_call_t *c) {
    static const int32_t last[] = {0, 2, 3, 1}, first[] = {0, 3, 1, 2};
    const bool is_first = strcmp(gantry__rule_attr(c, "input_format")->s, "NCHW") == 0;
    tensor *images = is_first ? gantry_transpose(c->scope, c->x[0], last) : c->x[0];
    tensor *inputs[] = {c->dy[0], gantry_shape(c->scope, images, GANTRY_INT64), NULL, NULL};
    c->dx[0] = gantry__rule_again(c, "FoldImagePatches", inputs, patch_attrs,
                                  GANTRY__RULE_COUNT(patch_attrs));
    if (is_first) c->dx[0] = gantry_transpose(c->scope, c->dx[0], first);
}

static void rule_fold_patches(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_again(c, "ExtractImagePatches", (tensor *[4]){c->dy[0]}, patch_attrs,
                                  GANTRY__RULE_COUNT(patch_attrs));
}

/* ---- repetition ---- */

static void rule_broadcast_to(gantry__rule_call_t *c) {
    c->dx[0] = gantry__rule_open_sizes(c->x[0]) > 0 ? gantry__rule_sum_open(c, c->dy[0], c->x[0])
                                                    : gantry__rule_sum_to(c, c->dy[0], c->x[0]);
}

static void rule_fill(gantry__rule_call_t *c) {
    if (c->wants[1]) c->dx[1] = gantry_sum(c->scope, c->dy[0], NULL);
}

/* Sums one dimension of sum, from which each later one is repeated once, over its repetitions. */
static tensor *sum_repetitions(const gantry__rule_call_t *c, tensor *sum, int32_t axis,
                               gantry__rule_size_t multiple) {
    tensor *x = c->x[0];
    const int32_t rank = gantry_tensor_shape(x)->rank, repeated = 1;
    const gantry__rule_size_t size = gantry__rule_sizes(c, x, axis, axis + 1);
    const gantry__rule_size_t apart[] = {gantry__rule_sizes(c, sum, 0, axis), multiple, size,
                                         gantry__rule_sizes(c, x, axis + 1, rank)};
    gantry__rule_size_t next[GANTRY_MAX_RANK];
    for (int32_t d = 0; d < rank; ++d)
        next[d] = d == axis ? size : gantry__rule_sizes(c, sum, d, d + 1);
    tensor *parts = gantry__rule_reshape_by(c, sum, apart, 4);
    tensor *less =
        gantry_sum(c->scope, parts, &(gantry_reduce_options_t){.axes = &repeated, .axis_count = 1});
    return less ? gantry__rule_reshape_by(c, less, next, rank) : NULL;
}

/* A number of a vector. */
static gantry__rule_size_t rule_shape_number_at(const gantry__rule_call_t *c, tensor *vector,
                                                int32_t at) {
    gantry_scope_t *s = c->scope;
    tensor *one = gantry_slice(s, vector, (int64_t[]){at}, (int64_t[]){1});
    tensor *wide = gantry__train_cast(s, one, GANTRY_INT64);
    return (gantry__rule_size_t){-1, gantry_reshape(s, wide, GANTRY_SCALAR)};
}

static void rule_tile(gantry__rule_call_t *c) {
    int64_t multiples[GANTRY_MAX_RANK];
    size_t count;
    const bool is_known = gantry__rule_knows_ints(c, 1, multiples, GANTRY_MAX_RANK, &count);
    tensor *sum = c->dy[0];
    for (int32_t d = gantry_tensor_shape(c->x[0])->rank; d-- > 0 && sum;) {
        if (!is_known)
            sum = sum_repetitions(c, sum, d, rule_shape_number_at(c, c->x[1], d));
        else if (multiples[d] != 1)
            sum = sum_repetitions(c, sum, d, (gantry__rule_size_t){.known = multiples[d]});
    }
    c->dx[0] = sum;
}

/* ---- parts of matrices ---- */

static const char *const align_attr[] = {"align"};

/* MatrixDiagPart of dy, by the diagonals that an input names. */
static tensor *diagonals_of(gantry__rule_call_t *c, size_t k) {
    tensor *inputs[] = {c->dy[0], c->record->input_count > k ? c->x[k] : NULL, NULL, NULL};
    return gantry__rule_again(c, "MatrixDiagPart", inputs, align_attr, 1);
}

static tensor *set_diagonals(gantry__rule_call_t *c, tensor *matrices, tensor *diagonals,
                             size_t k) {
    tensor *inputs[] = {matrices, diagonals, c->record->input_count > k ? c->x[k] : NULL, NULL};
    return matrices && diagonals ? gantry__rule_again(c, "MatrixSetDiag", inputs, align_attr, 1)
                                 : NULL;
}

static void rule_band_part(gantry__rule_call_t *c) {
    tensor *inputs[] = {c->dy[0], c->x[1], c->x[2], NULL};
    c->dx[0] = gantry__rule_again(c, "MatrixBandPart", inputs, NULL, 0);
}

static void rule_diag(gantry__rule_call_t *c) { c->dx[0] = diagonals_of(c, 1); }

static void rule_diag_part(gantry__rule_call_t *c) {
    c->dx[0] = set_diagonals(c, gantry_zeros_like(c->scope, c->x[0]), c->dy[0], 1);
}

/* Where two numbers, which are not known, say which diagonals: the same diagonals of positions say
 * where each element of dy comes from; -1 is no place. */
static tensor *put_back_diagonals(gantry__rule_call_t *c) {
    gantry_scope_t *s = c->scope;
    tensor *none = gantry__rule_broadcast_like(c, gantry_scalar_i64(s, -1), c->x[0]);
    tensor *places = gantry_range(s, gantry_scalar_i64(s, 0), gantry_size(s, c->x[1], GANTRY_INT64),
                                  gantry_scalar_i64(s, 1));
    places = set_diagonals(c, none, gantry__rule_reshape_like(c, places, c->x[1]), 2);
    return gantry__rule_put_back(c, c->dy[0], places, c->x[1]);
}

static void rule_set_diag(gantry__rule_call_t *c) {
    int64_t k[2];
    size_t count;
    if (c->wants[0]) c->dx[0] = set_diagonals(c, c->dy[0], gantry_zeros_like(c->scope, c->x[1]), 2);
    if (!c->wants[1]) return;
    const bool is_known = c->record->input_count == 2 || gantry_tensor_elements(c->x[2]) == 1 ||
                          gantry__rule_knows_ints(c, 2, k, 2, &count);
    c->dx[1] = is_known ? diagonals_of(c, 2) : put_back_diagonals(c);
}

const gantry__rule_t gantry__rules_shape[] = {{"BatchToSpaceND", rule_batch_to_space},
                                              {"BroadcastTo", rule_broadcast_to},
                                              {"Cast", rule_cast},
                                              {"DepthToSpace", rule_depth_to_space},
                                              {"ExpandDims", rule_reshape},
                                              {"ExtractImagePatches", rule_extract_patches},
                                              {"Fill", rule_fill},
                                              {"FoldImagePatches", rule_fold_patches},
                                              {"Identity", rule_identity},
                                              {"MatrixBandPart", rule_band_part},
                                              {"MatrixDiag", rule_diag},
                                              {"MatrixDiagPart", rule_diag_part},
                                              {"MatrixSetDiag", rule_set_diag},
                                              {"Reshape", rule_reshape},
                                              {"Reverse", rule_reverse},
                                              {"Roll", rule_roll},
                                              {"SpaceToBatchND", rule_space_to_batch},
                                              {"SpaceToDepth", rule_space_to_depth},
                                              {"Squeeze", rule_reshape},
                                              {"Tile", rule_tile},
                                              {"Transpose", rule_transpose},
                                              {NULL, NULL}};
