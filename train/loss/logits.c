/* SPDX-License-Identifier: Apache-2.0 */
#include "train/loss/logits.h"

#include <string.h>

#include "train/base/fail.h"

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

const gantry_tensor_t *gantry__logits_find(gantry__logits_t *logits,
                                           const gantry_tensor_t *output) {
    if (logits->scope) gantry_scope_unobserve(logits->scope, &logits->observer);
    logits->scope = NULL;
    return output && output == logits->output ? logits->input : NULL;
}

void gantry__logits_deinit(gantry__logits_t *logits) {
    (void)gantry__logits_find(logits, NULL);
    gantry_tensor_release(logits->input);
    gantry_tensor_release(logits->output);
    *logits = (gantry__logits_t){.scope = NULL};
}
