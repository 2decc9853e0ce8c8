/* SPDX-License-Identifier: Apache-2.0 */
/* Resolving the layers of one device's settings, in this order: the winner of each setting,
 * limits and fractions in bytes, exclusions, comparison, text.
 *
 * First the highest layer wins each setting by itself. Then the settings that exclude each other
 * are compared: the weaker one is dropped, and within one source they are an error. */
#include "device/device_settings.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"

gantry__setting_source_t gantry__layer_source(int layer) {
    static const gantry__setting_source_t sources[] = {GANTRY__SOURCE_ENVIRONMENT,
                                                       GANTRY__SOURCE_ENVIRONMENT,
                                                       GANTRY__SOURCE_OPTION, GANTRY__SOURCE_CALL};
    return layer < 0 ? GANTRY__SOURCE_DEFAULT : sources[layer];
}

bool gantry__parts_equal(const gantry_logical_device_config_t *a, size_t a_count,
                         const gantry_logical_device_config_t *b, size_t b_count) {
    bool equal = a_count == b_count;
    for (size_t i = 0; equal && i < a_count; ++i) {
        equal = a[i].memory_limit_bytes == b[i].memory_limit_bytes &&
                a[i].has_priority == b[i].has_priority &&
                (!a[i].has_priority || a[i].priority == b[i].priority) &&
                a[i].has_ordinal == b[i].has_ordinal &&
                (!a[i].has_ordinal || a[i].ordinal == b[i].ordinal) &&
                a[i].largest_allocation_bytes == b[i].largest_allocation_bytes &&
                a[i].local_memory_bytes == b[i].local_memory_bytes &&
                a[i].max_work_group_size == b[i].max_work_group_size;
    }
    return equal;
}

uint64_t gantry__parts_sum(const gantry_logical_device_config_t *parts, size_t count) {
    uint64_t sum = 0;
    for (size_t i = 0; i < count; ++i) {
        if (parts[i].memory_limit_bytes > UINT64_MAX - sum) return UINT64_MAX;
        sum += parts[i].memory_limit_bytes;
    }
    return sum;
}

/* ---- what holds ---- */

static int find_winner(const gantry__device_settings_t *settings, gantry__device_setting_id_t id) {
    int layer = GANTRY__LAYERS - 1;
    while (layer >= 0 && !settings->layers[layer].by[id]) --layer;
    return layer;
}

/* The part in bytes, at least one, because 0 would mean no limit. */
static uint64_t device_settings_part_of(uint64_t total_bytes, long double part) {
    uint64_t bytes = (uint64_t)((long double)total_bytes * part);
    if (bytes > total_bytes) bytes = total_bytes;
    return bytes ? bytes : 1;
}

static uint64_t limit_in_bytes(const gantry__device_settings_t *settings, uint64_t total_bytes) {
    int layer = settings->winner[GANTRY__DEVICE_LIMIT];
    if (layer < 0) return 0;
    const gantry__limit_t *limit = &settings->layers[layer].limit;
    if (limit->percent > 0)
        return total_bytes ? device_settings_part_of(total_bytes, (long double)limit->percent / 100)
                           : 0;
    return total_bytes && limit->bytes > total_bytes ? total_bytes : limit->bytes;
}

static uint64_t fraction_in_bytes(const gantry__device_settings_t *settings, uint64_t total_bytes) {
    int layer = settings->winner[GANTRY__DEVICE_FRACTION];
    if (layer < 0 || total_bytes == 0) return 0;
    return device_settings_part_of(total_bytes, (long double)settings->layers[layer].fraction);
}

/* The weaker of two settings that exclude each other; -1 if they come from one source. */
static int weaker(const gantry__device_settings_t *settings, gantry__device_setting_id_t a,
                  gantry__device_setting_id_t b) {
    gantry__setting_source_t of_a = gantry__layer_source(settings->winner[a]);
    gantry__setting_source_t of_b = gantry__layer_source(settings->winner[b]);
    if (of_a == of_b) return -1;
    return of_a < of_b ? (int)a : (int)b;
}

static gantry_status_t resolve_split(gantry__device_settings_t *settings, const char *name,
                                     uint64_t total_bytes) {
    int *winner = settings->winner;
    if (winner[GANTRY__DEVICE_PARTS] >= 0 && winner[GANTRY__DEVICE_FRACTION] >= 0) {
        int loser = weaker(settings, GANTRY__DEVICE_FRACTION, GANTRY__DEVICE_PARTS);
        if (loser < 0) {
            return gantry__refuse(
                "It's invalid to set per_process_gpu_memory_fraction when virtual_devices is set. (%s: fraction by %s, split by %s)",
                name, settings->layers[winner[GANTRY__DEVICE_FRACTION]].by[GANTRY__DEVICE_FRACTION],
                settings->layers[winner[GANTRY__DEVICE_PARTS]].by[GANTRY__DEVICE_PARTS]);
        }
        winner[loser] = -1;
    }
    uint64_t limit = limit_in_bytes(settings, total_bytes);
    if (winner[GANTRY__DEVICE_PARTS] < 0 || limit == 0) return GANTRY_OK;
    const gantry__device_layer_t *split = &settings->layers[winner[GANTRY__DEVICE_PARTS]];
    uint64_t sum = gantry__parts_sum(split->parts, split->part_count);
    if (sum <= limit) return GANTRY_OK;
    int loser = weaker(settings, GANTRY__DEVICE_LIMIT, GANTRY__DEVICE_PARTS);
    if (loser < 0) {
        return gantry__refuse(
            "the limits of the %zu parts of %s, set by %s, add up to %" PRIu64
            " bytes; its limit, set by %s, is %" PRIu64,
            split->part_count, name, split->by[GANTRY__DEVICE_PARTS], sum,
            settings->layers[winner[GANTRY__DEVICE_LIMIT]].by[GANTRY__DEVICE_LIMIT], limit);
    }
    winner[loser] = -1;
    return GANTRY_OK;
}

static void resolve_limit(gantry__device_settings_t *settings, uint64_t total_bytes) {
    uint64_t limit = limit_in_bytes(settings, total_bytes),
             fraction = fraction_in_bytes(settings, total_bytes);
    if (limit && fraction) {
        int loser = weaker(settings, GANTRY__DEVICE_LIMIT, GANTRY__DEVICE_FRACTION);
        if (loser == GANTRY__DEVICE_LIMIT) limit = 0;
        if (loser == GANTRY__DEVICE_FRACTION) fraction = 0;
        if (loser >= 0) settings->winner[loser] = -1;
    }
    bool is_fraction = !limit || (fraction && fraction < limit);
    settings->limit_bytes = is_fraction ? fraction : limit;
    settings->is_share =
        is_fraction ? fraction > 0
                    : settings->layers[settings->winner[GANTRY__DEVICE_LIMIT]].limit.percent > 0;
    int split = settings->winner[GANTRY__DEVICE_PARTS];
    if (split < 0 || settings->layers[split].part_count != 1) return;
    /* one part is the whole device */
    uint64_t own = settings->layers[split].parts[0].memory_limit_bytes;
    if (!own || (settings->limit_bytes && own >= settings->limit_bytes)) return;
    settings->limit_bytes = own;
    settings->is_share = false;
}

gantry_status_t gantry__device_settings_resolve(gantry__device_settings_t *settings,
                                                const char *name, uint64_t total_bytes) {
    for (int id = 0; id < GANTRY__DEVICE_SETTINGS; ++id)
        settings->winner[id] = find_winner(settings, (gantry__device_setting_id_t)id);
    int growth = settings->winner[GANTRY__DEVICE_GROWTH];
    int wait = settings->winner[GANTRY__DEVICE_WAIT];
    settings->wait = wait < 0 ? GANTRY_WAIT_DEFAULT : settings->layers[wait].wait;
    settings->growth = growth < 0 || settings->layers[growth].growth != GANTRY_OFF;
    GANTRY__TRY(resolve_split(settings, name, total_bytes));
    resolve_limit(settings, total_bytes);
    return GANTRY_OK;
}

bool gantry__device_settings_equal(const gantry__device_settings_t *a,
                                   const gantry__device_settings_t *b) {
    int of_a = a->winner[GANTRY__DEVICE_PARTS], of_b = b->winner[GANTRY__DEVICE_PARTS];
    if (a->growth != b->growth || a->wait != b->wait || a->limit_bytes != b->limit_bytes ||
        (of_a < 0) != (of_b < 0))
        return false;
    return of_a < 0 || gantry__parts_equal(a->layers[of_a].parts, a->layers[of_a].part_count,
                                           b->layers[of_b].parts, b->layers[of_b].part_count);
}

void gantry__device_settings_deinit(gantry__device_settings_t *settings,
                                    const gantry__heap_t *heap) {
    for (int i = 0; i < GANTRY__LAYERS; ++i) {
        gantry__device_layer_t *layer = &settings->layers[i];
        gantry__heap_free(heap, layer->parts, layer->part_count * sizeof *layer->parts);
        layer->parts = NULL;
        layer->part_count = 0;
    }
}

void gantry__device_setting_format(const gantry__device_settings_t *settings, int index,
                                   gantry__device_setting_id_t id, char *out, size_t out_bytes) {
    const gantry__device_layer_t *layer = &settings->layers[index];
    char amount[GANTRY__AMOUNT_BYTES] = "";
    if (layer->by[id] && id == GANTRY__DEVICE_LIMIT) {
        gantry__format_limit(&layer->limit, out, out_bytes);
    } else if (layer->by[id] && id == GANTRY__DEVICE_PARTS) {
        gantry__format_parts(layer->parts, layer->part_count, out, out_bytes);
    } else {
        if (layer->by[id] && id == GANTRY__DEVICE_FRACTION)
            gantry__format_decimal(layer->fraction, amount);
        if (layer->by[id] && id == GANTRY__DEVICE_WAIT)
            (void)snprintf(amount, sizeof amount, "%s", gantry__wait_words[layer->wait - 1]);
        if (layer->by[id] && id == GANTRY__DEVICE_GROWTH) {
            bool words = index == GANTRY__LAYER_TENSORFLOW, on = layer->growth == GANTRY_ON;
            (void)snprintf(amount, sizeof amount, "%s",
                           words ? (on ? "true" : "false")
                           : on  ? "1"
                                 : "0");
        }
        (void)snprintf(out, out_bytes, "%s", amount);
    }
}
