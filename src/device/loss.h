/* SPDX-License-Identifier: Apache-2.0 */
/* Cards that are lost: the driver said Unavailable of a device that was open (see backend_abi.h),
 * and will not serve it again.
 *
 * A loss belongs to the card: all its logical devices are lost with it, for the rest of the
 * runtime's life. What depends on them fails with the cause; placement passes over them; what they
 * hold is given back as usual. Says nothing of devices that could not be opened, except those whose
 * driver ended the process that tried it.
 * Thread-safe. */
#ifndef GANTRY_DEVICE_LOSS_H
#define GANTRY_DEVICE_LOSS_H

#include "device/logical_device.h"

static inline bool gantry__device_is_lost(const gantry_logical_device_t *device) {
    return gantry__card_is_lost(device->card);
}

/* Unavailable "<full name> was lost: <cause>". The device is lost. */
gantry_status_t gantry__loss_fail(const gantry_logical_device_t *device);

/* The failure of a lost device, else OK. */
static inline gantry_status_t gantry__loss_check(const gantry_logical_device_t *device) {
    return gantry__device_is_lost(device) ? gantry__loss_fail(device) : GANTRY_OK;
}

gantry_status_t gantry__loss_note_failure(gantry_logical_device_t *device, gantry_status_t status);

/* Passes on what a slot of the open device returned. Unavailable loses the card, with the thread's
 * last message as the cause; any failure of a lost card becomes the loss. No lock is held. */
static inline gantry_status_t gantry__loss_note(gantry_logical_device_t *device,
                                                gantry_status_t status) {
    return status == GANTRY_OK ? GANTRY_OK : gantry__loss_note_failure(device, status);
}

#endif
