/* SPDX-License-Identifier: Apache-2.0 */
/* gantry ops: all ops, and the devices that have kernels for them. */
#include <stdio.h>
#include <string.h>

#include "command/command.h"
#include "common/tool.h"

/* A name for several types, used if a kernel has all of them. */
typedef struct type_set_t {
    const char *name;
    uint64_t types;
} type_set_t;

static const type_set_t sets[] = {
    {"floating", GANTRY_DTYPES_FLOATING}, {"float8", GANTRY_DTYPES_QUARTERS},
    {"integers", GANTRY_DTYPES_INTEGERS}, {"bool", GANTRY_DTYPES_BOOLS},
    {"complex", GANTRY_DTYPES_COMPLEXES},
};
#define SETS (sizeof sets / sizeof sets[0])
#define PARTS_BYTES 512
#define MOST_TYPES 64 /* bits of a set */
#define MOST_DEVICES 32

typedef enum format_t { IN_TEXT, IN_JSON, IN_MARKDOWN } format_t;

typedef struct devices_t {
    const gantry_logical_device_t *items[MOST_DEVICES];
    size_t count;
} devices_t;

static void ops_append(char *out, size_t out_bytes, const char *word) {
    size_t used = strlen(out);
    (void)snprintf(out + used, out_bytes - used, "%s%s", used ? " " : "", word);
}

/* Finds the types of a set in the order in which they are shown: unsigned ones last, small ones
 * first. */
static size_t types_of(const type_set_t *set, gantry_dtype_t out[MOST_TYPES]) {
    static const uint64_t parts[] = {~GANTRY_DTYPES_UNSIGNED, GANTRY_DTYPES_UNSIGNED};
    size_t count = 0;
    for (size_t part = 0; part < 2; ++part) {
        for (size_t bytes = 1; bytes <= 16; bytes *= 2) {
            for (int dtype = MOST_TYPES - 1; dtype > 0; --dtype) {
                const uint64_t bit = GANTRY_DTYPE_BIT(dtype) & set->types & parts[part];
                if (bit && gantry_dtype_size((gantry_dtype_t)dtype) == bytes)
                    out[count++] = (gantry_dtype_t)dtype;
            }
        }
    }
    return count;
}

static size_t types_with_kernel(gantry_runtime_t *runtime, const char *op,
                                const gantry_logical_device_t *device, const type_set_t *set,
                                gantry_dtype_t out[MOST_TYPES], bool *out_are_all) {
    gantry_dtype_t types[MOST_TYPES];
    const size_t all = types_of(set, types);
    size_t count = 0;
    for (size_t i = 0; i < all; ++i) {
        bool has = false;
        if (gantry_op_has_kernel(runtime, op, device, types[i], &has, NULL) == GANTRY_OK && has)
            out[count++] = types[i];
    }
    *out_are_all = count == all;
    return count;
}

/* Appends the set's types for which the device has a kernel of the op, or the set's name if these
 * are all. Returns whether they are all. */
static bool list_set(gantry_runtime_t *runtime, const char *op,
                     const gantry_logical_device_t *device, const type_set_t *set, char *out,
                     size_t out_bytes) {
    gantry_dtype_t types[MOST_TYPES];
    bool are_all = false;
    const size_t count = types_with_kernel(runtime, op, device, set, types, &are_all);
    if (are_all) ops_append(out, out_bytes, set->name);
    for (size_t i = 0; i < count && !are_all; ++i)
        ops_append(out, out_bytes, gantry_dtype_name(types[i]));
    return are_all;
}

/* "float32 float64", "floating integers", or "all types". */
static void ops_list_types(gantry_runtime_t *runtime, const char *op,
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

/* "axis, shape": the inputs that the op reads on the host; "" for none. */
static void list_host_inputs(const gantry_op_info_t *info, char *out, size_t out_bytes) {
    out[0] = '\0';
    for (size_t i = 0; i < info->input_count; ++i) {
        if (!(info->host_inputs >> i & 1)) continue;
        size_t used = strlen(out);
        (void)snprintf(out + used, out_bytes - used, "%s%s", used ? ", " : "", info->inputs[i]);
    }
}

/* Prints "    /device:CPU:0: float32 float64", with every type by its own name. */
static void print_types(gantry_runtime_t *runtime, const char *op,
                        const gantry_logical_device_t *device) {
    bool is_any = false;
    (void)printf("    %s:", gantry_logical_device_name(device));
    for (size_t i = 0; i < SETS; ++i) {
        gantry_dtype_t types[MOST_TYPES];
        bool are_all = false;
        const size_t count = types_with_kernel(runtime, op, device, &sets[i], types, &are_all);
        for (size_t k = 0; k < count; ++k) (void)printf(" %s", gantry_dtype_name(types[k]));
        is_any = is_any || count > 0;
    }
    (void)printf("%s\n", is_any ? "" : " no kernel");
}

static void print_op(gantry_runtime_t *runtime, const gantry_op_info_t *info,
                     const devices_t *devices, bool is_alone) {
    (void)printf("%s(", info->name);
    for (size_t i = 0; i < info->input_count; ++i)
        (void)printf("%s%s", i ? ", " : "", info->inputs[i]);
    (void)printf(") -> ");
    for (size_t i = 0; i < info->output_count; ++i)
        (void)printf("%s%s", i ? ", " : "", info->outputs[i]);
    (void)printf("\n    %s\n", info->summary);
    char parts[PARTS_BYTES], hosts[PARTS_BYTES];
    list_parts(info, parts, sizeof parts);
    list_host_inputs(info, hosts, sizeof hosts);
    for (size_t i = 0; i < info->attr_count; ++i) (void)printf("    %s\n", info->attrs[i]);
    if (*hosts) (void)printf("    read on the host: %s\n", hosts);
    if (*parts) (void)printf("    %s\n", parts);
    if (info->batch_dependence) (void)printf("    about the batch: %s\n", info->batch_dependence);
    for (size_t i = 0; i < devices->count; ++i) {
        char text[128];
        if (is_alone) {
            print_types(runtime, info->name, devices->items[i]);
            continue;
        }
        ops_list_types(runtime, info->name, devices->items[i], text, sizeof text);
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
static void ops_print_row(gantry_runtime_t *runtime, const gantry_op_info_t *info,
                          const devices_t *devices) {
    (void)printf("| %s | ", info->name);
    for (size_t i = 0; i < info->input_count; ++i) {
        const bool is_on_host = info->host_inputs >> i & 1;
        (void)printf("%s%s%s", i ? ", " : "", info->inputs[i], is_on_host ? "\\*" : "");
    }
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
        ops_list_types(runtime, info->name, devices->items[i], text, sizeof text);
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

static void add_names(gantry_json_t *json, const char *key, const char *const *names,
                      size_t count) {
    gantry_json_array(json, key);
    for (size_t i = 0; i < count; ++i) gantry_json_text(json, NULL, names[i]);
    gantry_json_end(json);
}

static void add_host_inputs(gantry_json_t *json, const gantry_op_info_t *info) {
    gantry_json_array(json, "host_inputs");
    for (size_t i = 0; i < info->input_count; ++i) {
        if (info->host_inputs >> i & 1) gantry_json_text(json, NULL, info->inputs[i]);
    }
    gantry_json_end(json);
}

static void add_op(gantry_json_t *json, gantry_runtime_t *runtime, const gantry_op_info_t *info,
                   const devices_t *devices) {
    gantry_json_object(json, NULL);
    gantry_json_text(json, "name", info->name);
    gantry_json_text(json, "summary", info->summary);
    add_names(json, "inputs", info->inputs, info->input_count);
    add_names(json, "outputs", info->outputs, info->output_count);
    add_names(json, "attributes", info->attrs, info->attr_count);
    add_host_inputs(json, info);
    if (info->batch_dependence) gantry_json_text(json, "batch_dependence", info->batch_dependence);
    if (info->is_composed) add_names(json, "parts", info->parts, info->part_count);
    gantry_json_object(json, "kernels");
    for (size_t i = 0; i < devices->count; ++i) {
        char text[128];
        ops_list_types(runtime, info->name, devices->items[i], text, sizeof text);
        gantry_json_text(json, gantry_logical_device_name(devices->items[i]), text);
    }
    gantry_json_end(json);
    gantry_json_end(json);
}

/* ---- the command ---- */

static bool ops_find_op(const char *name, gantry_op_info_t *out) {
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        *out = (gantry_op_info_t){.struct_size = sizeof *out};
        if (gantry_op_info(i, out) == GANTRY_OK && strcmp(out->name, name) == 0) return true;
    }
    return false;
}

/* Refuses a name that no op has. */
static int ops_check_names(const gantry_command_values_t *values) {
    for (size_t i = 0; i < values->operand_count; ++i) {
        gantry_op_info_t info;
        gantry_command_nearest_t nearest = {.word = values->operands[i]};
        if (ops_find_op(values->operands[i], &info)) continue;
        for (size_t k = 0; k < gantry_op_count(); ++k) {
            info = (gantry_op_info_t){.struct_size = sizeof info};
            if (gantry_op_info(k, &info) == GANTRY_OK)
                gantry_command_nearest_offer(&nearest, info.name);
        }
        const char *best = gantry_command_nearest_best(&nearest);
        return gantry_command_refuse(
            values->command, "there is no op \"%s\"; accepted: a name of `gantry ops --list`%s%s%s",
            values->operands[i], best ? "; did you mean " : "", best ? best : "", best ? "?" : "");
    }
    return GANTRY_TOOL_OK;
}

typedef struct listing_t {
    gantry_runtime_t *runtime;
    devices_t devices;
    format_t format;
    gantry_json_t json;
} listing_t;

static void ops_show(listing_t *listing, const gantry_op_info_t *info, bool is_alone) {
    if (listing->format == IN_JSON)
        add_op(&listing->json, listing->runtime, info, &listing->devices);
    if (listing->format == IN_MARKDOWN) ops_print_row(listing->runtime, info, &listing->devices);
    if (listing->format == IN_TEXT) print_op(listing->runtime, info, &listing->devices, is_alone);
}

static void show_all(listing_t *listing, const gantry_command_values_t *values) {
    gantry_op_info_t info;
    for (size_t i = 0; i < values->operand_count; ++i) {
        if (ops_find_op(values->operands[i], &info)) ops_show(listing, &info, true);
    }
    for (size_t i = 0; values->operand_count == 0 && i < gantry_op_count(); ++i) {
        info = (gantry_op_info_t){.struct_size = sizeof info};
        if (gantry_op_info(i, &info) == GANTRY_OK) ops_show(listing, &info, false);
    }
}

static int print_listing(listing_t *listing, const gantry_command_values_t *values) {
    devices_t *devices = &listing->devices;
    if (gantry_list_logical_devices(listing->runtime, NULL, MOST_DEVICES, devices->items,
                                    &devices->count) != GANTRY_OK)
        return gantry_tool_fail_last();
    if (devices->count > MOST_DEVICES) devices->count = MOST_DEVICES;
    gantry_json_init(&listing->json, stdout);
    if (listing->format == IN_JSON) gantry_json_array(&listing->json, NULL);
    if (listing->format == IN_MARKDOWN) print_head(devices);
    show_all(listing, values);
    if (listing->format == IN_JSON) gantry_json_end(&listing->json);
    if (listing->format == IN_MARKDOWN && values->operand_count == 0) print_parts();
    return GANTRY_TOOL_OK;
}

static int ops_print_names(void) {
    for (size_t i = 0; i < gantry_op_count(); ++i) {
        gantry_op_info_t info = {.struct_size = sizeof info};
        if (gantry_op_info(i, &info) == GANTRY_OK) (void)printf("%s\n", info.name);
    }
    return GANTRY_TOOL_OK;
}

static int ops_run(const gantry_command_values_t *values) {
    listing_t listing = {.format = gantry_command_has(values, "json")       ? IN_JSON
                                   : gantry_command_has(values, "markdown") ? IN_MARKDOWN
                                                                            : IN_TEXT};
    int code = ops_check_names(values);
    if (code != GANTRY_TOOL_OK) return code;
    if (gantry_command_has(values, "list")) return ops_print_names();
    listing.runtime = gantry_command_open_runtime(values, NULL);
    if (!listing.runtime) return GANTRY_TOOL_FAILED;
    code = print_listing(&listing, values);
    gantry_runtime_release(listing.runtime);
    return code;
}

const gantry_command_t gantry_command_ops = {
    .name = "ops",
    .summary = "lists ops with their inputs, attributes and kernels on each device",
    .description =
        "Without a name it lists every op. With names it lists these, and every type for which a device "
        "has a kernel. An op that is composed of others has their kernels.",
    .operands = "[OP...]",
    .operand_most = GANTRY_COMMAND_ANY,
    .operand_offer = GANTRY_OFFER_OPS,
    .options = {{"list", NULL, "prints the names of all ops, one a line"},
                GANTRY_OPTION_JSON,
                {"markdown", NULL, "prints the tables of docs/ops.md"}},
    .examples = {{"gantry ops MatMul", NULL}, {"gantry ops --list", "prints the names of all ops"}},
    .run = ops_run};
