/* SPDX-License-Identifier: Apache-2.0 */
/* The names of tensors in a model's file:
 *
 *                    own names                           Keras's paths, which keras_path.c makes
 *     weights        dense/kernel                        sequential/dense/kernel
 *     an optimizer   optimizer/iteration                 adam/iteration
 *     its slots      optimizer/dense/kernel/momentum     adam/sequential_dense_kernel_momentum
 *
 * A slot has the weight's name as that file has it. Files of former versions have numbers, which
 * are read and not written: optimizer/0, optimizer/1 and so on, in the order of
 * gantry_optimizer_get_variables, with the slots of several weights in one vector.
 *
 * Owner: plain values of the caller. Threads: externally synchronised, as the model. */
#ifndef GANTRY_TRAIN_FILE_NAMES_H
#define GANTRY_TRAIN_FILE_NAMES_H

#include <gantry_train/checkpoint.h>

#include "train/model/model_state.h"

/* The text of a file that names the optimizer. */
#define GANTRY__OPTIMIZER_TEXT "optimizer"

enum { GANTRY__FILE_NAME_BYTES = GANTRY__NETWORK_PATH_BYTES + 128 };

typedef enum gantry__state_names_t {
    GANTRY__STATE_NONE = 0, /* the file has no optimizer, or the model has none */
    GANTRY__STATE_OWN,
    GANTRY__STATE_KERAS,
    GANTRY__STATE_NUMBERED
} gantry__state_names_t;

typedef struct gantry__file_names_t {
    bool has_keras_weights, with_metrics;
    gantry__state_names_t state;
    char optimizer[64]; /* GANTRY__STATE_KERAS: the optimizer's name, "adam" or "adam_1" */
    char carried[64];   /* ... and that of the number that it carries, "variable" */
} gantry__file_names_t;

/* Chooses the names under which a model is saved. */
gantry__file_names_t gantry__names_to_save(const gantry_model_t *model, bool as_keras);
/* Finds out which names a file has. It returns NotFound, with the names, for a weight that the file
 * lacks, and InvalidArgument for the state of another optimizer. */
gantry_status_t gantry__names_of_file(const gantry_model_t *model, const char *path,
                                      const gantry_checkpoint_t *checkpoint,
                                      gantry__file_names_t *out);
/* Refuses a model of which two weights, or slots of two, have one path in Keras. `weights` must
 * have the entries of all weights. */
gantry_status_t gantry__names_check_unlike(const gantry_model_t *model,
                                           const gantry__file_names_t *names,
                                           const gantry_checkpoint_entry_t *weights);

/* Write the name of a weight, of a slot of it, and of a scalar of the optimizer, to `out`, which
 * must have GANTRY__FILE_NAME_BYTES. */
void gantry__name_weight(const gantry_model_t *model, const gantry__file_names_t *names,
                         size_t variable, char *out);
void gantry__name_slot(const gantry_model_t *model, const gantry__file_names_t *names,
                       size_t variable, const char *slot, char *out);
void gantry__name_scalar(const gantry__file_names_t *names, const char *what, char *out);

#endif
