/* SPDX-License-Identifier: Apache-2.0 */
/* How the options of optimizers and schedules are read. Owner: plain values of the caller. Threads:
 * thread-safe. */
#ifndef GANTRY_TRAIN_OPTIMIZER_OPTIONS_H
#define GANTRY_TRAIN_OPTIMIZER_OPTIONS_H

#include <math.h>

#include "train/base/fail.h"

/* Reads options into `read`, which must be a struct of their type; false after a failure. */
#define GANTRY__TRAIN_READ_OPTIONS(options, read, function)                                \
    (gantry__struct_read(options, (uint32_t)sizeof(read), &(read), (uint32_t)sizeof(read), \
                         function ": options") == GANTRY_OK)

/* Returns the value, or the default for a value of 0, which counts as not given. */
static inline double gantry__train_or_default(double value, double otherwise) {
    return value < 0 || value > 0 || isnan(value) ? value : otherwise;
}

#endif
