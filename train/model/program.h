/* SPDX-License-Identifier: Apache-2.0 */
/* What a model is trained for: the losses of its outputs, its metrics, its optimizer, and the
 * functions of its steps. Owner: the model owns the program, which owns its metrics, its optimizer
 * and the functions. Threads: externally synchronised, as the model. */
#ifndef GANTRY_TRAIN_PROGRAM_H
#define GANTRY_TRAIN_PROGRAM_H

#include <gantry_train/model.h>

/* The loss of an output, and where its labels are. */
typedef struct gantry__target_t {
    gantry_loss_t loss; /* 0: none */
    gantry_loss_options_t loss_options;
    double loss_weight;
    bool has_labels; /* it has a loss or metrics */
    size_t label;    /* the place of its labels among those of a batch, if it has any */
} gantry__target_t;

/* A number in the logs of a training: the mean of a loss, or a metric. */
typedef struct gantry__model_metric_t {
    gantry_metric_t *metric;
    char *name;
    size_t target;
    bool is_loss;      /* the mean of a loss, which the step has computed: */
    bool is_of_target; /* of its target; else of all together */
    bool is_weighted;  /* by weights of samples */
} gantry__model_metric_t;

typedef enum gantry__step_mode_t {
    GANTRY__STEP_TRAIN = 0,
    GANTRY__STEP_TEST = 1,
    GANTRY__STEP_PREDICT = 2,
    GANTRY__STEP_MODES = 3
} gantry__step_mode_t;

/* What the body of a step's function gets. */
typedef struct gantry__step_body_t {
    gantry_model_t *model;
    gantry__step_mode_t step;
    size_t weight_count; /* components that are weights of samples */
    int64_t rows;        /* of the batch for which the step is traced; 0: not known */
    gantry_input_spec_t specs[GANTRY_MAX_COMPONENTS + 1]; /* of components */
    size_t spec_count;
} gantry__step_body_t;

typedef struct gantry__model_program_t {
    bool is_compiled, runs_eagerly, checks_numerics;
    gantry_status_t refusal_status; /* of the last gantry_model_compile, which failed: */
    char *refusal;                  /* NULL: it did not */
    gantry_optimizer_t *optimizer;
    gantry__target_t *targets; /* one for each output, when it was compiled */
    size_t target_count;
    size_t label_count;              /* of targets that have labels */
    gantry__model_metric_t *metrics; /* the mean loss, those of several outputs, then metrics */
    size_t metric_count;
    gantry_function_t *steps[GANTRY__STEP_MODES]; /* NULL: not traced yet */
    gantry__step_body_t bodies[GANTRY__STEP_MODES];
} gantry__model_program_t;

/* ---- compile.c ---- */

/* Refuses a model that is not compiled, or whose outputs are not those for which it was compiled.
 * `call` names the call that needs this. */
gantry_status_t gantry__model_check_compiled(const gantry_model_t *model, const char *call);
/* Gives the model an optimizer, or none if it is NULL, and ends the one that it had, if that is
 * another one. */
void gantry__model_set_optimizer(gantry_model_t *model, gantry_optimizer_t *optimizer);
/* Forgets the traced functions of steps, so that the next step is traced again. */
void gantry__model_forget_steps(gantry_model_t *model);
void gantry__model_release_targets(gantry_model_t *model);

/* ---- the optimizer: build.c ---- */

/* Makes the optimizer's variables on the devices of the model's. A second call does nothing. */
gantry_status_t gantry__model_build_optimizer(gantry_model_t *model);
/* Sets the weights to the optimizer's averages of them, if it keeps such. */
gantry_status_t gantry__model_finalize(gantry_model_t *model);
/* Puts the averages of the weights, which the optimizer has, in the places of the weights, or both
 * back. */
gantry_status_t gantry__model_hold_averages(gantry_model_t *model, bool holds);

/* ---- after an update: constrain.c ---- */

/* Bounds the trained variables of a replica that have constraints and a gradient. gradients must
 * have an entry for each trained variable, NULL for one without a gradient; or be NULL itself, if
 * all have one. */
void gantry__model_constrain(const gantry_model_t *model, gantry_scope_t *scope, size_t replica,
                             const gantry_tensor_t *const *gradients);

/* ---- metrics: evaluate.c ---- */

/* Sets all metrics to their start. */
gantry_status_t gantry__model_reset_metrics(gantry_model_t *model);
/* Reads all metrics: out_values must have room for metric_count numbers. */
gantry_status_t gantry__model_read_metrics(gantry_model_t *model, double *out_values);
/* Reads the first metric, which is the loss. */
gantry_status_t gantry__model_read_loss(gantry_model_t *model, double *out_value);

#endif
