/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the tuning file, for the parts of this backend. Owner: a record is the caller's.
 * Threads: thread-safe. */
#ifndef GANTRY_OPENCL_TUNED_H
#define GANTRY_OPENCL_TUNED_H

#include <gantry/backend_abi.h>
#include <stdbool.h>

/* Reads the record, and returns whether there is one; false also where the core keeps none. */
bool gantry__opencl_tuned(const gantry_host_t *host, const gantry_device_info_t *info,
                          const char *what, gantry_tuning_t *out_record);
/* Logs a warning about a record that is left out. */
void gantry__opencl_tuned_refuse(const gantry_host_t *host, const char *what,
                                 const gantry_tuning_t *record, const char *reason);

#endif
