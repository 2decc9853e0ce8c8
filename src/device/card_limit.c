/* SPDX-License-Identifier: Apache-2.0 */
/* Limits of a card's logical devices, and the driver's own share of the card.
 *
 * A driver takes memory for itself when a card is opened: a CUDA context, some hundred MiB, which
 * the allocators' books do not contain. It is measured as the card's free memory before the first
 * opening minus that after it, with no other action of this process between. The figures come from
 * a backend that needs no context for them (NVML). Another process that takes or frees memory in
 * that moment is measured too, so at most 1 GiB counts. A vendor's library takes more in its first
 * computation; its backend measures and reports that.
 *
 * If a backend should have figures and has none (a container without NVML), there is an allowance:
 * the memory that is taken of the card after the opening, by any process, but at most 512 MiB. If
 * no backend has the means, and if device memory is the machine's, the context is 0.
 *
 * Who pays. Let B be the limit of this process on the card, L the sum of the limits of its logical
 * devices, C the context:
 *
 *     a fraction, a percentage        B = L = that part of the card's total
 *     nothing set, growth             B = L = the total
 *     nothing set, no growth          B = L = what was free before less a reserve
 *     bytes, or parts with bytes      B = the total, L = the bytes
 *
 *     charged  =  max(0, L + C - B), at most C, to each logical device in proportion to its limit
 *
 * So a share of a card includes the context, and processes whose shares add up to 1 fit on it
 * together. A limit in bytes is for memory taken through Gantry, as TensorFlow's memory_limit is,
 * and only pays for the part of the context for which the card has no other room. There is one
 * context, however many parts are opened in whatever order: the charges of all parts add up to
 * it. */
#include "device/card_limit.h"

#include <inttypes.h>
#include <stdlib.h>

#include "device/device_table.h"
#include "device/driver_memory.h"
#include "device/logical_device.h"

typedef struct gantry_logical_device_t logical_t;

#define MIB (UINT64_C(1) << 20)
#define MOST_CONTEXT_BYTES (1024 * MIB)
#define ALLOWANCE_BYTES (512 * MIB)
#define UNKNOWN UINT64_MAX

/* ---- the context ---- */

uint64_t gantry__card_free_bytes(const logical_t *device) {
    uint64_t free_bytes, total_bytes;
    if (gantry__logical_is_host_backed(device)) return UNKNOWN;
    return gantry__card_memory(device->physical, NULL, &free_bytes, &total_bytes) ? free_bytes
                                                                                  : UNKNOWN;
}

static uint64_t context_between(uint64_t free_before, uint64_t free_after) {
    if (free_before == UNKNOWN || free_after == UNKNOWN || free_before <= free_after) return 0;
    uint64_t bytes = free_before - free_after;
    return bytes < MOST_CONTEXT_BYTES ? bytes : MOST_CONTEXT_BYTES;
}

static uint64_t allowance(const logical_t *device) {
    const gantry_backend_t *backend = device->backend;
    uint64_t free_bytes, total_bytes;
    if (gantry__logical_is_host_backed(device) || !GANTRY_ABI_HAS(backend, card_memory) ||
        !backend->card_memory || !gantry__driver_memory(device, &free_bytes, &total_bytes) ||
        free_bytes > total_bytes) {
        return 0;
    }
    uint64_t taken = total_bytes - free_bytes;
    return taken < ALLOWANCE_BYTES ? taken : ALLOWANCE_BYTES;
}

/* ---- the whole card ---- */

/* The memory left to others when a device's whole free memory is taken: by compute capability, as
 * in TensorFlow. */
static uint64_t reserve_of(const gantry_device_info_t *info, uint64_t free_bytes) {
    if (free_bytes < 2048 * MIB) return 225 * MIB;
    long major = strtol(info->compute_capability, NULL, 10); /* 0 where there is no such notion */
    if (major <= 6) return 500 * MIB;
    return major == 7 ? 1050 * MIB : major == 8 ? 1536 * MIB : 1800 * MIB;
}

/* The limit of a card without a setting. With growth it is all memory of the card: memory is taken
 * as needed, and the driver decides. Without growth it is taken at once, so it is the free memory
 * according to the driver, including the context, less a reserve; the reserve is dropped if it is
 * larger than that. If device memory is the machine's, the reserve is at least a sixteenth of the
 * machine, which leaves room for the system and the process. If the driver has no figures, it is
 * the total. */
static uint64_t default_limit(const logical_t *device, uint64_t total) {
    uint64_t free_bytes, driver_total;
    if (device->card->settings.growth) return total;
    if (!gantry__driver_memory(device, &free_bytes, &driver_total)) return total;
    uint64_t reserve = reserve_of(&device->info, free_bytes);
    if (gantry__logical_is_host_backed(device) && reserve < driver_total / 16)
        reserve = driver_total / 16;
    uint64_t limit =
        (reserve < free_bytes ? free_bytes - reserve : free_bytes) + device->card->context_bytes;
    return limit < total ? limit : total;
}

void gantry__card_limit_find(logical_t *device, uint64_t free_before) {
    gantry__card_t *card = device->card;
    uint64_t total = device->info.total_bytes ? device->info.total_bytes : UINT64_MAX;
    uint64_t wanted = card->settings.limit_bytes;
    card->context_bytes = free_before == UNKNOWN
                              ? allowance(device)
                              : context_between(free_before, gantry__card_free_bytes(device));
    card->whole_limit_bytes = !wanted          ? default_limit(device, total)
                              : wanted < total ? wanted
                                               : total;
    bool is_in_bytes = wanted && !card->settings.is_share;
    card->bound_bytes = is_in_bytes ? total : card->whole_limit_bytes;
}

/* ---- its logical devices ---- */

/* A part's own limit; parts without one share equally the rest of the whole. */
static uint64_t part_limit(const logical_t *device) {
    const gantry__card_t *card = device->card;
    uint64_t left = card->whole_limit_bytes, sharers = 0;
    if (!device->part) return left;
    if (device->part->memory_limit_bytes)
        return device->part->memory_limit_bytes < left ? device->part->memory_limit_bytes : left;
    for (size_t i = 0; i < card->part_count; ++i) {
        uint64_t taken = card->parts[i].memory_limit_bytes;
        left = taken < left ? left - taken : 0;
        sharers += taken == 0;
    }
    return sharers ? left / sharers : left;
}

/* L: the whole, unless every part has a limit of its own. */
static uint64_t limits_together(const gantry__card_t *card) {
    for (size_t i = 0; i < card->part_count; ++i) {
        if (card->parts[i].memory_limit_bytes == 0) return card->whole_limit_bytes;
    }
    uint64_t sum = gantry__parts_sum(card->parts, card->part_count);
    return card->part_count > 0 && sum < card->whole_limit_bytes ? sum : card->whole_limit_bytes;
}

/* The charge of a device for a context of this many bytes. */
static uint64_t charge_for(const logical_t *device, uint64_t context) {
    const gantry__card_t *card = device->card;
    uint64_t together = limits_together(card), charged = 0;
    uint64_t beside = card->bound_bytes > together ? card->bound_bytes - together : 0;
    if (context > beside) charged = context - beside;
    if (device->limit_bytes < together)
        charged = (uint64_t)((long double)charged * (long double)device->limit_bytes /
                             (long double)together);
    return charged;
}

void gantry__logical_limit_find(logical_t *device) {
    device->limit_bytes = part_limit(device);
    device->context_bytes = charge_for(device, device->card->context_bytes);
}

void gantry__card_limit_grow(logical_t *device, uint64_t bytes) {
    gantry__card_t *card = device->card;
    const gantry__device_table_t *table = device->table;
    if (bytes == 0 || gantry__logical_is_host_backed(device)) return;
    gantry__mutex_lock(&card->open_lock);
    uint64_t before = card->context_bytes;
    uint64_t room = before < MOST_CONTEXT_BYTES ? MOST_CONTEXT_BYTES - before : 0;
    uint64_t after = before + (bytes < room ? bytes : room);
    for (size_t i = 0; i < table->logical_count; ++i) {
        logical_t *other = table->logical[i];
        if (other->card != card || !atomic_load(&other->is_open)) continue;
        (void)gantry__allocator_reserve(&other->allocator,
                                        charge_for(other, after) - charge_for(other, before));
    }
    card->context_bytes = after;
    gantry__mutex_unlock(&card->open_lock);
}

gantry_status_t gantry__logical_limit_check(const logical_t *device) {
    if (device->context_bytes == 0 || device->context_bytes < device->limit_bytes) return GANTRY_OK;
    return gantry__fail(GANTRY_RESOURCE_EXHAUSTED,
                        "%s has a limit of %" PRIu64 " bytes; the driver's context takes %" PRIu64
                        " bytes of %s, %" PRIu64 " of them counted against this limit",
                        device->name, device->limit_bytes, (uint64_t)device->card->context_bytes,
                        device->physical->name, device->context_bytes);
}
