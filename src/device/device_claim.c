/* SPDX-License-Identifier: Apache-2.0 */
/* Automatic choice of GPUs at initialisation, so that a program that only lists devices claims
 * none. It never waits: `gantry run --wait` does. */
#include "device/device_claim.h"

#include <stdio.h>
#include <string.h>

#include "device/card.h"
#include "device/driver_memory.h"
#include "device/physical_device.h"

typedef struct gantry_physical_device_t physical_t;

void gantry__device_claim_name(const physical_t *device, char out_name[GANTRY__CLAIM_NAME_BYTES]) {
    bool is_whole = *device->pci && strncmp(device->uuid, "MIG-", 4) != 0;
    (void)snprintf(out_name, GANTRY__CLAIM_NAME_BYTES, "%s%s", is_whole ? "pci-" : "",
                   is_whole ? device->pci : device->uuid);
    for (char *at = out_name; *at; ++at) {
        if (*at == '/' || *at <= ' ' || *at > '~') *at = '_';
    }
}

/* The free part of its memory, in 1/1000; half if nothing is known. */
static uint32_t free_share(const physical_t *device) {
    uint64_t free_bytes, total_bytes;
    if (!gantry__card_memory(device, NULL, &free_bytes, &total_bytes) || total_bytes < 1000)
        return 500;
    return (uint32_t)(free_bytes / (total_bytes / 1000));
}

/* Places of the visible list as bits; claims end at 64 devices. */
typedef struct choice_t {
    gantry__device_table_t *table;
    gantry__claim_t *claim;
    uint64_t gpus, tried, taken;
} choice_t;

static uint64_t visible_gpus(const gantry__device_table_t *table) {
    uint64_t gpus = 0;
    for (size_t i = 0; i < table->visible_count && i < GANTRY__CLAIM_MOST; ++i)
        gpus |= (uint64_t)(strcmp(table->visible[i]->type, "GPU") == 0) << i;
    return gpus;
}

/* The GPU with the largest free share that was not tried, first one with a context of the program;
 * 64: none is left. */
static uint32_t next_gpu(const choice_t *choice) {
    uint32_t best = GANTRY__CLAIM_MOST, best_share = 0;
    for (uint32_t i = 0; i < GANTRY__CLAIM_MOST; ++i) {
        if (!((choice->gpus & ~choice->tried) >> i & 1)) continue;
        const struct gantry_physical_device_t *gpu = choice->table->visible[i];
        const uint32_t share = gpu->card->adopted_context ? UINT32_MAX : free_share(gpu);
        if (best < GANTRY__CLAIM_MOST && share <= best_share) continue;
        best = i;
        best_share = share;
    }
    return best;
}

static gantry_status_t claim_gpus(choice_t *choice) {
    const size_t wanted = choice->table->auto_count;
    gantry_status_t refusal = GANTRY_OK;
    GANTRY__TRY(gantry__claim_begin_turn(choice->claim, false, NULL));
    for (uint32_t place;
         choice->claim->count < wanted && (place = next_gpu(choice)) < GANTRY__CLAIM_MOST;) {
        char name[GANTRY__CLAIM_NAME_BYTES];
        gantry__device_claim_name(choice->table->visible[place], name);
        choice->tried |= UINT64_C(1) << place;
        const gantry_status_t status = gantry__claim_take(choice->claim, name);
        if (status == GANTRY_OK) choice->taken |= UINT64_C(1) << place;
        if (status != GANTRY_OK) refusal = status;
    }
    (void)gantry__claim_end_turn(choice->claim, false);
    if (choice->claim->count == wanted) return GANTRY_OK;
    if (refusal != GANTRY_OK) return refusal; /* its message says who has a card */
    return gantry__fail(GANTRY_UNAVAILABLE, "%zu of them are visible", choice->claim->count);
}

static void hide_others(const choice_t *choice) {
    gantry__device_table_t *table = choice->table;
    size_t kept = 0;
    for (size_t i = 0; i < table->visible_count; ++i) {
        const bool is_gpu = strcmp(table->visible[i]->type, "GPU") == 0;
        if (!is_gpu || (i < GANTRY__CLAIM_MOST && choice->taken >> i & 1))
            table->visible[kept++] = table->visible[i];
    }
    table->visible_count = kept;
}

gantry_status_t gantry__device_claim_auto(gantry__device_table_t *table) {
    choice_t choice = {.table = table, .gpus = visible_gpus(table)};
    if (table->auto_count == 0 || table->visible_by || table->claim || !choice.gpus)
        return GANTRY_OK;
    const uint32_t before = gantry__failures();
    const char *folder = gantry__settings_get(table->settings, "GANTRY_CLAIMS_DIR", NULL);
    choice.claim = gantry__heap_zalloc(table->heap, sizeof *choice.claim);
    if (!choice.claim) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = gantry__claim_open(folder, NULL, choice.claim);
    if (status == GANTRY_OK) status = claim_gpus(&choice);
    table->claim = choice.claim;
    if (status == GANTRY_OK) {
        hide_others(&choice);
        gantry__forget_since(before); /* cards that others have */
        return GANTRY_OK;
    }
    gantry__device_claim_release(table);
    return gantry__fail_prefix(status,
                               "the visible devices are \"auto\", %u GPU%s: ", table->auto_count,
                               table->auto_count == 1 ? "" : "s");
}

void gantry__device_claim_release(gantry__device_table_t *table) {
    if (!table->claim) return;
    gantry__claim_close(table->claim);
    gantry__heap_free(table->heap, table->claim, sizeof *table->claim);
    table->claim = NULL;
}
