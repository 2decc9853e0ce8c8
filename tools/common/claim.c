/* SPDX-License-Identifier: Apache-2.0 */
/* Who holds a device, for the commands that list devices. */
#include <inttypes.h>

#include "base/os/users.h"
#include "common/tool.h"

const char *gantry_tool_user_name(int64_t user, char out[GANTRY_TOOL_TEXT_BYTES]) {
    if (user < 0) return "unknown";
    if (!gantry__os_user_name((uint64_t)user, out, GANTRY_TOOL_TEXT_BYTES))
        (void)snprintf(out, GANTRY_TOOL_TEXT_BYTES, "%" PRId64, user);
    return out;
}

void gantry_tool_claim_read(gantry_runtime_t *runtime, const gantry_physical_device_t *device,
                            gantry_tool_claim_t *out) {
    *out = (gantry_tool_claim_t){.state = GANTRY_TOOL_CLAIM_UNKNOWN,
                                 .info = {.struct_size = sizeof out->info, .user = -1}};
    if (gantry_get_claim(runtime, device, &out->info) != GANTRY_OK) {
        (void)snprintf(out->reason, sizeof out->reason, "%s", gantry_last_message());
        return;
    }
    out->state = out->info.held ? GANTRY_TOOL_CLAIM_HELD : GANTRY_TOOL_CLAIM_FREE;
    char user[GANTRY_TOOL_TEXT_BYTES];
    (void)snprintf(out->user, sizeof out->user, "%s", gantry_tool_user_name(out->info.user, user));
}

const char *gantry_tool_claim_state(const gantry_tool_claim_t *claim) {
    static const char *const names[] = {"unknown", "free", "claimed"};
    return names[claim->state];
}

void gantry_tool_claim_text(const gantry_tool_claim_t *claim, char *out, size_t out_bytes) {
    const gantry_claim_info_t *info = &claim->info;
    char held[GANTRY_TOOL_TEXT_BYTES];
    if (claim->state == GANTRY_TOOL_CLAIM_FREE) (void)snprintf(out, out_bytes, "not claimed");
    if (claim->state == GANTRY_TOOL_CLAIM_UNKNOWN)
        (void)snprintf(out, out_bytes, "whether it is claimed is unknown: %s", claim->reason);
    if (claim->state == GANTRY_TOOL_CLAIM_HELD)
        (void)snprintf(out, out_bytes, "claimed by %s, process %" PRId64 " on %s, for %s: %.100s",
                       claim->user, info->process, *info->host ? info->host : "an unknown host",
                       gantry_tool_duration_text((double)info->held_seconds, held),
                       *info->command ? info->command : "(no command is known)");
}

void gantry_tool_claim_json(gantry_json_t *json, const char *key,
                            const gantry_tool_claim_t *claim) {
    const gantry_claim_info_t *info = &claim->info;
    gantry_json_object(json, key);
    gantry_json_text(json, "state", gantry_tool_claim_state(claim));
    if (claim->state == GANTRY_TOOL_CLAIM_UNKNOWN) gantry_json_text(json, "reason", claim->reason);
    if (claim->state == GANTRY_TOOL_CLAIM_HELD) {
        gantry_json_integer(json, "user", info->user);
        gantry_json_text(json, "user_name", claim->user);
        gantry_json_integer(json, "process", info->process);
        gantry_json_text(json, "host", info->host);
        gantry_json_text(json, "since", info->since);
        gantry_json_unsigned(json, "held_seconds", info->held_seconds);
        gantry_json_text(json, "command", info->command);
    }
    gantry_json_end(json);
}
