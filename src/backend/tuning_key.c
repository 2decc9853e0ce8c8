/* SPDX-License-Identifier: Apache-2.0 */
#include "backend/tuning_key.h"

#include <stdio.h>

static const char *text_of(const char *text) { return text ? text : ""; }

void gantry__tuning_key(const gantry_device_info_t *info,
                        char out_key[GANTRY__TUNING_DEVICE_BYTES]) {
    (void)snprintf(out_key, GANTRY__TUNING_DEVICE_BYTES, "%.100s; %.60s %.60s; %u units; %u lanes",
                   text_of(info->hardware_name), text_of(info->platform_name),
                   text_of(info->driver_version), info->compute_units, info->native_vector_width);
    for (char *c = out_key; *c; ++c) {
        if ((unsigned char)*c < ' ' || *c == 0x7f) *c = ' ';
    }
}
