/* SPDX-License-Identifier: Apache-2.0 */
/* The tensors of a model's file, with the variables of one replica: weights, the optimizer's state,
 * and in the middle of an epoch the metrics' variables. All replicas have the same state, so that a
 * file has that of one.
 *
 * A slot that several weights share is one vector, of which a file has the part of each weight. Its
 * elements pass through the host's memory; such weights are small. So do the scalars of an
 * optimizer of Keras, whose types follow its backend and floatx: iteration is int32 on JAX and
 * PyTorch. A restore converts them.
 *
 * Owner: the caller must deinit entries, after a failed init, too. Threads: externally
 * synchronised, as the model. */
#ifndef GANTRY_TRAIN_FILE_ENTRIES_H
#define GANTRY_TRAIN_FILE_ENTRIES_H

#include "train/model/file_names.h"

/* A slot of several weights, or a scalar of an optimizer of Keras, with its elements. */
typedef struct gantry__joined_slot_t {
    gantry_variable_t *slot;
    unsigned char *data;
    size_t bytes;
    const gantry_tensor_t *value; /* of a restore */
} gantry__joined_slot_t;

typedef struct gantry__entries_t {
    gantry_checkpoint_entry_t *list; /* of variables, then arrays: scalars, parts of joined slots */
    size_t count, variable_count;    /* there is room for one more */
    size_t scalar_count;             /* of Keras */
    char *names;
    gantry__joined_slot_t *joined;
    size_t joined_count;
} gantry__entries_t;

/* Lists the tensors. The optimizer must be built if the names have a state. */
gantry_status_t gantry__entries_init(gantry_model_t *model, size_t replica,
                                     const gantry__file_names_t *names, gantry__entries_t *out);
void gantry__entries_deinit(gantry__entries_t *entries);
/* Sets the variables of the replica to the tensors of a file: all, or none after a failure. */
gantry_status_t gantry__entries_restore(gantry_model_t *model, size_t replica,
                                        const gantry_checkpoint_t *checkpoint,
                                        const gantry__file_names_t *names);

#endif
