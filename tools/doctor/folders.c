/* SPDX-License-Identifier: Apache-2.0 */
/* May the folders be written that keep compiled kernels and tuning records, and by nobody else?
 * They are made at first use, so the nearest folder above that exists is tried. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/paths.h"
#include "base/os/user_places.h"
#include "common/tool.h"
#include "doctor/doctor.h"

static const struct {
    const char *name, *setting, *below, *remedy;
    bool is_file;
} folders[] = {
    {"kernel cache", "kernel_cache", "gantry/kernels",
     "export GANTRY_KERNEL_CACHE=/a/folder/that/you/may/write", false},
    {"tuning records", "tuning_file", "gantry/tuning/records",
     "export GANTRY_TUNING_FILE=/a/file/that/you/may/write", true},
};

/* By the rules of docs/environment.md. Returns false if there is none. */
static bool doctor_folders_find_folder(const gantry_setting_t *setting, const char *below,
                                       char out[GANTRY__OS_PATH_BYTES]) {
    if (setting->source == GANTRY_FROM_DEFAULT) return gantry_tool_user_folder(below, out);
    (void)snprintf(out, GANTRY__OS_PATH_BYTES, "%s", setting->value);
    return *out != '\0';
}

static void cut_last(char *path) {
    char *name = path + (gantry__os_path_name(path) - path);
    if (name == path)
        (void)snprintf(path, GANTRY__OS_PATH_BYTES, ".");
    else if (name == path + 1)
        *name = '\0';
    else
        name[-1] = '\0';
}

/* Writes a page, because a full disk shows only then. The library does it, because a limit of sizes
 * (ulimit -f) would end the process. Returns NULL or the reason. */
static const char *doctor_folders_try_folder(const char *folder) {
    char name[GANTRY__OS_PATH_BYTES + 32];
    static const char page[4096];
    gantry_new_file_t file;
    (void)snprintf(name, sizeof name, "%s/gantry_doctor", folder);
    const bool is_good = gantry_file_begin(name, &file) == GANTRY_OK &&
                         gantry_file_write(&file, page, sizeof page) == GANTRY_OK;
    gantry_file_abandon(&file);
    return is_good ? NULL : gantry_last_message();
}

/* Returns NULL or the reason. */
static const char *try_nearest(const char *path) {
    gantry__os_info_t found;
    char nearest[GANTRY__OS_PATH_BYTES];
    (void)snprintf(nearest, sizeof nearest, "%s", path);
    for (int error; (error = gantry__os_path_info(nearest, &found)) != 0;) {
        if (error != ENOENT || strcmp(nearest, ".") == 0 || strcmp(nearest, "/") == 0)
            return strerror(error);
        cut_last(nearest);
    }
    return found.kind == GANTRY__OS_FOLDER ? doctor_folders_try_folder(nearest) : strerror(ENOTDIR);
}

static void doctor_folders_check_folder(doctor_t *doctor, size_t row) {
    gantry_setting_t setting = {.struct_size = sizeof setting};
    char path[GANTRY__OS_PATH_BYTES];
    const char *name = folders[row].name;
    if (gantry_get_setting(doctor->runtime, folders[row].setting, NULL, &setting) != GANTRY_OK)
        return;
    if (!doctor_folders_find_folder(&setting, folders[row].below, path)) {
        bool is_off = setting.source != GANTRY_FROM_DEFAULT;
        (void)doctor_add(
            doctor, DOCTOR_MACHINE, name, DOCTOR_NOT_POSSIBLE, is_off ? NULL : folders[row].remedy,
            is_off ? "switched off by %s" : "%s: neither %s nor %s names a folder from the root on",
            setting.set_by, gantry__os_user_places[0].variable, gantry__os_user_places[1].variable);
        return;
    }
    /* in the library's own words; a path that cannot be examined cannot be written either */
    if (gantry_check_writers(path) == GANTRY_FAILED_PRECONDITION) {
        (void)doctor_add(doctor, DOCTOR_MACHINE, name, DOCTOR_FAILED, folders[row].remedy,
                         "not used: %s", gantry_last_message());
        return;
    }
    if (folders[row].is_file) cut_last(path);
    const char *why = try_nearest(path);
    if (!why)
        (void)doctor_add(doctor, DOCTOR_MACHINE, name, DOCTOR_PASSED, NULL, "%s can be written",
                         path);
    else
        (void)doctor_add(doctor, DOCTOR_MACHINE, name, DOCTOR_FAILED, folders[row].remedy,
                         "%s cannot be written: %s", path, why);
}

void doctor_check_folders(doctor_t *doctor) {
    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; ++i)
        doctor_folders_check_folder(doctor, i);
}
