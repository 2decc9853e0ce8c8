/* SPDX-License-Identifier: Apache-2.0 */
/* Lost cards: the driver returned Unavailable for an open device (see backend_abi.h), and will not
 * serve it again.
 *
 * A loss belongs to the card: all its logical devices are lost with it, for the rest of the
 * runtime's life. Work that depends on them fails with the cause, placement skips them, and their
 * memory is freed as usual. A device that could not be opened is not lost, unless its driver ended
 * the process that tried it. Thread-safe. */
#ifndef GANTRY_DEVICE_LOSS_H
#define GANTRY_DEVICE_LOSS_H

#include "device/logical_device.h"

static inline bool gantry__device_is_lost(const gantry_logical_device_t *device) {
    return gantry__card_is_lost(device->card);
}

/* Fails with Unavailable "<full name> was lost: <cause>". The device must be lost. */
gantry_status_t gantry__loss_fail(const gantry_logical_device_t *device);

/* The failure of a lost device, else OK. */
static inline gantry_status_t gantry__loss_check(const gantry_logical_device_t *device) {
    return gantry__device_is_lost(device) ? gantry__loss_fail(device) : GANTRY_OK;
}

/* Prints which functions' work of the device may have failed: "", or "; not known to have ended:
 * function f, g". */
void gantry__loss_print_uses(gantry_logical_device_t *device, char *out, size_t out_bytes);

gantry_status_t gantry__loss_note_failure(gantry_logical_device_t *device, gantry_status_t status);

/* Passes on the result of a slot of the open device. Unavailable loses the card, with the thread's
 * last message as the cause; any failure of a lost card becomes the loss. No lock is held. */
static inline gantry_status_t gantry__loss_note(gantry_logical_device_t *device,
                                                gantry_status_t status) {
    return status == GANTRY_OK ? GANTRY_OK : gantry__loss_note_failure(device, status);
}

#endif
