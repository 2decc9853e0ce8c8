/* SPDX-License-Identifier: Apache-2.0 */
/* The trial of a setting, in a runtime of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/program_files.h"
#include "tune/tune.h"

#define MOST_SETTINGS 4

/* Writes the records, which must be there before the device is opened, because it reads them
 * then. */
static bool put_records(const tune_try_t *self, const char *alias, const tune_record_t *records) {
    const gantry_physical_device_t *device;
    if (gantry_find_physical_device(self->runtime, alias, &device) != GANTRY_OK) return false;
    for (; records && records->what; ++records) {
        if (gantry_put_tuning(self->runtime, device, records->what, records->values) != GANTRY_OK)
            return false;
    }
    return true;
}

static bool make_folder(tune_try_t *self) {
    static const char name[] = "/gantry_tune_XXXXXX";
    const size_t most = sizeof self->folder - sizeof name;
    if (gantry__os_temporary_folder(self->folder, most) &&
        gantry__os_make_own_folder(strcat(self->folder, name)) == 0)
        return true;
    self->folder[0] = '\0';
    return false;
}

bool tune_try_open(tune_try_t *self, const tune_t *tune, const char *backend,
                   const char *const *settings, const tune_record_t *records) {
    return tune_try_open_logged(self, tune, backend, settings, records, NULL, NULL);
}

bool tune_try_open_logged(tune_try_t *self, const tune_t *tune, const char *backend,
                          const char *const *settings, const tune_record_t *records,
                          gantry_log_fn log, void *log_user) {
    char file[TUNE_FOLDER_BYTES + 32] = "GANTRY_TUNING_FILE=";
    const char *extra[MOST_SETTINGS + 2] = {file};
    *self = (tune_try_t){0};
    for (size_t i = 0; settings[i] && i < MOST_SETTINGS; ++i) extra[i + 1] = settings[i];
    if (records && !make_folder(self)) {
        (void)fprintf(
            stderr,
            "gantry: a folder for the tuning file cannot be made in the folder of temporary files\n");
        return false;
    }
    if (records) (void)snprintf(file, sizeof file, "GANTRY_TUNING_FILE=%s/records", self->folder);
    gantry_runtime_options_t options = {
        .struct_size = sizeof options,
        .log = log,
        .log_user = log_user,
        .log_level = log ? GANTRY_LEVEL_DEBUG : GANTRY_LEVEL_DEFAULT,
        .backends = backend,
        .extra = extra,
        .opencl_cpu_as_gpu = GANTRY_OFF,
        .cpu_threads = gantry_get_intra_op_parallelism_threads(tune->runtime)};
    if (gantry_runtime_create(&options, &self->runtime) == GANTRY_OK &&
        put_records(self, tune->details.alias, records)) {
        self->scope = gantry_scope_begin(self->runtime, tune->details.alias);
    }
    if (self->scope) return true;
    (void)fprintf(stderr, "gantry: %s\n", gantry_last_message());
    tune_try_close(self);
    return false;
}

void tune_try_close(tune_try_t *self) {
    char path[TUNE_FOLDER_BYTES + 16];
    if (self->scope) (void)gantry_scope_end(self->scope);
    gantry_runtime_release(self->runtime);
    for (int i = 0; self->folder[0] && i < 2; ++i) {
        (void)snprintf(path, sizeof path, "%s/records%s", self->folder, i ? ".lock" : "");
        (void)gantry__os_remove(path);
    }
    if (self->folder[0]) (void)gantry__os_remove_folder(self->folder);
    *self = (tune_try_t){0};
}

const char *tune_try_libraries(const tune_try_t *self, const char *backend) {
    for (size_t i = 0; i < gantry_backend_status_count(self->runtime); ++i) {
        gantry_backend_status_t status = {.struct_size = sizeof status};
        if (gantry_backend_status(self->runtime, i, &status) == GANTRY_OK &&
            strcmp(status.name, backend) == 0 && status.state == GANTRY_BACKEND_USABLE)
            return status.libraries;
    }
    return "";
}
