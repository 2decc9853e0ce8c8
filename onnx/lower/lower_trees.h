/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of decisions as tables, and scores of classes. ai.onnx.ml's rows share them.
 *
 * Owner: tables are memory of the call. Threads: a call belongs to one thread. */
#ifndef GANTRY_ONNX_LOWER_TREES_H
#define GANTRY_ONNX_LOWER_TREES_H

#include "onnx/lower/lower.h"

/* How a node decides by a feature and its number. The numbers are those of ONNX's nodes_modes. */
typedef enum gantry__onnx_decision_t {
    GANTRY__ONNX_LEQ = 0,
    GANTRY__ONNX_LT = 1,
    GANTRY__ONNX_GTE = 2,
    GANTRY__ONNX_GT = 3,
    GANTRY__ONNX_EQ = 4,
    GANTRY__ONNX_NEQ = 5,
    GANTRY__ONNX_DECISIONS = 6,
    GANTRY__ONNX_MEMBER = 6, /* Of a file only: a table has an EQ for each number of the set. */
    GANTRY__ONNX_LEAF = 7    /* Of a file only. */
} gantry__onnx_decision_t;

/* All trees of a node. Nodes that decide have the numbers from 0 on, leaves those after them. */
typedef struct gantry__onnx_trees_t {
    size_t inner_count, leaf_count, root_count;
    int64_t *roots;
    int64_t *children; /* Two for each node: where the decision is false, and true; a leaf's are
                          the leaf. */
    /* Of each node, 0 for leaves. */
    int64_t *features, *modes, *tracks; /* tracks: 1: NaN counts as true. */
    double *splits;
    size_t steps; /* From a root to the deepest leaf. */
    /* What leaves add to targets. */
    size_t entry_count;
    int64_t *entry_leaves, *entry_targets; /* A leaf from 0 on. */
    double *entry_weights;
    int64_t target_count;
} gantry__onnx_trees_t;

/* The tables of TreeEnsemble; those of the other two, whose leaves' targets are attributes
 * "class_ids" or "target_ids". target_count must be set. */
gantry_status_t gantry__onnx_read_trees(gantry__onnx_call_t *call, gantry__onnx_trees_t *trees);
gantry_status_t gantry__onnx_read_named_trees(gantry__onnx_call_t *call, const char *target,
                                              gantry__onnx_trees_t *trees);

/* A list of floats, which may be a tensor under the name "NAME_as_tensor"; NULL and 0: neither. */
gantry_status_t gantry__onnx_attr_numbers(gantry__onnx_call_t *call, const char *name,
                                          const double **out_numbers, size_t *out_count);

/* What becomes of scores. */
typedef enum gantry__onnx_after_t {
    GANTRY__ONNX_AFTER_NONE = 0,
    GANTRY__ONNX_AFTER_SOFTMAX = 1,
    GANTRY__ONNX_AFTER_LOGISTIC = 2,
    GANTRY__ONNX_AFTER_SOFTMAX_ZERO = 3,
    GANTRY__ONNX_AFTER_PROBIT = 4
} gantry__onnx_after_t;

/* The attribute post_transform, a text, or a number for TreeEnsemble. */
gantry_status_t gantry__onnx_read_after(gantry__onnx_call_t *call, gantry__onnx_after_t *out_after);
/* Scores [N, targets] after it. */
const gantry_tensor_t *gantry__onnx_apply_after(gantry__onnx_call_t *call,
                                                const gantry_tensor_t *scores,
                                                gantry__onnx_after_t after);
/* The attribute of whole labels under this name. Labels that are texts: Unimplemented if output 0
 * is wanted, else *out_labels is NULL with their number. */
gantry_status_t gantry__onnx_read_labels(gantry__onnx_call_t *call, const char *name,
                                         const int64_t **out_labels, size_t *out_count);
/* How many labels there are, whole ones under this name or texts. */
size_t gantry__onnx_label_count(const gantry__onnx_call_t *call, const char *name);
/* Sets output 0: the label of the largest score of each row, the first of equal ones. */
gantry_status_t gantry__onnx_give_labels(gantry__onnx_call_t *call, const gantry_tensor_t *scores,
                                         const int64_t *labels, size_t count);
/* The same for one score s [N, 1]: labels[1] if it is above a limit, else labels[0]. */
gantry_status_t gantry__onnx_give_label(gantry__onnx_call_t *call, const gantry_tensor_t *score,
                                        double limit, const int64_t labels[2]);
/* The scores [N, 2] of two classes by one score [N, 1]: what it is of the second, and 1 or 0 less
 * that of the first. */
const gantry_tensor_t *gantry__onnx_two_scores(gantry__onnx_call_t *call,
                                               const gantry_tensor_t *score, double of_both,
                                               gantry__onnx_after_t after);
/* Input 0 as rows of float64 if it is that, else of float32; a vector is one row. */
gantry_status_t gantry__onnx_feature_rows(gantry__onnx_call_t *call, const gantry_tensor_t **out);

#endif
