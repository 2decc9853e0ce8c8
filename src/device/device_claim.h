/* SPDX-License-Identifier: Apache-2.0 */
/* A device's name in claims, and the claims of GANTRY_VISIBLE_DEVICES=auto. Owner: the device table
 * has the claims. Threads: thread-safe; the caller must hold the table's lock. */
#ifndef GANTRY_DEVICE_DEVICE_CLAIM_H
#define GANTRY_DEVICE_DEVICE_CLAIM_H

#include "claim/claim.h"
#include "device/device_table.h"

/* Writes a name that is equal for every backend's view of a card, in every process: the PCI
 * address, because not every view knows the UUID. The UUID names a part of a card, and a card
 * without address. */
void gantry__device_claim_name(const struct gantry_physical_device_t *device,
                               char out_name[GANTRY__CLAIM_NAME_BYTES]);

/* Claims table->auto_count of the visible GPUs, those with most of their memory free first, and
 * hides the others. Does nothing if the list is not automatic, a call replaced it, or no GPU is
 * visible. Unavailable if others hold too many: the message says who. */
gantry_status_t gantry__device_claim_auto(gantry__device_table_t *table);
void gantry__device_claim_release(gantry__device_table_t *table);

#endif
