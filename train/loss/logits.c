/* SPDX-License-Identifier: Apache-2.0 */
#include "train/loss/logits.h"

#include <string.h>

#include "shared/memory.h"
#include "train/loss/fit.h"

static void keep_tensor(gantry_tensor_t **kept, const gantry_tensor_t *tensor) {
    gantry_tensor_t *retained = gantry_tensor_retain(tensor);
    gantry_tensor_release(*kept);
    *kept = retained;
}

static gantry_status_t keep_pair(gantry__logits_t *logits, const gantry_tensor_t *input,
                                 const gantry_tensor_t *output, bool is_sigmoid) {
    if (!gantry__grow(&logits->pairs, logits->pair_count, &logits->pair_capacity,
                      sizeof *logits->pairs))
        return GANTRY_RESOURCE_EXHAUSTED;
    gantry__logits_pair_t *pair = &logits->pairs[logits->pair_count++];
    *pair = (gantry__logits_pair_t){.is_sigmoid = is_sigmoid};
    keep_tensor(&pair->input, input);
    keep_tensor(&pair->output, output);
    return GANTRY_OK;
}

static gantry__logits_pair_t *find_pair(const gantry__logits_t *logits,
                                        const gantry_tensor_t *output) {
    for (size_t i = logits->pair_count; i-- > 0;) {
        if (logits->pairs[i].output == output) return &logits->pairs[i];
    }
    return NULL;
}

/* An Identity says that the result got another object. */
static gantry_status_t logits_observe(gantry_scope_t *scope,
                                      const gantry_observation_t *observation, void *user) {
    gantry__logits_t *logits = user;
    (void)scope;
    const bool is_sigmoid = strcmp(observation->op, "Sigmoid") == 0;
    if (is_sigmoid || strcmp(observation->op, "Softmax") == 0)
        return keep_pair(logits, observation->inputs[0], observation->outputs[0], is_sigmoid);
    if (strcmp(observation->op, "Identity") == 0) {
        gantry__logits_pair_t *pair = find_pair(logits, observation->inputs[0]);
        if (pair) keep_tensor(&pair->output, observation->outputs[0]);
    }
    return GANTRY_OK;
}

static bool takes_logits(gantry_loss_t loss, bool of_sigmoid) {
    return loss == GANTRY_SPARSE_CATEGORICAL_CROSSENTROPY ||
           loss == GANTRY_CATEGORICAL_CROSSENTROPY || loss == GANTRY_BINARY_CROSSENTROPY ||
           (loss == GANTRY_BINARY_FOCAL_CROSSENTROPY && of_sigmoid);
}

bool gantry__logits_has(gantry_loss_t loss) { return takes_logits(loss, true); }

void gantry__logits_watch(gantry__logits_t *logits, gantry_scope_t *scope) {
    *logits = (gantry__logits_t){.observer = {.observe = logits_observe, .user = logits}};
    if (gantry_scope_observe(scope, &logits->observer) == GANTRY_OK) logits->scope = scope;
}

void gantry__logits_end_watch(gantry__logits_t *logits) {
    if (logits->scope) gantry_scope_unobserve(logits->scope, &logits->observer);
    logits->scope = NULL;
}

/* Returns whether the loss removes the last dimension of the output. With [n, 1] and [n] the labels
 * get a dimension instead; in other cases with 1 at its end, the output loses it. */
static bool loses_dimension(const gantry_tensor_t *output, const gantry_tensor_t *labels) {
    const int32_t rank = gantry_tensor_shape(labels)->rank;
    return rank != 1 && gantry_tensor_shape(output)->rank == rank + 1 &&
           gantry__train_last_dim(output) == 1;
}

const gantry_tensor_t *gantry__logits_find(const gantry__logits_t *logits, gantry_loss_t loss,
                                           const gantry_tensor_t *output,
                                           const gantry_tensor_t *labels) {
    if (!labels || !output || loses_dimension(output, labels)) return NULL;
    const gantry__logits_pair_t *pair = find_pair(logits, output);
    return pair && takes_logits(loss, pair->is_sigmoid) ? pair->input : NULL;
}

void gantry__logits_deinit(gantry__logits_t *logits) {
    gantry__logits_end_watch(logits);
    for (size_t i = 0; i < logits->pair_count; ++i) {
        gantry_tensor_release(logits->pairs[i].input);
        gantry_tensor_release(logits->pairs[i].output);
    }
    gantry__free(logits->pairs);
    *logits = (gantry__logits_t){.scope = NULL};
}
