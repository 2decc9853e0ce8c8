/* SPDX-License-Identifier: Apache-2.0 */
/* The status of an errno value of a file's functions. Owner: nothing is kept. Threads:
 * thread-safe. */
#ifndef GANTRY_SHARED_ERRNO_STATUS_H
#define GANTRY_SHARED_ERRNO_STATUS_H

#include <gantry/status.h>

gantry_status_t gantry__status_of_errno(int error);

#endif
