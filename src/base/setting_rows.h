/* SPDX-License-Identifier: Apache-2.0 */
/* The fixed list of settings: the name of each in code, as an option and in the environment. Owner:
 * constant data. Threads: thread-safe. */
#ifndef GANTRY_BASE_SETTING_ROWS_H
#define GANTRY_BASE_SETTING_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include <gantry/runtime.h>

#include "base/settings.h"

typedef enum gantry__setting_id_t {
#define GANTRY__SETTING_ROW(id, ...) GANTRY__SETTING_##id,
#include "base/setting_rows.def"
#undef GANTRY__SETTING_ROW
    GANTRY__SETTINGS
} gantry__setting_id_t;

typedef enum gantry__setting_fixed_t {
    GANTRY__FIXED_NEVER,
    GANTRY__FIXED_AT_CREATE, /* by gantry_runtime_create */
    GANTRY__FIXED_AT_INIT    /* by initialisation */
} gantry__setting_fixed_t;

typedef struct gantry__setting_row_t {
    const char *name;     /* "memory_limit" */
    const char *variable; /* "GANTRY_MEMORY_LIMIT" */
    const char *option;   /* "option memory_limit_bytes" */
    const char *default_text;
    bool per_device;
    gantry__setting_fixed_t fixed;
} gantry__setting_row_t;

extern const gantry__setting_row_t gantry__setting_rows[GANTRY__SETTINGS];

/* The default in words and the meaning, as environment.def has them; constant texts. */
void gantry__setting_describe(const gantry__setting_row_t *row, const char **out_default,
                              const char **out_meaning);

/* Turns the fields of options that are set, and then the texts of extra, into settings with source
 * OPTION. InvalidArgument for a value out of range, or a field and an extra text that differ. */
gantry_status_t gantry__options_put(gantry__settings_t *settings,
                                    const gantry_runtime_options_t *options);

#endif
