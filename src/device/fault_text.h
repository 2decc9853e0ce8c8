/* SPDX-License-Identifier: Apache-2.0 */
/* The text of bad data that a kernel found: the words that the CPU backend would use at the call,
 * and the op's name and number, because the error is reported later.
 *
 * Fetching waits for the device and takes no lock of the faults; describing is pure.
 *
 * Owner: the values are plain; the text is the fault's. Threads: externally synchronised. */
#ifndef GANTRY_DEVICE_FAULT_TEXT_H
#define GANTRY_DEVICE_FAULT_TEXT_H

#include "device/fault.h"

#define GANTRY__FAULT_NUMBERS 8 /* the interface's limit for ranks and counts */

/* The values at a place. */
typedef struct gantry__fault_values_t {
    int64_t numbers[GANTRY__FAULT_NUMBERS];
    int32_t count;   /* 0: unknown */
    char cause[160]; /* why they cannot be fetched; "" if none were kept */
} gantry__fault_values_t;

/* Reads the values at the position. The launch must have ended. */
gantry__fault_values_t gantry__fault_fetch_values(const gantry__fault_t *fault, int64_t position);
/* Completes fault->text, which has a place in front, or the op's number in it. */
void gantry__fault_describe(gantry__fault_t *fault, uint32_t code, uint32_t input, int64_t position,
                            const gantry__fault_values_t *values);

#endif
