/* SPDX-License-Identifier: Apache-2.0 */
/* The limits of a card's logical devices, and the memory that the driver took for itself when the
 * card was opened. The functions read settings and query drivers; they keep no books.
 *
 * Owner: the card and its logical devices, whose fields the functions fill. Threads: the caller
 * must hold the card's open_lock, unless a function says that it takes the lock. */
#ifndef GANTRY_DEVICE_CARD_LIMIT_H
#define GANTRY_DEVICE_CARD_LIMIT_H

#include <stdint.h>

#include <gantry/device.h>

#include "base/failure.h"

/* The card's free memory without opening it, for gantry__card_limit_find; UINT64_MAX if unknown. */
uint64_t gantry__card_free_bytes(const gantry_logical_device_t *device);

/* Fills the limits of the whole card, which was just opened through device. */
void gantry__card_limit_find(gantry_logical_device_t *device, uint64_t free_before);

/* Fills limit_bytes and context_bytes of one of its logical devices. */
void gantry__logical_limit_find(gantry_logical_device_t *device);

/* Adds memory that a library took of the card for itself. Each open logical device pays its part if
 * it has room. Takes the card's open_lock. */
void gantry__card_limit_grow(gantry_logical_device_t *device, uint64_t bytes);

/* Checks the limit: ResourceExhausted if the context leaves nothing of it. */
gantry_status_t gantry__logical_limit_check(const gantry_logical_device_t *device);

#endif
