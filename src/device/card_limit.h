/* SPDX-License-Identifier: Apache-2.0 */
/* How much the logical devices of a card may take, and what the driver took for itself when the
 * card was opened.
 *
 * Reads settings and asks drivers; keeps no books. The card's open_lock is held, but where a
 * function says that it takes it. */
#ifndef GANTRY_DEVICE_CARD_LIMIT_H
#define GANTRY_DEVICE_CARD_LIMIT_H

#include <stdint.h>

#include <gantry/device.h>

#include "base/failure.h"

/* The card's free memory as told without opening it, for gantry__card_limit_find; UINT64_MAX
 * when nobody can. */
uint64_t gantry__card_free_bytes(const gantry_logical_device_t *device);

/* Fills what holds for the whole card, which was just opened through device. */
void gantry__card_limit_find(gantry_logical_device_t *device, uint64_t free_before);

/* Fills limit_bytes and context_bytes of one of its logical devices. */
void gantry__logical_limit_find(gantry_logical_device_t *device);

/* A library took so much more of the card for itself. Each open logical device pays its part, as
 * far as it has room. Takes the card's open_lock. */
void gantry__card_limit_grow(gantry_logical_device_t *device, uint64_t bytes);

/* ResourceExhausted when the context leaves nothing of the limit. */
gantry_status_t gantry__logical_limit_check(const gantry_logical_device_t *device);

#endif
