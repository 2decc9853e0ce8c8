/* SPDX-License-Identifier: Apache-2.0 */
/* gantry settings: every setting, its value, its source, and the values that it overrules. Takes no
 * device memory and initializes no device. */
#include <stdio.h>
#include <stdlib.h>

#include "command/command.h"
#include "common/tool.h"

static const char *source_name(gantry_setting_source_t source) {
    static const char *const names[] = {"default", "environment", "option", "call"};
    return (size_t)source < 4 ? names[source] : "invalid";
}

/* The listed devices, or NULL. The caller frees the array. */
static const gantry_physical_device_t **settings_list_devices(gantry_runtime_t *runtime,
                                                              size_t *out_count) {
    *out_count = 0;
    if (gantry_list_physical_devices(runtime, NULL, 0, NULL, out_count) != GANTRY_OK) return NULL;
    const gantry_physical_device_t **devices = calloc(*out_count + 1, sizeof *devices);
    if (devices &&
        gantry_list_physical_devices(runtime, NULL, *out_count, devices, out_count) == GANTRY_OK)
        return devices;
    free(devices);
    return NULL;
}

static const char *settings_name_of(gantry_runtime_t *runtime,
                                    const gantry_physical_device_t *device) {
    gantry_device_details_t details = {.struct_size = sizeof details};
    return device && gantry_get_device_details(runtime, device, &details) == GANTRY_OK
               ? details.name
               : "";
}

/* ---- text ---- */

static void print_setting(const char *name, const char *device, const gantry_setting_t *setting) {
    char value[sizeof setting->value] = "\"\"";
    bool is_default = setting->source == GANTRY_FROM_DEFAULT, is_empty = *setting->value == '\0';
    if (!is_empty) (void)snprintf(value, sizeof value, "%s", setting->value);
    if (is_empty && is_default) (void)snprintf(value, sizeof value, "(%s)", setting->fallback);
    (void)printf("%-33s %-24s %-24s %s", name, device, value, setting->set_by);
    if (is_default) (void)printf(" (%s)", setting->variable);
    if (*setting->overruled) (void)printf("; overrules %s", setting->overruled);
    (void)printf("\n");
}

/* ---- JSON ---- */

static void add_setting(gantry_json_t *json, const char *name, const char *device,
                        const gantry_setting_t *setting) {
    gantry_json_object(json, NULL);
    gantry_json_text(json, "name", name);
    if (setting->per_device) gantry_json_text(json, "device", *device ? device : NULL);
    gantry_json_text(json, "value", setting->value);
    gantry_json_text(json, "fallback", setting->fallback);
    gantry_json_text(json, "variable", setting->variable);
    gantry_json_text(json, "source", source_name(setting->source));
    gantry_json_text(json, "set_by", setting->set_by);
    gantry_json_text(json, "overruled", setting->overruled);
    gantry_json_bool(json, "frozen", setting->frozen);
    gantry_json_end(json);
}

/* ---- both ---- */

static bool settings_tell(gantry_runtime_t *runtime, const char *name,
                          const gantry_physical_device_t *device, gantry_json_t *json,
                          bool *out_per_device) {
    gantry_setting_t setting = {.struct_size = sizeof setting};
    if (gantry_get_setting(runtime, name, device, &setting) != GANTRY_OK) {
        (void)gantry_tool_fail_last();
        return false;
    }
    const char *text = settings_name_of(runtime, device);
    if (json) {
        add_setting(json, name, text, &setting);
    } else {
        print_setting(name, *text ? text : setting.per_device ? "*" : "", &setting);
    }
    *out_per_device = setting.per_device;
    return true;
}

static bool tell_all(gantry_runtime_t *runtime, gantry_json_t *json) {
    size_t count;
    const gantry_physical_device_t **devices = settings_list_devices(runtime, &count);
    bool good = devices;
    for (size_t i = 0; good && i < gantry_setting_count(); ++i) {
        bool per_device = false;
        good = settings_tell(runtime, gantry_setting_name(i), NULL, json, &per_device);
        for (size_t d = 0; good && per_device && d < count; ++d)
            good = settings_tell(runtime, gantry_setting_name(i), devices[d], json, &per_device);
    }
    free(devices);
    return good;
}

static int settings_run(const gantry_command_values_t *values) {
    bool prints_all = false;
    /* The log level must not be set, because the listing shows that of other programs. */
    gantry_runtime_options_t options = {
        .struct_size = sizeof options, .log = gantry_tool_log, .log_user = &prints_all};
    if (gantry_command_has(values, "opencl-cpu-as-gpu")) options.opencl_cpu_as_gpu = GANTRY_ON;
    gantry_runtime_t *runtime;
    gantry_json_t json;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) return gantry_tool_fail_last();
    const bool is_json = gantry_command_has(values, "json");
    gantry_json_init(&json, stdout);
    if (is_json) gantry_json_array(&json, NULL);
    const bool good = tell_all(runtime, is_json ? &json : NULL);
    if (is_json) gantry_json_end(&json);
    gantry_runtime_release(runtime);
    return good ? GANTRY_TOOL_OK : GANTRY_TOOL_FAILED;
}

const gantry_command_t gantry_command_settings = {
    .name = "settings",
    .summary = "lists every setting with its value, its source and the values that it overrules",
    .description =
        "A setting comes from a call, an option of the program, a variable of the environment, or its "
        "default; the first of these wins. Settings that may differ between devices have a line for "
        "each device. docs/environment.md explains every variable.",
    .options = {GANTRY_OPTION_JSON, GANTRY_OPTION_CPU_AS_GPU},
    .examples = {{"gantry settings", NULL},
                 {"GANTRY_MEMORY_LIMIT=GPU:0=2G gantry settings",
                  "shows what the variable changes"}},
    .run = settings_run};
