/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of the view that serves a card that several backends see, and the change to another
 * view if the first one cannot be used.
 *
 * Owner: the card's record. Functions that need the card's open_lock say so; the others are
 * thread-safe. */
#ifndef GANTRY_DEVICE_FAIL_OVER_H
#define GANTRY_DEVICE_FAIL_OVER_H

#include <gantry/device.h>

#include "base/failure.h"

/* Opens the driver's device of the view that serves the card, and sets handle. The caller must hold
 * open_lock, and the card must not be open. name is for messages. Decides, once, which view serves:
 * if the serving view fails and another one works, that one takes over. */
gantry_status_t gantry__card_open(const struct gantry_physical_device_t *listed, const char *name);
/* Warns of the result of the card's opening: later_note. The caller must hold no lock, and the card
 * must be open. */
void gantry__fail_over_tell(const struct gantry_physical_device_t *listed);

/* Whether a serves a card rather than b: by the backend's rank, then the maker's driver, then the
 * position. */
bool gantry__view_is_better(const struct gantry_physical_device_t *a,
                            const struct gantry_physical_device_t *b);
/* Whether a name such as GPU:0@opencl means this one of the card's views. */
bool gantry__view_is_first_of_backend(const struct gantry_physical_device_t *view);

/* The present note of the view. */
const char *gantry__device_note(const struct gantry_physical_device_t *device);
/* The view whose driver's figures belong to this record: for a card the one that took over, and for
 * that view the one that failed. */
const struct gantry_physical_device_t *gantry__device_shown(
    const struct gantry_physical_device_t *device);
/* The next view of the card in the order of preference, itself first; before NULL: the first. NULL:
 * there are no more. */
const struct gantry_physical_device_t *gantry__card_next_view(
    const struct gantry_physical_device_t *listed, const struct gantry_physical_device_t *before);

#endif
