/* SPDX-License-Identifier: Apache-2.0 */
/* gantry claims: who holds which device.
 *
 * The claimant's own words come from its file. The processes come from the system, where a reused
 * process id cannot deceive: they have the claim's file open. Only root sees those of others. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/processes.h"
#include "command/command.h"
#include "common/tool.h"

#define MOST_CLAIMS 256
#define MOST_HOLDERS 16

typedef struct claimed_t {
    gantry_claim_info_t info;
    char name[32];      /* "GPU:0"; "" if this machine has no such device */
    char hardware[128]; /* "" likewise */
    bool has_holders;   /* the system shows them */
    int64_t holders[MOST_HOLDERS];
    size_t holder_count;
} claimed_t;

/* ---- what is known ---- */

static void claims_name_device(gantry_runtime_t *runtime, claimed_t *claimed) {
    const gantry_physical_device_t *devices[64];
    size_t count = 0;
    if (gantry_list_physical_devices(runtime, NULL, 64, devices, &count) != GANTRY_OK) return;
    for (size_t i = 0; i < count && i < 64; ++i) {
        gantry_claim_info_t info = {.struct_size = sizeof info};
        gantry_device_details_t details = {.struct_size = sizeof details};
        if (gantry_get_claim(runtime, devices[i], &info) != GANTRY_OK ||
            strcmp(info.device, claimed->info.device) != 0 ||
            gantry_get_device_details(runtime, devices[i], &details) != GANTRY_OK)
            continue;
        (void)snprintf(claimed->name, sizeof claimed->name, "%.31s",
                       details.name + strlen("/physical_device:"));
        (void)snprintf(claimed->hardware, sizeof claimed->hardware, "%s", details.hardware_name);
    }
}

static void find_holders(claimed_t *claimed) {
    char file_name[128];
    (void)snprintf(file_name, sizeof file_name, "/%s.claim", claimed->info.device);
    claimed->has_holders = gantry__os_processes_with(file_name, claimed->holders, MOST_HOLDERS,
                                                     &claimed->holder_count);
}

static claimed_t *list_claims(gantry_runtime_t *runtime, size_t *out_count, size_t *out_waiting) {
    static gantry_claim_info_t infos[MOST_CLAIMS];
    infos[0].struct_size = sizeof infos[0];
    if (gantry_list_claims(runtime, MOST_CLAIMS, infos, out_count, out_waiting) != GANTRY_OK) {
        (void)gantry_tool_fail_last();
        return NULL;
    }
    if (*out_count > MOST_CLAIMS) *out_count = MOST_CLAIMS;
    claimed_t *all = calloc(*out_count + 1, sizeof *all);
    if (!all) (void)gantry_tool_fail("claims: no memory for %zu claims", *out_count);
    for (size_t i = 0; all && i < *out_count; ++i) {
        all[i].info = infos[i];
        claims_name_device(runtime, &all[i]);
        find_holders(&all[i]);
    }
    return all;
}

/* ---- output ---- */

static void print_claim(const claimed_t *claimed) {
    const gantry_claim_info_t *info = &claimed->info;
    char user[GANTRY_TOOL_TEXT_BYTES], held[GANTRY_TOOL_TEXT_BYTES];
    (void)printf("%s%s%s%s%s\n", *claimed->name ? claimed->name : info->device,
                 *claimed->name ? "  " : "", *claimed->name ? claimed->hardware : "",
                 *claimed->name ? "  " : "  (no device of this machine)",
                 *claimed->name ? info->device : "");
    (void)printf("    by %s, process %" PRId64 " on %s, for %s\n",
                 gantry_tool_user_name(info->user, user), info->process,
                 *info->host ? info->host : "an unknown host",
                 gantry_tool_duration_text((double)info->held_seconds, held));
    (void)printf("    %s\n", *info->command ? info->command : "(no command is known)");
    if (!claimed->has_holders)
        (void)printf("    this system does not show which processes hold it\n");
    if (claimed->holder_count == 0) return;
    (void)printf("    held by process%s", claimed->holder_count == 1 ? "" : "es");
    for (size_t i = 0; i < claimed->holder_count; ++i)
        (void)printf("%s %" PRId64, i ? "," : "", claimed->holders[i]);
    (void)printf("\n");
}

static void print_claims(const claimed_t *all, size_t count, size_t waiting) {
    if (count == 0) (void)printf("no device is claimed\n");
    for (size_t i = 0; i < count; ++i) print_claim(&all[i]);
    if (waiting > 0)
        (void)printf("%zu claimant%s in the queue\n", waiting, waiting == 1 ? " waits" : "s wait");
}

static void claims_print_json(const claimed_t *all, size_t count, size_t waiting) {
    gantry_json_t json;
    char user[GANTRY_TOOL_TEXT_BYTES];
    gantry_json_init(&json, stdout);
    gantry_json_object(&json, NULL);
    gantry_json_array(&json, "claims");
    for (size_t i = 0; i < count; ++i) {
        const gantry_claim_info_t *info = &all[i].info;
        gantry_json_object(&json, NULL);
        gantry_json_text(&json, "device", info->device);
        gantry_json_text(&json, "name", all[i].name);
        gantry_json_text(&json, "hardware", all[i].hardware);
        gantry_json_integer(&json, "user", info->user);
        gantry_json_text(&json, "user_name", gantry_tool_user_name(info->user, user));
        gantry_json_integer(&json, "process", info->process);
        gantry_json_text(&json, "host", info->host);
        gantry_json_text(&json, "since", info->since);
        gantry_json_unsigned(&json, "held_seconds", info->held_seconds);
        gantry_json_text(&json, "command", info->command);
        if (all[i].has_holders) gantry_json_array(&json, "holders");
        for (size_t h = 0; h < all[i].holder_count; ++h)
            gantry_json_integer(&json, NULL, all[i].holders[h]);
        if (all[i].has_holders) gantry_json_end(&json);
        if (!all[i].has_holders) gantry_json_null(&json, "holders");
        gantry_json_end(&json);
    }
    gantry_json_end(&json);
    gantry_json_unsigned(&json, "waiting", waiting);
    gantry_json_end(&json);
}

static int claims_run(const gantry_command_values_t *values) {
    size_t count = 0, waiting = 0;
    gantry_runtime_t *runtime = gantry_command_open_runtime(values, NULL);
    if (!runtime) return GANTRY_TOOL_FAILED;
    claimed_t *all = list_claims(runtime, &count, &waiting);
    if (all && gantry_command_has(values, "json")) {
        claims_print_json(all, count, waiting);
    } else if (all) {
        print_claims(all, count, waiting);
    }
    free(all);
    gantry_runtime_release(runtime);
    return all ? GANTRY_TOOL_OK : GANTRY_TOOL_FAILED;
}

const gantry_command_t gantry_command_claims = {
    .name = "claims",
    .summary = "lists who holds which device",
    .description =
        "A claim is made by `gantry run`, by GANTRY_VISIBLE_DEVICES=auto, or by a program that calls "
        "gantry_claim_device. Claimants share the folder GANTRY_CLAIMS_DIR; /run/lock/gantry or "
        "/tmp/gantry-claims if it is not set. The user, the process and the command are what the "
        "claimant wrote; the processes that hold the claim are found in /proc.",
    .options = {GANTRY_OPTION_JSON, GANTRY_OPTION_CPU_AS_GPU, GANTRY_OPTION_VERBOSE},
    .examples = {{"gantry claims", NULL}, {"gantry claims --json", "prints the same as JSON"}},
    .run = claims_run};
