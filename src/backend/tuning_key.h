/* SPDX-License-Identifier: Apache-2.0 */
/* How a device is named in the tuning file: by what decides its speed. Thread-safe. */
#ifndef GANTRY_BACKEND_TUNING_KEY_H
#define GANTRY_BACKEND_TUNING_KEY_H

#include <gantry/backend_abi.h>

#include "base/tuning_text.h"

/* "NVIDIA H200; NVIDIA CUDA 550.54; 132 units; 1 lanes". Texts of info may be NULL; what would
 * not fit a line is made blanks. */
void gantry__tuning_key(const gantry_device_info_t *info,
                        char out_key[GANTRY__TUNING_DEVICE_BYTES]);

#endif
