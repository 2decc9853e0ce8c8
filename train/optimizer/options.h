/* SPDX-License-Identifier: Apache-2.0 */
/* How options of optimizers and schedules are read. */
#ifndef GANTRY_TRAIN_OPTIMIZER_OPTIONS_H
#define GANTRY_TRAIN_OPTIMIZER_OPTIONS_H

#include <math.h>

#include "train/base/fail.h"

/* Reads options into `read`, a struct of their type; false after a failure. */
#define GANTRY__TRAIN_READ_OPTIONS(options, read, function)                                  \
    (gantry__train_options(options, (uint32_t)sizeof(read), &(read), (uint32_t)sizeof(read), \
                           function ": options") == GANTRY_OK)

/* A number that is 0 was not given. */
static inline double gantry__train_or_default(double value, double otherwise) {
    return value < 0 || value > 0 || isnan(value) ? value : otherwise;
}

#endif
