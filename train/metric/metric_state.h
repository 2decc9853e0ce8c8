/* SPDX-License-Identifier: Apache-2.0 */
/* What a metric is made of: its kind (a table of functions), its numbers and its variables. The
 * families keep different states: means (metric_mean.c) a total and a count, AUC (metric_auc.c) two
 * histograms, counts of right and wrong predictions (metric_confusion.c, metric_fbeta.c) one to
 * four sums, intersections over unions (metric_iou.c) a matrix. Owner: the program has a metric
 * until models take it over; the last of its owners ends it with its variables. Threads: externally
 * synchronised; once a metric is built, threads may update it at the same time. */
#ifndef GANTRY_TRAIN_METRIC_STATE_H
#define GANTRY_TRAIN_METRIC_STATE_H

#include <gantry_train/metric.h>

/* The most variables of a metric. */
#define GANTRY__TRAIN_METRIC_VARIABLES 4

/* Returns the values that a mean averages, one for each sample, from labels and predictions. It
 * must refuse labels and predictions that do not fit in the scope, and must return NULL after a
 * failure. */
typedef const gantry_tensor_t *(*gantry__train_values_fn)(const gantry_metric_t *metric,
                                                          gantry_scope_t *scope,
                                                          const gantry_tensor_t *labels,
                                                          const gantry_tensor_t *predictions);

/* The places that a variable counts: those where label and prediction are positive as these bits
 * say. */
enum { GANTRY__TRAIN_LABEL = 1, GANTRY__TRAIN_PREDICTION = 2 };

/* Computes a metric's result from its state. */
typedef const gantry_tensor_t *(*gantry__train_result_fn)(
    const gantry_metric_t *metric, gantry_scope_t *scope,
    const gantry_tensor_t *const state[GANTRY__TRAIN_METRIC_VARIABLES]);

typedef struct gantry__train_metric_kind_t {
    const char *variables[GANTRY__TRAIN_METRIC_VARIABLES]; /* names; NULL: no more */
    bool takes_labels;
    bool is_matrix;                                        /* its variables are */
    unsigned char counted[GANTRY__TRAIN_METRIC_VARIABLES]; /* of counts: by each variable */
    bool counts_masked; /* a mean that leaves no place out for a mask */
    /* Computes the sums to add to the variables. It must leave NULLs in out_sums after a
     * failure. */
    void (*sums)(const gantry_metric_t *metric, gantry_scope_t *scope,
                 const gantry_tensor_t *labels, const gantry_tensor_t *predictions,
                 const gantry_tensor_t *weights,
                 const gantry_tensor_t *out_sums[GANTRY__TRAIN_METRIC_VARIABLES]);
    gantry__train_result_fn result;
    gantry__train_values_fn values; /* of means */
} gantry__train_metric_kind_t;

/* What intersections over unions have of their own. */
typedef struct gantry__train_iou_t {
    int32_t *targets; /* the classes that are judged; NULL: all */
    size_t target_count;
    int32_t ignored; /* the class of labels that are left out */
    bool has_ignored;
    bool dense_labels, dense_predictions; /* a number for each class, not the class */
    bool sparse_predictions;              /* of one-hot labels */
    bool is_binary;                       /* predictions are compared with the threshold */
} gantry__train_iou_t;

struct gantry_metric_t {
    size_t owners; /* uses by models, which end it with the last one; 0: the program does */
    const gantry__train_metric_kind_t *kind;
    char *name;
    gantry_dtype_t dtype;
    int64_t size;     /* of its variables, vectors or square matrices; 0: they are scalars */
    double threshold; /* binary accuracy, counts */
    double *levels;   /* counts: `size` thresholds in place of one; NULL: none */
    bool has_class;   /* counts: of class_id alone */
    int32_t class_id;
    int32_t k;            /* top k; counts: 0: all classes */
    int32_t thresholds;   /* AUC */
    bool from_logits;     /* AUC */
    gantry_curve_t curve; /* AUC */
    double beta;          /* F-beta, with: */
    int64_t classes;
    gantry_average_t average;
    gantry__train_iou_t iou;
    bool has_vector;    /* its result is one number for each class or threshold */
    gantry_loss_t loss; /* of loss metrics, with its options */
    gantry_loss_options_t loss_options;
    gantry_variable_t *variables[GANTRY__TRAIN_METRIC_VARIABLES]; /* all or none */
};

/* Count the uses of a metric by models: own adds one, and disown takes one back, the last of which
 * ends the metric. */
void gantry__metric_own(gantry_metric_t *metric);
void gantry__metric_disown(gantry_metric_t *metric);

/* Makes a metric of the kind with its options read; its other members are zero. It returns NULL
 * after a failure, which is the thread's last message and begins with `call`: "gantry_auc". */
gantry_metric_t *gantry__train_metric_create(const gantry__train_metric_kind_t *kind,
                                             const char *call, const char *name,
                                             const gantry_metric_options_t *options);

/* Does what gantry_metric_update does, with the mask of predictions, which may be NULL. As in
 * Keras, means count the places that the mask has, and AUC counts all. */
void gantry__train_metric_update_masked(gantry_metric_t *metric, gantry_scope_t *scope,
                                        const gantry_tensor_t *labels,
                                        const gantry_tensor_t *predictions,
                                        const gantry_tensor_t *weights,
                                        const gantry_tensor_t *mask);

/* ---- accuracies: metric_accuracy.c ---- */

/* Returns the places of the largest numbers along the last dimension, int64. */
const gantry_tensor_t *gantry__train_metric_largest(gantry_scope_t *scope,
                                                    const gantry_tensor_t *x);

/* ---- counts: metric_confusion.c ---- */

/* Returns weights of the predictions' shape and of the metric's type. Weights of shape [n] and [n,
 * 1] are one for each sample. It returns NULL after a refusal. */
const gantry_tensor_t *gantry__train_metric_weights(const gantry_metric_t *metric,
                                                    gantry_scope_t *scope,
                                                    const gantry_tensor_t *weights,
                                                    const gantry_tensor_t *predictions);

/* ---- means: metric_mean.c ---- */

/* The `sums` and the `result` of kinds that are means: the sum of values and of weights, by Keras's
 * rules for shapes, and the one divided by the other. */
void gantry__train_mean_sums(const gantry_metric_t *metric, gantry_scope_t *scope,
                             const gantry_tensor_t *labels, const gantry_tensor_t *predictions,
                             const gantry_tensor_t *weights,
                             const gantry_tensor_t *out_sums[GANTRY__TRAIN_METRIC_VARIABLES]);
const gantry_tensor_t *gantry__train_mean_result(
    const gantry_metric_t *metric, gantry_scope_t *scope,
    const gantry_tensor_t *const state[GANTRY__TRAIN_METRIC_VARIABLES]);

/* The members of a kind that is a mean of these values, of labels and predictions. */
#define GANTRY__TRAIN_MEAN_KIND(values_)                                                        \
    {                                                                                           \
        .variables = {"total", "count"}, .takes_labels = true, .sums = gantry__train_mean_sums, \
        .result = gantry__train_mean_result, .values = (values_)                                \
    }

#endif
