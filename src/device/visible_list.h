/* SPDX-License-Identifier: Apache-2.0 */
/* The list of visible devices: the grammar of CUDA_VISIBLE_DEVICES and GANTRY_VISIBLE_DEVICES
 * applied to given devices.
 *
 * Reads no environment and knows no device table; the caller passes the text and the identities.
 * Allocates nothing: the result goes to an array of the caller, and all texts stay the caller's.
 * Thread-safe if the callback is. */
#ifndef GANTRY_DEVICE_VISIBLE_LIST_H
#define GANTRY_DEVICE_VISIBLE_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <gantry/status.h>

/* Room for the remark on a list; a longer one is cut. */
#define GANTRY__VISIBLE_REASON_BYTES 512

typedef struct gantry__visible_device_t {
    int32_t index;    /* the meaning of a number in the list: the place in physical order */
    const char *uuid; /* such as GPU-8932f937-d72c-4106-c12f-20bd9faed9f6; NULL if it has none */
    const char *pci;  /* any form that gantry__pci_normalise takes; NULL if it has none */
    const char *name; /* the name for messages; may be NULL */
} gantry__visible_device_t;

typedef struct gantry__visible_rules_t {
    const char *variable; /* the source of the text, for messages: "GANTRY_VISIBLE_DEVICES" */
    bool allow_extras;    /* Gantry's own: ^entry, all, auto, UUID:prefix and device names */
    /* Whether a device name such as opencl:1 means the device at that position; called for entries
     * of no other form, with extras only. May be NULL. */
    bool (*matches)(void *user, const char *entry, size_t position);
    void *user;
} gantry__visible_rules_t;

typedef struct gantry__visible_list_t {
    /* in: room for as many as there are devices; out: positions in the array of devices, as
     * listed */
    size_t *positions;
    size_t count;
    uint32_t auto_count; /* so many of them are to be used, chosen later; 0: all of them */
    /* the text for the log: why the list ended early or hides nothing; often "" */
    char reason[GANTRY__VISIBLE_REASON_BYTES];
} gantry__visible_list_t;

/* Selects devices by text. NULL: the variable is not set, and all are visible. An empty list shows
 * none.
 *
 * Entries are separated by commas, with blanks around them ignored, as is one pair of quotes, " or
 * ', around the whole:
 *   2                   the device with that index
 *   GPU-8932, MIG-...   the device with that UUID; any prefix that only one device has
 *   0000:65:00.0        the device at that PCI address, PCI: in front allowed
 *   -1                  no device, like every other entry that names none or more than one: it ends
 *                       the list, and list->reason says so; what is before it counts
 * and with extras:
 *   opencl:1, opencl    whatever rules->matches says, possibly several, in order of position
 *   all                 all devices
 *   auto, auto:2        all devices, of which one or so many are to be used: list->auto_count
 *   ^entry              leaves out what entry matches; when there are no other entries, all but
 *                       that; never ends the list, and one that matches nothing is remarked on in
 *                       list->reason
 *
 * Errors: InvalidArgument if a device is named twice; list->count is then 0. */
gantry_status_t gantry__visible_list_select(const char *text, const gantry__visible_rules_t *rules,
                                            const gantry__visible_device_t *devices,
                                            size_t device_count, gantry__visible_list_t *list);

#endif
