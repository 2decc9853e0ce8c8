/* SPDX-License-Identifier: Apache-2.0 */
/* Between the fake backend's control and its slots: plans and counters by slot name. Thread-safe;
 * takes the module's lock. */
#ifndef TESTS_STAND_INS_FAKE_CONTROL_H
#define TESTS_STAND_INS_FAKE_CONTROL_H

#include "fake_internal.h"

#include <time.h>

uint32_t gantry__fake_slot_count(void);
const char *gantry__fake_slot_name(uint32_t slot);
int32_t gantry__fake_slot_can_fail(uint32_t slot);
uint64_t gantry__fake_calls(const char *name);
int32_t gantry__fake_fail_calls(const char *name, uint64_t first, uint64_t count, int32_t status,
                                const char *text);

/* The time this many milliseconds from now, on the clock of pthread_cond_timedwait. */
struct timespec gantry__fake_deadline(uint32_t ms);

#endif
