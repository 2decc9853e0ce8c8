/* SPDX-License-Identifier: Apache-2.0 */
/* The variable by which a vendor's driver hides cards (vendor.def), for every backend's view of
 * them. The functions read settings, and change only the cards' records.
 *
 * Owner: the rows are constant data. Threads: gantry__vendor_visible_find must only be called while
 * the device table is made. */
#ifndef GANTRY_DEVICE_VENDOR_VISIBLE_H
#define GANTRY_DEVICE_VENDOR_VISIBLE_H

#include "base/failure.h"

struct gantry__device_table_t;

typedef struct gantry__vendor_t {
    const char *name;       /* a part of the vendor's name as drivers report it */
    const char *backend;    /* the backend of the vendor's own driver */
    const char *driver;     /* that driver's name for users */
    const char *visible;    /* the variable that lists cards */
    const char *order;      /* the variable that says how its indices count, ... */
    const char *by_address; /* ... and its value for PCI addresses */
} gantry__vendor_t;

/* The row of a device; NULL: there is none. */
const gantry__vendor_t *gantry__vendor_find(const char *backend, const char *vendor);

/* Fills hidden_by_vendor and vendor_place of the cards. A text that names a device twice hides all
 * of the vendor's cards and is logged: Gantry does not refuse another vendor's variable. */
gantry_status_t gantry__vendor_visible_find(struct gantry__device_table_t *table);

#endif
