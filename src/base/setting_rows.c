/* SPDX-License-Identifier: Apache-2.0 */
/* Options become texts of the settings' table, so that fields, extra texts and variables are
 * handled alike from here on. */
#include "base/setting_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"

const gantry__setting_row_t gantry__setting_rows[GANTRY__SETTINGS] = {
#define GANTRY__SETTING_ROW(id, name, variable, field, default_text, per_device, fixed) \
    {name, variable, "option " #field, default_text, per_device, GANTRY__FIXED_##fixed},
#include "base/setting_rows.def"
#undef GANTRY__SETTING_ROW
};

void gantry__setting_describe(const gantry__setting_row_t *row, const char **out_default,
                              const char **out_meaning) {
    static const char *const rows[][3] = {
#define GANTRY__ENVIRONMENT_ROW(name, values, default_value, meaning) \
    {name, default_value, meaning},
#include "base/environment.def"
#undef GANTRY__ENVIRONMENT_ROW
    };
    *out_default = *out_meaning = "";
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        if (strcmp(rows[i][0], row->variable) != 0) continue;
        *out_default = rows[i][1];
        *out_meaning = rows[i][2];
    }
}

static gantry_status_t setting_rows_put(gantry__settings_t *settings, gantry__setting_id_t id,
                                        const char *text) {
    const gantry__setting_row_t *row = &gantry__setting_rows[id];
    return text ? gantry__settings_put_by(settings, row->variable, text, row->option) : GANTRY_OK;
}

static const char *const switches[] = {NULL, "0", "1"};
static const char *const fallbacks[] = {NULL, "off", "cpu"};
static const char *const opencl_cpus[] = {NULL, "off", "gpu"};
static const char *const levels[] = {NULL, "debug", "info", "warning", "error"};
static const char *const policies[] = {NULL, "explicit", "warn", "silent", "silent_for_int32"};
static const char *const profiles[] = {NULL, "off", "on", "wait"};
static const char *const waits[] = {NULL, "auto", "spin", "yield", "block", "adaptive"};
static const char *const modes[] = {NULL, "prefer", "warn", "require"};

static gantry_status_t put_choices(gantry__settings_t *settings,
                                   const gantry_runtime_options_t *options) {
    const struct {
        gantry__setting_id_t id;
        int value, last;
        const char *const *texts;
    } choices[] = {
        {GANTRY__SETTING_LOG_LEVEL, (int)options->log_level, GANTRY_LEVEL_ERROR, levels},
        {GANTRY__SETTING_OPENCL_CPU, (int)options->opencl_cpu_as_gpu, GANTRY_ON, opencl_cpus},
        {GANTRY__SETTING_SOFT_PLACEMENT, (int)options->soft_placement, GANTRY_ON, switches},
        {GANTRY__SETTING_LOG_PLACEMENT, (int)options->log_placement, GANTRY_ON, switches},
        {GANTRY__SETTING_PLACEMENT_MODE, (int)options->placement_mode, GANTRY_PLACEMENT_REQUIRE,
         modes},
        {GANTRY__SETTING_CROSSOVER, (int)options->crossover, GANTRY_ON, switches},
        {GANTRY__SETTING_BATCH_INVARIANT, (int)options->batch_invariant, GANTRY_ON, switches},
        {GANTRY__SETTING_ANY_ORDER, (int)options->any_order, GANTRY_ON, switches},
        {GANTRY__SETTING_WAIT_POLICY, (int)options->wait_policy, GANTRY_WAIT_ADAPTIVE, waits},
        {GANTRY__SETTING_PROFILE, (int)options->profile, GANTRY_PROFILE_WAIT, profiles},
        {GANTRY__SETTING_DEVICE_POLICY, (int)options->device_policy, GANTRY_POLICY_SILENT_FOR_INT32,
         policies},
        {GANTRY__SETTING_MEMORY_GROWTH, (int)options->memory_growth, GANTRY_ON, switches},
        {GANTRY__SETTING_MEMORY_COLLECT, (int)options->memory_collect, GANTRY_ON, switches},
        {GANTRY__SETTING_OOM_FALLBACK, (int)options->oom_fallback, GANTRY_ON, fallbacks}};
    for (size_t i = 0; i < sizeof choices / sizeof choices[0]; ++i) {
        if (choices[i].value < 0 || choices[i].value > choices[i].last) {
            return gantry__refuse("runtime options: %s is %d; 0 to %d is accepted",
                                  gantry__setting_rows[choices[i].id].option + strlen("option "),
                                  choices[i].value, choices[i].last);
        }
        GANTRY__TRY(setting_rows_put(settings, choices[i].id, choices[i].texts[choices[i].value]));
    }
    return GANTRY_OK;
}

/* Puts a number; 0 in a field means that it is not set. */
static gantry_status_t put_number(gantry__settings_t *settings, gantry__setting_id_t id,
                                  uint64_t number) {
    char text[GANTRY__AMOUNT_BYTES];
    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    return number ? setting_rows_put(settings, id, text) : GANTRY_OK;
}

static gantry_status_t put_signed(gantry__settings_t *settings, gantry__setting_id_t id,
                                  int32_t number, const char *zero) {
    if (number >= 0) return put_number(settings, id, (uint64_t)number);
    return gantry__refuse("runtime options: %s is %d; 0 (%s) or more is accepted",
                          gantry__setting_rows[id].option + strlen("option "), number, zero);
}

static gantry_status_t put_fraction(gantry__settings_t *settings, double fraction) {
    if (!(fraction < 0) && fraction <= 0) return GANTRY_OK; /* 0; NaN goes on */
    if (!(fraction >= 1e-9 && fraction <= 1)) {
        return gantry__refuse(
            "runtime options: memory_fraction is %g; over 0 (at least 1e-9) up to 1 is accepted, 0 means that it is not set; oversubscription is not supported",
            fraction);
    }
    char text[GANTRY__AMOUNT_BYTES];
    gantry__format_decimal(fraction, text);
    return setting_rows_put(settings, GANTRY__SETTING_MEMORY_FRACTION, text);
}

/* The reader of the setting checks the number. */
static gantry_status_t put_inter_op_threads(gantry__settings_t *settings, int32_t threads) {
    char text[GANTRY__AMOUNT_BYTES];
    (void)snprintf(text, sizeof text, "%" PRId32, threads);
    return threads ? setting_rows_put(settings, GANTRY__SETTING_INTER_OP_THREADS, text) : GANTRY_OK;
}

gantry_status_t gantry__options_put(gantry__settings_t *settings,
                                    const gantry_runtime_options_t *options) {
    GANTRY__TRY(put_choices(settings, options));
    GANTRY__TRY(put_number(settings, GANTRY__SETTING_MEMORY_LIMIT, options->memory_limit_bytes));
    GANTRY__TRY(put_number(settings, GANTRY__SETTING_PINNED_LIMIT, options->pinned_limit_bytes));
    GANTRY__TRY(put_number(settings, GANTRY__SETTING_MEMORY_STEP, options->memory_step_bytes));
    GANTRY__TRY(put_number(settings, GANTRY__SETTING_MEMORY_SPLIT, options->memory_split_bytes));
    GANTRY__TRY(
        put_signed(settings, GANTRY__SETTING_OOM_RETRY_MS, options->oom_retry_ms, "the default"));
    GANTRY__TRY(
        put_signed(settings, GANTRY__SETTING_CPU_THREADS, options->cpu_threads, "all cores"));
    GANTRY__TRY(put_inter_op_threads(settings, options->inter_op_threads));
    GANTRY__TRY(put_fraction(settings, options->memory_fraction));
    GANTRY__TRY(
        setting_rows_put(settings, GANTRY__SETTING_LOGICAL_DEVICES, options->logical_devices));
    GANTRY__TRY(
        setting_rows_put(settings, GANTRY__SETTING_VISIBLE_DEVICES, options->visible_devices));
    GANTRY__TRY(setting_rows_put(settings, GANTRY__SETTING_KERNEL_CACHE, options->kernel_cache));
    GANTRY__TRY(setting_rows_put(settings, GANTRY__SETTING_TRACE, options->trace));
    GANTRY__TRY(setting_rows_put(settings, GANTRY__SETTING_BACKENDS, options->backends));
    GANTRY__TRY(setting_rows_put(settings, GANTRY__SETTING_BACKEND_PATH, options->backend_path));
    return gantry__settings_put_all(settings, options->extra);
}
