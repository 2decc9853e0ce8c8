/* SPDX-License-Identifier: Apache-2.0 */
/* The name of a device in the tuning file: the properties that decide its speed. Owner: the
 * caller's array. Threads: thread-safe. */
#ifndef GANTRY_BACKEND_TUNING_KEY_H
#define GANTRY_BACKEND_TUNING_KEY_H

#include <gantry/backend_abi.h>

#include "base/tuning_text.h"

/* Writes a name such as "NVIDIA H200; NVIDIA CUDA 550.54; 132 units; 1 lanes". Texts of info may be
 * NULL; characters that a line cannot hold become blanks. */
void gantry__tuning_key(const gantry_device_info_t *info,
                        char out_key[GANTRY__TUNING_DEVICE_BYTES]);

#endif
