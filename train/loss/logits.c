/* SPDX-License-Identifier: Apache-2.0 */
#include "train/loss/logits.h"

#include <string.h>

#include "train/loss/fit.h"

static void keep_tensor(gantry_tensor_t **kept, const gantry_tensor_t *tensor) {
    gantry_tensor_t *retained = gantry_tensor_retain(tensor);
    gantry_tensor_release(*kept);
    *kept = retained;
}

/* Identity tells that the result got another object. */
static gantry_status_t logits_observe(gantry_scope_t *scope,
                                      const gantry_observation_t *observation, void *user) {
    gantry__logits_t *logits = user;
    (void)scope;
    if (strcmp(observation->op, "Softmax") == 0 || strcmp(observation->op, "Sigmoid") == 0) {
        keep_tensor(&logits->input, observation->inputs[0]);
        keep_tensor(&logits->output, observation->outputs[0]);
    } else if (logits->output && strcmp(observation->op, "Identity") == 0 &&
               observation->inputs[0] == logits->output) {
        keep_tensor(&logits->output, observation->outputs[0]);
    }
    return GANTRY_OK;
}

void gantry__logits_watch(gantry__logits_t *logits, gantry_scope_t *scope, gantry_loss_t loss) {
    *logits = (gantry__logits_t){.observer = {.observe = logits_observe, .user = logits}};
    if (loss != GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY && loss != GANTRY_CATEGORICAL_CROSSENTROPY &&
        loss != GANTRY_BINARY_CROSSENTROPY)
        return;
    if (gantry_scope_observe(scope, &logits->observer) == GANTRY_OK) logits->scope = scope;
}

static void end_watch(gantry__logits_t *logits) {
    if (logits->scope) gantry_scope_unobserve(logits->scope, &logits->observer);
    logits->scope = NULL;
}

/* Of [n, 1] and [n] the labels get a dimension; of others with 1 at their end, the output loses
 * it. */
static bool loses_dimension(const gantry_tensor_t *output, const gantry_tensor_t *labels) {
    const int32_t rank = gantry_tensor_shape(labels)->rank;
    return rank != 1 && gantry_tensor_shape(output)->rank == rank + 1 &&
           gantry__train_last_dim(output) == 1;
}

const gantry_tensor_t *gantry__logits_find(gantry__logits_t *logits, const gantry_tensor_t *output,
                                           const gantry_tensor_t *labels) {
    end_watch(logits);
    if (!labels || !output || output != logits->output || loses_dimension(output, labels))
        return NULL;
    return logits->input;
}

void gantry__logits_deinit(gantry__logits_t *logits) {
    end_watch(logits);
    gantry_tensor_release(logits->input);
    gantry_tensor_release(logits->output);
    *logits = (gantry__logits_t){.scope = NULL};
}
