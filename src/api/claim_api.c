/* SPDX-License-Identifier: Apache-2.0 */
/* Public calls of claims: claim.h over src/claim. */
#include <gantry/claim.h>

#include <stdio.h>
#include <string.h>

#include "api/api.h"
#include "base/files.h"
#include "device/device_claim.h"

struct gantry_claim_t {
    gantry_runtime_t *runtime;
    gantry__claim_t claim;
    char *command; /* NULL: the program's own */
};

static const char *folder_of(gantry_runtime_t *runtime) {
    return gantry__settings_get(&runtime->settings, "GANTRY_CLAIMS_DIR", NULL);
}

static gantry_status_t claim_check(const gantry_claim_t *claim) {
    if (!claim) return gantry__refuse("the claim is NULL");
    return gantry__runtime_check(claim->runtime);
}

/* ---- a claimant ---- */

static void free_claim(gantry_runtime_t *runtime, gantry_claim_t *claim) {
    gantry__heap_free_text(&runtime->heap, claim->command);
    gantry__heap_free(&runtime->heap, claim, sizeof *claim);
}

gantry_status_t gantry_claim_create(gantry_runtime_t *runtime, const char *command,
                                    gantry_claim_t **out_claim) {
    if (!out_claim) return gantry__refuse("gantry_claim_create: out_claim is NULL");
    *out_claim = NULL;
    GANTRY__TRY(gantry__runtime_check_well(runtime));
    gantry_claim_t *claim = gantry__heap_zalloc(&runtime->heap, sizeof *claim);
    if (!claim) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
    if (command) claim->command = gantry__heap_strdup(&runtime->heap, command);
    if (!command || claim->command)
        status = gantry__claim_open(folder_of(runtime), claim->command, &claim->claim);
    if (status != GANTRY_OK) {
        free_claim(runtime, claim);
        return status;
    }
    claim->runtime = gantry__runtime_retain(runtime, 1);
    *out_claim = claim;
    return GANTRY_OK;
}

gantry_status_t gantry_claim_begin_turn(gantry_claim_t *claim, bool queue, size_t *out_before) {
    if (out_before) *out_before = 0;
    GANTRY__TRY(claim_check(claim));
    return gantry__claim_begin_turn(&claim->claim, queue, out_before);
}

gantry_status_t gantry_claim_device(gantry_claim_t *claim, const gantry_physical_device_t *device) {
    char name[GANTRY__CLAIM_NAME_BYTES];
    GANTRY__TRY(claim_check(claim));
    GANTRY__TRY(gantry__device_check(&claim->runtime->devices, device));
    gantry__device_claim_name(device, name);
    return gantry__claim_take(&claim->claim, name);
}

void gantry_claim_give_back(gantry_claim_t *claim) {
    if (claim && gantry__runtime_is_ours(claim->runtime)) gantry__claim_give_back(&claim->claim);
}

gantry_status_t gantry_claim_end_turn(gantry_claim_t *claim, bool keep_place) {
    GANTRY__TRY(claim_check(claim));
    return gantry__claim_end_turn(&claim->claim, keep_place);
}

gantry_status_t gantry_claim_inherit(gantry_claim_t *claim) {
    GANTRY__TRY(claim_check(claim));
    return gantry__claim_inherit(&claim->claim);
}

void gantry_claim_release(gantry_claim_t *claim) {
    if (!claim || !gantry__fork_guard_ask(&claim->runtime->fork)) return;
    gantry_runtime_t *runtime = claim->runtime;
    gantry__claim_close(&claim->claim);
    free_claim(runtime, claim);
    gantry__runtime_drop(runtime, 1);
}

/* ---- who holds what ---- */

gantry_status_t gantry_get_claim(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                                 gantry_claim_info_t *out_info) {
    char name[GANTRY__CLAIM_NAME_BYTES];
    gantry_claim_info_t info;
    gantry__claim_folder_t folder;
    uint32_t size;
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(gantry__struct_check(out_info, sizeof info, "gantry_get_claim: out_info", &size));
    GANTRY__TRY(gantry__device_check(&runtime->devices, device));
    GANTRY__TRY(gantry__claim_folder_open(folder_of(runtime), false, &folder));
    gantry__device_claim_name(device, name);
    gantry__claim_look(&folder, name, &info);
    gantry__claim_folder_close(&folder);
    return gantry__struct_fill(out_info, &info, sizeof info, "gantry_get_claim: out_info");
}

/* The device's name in a file's name; false if the file is no claim. */
static bool claim_name_of(const char *file, char out_name[GANTRY__CLAIM_NAME_BYTES]) {
    const size_t length = strlen(file), end = strlen(".claim");
    if (length <= end || length - end >= GANTRY__CLAIM_NAME_BYTES ||
        strcmp(file + length - end, ".claim") != 0)
        return false;
    for (const char *at = file; *at; ++at) {
        if (*at <= ' ' || *at > '~') return false; /* no device has such a name */
    }
    (void)snprintf(out_name, GANTRY__CLAIM_NAME_BYTES, "%.*s", (int)(length - end), file);
    return true;
}

gantry_status_t gantry_list_claims(gantry_runtime_t *runtime, size_t capacity,
                                   gantry_claim_info_t *out_claims, size_t *out_count,
                                   size_t *out_waiting) {
    uint32_t size;
    gantry__claim_folder_t folder;
    gantry__directory_names_t files;
    if (out_waiting) *out_waiting = 0;
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(gantry__list_check(capacity, out_claims, out_count, sizeof *out_claims,
                                   "gantry_list_claims: out_claims", &size));
    *out_count = 0;
    GANTRY__TRY(gantry__claim_folder_open(folder_of(runtime), false, &folder));
    if (folder.directory < 0) return GANTRY_OK;
    gantry_status_t status = gantry__directory_list(&runtime->heap, folder.path, &files);
    for (size_t i = 0; status == GANTRY_OK && i < files.count; ++i) {
        char name[GANTRY__CLAIM_NAME_BYTES];
        gantry_claim_info_t info;
        if (!claim_name_of(files.names[i], name)) continue;
        gantry__claim_look(&folder, name, &info);
        if (!info.held) continue;
        if (*out_count < capacity) gantry__struct_fill_at(out_claims, *out_count, size, &info);
        ++*out_count;
    }
    if (status == GANTRY_OK) gantry__directory_names_deinit(&files);
    if (out_waiting) *out_waiting = gantry__claim_count_waiting(&folder);
    gantry__claim_folder_close(&folder);
    return status;
}
