/* SPDX-License-Identifier: Apache-2.0 */
/* What makes an optimizer: its settings, its slots, the numbers of an update, and the update, a
 * pure function of tensors. Each optimizer has one file, update_NAME.c.
 *
 * An update goes through these calls:
 *
 *     slots    once, when the optimizer is built: a slot has the size of the weights
 *     begin    once for each device and type: numbers that are the same for all elements
 *     update   for each vector of weights: elementwise ops, which a function fuses into one pass
 *     update_rows   for slices of a variable that is not joined, in place of update
 *
 * Slices of one row count apart: the square of a gradient is the sum of their squares, as in Keras
 * on TensorFlow.
 *
 * An update must have at most 16 inputs, 4 outputs and 64 ops, numbers included, because only then
 * it is one fused node. Decay of weights and clips are added around it, which is up to 4 inputs and
 * 6 ops.
 *
 * Owner: rules are constant data. Threads: thread-safe. */
#ifndef GANTRY_TRAIN_UPDATE_RULE_H
#define GANTRY_TRAIN_UPDATE_RULE_H

#include <gantry/gantry.h>

enum { GANTRY__TRAIN_MOST_SLOTS = 3, GANTRY__TRAIN_MOST_NUMBERS = 6 };

/* The options of all optimizers; an optimizer must have 0 in those that are not its own. */
typedef struct gantry__train_settings_t {
    double learning_rate, weight_decay, clipnorm, clipvalue, global_clipnorm;
    double momentum, beta_1, beta_2, rho, epsilon, initial_accumulator_value;
    double learning_rate_power, beta, l1_regularization_strength, l2_regularization_strength,
        l2_shrinkage_regularization_strength;
    bool nesterov, amsgrad, centered;
    int32_t accumulation_steps; /* 0: each step updates */
    bool use_ema;
    double ema_momentum;
    int32_t ema_overwrite_frequency; /* 0: never */
} gantry__train_settings_t;

typedef struct gantry__train_slot_t {
    const char *name;
    double initial; /* of each element */
} gantry__train_slot_t;

/* An update on one device, of variables of one type. Scalars of float16 and bfloat16 are computed
 * in float32, because such a type cannot count to a thousand. */
typedef struct gantry__update_t {
    gantry_scope_t *scope; /* of the device, for begin */
    const gantry__train_settings_t *settings;
    gantry_dtype_t dtype;         /* of the variables */
    gantry_dtype_t scalar_dtype;  /* float64 of float64, else float32 */
    const gantry_tensor_t *count; /* of scalar_dtype; 1 in the first update */
    const gantry_tensor_t *rate;  /* of scalar_dtype */
    /* of scalar_dtype: a number that goes from update to update, and is 1 before the first */
    const gantry_tensor_t *carried, *new_carried;
    const gantry_tensor_t *numbers[GANTRY__TRAIN_MOST_NUMBERS]; /* of dtype */
} gantry__update_t;

/* A vector of weights before the update. */
typedef struct gantry__train_now_t {
    const gantry_tensor_t *weights, *gradient;
    const gantry_tensor_t *sizes; /* of the gradient, by the rule's size_of */
    const gantry_tensor_t *const *slots;
} gantry__train_now_t;

/* Slices of the gradient of one variable, clipped. */
typedef struct gantry__update_rows_t {
    gantry_variable_t *weights, *const *slots;
    const gantry_tensor_t *values, *indices;
} gantry__update_rows_t;

typedef struct gantry__train_rule_t {
    const char *name;       /* "adam" */
    const char *keras_name; /* of its variables in Keras; NULL: the same */
    const char *carried;    /* the name of a number that is carried; NULL: none is */
    /* Writes the slots and returns how many there are. */
    size_t (*slots)(const gantry__train_settings_t *settings, gantry__train_slot_t *out_slots);
    /* Sets numbers and new_carried. */
    void (*begin)(gantry__update_t *update);
    /* A second number of each element of a gradient: its square or absolute value, of which 0 has
     * 0. NULL: the update needs none. */
    const gantry_tensor_t *(*size_of)(gantry_scope_t *scope, const gantry_tensor_t *gradient);
    /* The new weights and slots. It must be a pure function. Tensors are NULL after a failure,
     * which the scope keeps. */
    const gantry_tensor_t *(*update)(gantry_scope_t *scope, const gantry__update_t *update,
                                     const gantry__train_now_t *now,
                                     const gantry_tensor_t **new_slots);
    /* Updates only the rows that slices name, of variables; NULL: rows without a gradient change,
     * too. */
    void (*update_rows)(gantry_scope_t *scope, const gantry__update_t *update,
                        const gantry__update_rows_t *rows);
    size_t row_slots; /* how many slots the optimizer then has */
} gantry__train_rule_t;

extern const gantry__train_rule_t gantry__train_sgd, gantry__train_adam, gantry__train_adamw,
    gantry__train_nadam, gantry__train_rmsprop, gantry__train_adagrad, gantry__train_adamax,
    gantry__train_adadelta, gantry__train_ftrl, gantry__train_lion;

/* ---- for begin and update ---- */

/* A scalar of a floating type. */
const gantry_tensor_t *gantry__train_number(gantry_scope_t *scope, gantry_dtype_t dtype,
                                            double value);
/* One of the update's scalar type. */
const gantry_tensor_t *gantry__train_scalar(const gantry__update_t *update, double value);
/* 1 - x, of the update's scalar type. */
const gantry_tensor_t *gantry__train_one_minus(const gantry__update_t *update,
                                               const gantry_tensor_t *x);
/* base to the power of the update's count plus `plus`. */
const gantry_tensor_t *gantry__train_power(const gantry__update_t *update, double base,
                                           double plus);
/* A scalar of the update's scalar type, in the variables' type. */
const gantry_tensor_t *gantry__train_narrow(const gantry__update_t *update,
                                            const gantry_tensor_t *scalar);
/* Adds values to the rows of a variable that indices name: "ResourceScatterAdd", or Sub. */
void gantry__train_scatter(gantry_scope_t *scope, const char *op, gantry_variable_t *variable,
                           const gantry_tensor_t *indices, const gantry_tensor_t *values);
/* mean + (x - mean) * part: a moving mean. */
const gantry_tensor_t *gantry__train_move(gantry_scope_t *scope, const gantry_tensor_t *mean,
                                          const gantry_tensor_t *x, const gantry_tensor_t *part);
/* mean * parts[0] + x * parts[1]: a moving mean whose parts are rounded apart. */
const gantry_tensor_t *gantry__train_decay(gantry_scope_t *scope, const gantry_tensor_t *mean,
                                           const gantry_tensor_t *x,
                                           const gantry_tensor_t *const *parts);
/* Adam's moving means of the gradient and of its squares, slots 0 and 1; their parts are rests[0]
 * and rests[1]. */
void gantry__train_move_moments(gantry_scope_t *scope, const gantry__train_now_t *now,
                                const gantry_tensor_t *const *rests,
                                const gantry_tensor_t **new_slots);

#endif
