/* SPDX-License-Identifier: Apache-2.0 */
/* The clock of the training library, whose time only goes forward. Owner: nothing is kept. Threads:
 * thread-safe. */
#ifndef GANTRY_TRAIN_CLOCK_H
#define GANTRY_TRAIN_CLOCK_H

/* Seconds since a fixed point. */
double gantry__train_clock(void);

#endif
