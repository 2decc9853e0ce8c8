/* SPDX-License-Identifier: Apache-2.0 */
/* The library's own callbacks: each object begins with the gantry_callback_t that a training calls.
 * Owner: the program, until a training ends the callback or the program releases it; the object
 * owns its texts and its best weights. Threads: externally synchronised, as the model. */
#ifndef GANTRY_TRAIN_OWN_CALLBACK_H
#define GANTRY_TRAIN_OWN_CALLBACK_H

#include <gantry_train/callback.h>

typedef struct gantry__own_callback_t {
    gantry_callback_t callback; /* first: the caller's pointer */
    char *text;                 /* a path, or NULL */
    char *monitor;              /* or NULL */
    int64_t epoch;
    gantry_learning_rate_fn rate;
    void *rate_user;
    /* of those that watch a value: watching.c */
    bool is_better_high, has_best, has_baseline, restores;
    double best, min_delta, baseline;
    int64_t patience, waited, first_epoch;
    gantry_tensor_t **best_weights; /* by variable of the model; NULL: none yet */
    size_t best_weight_count;
    double factor, least_rate;
    int64_t cooldown, cooling; /* epochs after a smaller rate; those that are left */
    gantry_model_t *model;     /* that is trained */
} gantry__own_callback_t;

/* Makes a callback with copies of the texts, which may be NULL. It returns NULL after a failure. */
gantry__own_callback_t *gantry__callback_make(const char *text, const char *monitor);

/* ---- watched values: watching.c ---- */

/* Lets a backup keep the best value and the counts with it. */
void gantry__callback_keep_state(gantry__own_callback_t *own);
/* Finds the watched value among the logs. *out_found is false in an epoch without a validation, if
 * the value is one of the validation. */
gantry_status_t gantry__callback_find_value(const gantry__own_callback_t *own,
                                            const gantry_model_t *model, const gantry_logs_t *logs,
                                            double *out_value, bool *out_found);
/* Keeps the value, and returns true, if it is better than the best so far. */
bool gantry__callback_improves(gantry__own_callback_t *own, double value);
void gantry__callback_forget_weights(gantry__own_callback_t *own);

#endif
