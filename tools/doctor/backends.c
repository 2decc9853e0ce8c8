/* SPDX-License-Identifier: Apache-2.0 */
/* Backends with their libraries, and what the library logged while it looked for devices. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/program_files.h"
#include "common/tool.h"
#include "doctor/doctor.h"

static gantry_backend_status_t doctor_backends_status_of(const doctor_t *doctor, size_t index) {
    gantry_backend_status_t status = {.struct_size = sizeof status,
                                      .state = GANTRY_BACKEND_UNAVAILABLE,
                                      .name = "",
                                      .path = "",
                                      .reason = "",
                                      .libraries = ""};
    (void)gantry_backend_status(doctor->runtime, index, &status);
    return status;
}

/* ---- backends ---- */

static bool has_nvidia(const doctor_machine_t *machine) {
    return machine->nvidia_cards > 0 || machine->nvidia_nodes > 0 || machine->has_nvidia_module;
}

/* Whether the loader found no file of this name: a file that is there and is wrong, or one that
 * lacks another library, has a reason of its own. */
static bool is_absent(const gantry_backend_status_t *status, const char *begin, const char *file) {
    char why[120], missing[160];
    gantry__os_absent_library(why, sizeof why);
    (void)snprintf(missing, sizeof missing, "%.30s: %s", file, why);
    return strncmp(status->reason, begin, strlen(begin)) == 0 && strstr(status->reason, missing);
}

/* The machine has a card that this backend would serve, and nobody left the backend out. */
static bool is_expected(const doctor_t *doctor, const gantry_backend_status_t *status) {
    const doctor_machine_t *machine = &doctor->machine;
    if (strcmp(status->path, "none") == 0 && strstr(status->reason, "its module"))
        return true; /* this build has it, and its file is gone */
    if (strncmp(status->reason, "not built", strlen("not built")) == 0) return false;
    if (strcmp(status->name, "cuda") == 0)
        return has_nvidia(machine) ||
               !is_absent(status, "no NVIDIA driver: ", GANTRY_TOOL_CUDA_DRIVER);
    if (strcmp(status->name, "opencl") == 0)
        return machine->render_nodes > 0 ||
               !is_absent(status, "no OpenCL loader: ", GANTRY_TOOL_OPENCL_LOADER);
    return true;
}

/* Returns a remedy for a backend that is unusable, which must differ from that of a machine without
 * the driver. */
static const char *unusable_remedy(const gantry_backend_status_t *status) {
    const bool is_wrong = strncmp(status->reason, "no NVIDIA driver: ", 18) == 0 &&
                          !is_absent(status, "no NVIDIA driver: ", GANTRY_TOOL_CUDA_DRIVER);
    return is_wrong
               ? "install NVIDIA's driver again (apt-get install --reinstall libcuda1), or take "
                 "the folder of this file out of LD_LIBRARY_PATH"
               : doctor_remedy(status->reason);
}

/* Finds the command that ends the quarantine of a driver, which the reason has. */
static const char *find_way_back(const gantry_backend_status_t *status,
                                 char out[DOCTOR_PATH_BYTES]) {
    const char *begin = strstr(status->reason, "when the record is removed: rm '"),
               *end = begin ? strstr(begin, "'; ") : NULL;
    if (!end) return unusable_remedy(status);
    begin = strstr(begin, "rm '");
    (void)snprintf(out, DOCTOR_PATH_BYTES, "%.*s'  # Gantry then tries this driver again",
                   (int)(end - begin), begin);
    return out;
}

static void doctor_backends_tell_unusable(doctor_t *doctor, const gantry_backend_status_t *status,
                                          const char *name) {
    char way_back[DOCTOR_PATH_BYTES];
    const bool is_left_out = strstr(status->reason, "the list of wanted backends is") != NULL;
    if (is_left_out && doctor->leaves_drivers_out) {
        (void)doctor_add(doctor, status->name, name, DOCTOR_NOT_POSSIBLE, NULL,
                         "not opened: a process that opened the drivers did not survive");
    } else if (is_left_out) {
        (void)doctor_add(doctor, status->name, name, DOCTOR_NOT_POSSIBLE,
                         doctor_remedy(status->reason), "%s", status->reason);
    } else if (!is_expected(doctor, status) && strcmp(status->name, "cuda") == 0 &&
               strcmp(status->path, "none") != 0) {
        (void)doctor_add(doctor, status->name, name, DOCTOR_NOT_POSSIBLE, NULL,
                         "this machine has neither an NVIDIA card nor NVIDIA's driver");
    } else {
        (void)doctor_add(doctor, status->name, name,
                         is_expected(doctor, status) ? DOCTOR_FAILED : DOCTOR_NOT_POSSIBLE,
                         find_way_back(status, way_back), "%s", status->reason);
    }
}

/* ---- libraries ---- */

static const struct {
    const char *backend, *name, *kind, *part;
    const char *variable; /* names another file; NULL: none does */
    const char *remedy;
    bool is_of_several; /* used only by several cards */
} libraries[] = {
    {"cuda", "NVRTC", "cuda", "nvrtc", "GANTRY_CUDA_NVRTC", DOCTOR_NVRTC_REMEDY, false},
    {"cuda", "cuBLASLt", DOCTOR_LIBRARY, "cublas", "GANTRY_CUDA_CUBLAS",
     "pip install nvidia-cublas-cu12, or apt-get install libcublaslt12" DOCTOR_PIP_HINT, false},
    {"cuda", "cuDNN", DOCTOR_LIBRARY, "cudnn", "GANTRY_CUDA_CUDNN",
     "pip install nvidia-cudnn-cu12" DOCTOR_PIP_HINT, false},
    {"cuda", "NVML", DOCTOR_LIBRARY, "nvml", "GANTRY_CUDA_NVML",
     "apt-get install libnvidia-ml1 (Ubuntu: libnvidia-compute-580); in a container: docker run --gpus all",
     false},
    {"cuda", "NCCL", DOCTOR_LIBRARY, "nccl", "GANTRY_CUDA_NCCL",
     "pip install nvidia-nccl-cu12, or apt-get install libnccl2" DOCTOR_PIP_HINT, true},
    {"opencl", "CLBlast", DOCTOR_LIBRARY, "clblast", NULL, "apt-get install libclblast1", false},
};

/* "libnvrtc.so.12 (12.9)" of "..., libnvrtc.so.12 (12.9) found, ...". */
static void copy_found(const char *line, const char *part, char *out, size_t out_bytes) {
    const char *begin = gantry_tool_find_text(line, part),
               *end = begin ? strstr(begin, " found") : NULL;
    (void)snprintf(out, out_bytes, "found");
    if (!end) return;
    while (begin > line && begin[-1] != ' ') --begin;
    (void)snprintf(out, out_bytes, "%.*s", (int)(end - begin), begin);
}

/* Nothing that is installed helps while a variable names another file. */
static const char *library_remedy(size_t row, char *own, size_t own_bytes) {
    const char *variable = libraries[row].variable, *value = variable ? getenv(variable) : NULL;
    if (!value || !*value) return libraries[row].remedy;
    (void)snprintf(own, own_bytes, "unset %s, or correct the path in it", variable);
    return own;
}

static void check_library(doctor_t *doctor, size_t row, const char *line) {
    char missing[64], found[256], own[96];
    const char *name = libraries[row].name, *kind = libraries[row].kind;
    (void)snprintf(missing, sizeof missing, "%s missing (", name);
    const char *at = strstr(line, missing);
    if (!at) {
        copy_found(line, libraries[row].part, found, sizeof found);
        (void)doctor_add(doctor, kind, name, DOCTOR_PASSED, NULL, "%s", found);
        return;
    }
    at += strlen(missing);
    int depth = 1, length = 0; /* the reason may have brackets, too */
    for (; at[length]; ++length) {
        depth += (at[length] == '(') - (at[length] == ')');
        if (depth == 0) break;
    }
    (void)doctor_add(doctor, kind, name, DOCTOR_FAILED, library_remedy(row, own, sizeof own),
                     "%.*s", length, at);
}

/* CLBlast serves GPUs; Gantry's own kernels serve processors. */
static unsigned count_cards(const doctor_t *doctor, const char *backend) {
    unsigned count = 0;
    for (size_t i = 0; i < doctor->view_count; ++i) {
        const gantry_device_details_t details = doctor_details(doctor, i);
        count += strcmp(details.backend, backend) == 0 && strcmp(details.type, "GPU") == 0 &&
                 !strstr(details.platform, "Portable Computing Language");
    }
    return count;
}

static void check_libraries(doctor_t *doctor, const gantry_backend_status_t *status) {
    const unsigned cards = count_cards(doctor, status->name);
    for (size_t i = 0; i < sizeof libraries / sizeof libraries[0]; ++i) {
        if (strcmp(libraries[i].backend, status->name) == 0 &&
            cards > (libraries[i].is_of_several ? 1 : 0))
            check_library(doctor, i, status->libraries);
    }
}

void doctor_check_backends(doctor_t *doctor) {
    for (size_t i = 0; i < gantry_backend_status_count(doctor->runtime); ++i) {
        const gantry_backend_status_t status = doctor_backends_status_of(doctor, i);
        char name[96];
        if (strcmp(status.name, "cpu") == 0) continue; /* always there */
        (void)snprintf(name, sizeof name, "%.80s backend", status.name);
        if (status.state != GANTRY_BACKEND_USABLE) {
            doctor_backends_tell_unusable(doctor, &status, name);
            continue;
        }
        (void)doctor_add(
            doctor, status.name, name, status.device_count > 0 ? DOCTOR_PASSED : DOCTOR_FAILED,
            NULL, "%u device%s, %.*s", status.device_count, status.device_count == 1 ? "" : "s",
            (int)strcspn(status.libraries, ",;"), status.libraries);
        check_libraries(doctor, &status);
    }
}

/* ---- the log ---- */

/* Returns whether other checks repeat the line. */
static bool doctor_backends_is_told(const doctor_t *doctor, const char *line) {
    static const char *const begins[] = {"Backend ", "CUDA devices run no programs",
                                         "Program binaries are not kept"};
    for (size_t i = 0; i < sizeof begins / sizeof begins[0]; ++i) {
        if (strncmp(line, begins[i], strlen(begins[i])) == 0) return true;
    }
    for (size_t i = 0; i < gantry_backend_status_count(doctor->runtime); ++i) {
        if (strstr(doctor_backends_status_of(doctor, i).reason, line)) return true;
    }
    return false;
}

static void tell_line(doctor_t *doctor, const char *line) {
    const bool has_no_effect = strstr(line, DOCTOR_NO_EFFECT) != NULL;
    const bool is_no_fault = has_no_effect || strstr(line, "it has no devices");
    const bool is_driver = strstr(line, "OpenCL platform") || strstr(line, ".icd names") ||
                           strstr(line, "no OpenCL driver");
    const char *name = is_driver ? DOCTOR_OPENCL_DRIVER : has_no_effect ? "visible devices" : "log";
    (void)doctor_add(doctor, DOCTOR_MACHINE, name,
                     is_no_fault ? DOCTOR_NOT_POSSIBLE : DOCTOR_FAILED, doctor_remedy(line), "%s",
                     line);
}

/* Warnings, and notes on files that name no driver and on a variable that selects nothing here. */
void doctor_check_log(doctor_t *doctor) {
    for (size_t i = 0; i < doctor->line_count; ++i) {
        const char *line = doctor->lines[i];
        bool is_note = strstr(line, "which cannot be opened") ||
                       strstr(line, "which is no OpenCL driver") ||
                       strstr(line, ".icd cannot be") || strstr(line, DOCTOR_NO_EFFECT);
        if ((is_note || doctor->is_warning[i]) && !doctor_backends_is_told(doctor, line))
            tell_line(doctor, line);
    }
}
