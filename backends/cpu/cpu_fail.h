/* SPDX-License-Identifier: Apache-2.0 */
/* Reports failures of the CPU backend to the core. Owner: nothing is owned. Threads:
 * thread-safe. */
#ifndef GANTRY_CPU_FAIL_H
#define GANTRY_CPU_FAIL_H

#include <gantry/backend_abi.h>
#include <stdint.h>

/* Gives a failure and its text to the core; returns code. native_code must be an errno, or 0. */
int32_t gantry__cpu_fail(const gantry_host_t *host, int32_t code, int64_t native_code,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
