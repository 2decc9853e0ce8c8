/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the tuning file, as the parts of this backend ask for them. Threads: thread-safe. */
#ifndef GANTRY_OPENCL_TUNED_H
#define GANTRY_OPENCL_TUNED_H

#include <gantry/backend_abi.h>
#include <stdbool.h>

/* 1 with the record; 0 also where the core keeps none. */
bool gantry__opencl_tuned(const gantry_host_t *host, const gantry_device_info_t *info,
                          const char *what, gantry_tuning_t *out_record);
/* Warns of a record that is left out. */
void gantry__opencl_tuned_refuse(const gantry_host_t *host, const char *what,
                                 const gantry_tuning_t *record, const char *reason);

#endif
