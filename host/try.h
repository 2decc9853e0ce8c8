/* SPDX-License-Identifier: Apache-2.0 */
/* Hands a failure on to the caller: the function returns the status, unless it is 0, which is OK in
 * every status of Gantry. Owner: nothing is kept. Threads: thread-safe. */
#ifndef GANTRY_HOST_TRY_H
#define GANTRY_HOST_TRY_H

#define GANTRY__TRY(expression)                            \
    do {                                                   \
        __typeof__(expression) try_status_ = (expression); \
        if (try_status_ != 0) return try_status_;          \
    } while (0)

#endif
