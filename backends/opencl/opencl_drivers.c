/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the lists of drivers as ocl-icd does, and opens each driver (opencl_drivers.h). */
#include "opencl/opencl_drivers.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl/pocl/opencl_foreign_llvm.h"
#include "opencl/opencl_status.h"
#include "base/os/files.h"
#include "base/os/library.h"
#include "base/os/paths.h"
#include "driver/library_open.h"
#include "opencl/opencl_names.h"

#define PATH_BYTES 4096

typedef struct drivers_t {
    const gantry_host_t *host;
    gantry__opencl_notes_t *notes;
    gantry__opencl_drivers_t *opened;
    const char *variable; /* the variable that names the drivers' place; NULL: none */
    const char *value;
    gantry__library_files_t *files; /* NULL; else the drivers are listed, and not opened */
} drivers_t;

/* ---- notes ---- */

void gantry__opencl_note(const gantry_host_t *host, gantry__opencl_notes_t *notes, int32_t level,
                         const char *format, ...) {
    if (!notes) return;
    size_t length = strlen(notes->text);
    va_list arguments;
    va_start(arguments, format);
    char text[GANTRY__HOST_TEXT_BYTES];
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; *c != '\0'; ++c) { /* a file's content may be anything */
        *c = (unsigned char)*c < ' ' || *c == 0x7f ? '?' : *c;
    }
    gantry__host_log(host, level, "%s", text);
    (void)snprintf(notes->text + length, sizeof notes->text - length, "%s%s",
                   length > 0 ? "; " : "", text);
}

/* Notes a fault of the place where drivers are listed. */
static void note_place(const drivers_t *drivers, const char *what, const char *why) {
    gantry__opencl_note(drivers->host, drivers->notes, GANTRY_LEVEL_INFO, "%s%s%.300s%s%s%s",
                        drivers->variable ? drivers->variable : "",
                        drivers->variable ? " is \"" : "", drivers->value,
                        drivers->variable ? "\", which " : " ", what, why);
}

/* ---- one driver ---- */

static int32_t fail_cut(const drivers_t *drivers, const char *from, const char *name) {
    return gantry__driver_fail(
        drivers->host, GANTRY_UNAVAILABLE, 0,
        "%.200s names %.200s, whose file ends before its content does: a loader that opens it ends the process; install the driver again, or leave it out of OCL_ICD_VENDORS",
        from, name);
}

/* Fails for a path that is no plain file, such as a pipe. from is NULL for the .icd file itself. */
static int32_t fail_no_file(const drivers_t *drivers, const char *from, const char *name) {
    return gantry__driver_fail(
        drivers->host, GANTRY_UNAVAILABLE, 0,
        "%.200s%s%.200s%s no plain file: a loader that opens it may wait for ever; remove it, or leave it out of OCL_ICD_VENDORS",
        from ? from : "", from ? " names " : "", name, from ? ", which is" : " is");
}

/* Finds the flag with which the driver must be opened so that it is not bound to another LLVM. */
static int32_t find_binding(const gantry_host_t *host, const char *name, unsigned *out_flag) {
    *out_flag = 0;
    char reason[512];
    if (gantry__foreign_llvm_evade(out_flag, reason, sizeof reason)) return GANTRY_OK;
    return gantry__driver_fail(host, GANTRY_UNAVAILABLE, 0, "%.200s is not opened: %s", name,
                               reason);
}

/* Opens a driver's library lazily, as ocl-icd does, so that what ocl-icd accepts is not refused
 * here. *out_library is NULL when it cannot be opened, which is a note, or must not be, which is
 * the status. */
static int32_t open_library(const drivers_t *drivers, const char *from, const char *name,
                            void **out_library) {
    *out_library = NULL;
    if (gantry__library_is_no_file(name)) return fail_no_file(drivers, from, name);
    *out_library =
        gantry__os_library_open(name, GANTRY__OS_LIBRARY_LAZY | GANTRY__OS_LIBRARY_LOADED);
    if (*out_library) { /* another part of the process opened it */
        return GANTRY_OK;
    }
    if (gantry__os_library_is_cut(name)) return fail_cut(drivers, from, name);
    unsigned binding;
    GANTRY__TRY(find_binding(drivers->host, name, &binding));
    gantry__host_driver_enter(drivers->host, name);
    *out_library = gantry__os_library_open(name, GANTRY__OS_LIBRARY_LAZY | binding);
    if (!*out_library) {
        gantry__opencl_note(drivers->host, drivers->notes, GANTRY_LEVEL_INFO,
                            "%.300s names %.200s, which cannot be opened: %.300s", from, name,
                            gantry__os_library_error());
    }
    return GANTRY_OK;
}

/* from must be the file or variable that names the library. */
static int32_t opencl_drivers_open_driver(const drivers_t *drivers, const char *from,
                                          const char *name) {
    void *library;
    if (drivers->files) {
        gantry__library_file_add(drivers->files, name);
        return GANTRY_OK;
    }
    int32_t status = open_library(drivers, from, name, &library);
    if (!library) return status;
    if (!gantry__os_library_find(library, "clGetExtensionFunctionAddress")) {
        gantry__opencl_note(
            drivers->host, drivers->notes, GANTRY_LEVEL_INFO,
            "%.300s names %.200s, which is no OpenCL driver: it has no function clGetExtensionFunctionAddress",
            from, name);
    } else if (drivers->opened->count < GANTRY__OPENCL_MOST_DRIVERS) {
        drivers->opened->libraries[drivers->opened->count++] = library;
    }
    return status;
}

/* ---- the list ---- */

static bool ends_with_icd(const char *name) {
    size_t length = strlen(name);
    return length > 4 && strcmp(name + length - 4, ".icd") == 0;
}

/* Opens the driver of a .icd file, whose first line is the library's name, as ocl-icd reads it. */
static int32_t open_icd(const drivers_t *drivers, const char *path) {
    FILE *file = gantry__library_text_open(path);
    char line[PATH_BYTES] = "";
    const int error = file ? 0 : errno;
    gantry__os_info_t info;
    if (!file && gantry__os_path_info(path, &info) == 0 && info.kind == GANTRY__OS_PIPE &&
        !drivers->files)
        return fail_no_file(drivers, NULL, path);
    if (!file || !fgets(line, sizeof line, file)) {
        gantry__opencl_note(
            drivers->host, drivers->notes, GANTRY_LEVEL_INFO, "%.300s %s%s", path,
            !file ? "cannot be read: " : "is empty: its first line names a driver's library",
            !file ? strerror(error) : "");
    }
    if (file) fclose(file);
    if (line[0] == '\0') return GANTRY_OK;
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '\0') {
        gantry__opencl_note(drivers->host, drivers->notes, GANTRY_LEVEL_INFO,
                            "%.300s names nothing in its first line, which is a driver's library",
                            path);
        return GANTRY_OK;
    }
    return opencl_drivers_open_driver(drivers, path, line);
}

/* Notes that the place cannot be read. */
static int32_t note_error(const drivers_t *drivers, int error) {
    note_place(drivers, error == ENOENT ? "does not exist" : "cannot be read: ",
               error == ENOENT ? "" : strerror(error));
    return GANTRY_OK;
}

typedef struct icd_visit_t {
    const drivers_t *drivers;
    int32_t status;
    int count;
} icd_visit_t;

static bool visit_icd(void *user, const char *name) {
    icd_visit_t *visit = user;
    char path[PATH_BYTES];
    if (!ends_with_icd(name)) return true;
    (void)snprintf(path, sizeof path, "%.3800s/%.255s", visit->drivers->value, name);
    visit->status = open_icd(visit->drivers, path);
    ++visit->count;
    return visit->status == GANTRY_OK;
}

static int32_t open_folder(const drivers_t *drivers) {
    icd_visit_t visit = {.drivers = drivers, .status = GANTRY_OK};
    const int error = gantry__os_list(drivers->value, visit_icd, &visit);
    if (error && visit.count == 0) return note_error(drivers, error);
    if (visit.count == 0) note_place(drivers, "holds no .icd file", "");
    return visit.status;
}

/* Opens a file. A .icd file without a folder is searched for among the others first. */
static int32_t open_file(const drivers_t *drivers, const char *folder) {
    char path[PATH_BYTES];
    (void)snprintf(path, sizeof path, "%.3800s/%.255s", folder, drivers->value);
    gantry__os_info_t info;
    if (!gantry__os_path_has_folder(drivers->value) && gantry__os_path_info(path, &info) == 0)
        return open_icd(drivers, path);
    const int error = gantry__os_path_info(drivers->value, &info);
    return error ? note_error(drivers, error) : open_icd(drivers, drivers->value);
}

static int32_t open_listed(drivers_t drivers) {
    if (!*GANTRY__OPENCL_VENDORS) return GANTRY_OK;
    /* the loader's own variable: it reads the environment, not options */
    const char *asked = getenv("OCL_ICD_VENDORS");
    const char *folder = getenv("OPENCL_VENDOR_PATH");
    drivers.variable = "OCL_ICD_VENDORS";
    drivers.value = asked;
    if (!asked || asked[0] == '\0') {
        drivers.variable = folder && folder[0] != '\0' ? "OPENCL_VENDOR_PATH" : NULL;
        drivers.value = drivers.variable ? folder : GANTRY__OPENCL_VENDORS;
        return open_folder(&drivers);
    }
    gantry__os_info_t info;
    const int error = gantry__os_path_info(asked, &info);
    if (!error && info.kind == GANTRY__OS_FOLDER) return open_folder(&drivers);
    if (ends_with_icd(asked))
        return open_file(&drivers, folder && folder[0] != '\0' ? folder : GANTRY__OPENCL_VENDORS);
    if (gantry__os_path_has_folder(asked) && error == ENOENT) {
        note_place(&drivers, "does not exist", "");
        return GANTRY_OK;
    }
    return opencl_drivers_open_driver(&drivers, "OCL_ICD_VENDORS", asked);
}

/* ---- all ---- */

/* Whether the path is a loader's, by its file's name, because a loader would open its drivers if it
 * were called. */
static bool is_called_loader(const char *path) {
    return strncmp(gantry__os_path_name(path), GANTRY__OPENCL_LOADER_BEGINS,
                   strlen(GANTRY__OPENCL_LOADER_BEGINS)) == 0;
}

int32_t gantry__opencl_library_bind(const gantry_host_t *host) {
    const char *asked = gantry__host_option(host, "GANTRY_OPENCL_LIBRARY");
    if (!asked || is_called_loader(asked) || gantry__library_is_no_file(asked) ||
        gantry__os_library_is_cut(asked) ||
        gantry__os_library_open(asked, GANTRY__OS_LIBRARY_LOADED)) {
        return GANTRY_OK;
    }
    unsigned binding;
    int32_t status = find_binding(host, asked, &binding);
    if (status == GANTRY_OK && binding != 0) {
        /* whoever opens it again reports why it cannot be opened */
        (void)gantry__os_library_open(asked, binding);
    }
    return status;
}

int32_t gantry__opencl_drivers_open(const gantry_host_t *host, gantry__opencl_notes_t *notes,
                                    gantry__opencl_drivers_t *out_drivers) {
    out_drivers->count = 0;
    const char *asked = gantry__host_option(host, "GANTRY_OPENCL_LIBRARY");
    if (asked && !is_called_loader(asked)) return GANTRY_OK;
    return open_listed((drivers_t){.host = host, .notes = notes, .opened = out_drivers});
}

uint64_t gantry__opencl_driver_files(const gantry_host_t *host, char *text, uint64_t capacity) {
    const char *asked = gantry__host_option(host, "GANTRY_OPENCL_LIBRARY");
    gantry__library_files_t files = {.text = text, .capacity = capacity};
    gantry__library_file_add(&files, asked ? asked : GANTRY__OPENCL_LOADER);
    if (!asked || is_called_loader(asked))
        (void)open_listed((drivers_t){.host = host, .files = &files});
    return files.length;
}
