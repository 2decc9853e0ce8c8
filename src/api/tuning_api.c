/* SPDX-License-Identifier: Apache-2.0 */
/* Public calls of the tuning file: tuning.h over the backends' store. */
#include <gantry/gantry.h>

#include <stdio.h>
#include <string.h>

#include "backend/tuning_key.h"
#include "api/api.h"
#include "base/fp_mode.h"
#include "device/physical_device.h"

static gantry_status_t tuning_find_name(gantry_runtime_t *runtime,
                                        const gantry_physical_device_t *device,
                                        char out_name[GANTRY__TUNING_DEVICE_BYTES]) {
    GANTRY__TRY(gantry__device_check(&runtime->devices, device));
    gantry__tuning_key(&device->info, out_name);
    return GANTRY_OK;
}

gantry_status_t gantry_get_tuning_file(gantry_runtime_t *runtime, const char **out_path) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!out_path) return gantry__refuse("gantry_get_tuning_file: out_path is NULL");
    const gantry__tuning_store_t *store = &runtime->backends.tuning;
    *out_path = store->path;
    if (store->path) return GANTRY_OK;
    return gantry__fail(GANTRY_FAILED_PRECONDITION, "there is no tuning file: %s", store->no_path);
}

gantry_status_t gantry_get_tuning_name(gantry_runtime_t *runtime,
                                       const gantry_physical_device_t *device, char *out,
                                       size_t out_bytes, size_t *out_needed) {
    char name[GANTRY__TUNING_DEVICE_BYTES];
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (out && out_bytes > 0) out[0] = '\0';
    if (out_needed) *out_needed = 0;
    if (!out && out_bytes > 0)
        return gantry__refuse("gantry_get_tuning_name: out is NULL, but out_bytes is %zu",
                              out_bytes);
    GANTRY__TRY(tuning_find_name(runtime, device, name));
    if (out_bytes > 0) (void)snprintf(out, out_bytes, "%s", name);
    if (out_needed) *out_needed = strlen(name);
    return GANTRY_OK;
}

typedef struct visitor_t {
    gantry_tuning_record_fn visit;
    void *user;
} visitor_t;

static bool visit_record(void *user, const gantry__tuning_record_t *record) {
    const visitor_t *visitor = user;
    const gantry_tuning_record_t told = {.struct_size = sizeof told,
                                         .line = record->line,
                                         .device = record->device,
                                         .what = record->what,
                                         .values = record->values,
                                         .measured = record->measured};
    GANTRY__PROGRAM_FP_MODE(program);
    return visitor->visit(visitor->user, &told);
}

gantry_status_t gantry_list_tuning(gantry_runtime_t *runtime, gantry_tuning_record_fn visit,
                                   void *user) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!visit) return gantry__refuse("gantry_list_tuning: visit is NULL");
    visitor_t visitor = {visit, user};
    return gantry__tuning_store_list(&runtime->backends.tuning, visit_record, &visitor);
}

gantry_status_t gantry_put_tuning(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                                  const char *what, const char *values) {
    char name[GANTRY__TUNING_DEVICE_BYTES];
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!what || !values)
        return gantry__refuse("gantry_put_tuning: %s is NULL", what ? "values" : "what");
    GANTRY__TRY(tuning_find_name(runtime, device, name));
    return gantry__tuning_store_put(&runtime->backends.tuning, name, what, values);
}

gantry_status_t gantry_remove_tuning(gantry_runtime_t *runtime,
                                     const gantry_physical_device_t *device, const char *what,
                                     size_t *out_removed) {
    char name[GANTRY__TUNING_DEVICE_BYTES];
    size_t removed = 0;
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (device) GANTRY__TRY(tuning_find_name(runtime, device, name));
    gantry_status_t status = gantry__tuning_store_remove(&runtime->backends.tuning,
                                                         device ? name : NULL, what, &removed);
    if (out_removed) *out_removed = removed;
    return status;
}
