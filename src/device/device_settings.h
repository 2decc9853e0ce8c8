/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of one device's memory from every source, and the resulting values.
 *
 *   layer        from                                    says, if anything
 *   3 call       gantry_set_memory_growth, ...           growth  limit  fraction  parts
 *   2 option     memory_growth = ON, or an extra text    growth  limit  fraction  parts
 *   1 tensorflow TF_FORCE_GPU_ALLOW_GROWTH, GPUs only     growth
 *   0 environment GANTRY_MEMORY_GROWTH, ...              growth  limit  fraction  parts
 *
 * For each setting the highest layer with a value wins. Limit and fraction are two ways to limit
 * the whole device: the one from the higher source holds; from one source, the smaller. A fraction
 * and a split exclude each other, and so do a limit and a split whose parts need more: of two
 * sources the higher one's setting holds, within one it is an error. Layers own their parts.
 *
 * Threads: externally synchronised; the caller must hold the table's lock. */
#ifndef GANTRY_DEVICE_DEVICE_SETTINGS_H
#define GANTRY_DEVICE_DEVICE_SETTINGS_H

#include <gantry/device.h>

#include "base/heap.h"
#include "base/settings.h"
#include "device/config_text.h"

typedef enum gantry__layer_id_t {
    GANTRY__LAYER_ENVIRONMENT,
    GANTRY__LAYER_TENSORFLOW,
    GANTRY__LAYER_OPTION,
    GANTRY__LAYER_CALL,
    GANTRY__LAYERS
} gantry__layer_id_t;

typedef enum gantry__device_setting_id_t {
    GANTRY__DEVICE_GROWTH,
    GANTRY__DEVICE_LIMIT,
    GANTRY__DEVICE_FRACTION,
    GANTRY__DEVICE_WAIT,
    GANTRY__DEVICE_PARTS,
    GANTRY__DEVICE_SETTINGS
} gantry__device_setting_id_t;

typedef struct gantry__device_layer_t {
    const char *by[GANTRY__DEVICE_SETTINGS]; /* the source's words for messages; NULL: not set */
    gantry_choice_t growth;
    gantry__limit_t limit;
    double fraction;
    gantry_wait_policy_t wait;
    gantry_logical_device_config_t *parts; /* heap memory */
    size_t part_count;
} gantry__device_layer_t;

typedef struct gantry__device_settings_t {
    gantry__device_layer_t layers[GANTRY__LAYERS];
    /* the resulting values */
    int winner[GANTRY__DEVICE_SETTINGS]; /* the layer, -1: the default */
    bool growth;
    gantry_wait_policy_t wait;
    uint64_t limit_bytes; /* the limit of the whole device, including the fraction; 0: no limit */
    /* that limit is a share of the device's memory, by fraction or percentage */
    bool is_share;
} gantry__device_settings_t;

gantry__setting_source_t gantry__layer_source(int layer);

/* Fills the resulting values. name and total_bytes (0: unknown) are the device's. InvalidArgument
 * if one source contradicts itself. */
gantry_status_t gantry__device_settings_resolve(gantry__device_settings_t *settings,
                                                const char *name, uint64_t total_bytes);
/* Whether the resulting values are equal. */
bool gantry__device_settings_equal(const gantry__device_settings_t *a,
                                   const gantry__device_settings_t *b);
void gantry__device_settings_deinit(gantry__device_settings_t *settings,
                                    const gantry__heap_t *heap);

/* The value of one setting in one layer, as the environment would spell it; "" if it is not set.
 * Cut to fit. */
void gantry__device_setting_format(const gantry__device_settings_t *settings, int layer,
                                   gantry__device_setting_id_t id, char *out, size_t out_bytes);

bool gantry__parts_equal(const gantry_logical_device_config_t *a, size_t a_count,
                         const gantry_logical_device_config_t *b, size_t b_count);
/* The sum of the limits; UINT64_MAX if it overflows. */
uint64_t gantry__parts_sum(const gantry_logical_device_config_t *parts, size_t count);

#endif
