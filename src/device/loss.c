/* SPDX-License-Identifier: Apache-2.0 */
#include "device/loss.h"

#include <stdio.h>

#include "device/device_table.h"

gantry_status_t gantry__loss_fail(const gantry_logical_device_t *device) {
    return gantry__fail(GANTRY_UNAVAILABLE, "%s was lost: %s", device->full_name,
                        device->card->lost_text);
}

/* The first cause stays. Earlier plans are not found again, since their key contains the count of
 * losses. */
static void lose(gantry_logical_device_t *device) {
    gantry__card_t *card = device->card;
    int works = GANTRY__NOT_LOST;
    if (!atomic_compare_exchange_strong(&card->lost, &works, GANTRY__BEING_LOST)) return;
    const char *cause = gantry__message();
    (void)snprintf(card->lost_text, sizeof card->lost_text, "%s",
                   *cause ? cause : "its driver did not say why");
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
