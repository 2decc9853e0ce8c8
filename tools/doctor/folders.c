/* SPDX-License-Identifier: Apache-2.0 */
/* May the folders be written that keep compiled kernels and tuning records, and by nobody else?
 * They are made at first use, so the nearest folder above that exists is tried. */
#define _XOPEN_SOURCE 700
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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
                                       char out[DOCTOR_PATH_BYTES]) {
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (setting->source != GANTRY_FROM_DEFAULT) {
        (void)snprintf(out, DOCTOR_PATH_BYTES, "%s", setting->value);
    } else if (cache && *cache) {
        (void)snprintf(out, DOCTOR_PATH_BYTES, "%s/%s", cache, below);
    } else if (home && *home) {
        (void)snprintf(out, DOCTOR_PATH_BYTES, "%s/.cache/%s", home, below);
    } else {
        out[0] = '\0';
    }
    return *out != '\0';
}

static void cut_last(char *path) {
    char *slash = strrchr(path, '/');
    if (slash) slash[slash == path] = '\0';
    if (!slash) (void)snprintf(path, DOCTOR_PATH_BYTES, ".");
}

/* Writes a page, because a full disk shows only then. The library does it, because a limit of sizes
 * (ulimit -f) would end the process. Returns NULL or the reason. */
static const char *doctor_folders_try_folder(const char *folder) {
    char name[DOCTOR_PATH_BYTES + 32];
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
    struct stat found;
    char nearest[DOCTOR_PATH_BYTES];
    (void)snprintf(nearest, sizeof nearest, "%s", path);
    while (stat(nearest, &found) != 0) {
        if (errno != ENOENT || strcmp(nearest, ".") == 0 || strcmp(nearest, "/") == 0)
            return strerror(errno);
        cut_last(nearest);
    }
    return S_ISDIR(found.st_mode) ? doctor_folders_try_folder(nearest) : strerror(ENOTDIR);
}

static void doctor_folders_check_folder(doctor_t *doctor, size_t row) {
    gantry_setting_t setting = {.struct_size = sizeof setting};
    char path[DOCTOR_PATH_BYTES];
    const char *name = folders[row].name;
    if (gantry_get_setting(doctor->runtime, folders[row].setting, NULL, &setting) != GANTRY_OK)
        return;
    if (!doctor_folders_find_folder(&setting, folders[row].below, path)) {
        bool is_off = setting.source != GANTRY_FROM_DEFAULT;
        (void)doctor_add(
            doctor, DOCTOR_MACHINE, name, DOCTOR_NOT_POSSIBLE, is_off ? NULL : folders[row].remedy,
            is_off ? "switched off by %s" : "%s: neither XDG_CACHE_HOME nor HOME is set",
            setting.set_by);
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
