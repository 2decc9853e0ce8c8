/* SPDX-License-Identifier: Apache-2.0 */
/* SwapEMAWeights: the averages of the weights take their places while a validation runs, and
 * between epochs if the callback is made so. The model knows where they are, so that the end of a
 * training, and the next one after a failure, put both in order. */
#include <stdio.h>
#include <string.h>

#include "train/base/fail.h"
#include "train/model/model_state.h"
#include "train/model/own_callback.h"
#include "train/optimizer/optimizer_state.h"

static gantry_status_t begin_swapping(gantry_model_t *model, void *user) {
    gantry__own_callback_t *own = user;
    own->model = model;
    if (model->program.optimizer->settings.use_ema) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "gantry_swap_ema_weights: optimizer %s of model %s has no averages; one with use_ema is accepted",
        model->program.optimizer->rule->name, model->name);
}

static gantry_status_t swap_in(gantry_model_t *model, void *user) {
    (void)user;
    return gantry__model_hold_averages(model, true);
}

static gantry_status_t swap_back(gantry_model_t *model, void *user) {
    (void)user;
    return gantry__model_hold_averages(model, false);
}

static gantry_status_t begin_epoch_swapped(gantry_model_t *model, int64_t epoch, void *user) {
    (void)epoch;
    return swap_back(model, user);
}

static gantry_status_t end_epoch_swapped(gantry_model_t *model, int64_t epoch,
                                         const gantry_logs_t *logs, bool *stop, void *user) {
    (void)epoch, (void)logs, (void)stop;
    return swap_in(model, user);
}

/* ---- what a backup keeps: where the weights are ---- */

static gantry_status_t get_places(char *out, size_t bytes, void *user) {
    const gantry__own_callback_t *own = user;
    (void)snprintf(out, bytes, "%d", own->model->state.holds_averages ? 1 : 0);
    return GANTRY_OK;
}

static gantry_status_t set_places(const char *text, void *user) {
    const gantry__own_callback_t *own = user;
    if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
        return gantry__train_refuse(
            NULL, "a callback's state is \"%.100s\"; one of gantry_swap_ema_weights is accepted",
            text);
    own->model->state.holds_averages = *text == '1';
    return GANTRY_OK;
}

gantry_callback_t *gantry_swap_ema_weights(bool swap_on_epoch) {
    gantry__own_callback_t *own = gantry__callback_make(NULL, NULL);
    if (!own) return NULL;
    own->callback.train_begin = begin_swapping;
    own->callback.test_begin = swap_in;
    own->callback.test_end = swap_back;
    own->callback.get_state = get_places;
    own->callback.set_state = set_places;
    if (swap_on_epoch) {
        own->callback.epoch_begin = begin_epoch_swapped;
        own->callback.epoch_end = end_epoch_swapped;
    }
    return &own->callback;
}
