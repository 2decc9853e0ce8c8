/* SPDX-License-Identifier: Apache-2.0 */
/* What an optimizer is, as lines that processes compare. Externally synchronised. */
#ifndef GANTRY_TRAIN_COMPARE_OPTIMIZER_H
#define GANTRY_TRAIN_COMPARE_OPTIMIZER_H

#include <gantry_train/optimizer.h>

#include "train/strategy/compare.h"

/* Its kind, its schedule and all of its settings. Of a schedule of the program's own, only that
 * there is one: its rates are in the other lines. */
void gantry__lines_add_optimizer(gantry__lines_t *lines, const gantry_optimizer_t *optimizer);
/* The learning rate of its next step, and how many steps were before, once it is built. */
void gantry__lines_add_progress(gantry__lines_t *lines, gantry_optimizer_t *optimizer);

#endif
