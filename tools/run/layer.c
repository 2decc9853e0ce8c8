/* SPDX-License-Identifier: Apache-2.0 */
/* gantry run: Gantry's OpenCL layer for the child, so that a program that does not use Gantry sees
 * only the chosen cards.
 *
 * A loader opens the layers that OPENCL_LAYERS names: ocl-icd since 2.3, and Khronos' since 2021.
 * An older one ignores the variable, so its texts are searched for the variable's name. The layer
 * must be added after layers that the user names, because a loader calls the last one first. */
#include <stdlib.h>
#include <string.h>

#include "base/os/library.h"
#include "base/os/library_inside.h"
#include "base/os/paths.h"
#include "run/run.h"

#define LAYERS "OPENCL_LAYERS"

/* ---- the loader ---- */

/* Opening a loader starts no driver. */
static bool loader_has_layers(gantry_run_layer_t *layer) {
    const char *name = getenv("GANTRY_OPENCL_LIBRARY");
    void *loader = gantry__os_library_open(name && *name ? name : GANTRY_TOOL_OPENCL_LOADER,
                                           GANTRY__OS_LIBRARY_LAZY);
    const void *entry = loader ? gantry__os_library_find(loader, "clGetPlatformIDs") : NULL;
    const char *file = gantry__os_library_file_of(entry);
    const bool has = file && gantry__os_library_has_text(entry, LAYERS);
    if (!file)
        (void)snprintf(layer->reason, sizeof layer->reason, "no OpenCL loader is found");
    else if (!has)
        (void)snprintf(layer->reason, sizeof layer->reason,
                       "the OpenCL loader %.300s has no layers; ocl-icd 2.3 has", file);
    if (loader) gantry__os_library_close(loader);
    return has;
}

/* Returns whether users who cannot write this program can write the layer. */
static bool is_of_others(const char *program, const char *path, gantry_run_layer_t *layer) {
    if (gantry_check_writers(path) != GANTRY_FAILED_PRECONDITION) return false;
    (void)snprintf(layer->reason, sizeof layer->reason, "%s", gantry_last_message());
    return gantry_check_writers(program) == GANTRY_OK;
}

/* The layer is in the folder of Gantry's modules, as this program was installed or built. */
static bool find_layer(gantry_run_layer_t *layer) {
    static const char *const places[] = {GANTRY_TOOL_LAYERS};
    char program[GANTRY__OS_PATH_BYTES] = "";
    const char *name = gantry_tool_program(program) ? gantry__os_path_name(program) : program;
    for (size_t i = 0; name > program && i < sizeof places / sizeof places[0]; ++i) {
        char path[GANTRY__OS_PATH_BYTES + 256];
        (void)snprintf(path, sizeof path, "%.*s%s/" GANTRY_TOOL_LAYER, (int)(name - program),
                       program, places[i]);
        if (gantry__os_real_path(path, layer->path) != 0) continue;
        if (!is_of_others(program, path, layer)) return true;
        layer->path[0] = '\0';
        return false;
    }
    layer->path[0] = '\0';
    (void)snprintf(layer->reason, sizeof layer->reason,
                   GANTRY_TOOL_LAYER " is not installed with this program");
    return false;
}

/* ---- the names of cards ---- */

static void run_layer_append(char *out, size_t out_bytes, const char *text) {
    const size_t used = strlen(out);
    (void)snprintf(out + used, out_bytes - used, "%s%s", used ? ";" : "", text);
}

static unsigned long run_layer_place_of(const gantry_device_details_t *details) {
    return strtoul(details->alias + strcspn(details->alias, ":") + 1, NULL, 10);
}

static bool is_opencl(const gantry_device_details_t *details) {
    return strcmp(details->backend, "opencl") == 0;
}

/* The number of the card among the OpenCL devices of its name. */
static size_t run_layer_number_of(gantry_runtime_t *runtime, const gantry_device_details_t *card) {
    const gantry_physical_device_t *views[4 * GANTRY_RUN_MOST];
    size_t count = 0, number = 0;
    if (gantry_list_device_views(runtime, 4 * GANTRY_RUN_MOST, views, &count) != GANTRY_OK)
        return 0;
    for (size_t i = 0; i < count && i < 4 * GANTRY_RUN_MOST; ++i) {
        gantry_device_details_t view = {.struct_size = sizeof view};
        if (gantry_get_device_details(runtime, views[i], &view) != GANTRY_OK) continue;
        number += is_opencl(&view) && strcmp(view.platform, card->platform) == 0 &&
                  strcmp(view.hardware_name, card->hardware_name) == 0 &&
                  run_layer_place_of(&view) < run_layer_place_of(card);
    }
    return number;
}

/* Without the version, which begins with "OpenCL" and a digit. */
static int platform_length(const char *platform) {
    const char *const version = " OpenCL ";
    for (const char *at = strstr(platform, version); at; at = strstr(at + 1, version)) {
        if (at[strlen(version)] >= '0' && at[strlen(version)] <= '9') return (int)(at - platform);
    }
    return (int)strlen(platform);
}

/* A part of a card has its card's PCI address, so its UUID names it. */
static void run_layer_add_card(gantry_runtime_t *runtime, const gantry_device_details_t *card,
                               gantry_run_layer_t *layer) {
    char name[512];
    if (strncmp(card->uuid, "MIG-", 4) == 0) {
        (void)snprintf(name, sizeof name, "uuid=GPU-%s", card->uuid + 4);
    } else if (*card->pci_address) {
        (void)snprintf(name, sizeof name, "pci=%s", card->pci_address);
    } else if (is_opencl(card)) {
        (void)snprintf(name, sizeof name, "name=%.*s/%.200s/%zu", platform_length(card->platform),
                       card->platform, card->hardware_name, run_layer_number_of(runtime, card));
        for (char *c = name; *c != '\0'; ++c) *c = *c == ';' ? '_' : *c;
    } else {
        (void)snprintf(name, sizeof name, "none"); /* OpenCL has no such device */
    }
    run_layer_append(layer->devices, sizeof layer->devices, name);
}

/* Whether OpenCL shows a GPU, or a processor that is presented as one. */
static bool has_opencl_gpu(gantry_runtime_t *runtime, bool *out_is_processor) {
    const gantry_physical_device_t *views[4 * GANTRY_RUN_MOST];
    size_t count = 0;
    bool has = false;
    *out_is_processor = false;
    if (gantry_list_device_views(runtime, 4 * GANTRY_RUN_MOST, views, &count) != GANTRY_OK)
        return false;
    for (size_t i = 0; i < count && i < 4 * GANTRY_RUN_MOST; ++i) {
        gantry_device_details_t view = {.struct_size = sizeof view};
        if (gantry_get_device_details(runtime, views[i], &view) != GANTRY_OK || !is_opencl(&view) ||
            strcmp(view.type, "GPU") != 0)
            continue;
        gantry_device_telemetry_t now = {.struct_size = sizeof now};
        (void)gantry_get_device_telemetry(runtime, views[i], &now);
        has = true;
        *out_is_processor = *out_is_processor || (now.known & GANTRY_TELEMETRY_LOAD);
    }
    return has;
}

/* ---- the variables ---- */

static bool run_layer_is_in_list(const char *list, const char *path) {
    const char separator = gantry__os_list_separator;
    const size_t length = strlen(path);
    for (const char *at = list; at; at = strchr(at, separator) ? strchr(at, separator) + 1 : NULL) {
        if (strncmp(at, path, length) == 0 && (at[length] == separator || at[length] == '\0'))
            return true;
    }
    return false;
}

static bool set_layers(gantry_run_layer_t *layer, gantry_run_variables_t *variables) {
    const char *before = getenv(LAYERS);
    char list[GANTRY__OS_PATH_BYTES + 4096];
    const bool has_others = before && *before;
    if (has_others && strlen(before) >= 4096)
        return gantry_tool_fail("run: " LAYERS " has %zu bytes; 4095 are accepted",
                                strlen(before)) == GANTRY_TOOL_OK;
    if (has_others && run_layer_is_in_list(before, layer->path)) {
        (void)snprintf(list, sizeof list, "%s", before);
    } else {
        (void)snprintf(list, sizeof list, "%s%.*s%s", has_others ? before : "", has_others,
                       &gantry__os_list_separator, layer->path);
    }
    layer->is_set = true;
    return gantry_run_set_variable(variables, LAYERS, list) &&
           gantry_run_set_variable(variables, "GANTRY_OPENCL_LAYER_DEVICES", layer->devices);
}

bool gantry_run_set_layer(gantry_runtime_t *runtime, const gantry_run_card_t *cards,
                          const size_t *chosen, size_t chosen_count,
                          gantry_run_variables_t *variables, gantry_run_layer_t *layer) {
    bool has_processors;
    *layer = (gantry_run_layer_t){.is_set = false};
    if (!has_opencl_gpu(runtime, &has_processors)) {
        (void)snprintf(layer->reason, sizeof layer->reason, "OpenCL shows no GPU here");
        return true;
    }
    for (size_t i = 0; i < chosen_count; ++i)
        run_layer_add_card(runtime, &cards[chosen[i]].details, layer);
    if (chosen_count == 0)
        run_layer_append(layer->devices, sizeof layer->devices, has_processors ? "none" : "cpu");
    if (!find_layer(layer) || !loader_has_layers(layer)) return true;
    return set_layers(layer, variables);
}
