/* SPDX-License-Identifier: Apache-2.0 */
#include "device/loss.h"

#include <stdio.h>
#include <string.h>

#include "device/device_table.h"

gantry_status_t gantry__loss_fail(const gantry_logical_device_t *device) {
    return gantry__fail(GANTRY_UNAVAILABLE, "%s was lost: %s", device->full_name,
                        device->card->lost_text);
}

static const char uses_text[] = "; not known to have ended: function ";

void gantry__loss_print_uses(gantry_logical_device_t *device, char *out, size_t out_bytes) {
    char names[4 * 50];
    out[0] = '\0';
    if (strstr(gantry__message(), uses_text)) return;
    gantry__stream_print_uses(&device->streams[GANTRY_STREAM_COMPUTE], names, sizeof names);
    if (*names) (void)snprintf(out, out_bytes, "%s%s", uses_text, names);
}

/* The first cause stays. Earlier plans are not found again, because their key contains the count of
 * losses. */
static void lose(gantry_logical_device_t *device) {
    gantry__card_t *card = device->card;
    int works = GANTRY__NOT_LOST;
    if (!atomic_compare_exchange_strong(&card->lost, &works, GANTRY__BEING_LOST)) return;
    const char *cause = gantry__message();
    char uses[256];
    gantry__loss_print_uses(device, uses, sizeof uses);
    (void)snprintf(card->lost_text, sizeof card->lost_text, "%.760s%s",
                   *cause ? cause : "its driver did not say why", uses);
    atomic_store_explicit(&card->lost, GANTRY__LOST, memory_order_release);
    (void)atomic_fetch_add(&device->table->losses, 1);
    gantry__log(device->table->log, GANTRY_LEVEL_ERROR,
                "Device %s (%s) was lost and is not used any more: %s", device->full_name,
                gantry__logical_view(device)->alias, card->lost_text);
}

gantry_status_t gantry__loss_note_failure(gantry_logical_device_t *device, gantry_status_t status) {
    if (status == GANTRY_UNAVAILABLE) lose(device);
    return gantry__device_is_lost(device) ? gantry__loss_fail(device) : status;
}
