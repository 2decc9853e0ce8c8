/* SPDX-License-Identifier: Apache-2.0 */
/* Values and sources of settings: gantry_get_setting over the settings' table, the devices' layers
 * and the runtime's switches. */
#include <gantry/gantry.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "base/fp_mode.h"
#include "base/setting_rows.h"
#include "api/api.h"
#include "device/card.h"
#include "device/physical_device.h"

_Static_assert((int)GANTRY_FROM_CALL == (int)GANTRY__SOURCE_CALL,
               "the public sources are the internal ones");

size_t gantry_setting_count(void) { return GANTRY__SETTINGS; }

const char *gantry_setting_name(size_t index) {
    return index < GANTRY__SETTINGS ? gantry__setting_rows[index].name : NULL;
}

static gantry_status_t setting_query_find_row(const char *name, size_t *out_index) {
    char names[1024] = "";
    for (size_t i = 0; i < GANTRY__SETTINGS; ++i) {
        *out_index = i;
        if (strcmp(gantry__setting_rows[i].name, name) == 0) return GANTRY_OK;
        size_t used = strlen(names);
        (void)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "",
                       gantry__setting_rows[i].name);
    }
    return gantry__fail(GANTRY_NOT_FOUND, "there is no setting \"%.100s\"; accepted are %s", name,
                        names);
}

/* Adds to the list of values that lost: "GANTRY_MEMORY_LIMIT=2G; ...". */
static void add_overruled(gantry_setting_t *out, const char *by, const char *value) {
    size_t used = strlen(out->overruled);
    (void)snprintf(out->overruled + used, sizeof out->overruled - used, "%s%s=%s", used ? "; " : "",
                   by, value);
}

static void setting_query_put_text(char *out, size_t out_bytes, const char *text) {
    (void)snprintf(out, out_bytes, "%s", text);
}

/* ---- settings of devices ---- */

static void read_layers(const gantry__device_settings_t *settings, gantry__device_setting_id_t id,
                        gantry_setting_t *out) {
    char text[256];
    int winner = settings->winner[id];
    if (winner >= 0) {
        out->source = (gantry_setting_source_t)gantry__layer_source(winner);
        gantry__device_setting_format(settings, winner, id, out->value, sizeof out->value);
        if (id == GANTRY__DEVICE_GROWTH)
            setting_query_put_text(out->value, sizeof out->value, settings->growth ? "1" : "0");
        setting_query_put_text(out->set_by, sizeof out->set_by, settings->layers[winner].by[id]);
    }
    for (int i = GANTRY__LAYERS - 1; i >= 0; --i) {
        if (i == winner || !settings->layers[i].by[id]) continue;
        gantry__device_setting_format(settings, i, id, text, sizeof text);
        add_overruled(out, settings->layers[i].by[id], text);
    }
}

static gantry_status_t read_device(gantry_runtime_t *runtime, gantry__setting_id_t row,
                                   const gantry_physical_device_t *device, gantry_setting_t *out) {
    gantry__device_table_t *table = &runtime->devices;
    gantry__device_setting_id_t id = row == GANTRY__SETTING_MEMORY_GROWTH  ? GANTRY__DEVICE_GROWTH
                                     : row == GANTRY__SETTING_MEMORY_LIMIT ? GANTRY__DEVICE_LIMIT
                                     : row == GANTRY__SETTING_MEMORY_FRACTION
                                         ? GANTRY__DEVICE_FRACTION
                                     : row == GANTRY__SETTING_WAIT_POLICY ? GANTRY__DEVICE_WAIT
                                                                          : GANTRY__DEVICE_PARTS;
    if (device) GANTRY__TRY(gantry__device_check(table, device));
    gantry__mutex_lock(&table->lock);
    read_layers(device ? &device->card->settings : &table->defaults, id, out);
    gantry__mutex_unlock(&table->lock);
    return GANTRY_OK;
}

/* ---- settings of the runtime ---- */

/* Writes the values that calls may change, and a default that the machine decides. */
static void put_live_value(gantry_runtime_t *runtime, gantry__setting_id_t id,
                           gantry_setting_t *out) {
    static const char *const policies[] = {"", "explicit", "warn", "silent", "silent_for_int32"};
    static const char *const modes[] = {"", "prefer", "warn", "require"};
    static const char *const profiles[] = {"off", "off", "on", "wait"};
    const char *text = NULL;
    switch (id) {
        case GANTRY__SETTING_SOFT_PLACEMENT:
            text = atomic_load(&runtime->soft_placement) ? "1" : "0";
            break;
        case GANTRY__SETTING_LOG_PLACEMENT:
            text = atomic_load(&runtime->log_placement) ? "1" : "0";
            break;
        case GANTRY__SETTING_DEVICE_POLICY:
            text = policies[atomic_load(&runtime->device_policy)];
            break;
        case GANTRY__SETTING_PLACEMENT_MODE:
            text = modes[atomic_load(&runtime->placement_mode)];
            break;
        case GANTRY__SETTING_CPU_THREADS:
            (void)snprintf(out->value, sizeof out->value, "%" PRId32,
                           gantry_get_intra_op_parallelism_threads(runtime));
            break;
        case GANTRY__SETTING_INTER_OP_THREADS:
            (void)snprintf(out->value, sizeof out->value, "%" PRId32,
                           gantry_get_inter_op_parallelism_threads(runtime));
            break;
        case GANTRY__SETTING_PROFILE:
            text = profiles[gantry__device_profile_mode(&runtime->devices)];
            break;
        case GANTRY__SETTING_KERNEL_CACHE:
            if (out->source == GANTRY_FROM_DEFAULT) text = runtime->store.folder;
            break;
        case GANTRY__SETTING_TUNING_FILE:
            if (out->source == GANTRY_FROM_DEFAULT) text = runtime->backends.tuning.path;
            break;
        default: break;
    }
    if (text) setting_query_put_text(out->value, sizeof out->value, text);
}

/* Writes an on-off value in the one form of its setting: a text such as FALSE or yes is no value
 * that a reader of it would expect. */
static void put_switch_value(gantry__setting_id_t id, gantry_setting_t *out) {
    const char *fallback = gantry__setting_rows[id].default_text, *on = "1", *off = "off";
    bool is_on = false;
    if (!gantry__parse_bool(out->value, strlen(out->value), &is_on)) return;
    if (strcmp(fallback, "0") == 0 || strcmp(fallback, "1") == 0)
        off = "0";
    else if (id == GANTRY__SETTING_OOM_FALLBACK)
        on = "cpu";
    else if (id == GANTRY__SETTING_OPENCL_CPU)
        on = "gpu";
    else if (id == GANTRY__SETTING_DEVICE_PROBE)
        on = fallback;
    else
        return;
    setting_query_put_text(out->value, sizeof out->value, is_on ? on : off);
}

/* Writes the GPUs that a call made visible, in the form of GANTRY_VISIBLE_DEVICES. */
static void put_visible_value(gantry__device_table_t *table, gantry_setting_t *out,
                              const char **out_call) {
    size_t used = 0;
    gantry__mutex_lock(&table->lock);
    *out_call = table->visible_by;
    for (size_t i = 0; *out_call && i < table->visible_count && used < sizeof out->value; ++i) {
        const struct gantry_physical_device_t *device = table->visible[i];
        if (strcmp(device->type, "GPU") != 0) continue;
        int length = snprintf(out->value + used, sizeof out->value - used, "%s%" PRId32,
                              used ? "," : "", device->number);
        used += length > 0 ? (size_t)length : 0;
    }
    if (*out_call && used == 0) setting_query_put_text(out->value, sizeof out->value, "-1");
    gantry__mutex_unlock(&table->lock);
}

/* Reads TensorFlow's variable after ours, if it decided the value. */
static gantry_status_t setting_query_read_foreign(gantry_runtime_t *runtime,
                                                  gantry__setting_id_t id, gantry_setting_t *out) {
    bool is_pinned = id == GANTRY__SETTING_PINNED_LIMIT, is_used = false;
    if (!is_pinned && id != GANTRY__SETTING_MEMORY_COLLECT) return GANTRY_OK;
    const char *name =
        is_pinned ? "TF_GPU_HOST_MEM_LIMIT_IN_MB" : "TF_ENABLE_GPU_GARBAGE_COLLECTION";
    const gantry__setting_t *setting = gantry__settings_find(&runtime->settings, name);
    if (!setting) return GANTRY_RESOURCE_EXHAUSTED;
    if (!setting->value || !*setting->value) return GANTRY_OK;
    uint64_t megabytes = 0;
    bool collect = false;
    size_t length = strlen(setting->value);
    if (is_pinned) {
        is_used = gantry__parse_number(setting->value, length, UINT64_MAX >> 20, &megabytes) &&
                  megabytes > 0;
    } else {
        is_used = gantry__parse_bool(setting->value, length, &collect);
    }
    if (!is_used) return GANTRY_OK;
    if (out->source != GANTRY_FROM_DEFAULT) {
        add_overruled(out, name, setting->value);
        return GANTRY_OK;
    }
    out->source = (gantry_setting_source_t)setting->source;
    setting_query_put_text(out->set_by, sizeof out->set_by, gantry__setting_by(setting));
    /* shorter than the buffer */
    if (is_pinned) gantry__format_bytes(megabytes << 20, out->value);
    if (!is_pinned) setting_query_put_text(out->value, sizeof out->value, collect ? "1" : "0");
    return GANTRY_OK;
}

/* Settings for which the empty text is a value. */
static bool keeps_empty(gantry__setting_id_t id) {
    return id == GANTRY__SETTING_KERNEL_CACHE || id == GANTRY__SETTING_TUNING_FILE ||
           id == GANTRY__SETTING_BACKENDS || id == GANTRY__SETTING_VISIBLE_DEVICES ||
           id == GANTRY__SETTING_CUDA_VISIBLE_DEVICES;
}

static gantry_status_t read_global(gantry_runtime_t *runtime, gantry__setting_id_t id,
                                   gantry_setting_t *out) {
    const gantry__setting_t *setting =
        gantry__settings_find(&runtime->settings, gantry__setting_rows[id].variable);
    if (!setting) return GANTRY_RESOURCE_EXHAUSTED;
    const char *call = gantry__settings_call(&runtime->settings, setting->name);
    bool is_list = id == GANTRY__SETTING_BACKEND_PATH;
    if (setting->value && (*setting->value || is_list || keeps_empty(id))) {
        out->source = (gantry_setting_source_t)setting->source;
        setting_query_put_text(out->value, sizeof out->value, setting->value);
        put_switch_value(id, out);
        setting_query_put_text(out->set_by, sizeof out->set_by, gantry__setting_by(setting));
    }
    if (setting->environment && is_list) { /* both are searched */
        (void)snprintf(out->value, sizeof out->value, "%s:%s", setting->value,
                       setting->environment);
    } else if (setting->environment) {
        add_overruled(out, setting->name, setting->environment);
    }
    GANTRY__TRY(setting_query_read_foreign(runtime, id, out));
    gantry_setting_t before = *out;
    if (id == GANTRY__SETTING_VISIBLE_DEVICES) put_visible_value(&runtime->devices, out, &call);
    put_live_value(runtime, id, out);
    if (!call) return GANTRY_OK;
    out->source = GANTRY_FROM_CALL;
    setting_query_put_text(out->set_by, sizeof out->set_by, call);
    out->overruled[0] = '\0';
    if (before.source != GANTRY_FROM_DEFAULT) add_overruled(out, before.set_by, before.value);
    if (*before.overruled) {
        size_t used = strlen(out->overruled);
        (void)snprintf(out->overruled + used, sizeof out->overruled - used, "; %.100s",
                       before.overruled);
    }
    return GANTRY_OK;
}

gantry_status_t gantry_get_setting(gantry_runtime_t *runtime, const char *name,
                                   const gantry_physical_device_t *device,
                                   gantry_setting_t *out_setting) {
    GANTRY__OWN_FP_MODE(fp);
    GANTRY__TRY(gantry__runtime_check(runtime));
    if (!name || !out_setting)
        return gantry__refuse("gantry_get_setting: %s is NULL", name ? "out_setting" : "name");
    size_t index = 0;
    GANTRY__TRY(setting_query_find_row(name, &index));
    const gantry__setting_row_t *row = &gantry__setting_rows[index];
    bool is_initialized = atomic_load_explicit(&runtime->devices.frozen, memory_order_acquire);
    gantry_setting_t all = {.set_by = "default",
                            .per_device = row->per_device,
                            .frozen = row->fixed == GANTRY__FIXED_AT_CREATE ||
                                      (row->fixed == GANTRY__FIXED_AT_INIT && is_initialized)};
    setting_query_put_text(all.value, sizeof all.value, row->default_text);
    gantry__setting_describe(row, &all.fallback, &all.meaning);
    all.variable = row->variable;
    gantry__setting_id_t id = (gantry__setting_id_t)index;
    GANTRY__TRY(row->per_device ? read_device(runtime, id, device, &all)
                                : read_global(runtime, id, &all));
    return gantry__struct_fill(out_setting, &all, sizeof all, "gantry_get_setting: out_setting");
}
