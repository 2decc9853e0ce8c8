/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the copies of each device, for the report. Owner: the counters live as long as the
 * process. Threads: thread-safe. */
#ifndef GANTRY_TENSORFLOW_COPY_COUNT_H
#define GANTRY_TENSORFLOW_COPY_COUNT_H

#include <stdint.h>

typedef enum copy_way_t {
    COPY_TO_DEVICE,
    COPY_TO_HOST,
    COPY_FROM_DEVICE, /* from another device to this one */
    COPY_WAYS
} copy_way_t;

/* Counts a copy that begins or ends on a device. */
void copy_count_add(copy_way_t way, uint32_t device, uint64_t bytes);
/* Reads the counts of a device. */
void copy_count_read(copy_way_t way, uint32_t device, uint64_t *out_copies, uint64_t *out_bytes);

#endif
