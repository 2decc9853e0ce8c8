/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL drivers: does a .icd file name each vendor's library that is installed? An OpenCL loader
 * finds a driver only through such a file, and containers often get the library without it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/os/paths.h"
#include "doctor/doctor.h"

#define USUAL_FOLDER "/etc/OpenCL/vendors"

static const struct {
    const char *vendor, *stem, *file, *package;
} vendors[] = {
    {"NVIDIA", "libnvidia-opencl.so", "nvidia.icd", "nvidia-opencl-icd"},
    {"Intel", "libigdrcl.so", "intel.icd", "intel-opencl-icd"},
    {"AMD", "libamdocl64.so", "amdocl64.icd", "rocm-opencl-icd"},
    {"Mesa", "libRusticlOpenCL.so", "rusticl.icd", "mesa-opencl-icd"},
    {"PoCL", "libpocl.so", "pocl.icd", "pocl-opencl-icd"},
};

static const char *const library_folders[] = {"/usr/lib/*-linux-gnu*",
                                              "/usr/lib/*-linux-gnu*/intel-opencl",
                                              "/usr/lib64",
                                              "/usr/lib",
                                              "/usr/lib64/intel-opencl",
                                              "/usr/local/lib",
                                              "/opt/rocm*/lib",
                                              "/usr/lib/wsl/lib",
                                              "/usr/local/nvidia/lib64"};

/* ---- libraries ---- */

/* The first one stays, because it comes last. */
static bool doctor_icd_keep_path(void *user, const char *path) {
    (void)snprintf(user, DOCTOR_PATH_BYTES, "%s", path);
    return true;
}

static bool doctor_icd_find_file(const char *pattern, char out[DOCTOR_PATH_BYTES]) {
    out[0] = '\0';
    gantry__os_match(pattern, doctor_icd_keep_path, out);
    return *out != '\0';
}

/* Finds a library with a version after .so, because the bare name belongs to development packages,
 * except for drivers that have no other. */
static bool find_library(const char *stem, char out[DOCTOR_PATH_BYTES]) {
    for (size_t i = 0; i < sizeof library_folders / sizeof library_folders[0]; ++i) {
        char below[256], pattern[DOCTOR_PATH_BYTES];
        (void)snprintf(below, sizeof below, "%s/%s*", library_folders[i], stem);
        if (doctor_icd_find_file(doctor_path(pattern, below), out)) return true;
    }
    return false;
}

/* ---- .icd files ---- */

/* Libraries that .icd files name, one line each. */
typedef struct names_t {
    char text[8192];
    size_t files;
} names_t;

static bool read_icd(void *user, const char *path) {
    names_t *names = user;
    const size_t used = strlen(names->text);
    FILE *file = fopen(path, "r");
    if (file && sizeof names->text - used > 1 &&
        !fgets(names->text + used, (int)(sizeof names->text - used), file))
        names->text[used] = '\0';
    if (file) (void)fclose(file);
    ++names->files;
    return true;
}

static void read_folder(names_t *names, const char *folder) {
    char pattern[DOCTOR_PATH_BYTES];
    (void)snprintf(pattern, sizeof pattern, "%.1000s/*.icd", folder);
    gantry__os_match(pattern, read_icd, names);
}

static const char *value_of(const char *variable) {
    const char *value = getenv(variable);
    return value && *value ? value : NULL;
}

static bool is_folder(const char *path) {
    gantry__os_info_t info;
    return gantry__os_path_info(path, &info) == 0 && info.kind == GANTRY__OS_FOLDER;
}

/* Reads one entry. A name without a folder is first looked for among the usual files. */
static void doctor_icd_read_one(names_t *names, const char *asked, const char *folder) {
    char path[2 * DOCTOR_PATH_BYTES];
    (void)snprintf(path, sizeof path, "%.1000s/%.1000s", folder, asked);
    if (!gantry__os_path_has_folder(asked) && gantry__os_may(path, 0) == 0)
        (void)read_icd(names, path);
    else if (gantry__os_may(asked, 0) == 0)
        (void)read_icd(names, asked);
}

/* By the loader's rules: backends/opencl/opencl_drivers.c has them in full. */
static void read_listed(names_t *names) {
    char own[DOCTOR_PATH_BYTES];
    const char *asked = value_of("OCL_ICD_VENDORS"), *folder = value_of("OPENCL_VENDOR_PATH");
    if (!folder) folder = doctor_path(own, USUAL_FOLDER);
    *names = (names_t){.files = 0};
    if (!asked) {
        read_folder(names, folder);
    } else if (is_folder(asked)) {
        read_folder(names, asked);
    } else if (strlen(asked) > 4 && strcmp(asked + strlen(asked) - 4, ".icd") == 0) {
        doctor_icd_read_one(names, asked, folder);
    } else {
        (void)snprintf(names->text, sizeof names->text, "%s\n", asked);
        names->files = 1;
    }
}

/* ---- the checks ---- */

static void tell_unlisted(doctor_t *doctor, size_t row, const char *library) {
    char remedy[512];
    (void)snprintf(remedy, sizeof remedy,
                   "apt-get install %s, or echo %.100s >" USUAL_FOLDER
                   "/%s; without root: export OCL_ICD_VENDORS=%.200s",
                   vendors[row].package, gantry__os_path_name(library), vendors[row].file, library);
    (void)doctor_add(doctor, "opencl", "OpenCL drivers", DOCTOR_FAILED, remedy,
                     "%s's OpenCL library %s is installed, but no .icd file names it",
                     vendors[row].vendor, library);
}

static void tell_hidden(doctor_t *doctor, size_t row, const char *library) {
    const char *variable = value_of("OCL_ICD_VENDORS") ? "OCL_ICD_VENDORS" : "OPENCL_VENDOR_PATH";
    char remedy[160];
    (void)snprintf(remedy, sizeof remedy,
                   is_folder(getenv(variable)) ? "unset %s, or add %s to it"
                                               : "unset %s, or name a folder that has %s, too",
                   variable, vendors[row].file);
    doctor_add(doctor, DOCTOR_HIDDEN, "OpenCL drivers", DOCTOR_NOT_POSSIBLE, remedy,
               "%s=%.300s leaves out %s's OpenCL driver %s", variable, getenv(variable),
               vendors[row].vendor, library)
        ->backend = "opencl";
}

void doctor_check_icd(doctor_t *doctor) {
    names_t listed, usual = {.files = 0};
    char library[DOCTOR_PATH_BYTES], folder[DOCTOR_PATH_BYTES];
    bool is_chosen = value_of("OCL_ICD_VENDORS") || value_of("OPENCL_VENDOR_PATH");
    size_t missing = 0;
    read_listed(&listed);
    if (is_chosen) read_folder(&usual, doctor_path(folder, USUAL_FOLDER));
    for (size_t i = 0; i < sizeof vendors / sizeof vendors[0]; ++i) {
        if (strstr(listed.text, vendors[i].stem) || !find_library(vendors[i].stem, library))
            continue;
        if (strstr(usual.text, vendors[i].stem)) {
            tell_hidden(doctor, i, library);
        } else {
            tell_unlisted(doctor, i, library);
        }
        ++missing;
    }
    if (missing == 0 && listed.files > 0)
        (void)doctor_add(doctor, "opencl", "OpenCL drivers", DOCTOR_PASSED, NULL,
                         "%zu listed; every installed driver has its .icd file", listed.files);
}
