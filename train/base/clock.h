/* SPDX-License-Identifier: Apache-2.0 */
/* Time that only goes forward. Thread-safe. */
#ifndef GANTRY_TRAIN_CLOCK_H
#define GANTRY_TRAIN_CLOCK_H

/* Seconds since a fixed point. */
double gantry__train_clock(void);

#endif
