/* SPDX-License-Identifier: Apache-2.0 */
/* The kind, the settings and the progress of an optimizer as lines that processes compare. Owner:
 * the caller has the lines. Threads: externally synchronised. */
#ifndef GANTRY_TRAIN_COMPARE_OPTIMIZER_H
#define GANTRY_TRAIN_COMPARE_OPTIMIZER_H

#include <gantry_train/optimizer.h>

#include "train/strategy/compare.h"

/* Adds the optimizer's kind, its schedule and all of its settings. A schedule of the program's own
 * is only named, because its rates are in the other lines. */
void gantry__lines_add_optimizer(gantry__lines_t *lines, const gantry_optimizer_t *optimizer);
/* Adds the learning rate of the next step and the number of steps before it, if the optimizer is
 * built. */
void gantry__lines_add_progress(gantry__lines_t *lines, gantry_optimizer_t *optimizer);

#endif
