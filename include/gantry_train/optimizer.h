/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Optimizers by Keras 3's formulas: they update variables by gradients.
 *
 *     gantry_optimizer_t *adam = gantry_adam(&(gantry_adam_options_t){.learning_rate = 0.01});
 *     gantry_optimizer_build(adam, scope, variables, count);
 *     ... in each step, eagerly or in the body of a function:
 *     gantry_optimizer_apply(adam, scope, variables, gradients, count);
 *     gantry_optimizer_release(adam);
 *
 * An optimizer's state is in variables on the devices of the variables that it updates: the number
 * of steps, the learning rate, and slots, such as Adam's two means. So a step that was captured as
 * a function is counted, too, and follows a schedule or a learning rate that is set between calls.
 *
 * Small variables of one type on one device share their slots and are updated together, in one pass
 * over memory. All numbers have the variables' type, except that those of float16 and bfloat16 are
 * computed in float32 where they are the same for all elements.
 *
 * With gradient_accumulation_steps of n, each call of gantry_optimizer_apply adds its gradients to
 * those before. Every n-th one takes the mean, then clips, decays and updates, and begins anew;
 * others change no weights. Rules count such updates, schedules count calls. Slices become dense.
 *
 * With use_ema, each call moves the averages of all weights, also of those without a gradient:
 * average = m average + (1 - m) weight, where m is ema_momentum, and 0 until the first update was
 * counted. Where (updates + 1) is a multiple of ema_overwrite_frequency, the weights become the
 * averages. gantry_model_fit ends with gantry_optimizer_finalize_variable_values. These are
 * Keras's formulas, its order and its counts.
 *
 * Numbers of options that are 0 mean Keras's default, which the field names. For 0 itself, give a
 * number such as 1e-300, which is as good. At most one of the three clips may be set.
 *
 * Constructors return NULL after a failure, with its text in gantry_last_message: InvalidArgument
 * for a number that is negative, not finite or out of its range. A call with an optimizer of NULL
 * fails with InvalidArgument. The caller that made an optimizer must release it. Threads:
 * externally synchronised. */
#ifndef GANTRY_TRAIN_OPTIMIZER_H
#define GANTRY_TRAIN_OPTIMIZER_H

#include <gantry/gantry.h>
#include <gantry_train/gradient.h>
#include <gantry_train/learning_rate.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An optimizer. The caller that made it releases it. */
typedef struct gantry_optimizer_t gantry_optimizer_t;

/** Options of gantry_sgd. NULL: all defaults. */
typedef struct gantry_sgd_options_t {
    uint32_t struct_size;              /**< Its sizeof; 0: that of version 0.1. */
    double learning_rate;              /**< The learning rate. 0: 0.01. */
    const gantry_schedule_t *schedule; /**< Gives the rates; NULL: learning_rate. */
    /** The part of the weights, times the rate, that each step takes off. 0: none. */
    double weight_decay;
    double clipnorm;        /**< The most norm of each gradient; 0: any. */
    double clipvalue;       /**< The most size of an element of a gradient; 0: any. */
    double global_clipnorm; /**< The most norm of all gradients together; 0: any. */
    double momentum; /**< Part of the last update that goes into the next, in [0, 1]. 0: none. */
    bool nesterov;   /**< Whether the momentum is Nesterov's. */
    /** Calls for each change of the weights, which is by the mean of their gradients: 2 or more.
     * 0: each call changes them. */
    int32_t gradient_accumulation_steps;
    bool use_ema;        /**< Whether moving averages of the weights are kept. */
    double ema_momentum; /**< With use_ema: decay of an average, in [0, 1]. 0: 0.99. */
    /** With use_ema, the number of steps after which the weights become their averages, again and
     * again. 0: only gantry_optimizer_finalize_variable_values does it. */
    int32_t ema_overwrite_frequency;
} gantry_sgd_options_t;
/** SGD: gradient descent, with momentum or without. */
GANTRY_API gantry_optimizer_t *gantry_sgd(const gantry_sgd_options_t *options);

/** Options of gantry_adam. NULL: all defaults. */
typedef struct gantry_adam_options_t {
    uint32_t struct_size;              /**< Its sizeof; 0: that of version 0.1. */
    double learning_rate;              /**< The learning rate. 0: 0.001. */
    const gantry_schedule_t *schedule; /**< Gives the rates; NULL: learning_rate. */
    /** The part of the weights, times the rate, that each step takes off. 0: none. */
    double weight_decay;
    double clipnorm;        /**< The most norm of each gradient; 0: any. */
    double clipvalue;       /**< The most size of an element of a gradient; 0: any. */
    double global_clipnorm; /**< The most norm of all gradients together; 0: any. */
    double beta_1;          /**< Decay of the mean of gradients, in [0, 1). 0: 0.9. */
    double beta_2;          /**< Decay of the mean of their squares, in [0, 1). 0: 0.999. */
    double epsilon;         /**< Added to the divisor. 0: 1e-7. */
    bool amsgrad;           /**< Whether the mean of squares never falls (AMSGrad). */
    /** Calls for each change of the weights, which is by the mean of their gradients: 2 or more.
     * 0: each call changes them. */
    int32_t gradient_accumulation_steps;
    bool use_ema;        /**< Whether moving averages of the weights are kept. */
    double ema_momentum; /**< With use_ema: decay of an average, in [0, 1]. 0: 0.99. */
    /** With use_ema, the number of steps after which the weights become their averages, again and
     * again. 0: only gantry_optimizer_finalize_variable_values does it. */
    int32_t ema_overwrite_frequency;
} gantry_adam_options_t;
/** Adam: means of gradients and of their squares. */
GANTRY_API gantry_optimizer_t *gantry_adam(const gantry_adam_options_t *options);

/** Options of gantry_adamw. NULL: all defaults. */
typedef struct gantry_adamw_options_t {
    uint32_t struct_size;              /**< Its sizeof; 0: that of version 0.1. */
    double learning_rate;              /**< The learning rate. 0: 0.001. */
    const gantry_schedule_t *schedule; /**< Gives the rates; NULL: learning_rate. */
    /** The part of the weights, times the rate, that each step takes off. 0: 0.004. */
    double weight_decay;
    double clipnorm;        /**< The most norm of each gradient; 0: any. */
    double clipvalue;       /**< The most size of an element of a gradient; 0: any. */
    double global_clipnorm; /**< The most norm of all gradients together; 0: any. */
    double beta_1;          /**< Decay of the mean of gradients, in [0, 1). 0: 0.9. */
    double beta_2;          /**< Decay of the mean of their squares, in [0, 1). 0: 0.999. */
    double epsilon;         /**< Added to the divisor. 0: 1e-7. */
    bool amsgrad;           /**< Whether the mean of squares never falls (AMSGrad). */
    /** Calls for each change of the weights, which is by the mean of their gradients: 2 or more.
     * 0: each call changes them. */
    int32_t gradient_accumulation_steps;
    bool use_ema;        /**< Whether moving averages of the weights are kept. */
    double ema_momentum; /**< With use_ema: decay of an average, in [0, 1]. 0: 0.99. */
    /** With use_ema, the number of steps after which the weights become their averages, again and
     * again. 0: only gantry_optimizer_finalize_variable_values does it. */
    int32_t ema_overwrite_frequency;
} gantry_adamw_options_t;
/** AdamW: Adam with decoupled weight decay. */
GANTRY_API gantry_optimizer_t *gantry_adamw(const gantry_adamw_options_t *options);

/** Options of gantry_nadam. NULL: all defaults. */
typedef struct gantry_nadam_options_t {
    uint32_t struct_size;              /**< Its sizeof; 0: that of version 0.1. */
    double learning_rate;              /**< The learning rate. 0: 0.001. */
    const gantry_schedule_t *schedule; /**< Gives the rates; NULL: learning_rate. */
    /** The part of the weights, times the rate, that each step takes off. 0: none. */
    double weight_decay;
    double clipnorm;        /**< The most norm of each gradient; 0: any. */
    double clipvalue;       /**< The most size of an element of a gradient; 0: any. */
    double global_clipnorm; /**< The most norm of all gradients together; 0: any. */
    double beta_1;          /**< Decay of the mean of gradients, in [0, 1). 0: 0.9. */
    double beta_2;          /**< Decay of the mean of their squares, in [0, 1). 0: 0.999. */
    double epsilon;         /**< Added to the divisor. 0: 1e-7. */
    /** Calls for each change of the weights, which is by the mean of their gradients: 2 or more.
     * 0: each call changes them. */
    int32_t gradient_accumulation_steps;
    bool use_ema;        /**< Whether moving averages of the weights are kept. */
    double ema_momentum; /**< With use_ema: decay of an average, in [0, 1]. 0: 0.99. */
    /** With use_ema, the number of steps after which the weights become their averages, again and
     * again. 0: only gantry_optimizer_finalize_variable_values does it. */
    int32_t ema_overwrite_frequency;
} gantry_nadam_options_t;
/** Nadam: Adam with Nesterov momentum. */
GANTRY_API gantry_optimizer_t *gantry_nadam(const gantry_nadam_options_t *options);

/** Options of gantry_rmsprop. NULL: all defaults. */
typedef struct gantry_rmsprop_options_t {
    uint32_t struct_size;              /**< Its sizeof; 0: that of version 0.1. */
    double learning_rate;              /**< The learning rate. 0: 0.001. */
    const gantry_schedule_t *schedule; /**< Gives the rates; NULL: learning_rate. */
    /** The part of the weights, times the rate, that each step takes off. 0: none. */
    double weight_decay;
    double clipnorm;        /**< The most norm of each gradient; 0: any. */
    double clipvalue;       /**< The most size of an element of a gradient; 0: any. */
    double global_clipnorm; /**< The most norm of all gradients together; 0: any. */
    double rho;             /**< Decay of the mean of squared gradients, in [0, 1). 0: 0.9. */
    double momentum; /**< Part of the last update that goes into the next, in [0, 1]. 0: none. */
    double epsilon;  /**< Added to the mean of squares. 0: 1e-7. */
    bool centered;   /**< Whether the variance of gradients replaces the mean of squares. */
    /** Calls for each change of the weights, which is by the mean of their gradients: 2 or more.
     * 0: each call changes them. */
    int32_t gradient_accumulation_steps;
    bool use_ema;        /**< Whether moving averages of the weights are kept. */
    double ema_momentum; /**< With use_ema: decay of an average, in [0, 1]. 0: 0.99. */
    /** With use_ema, the number of steps after which the weights become their averages, again and
     * again. 0: only gantry_optimizer_finalize_variable_values does it. */
    int32_t ema_overwrite_frequency;
} gantry_rmsprop_options_t;
/** RMSprop: the rate is divided by the root of the mean of squared gradients. */
GANTRY_API gantry_optimizer_t *gantry_rmsprop(const gantry_rmsprop_options_t *options);

/** Options of gantry_adagrad. NULL: all defaults. */
typedef struct gantry_adagrad_options_t {
    uint32_t struct_size;              /**< Its sizeof; 0: that of version 0.1. */
    double learning_rate;              /**< The learning rate. 0: 0.001. */
    const gantry_schedule_t *schedule; /**< Gives the rates; NULL: learning_rate. */
    /** The part of the weights, times the rate, that each step takes off. 0: none. */
    double weight_decay;
    double clipnorm;                  /**< The most norm of each gradient; 0: any. */
    double clipvalue;                 /**< The most size of an element of a gradient; 0: any. */
    double global_clipnorm;           /**< The most norm of all gradients together; 0: any. */
    double initial_accumulator_value; /**< The first sum of squares. 0: 0.1. */
    double epsilon;                   /**< Added to the sum of squares. 0: 1e-7. */
    /** Calls for each change of the weights, which is by the mean of their gradients: 2 or more.
     * 0: each call changes them. */
    int32_t gradient_accumulation_steps;
    bool use_ema;        /**< Whether moving averages of the weights are kept. */
    double ema_momentum; /**< With use_ema: decay of an average, in [0, 1]. 0: 0.99. */
    /** With use_ema, the number of steps after which the weights become their averages, again and
     * again. 0: only gantry_optimizer_finalize_variable_values does it. */
    int32_t ema_overwrite_frequency;
} gantry_adagrad_options_t;
/** Adagrad: the rate is divided by the root of the sum of squared gradients. */
GANTRY_API gantry_optimizer_t *gantry_adagrad(const gantry_adagrad_options_t *options);

/** Options of gantry_adamax. NULL: all defaults. */
typedef struct gantry_adamax_options_t {
    uint32_t struct_size;              /**< Its sizeof; 0: that of version 0.1. */
    double learning_rate;              /**< The learning rate. 0: 0.001. */
    const gantry_schedule_t *schedule; /**< Gives the rates; NULL: learning_rate. */
    /** The part of the weights, times the rate, that each step takes off. 0: none. */
    double weight_decay;
    double clipnorm;        /**< The most norm of each gradient; 0: any. */
    double clipvalue;       /**< The most size of an element of a gradient; 0: any. */
    double global_clipnorm; /**< The most norm of all gradients together; 0: any. */
    double beta_1;          /**< Decay of the mean of gradients, in [0, 1). 0: 0.9. */
    double beta_2;          /**< Decay of the largest gradient, in [0, 1). 0: 0.999. */
    double epsilon;         /**< Added to the divisor. 0: 1e-7. */
    /** Calls for each change of the weights, which is by the mean of their gradients: 2 or more.
     * 0: each call changes them. */
    int32_t gradient_accumulation_steps;
    bool use_ema;        /**< Whether moving averages of the weights are kept. */
    double ema_momentum; /**< With use_ema: decay of an average, in [0, 1]. 0: 0.99. */
    /** With use_ema, the number of steps after which the weights become their averages, again and
     * again. 0: only gantry_optimizer_finalize_variable_values does it. */
    int32_t ema_overwrite_frequency;
} gantry_adamax_options_t;
/** Adamax: Adam with the infinity norm. */
GANTRY_API gantry_optimizer_t *gantry_adamax(const gantry_adamax_options_t *options);

/** Options of gantry_lion. NULL: all defaults. */
typedef struct gantry_lion_options_t {
    uint32_t struct_size;              /**< Its sizeof; 0: that of version 0.1. */
    double learning_rate;              /**< The learning rate. 0: 0.001. */
    const gantry_schedule_t *schedule; /**< Gives the rates; NULL: learning_rate. */
    /** The part of the weights, times the rate, that each step takes off. 0: none. */
    double weight_decay;
    double clipnorm;        /**< The most norm of each gradient; 0: any. */
    double clipvalue;       /**< The most size of an element of a gradient; 0: any. */
    double global_clipnorm; /**< The most norm of all gradients together; 0: any. */
    double beta_1;          /**< Part of the mean of gradients in the update, in [0, 1). 0: 0.9. */
    double beta_2;          /**< Decay of the mean of gradients, in [0, 1). 0: 0.99. */
    /** Calls for each change of the weights, which is by the mean of their gradients: 2 or more.
     * 0: each call changes them. */
    int32_t gradient_accumulation_steps;
    bool use_ema;        /**< Whether moving averages of the weights are kept. */
    double ema_momentum; /**< With use_ema: decay of an average, in [0, 1]. 0: 0.99. */
    /** With use_ema, the number of steps after which the weights become their averages, again and
     * again. 0: only gantry_optimizer_finalize_variable_values does it. */
    int32_t ema_overwrite_frequency;
} gantry_lion_options_t;
/** Lion: steps of one size, in the direction of a sign. */
GANTRY_API gantry_optimizer_t *gantry_lion(const gantry_lion_options_t *options);

/** Options of gantry_adadelta. NULL: all defaults. */
typedef struct gantry_adadelta_options_t {
    uint32_t struct_size;              /**< Its sizeof; 0: that of version 0.1. */
    double learning_rate;              /**< The learning rate. 0: 0.001. */
    const gantry_schedule_t *schedule; /**< Gives the rates; NULL: learning_rate. */
    /** The part of the weights, times the rate, that each step takes off. 0: none. */
    double weight_decay;
    double clipnorm;        /**< The most norm of each gradient; 0: any. */
    double clipvalue;       /**< The most size of an element of a gradient; 0: any. */
    double global_clipnorm; /**< The most norm of all gradients together; 0: any. */
    double rho;             /**< Decay of both means of squares, in [0, 1). 0: 0.95. */
    double epsilon;         /**< Added to both means of squares. 0: 1e-7. */
    /** Calls for each change of the weights, which is by the mean of their gradients: 2 or more.
     * 0: each call changes them. */
    int32_t gradient_accumulation_steps;
    bool use_ema;        /**< Whether moving averages of the weights are kept. */
    double ema_momentum; /**< With use_ema: decay of an average, in [0, 1]. 0: 0.99. */
    /** With use_ema, the number of steps after which the weights become their averages, again and
     * again. 0: only gantry_optimizer_finalize_variable_values does it. */
    int32_t ema_overwrite_frequency;
} gantry_adadelta_options_t;
/** Adadelta: each step has the size of the former steps, by the size of the gradients. */
GANTRY_API gantry_optimizer_t *gantry_adadelta(const gantry_adadelta_options_t *options);

/** Options of gantry_ftrl. NULL: all defaults. */
typedef struct gantry_ftrl_options_t {
    uint32_t struct_size;              /**< Its sizeof; 0: that of version 0.1. */
    double learning_rate;              /**< The learning rate. 0: 0.001. */
    const gantry_schedule_t *schedule; /**< Gives the rates; NULL: learning_rate. */
    /** The part of the weights, times the rate, that each step takes off. 0: none. */
    double weight_decay;
    double clipnorm;        /**< The most norm of each gradient; 0: any. */
    double clipvalue;       /**< The most size of an element of a gradient; 0: any. */
    double global_clipnorm; /**< The most norm of all gradients together; 0: any. */
    /** The power of the sum of squares that the rate falls with, 0 or less. 0: -0.5; a number such
     * as -1e-300: the rate stays. */
    double learning_rate_power;
    double initial_accumulator_value;  /**< The first sum of squares. 0: 0.1. */
    double l1_regularization_strength; /**< Keeps weights at 0, 0 or more. 0: none. */
    double l2_regularization_strength; /**< Keeps weights small, 0 or more. 0: none. */
    /** An L2 penalty of the loss, which is added to the gradient, 0 or more. 0: none. */
    double l2_shrinkage_regularization_strength;
    double beta; /**< The paper's beta, added to the root of the sum, 0 or more. 0: none. */
    /** Calls for each change of the weights, which is by the mean of their gradients: 2 or more.
     * 0: each call changes them. */
    int32_t gradient_accumulation_steps;
    bool use_ema;        /**< Whether moving averages of the weights are kept. */
    double ema_momentum; /**< With use_ema: decay of an average, in [0, 1]. 0: 0.99. */
    /** With use_ema, the number of steps after which the weights become their averages, again and
     * again. 0: only gantry_optimizer_finalize_variable_values does it. */
    int32_t ema_overwrite_frequency;
} gantry_ftrl_options_t;
/** Ftrl, "follow the regularized leader", for shallow models with many sparse features. It computes
 * weights anew from the sums of its gradients, and divides by the learning rate, which must not be
 * 0, also of a schedule. */
GANTRY_API gantry_optimizer_t *gantry_ftrl(const gantry_ftrl_options_t *options);

/** Releases an optimizer and its variables; NULL does no harm. Functions that were traced with it
 * keep what their traces need, and cannot be traced for new sizes. */
GANTRY_API void gantry_optimizer_release(gantry_optimizer_t *optimizer);

/** Makes the optimizer's own variables for `count` variables of floating types. The optimizer
 * refers to these variables, and does not own them. It must be called before a trace in which
 * gantry_optimizer_apply is called; elsewhere the first gantry_optimizer_apply does it. Again with
 * the same variables, or some of them, it does nothing.
 *
 * InvalidArgument for a variable that is NULL, occurs twice, or is of an integer type, and for
 * other variables than those it was built with; FailedPrecondition in the scope of a trace. Returns
 * the scope's status. After a failure, it is not built. */
GANTRY_API gantry_status_t gantry_optimizer_build(gantry_optimizer_t *optimizer,
                                                  gantry_scope_t *scope,
                                                  gantry_variable_t *const *variables,
                                                  size_t count);

/** Updates variables by their gradients, and counts the step: on each device and for each type of
 * these variables. gradients[i] must have the type and the shape of variables[i], or be NULL:
 * variable i then stays as it is. The variables must be those with which the optimizer was built,
 * all or some of them. Works eagerly, and in the scope of a trace if the optimizer is built. Where
 * ops run at once, a step that fails changes no variable.
 *
 * InvalidArgument for gradients that do not fit, and if all are NULL. Returns the scope's
 * status. */
GANTRY_API gantry_status_t gantry_optimizer_apply(gantry_optimizer_t *optimizer,
                                                  gantry_scope_t *scope,
                                                  gantry_variable_t *const *variables,
                                                  const gantry_tensor_t *const *gradients,
                                                  size_t count);

/** Updates variables as gantry_optimizer_apply does, by gradients of which some are slices, by
 * Keras's formulas on TensorFlow: clips, squares and absolute values are those of each slice, also
 * of slices of one row; see gantry_gradient_sum_rows. SGD without momentum and Adagrad, both
 * without weight_decay, change only the rows that slices name, of variables that are not updated
 * together with others; they do so in the variable's memory where no other owner holds its value:
 * in a function, and eagerly on the CPU. All other optimizers change every row, and make slices
 * dense.
 *
 * Where ops run at once, a step that fails while it changes rows leaves those that it changed
 * before as they then are, and all other variables as they were. InvalidArgument also for slices
 * that do not fit the variable, and for an index outside; where a device finds it later, the
 * variable is faulty until it is assigned. */
GANTRY_API gantry_status_t gantry_optimizer_apply_slices(gantry_optimizer_t *optimizer,
                                                         gantry_scope_t *scope,
                                                         gantry_variable_t *const *variables,
                                                         const gantry_gradient_t *gradients,
                                                         size_t count);

/** Overwrites all weights with their moving averages, as Keras's method does when a training ends.
 * Does nothing without use_ema, and before the first step. FailedPrecondition, where use_ema is
 * set, for an optimizer that is not built. Returns the scope's status. */
GANTRY_API gantry_status_t gantry_optimizer_finalize_variable_values(gantry_optimizer_t *optimizer,
                                                                     gantry_scope_t *scope);

/** Sets the learning rate from the next step on, also of functions that were traced: 0 or more.
 * FailedPrecondition for an optimizer with a schedule. */
GANTRY_API gantry_status_t gantry_optimizer_set_learning_rate(gantry_optimizer_t *optimizer,
                                                              double learning_rate);
/** Reads the learning rate of the next step, in the precision of the variables. With a schedule,
 * FailedPrecondition before the optimizer is built. */
GANTRY_API gantry_status_t gantry_optimizer_get_learning_rate(gantry_optimizer_t *optimizer,
                                                              double *out_learning_rate);
/** Lists the variables that hold its state, which it owns: for each device and type the number of
 * steps (int64), the learning rate if there is no schedule, further scalars, and then the slots.
 * None before it is built. Writes up to capacity pointers, and the full count. */
GANTRY_API gantry_status_t gantry_optimizer_get_variables(gantry_optimizer_t *optimizer,
                                                          size_t capacity,
                                                          gantry_variable_t **out_variables,
                                                          size_t *out_count);

#ifdef __cplusplus
}
#endif
#endif
