/* SPDX-License-Identifier: Apache-2.0 */
/* All that `gantry devices` shows of a device, in three forms: short, with every detail, and JSON.
 * Owner: the runtime has the devices; what is shown is a plain value. Threads: externally
 * synchronised. */
#ifndef GANTRY_TOOLS_DEVICES_H
#define GANTRY_TOOLS_DEVICES_H

#include "common/tool.h"

#define DEVICES_MOST_PARTS 64

typedef struct devices_part_t {
    char name[64]; /* "/GPU:0" */
    gantry_logical_device_config_t config;
} devices_part_t;

typedef struct devices_shown_t {
    gantry_device_details_t details;
    gantry_device_telemetry_t telemetry; /* memory, temperature and power now */
    gantry_tool_claim_t claim;           /* who holds it now */
    uint64_t largest_allocation_bytes;   /* all of the memory if the device does not say */
    char name[64];                       /* of its first logical device; "": hidden or unlisted */
    char error[512];                     /* the reason why the card cannot be opened, or "" */
    devices_part_t
        parts[DEVICES_MOST_PARTS]; /* of a split or configured device, as /GPU:N counts */
    size_t part_count;
} devices_shown_t;

const char *devices_state_name(gantry_backend_state_t state);
/* Lists all views, or returns NULL. The caller must free the array. */
const gantry_physical_device_t **devices_list_views(gantry_runtime_t *runtime, size_t *out_count);
void devices_look_at(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                     devices_shown_t *out);

/* "1.2 GiB in use, 78.4 GiB free, 97 % busy, 41 C, 120 W", as far as it is known. */
void devices_now_text(const gantry_device_telemetry_t *telemetry, char *out, size_t out_bytes);

/* Print the whole listing, and return the exit code. */
int devices_print_short(gantry_runtime_t *runtime);
int devices_print_details(gantry_runtime_t *runtime);
int devices_print_json(gantry_runtime_t *runtime);

#endif
