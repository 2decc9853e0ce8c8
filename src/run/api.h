/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of public calls share. */
#ifndef GANTRY_RUN_API_H
#define GANTRY_RUN_API_H

#include "run/runtime_state.h"

/* Copies as much of a struct as the caller's version of it has. InvalidArgument for a struct_size that cannot be. */
gantry_status_t gantry__copy_out(const void *all, size_t all_bytes, void *out, uint32_t struct_size, const char *what);

/* The one logical device that a user's text names; initialises the runtime. call names the public call in messages. */
gantry_status_t gantry__find_device(gantry_runtime_t *runtime, const char *name, const char *call, gantry_logical_device_t **out_device);

#endif
