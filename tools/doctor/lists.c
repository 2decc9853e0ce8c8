/* SPDX-License-Identifier: Apache-2.0 */
/* Variables that list libraries for an OpenCL loader, which leaves out without a word what it
 * cannot open. A process of its own must open them, because only the dynamic loader knows where it
 * finds a bare name and what it accepts, and opening a library runs its code. */
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/os/library.h"
#include "base/os/paths.h"
#include "doctor/doctor.h"

static const struct {
    const char *variable, *check;
    const char *kind, *function; /* of what is listed, and what each has */
} lists[] = {
    {"OPENCL_LAYERS", "OpenCL layers", "OpenCL layer", "clInitLayer"},
    /* of Khronos's loader */
    {"OCL_ICD_FILENAMES", "OpenCL drivers", "OpenCL driver", "clGetExtensionFunctionAddress"},
};
#define LISTS (sizeof lists / sizeof lists[0])

/* NULL: it can be used. The loader's text begins with the name. */
static const char *why_unusable(const char *name, const char *kind, const char *function, char *out,
                                size_t out_bytes) {
    gantry__os_info_t info;
    if (gantry__os_path_has_folder(name) && gantry__os_path_info(name, &info) == 0 &&
        info.kind != GANTRY__OS_PLAIN)
        return "cannot be opened: it is no plain file";
    void *library = gantry__os_library_open(name, GANTRY__OS_LIBRARY_LAZY);
    if (library && gantry__os_library_find(library, function)) return NULL;
    if (library)
        (void)snprintf(out, out_bytes, "is no %s: it has no function %s", kind, function);
    else
        (void)snprintf(out, out_bytes, "cannot be opened: %s", gantry__os_library_error());
    return out;
}

/* A line for each library that cannot be used: row, name, reason. */
void doctor_open_lists(void) {
    char name[DOCTOR_PATH_BYTES], why[DOCTOR_LINE_BYTES / 2];
    const char separator[] = {gantry__os_list_separator, '\0'};
    for (size_t i = 0; i < LISTS; ++i) {
        const char *at = getenv(lists[i].variable);
        for (size_t length; at && *at; at += length + (at[length] == *separator)) {
            length = strcspn(at, separator);
            (void)snprintf(name, sizeof name, "%.*s", (int)length, at);
            const char *reason =
                *name ? why_unusable(name, lists[i].kind, lists[i].function, why, sizeof why)
                      : NULL;
            if (reason) doctor_answer("%zu\t%.300s\t%s\n", i, name, reason);
        }
    }
}

static void tell_listed(doctor_t *doctor, char *line) {
    char *name = strchr(line, '\t'), *why = name ? strchr(name + 1, '\t') : NULL, remedy[96];
    const size_t row = strtoul(line, NULL, 10);
    if (!why || row >= LISTS) return;
    *name++ = '\0';
    *why++ = '\0';
    (void)snprintf(remedy, sizeof remedy, "unset %s, or correct the name in it",
                   lists[row].variable);
    (void)doctor_add(doctor, "opencl", lists[row].check, DOCTOR_FAILED, remedy,
                     "%s names %s, which %s", lists[row].variable, name, why);
}

void doctor_check_lists(doctor_t *doctor) {
    bool is_set = false;
    for (size_t i = 0; i < LISTS; ++i) {
        const char *value = getenv(lists[i].variable);
        is_set = is_set || (value && *value);
    }
    if (is_set) doctor_ask(doctor, DOCTOR_LISTS, tell_listed);
}
