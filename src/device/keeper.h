/* SPDX-License-Identifier: Apache-2.0 */
/* Keepers: objects that keep memory of devices between calls, and give it up on demand.
 *
 * The list does not own its keepers and knows no allocator. Owner: the device table. Thread-safe.
 *
 * Order of locks: an allocation that ran out of memory asks all keepers, whatever locks its caller
 * holds. So give_up must take no lock that is held anywhere during an allocation, and must call
 * nothing of the program but its heap, which must call nothing of Gantry. It takes its object's
 * lock, the allocators' and the streams', in this order. */
#ifndef GANTRY_DEVICE_KEEPER_H
#define GANTRY_DEVICE_KEEPER_H

#include <stdatomic.h>

#include <gantry/device.h>

#include "base/os/thread.h"

typedef struct gantry__keeper_t {
    /* Frees what the object keeps on the device, and no call uses; NULL: on all devices. Returns
     * the bytes of device memory. Constant. */
    uint64_t (*give_up)(struct gantry__keeper_t *keeper, const gantry_logical_device_t *device);
    /* The keeper that this one was made for; NULL: none. Under the list's lock, as the next two. */
    const struct gantry__keeper_t *with;
    struct gantry__keeper_t *next, *previous;
} gantry__keeper_t;

/* The list of forms (device/form.h). Its lock is not held during an allocation. */
typedef struct gantry__forms_t {
    gantry__mutex_t lock;
    struct gantry__form_t *first;
    atomic_uint_fast64_t made; /* so far */
} gantry__forms_t;

typedef struct gantry__keepers_t {
    gantry__mutex_t lock;
    gantry__keeper_t *first;
    gantry__forms_t forms;
} gantry__keepers_t;

gantry_status_t gantry__keepers_init(gantry__keepers_t *keepers);
void gantry__keepers_deinit(gantry__keepers_t *keepers);

/* give_up is set; with: NULL, or a listed keeper. */
void gantry__keepers_add(gantry__keepers_t *keepers, gantry__keeper_t *keeper,
                         const gantry__keeper_t *with);
/* Removes a keeper. Afterwards, give_up does not run and is not called again. */
void gantry__keepers_remove(gantry__keepers_t *keepers, gantry__keeper_t *keeper);

/* Lets all keepers give up what they keep on the device, and returns the bytes. */
uint64_t gantry__keepers_ask_all(gantry__keepers_t *keepers, const gantry_logical_device_t *device);
/* The keeper and all that were made for it, directly or not, give up what they keep on all
 * devices. */
uint64_t gantry__keepers_ask(gantry__keepers_t *keepers, const gantry__keeper_t *keeper);

#endif
