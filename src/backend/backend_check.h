/* SPDX-License-Identifier: Apache-2.0 */
/* The check of a backend's table, before any slot is called. Owner: nothing is kept. Threads:
 * thread-safe. */
#ifndef GANTRY_BACKEND_BACKEND_CHECK_H
#define GANTRY_BACKEND_BACKEND_CHECK_H

#include <gantry/backend_abi.h>
#include <gantry/status.h>

/* Checks a backend's table: OK, or FailedPrecondition / InvalidArgument naming the bad slot. */
gantry_status_t gantry__backend_table_check(const gantry_backend_t *table);

/* The slots by which the backend shares with the program; NULL: none, as in every table of version
 * 1. */
const gantry_interop_ops_t *gantry__backend_interop(const gantry_backend_t *table);

#endif
