/* SPDX-License-Identifier: Apache-2.0 */
/* Hands a failure on to the caller, as base/failure.h of the core does: for slots and kernels,
 * whose statuses are int32_t.
 *
 * Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_TRY_H
#define GANTRY_KERNELS_TRY_H

#include <stdint.h>

#define GANTRY__TRY(expression)                   \
    do {                                          \
        int32_t try_status_ = (expression);       \
        if (try_status_ != 0) return try_status_; \
    } while (0)

#endif
