/* SPDX-License-Identifier: Apache-2.0 */
/* Ensembles of trees of decisions. All trees of all rows walk at once: a step looks up feature and
 * split of the node where each tree is, compares, and looks up the node that follows. A leaf leads
 * to itself, so that the walk has as many steps as the deepest leaf needs. */
#include "onnx/lower/lower_trees.h"

#include <math.h>
#include <string.h>

#include <gantry/gantry.h>

#include "onnx/lower/parts.h"

#define MOST_WEIGHTS (UINT64_C(1) << 26) /* leaves times targets */

typedef const gantry_tensor_t tensor;
typedef gantry__onnx_trees_t trees_t;

/* A walk: the tables as tensors. */
typedef struct walk_t {
    gantry__onnx_call_t *call;
    const trees_t *trees;
    tensor *rows; /* [N, features] */
    tensor *features, *splits, *modes, *tracks, *children;
} walk_t;

/* ---- the walk ---- */

static tensor *walk_look_up(const walk_t *walk, tensor *table, tensor *at) {
    return table && at ? gantry_gather(walk->call->scope, table, at, 0) : NULL;
}

static tensor *tree_constant(gantry__onnx_call_t *call, gantry_dtype_t dtype, const double *numbers,
                             gantry_shape_t shape) {
    const size_t bytes = (size_t)gantry_shape_elements(&shape) * sizeof *numbers;
    tensor *x = gantry_constant(call->host, GANTRY_FLOAT64, shape, numbers, bytes);
    return x && dtype != GANTRY_FLOAT64 ? gantry_cast(call->host, x, dtype) : x;
}

static gantry_status_t begin_walk(walk_t *walk, gantry_dtype_t dtype) {
    gantry__onnx_call_t *call = walk->call;
    const trees_t *trees = walk->trees;
    const int64_t count = (int64_t)(trees->inner_count + trees->leaf_count);
    const gantry_shape_t shape = GANTRY_SHAPE(count);
    walk->features = gantry__onnx_ints_of(call, GANTRY_INT32, trees->features, shape);
    walk->modes = gantry__onnx_ints_of(call, GANTRY_INT32, trees->modes, shape);
    walk->tracks = gantry__onnx_ints_of(call, GANTRY_BOOL, trees->tracks, shape);
    walk->children =
        gantry__onnx_ints_of(call, GANTRY_INT32, trees->children, GANTRY_SHAPE(2 * count));
    walk->splits = tree_constant(call, dtype, trees->splits, shape);
    return gantry_scope_status(call->host);
}

/* Where the nodes `at` decide for true. Only kinds of decisions that a tree has are computed. */
static tensor *walk_decide(const walk_t *walk, tensor *at, tensor *values) {
    static const char *const ops[] = {"LessEqual", "Less",  "GreaterEqual",
                                      "Greater",   "Equal", "NotEqual"};
    const trees_t *trees = walk->trees;
    bool has[GANTRY__ONNX_DECISIONS] = {false}, tracks = false;
    size_t kinds = 0;
    for (size_t i = 0; i < trees->inner_count; ++i) {
        kinds += !has[trees->modes[i]];
        has[trees->modes[i]] = true;
        tracks = tracks || trees->tracks[i];
    }
    tensor *splits = walk_look_up(walk, walk->splits, at), *all = NULL;
    tensor *modes = kinds > 1 ? walk_look_up(walk, walk->modes, at) : NULL;
    for (int kind = 0; kind < GANTRY__ONNX_DECISIONS; ++kind) {
        if (!has[kind]) continue;
        tensor *one = gantry__onnx_op2(walk->call, ops[kind], values, splits);
        if (modes)
            one = gantry__onnx_op2(walk->call, "LogicalAnd", one,
                                   gantry__onnx_op_number(walk->call, "Equal", modes, kind));
        all = all ? gantry__onnx_op2(walk->call, "LogicalOr", all, one) : one;
    }
    if (!tracks) return all;
    tensor *missing =
        gantry__onnx_op2(walk->call, "LogicalAnd", walk_look_up(walk, walk->tracks, at),
                         gantry__onnx_op1(walk->call, "IsNan", values));
    return gantry__onnx_op2(walk->call, "LogicalOr", all, missing);
}

/* The leaves [N, trees] where the rows arrive, the first leaf as 0. */
static gantry_status_t walk_trees(const walk_t *walk, tensor **out_leaves) {
    gantry__onnx_call_t *call = walk->call;
    const trees_t *trees = walk->trees;
    tensor *at = gantry__onnx_ints_of(call, GANTRY_INT32, trees->roots,
                                      GANTRY_SHAPE((int64_t)trees->root_count));
    if (trees->steps == 0) { /* each tree is a leaf */
        GANTRY__TRY(gantry__onnx_need_shape(call, walk->rows));
        at = gantry__onnx_broadcast(
            call, at,
            GANTRY_SHAPE(gantry_tensor_shape(walk->rows)->dims[0], (int64_t)trees->root_count));
    }
    for (size_t step = 0; step < trees->steps; ++step) {
        tensor *features = walk_look_up(walk, walk->features, at);
        if (!features) return gantry_scope_status(call->scope);
        tensor *values = step == 0 ? gantry_gather(call->scope, walk->rows, features, 1)
                                   : gantry_gather_elements(call->scope, walk->rows, features, 1);
        tensor *is_true = gantry__onnx_cast(call, walk_decide(walk, at, values), GANTRY_INT32);
        tensor *pair = gantry__onnx_op_number(call, "Mul", at, 2);
        at = walk_look_up(walk, walk->children, gantry__onnx_op2(call, "Add", pair, is_true));
    }
    *out_leaves = at && trees->inner_count > 0
                      ? gantry__onnx_op_number(call, "Sub", at, (double)trees->inner_count)
                      : at;
    return gantry_scope_status(call->scope);
}

/* ---- weights ---- */

/* How the trees of an ensemble become one number. */
typedef enum aggregate_t {
    AGGREGATE_AVERAGE = 0,
    AGGREGATE_SUM = 1,
    AGGREGATE_MIN = 2,
    AGGREGATE_MAX = 3
} aggregate_t;

/* What a leaf without a weight for a target has. */
static double nothing_of(aggregate_t aggregate) {
    return aggregate == AGGREGATE_MIN ? INFINITY : aggregate == AGGREGATE_MAX ? -INFINITY : 0;
}

static void join_weight(aggregate_t aggregate, double *sum, double weight) {
    if (aggregate == AGGREGATE_MIN) {
        if (weight < *sum) *sum = weight;
    } else if (aggregate == AGGREGATE_MAX) {
        if (weight > *sum) *sum = weight;
    } else {
        *sum += weight;
    }
}

/* The weights [leaves, targets]. */
static gantry_status_t table_weights(gantry__onnx_call_t *call, const trees_t *trees,
                                     aggregate_t aggregate, gantry_dtype_t dtype,
                                     tensor **out_table) {
    const size_t leaves = trees->leaf_count, targets = (size_t)trees->target_count;
    if (targets > MOST_WEIGHTS / (leaves ? leaves : 1))
        return gantry__onnx_unsupported(call, "%zu leaves of %zu targets", leaves, targets);
    double *weights = gantry__onnx_scratch(call, leaves * targets + 1, sizeof *weights);
    if (!weights) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < leaves * targets; ++i) weights[i] = nothing_of(aggregate);
    for (size_t i = 0; i < trees->entry_count; ++i)
        join_weight(
            aggregate,
            &weights[(size_t)trees->entry_leaves[i] * targets + (size_t)trees->entry_targets[i]],
            trees->entry_weights[i]);
    *out_table =
        tree_constant(call, dtype, weights, GANTRY_SHAPE((int64_t)leaves, trees->target_count));
    return gantry_scope_status(call->host);
}

/* The scores [N, targets] of the leaves where rows arrive, before base values. */
static gantry_status_t join_trees(gantry__onnx_call_t *call, const trees_t *trees, tensor *leaves,
                                  aggregate_t aggregate, gantry_dtype_t dtype, tensor **out) {
    static const char *const ops[] = {"Sum", "Sum", "Min", "Max"};
    static const int64_t axis = 1;
    tensor *table = NULL;
    GANTRY__TRY(table_weights(call, trees, aggregate, dtype, &table));
    tensor *scores = leaves ? gantry_gather(call->scope, table, leaves, 0) : NULL;
    scores = gantry__onnx_reduce(call, ops[aggregate], scores, &axis, 1, false);
    if (aggregate == AGGREGATE_AVERAGE)
        scores = gantry__onnx_op_number(call, "Div", scores, (double)trees->root_count);
    if (scores && (aggregate == AGGREGATE_MIN || aggregate == AGGREGATE_MAX)) {
        tensor *none = gantry__onnx_op_number(call, "Equal", scores, nothing_of(aggregate));
        scores = gantry__onnx_select(call, none, gantry__onnx_make_scalar(call, dtype, 0), scores);
    }
    *out = scores;
    return gantry_scope_status(call->scope);
}

/* Refuses another number of base values than of scores. */
static gantry_status_t refuse_base(gantry__onnx_call_t *call, size_t count, int64_t scores) {
    if ((int64_t)count == scores) return GANTRY_OK;
    return gantry__onnx_invalid(call, "base_values has %zu numbers, where there are %lld scores",
                                count, (long long)scores);
}

/* Base values: one for each target, or none. */
static gantry_status_t add_base(gantry__onnx_call_t *call, int64_t targets, gantry_dtype_t dtype,
                                tensor **scores, size_t *out_count) {
    const double *base;
    GANTRY__TRY(gantry__onnx_attr_numbers(call, "base_values", &base, out_count));
    if (*out_count == 0) return GANTRY_OK;
    GANTRY__TRY(refuse_base(call, *out_count, targets));
    *scores = gantry__onnx_op2(call, "Add", *scores,
                               tree_constant(call, dtype, base, GANTRY_SHAPE(targets)));
    return GANTRY_OK;
}

/* The leaves of the rows of input 0, for trees that are read. */
static gantry_status_t find_leaves(gantry__onnx_call_t *call, const trees_t *trees,
                                   tensor **out_leaves, gantry_dtype_t *out_dtype) {
    walk_t walk = {.call = call, .trees = trees};
    if (gantry_tensor_shape(gantry__onnx_input(call, 0))->rank != 2)
        return gantry__onnx_invalid(call, "X has %d dimensions; rows of features are accepted",
                                    (int)gantry_tensor_shape(gantry__onnx_input(call, 0))->rank);
    GANTRY__TRY(gantry__onnx_feature_rows(call, &walk.rows));
    *out_dtype = gantry_tensor_dtype(walk.rows);
    const int64_t columns = gantry_tensor_shape(walk.rows)->dims[1];
    for (size_t i = 0; i < trees->inner_count; ++i) {
        if (trees->features[i] < 0 || (columns >= 0 && trees->features[i] >= columns))
            return gantry__onnx_invalid(call, "a node decides by feature %lld; X has %lld",
                                        (long long)trees->features[i], (long long)columns);
    }
    GANTRY__TRY(begin_walk(&walk, *out_dtype));
    return walk_trees(&walk, out_leaves);
}

/* ---- rows ---- */

static gantry_status_t give_scores(gantry__onnx_call_t *call, const trees_t *trees,
                                   aggregate_t aggregate, gantry_dtype_t out_dtype) {
    gantry__onnx_after_t after;
    tensor *leaves = NULL, *scores = NULL;
    gantry_dtype_t dtype = GANTRY_FLOAT32;
    size_t base_count = 0;
    GANTRY__TRY(gantry__onnx_read_after(call, &after));
    GANTRY__TRY(find_leaves(call, trees, &leaves, &dtype));
    GANTRY__TRY(join_trees(call, trees, leaves, aggregate, dtype, &scores));
    GANTRY__TRY(add_base(call, trees->target_count, dtype, &scores, &base_count));
    scores = gantry__onnx_apply_after(call, scores, after);
    return gantry__onnx_give(call, gantry__onnx_cast(call, scores, out_dtype));
}

static int64_t tree_targets(const gantry__onnx_call_t *call) {
    return gantry__onnx_attr_int(call, "n_targets", 1);
}

/* Checks what both kinds of regressions have. */
static gantry_status_t check_targets(gantry__onnx_call_t *call) {
    const int64_t targets = tree_targets(call);
    gantry__onnx_after_t after;
    if (targets < 1 || targets > INT32_MAX)
        return gantry__onnx_invalid(call, "n_targets is %lld; 1 or more are accepted",
                                    (long long)targets);
    return gantry__onnx_read_after(call, &after);
}

/* Checks the number of the base values that are no tensor. */
static gantry_status_t check_base(gantry__onnx_call_t *call, int64_t scores) {
    size_t count;
    (void)gantry__onnx_attr_floats(call, "base_values", &count);
    return count > 0 ? refuse_base(call, count, scores) : GANTRY_OK;
}

gantry_status_t gantry__onnx_check_tree_ensemble(gantry__onnx_call_t *call) {
    const int64_t aggregate = gantry__onnx_attr_int(call, "aggregate_function", AGGREGATE_SUM);
    if (aggregate < 0 || aggregate > AGGREGATE_MAX)
        return gantry__onnx_invalid(call, "aggregate_function is %lld; 0 to 3 are accepted",
                                    (long long)aggregate);
    return check_targets(call);
}

gantry_status_t gantry__onnx_lower_tree_ensemble(gantry__onnx_call_t *call) {
    trees_t trees = {.target_count = tree_targets(call)};
    const int64_t aggregate = gantry__onnx_attr_int(call, "aggregate_function", AGGREGATE_SUM);
    GANTRY__TRY(gantry__onnx_read_trees(call, &trees));
    return give_scores(call, &trees, (aggregate_t)aggregate,
                       gantry_tensor_dtype(gantry__onnx_input(call, 0)));
}

/* The aggregate of a word; AGGREGATE_MAX + 1: it is none. */
static int aggregate_of_word(const gantry__onnx_call_t *call, const char **out_word) {
    static const char *const words[] = {"AVERAGE", "SUM", "MIN", "MAX"};
    int aggregate = 0;
    *out_word = gantry__onnx_attr_text(call, "aggregate_function", "SUM");
    while (aggregate <= AGGREGATE_MAX && strcmp(*out_word, words[aggregate]) != 0) ++aggregate;
    return aggregate;
}

gantry_status_t gantry__onnx_check_tree_regressor(gantry__onnx_call_t *call) {
    const char *word;
    if (aggregate_of_word(call, &word) > AGGREGATE_MAX)
        return gantry__onnx_invalid(
            call, "aggregate_function is %s; accepted are AVERAGE, SUM, MIN and MAX", word);
    GANTRY__TRY(check_targets(call));
    return check_base(call, tree_targets(call));
}

gantry_status_t gantry__onnx_lower_tree_regressor(gantry__onnx_call_t *call) {
    trees_t trees = {.target_count = tree_targets(call)};
    const char *word;
    const int aggregate = aggregate_of_word(call, &word);
    GANTRY__TRY(gantry__onnx_read_named_trees(call, "target", &trees));
    return give_scores(call, &trees, (aggregate_t)aggregate, GANTRY_FLOAT32);
}

/* ---- classes ---- */

/* Scores by which the class is chosen: one for which no leaf of a row has a weight is none. */
static gantry_status_t scores_to_choose(gantry__onnx_call_t *call, const trees_t *trees,
                                        tensor *leaves, tensor *scores, tensor **out) {
    const size_t size = trees->leaf_count * (size_t)trees->target_count;
    trees_t ones = *trees;
    size_t filled = 0;
    *out = scores;
    uint8_t *has = gantry__onnx_scratch(call, size + 1, 1);
    double *weights = gantry__onnx_scratch(call, trees->entry_count + 1, sizeof *weights);
    if (!has || !weights) return GANTRY_RESOURCE_EXHAUSTED;
    memset(has, 0, size + 1);
    for (size_t i = 0; i < trees->entry_count; ++i) {
        uint8_t *at = &has[trees->entry_leaves[i] * trees->target_count + trees->entry_targets[i]];
        filled += !*at;
        *at = 1;
        weights[i] = 1;
    }
    if (filled == size) return GANTRY_OK;
    tensor *counts = NULL;
    ones.entry_weights = weights;
    GANTRY__TRY(join_trees(call, &ones, leaves, AGGREGATE_SUM, GANTRY_FLOAT32, &counts));
    *out = gantry__onnx_select(
        call, gantry__onnx_op_number(call, "Greater", counts, 0), scores,
        scores ? gantry__onnx_make_scalar(call, gantry_tensor_dtype(scores), -INFINITY) : NULL);
    return GANTRY_OK;
}

/* The class that all entries have; -1: they have several. */
static int64_t single_class(const int64_t *classes, size_t count) {
    for (size_t i = 1; i < count; ++i) {
        if (classes[i] != classes[0]) return -1;
    }
    return count > 0 ? classes[0] : -1;
}

static gantry_status_t refuse_second_base(gantry__onnx_call_t *call, int64_t class, size_t count) {
    if (class != 1 || count == 0) return GANTRY_OK;
    return gantry__onnx_unsupported(call, "base_values where leaves have the second class");
}

/* Two classes, whose leaves have one score. Weights that are all positive are probabilities. */
static gantry_status_t give_two_classes(gantry__onnx_call_t *call, trees_t *trees, tensor *leaves,
                                        gantry_dtype_t dtype, const int64_t *labels) {
    gantry__onnx_after_t after;
    const int64_t class = single_class(trees->entry_targets, trees->entry_count);
    double of_both = 1;
    tensor *score = NULL;
    size_t base_count = 0;
    GANTRY__TRY(gantry__onnx_read_after(call, &after));
    for (size_t i = 0; i < trees->entry_count; ++i) {
        if (!(trees->entry_weights[i] >= 0)) of_both = 0;
        trees->entry_targets[i] = 0;
    }
    trees->target_count = 1;
    GANTRY__TRY(join_trees(call, trees, leaves, AGGREGATE_SUM, dtype, &score));
    GANTRY__TRY(add_base(call, 1, dtype, &score, &base_count));
    GANTRY__TRY(refuse_second_base(call, class, base_count));
    if (labels) GANTRY__TRY(gantry__onnx_give_label(call, score, of_both == 1 ? 0.5 : 0, labels));
    if (!gantry__onnx_wants(call, 1)) return GANTRY_OK;
    score = gantry__onnx_cast(call, score, GANTRY_FLOAT32);
    if (class == 0)
        return gantry__onnx_set(call, 1, gantry__onnx_two_scores(call, score, of_both, after));
    tensor *const both[] = {gantry__onnx_op_number(call, "Mul", score, 0), score};
    return gantry__onnx_set(
        call, 1, gantry__onnx_apply_after(call, gantry__onnx_concat(call, both, 2, 1), after));
}

static gantry_status_t give_classes(gantry__onnx_call_t *call, const trees_t *trees, tensor *leaves,
                                    gantry_dtype_t dtype, const int64_t *labels) {
    gantry__onnx_after_t after;
    tensor *scores = NULL, *choice;
    size_t base_count = 0;
    GANTRY__TRY(gantry__onnx_read_after(call, &after));
    GANTRY__TRY(join_trees(call, trees, leaves, AGGREGATE_SUM, dtype, &scores));
    GANTRY__TRY(add_base(call, trees->target_count, dtype, &scores, &base_count));
    choice = scores;
    if (labels && base_count == 0)
        GANTRY__TRY(scores_to_choose(call, trees, leaves, scores, &choice));
    if (labels)
        GANTRY__TRY(gantry__onnx_give_labels(call, choice, labels, (size_t)trees->target_count));
    if (!gantry__onnx_wants(call, 1)) return GANTRY_OK;
    scores = gantry__onnx_cast(call, scores, GANTRY_FLOAT32);
    return gantry__onnx_set(call, 1, gantry__onnx_apply_after(call, scores, after));
}

/* Leaves that all have one of two classes have one score. */
gantry_status_t gantry__onnx_check_tree_classifier(gantry__onnx_call_t *call) {
    const size_t count = gantry__onnx_label_count(call, "classlabels_int64s");
    size_t class_count, base_count;
    const int64_t *classes = gantry__onnx_attr_ints(call, "class_ids", &class_count);
    const int64_t class = count == 2 ? single_class(classes, class_count) : -1;
    gantry__onnx_after_t after;
    if (count < 2)
        return gantry__onnx_unsupported(call, "%zu classes; two or more are accepted", count);
    GANTRY__TRY(gantry__onnx_read_after(call, &after));
    GANTRY__TRY(check_base(call, class >= 0 ? 1 : (int64_t)count));
    (void)gantry__onnx_attr_floats(call, "base_values", &base_count);
    return refuse_second_base(call, class, base_count);
}

gantry_status_t gantry__onnx_lower_tree_classifier(gantry__onnx_call_t *call) {
    trees_t trees = {0};
    const int64_t *labels;
    size_t count;
    tensor *leaves = NULL;
    gantry_dtype_t dtype = GANTRY_FLOAT32;
    GANTRY__TRY(gantry__onnx_read_labels(call, "classlabels_int64s", &labels, &count));
    trees.target_count = (int64_t)count;
    GANTRY__TRY(gantry__onnx_read_named_trees(call, "class", &trees));
    GANTRY__TRY(find_leaves(call, &trees, &leaves, &dtype));
    return count == 2 && single_class(trees.entry_targets, trees.entry_count) >= 0
               ? give_two_classes(call, &trees, leaves, dtype, labels)
               : give_classes(call, &trees, leaves, dtype, labels);
}
