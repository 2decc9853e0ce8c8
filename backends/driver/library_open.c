/* SPDX-License-Identifier: Apache-2.0 */
/* Opens libraries, and reports which files were tried (library_open.h). */
#include "driver/library_open.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/os/files.h"
#include "base/os/library.h"
#include "base/os/paths.h"
#include "driver/host_call.h"

FILE *gantry__library_text_open(const char *path) {
    gantry__os_info_t info;
    const int file = gantry__os_open(path, GANTRY__OS_READ | GANTRY__OS_NO_WAIT, 0);
    if (file >= 0 && (gantry__os_file_info(file, &info) != 0 || info.kind != GANTRY__OS_PLAIN)) {
        (void)gantry__os_close(file);
        errno = EINVAL;
        return NULL;
    }
    FILE *text = file >= 0 ? gantry__os_stream(file) : NULL;
    if (file >= 0 && !text) (void)gantry__os_close(file);
    return text;
}

bool gantry__library_is_no_file(const char *path) {
    gantry__os_info_t info;
    return gantry__os_path_has_folder(path) && gantry__os_path_info(path, &info) == 0 &&
           info.kind != GANTRY__OS_PLAIN;
}

/* Appends "name: reason", or only the reason if it begins with the name, as most do. */
static void add_reason(char *reasons, size_t reasons_bytes, const char *name, const char *reason) {
    size_t length = strlen(reasons);
    bool has_name = strncmp(reason, name, strlen(name)) == 0;
    (void)snprintf(reasons + length, reasons_bytes - length, "%s%s%s%s", length > 0 ? "; " : "",
                   has_name ? "" : name, has_name ? "" : ": ", reason);
}

void *gantry__library_open(const gantry_host_t *host, const char *option,
                           const char *const *candidates, size_t count, char *out_name,
                           size_t name_bytes, char *out_reasons, size_t reasons_bytes) {
    const char *asked = gantry__host_option(host, option);
    if (asked) {
        candidates = &asked;
        count = 1;
    }
    out_reasons[0] = '\0';
    for (size_t i = 0; i < count; ++i) {
        bool is_cut = gantry__os_library_is_cut(candidates[i]);
        if (gantry__library_is_no_file(candidates[i])) {
            add_reason(out_reasons, reasons_bytes, candidates[i], "it is no plain file");
            continue;
        }
        void *library = is_cut ? NULL : gantry__os_library_open(candidates[i], 0);
        if (library) {
            (void)snprintf(out_name, name_bytes, "%s", candidates[i]);
            return library;
        }
        add_reason(out_reasons, reasons_bytes, candidates[i],
                   is_cut ? "the file ends before its content does" : gantry__os_library_error());
    }
    return NULL;
}

void gantry__library_file_add(gantry__library_files_t *files, const char *name) {
    const bool has_room = files->length < files->capacity;
    const int length =
        snprintf(has_room ? files->text + files->length : NULL,
                 has_room ? (size_t)(files->capacity - files->length) : 0, "%s\n", name);

    if (length > 0) files->length += (uint64_t)length;
}

const char *gantry__library_resolve(void *library, const gantry__library_symbol_t *symbols,
                                    size_t count, void *table) {
    for (size_t i = 0; i < count; ++i) {
        if (!gantry__os_library_function(library, symbols[i].name,
                                         (char *)table + symbols[i].offset))
            return symbols[i].name;
    }
    return NULL;
}

void gantry__library_line_add(char *line, size_t line_bytes, const char *before, const char *name,
                              const char *found, const char *reason) {
    size_t length = strlen(line);
    if (found) {
        (void)snprintf(line + length, line_bytes - length, "%s%s found", before, found);
    } else {
        (void)snprintf(line + length, line_bytes - length, "%s%s missing (%s)", before, name,
                       reason);
    }
}
