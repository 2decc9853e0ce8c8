/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of a file become tables. A file names nodes by tree and number, or, from operator set 5 on,
 * by their place. References are followed once, so that each leaf is reached in a known number of
 * steps, and no node twice on one way. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>

#include "onnx/lower/lower_trees.h"

#define MOST_NODES (INT64_C(1) << 28)
#define MOST_STEPS 4096

typedef const gantry_tensor_t tensor;
typedef gantry__onnx_trees_t trees_t;

/* ---- attributes ---- */

static gantry_status_t read_doubles(gantry__onnx_call_t *call, tensor *x,
                                    const double **out_numbers, size_t *out_count) {
    const size_t count = (size_t)gantry_tensor_elements(x);
    double *numbers = gantry__onnx_scratch(call, count + 1, sizeof *numbers);
    if (!numbers) return GANTRY_RESOURCE_EXHAUSTED;
    if (gantry_tensor_dtype(x) != GANTRY_FLOAT64) x = gantry_cast(call->host, x, GANTRY_FLOAT64);
    if (!x) return gantry_scope_status(call->host);
    *out_numbers = numbers;
    *out_count = count;
    return count ? gantry_tensor_read(x, numbers, count * sizeof *numbers) : GANTRY_OK;
}

gantry_status_t gantry__onnx_attr_numbers(gantry__onnx_call_t *call, const char *name,
                                          const double **out_numbers, size_t *out_count) {
    char as_tensor[64];
    tensor *x;
    *out_numbers = NULL;
    (void)snprintf(as_tensor, sizeof as_tensor, "%s_as_tensor", name);
    GANTRY__TRY(gantry__onnx_attr_tensor(call, as_tensor, &x));
    if (!x && gantry__onnx_row_attr(call->row, name) == 't')
        GANTRY__TRY(gantry__onnx_attr_tensor(call, name, &x));
    if (x) return read_doubles(call, x, out_numbers, out_count);
    const float *floats = gantry__onnx_attr_floats(call, name, out_count);
    double *numbers = gantry__onnx_scratch(call, *out_count + 1, sizeof *numbers);
    if (!numbers) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < *out_count; ++i) numbers[i] = (double)floats[i];
    *out_numbers = floats ? numbers : NULL;
    return GANTRY_OK;
}

/* A list of as many integers as there are nodes, or entries; one that may be left out is zeros. */
static gantry_status_t tree_read_list(gantry__onnx_call_t *call, const char *name, size_t count,
                                      bool is_needed, const int64_t **out_list) {
    size_t given;
    const int64_t *list = gantry__onnx_attr_ints(call, name, &given);
    if ((list && given > 0) || is_needed) {
        if (given != count)
            return gantry__onnx_invalid(call, "%s has %zu numbers; %zu are accepted", name, given,
                                        count);
        *out_list = list;
        return GANTRY_OK;
    }
    int64_t *zeros = gantry__onnx_scratch(call, count + 1, sizeof *zeros);
    if (!zeros) return GANTRY_RESOURCE_EXHAUSTED;
    memset(zeros, 0, (count + 1) * sizeof *zeros);
    *out_list = zeros;
    return GANTRY_OK;
}

static gantry_status_t tree_read_numbers(gantry__onnx_call_t *call, const char *name, size_t count,
                                         const double **out_numbers) {
    size_t given;
    GANTRY__TRY(gantry__onnx_attr_numbers(call, name, out_numbers, &given));
    if (given != count)
        return gantry__onnx_invalid(call, "%s has %zu numbers; %zu are accepted", name, given,
                                    count);
    return GANTRY_OK;
}

static gantry_status_t tree_make_tables(gantry__onnx_call_t *call, trees_t *trees) {
    const size_t count = trees->inner_count + trees->leaf_count;
    if ((int64_t)count > MOST_NODES)
        return gantry__onnx_unsupported(call, "trees of %zu nodes", count);
    int64_t **lists[] = {&trees->features, &trees->modes, &trees->tracks, &trees->roots};
    for (size_t i = 0; i < 4; ++i) {
        *lists[i] = gantry__onnx_scratch(call, count + 1, sizeof **lists[i]);
        if (!*lists[i]) return GANTRY_RESOURCE_EXHAUSTED;
        memset(*lists[i], 0, (count + 1) * sizeof **lists[i]);
    }
    trees->children = gantry__onnx_scratch(call, count + 1, 2 * sizeof *trees->children);
    trees->splits = gantry__onnx_scratch(call, count + 1, sizeof *trees->splits);
    if (!trees->children || !trees->splits) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i <= count; ++i) {
        trees->splits[i] = 0;
        trees->children[2 * i] = trees->children[2 * i + 1] = (int64_t)i;
    }
    return GANTRY_OK;
}

static gantry_status_t make_entries(gantry__onnx_call_t *call, trees_t *trees, size_t count) {
    trees->entry_count = count;
    trees->entry_leaves = gantry__onnx_scratch(call, count + 1, sizeof *trees->entry_leaves);
    trees->entry_targets = gantry__onnx_scratch(call, count + 1, sizeof *trees->entry_targets);
    trees->entry_weights = gantry__onnx_scratch(call, count + 1, sizeof *trees->entry_weights);
    return trees->entry_leaves && trees->entry_targets && trees->entry_weights
               ? GANTRY_OK
               : GANTRY_RESOURCE_EXHAUSTED;
}

static gantry_status_t set_entry(gantry__onnx_call_t *call, trees_t *trees, size_t at, int64_t leaf,
                                 int64_t target, double weight) {
    if (target < 0 || target >= trees->target_count)
        return gantry__onnx_invalid(call, "a leaf has the target %" PRId64 "; there are %" PRId64,
                                    target, trees->target_count);
    trees->entry_leaves[at] = leaf;
    trees->entry_targets[at] = target;
    trees->entry_weights[at] = weight;
    return GANTRY_OK;
}

/* ---- depth ---- */

/* Visits nodes when all that lead to them have been visited, and counts the steps to each. */
static gantry_status_t tree_count_steps(gantry__onnx_call_t *call, trees_t *trees) {
    const size_t count = trees->inner_count + trees->leaf_count;
    int64_t *waits = gantry__onnx_scratch(call, count + 1, sizeof *waits);
    int64_t *ready = gantry__onnx_scratch(call, count + 1, sizeof *ready);
    size_t *steps = gantry__onnx_scratch(call, count + 1, sizeof *steps), first = 0, last = 0;
    if (!waits || !ready || !steps) return GANTRY_RESOURCE_EXHAUSTED;
    memset(waits, 0, (count + 1) * sizeof *waits);
    memset(steps, 0, (count + 1) * sizeof *steps);
    for (size_t i = 0; i < 2 * trees->inner_count; ++i) ++waits[trees->children[i]];
    for (size_t i = 0; i < count; ++i) {
        if (waits[i] == 0) ready[last++] = (int64_t)i;
    }
    while (first < last) {
        const size_t node = (size_t)ready[first++];
        if (steps[node] > trees->steps) trees->steps = steps[node];
        for (size_t k = 0; node < trees->inner_count && k < 2; ++k) {
            const int64_t child = trees->children[2 * node + k];
            if (steps[node] + 1 > steps[child]) steps[child] = steps[node] + 1;
            if (--waits[child] == 0) ready[last++] = child;
        }
    }
    if (last < count) return gantry__onnx_invalid(call, "a node of a tree leads back to itself");
    if (trees->steps > MOST_STEPS)
        return gantry__onnx_unsupported(call, "a tree of %zu levels; at most %d are accepted",
                                        trees->steps, MOST_STEPS);
    return GANTRY_OK;
}

/* ---- nodes that are named by tree and number ---- */

/* A node's name, and its number in the tables. */
typedef struct tree_name_t {
    int64_t tree, node;
    size_t place;
} tree_name_t;

static int compare_names_of_nodes(const void *a, const void *b) {
    const tree_name_t *x = a, *y = b;
    if (x->tree != y->tree) return x->tree < y->tree ? -1 : 1;
    return (x->node > y->node) - (x->node < y->node);
}

static gantry_status_t tree_find_node(gantry__onnx_call_t *call, const tree_name_t *names,
                                      size_t count, int64_t tree, int64_t node, size_t *out_place) {
    const tree_name_t key = {tree, node, 0};
    const tree_name_t *found = bsearch(&key, names, count, sizeof *names, compare_names_of_nodes);
    if (!found)
        return gantry__onnx_invalid(call, "tree %" PRId64 " has no node %" PRId64, tree, node);
    *out_place = found->place;
    return GANTRY_OK;
}

static gantry_status_t tree_read_mode(gantry__onnx_call_t *call, gantry__onnx_bytes_t text,
                                      int64_t *out_mode) {
    static const char *const words[] = {"BRANCH_LEQ", "BRANCH_LT",  "BRANCH_GTE", "BRANCH_GT",
                                        "BRANCH_EQ",  "BRANCH_NEQ", "",           "LEAF"};
    for (int64_t i = 0; i < 8; ++i) {
        if (*words[i] && text.size == strlen(words[i]) &&
            memcmp(text.data, words[i], text.size) == 0) {
            *out_mode = i;
            return GANTRY_OK;
        }
    }
    return gantry__onnx_invalid(
        call, "nodes_modes has '%.*s'; accepted are BRANCH_LEQ, _LT, _GTE, _GT, _EQ, _NEQ and LEAF",
        (int)(text.size < 64 ? text.size : 64), (const char *)text.data);
}

/* The lists of a file, one number for each node. */
typedef struct tree_lists_t {
    size_t count;
    const int64_t *trees, *nodes, *features, *when_true, *when_false, *tracks;
    const double *values;
    int64_t *modes;
    tree_name_t *names; /* Sorted. */
} tree_lists_t;

static gantry_status_t tree_read_lists(gantry__onnx_call_t *call, tree_lists_t *lists) {
    const gantry__onnx_attr_t *modes = gantry__onnx_find_attr(call->node, "nodes_modes");
    const size_t count = lists->count = modes ? modes->count : 0;
    if (count == 0) return gantry__onnx_invalid(call, "nodes_modes is empty; there are no trees");
    GANTRY__TRY(tree_read_list(call, "nodes_treeids", count, true, &lists->trees));
    GANTRY__TRY(tree_read_list(call, "nodes_nodeids", count, true, &lists->nodes));
    GANTRY__TRY(tree_read_list(call, "nodes_featureids", count, true, &lists->features));
    GANTRY__TRY(tree_read_list(call, "nodes_truenodeids", count, true, &lists->when_true));
    GANTRY__TRY(tree_read_list(call, "nodes_falsenodeids", count, true, &lists->when_false));
    GANTRY__TRY(
        tree_read_list(call, "nodes_missing_value_tracks_true", count, false, &lists->tracks));
    GANTRY__TRY(tree_read_numbers(call, "nodes_values", count, &lists->values));
    lists->modes = gantry__onnx_scratch(call, count, sizeof *lists->modes);
    lists->names = gantry__onnx_scratch(call, count, sizeof *lists->names);
    if (!lists->modes || !lists->names) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i)
        GANTRY__TRY(tree_read_mode(call, modes->texts[i], &lists->modes[i]));
    return GANTRY_OK;
}

/* Gives each node its number in the tables. */
static gantry_status_t tree_number_nodes(gantry__onnx_call_t *call, const tree_lists_t *lists,
                                         trees_t *trees) {
    size_t inner = 0, leaf = 0;
    for (size_t i = 0; i < lists->count; ++i)
        trees->inner_count += lists->modes[i] < GANTRY__ONNX_LEAF;
    trees->leaf_count = lists->count - trees->inner_count;
    for (size_t i = 0; i < lists->count; ++i) {
        const bool is_leaf = lists->modes[i] == GANTRY__ONNX_LEAF;
        lists->names[i] = (tree_name_t){lists->trees[i], lists->nodes[i],
                                        is_leaf ? trees->inner_count + leaf++ : inner++};
    }
    GANTRY__TRY(tree_make_tables(call, trees));
    for (size_t i = 0; i < lists->count; ++i) { /* a tree begins with its root */
        if (i == 0 || lists->trees[i] != lists->trees[i - 1])
            trees->roots[trees->root_count++] = (int64_t)lists->names[i].place;
    }
    return GANTRY_OK;
}

static gantry_status_t connect_nodes(gantry__onnx_call_t *call, const tree_lists_t *lists,
                                     trees_t *trees) {
    tree_name_t *names = gantry__onnx_scratch(call, lists->count, sizeof *names);
    if (!names) return GANTRY_RESOURCE_EXHAUSTED;
    memcpy(names, lists->names, lists->count * sizeof *names);
    qsort(lists->names, lists->count, sizeof *names, compare_names_of_nodes);
    for (size_t i = 1; i < lists->count; ++i) {
        if (compare_names_of_nodes(&lists->names[i - 1], &lists->names[i]) == 0)
            return gantry__onnx_invalid(call, "tree %" PRId64 " has two nodes %" PRId64,
                                        lists->names[i].tree, lists->names[i].node);
    }
    for (size_t i = 0; i < lists->count; ++i) {
        const size_t place = names[i].place;
        size_t on_true, on_false;
        if (lists->modes[i] == GANTRY__ONNX_LEAF) continue;
        GANTRY__TRY(tree_find_node(call, lists->names, lists->count, lists->trees[i],
                                   lists->when_true[i], &on_true));
        GANTRY__TRY(tree_find_node(call, lists->names, lists->count, lists->trees[i],
                                   lists->when_false[i], &on_false));
        trees->children[2 * place] = (int64_t)on_false;
        trees->children[2 * place + 1] = (int64_t)on_true;
        trees->features[place] = lists->features[i];
        trees->modes[place] = lists->modes[i];
        trees->tracks[place] = lists->tracks[i] != 0;
        trees->splits[place] = lists->values[i];
    }
    return GANTRY_OK;
}

/* A node that decides has no use for weights. */
static gantry_status_t read_named_entries(gantry__onnx_call_t *call, const tree_lists_t *lists,
                                          const char *target, trees_t *trees) {
    char names[4][32];
    static const char *const ends[] = {"ids", "treeids", "nodeids", "weights"};
    const int64_t *given[3];
    const double *weights;
    size_t count, used = 0;
    for (size_t i = 0; i < 4; ++i)
        (void)snprintf(names[i], sizeof names[i], "%s_%s", target, ends[i]);
    (void)gantry__onnx_attr_ints(call, names[0], &count);
    for (size_t i = 0; i < 3; ++i)
        GANTRY__TRY(tree_read_list(call, names[i], count, true, &given[i]));
    GANTRY__TRY(tree_read_numbers(call, names[3], count, &weights));
    GANTRY__TRY(make_entries(call, trees, count));
    for (size_t i = 0; i < count; ++i) {
        size_t place;
        GANTRY__TRY(
            tree_find_node(call, lists->names, lists->count, given[1][i], given[2][i], &place));
        if (place < trees->inner_count) continue;
        GANTRY__TRY(set_entry(call, trees, used++, (int64_t)(place - trees->inner_count),
                              given[0][i], weights[i]));
    }
    trees->entry_count = used;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_read_named_trees(gantry__onnx_call_t *call, const char *target,
                                              trees_t *trees) {
    tree_lists_t lists = {0};
    GANTRY__TRY(tree_read_lists(call, &lists));
    GANTRY__TRY(tree_number_nodes(call, &lists, trees));
    GANTRY__TRY(connect_nodes(call, &lists, trees));
    GANTRY__TRY(read_named_entries(call, &lists, target, trees));
    return tree_count_steps(call, trees);
}

/* ---- nodes that are named by their place ---- */

/* The lists of TreeEnsemble, and the first place in the tables of each node. */
typedef struct tree_places_t {
    size_t count, leaf_count, member_count;
    const int64_t *features, *when_true, *when_false, *true_leafs, *false_leafs, *tracks;
    const double *splits, *modes, *members;
    size_t *firsts;
} tree_places_t;

static gantry_status_t tree_read_places(gantry__onnx_call_t *call, tree_places_t *places) {
    GANTRY__TRY(gantry__onnx_attr_numbers(call, "nodes_modes", &places->modes, &places->count));
    const size_t count = places->count;
    GANTRY__TRY(tree_read_list(call, "nodes_featureids", count, true, &places->features));
    GANTRY__TRY(tree_read_list(call, "nodes_truenodeids", count, true, &places->when_true));
    GANTRY__TRY(tree_read_list(call, "nodes_falsenodeids", count, true, &places->when_false));
    GANTRY__TRY(tree_read_list(call, "nodes_trueleafs", count, true, &places->true_leafs));
    GANTRY__TRY(tree_read_list(call, "nodes_falseleafs", count, true, &places->false_leafs));
    GANTRY__TRY(
        tree_read_list(call, "nodes_missing_value_tracks_true", count, false, &places->tracks));
    GANTRY__TRY(tree_read_numbers(call, "nodes_splits", count, &places->splits));
    places->firsts = gantry__onnx_scratch(call, count + 1, sizeof *places->firsts);
    if (!places->firsts) return GANTRY_RESOURCE_EXHAUSTED;
    return gantry__onnx_attr_numbers(call, "membership_values", &places->members,
                                     &places->member_count);
}

/* How many numbers the set has that begins at member `at`; NaN ends it. */
static size_t size_of_set(const tree_places_t *places, size_t at) {
    size_t size = 0;
    while (at + size < places->member_count && !isnan(places->members[at + size])) ++size;
    return size;
}

/* A node of a set becomes one for each of its numbers. */
static gantry_status_t number_places(gantry__onnx_call_t *call, tree_places_t *places,
                                     trees_t *trees) {
    size_t at = 0;
    for (size_t i = 0; i < places->count; ++i) {
        const double mode = places->modes[i];
        size_t size = 1;
        if (!(mode >= 0 && mode <= GANTRY__ONNX_MEMBER))
            return gantry__onnx_invalid(call, "nodes_modes has %g; 0 to 6 are accepted", mode);
        if (mode == GANTRY__ONNX_MEMBER) {
            size = size_of_set(places, at);
            at += size + 1;
            if (size == 0)
                return gantry__onnx_invalid(call, "membership_values has no set for node %zu", i);
        }
        places->firsts[i] = trees->inner_count;
        trees->inner_count += size;
    }
    trees->leaf_count = places->leaf_count;
    return tree_make_tables(call, trees);
}

static gantry_status_t tree_find_place(gantry__onnx_call_t *call, const tree_places_t *places,
                                       const trees_t *trees, int64_t place, bool is_leaf,
                                       int64_t *out_node) {
    const size_t count = is_leaf ? trees->leaf_count : places->count;
    if (place < 0 || (size_t)place >= count)
        return gantry__onnx_invalid(call, "%s %" PRId64 " of %zu", is_leaf ? "leaf" : "node", place,
                                    count);
    *out_node = is_leaf ? (int64_t)trees->inner_count + place : (int64_t)places->firsts[place];
    return GANTRY_OK;
}

static gantry_status_t connect_places(gantry__onnx_call_t *call, const tree_places_t *places,
                                      trees_t *trees) {
    size_t member = 0;
    for (size_t i = 0; i < places->count; ++i) {
        const bool is_set = places->modes[i] == GANTRY__ONNX_MEMBER;
        const size_t first = places->firsts[i],
                     end = i + 1 < places->count ? places->firsts[i + 1] : trees->inner_count;
        int64_t on_true, on_false;
        GANTRY__TRY(tree_find_place(call, places, trees, places->when_true[i],
                                    places->true_leafs[i] != 0, &on_true));
        GANTRY__TRY(tree_find_place(call, places, trees, places->when_false[i],
                                    places->false_leafs[i] != 0, &on_false));
        for (size_t node = first; node < end; ++node) {
            trees->children[2 * node] = node + 1 < end ? (int64_t)node + 1 : on_false;
            trees->children[2 * node + 1] = on_true;
            trees->features[node] = places->features[i];
            trees->modes[node] = is_set ? GANTRY__ONNX_EQ : (int64_t)places->modes[i];
            trees->tracks[node] = places->tracks[i] != 0;
            trees->splits[node] = is_set ? places->members[member++] : places->splits[i];
        }
        member += is_set;
    }
    return GANTRY_OK;
}

static gantry_status_t read_roots(gantry__onnx_call_t *call, const tree_places_t *places,
                                  trees_t *trees) {
    const int64_t *roots = gantry__onnx_attr_ints(call, "tree_roots", &trees->root_count);
    trees->roots = gantry__onnx_scratch(call, trees->root_count + 1, sizeof *trees->roots);
    if (!trees->roots) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < trees->root_count; ++i)
        GANTRY__TRY(tree_find_place(call, places, trees, roots[i], false, &trees->roots[i]));
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_read_trees(gantry__onnx_call_t *call, trees_t *trees) {
    tree_places_t places = {0};
    const int64_t *targets;
    const double *weights;
    GANTRY__TRY(gantry__onnx_attr_numbers(call, "leaf_weights", &weights, &places.leaf_count));
    GANTRY__TRY(tree_read_list(call, "leaf_targetids", places.leaf_count, true, &targets));
    GANTRY__TRY(tree_read_places(call, &places));
    GANTRY__TRY(number_places(call, &places, trees));
    GANTRY__TRY(connect_places(call, &places, trees));
    GANTRY__TRY(read_roots(call, &places, trees));
    GANTRY__TRY(make_entries(call, trees, places.leaf_count));
    for (size_t i = 0; i < places.leaf_count; ++i)
        GANTRY__TRY(set_entry(call, trees, i, (int64_t)i, targets[i], weights[i]));
    return tree_count_steps(call, trees);
}
