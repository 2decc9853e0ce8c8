/* SPDX-License-Identifier: Apache-2.0 */
/* Einsum: labels are sorted into four kinds, and the whole op becomes one matrix product.
 *
 *     "bij,bjk->bik"     batch        b      both inputs, output
 *                        contracted   j      both inputs only
 *                        free         i, k   one input, output
 *                        summed              one input only
 *
 *     each input     a label twice: its diagonal.   a label nowhere else: summed away.
 *     left, right    [batch, free, contracted] x [batch, contracted, free], where a plain reshape
 *                    will do without a transpose
 *     product        MatMul or BatchMatMul; nothing contracted: Mul, broadcasting
 *     output         [batch, left free, right free], transposed to the requested order; a label
 *                    twice: put on the diagonal, with zeros elsewhere
 *
 * Dimensions under an ellipsis are batch dimensions; if one input lacks them or has size 1,
 * BatchMatMul broadcasts. Where they are too many for its operands, those that broadcast alike are
 * merged. */
#include <string.h>

#include <gantry/ops.h>

#include "op/einsum.h"
#include "op/op_infer.h"
#include "compose/compose.h"

typedef gantry__labels_t labels_t;

typedef struct operand_t {
    const gantry_tensor_t *tensor; /* NULL after a failure; labels and sizes stay valid */
    labels_t labels;
    gantry_shape_t shape;
} operand_t;

/* Reshapes a tensor. In a trace, where sizes depend on data, a Reshape finds one of them. */
static const gantry_tensor_t *compose_einsum_reshape(gantry_scope_t *scope,
                                                     const gantry_tensor_t *x,
                                                     const gantry_shape_t *shape) {
    if (gantry__takes_reshape(shape)) return gantry_reshape(scope, x, *shape);
    if (!x || gantry_shape_equal(gantry_tensor_shape(x), shape)) return x;
    (void)gantry__fail(
        GANTRY_UNIMPLEMENTED,
        "a shape of several sizes that depend on data, or of one and a size of 0; one such size is accepted");
    (void)gantry__scope_fail(scope, GANTRY_UNIMPLEMENTED);
    return NULL;
}

static void set_shape(gantry_scope_t *scope, operand_t *x, gantry_shape_t shape) {
    if (!gantry_shape_equal(&x->shape, &shape))
        x->tensor = compose_einsum_reshape(scope, x->tensor, &shape);
    x->shape = shape;
}

static bool is_order(const labels_t *labels, const labels_t *wanted) {
    return memcmp(labels->at, wanted->at, (size_t)wanted->count) == 0;
}

/* Transposes the operand's dimensions into this order of the same labels. */
static void compose_einsum_turn(gantry_scope_t *scope, operand_t *x, const labels_t *wanted) {
    int32_t perm[GANTRY_MAX_RANK];
    if (is_order(&x->labels, wanted)) return;
    gantry_shape_t shape = x->shape;
    for (int32_t i = 0; i < wanted->count; ++i) {
        int32_t from = 0;
        while (x->labels.at[from] != wanted->at[i]) ++from;
        perm[i] = from;
        shape.dims[i] = x->shape.dims[from];
    }
    x->tensor = gantry_transpose(scope, x->tensor, perm);
    x->labels = *wanted;
    x->shape = shape;
}

/* ---- one operand ---- */

/* Takes the diagonal over dimensions p < q of one label: moved to the front, it is every (n + 1)th
 * of n * n rows. */
static void take_diagonal(const gantry__compose_t *c, operand_t *x, int32_t p, int32_t q) {
    const int64_t size = x->shape.dims[p];
    const uint8_t label = x->labels.at[p];
    int32_t perm[GANTRY_MAX_RANK], at = 2;
    gantry_shape_t rows = {.rank = x->shape.rank - 1, .dims = {size * size}};
    labels_t labels = {.count = rows.rank, .at = {label}};
    perm[0] = p;
    perm[1] = q;
    for (int32_t i = 0; i < x->shape.rank; ++i) {
        if (i == p || i == q) continue;
        rows.dims[at - 1] = x->shape.dims[i];
        labels.at[at - 1] = x->labels.at[i];
        perm[at++] = i;
    }
    if (at > 2) x->tensor = gantry_transpose(c->scope, x->tensor, perm);
    x->tensor = gantry_reshape(c->scope, x->tensor, rows);
    x->tensor =
        gantry_gather(c->scope, x->tensor, gantry__compose_range(c, 0, size * size, size + 1), 0);
    x->labels = labels;
    x->shape = rows;
    x->shape.dims[0] = size;
}

static void take_diagonals(const gantry__compose_t *c, operand_t *x) {
    for (int32_t q = 1; q < x->labels.count; ++q) {
        for (int32_t p = 0; p < q; ++p) {
            if (x->labels.at[p] != x->labels.at[q]) continue;
            take_diagonal(c, x, p, q);
            q = 0; /* start again: the dimensions have moved */
            break;
        }
    }
}

static void sum_away(const gantry__compose_t *c, operand_t *x, const gantry__einsum_t *e,
                     const labels_t *other) {
    int32_t axes[GANTRY_MAX_RANK];
    size_t count = 0;
    labels_t labels = {.count = 0};
    gantry_shape_t shape = {.rank = 0};
    for (int32_t i = 0; i < x->labels.count; ++i) {
        const uint8_t label = x->labels.at[i];
        if (gantry__has_label(&e->output, label) || (other && gantry__has_label(other, label))) {
            labels.at[labels.count++] = label;
            shape.dims[shape.rank++] = x->shape.dims[i];
        } else {
            axes[count++] = i;
        }
    }
    if (count == 0) return;
    x->tensor = gantry_sum(c->scope, x->tensor,
                           &(gantry_reduce_options_t){.axes = axes, .axis_count = count});
    x->labels = labels;
    x->shape = shape;
}

static operand_t read_operand(const gantry__compose_t *c, const gantry__einsum_t *e, uint32_t i) {
    operand_t x = {.tensor = c->inputs[i], .labels = e->inputs[i], .shape = c->inputs[i]->shape};
    take_diagonals(c, &x);
    sum_away(c, &x, e, e->input_count == 2 ? &e->inputs[1 - i] : NULL);
    return x;
}

/* ---- two operands ---- */

typedef struct kinds_t {
    labels_t batch, contracted, left, right;
} kinds_t;

static void compose_einsum_append(labels_t *labels, uint8_t label) {
    labels->at[labels->count++] = label;
}

static labels_t joined(const labels_t *a, const labels_t *b) {
    labels_t all = *a;
    for (int32_t i = 0; i < b->count; ++i) compose_einsum_append(&all, b->at[i]);
    return all;
}

static kinds_t sort_labels(const gantry__einsum_t *e, const operand_t *left,
                           const operand_t *right) {
    kinds_t k = {.batch = {.count = 0}};
    for (int32_t i = 0; i < e->distinct.count; ++i) {
        const uint8_t label = e->distinct.at[i];
        bool in_left = gantry__has_label(&left->labels, label),
             in_right = gantry__has_label(&right->labels, label);
        bool is_batch = label >= GANTRY__EINSUM_ELLIPSIS || (in_left && in_right);
        compose_einsum_append(is_batch ? &k.batch : in_left ? &k.left : &k.right, label);
    }
    for (int32_t i = 0; i < left->labels.count; ++i) {
        const uint8_t label = left->labels.at[i];
        if (!gantry__has_label(&e->output, label)) compose_einsum_append(&k.contracted, label);
    }
    return k;
}

/* A product of sizes, one of which may be open. */
static int64_t compose_einsum_times(int64_t product, int64_t size) {
    return product < 0 || size < 0 ? -1 : product * size;
}

static int64_t compose_einsum_product_of(const gantry__einsum_t *e, const labels_t *labels) {
    int64_t product = 1;
    for (int32_t i = 0; i < labels->count; ++i)
        product = compose_einsum_times(product, e->sizes[labels->at[i]]);
    return product;
}

/* The operand's size of a batch label: 1 if it lacks the label. */
static int64_t own_size(const operand_t *x, uint8_t label) {
    for (int32_t i = 0; i < x->labels.count; ++i) {
        if (x->labels.at[i] == label) return x->shape.dims[i];
    }
    return 1;
}

static bool is_broadcast(const kinds_t *k, const operand_t *left, const operand_t *right) {
    for (int32_t i = 0; i < k->batch.count; ++i) {
        if (own_size(left, k->batch.at[i]) != own_size(right, k->batch.at[i])) return true;
    }
    return false;
}

/* The dimensions of a product's batch: each has so many of the batch's labels, in their order. */
typedef struct batch_t {
    int32_t rank, counts[GANTRY_MAX_RANK];
} batch_t;

/* How a label broadcasts. A size that depends on data is that of a label which both operands name,
 * so it does not. */
static uint32_t pattern_of(const operand_t *left, const operand_t *right, uint8_t label) {
    return (uint32_t)(own_size(left, label) == 1) << 1 | (uint32_t)(own_size(right, label) == 1);
}

/* Sorts the batch's labels by the way they broadcast, and merges those that do so alike. */
static batch_t merge_batch(labels_t *labels, const operand_t *left, const operand_t *right) {
    labels_t sorted = {.count = 0};
    batch_t merged = {.rank = 0};
    for (uint32_t pattern = 0; pattern < 4; ++pattern) {
        const int32_t before = sorted.count;
        for (int32_t i = 0; i < labels->count; ++i) {
            if (pattern_of(left, right, labels->at[i]) == pattern)
                compose_einsum_append(&sorted, labels->at[i]);
        }
        if (sorted.count > before) merged.counts[merged.rank++] = sorted.count - before;
    }
    *labels = sorted;
    return merged;
}

/* The batch's dimensions: one, if nothing broadcasts; else one for each label, or as many as there
 * is room for. */
static batch_t shape_batch(kinds_t *k, const operand_t *left, const operand_t *right) {
    batch_t out = {.rank = k->batch.count > 0 ? 1 : 0, .counts = {k->batch.count}};
    if (!is_broadcast(k, left, right)) return out;
    if (k->batch.count + 2 > GANTRY_MAX_RANK) return merge_batch(&k->batch, left, right);
    out.rank = k->batch.count;
    for (int32_t i = 0; i < out.rank; ++i) out.counts[i] = 1;
    return out;
}

/* Makes the operand [batch, rows, columns]; true if it is [batch, columns, rows] instead, because
 * its memory already has that order. */
static bool make_matrix(const gantry__compose_t *c, const gantry__einsum_t *e, operand_t *x,
                        const labels_t *batch, const labels_t *rows, const labels_t *columns,
                        const batch_t *dims) {
    labels_t own = {.count = 0};
    gantry_shape_t shape = {.rank = dims->rank};
    for (int32_t d = 0, i = 0; d < dims->rank; ++d) {
        shape.dims[d] = 1;
        for (const int32_t end = i + dims->counts[d]; i < end; ++i) {
            const uint8_t label = batch->at[i];
            if (gantry__has_label(&x->labels, label)) compose_einsum_append(&own, label);
            shape.dims[d] = compose_einsum_times(shape.dims[d], own_size(x, label));
        }
    }
    labels_t wanted = joined(&own, rows), turned = joined(&own, columns);
    wanted = joined(&wanted, columns);
    turned = joined(&turned, rows);
    const bool is_turned = !is_order(&x->labels, &wanted) && is_order(&x->labels, &turned);
    if (!is_turned) compose_einsum_turn(c->scope, x, &wanted);
    shape.dims[shape.rank++] = compose_einsum_product_of(e, is_turned ? columns : rows);
    shape.dims[shape.rank++] = compose_einsum_product_of(e, is_turned ? rows : columns);
    set_shape(c->scope, x, shape);
    return is_turned;
}

static operand_t compose_einsum_multiply(const gantry__compose_t *c, const gantry__einsum_t *e,
                                         operand_t *left, operand_t *right) {
    kinds_t k = sort_labels(e, left, right);
    const batch_t batch = shape_batch(&k, left, right);
    operand_t out = {.labels = joined(&k.batch, &k.left)};
    out.labels = joined(&out.labels, &k.right);
    const bool left_turned = make_matrix(c, e, left, &k.batch, &k.left, &k.contracted, &batch);
    const bool right_turned = make_matrix(c, e, right, &k.batch, &k.contracted, &k.right, &batch);
    const gantry_matmul_options_t options = {.transpose_a = left_turned,
                                             .transpose_b = right_turned};
    out.tensor = k.contracted.count == 0
                     ? gantry_mul(c->scope, left->tensor, right->tensor)
                     : gantry_matmul(c->scope, left->tensor, right->tensor, &options);
    out.shape.rank = out.labels.count;
    for (int32_t i = 0; i < out.labels.count; ++i) out.shape.dims[i] = e->sizes[out.labels.at[i]];
    out.tensor = compose_einsum_reshape(c->scope, out.tensor, &out.shape);
    return out;
}

/* ---- the output ---- */

/* Adds a dimension with this label at the end: x where its index equals that of the dimension
 * `from`, else zeros. */
static void put_on_diagonal(const gantry__compose_t *c, operand_t *x, int32_t from, uint8_t label) {
    gantry_scope_t *scope = c->scope;
    const int64_t size = x->shape.dims[from];
    gantry_shape_t raised = x->shape, along = {.rank = x->shape.rank + 1};
    raised.dims[raised.rank++] = 1;
    for (int32_t i = 0; i < along.rank; ++i)
        along.dims[i] = i == from || i == along.rank - 1 ? size : 1;
    const gantry_tensor_t *diagonal =
        gantry_reshape(scope, gantry_eye(scope, size, size, GANTRY_BOOL), along);
    x->tensor = gantry_select(scope, diagonal, gantry_reshape(scope, x->tensor, raised),
                              gantry_zeros(scope, c->call->out_dtypes[0], GANTRY_SCALAR));
    x->shape = raised;
    x->shape.dims[raised.rank - 1] = size;
    compose_einsum_append(&x->labels, label);
}

/* Transposes x, whose labels are distinct, into the order of the output, which may repeat them. */
static void repeat_labels(const gantry__compose_t *c, const gantry__einsum_t *e, operand_t *x) {
    labels_t wanted = {.count = 0};
    for (int32_t i = 0; i < e->output.count; ++i) {
        uint8_t label = e->output.at[i];
        if (gantry__has_label(&wanted, label)) {
            int32_t from = 0;
            while (x->labels.at[from] != label) ++from;
            /* a label of its own */
            label = (uint8_t)(GANTRY__EINSUM_ELLIPSIS + GANTRY_MAX_RANK + i);
            put_on_diagonal(c, x, from, label);
        }
        compose_einsum_append(&wanted, label);
    }
    compose_einsum_turn(c->scope, x, &wanted);
}

void gantry__compose_einsum(const gantry__compose_t *c) {
    gantry__einsum_t e;
    gantry_status_t status = gantry__einsum_read(gantry__infer_attr(c->call, "equation")->s,
                                                 c->call->shapes, c->call->input_count, &e);
    if (status != GANTRY_OK) {
        (void)gantry__scope_fail(c->scope, status);
        return;
    }
    operand_t out = read_operand(c, &e, 0);
    if (e.input_count == 2) {
        operand_t right = read_operand(c, &e, 1);
        out = compose_einsum_multiply(c, &e, &out, &right);
    }
    repeat_labels(c, &e, &out);
    c->outputs[0] = out.tensor;
}
