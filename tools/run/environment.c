/* SPDX-License-Identifier: Apache-2.0 */
/* gantry run: the variables by which a child sees only the chosen cards.
 *
 *     GANTRY_RUN_DEVICES       UUIDs, or "cpu": what this run gave to the child
 *     GANTRY_VISIBLE_DEVICES   UUIDs, or -1
 *     CUDA_VISIBLE_DEVICES     UUIDs, or -1: CUDA and NVIDIA's OpenCL
 *     GPU_DEVICE_ORDINAL       places in AMD's platform, or -1: AMD's OpenCL
 *     HIP_VISIBLE_DEVICES      the same: HIP
 *
 * A vendor's variables are set only if the machine has a card of that vendor. */
#include <stdlib.h>
#include <string.h>

#include "base/os/environment.h"
#include "run/run.h"

typedef struct list_t {
    char text[GANTRY_RUN_MOST * 64];
} list_t;

static void environment_add(list_t *list, const char *text) {
    const size_t used = strlen(list->text);
    (void)snprintf(list->text + used, sizeof list->text - used, "%s%s", used ? "," : "", text);
}

bool gantry_run_set_variable(gantry_run_variables_t *variables, const char *name,
                             const char *value) {
    const int error = gantry__os_set_variable(name, value);
    if (error) {
        (void)gantry_tool_fail("run: %s cannot be set: %s", name, strerror(error));
        return false;
    }
    variables->names[variables->count] = name;
    variables->values[variables->count++] = getenv(name);
    return true;
}

static bool set(gantry_run_variables_t *variables, const char *name, const list_t *list) {
    return gantry_run_set_variable(variables, name, *list->text ? list->text : "-1");
}

static bool is_nvidia(const gantry_device_details_t *details) {
    return strstr(details->vendor, "NVIDIA") != NULL;
}

static bool is_amd(const gantry_device_details_t *details) {
    return strstr(details->vendor, "Advanced Micro Devices") != NULL;
}

/* The card's place among the devices of its platform, which is how its driver counts. */
static size_t place_in_platform(gantry_runtime_t *runtime, const gantry_device_details_t *card) {
    const gantry_physical_device_t *views[4 * GANTRY_RUN_MOST];
    size_t count = 0, place = 0;
    if (gantry_list_device_views(runtime, 4 * GANTRY_RUN_MOST, views, &count) != GANTRY_OK)
        return 0;
    const unsigned long own = strtoul(card->alias + strcspn(card->alias, ":") + 1, NULL, 10);
    for (size_t i = 0; i < count && i < 4 * GANTRY_RUN_MOST; ++i) {
        gantry_device_details_t view = {.struct_size = sizeof view};
        if (gantry_get_device_details(runtime, views[i], &view) != GANTRY_OK) continue;
        if (strcmp(view.backend, card->backend) != 0 || strcmp(view.platform, card->platform) != 0)
            continue;
        place += strtoul(view.alias + strcspn(view.alias, ":") + 1, NULL, 10) < own;
    }
    return place;
}

/* Whether any card of this machine, hidden ones included, is of the vendor. */
static bool has_vendor(gantry_runtime_t *runtime,
                       bool (*is_vendor)(const gantry_device_details_t *details)) {
    const gantry_physical_device_t *devices[GANTRY_RUN_MOST];
    size_t count = 0;
    if (gantry_list_physical_devices(runtime, "GPU", GANTRY_RUN_MOST, devices, &count) != GANTRY_OK)
        return false;
    for (size_t i = 0; i < count && i < GANTRY_RUN_MOST; ++i) {
        gantry_device_details_t details = {.struct_size = sizeof details};
        if (gantry_get_device_details(runtime, devices[i], &details) == GANTRY_OK &&
            is_vendor(&details))
            return true;
    }
    return false;
}

bool gantry_run_set_environment(gantry_runtime_t *runtime, const gantry_run_card_t *cards,
                                const size_t *chosen, size_t chosen_count,
                                gantry_run_variables_t *variables) {
    list_t all = {""}, nvidia = {""}, amd = {""};
    for (size_t i = 0; i < chosen_count; ++i) {
        const gantry_device_details_t *details = &cards[chosen[i]].details;
        char place[24];
        environment_add(&all, details->uuid);
        if (is_nvidia(details)) environment_add(&nvidia, details->uuid);
        (void)snprintf(place, sizeof place, "%zu",
                       is_amd(details) ? place_in_platform(runtime, details) : 0);
        if (is_amd(details)) environment_add(&amd, place);
    }
    if (!gantry_run_set_variable(variables, "GANTRY_RUN_DEVICES",
                                 chosen_count ? all.text : "cpu") ||
        !set(variables, "GANTRY_VISIBLE_DEVICES", &all))
        return false;
    if (has_vendor(runtime, is_nvidia) && !set(variables, "CUDA_VISIBLE_DEVICES", &nvidia))
        return false;
    if (!has_vendor(runtime, is_amd)) return true;
    return set(variables, "GPU_DEVICE_ORDINAL", &amd) &&
           set(variables, "HIP_VISIBLE_DEVICES", &amd);
}
