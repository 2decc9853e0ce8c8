/* SPDX-License-Identifier: Apache-2.0 */
/* gantry ops: all ops, and the devices that have kernels for them. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <string.h>

#include "gantry_tool.h"

/* A name for several types, used if a kernel has all of them. */
typedef struct type_set_t {
    const char *name;
    size_t count;
    gantry_dtype_t types[8];
} type_set_t;

static const type_set_t sets[] = {
    {"floating", 4, {GANTRY_FLOAT16, GANTRY_BFLOAT16, GANTRY_FLOAT32, GANTRY_FLOAT64}},
    {"integers",
     8,
     {GANTRY_INT8, GANTRY_INT16, GANTRY_INT32, GANTRY_INT64, GANTRY_UINT8, GANTRY_UINT16,
      GANTRY_UINT32, GANTRY_UINT64}},
    {"bool", 1, {GANTRY_BOOL}},
    {"complex64", 1, {GANTRY_COMPLEX64}},
};
#define SETS (sizeof sets / sizeof sets[0])
#define PARTS_BYTES 512

typedef enum format_t { IN_TEXT, IN_JSON, IN_MARKDOWN } format_t;

typedef struct devices_t {
    const gantry_logical_device_t *items[32];
    size_t count;
} devices_t;

static void append(char *out, size_t out_bytes, const char *word) {
    size_t used = strlen(out);
    (void)snprintf(out + used, out_bytes - used, "%s%s", used ? " " : "", word);
}

/* Appends the set's types for which the device has a kernel of the op, or the set's name if these
 * are all. Returns whether they are all. */
static bool list_set(gantry_runtime_t *runtime, const char *op,
                     const gantry_logical_device_t *device, const type_set_t *set, char *out,
                     size_t out_bytes) {
    char some[128] = "";
    size_t count = 0;
    for (size_t i = 0; i < set->count; ++i) {
        bool has = false;
        if (gantry_op_has_kernel(runtime, op, device, set->types[i], &has, NULL) != GANTRY_OK ||
            !has)
            continue;
        append(some, sizeof some, gantry_dtype_name(set->types[i]));
        ++count;
    }
    if (count > 0) append(out, out_bytes, count == set->count ? set->name : some);
    return count == set->count;
}

/* "float32 float64", "floating integers", or "all types". */
static void list_types(gantry_runtime_t *runtime, const char *op,
                       const gantry_logical_device_t *device, char *out, size_t out_bytes) {
    bool all = true;
    out[0] = '\0';
    for (size_t i = 0; i < SETS; ++i)
        all = list_set(runtime, op, device, &sets[i], out, out_bytes) && all;
    if (all) (void)snprintf(out, out_bytes, "all types");
}

/* "composed of Mul, Sum"; "" for an op with kernels. */
static void list_parts(const gantry_op_info_t *info, char *out, size_t out_bytes) {
    out[0] = '\0';
    if (!info->is_composed) return;
    (void)snprintf(out, out_bytes, "%s", info->part_count ? "composed of " : "made on the host");
    for (size_t i = 0; i < info->part_count; ++i) {
        size_t used = strlen(out);
        (void)snprintf(out + used, out_bytes - used, "%s%s", i ? ", " : "", info->parts[i]);
    }
}

static void print_op(gantry_runtime_t *runtime, const gantry_op_info_t *info,
                     const devices_t *devices) {
    (void)printf("%s(", info->name);
    for (size_t i = 0; i < info->input_count; ++i)
        (void)printf("%s%s", i ? ", " : "", info->inputs[i]);
    (void)printf(") -> ");
    for (size_t i = 0; i < info->output_count; ++i)
        (void)printf("%s%s", i ? ", " : "", info->outputs[i]);
    (void)printf("\n    %s\n", info->summary);
    char parts[PARTS_BYTES];
    list_parts(info, parts, sizeof parts);
    for (size_t i = 0; i < info->attr_count; ++i) (void)printf("    %s\n", info->attrs[i]);
    if (*parts) (void)printf("    %s\n", parts);
    for (size_t i = 0; i < devices->count; ++i) {
        char text[128];
        list_types(runtime, info->name, devices->items[i], text, sizeof text);
        (void)printf("    %s: %s\n", gantry_logical_device_name(devices->items[i]),
                     *text ? text : "no kernel");
    }
}

/* Prints the text of a cell. Escapes bars, which would end the cell, and names the floating types
 * together. */
static void print_cell(const char *text) {
    static const char types[] = "float16, bfloat16, float32, float64";
    while (*text) {
        if (strncmp(text, types, strlen(types)) == 0) {
            (void)printf("the floating types");
            text += strlen(types);
        } else {
            (void)printf(*text == '|' ? "\\%c" : "%c", *text);
            ++text;
        }
    }
}

/* One row of docs/ops.md. */
static void print_row(gantry_runtime_t *runtime, const gantry_op_info_t *info,
                      const devices_t *devices) {
    (void)printf("| %s | ", info->name);
    for (size_t i = 0; i < info->input_count; ++i)
        (void)printf("%s%s", i ? ", " : "", info->inputs[i]);
    (void)printf(" | ");
    for (size_t i = 0; i < info->attr_count; ++i) {
        if (i > 0) (void)printf("; ");
        print_cell(info->attrs[i]);
    }
    (void)printf(" | ");
    print_cell(info->summary);
    if (info->is_composed) (void)printf("; %s", info->part_count ? "composed" : "made on the host");
    (void)printf(" |");
    for (size_t i = 0; i < devices->count; ++i) {
        char text[128];
        list_types(runtime, info->name, devices->items[i], text, sizeof text);
        (void)printf(" %s |", *text ? text : "-");
    }
    (void)printf("\n");
}

static void print_head(const devices_t *devices) {
    (void)printf("| op | inputs | attributes | what |");
    for (size_t i = 0; i < devices->count; ++i)
        (void)printf(" %s |", gantry_logical_device_name(devices->items[i]));
    (void)printf("\n|---|---|---|---|");
    for (size_t i = 0; i < devices->count; ++i) (void)printf("---|");
    (void)printf("\n");
}

/* The second table of docs/ops.md. */
static void print_parts(void) {
    (void)printf("\n| composed op | parts |\n|---|---|\n");
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        gantry_op_info_t info = {.struct_size = sizeof info};
        if (gantry_op_info(i, &info) != GANTRY_OK || info.part_count == 0) continue;
        (void)printf("| %s | ", info.name);
        for (size_t k = 0; k < info.part_count; ++k)
            (void)printf("%s%s", k ? ", " : "", info.parts[k]);
        (void)printf(" |\n");
    }
}

static cJSON *names_json(const char *const *names, size_t count) {
    cJSON *array = cJSON_CreateArray();
    for (size_t i = 0; i < count; ++i)
        (void)cJSON_AddItemToArray(array, cJSON_CreateString(names[i]));
    return array;
}

static cJSON *op_json(gantry_runtime_t *runtime, const gantry_op_info_t *info,
                      const devices_t *devices) {
    cJSON *object = cJSON_CreateObject();
    (void)cJSON_AddStringToObject(object, "name", info->name);
    (void)cJSON_AddStringToObject(object, "summary", info->summary);
    (void)cJSON_AddItemToObject(object, "inputs", names_json(info->inputs, info->input_count));
    (void)cJSON_AddItemToObject(object, "outputs", names_json(info->outputs, info->output_count));
    (void)cJSON_AddItemToObject(object, "attributes", names_json(info->attrs, info->attr_count));
    if (info->is_composed)
        (void)cJSON_AddItemToObject(object, "parts", names_json(info->parts, info->part_count));
    cJSON *kernels = cJSON_AddObjectToObject(object, "kernels");
    for (size_t i = 0; i < devices->count; ++i) {
        char text[128];
        list_types(runtime, info->name, devices->items[i], text, sizeof text);
        (void)cJSON_AddStringToObject(kernels, gantry_logical_device_name(devices->items[i]), text);
    }
    return object;
}

static void print_list(gantry_runtime_t *runtime, format_t format, const devices_t *devices) {
    cJSON *array = cJSON_CreateArray();
    if (format == IN_MARKDOWN) print_head(devices);
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        gantry_op_info_t info = {.struct_size = sizeof info};
        if (gantry_op_info(i, &info) != GANTRY_OK) continue;
        if (format == IN_JSON) {
            (void)cJSON_AddItemToArray(array, op_json(runtime, &info, devices));
        } else if (format == IN_MARKDOWN) {
            print_row(runtime, &info, devices);
        } else {
            print_op(runtime, &info, devices);
        }
    }
    if (format == IN_MARKDOWN) print_parts();
    char *text = format == IN_JSON ? cJSON_Print(array) : NULL;
    if (text) (void)printf("%s\n", text);
    cJSON_free(text);
    cJSON_Delete(array);
}

static int ops_run(const gantry_command_values_t *values) {
    devices_t devices;
    const format_t format = gantry_command_has(values, "json")       ? IN_JSON
                            : gantry_command_has(values, "markdown") ? IN_MARKDOWN
                                                                     : IN_TEXT;
    gantry_runtime_t *runtime = gantry_tool_open_runtime(values, NULL);
    if (!runtime) return GANTRY_TOOL_FAILED;
    int code = GANTRY_TOOL_OK;
    if (gantry_list_logical_devices(runtime, NULL, 32, devices.items, &devices.count) != GANTRY_OK)
        code = gantry_tool_fail_last();
    if (devices.count > 32) devices.count = 32;
    if (code == GANTRY_TOOL_OK) print_list(runtime, format, &devices);
    gantry_runtime_release(runtime);
    return code;
}

const gantry_command_t gantry_command_ops = {
    .name = "ops",
    .summary = "lists every op with its inputs, attributes and kernels on each device",
    .options = {GANTRY_OPTION_JSON, {"markdown", NULL, "prints the tables of docs/ops.md"}},
    .examples = {{"gantry ops", NULL}},
    .run = ops_run};
