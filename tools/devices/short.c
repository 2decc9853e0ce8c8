/* SPDX-License-Identifier: Apache-2.0 */
/* gantry devices: two lines for each device, a line for each reason why one is not used, and a line
 * for each backend that is not usable. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "devices/devices.h"

__attribute__((format(printf, 3, 4))) static void devices_short_append(char *out, size_t out_bytes,
                                                                       const char *format, ...) {
    const size_t used = strlen(out);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(out + used, out_bytes - used, format, arguments);
    va_end(arguments);
}

void devices_now_text(const gantry_device_telemetry_t *telemetry, char *out, size_t out_bytes) {
    char used[GANTRY_TOOL_TEXT_BYTES], available[GANTRY_TOOL_TEXT_BYTES];
    const uint32_t known = telemetry->known;
    out[0] = '\0';
    if (known & GANTRY_TELEMETRY_MEMORY)
        devices_short_append(out, out_bytes, ", %s in use, %s free",
                             gantry_tool_size_text(telemetry->used_bytes, used),
                             gantry_tool_size_text(telemetry->free_bytes, available));
    if (known & GANTRY_TELEMETRY_UTILIZATION)
        devices_short_append(out, out_bytes, ", %" PRIu32 " %% busy",
                             telemetry->utilization_percent);
    if (known & GANTRY_TELEMETRY_TEMPERATURE)
        devices_short_append(out, out_bytes, ", %" PRId32 " C", telemetry->temperature_celsius);
    if (known & GANTRY_TELEMETRY_POWER)
        devices_short_append(out, out_bytes, ", %" PRIu32 " W",
                             (telemetry->power_milliwatts + 500) / 1000);
    if (*out) memmove(out, out + 2, strlen(out) - 1);
}

static void devices_short_print_names(const devices_shown_t *shown) {
    const gantry_device_details_t *details = &shown->details;
    (void)printf("%-10s %s%s", "", gantry_tool_style(stdout, GANTRY_STYLE_FAINT), details->alias);
    (void)printf(", %s", details->uuid);
    if (*details->pci_address) (void)printf(", %s", details->pci_address);
    if (strcmp(details->type, "CPU") != 0 && *details->driver_version)
        (void)printf(", driver %s", details->driver_version);
    (void)printf("%s\n", gantry_tool_style(stdout, GANTRY_STYLE_PLAIN));
}

static void print_reason(const char *before, const char *text) {
    if (*text) (void)printf("%-10s %s%s\n", "", before, text);
}

/* A free device has no line. */
static void devices_short_print_claim(const gantry_tool_claim_t *claim) {
    char text[768];
    gantry_tool_claim_text(claim, text, sizeof text);
    if (claim->state != GANTRY_TOOL_CLAIM_FREE) print_reason("", text);
}

static void devices_short_print_device(gantry_runtime_t *runtime,
                                       const gantry_physical_device_t *device) {
    devices_shown_t shown;
    char now[256], size[GANTRY_TOOL_TEXT_BYTES];
    devices_look_at(runtime, device, &shown);
    devices_now_text(&shown.telemetry, now, sizeof now);
    (void)printf("%s%-10s%s %s: %s", gantry_tool_style(stdout, GANTRY_STYLE_BOLD),
                 *shown.name ? shown.name : "-", gantry_tool_style(stdout, GANTRY_STYLE_PLAIN),
                 shown.details.hardware_name,
                 gantry_tool_size_text(shown.details.total_bytes, size));
    /* a device that computes in host memory has the machine's figures */
    const bool is_host = shown.telemetry.total_bytes / 8 * 7 > shown.details.total_bytes;
    (void)printf("%s%s\n", !*now ? "" : is_host ? "; machine: " : ", ", now);
    devices_short_print_names(&shown);
    if (shown.part_count > 1)
        (void)printf("%-10s in %zu parts, to %s\n", "", shown.part_count,
                     shown.parts[shown.part_count - 1].name);
    devices_short_print_claim(&shown.claim);
    print_reason("hidden by ", shown.details.hidden_by);
    print_reason("", shown.details.note);
    print_reason("error: ", shown.error);
}

/* A backend that is usable may lack a driver: the parts of its text about libraries say so. */
static void print_missing_drivers(const gantry_backend_status_t *status) {
    const char *const lost = "which cannot be opened";
    for (const char *part = status->libraries; part && *part;) {
        const char *end = strstr(part, "; ");
        const size_t length = end ? (size_t)(end - part) : strlen(part);
        const char *found = strstr(part, lost);
        if (found && found < part + length)
            (void)printf("%-10s %.*s\n", status->name, (int)length, part);
        part = end ? end + 2 : NULL;
    }
}

static void print_missing_backend(const gantry_backend_status_t *status) {
    print_missing_drivers(status);
    if (status->state == GANTRY_BACKEND_USABLE && !*status->reason) return;
    (void)printf("%-10s %s%s%s  %s\n", status->name,
                 gantry_tool_style(stdout, GANTRY_STYLE_WARNING), devices_state_name(status->state),
                 gantry_tool_style(stdout, GANTRY_STYLE_PLAIN), status->reason);
}

int devices_print_short(gantry_runtime_t *runtime) {
    size_t count;
    const gantry_physical_device_t **views = devices_list_views(runtime, &count);
    if (!views) return gantry_tool_fail_last();
    for (size_t i = 0; i < count; ++i) devices_short_print_device(runtime, views[i]);
    free(views);
    for (size_t i = 0; i < gantry_backend_status_count(runtime); ++i) {
        gantry_backend_status_t status = {.struct_size = sizeof status};
        if (gantry_backend_status(runtime, i, &status) == GANTRY_OK) print_missing_backend(&status);
    }
    return GANTRY_TOOL_OK;
}
