/* SPDX-License-Identifier: Apache-2.0 */
/* Memory growth, limit and fraction of devices, and the policy of all. */
#include <inttypes.h>
#include <string.h>

#include "base/amount.h"
#include "device/device_config.h"
#include "device/device_table.h"
#include "device/physical_device.h"

typedef struct gantry_physical_device_t physical_t;

/* ---- setters ---- */

bool gantry__device_get_growth(gantry__device_table_t *table,
                               const gantry_physical_device_t *device) {
    gantry__mutex_lock(&table->lock);
    bool growth = device->card->settings.growth;
    gantry__mutex_unlock(&table->lock);
    return growth;
}

void gantry__device_warn_of_growth(const gantry__device_table_t *table, const char *name,
                                   const gantry__device_settings_t *settings, int layer) {
    const gantry__device_layer_t *forced = &settings->layers[GANTRY__LAYER_TENSORFLOW];
    const gantry__device_layer_t *said = &settings->layers[layer];
    if (!forced->by[GANTRY__DEVICE_GROWTH] || !said->by[GANTRY__DEVICE_GROWTH] ||
        forced->growth == said->growth)
        return;
    const gantry__device_layer_t *winner = layer > GANTRY__LAYER_TENSORFLOW ? said : forced;
    const gantry__device_layer_t *loser = winner == said ? forced : said;
    gantry__log(table->log, GANTRY_LEVEL_WARNING, "%s: %s overrules %s: memory growth is %s", name,
                winner->by[GANTRY__DEVICE_GROWTH], loser->by[GANTRY__DEVICE_GROWTH],
                winner->growth == GANTRY_ON ? "on" : "off");
}

gantry_status_t gantry__device_set_growth(gantry__device_table_t *table,
                                          const gantry_physical_device_t *device, bool enabled) {
    GANTRY__TRY(gantry__device_check(table, device));
    bool is_changed = false;
    gantry__mutex_lock(&table->lock);
    gantry__device_settings_t next = device->card->settings;
    next.layers[GANTRY__LAYER_CALL].growth = enabled ? GANTRY_ON : GANTRY_OFF;
    next.layers[GANTRY__LAYER_CALL].by[GANTRY__DEVICE_GROWTH] = "gantry_set_memory_growth";
    gantry_status_t status =
        gantry__device_commit(table, device, &next, "Physical devices", &is_changed);
    gantry__mutex_unlock(&table->lock);
    if (is_changed) gantry__device_warn_of_growth(table, device->name, &next, GANTRY__LAYER_CALL);
    return status;
}

gantry_status_t gantry__device_set_wait(gantry__device_table_t *table,
                                        const gantry_physical_device_t *device,
                                        gantry_wait_policy_t policy) {
    GANTRY__TRY(gantry__device_check(table, device));
    if (policy < GANTRY_WAIT_DEFAULT || policy > GANTRY_WAIT_ADAPTIVE) {
        return gantry__refuse("wait policy %d of %s: 0 to %d is accepted, 0 takes the setting back",
                              (int)policy, device->name, GANTRY_WAIT_ADAPTIVE);
    }
    bool is_changed = false;
    gantry__mutex_lock(&table->lock);
    gantry__device_settings_t next = device->card->settings;
    next.layers[GANTRY__LAYER_CALL].wait = policy;
    next.layers[GANTRY__LAYER_CALL].by[GANTRY__DEVICE_WAIT] =
        policy == GANTRY_WAIT_DEFAULT ? NULL : "gantry_set_wait_policy";
    gantry_status_t status =
        gantry__device_commit(table, device, &next, "Physical devices", &is_changed);
    gantry__mutex_unlock(&table->lock);
    return status;
}

/* A split by a call has limits of its own; a split from option or environment is dropped if needed.
 * The caller must hold the lock. */
static gantry_status_t refuse_on_split(const physical_t *device, const char *what) {
    if (!device->card->settings.layers[GANTRY__LAYER_CALL].by[GANTRY__DEVICE_PARTS])
        return GANTRY_OK;
    return gantry__refuse(
        "%s cannot be set on %s: %s split it into %zu logical devices, which have limits of their own",
        what, device->name,
        device->card->settings.layers[GANTRY__LAYER_CALL].by[GANTRY__DEVICE_PARTS],
        device->card->part_count);
}

gantry_status_t gantry__device_set_limit(gantry__device_table_t *table,
                                         const gantry_physical_device_t *device,
                                         uint64_t limit_bytes) {
    GANTRY__TRY(gantry__device_check(table, device));
    if (limit_bytes > device->info.total_bytes && device->info.total_bytes > 0) {
        return gantry__refuse("memory limit %" PRIu64
                              " of %s is more than the device has: at most %" PRIu64
                              " bytes are accepted, 0 takes the setting back",
                              limit_bytes, device->name, device->info.total_bytes);
    }
    bool is_changed = false;
    gantry__mutex_lock(&table->lock);
    gantry__device_settings_t next = device->card->settings;
    next.layers[GANTRY__LAYER_CALL].limit = (gantry__limit_t){.bytes = limit_bytes};
    next.layers[GANTRY__LAYER_CALL].by[GANTRY__DEVICE_LIMIT] =
        limit_bytes ? "gantry_set_memory_limit" : NULL;
    gantry_status_t status = limit_bytes ? refuse_on_split(device, "a memory limit") : GANTRY_OK;
    if (status == GANTRY_OK)
        status = gantry__device_commit(table, device, &next, "Physical devices", &is_changed);
    gantry__mutex_unlock(&table->lock);
    if (is_changed) gantry__device_warn_of_lost_split(table, device->name, &next);
    return status;
}

static gantry_status_t check_fraction(const physical_t *device, double fraction) {
    if (!(fraction >= 0 && fraction <= 1)) {
        return gantry__refuse(
            "memory fraction %g of %s: over 0 up to 1 is accepted, 0 takes the setting back; "
            "oversubscription is not supported",
            fraction, device->name);
    }
    if (fraction > 0 && device->info.total_bytes == 0) {
        return gantry__refuse(
            "memory fraction %g of %s: the backend does not report how much memory it has; a limit in bytes is accepted",
            fraction, device->name);
    }
    return GANTRY_OK;
}

gantry_status_t gantry__device_set_fraction(gantry__device_table_t *table,
                                            const gantry_physical_device_t *device,
                                            double fraction) {
    GANTRY__TRY(gantry__device_check(table, device));
    GANTRY__TRY(check_fraction(device, fraction));
    bool is_changed = false;
    gantry__mutex_lock(&table->lock);
    gantry__device_settings_t next = device->card->settings;
    next.layers[GANTRY__LAYER_CALL].fraction = fraction;
    next.layers[GANTRY__LAYER_CALL].by[GANTRY__DEVICE_FRACTION] =
        fraction > 0 ? "gantry_set_memory_fraction" : NULL;
    /* resolving the layers refuses a split by call */
    gantry_status_t status =
        gantry__device_commit(table, device, &next, "Physical devices", &is_changed);
    gantry__mutex_unlock(&table->lock);
    if (is_changed) gantry__device_warn_of_lost_split(table, device->name, &next);
    return status;
}

/* ---- the policy of all devices ---- */

/* Reads a variable of TensorFlow's that holds if ours is not set. A bad text is only logged, as in
 * TensorFlow. */
static const char *memory_config_read_foreign(gantry__device_table_t *table, const char *ours,
                                              const char *theirs, gantry_status_t *out_status) {
    const gantry__setting_t *setting = gantry__settings_find(table->settings, ours);
    *out_status = setting ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
    if (!setting || (setting->value && *setting->value)) return NULL;
    setting = gantry__settings_find(table->settings, theirs);
    *out_status = setting ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
    return setting && setting->value && *setting->value ? setting->value : NULL;
}

static void tell_bad_text(const gantry__device_table_t *table, const char *name, const char *text,
                          const char *accepted) {
    gantry__log(
        table->log, GANTRY_LEVEL_ERROR,
        "The %s environment variable is set but could not be parsed: \"%.200s\". Valid values are %s.",
        name, text, accepted);
}

static gantry_status_t read_collect(gantry__device_table_t *table) {
    gantry_status_t status;
    const char *theirs = memory_config_read_foreign(table, "GANTRY_MEMORY_COLLECT",
                                                    "TF_ENABLE_GPU_GARBAGE_COLLECTION", &status);
    if (theirs && !gantry__parse_bool(theirs, strlen(theirs), &table->policy.collect))
        tell_bad_text(table, "TF_ENABLE_GPU_GARBAGE_COLLECTION", theirs, "\"true\" or \"false\"");
    GANTRY__TRY(status);
    return gantry__settings_get_bool(table->settings, "GANTRY_MEMORY_COLLECT",
                                     &table->policy.collect);
}

static gantry_status_t read_pinned(gantry__device_table_t *table) {
    gantry_status_t status;
    uint64_t megabytes = 0;
    const char *theirs = memory_config_read_foreign(table, "GANTRY_PINNED_LIMIT",
                                                    "TF_GPU_HOST_MEM_LIMIT_IN_MB", &status);
    if (theirs && !gantry__parse_number(theirs, strlen(theirs), UINT64_MAX >> 20, &megabytes))
        tell_bad_text(table, "TF_GPU_HOST_MEM_LIMIT_IN_MB", theirs, "numbers of megabytes");
    if (megabytes) table->policy.pinned_limit_bytes = megabytes << 20;
    return status;
}

/* Reads a number of bytes; 0 keeps the default. */
static gantry_status_t read_bytes(gantry__device_table_t *table, const char *name, uint64_t *out) {
    uint64_t bytes = 0;
    GANTRY__TRY(gantry__settings_get_bytes(table->settings, name, &bytes));
    if (bytes) *out = bytes;
    return GANTRY_OK;
}

gantry_status_t gantry__memory_policy_read(gantry__device_table_t *table) {
    static const char *const fallbacks[] = {"off", "cpu", "on"};
    gantry__memory_policy_t *policy = &table->policy;
    uint64_t retry_ms = 0;
    int fallback = 0;
    GANTRY__TRY(read_collect(table));
    GANTRY__TRY(read_pinned(table));
    GANTRY__TRY(read_bytes(table, "GANTRY_PINNED_LIMIT", &policy->pinned_limit_bytes));
    GANTRY__TRY(read_bytes(table, "GANTRY_MEMORY_STEP", &policy->step_bytes));
    GANTRY__TRY(read_bytes(table, "GANTRY_MEMORY_SPLIT", &policy->split_bytes));
    GANTRY__TRY(gantry__settings_get_number(table->settings, "GANTRY_OOM_RETRY_MS", INT32_MAX,
                                            "milliseconds", &retry_ms));
    GANTRY__TRY(
        gantry__settings_get_word(table->settings, "GANTRY_OOM_FALLBACK", fallbacks, 3, &fallback));
    policy->oom_fallback = fallback > 0;
    policy->explicit_retry = retry_ms > 0;
    if (retry_ms) policy->retry_ms = (uint32_t)retry_ms;
    return GANTRY_OK;
}
