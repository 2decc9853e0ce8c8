/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a physical device: one backend's view of a card, as it was found.
 *
 * Filled while the device table is made, and constant after that. Its card (device/card.h) has the
 * part that settings and openings change. Owner: the device table. Thread-safe once the table is
 * made. */
#ifndef GANTRY_DEVICE_PHYSICAL_DEVICE_H
#define GANTRY_DEVICE_PHYSICAL_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include <gantry/backend_abi.h>
#include <gantry/device.h>

#include "backend/backend_set.h"
#include "device/device_name.h"

struct gantry__card_t;
struct gantry__device_table_t;

struct gantry_physical_device_t {
    struct gantry__device_table_t *table;
    struct gantry__card_t *card; /* owned */
    const gantry__backend_t *backend;
    uint32_t backend_index; /* position among the backend's devices */
    uint32_t position;      /* the position in the table */
    gantry_device_info_t info;
    char type[16];  /* "CPU", "GPU", ...: the type that the user sees */
    int32_t number; /* the number in its type's namespace; -1 when unlisted */
    char name[64];  /* "/physical_device:GPU:0"; the alias when unlisted */
    char alias[48]; /* "opencl:0" */
    char uuid[64];
    char pci[GANTRY__PCI_BYTES]; /* normalised, "" when unknown */
    char platform[160];
    char note[1024]; /* see gantry__device_note */
    bool listed;
    /* the listed view of the same card, if this one is not it */
    const struct gantry_physical_device_t *served_by;
    /* see device/vendor_visible.h; NULL: no vendor with a row */
    const struct gantry__vendor_t *vendor;
    bool hidden_by_vendor; /* the vendor's variable hides it */
    /* its index in that variable's order; UINT32_MAX: the variable gives none */
    uint32_t vendor_place;
};

#endif
