/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of public calls share. */
#ifndef GANTRY_RUN_API_H
#define GANTRY_RUN_API_H

#include "base/struct_size.h"
#include "run/runtime_state.h"

/* The one logical device that a user's text names; initialises the runtime. call names the public call in messages. */
gantry_status_t gantry__find_device(gantry_runtime_t *runtime, const char *name, const char *call, gantry_logical_device_t **out_device);

#endif
