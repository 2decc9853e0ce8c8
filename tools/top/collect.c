/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of gantry top: each card once, by its listed view, and the views that belong to no
 * card with another one. Opens no device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/paths.h"
#include "top/top.h"

#define COMMON_FOLDER "/tmp/gantry-status"

/* The last part of a path: "/usr/bin/python3" is "python3". */
static const char *base_name(const char *path) {
    const char *name = gantry__os_path_name(path);
    return *name ? name : path;
}

static void fill_process(gantry_top_process_t *out, const gantry_device_process_t *process) {
    *out = (gantry_top_process_t){.pid = process->pid,
                                  .used_bytes = process->used_bytes,
                                  .is_graphics = process->is_graphics != 0};
    gantry_top_describe(process->pid, out->name, sizeof out->name, out->user, sizeof out->user);
    if (!*out->name) (void)snprintf(out->name, sizeof out->name, "%s", base_name(process->name));
}

static void collect_processes(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                              gantry_top_device_t *out) {
    gantry_device_process_t found[GANTRY_TOP_PROCESSES] = {{.struct_size = sizeof found[0]}};
    size_t count = 0;
    out->has_processes = gantry_list_device_processes(runtime, device, GANTRY_TOP_PROCESSES, found,
                                                      &count) == GANTRY_OK;
    for (size_t i = 0; i < count && i < GANTRY_TOP_PROCESSES; ++i)
        fill_process(&out->processes[out->process_count++], &found[i]);
}

/* False for the second view of a card. */
static bool collect_device(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                           gantry_top_device_t *out) {
    out->details = (gantry_device_details_t){.struct_size = sizeof out->details};
    out->figures = (gantry_device_telemetry_t){.struct_size = sizeof out->figures};
    out->process_count = 0;
    if (gantry_get_device_details(runtime, device, &out->details) != GANTRY_OK ||
        (!out->details.listed && *out->details.other_view))
        return false;
    const char *colon = strchr(out->details.name, ':');
    (void)snprintf(out->name, sizeof out->name, "%s",
                   out->details.listed && colon ? colon + 1 : out->details.alias);
    out->is_cpu = strcmp(out->details.type, "CPU") == 0;
    (void)gantry_get_device_telemetry(runtime, device, &out->figures);
    gantry_tool_claim_read(runtime, device, &out->claim);
    collect_processes(runtime, device, out);
    return true;
}

bool gantry_top_collect(gantry_top_t *top) {
    const gantry_physical_device_t *views[GANTRY_TOP_DEVICES];
    size_t count = 0;
    top->device_count = top->program_count = 0;
    top->now = time(NULL);
    if (gantry_list_device_views(top->runtime, GANTRY_TOP_DEVICES, views, &count) != GANTRY_OK)
        return false;
    for (size_t i = 0; i < count && i < GANTRY_TOP_DEVICES; ++i) {
        if (collect_device(top->runtime, views[i], &top->devices[top->device_count]))
            ++top->device_count;
    }
    const char *folder = getenv("GANTRY_STATUS");
    gantry_top_read_programs(
        top, folder && gantry__os_path_is_absolute(folder) ? folder : COMMON_FOLDER);
    return true;
}
