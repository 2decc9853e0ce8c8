/* SPDX-License-Identifier: Apache-2.0 */
/* gantry convert: reads .npy, .npz or .safetensors, and writes any of them. Without an output it
 * lists the tensors. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/paths.h"
#include "command/command.h"
#include "convert/convert.h"
#include "shared/printable.h"

#define MOST_NAMED 8 /* tensors that a message names */

static const char *const suffixes[CONVERT_FORMATS] = {".npy", ".npz", ".safetensors"};

const char *convert_format_suffix(convert_format_t format) { return suffixes[format]; }

static bool format_of_path(const char *path, convert_format_t *out) {
    const size_t length = strlen(path);
    for (size_t i = 0; i < CONVERT_FORMATS; ++i) {
        const size_t bytes = strlen(suffixes[i]);
        if (length <= bytes || strcmp(path + length - bytes, suffixes[i]) != 0) continue;
        *out = (convert_format_t)i;
        return true;
    }
    return false;
}

/* ---- names ---- */

/* Appends to a list of names in a message. */
static void append_name(char *out, size_t out_bytes, size_t *count, const char *name,
                        const char *note) {
    const size_t used = strlen(out);
    if ((*count)++ < MOST_NAMED)
        (void)snprintf(out + used, out_bytes - used, "%s%.100s%s", used ? ", " : "", name, note);
}

static const char *more_names(size_t count) { return count > MOST_NAMED ? ", and others" : ""; }

/* The array of a .npy file has no name. */
static bool name_array(convert_set_t *set, const char *path, const char *wanted) {
    if (*set->tensors[0].name && !wanted) return true;
    const char *base = gantry__os_path_name(path);
    const char *dot = strrchr(base, '.');
    const size_t length = wanted              ? strlen(wanted)
                          : dot && dot > base ? (size_t)(dot - base)
                                              : strlen(base);
    char *name = malloc(length + 1);
    if (!name) {
        (void)gantry_tool_fail("%s: there is no memory for a name", path);
        return false;
    }
    memcpy(name, wanted ? wanted : base, length);
    name[length] = '\0';
    free(set->tensors[0].name);
    set->tensors[0].name = name;
    return true;
}

/* Keeps only one tensor. */
static bool choose_tensor(convert_set_t *set, const char *path, const char *wanted) {
    char names[1024] = "";
    size_t count = 0;
    for (size_t i = 0; i < set->count; ++i) {
        append_name(names, sizeof names, &count, set->tensors[i].name, "");
        if (strcmp(set->tensors[i].name, wanted) != 0) continue;
        const convert_tensor_t other = set->tensors[0];
        set->tensors[0] = set->tensors[i];
        set->tensors[i] = other;
        while (set->count > 1) convert_tensor_deinit(&set->tensors[--set->count]);
        return true;
    }
    (void)gantry_tool_fail("%s has no tensor \"%s\"; it has %s%s", path, wanted,
                           *names ? names : "none", more_names(count));
    return false;
}

/* ---- checks of the output ---- */

static bool fits_in_npy(const convert_tensor_t *tensor) {
    char header[GANTRY_NPY_HEADER_BYTES];
    size_t bytes;
    return gantry_format_npy_header(tensor->dtype, &tensor->shape, header, &bytes) == GANTRY_OK;
}

static bool check_types(const convert_set_t *set, const char *path, convert_format_t format) {
    char names[1200] = "", note[32];
    size_t count = 0;
    for (size_t i = 0; format != CONVERT_SAFETENSORS && i < set->count; ++i) {
        if (fits_in_npy(&set->tensors[i])) continue;
        (void)snprintf(note, sizeof note, " (%s)", gantry_dtype_name(set->tensors[i].dtype));
        append_name(names, sizeof names, &count, set->tensors[i].name, note);
    }
    if (count == 0) return true;
    (void)gantry_tool_fail(
        "%s: %s files have no type for %zu of the tensors: %s%s; --widen writes bfloat16 as float32",
        path, suffixes[format], count, names, more_names(count));
    return false;
}

static bool check_names(const convert_set_t *set, const char *path, convert_format_t format) {
    const char *why;
    for (size_t i = 0; format == CONVERT_NPZ && i < set->count; ++i) {
        if (convert_zip_name_is_safe(set->tensors[i].name, &why)) continue;
        (void)gantry_tool_fail("%s: no entry is named after the tensor \"%.200s\", whose name %s",
                               path, set->tensors[i].name, why);
        return false;
    }
    return true;
}

static bool convert_check_count(const convert_set_t *set, const char *path,
                                convert_format_t format) {
    char names[1024] = "";
    size_t count = 0;
    if (format != CONVERT_NPY || set->count == 1) return true;
    for (size_t i = 0; i < set->count; ++i)
        append_name(names, sizeof names, &count, set->tensors[i].name, "");
    (void)gantry_tool_fail(
        "%s: a .npy file has one array, and there are %zu tensors: %s%s; --tensor chooses one",
        path, set->count, *names ? names : "none", more_names(count));
    return false;
}

/* ---- bfloat16 as float32, which has all of its values ---- */

static bool widen_elements(convert_tensor_t *tensor, size_t elements) {
    uint32_t *wide = malloc(elements > 0 ? elements * sizeof *wide : 1);
    if (!wide) return false;
    for (size_t i = 0; i < elements; ++i) {
        uint16_t bits;
        memcpy(&bits, (const char *)tensor->data + 2 * i, sizeof bits);
        wide[i] = (uint32_t)bits << 16;
    }
    free(tensor->data);
    tensor->data = wide;
    return true;
}

/* Widens a tensor. Where the tensors are only listed, it has no elements. */
static bool widen_tensor(convert_tensor_t *tensor) {
    const size_t elements = tensor->bytes / 2;
    if (tensor->data && !widen_elements(tensor, elements)) return false;
    tensor->bytes = elements * sizeof(float);
    tensor->dtype = GANTRY_FLOAT32;
    return true;
}

static bool widen(convert_set_t *set, const char *path) {
    for (size_t i = 0; i < set->count; ++i) {
        if (set->tensors[i].dtype != GANTRY_BFLOAT16 || widen_tensor(&set->tensors[i])) continue;
        (void)gantry_tool_fail("%s: there is no memory to widen \"%.200s\"", path,
                               set->tensors[i].name);
        return false;
    }
    return true;
}

/* ---- entries that cannot be read ---- */

static bool refuse_problems(const convert_set_t *set, const char *path, size_t count,
                            bool is_chosen) {
    const convert_tensor_t *first = set->tensors;
    while (!first->problem) ++first;
    (void)gantry_tool_fail(
        is_chosen
            ? "%s: %zu of the %zu chosen entries cannot be read: \"%.200s\": %.400s%s; --tensor takes one that can be"
            : "%s: %zu of its %zu entries cannot be read: \"%.200s\": %.400s%s; --tensor chooses another one, --skip-unreadable leaves out what cannot be read",
        path, count, set->count, first->name, first->problem, count > 1 ? ", and others" : "");
    return false;
}

/* Must be called before elements are read. It drops the entries that cannot be read if `skips`, and
 * refuses them otherwise. */
static bool check_problems(convert_set_t *set, const char *path, bool is_chosen, bool skips) {
    size_t count = 0, kept = 0;
    for (size_t i = 0; i < set->count; ++i) count += set->tensors[i].problem != NULL;
    if (count > 0 && !skips) return refuse_problems(set, path, count, is_chosen);
    for (size_t i = 0; i < set->count; ++i) {
        convert_tensor_t *tensor = &set->tensors[i];
        if (!tensor->problem) {
            set->tensors[kept++] = *tensor;
            continue;
        }
        gantry__make_printable(tensor->name, '\n');
        gantry__make_printable(tensor->problem, '\n');
        (void)fprintf(stderr, "warning: %s is left out: %s\n", tensor->name, tensor->problem);
        convert_tensor_deinit(tensor);
    }
    set->count = kept;
    return true;
}

/* ---- what was read ---- */

static void shape_text(const gantry_shape_t *shape, char out[256]) {
    size_t used = 0;
    out[0] = '\0';
    for (int32_t i = 0; i < shape->rank && used < 230; ++i)
        used +=
            (size_t)snprintf(out + used, 256 - used, i ? ", %" PRId64 : "%" PRId64, shape->dims[i]);
}

static void print_tensors(const convert_set_t *set) {
    char name[1024], problem[1024], shape[256], size[GANTRY_TOOL_TEXT_BYTES];
    for (size_t i = 0; i < set->count; ++i) {
        const convert_tensor_t *tensor = &set->tensors[i];
        (void)snprintf(name, sizeof name, "%s", tensor->name);
        gantry__make_printable(name, '\n');
        if (tensor->problem) {
            (void)snprintf(problem, sizeof problem, "%s", tensor->problem);
            gantry__make_printable(problem, '\n');
            (void)printf("  %-32s  cannot be read: %s\n", name, problem);
            continue;
        }
        shape_text(&tensor->shape, shape);
        (void)printf("  %-32s  %-9s  [%s]  %s\n", name, gantry_dtype_name(tensor->dtype), shape,
                     gantry_tool_size_text(tensor->bytes, size));
    }
}

static void print_tensor_json(gantry_json_t *json, const convert_tensor_t *tensor) {
    gantry_json_object(json, NULL);
    gantry_json_text(json, "name", tensor->name);
    gantry_json_text(json, "problem", tensor->problem);
    if (!tensor->problem) {
        gantry_json_text(json, "dtype", gantry_dtype_name(tensor->dtype));
        gantry_json_array(json, "shape");
        for (int32_t d = 0; d < tensor->shape.rank; ++d)
            gantry_json_integer(json, NULL, tensor->shape.dims[d]);
        gantry_json_end(json);
        gantry_json_unsigned(json, "size_bytes", tensor->bytes);
    }
    gantry_json_end(json);
}

static void convert_print_json(const convert_set_t *set, const char *in, const char *out) {
    gantry_json_t json;
    gantry_json_init(&json, stdout);
    gantry_json_object(&json, NULL);
    gantry_json_text(&json, "input", in);
    gantry_json_text(&json, "output", out);
    gantry_json_array(&json, "tensors");
    for (size_t i = 0; i < set->count; ++i) print_tensor_json(&json, &set->tensors[i]);
    gantry_json_end(&json);
    gantry_json_end(&json);
}

static void convert_tell(const gantry_command_values_t *values, const convert_set_t *set,
                         const char *out) {
    const char *in = values->operands[0];
    if (gantry_command_has(values, "json")) {
        convert_print_json(set, in, out);
        return;
    }
    size_t unread = 0;
    for (size_t i = 0; i < set->count; ++i) unread += set->tensors[i].problem != NULL;
    const size_t count = set->count - unread;
    (void)printf("%s: %zu tensor%s", out ? out : in, count, count == 1 ? "" : "s");
    if (unread > 0)
        (void)printf(", and %zu entr%s that cannot be read", unread, unread == 1 ? "y" : "ies");
    (void)printf(out ? " of %s\n" : "\n", in);
    if (!out || gantry_command_has(values, "verbose")) print_tensors(set);
}

/* ---- the command ---- */

/* Loads the tensors of the source if there is an output for them. */
static bool convert_load_all(const convert_source_t *source, convert_set_t *set) {
    for (size_t i = 0; i < set->count; ++i)
        if (!convert_load(source, &set->tensors[i])) return false;
    return true;
}

static bool convert_prepare(const gantry_command_values_t *values, const convert_source_t *source,
                            convert_set_t *set) {
    const char *in = values->operands[0], *tensor = gantry_command_value(values, "tensor");
    const bool has_output = values->operand_count > 1;
    if (set->count > 0 && !name_array(set, in, NULL)) return false;
    if (tensor && !choose_tensor(set, in, tensor)) return false;
    const char *name = gantry_command_value(values, "name");
    if (name && set->count != 1) {
        (void)gantry_tool_fail("--name names one tensor, and %s has %zu; --tensor chooses one", in,
                               set->count);
        return false;
    }
    if (has_output && (!check_problems(set, in, tensor != NULL,
                                       !tensor && gantry_command_has(values, "skip-unreadable")) ||
                       !convert_load_all(source, set)))
        return false;
    if (name && set->count > 0 && !name_array(set, in, name)) return false;
    return !gantry_command_has(values, "widen") || widen(set, in);
}

static bool write_output(const convert_set_t *set, const char *path, convert_format_t format) {
    if (!convert_check_count(set, path, format) || !check_types(set, path, format) ||
        !check_names(set, path, format))
        return false;
    if (set->text_count > 0 && format != CONVERT_SAFETENSORS)
        (void)fprintf(stderr, "warning: %s files have no place for metadata: %zu text%s not kept\n",
                      suffixes[format], set->text_count, set->text_count == 1 ? " is" : "s are");
    return convert_write(path, format, set);
}

static bool convert_files(const gantry_command_values_t *values, convert_format_t format) {
    const char *in = values->operands[0],
               *out = values->operand_count > 1 ? values->operands[1] : NULL;
    convert_source_t source;
    convert_set_t set;
    const bool good = convert_open(in, &source, &set) && convert_prepare(values, &source, &set) &&
                      (!out || write_output(&set, out, format));
    if (good) convert_tell(values, &set, out);
    convert_set_deinit(&set);
    convert_close(&source);
    return good;
}

static int convert_run(const gantry_command_values_t *values) {
    const char *out = values->operand_count > 1 ? values->operands[1] : NULL;
    const size_t wished = gantry_command_choice(values, "to", CONVERT_FORMATS);
    convert_format_t format = (convert_format_t)wished;
    if (out && wished == CONVERT_FORMATS && !format_of_path(out, &format))
        return gantry_command_refuse(
            values->command,
            "the name %s ends with none of .npy, .npz and .safetensors; --to names the format",
            out);
    return convert_files(values, format) ? GANTRY_TOOL_OK : GANTRY_TOOL_FAILED;
}

const gantry_command_t gantry_command_convert = {
    .name = "convert",
    .summary = "converts tensors between .npy, .npz and .safetensors",
    .description =
        "The format of IN follows from its content, and that of OUT from its name. Names of tensors stay. The array of a .npy file "
        "is named after the file. Without OUT, the tensors of IN are listed from its headers, whatever its size; what cannot "
        "be read is listed with the reason. Lists of integers that NumPy pickled in an .npz file, as in Keras's reuters.npz, become "
        "NAME/values and NAME/row_splits; no code of a pickle is run.\n\n"
        "All tensors that go to OUT are in memory at a time. OUT is replaced whole or not at all. A type that OUT cannot hold is refused, with "
        "the names of the tensors: .npy and .npz have no bfloat16.",
    .operands = "IN [OUT]",
    .operand_least = 1,
    .operand_most = 2,
    .operand_offer = GANTRY_OFFER_FILES,
    .options = {{"to", "FORMAT", "names the format of OUT, whatever its name", false,
                 "npy|npz|safetensors", GANTRY_OFFER_NOTHING},
                {"tensor", "NAME", "converts only this tensor"},
                {"name", "NAME", "gives the one tensor another name"},
                {"skip-unreadable", NULL,
                 "leaves out entries that cannot be read, with a warning for each"},
                {"widen", NULL, "writes bfloat16 as float32, which has all of its values"},
                GANTRY_OPTION_JSON,
                GANTRY_OPTION_VERBOSE},
    .exit_codes = {{1, "a file is damaged, or cannot be read, written or converted"}},
    .examples = {{"gantry convert weights.npz weights.safetensors", NULL},
                 {"gantry convert model.safetensors", "lists its tensors"},
                 {"gantry convert model.safetensors kernel.npy --tensor dense/kernel", NULL}},
    .run = convert_run,
};
