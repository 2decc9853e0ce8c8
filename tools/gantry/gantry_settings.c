/* SPDX-License-Identifier: Apache-2.0 */
/* gantry settings: every setting, its value, its source, and the values that it overrules. Takes no
 * device memory and initializes no device. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>

#include "gantry_tool.h"

static const char *source_name(gantry_setting_source_t source) {
    static const char *const names[] = {"default", "environment", "option", "call"};
    return (size_t)source < 4 ? names[source] : "invalid";
}

/* The listed devices, or NULL. The caller frees the array. */
static const gantry_physical_device_t **list_devices(gantry_runtime_t *runtime, size_t *out_count) {
    *out_count = 0;
    if (gantry_list_physical_devices(runtime, NULL, 0, NULL, out_count) != GANTRY_OK) return NULL;
    const gantry_physical_device_t **devices = calloc(*out_count + 1, sizeof *devices);
    if (devices &&
        gantry_list_physical_devices(runtime, NULL, *out_count, devices, out_count) == GANTRY_OK)
        return devices;
    free(devices);
    return NULL;
}

static const char *name_of(gantry_runtime_t *runtime, const gantry_physical_device_t *device) {
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

static void add_setting(cJSON *array, const char *name, const char *device,
                        const gantry_setting_t *setting) {
    cJSON *object = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(object, "name", name);
    if (setting->per_device) {
        if (*device) (void)cJSON_AddStringToObject(object, "device", device);
        if (!*device) (void)cJSON_AddNullToObject(object, "device");
    }
    (void)cJSON_AddStringToObject(object, "value", setting->value);
    (void)cJSON_AddStringToObject(object, "fallback", setting->fallback);
    (void)cJSON_AddStringToObject(object, "variable", setting->variable);
    (void)cJSON_AddStringToObject(object, "source", source_name(setting->source));
    (void)cJSON_AddStringToObject(object, "set_by", setting->set_by);
    (void)cJSON_AddStringToObject(object, "overruled", setting->overruled);
    (void)cJSON_AddBoolToObject(object, "frozen", setting->frozen);
    (void)cJSON_AddItemToArray(array, object);
}

/* ---- both ---- */

static bool tell(gantry_runtime_t *runtime, const char *name,
                 const gantry_physical_device_t *device, cJSON *array, bool *out_per_device) {
    gantry_setting_t setting = {.struct_size = sizeof setting};
    if (gantry_get_setting(runtime, name, device, &setting) != GANTRY_OK) {
        (void)fprintf(stderr, "gantry: %s\n", gantry_last_message());
        return false;
    }
    const char *text = name_of(runtime, device);
    if (array) {
        add_setting(array, name, text, &setting);
    } else {
        print_setting(name, *text ? text : setting.per_device ? "*" : "", &setting);
    }
    *out_per_device = setting.per_device;
    return true;
}

int gantry_tool_settings(gantry_runtime_t *runtime, bool json) {
    size_t count;
    const gantry_physical_device_t **devices = list_devices(runtime, &count);
    cJSON *array = json ? cJSON_CreateArray() : NULL;
    bool good = devices && (array || !json);
    for (size_t i = 0; good && i < gantry_setting_count(); ++i) {
        bool per_device = false;
        good = tell(runtime, gantry_setting_name(i), NULL, array, &per_device);
        for (size_t d = 0; good && per_device && d < count; ++d)
            good = tell(runtime, gantry_setting_name(i), devices[d], array, &per_device);
    }
    char *text = array ? cJSON_Print(array) : NULL;
    if (good && text) (void)printf("%s\n", text);
    good = good && (text || !json);
    cJSON_free(text);
    cJSON_Delete(array);
    free(devices);
    return good ? 0 : 1;
}
