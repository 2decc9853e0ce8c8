/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Callbacks of trainings, as Keras has them. A program's own callback is a gantry_callback_t that
 * it fills in. The caller that made a callback here must release it by gantry_callback_release,
 * after the training.
 *
 * Constructors return NULL after a failure, with its text in gantry_last_message.
 *
 * Threads: a callback is externally synchronised, and must serve only one training at a time. */
#ifndef GANTRY_TRAIN_CALLBACK_H
#define GANTRY_TRAIN_CALLBACK_H

#include <gantry_train/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Options of gantry_early_stopping. */
typedef struct gantry_early_stopping_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: that of version 0.1. */
    const char *monitor;  /**< The value that is watched; copied. NULL: "val_loss". */
    /** Whether a larger value is better. For a name with "acc" or "auc" in it, larger is always
     * better. */
    bool is_better_high;
    double min_delta;         /**< A smaller change counts as none. */
    int64_t patience;         /**< Epochs without improvement before the training ends. 0: 1. */
    const double *baseline;   /**< Values that are no better count as no improvement. NULL: none. */
    int64_t start_from_epoch; /**< Epochs before it are not watched. */
    /** Whether the end of the training brings back the weights of the best epoch, which need the
     * memory of the weights again. In a training that continues from a backup, epochs before the
     * interruption do not count. */
    bool restore_best_weights;
} gantry_early_stopping_options_t;

/** EarlyStopping: ends the training when a value does not improve any more. options may be NULL. */
GANTRY_API gantry_callback_t *gantry_early_stopping(const gantry_early_stopping_options_t *options);
/** Options of gantry_reduce_lr_on_plateau. */
typedef struct gantry_reduce_lr_on_plateau_options_t {
    uint32_t struct_size; /**< Its sizeof; 0: that of version 0.1. */
    const char *monitor;  /**< The value that is watched; copied. NULL: "val_loss". */
    /** Whether a larger value is better. For a name with "acc" or "auc" in it, larger is always
     * better. */
    bool is_better_high;
    double factor;            /**< The new rate is the old one times this, below 1. 0: 0.1. */
    int64_t patience;         /**< Epochs without improvement before the rate falls. 0: 10. */
    double min_delta;         /**< A smaller change counts as none. 0: 0.0001. */
    int64_t cooldown;         /**< Epochs after a fall that do not count. */
    double min_learning_rate; /**< The rate does not fall below it. */
} gantry_reduce_lr_on_plateau_options_t;

/** ReduceLROnPlateau: lowers the optimizer's learning rate when a value does not improve any more.
 * options may be NULL. */
GANTRY_API gantry_callback_t *gantry_reduce_lr_on_plateau(
    const gantry_reduce_lr_on_plateau_options_t *options);
/** ModelCheckpoint: saves the model after each epoch, by gantry_model_save. monitor NULL: always;
 * else only if that value improved. For a name with "acc" or "auc" in it larger is better, for
 * others smaller. */
GANTRY_API gantry_callback_t *gantry_model_checkpoint(const char *path, const char *monitor);
/** CSVLogger: appends a line for each epoch to a file, which gets a head if it is new. */
GANTRY_API gantry_callback_t *gantry_csv_logger(const char *path);
/** TerminateOnNaN: ends the training with InvalidArgument after a step whose loss, the mean of the
 * epoch so far, is NaN or infinite. Keras's ends it without an error. It waits for each step. */
GANTRY_API gantry_callback_t *gantry_terminate_on_nan(void);
/** The learning rate of an epoch, from the one before. */
typedef double (*gantry_learning_rate_fn)(int64_t epoch, double learning_rate, void *user);
/** LearningRateScheduler: sets the optimizer's learning rate before each epoch. */
GANTRY_API gantry_callback_t *gantry_learning_rate_scheduler(gantry_learning_rate_fn rate,
                                                             void *user);
/** SwapEMAWeights: with an optimizer that has use_ema, validations test the averages of the
 * weights. These change places with the weights, and back. With swap_on_epoch they do so between
 * epochs, too, for callbacks after this one: gantry_model_checkpoint then saves the averages. The
 * end of the training leaves them in the weights, as without this callback. */
GANTRY_API gantry_callback_t *gantry_swap_ema_weights(bool swap_on_epoch);
/** Releases a callback that was made here; NULL does no harm. */
GANTRY_API void gantry_callback_release(gantry_callback_t *callback);

#ifdef __cplusplus
}
#endif
#endif
