/* SPDX-License-Identifier: Apache-2.0 */
/* gantry function: which input or output an option gives a file. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/os/files.h"
#include "base/os/paths.h"
#include "function/function.h"

typedef struct files_reader_t {
    const function_call_t *call;
    const char *option; /* "input" or "output", which is also what its values name */
    size_t count;
    function_get_fn *get;
    const char **files;
} files_reader_t;

/* ---- names and numbers ---- */

static bool files_is_name(const char *name, const char *text, size_t length) {
    return length > 0 && strlen(name) == length && memcmp(name, text, length) == 0;
}

/* The values with the name, or the one with the number if none has the name. `numbers`, if it is
 * not NULL, gets "0, 2" cut to its 128 bytes. Returns how many there are, and the first. */
static size_t files_find_values(const files_reader_t *reader, const char *text, size_t length,
                                size_t *out_first, char *numbers) {
    size_t found = 0, used = 0, numbered = reader->count;
    for (size_t i = 0; i < reader->count; ++i) {
        gantry_function_value_t value = {.struct_size = sizeof value};
        char number[32];
        (void)snprintf(number, sizeof number, "%zu", i);
        if (files_is_name(number, text, length)) numbered = i;
        if (reader->get(reader->call->function, i, &value) != GANTRY_OK ||
            !files_is_name(value.name, text, length))
            continue;
        if (found == 0) *out_first = i;
        if (numbers && used < 128)
            used += (size_t)snprintf(numbers + used, 128 - used, "%s%zu", found ? ", " : "", i);
        ++found;
    }
    if (found > 0 || numbered == reader->count) return found;
    *out_first = numbered;
    return 1;
}

/* The end of NAME in "NAME=FILE": the last '=' after a name or number, because both parts may have
 * others; else the first. NULL: there is none. */
static const char *find_equals(const files_reader_t *reader, const char *given) {
    const char *first = strchr(given, '=');
    size_t at_value;
    for (const char *at = given + strlen(given); first && at > first;) {
        --at;
        if (*at == '=' &&
            files_find_values(reader, given, (size_t)(at - given), &at_value, NULL) > 0)
            return at;
    }
    return first;
}

/* ---- two outputs in one file ---- */

/* Returns the last name, and examines the folder. */
static const char *split_path(const char *path, bool *out_is_known, gantry__os_info_t *out_folder) {
    char folder[GANTRY__OS_PATH_BYTES] = ".";
    const char *name = gantry__os_path_name(path);
    const size_t length = (size_t)(name - path);
    *out_is_known = length < sizeof folder;
    if (length > 0 && *out_is_known) {
        memcpy(folder, path, length);
        folder[length] = '\0';
    }
    *out_is_known = *out_is_known && gantry__os_path_info(folder, out_folder) == 0;
    return name;
}

static bool is_same_file(const char *left, const char *right) {
    gantry__os_info_t left_folder, right_folder;
    bool left_known, right_known;
    const char *left_name = split_path(left, &left_known, &left_folder);
    const char *right_name = split_path(right, &right_known, &right_folder);
    if (strcmp(left, right) == 0) return true;
    return left_known && right_known && strcmp(left_name, right_name) == 0 &&
           gantry__os_is_same(&left_folder, &right_folder);
}

/* Returns the number of the other output with that file; reader->count without one. */
static size_t find_same_file(const files_reader_t *reader, const char *file) {
    size_t i = 0;
    while (i < reader->count && !(reader->files[i] && is_same_file(reader->files[i], file))) ++i;
    return i;
}

/* ---- the option ---- */

static int files_read_value(const files_reader_t *reader, const char *given) {
    const gantry_command_t *command = reader->call->values->command;
    const char *option = reader->option, *equals = find_equals(reader, given);
    char numbers[128] = "";
    size_t index = 0, found = 0;
    if (equals) found = files_find_values(reader, given, (size_t)(equals - given), &index, numbers);
    if (found == 0 || !equals[1])
        return gantry_command_refuse(
            command,
            "--%s is \"%s\", which names %s; accepted: NAME=FILE with a name or number of `gantry function info`",
            option, given, found ? "no file" : "nothing of the function");
    if (found > 1)
        return gantry_command_refuse(
            command, "--%s is \"%s\", and %zu %ss have that name; accepted: a number of %s", option,
            given, found, option, numbers);
    if (reader->files[index])
        return gantry_command_refuse(
            command, "--%s is \"%s\", but %s %zu has the file \"%s\"; accepted: one file for each",
            option, given, option, index, reader->files[index]);
    const char *file = equals + 1;
    const size_t same =
        strcmp(option, "output") == 0 ? find_same_file(reader, file) : reader->count;
    if (same < reader->count)
        return gantry_command_refuse(
            command, "--output is \"%s\", but output %zu has that file; accepted: a file for each",
            given, same);
    reader->files[index] = file;
    return GANTRY_TOOL_OK;
}

int function_read_files(const function_call_t *call, const char *option, size_t count,
                        function_get_fn *get, const char **files) {
    const files_reader_t reader = {call, option, count, get, files};
    const char *given;
    for (size_t i = 0; (given = gantry_command_value_at(call->values, option, i)); ++i) {
        const int code = files_read_value(&reader, given);
        if (code != GANTRY_TOOL_OK) return code;
    }
    return GANTRY_TOOL_OK;
}
