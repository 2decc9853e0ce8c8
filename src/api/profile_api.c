/* SPDX-License-Identifier: Apache-2.0 */
/* Public calls of profile.h. */
#include <gantry/gantry.h>

#include <string.h>

#include "api/api.h"
#include "base/fp_mode.h"

gantry_status_t gantry_profile_start(gantry_runtime_t *runtime, gantry_profile_mode_t mode) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (mode != GANTRY_PROFILE_ON && mode != GANTRY_PROFILE_WAIT) {
        return gantry__refuse(
            "gantry_profile_start: mode is %d; GANTRY_PROFILE_ON and GANTRY_PROFILE_WAIT are accepted",
            (int)mode);
    }
    gantry__profile_restart(&runtime->profile, mode);
    (void)gantry__device_set_profile(&runtime->devices, (int)mode);
    gantry__settings_note_call(&runtime->settings, "GANTRY_PROFILE", "gantry_profile_start");
    return GANTRY_OK;
}

gantry_status_t gantry_profile_stop(gantry_runtime_t *runtime) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!(gantry__device_set_profile(&runtime->devices, 0) & ~GANTRY__TRACING)) {
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "gantry_profile_stop: nothing is recorded; gantry_profile_start, the option profile or GANTRY_PROFILE=on begins it");
    }
    gantry__profile_end(&runtime->profile);
    gantry__settings_note_call(&runtime->settings, "GANTRY_PROFILE", "gantry_profile_stop");
    return GANTRY_OK;
}

gantry_status_t gantry_trace_start(gantry_runtime_t *runtime, const char *path) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!path)
        return gantry__refuse("gantry_trace_start: path is NULL; the path of a file is accepted");
    GANTRY__TRY(gantry__runtime_trace(runtime, path, false));
    return gantry__settings_put_call(&runtime->settings, "GANTRY_TRACE", path,
                                     "gantry_trace_start");
}

gantry_status_t gantry_trace_stop(gantry_runtime_t *runtime) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__runtime_check(runtime));
    GANTRY__TRY(gantry__runtime_end_trace(runtime));
    return gantry__settings_put_call(&runtime->settings, "GANTRY_TRACE", "", "gantry_trace_stop");
}

gantry_status_t gantry_trace_add(gantry_runtime_t *runtime, const char *name, const char *detail,
                                 uint64_t begin_ns, uint64_t end_ns) {
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!name) return gantry__refuse("gantry_trace_add: name is NULL; any text is accepted");
    if (end_ns < begin_ns)
        return gantry__refuse("gantry_trace_add: end_ns is %llu, before begin_ns, which is %llu",
                              (unsigned long long)end_ns, (unsigned long long)begin_ns);
    gantry__host_times_program(&runtime->devices, name, detail, begin_ns, end_ns);
    return GANTRY_OK;
}

size_t gantry_profile_row_count(gantry_runtime_t *runtime) {
    return gantry__runtime_check(runtime) == GANTRY_OK ? gantry__profile_count(&runtime->profile)
                                                       : 0;
}

gantry_status_t gantry_profile_read(gantry_runtime_t *runtime, size_t index,
                                    gantry_profile_row_t *out_row) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!out_row) return gantry__refuse("gantry_profile_read: out_row is NULL");
    gantry_profile_row_t row;
    GANTRY__TRY(gantry__profile_row(&runtime->profile, index, &row));
    return gantry__struct_fill(out_row, &row, sizeof row, "gantry_profile_read: out_row");
}

static gantry_status_t check_format_call(gantry_report_format_t format, char *out, size_t out_bytes,
                                         size_t *out_needed) {
    if (out && out_bytes > 0) out[0] = '\0';
    if (out_needed) *out_needed = 0;
    if (format != GANTRY_REPORT_TEXT && format != GANTRY_REPORT_JSON) {
        return gantry__refuse(
            "gantry_profile_format: format is %d; GANTRY_REPORT_TEXT and GANTRY_REPORT_JSON are accepted",
            (int)format);
    }
    if (!out && out_bytes > 0)
        return gantry__refuse("gantry_profile_format: out is NULL, but out_bytes is %zu",
                              out_bytes);
    return GANTRY_OK;
}

gantry_status_t gantry_profile_format(gantry_runtime_t *runtime, gantry_report_format_t format,
                                      char *out, size_t out_bytes, size_t *out_needed) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(check_format_call(format, out, out_bytes, out_needed));
    GANTRY__TRY(gantry__runtime_check(runtime));
    gantry__profile_snapshot_t snapshot;
    GANTRY__TRY(gantry__profile_snapshot(&runtime->profile, &snapshot));
    gantry__text_t text;
    gantry__text_init(&text, &runtime->heap);
    if (format == GANTRY_REPORT_JSON) {
        gantry__profile_write_json(&snapshot, &text);
    } else {
        gantry__profile_write_text(&snapshot, &text);
    }
    gantry__profile_snapshot_deinit(&snapshot);
    gantry_status_t status = gantry__text_status(&text);
    if (status == GANTRY_OK && out_bytes > 0) {
        size_t copied = text.length < out_bytes - 1 ? text.length : out_bytes - 1;
        memcpy(out, gantry__text_get(&text), copied);
        out[copied] = '\0';
    }
    if (status == GANTRY_OK && out_needed) *out_needed = text.length;
    gantry__text_deinit(&text);
    return status;
}
