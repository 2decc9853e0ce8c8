/* SPDX-License-Identifier: Apache-2.0 */
/* What a metric is made of: its kind (a table of functions), its numbers and its variables. The
 * families keep different states: means (metric_mean.c) a total and a count, AUC (metric_auc.c) two
 * histograms, counts of right and wrong predictions (metric_confusion.c, metric_fbeta.c) one to
 * four sums. */
#ifndef GANTRY_TRAIN_METRIC_STATE_H
#define GANTRY_TRAIN_METRIC_STATE_H

#include <gantry_train/metric.h>

/* The most variables of a metric. */
#define GANTRY__TRAIN_METRIC_VARIABLES 4

/* The values that a mean averages: of each sample, from labels and predictions. They are refused in
 * the scope where they do not fit; NULL after a failure. */
typedef const gantry_tensor_t *(*gantry__train_values_fn)(const gantry_metric_t *metric,
                                                          gantry_scope_t *scope,
                                                          const gantry_tensor_t *labels,
                                                          const gantry_tensor_t *predictions);

/* The places that a variable counts: where label and prediction are positive as these bits say. */
enum { GANTRY__TRAIN_LABEL = 1, GANTRY__TRAIN_PREDICTION = 2 };

/* The result of a state. */
typedef const gantry_tensor_t *(*gantry__train_result_fn)(
    const gantry_metric_t *metric, gantry_scope_t *scope,
    const gantry_tensor_t *const state[GANTRY__TRAIN_METRIC_VARIABLES]);

typedef struct gantry__train_metric_kind_t {
    const char *variables[GANTRY__TRAIN_METRIC_VARIABLES]; /* names; NULL: no more */
    bool takes_labels;
    unsigned char counted[GANTRY__TRAIN_METRIC_VARIABLES]; /* of counts: by each variable */
    bool counts_masked; /* a mean that leaves no place out for a mask */
    /* Computes the sums to add to the variables. out_sums are NULL after a failure. */
    void (*sums)(const gantry_metric_t *metric, gantry_scope_t *scope,
                 const gantry_tensor_t *labels, const gantry_tensor_t *predictions,
                 const gantry_tensor_t *weights,
                 const gantry_tensor_t *out_sums[GANTRY__TRAIN_METRIC_VARIABLES]);
    gantry__train_result_fn result;
    gantry__train_values_fn values; /* of means */
} gantry__train_metric_kind_t;

struct gantry_metric_t {
    size_t owners; /* uses by models, which end it with the last one; 0: the program does */
    const gantry__train_metric_kind_t *kind;
    char *name;
    gantry_dtype_t dtype;
    int64_t size;     /* of its variables, vectors; 0: they are scalars */
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
    bool has_vector;    /* its result is one number for each class or threshold */
    gantry_loss_t loss; /* of loss metrics, with its options */
    gantry_loss_options_t loss_options;
    gantry_variable_t *variables[GANTRY__TRAIN_METRIC_VARIABLES]; /* all or none */
};

/* A model has it once more, or once less. */
void gantry__metric_own(gantry_metric_t *metric);
void gantry__metric_disown(gantry_metric_t *metric);

/* A metric of the kind with its options read; the rest of its members is zero. NULL after a
 * failure, the thread's last message. call: "gantry_auc". */
gantry_metric_t *gantry__train_metric_create(const gantry__train_metric_kind_t *kind,
                                             const char *call, const char *name,
                                             const gantry_metric_options_t *options);

/* gantry_metric_update with the mask of predictions, NULL: none. As in Keras, means count the
 * places that it has, and AUC counts all. */
void gantry__train_metric_update_masked(gantry_metric_t *metric, gantry_scope_t *scope,
                                        const gantry_tensor_t *labels,
                                        const gantry_tensor_t *predictions,
                                        const gantry_tensor_t *weights,
                                        const gantry_tensor_t *mask);

/* ---- counts: metric_confusion.c ---- */

/* Weights of the predictions' shape, of the metric's type. [n] and [n, 1] are one for each sample.
 * NULL after a refusal. */
const gantry_tensor_t *gantry__train_metric_weights(const gantry_metric_t *metric,
                                                    gantry_scope_t *scope,
                                                    const gantry_tensor_t *weights,
                                                    const gantry_tensor_t *predictions);

/* ---- means: metric_mean.c ---- */

/* Of the kinds that are means: the sum of values and of weights, by Keras's rules for shapes. */
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
