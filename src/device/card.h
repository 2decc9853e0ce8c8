/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a physical device that changes: settings until the table freezes, the results of
 * opening the card, its loss. device/physical_device.h is the constant part.
 *
 * Each view has a card of its own. If several backends see one card, the listed view's is the card,
 * and the others' are used through their alias (device/fail_over.h). Owner: the physical device.
 * Thread-safe as the fields say. */
#ifndef GANTRY_DEVICE_CARD_H
#define GANTRY_DEVICE_CARD_H

#include <stdatomic.h>
#include <stdbool.h>

#include <gantry/backend_abi.h>

#include "device/device_settings.h"
#include "base/os/thread.h"

enum { GANTRY__NOT_LOST = 0, GANTRY__BEING_LOST = 1, GANTRY__LOST = 2 };

typedef struct gantry__card_t {
    /* settings, under the table's lock until it is frozen */
    gantry__device_settings_t settings;
    /* one per logical device, memory of the settings; NULL: not split */
    const gantry_logical_device_config_t *parts;
    size_t part_count;
    /* see device/fail_over.h */
    /* the view that serves the card in place of this one; NULL: this one does */
    _Atomic(const struct gantry_physical_device_t *) instead;
    /* the opposite direction */
    _Atomic(const struct gantry_physical_device_t *) stands_in_for;
    bool is_proven; /* under open_lock: the view that serves the card is final */
    /* found at the first opening, ""; replaces the view's note once instead or stands_in_for is
     * set */
    char later_note[512];
    /* under open_lock: the view that was vetted, and how it computes */
    const struct gantry_physical_device_t *vetted;
    char numerics[512];
    bool is_in_note; /* the record's note ends with numerics */
    bool is_refused; /* every view of the card failed its trial */
    /* the note with numerics at its end; constant once has_full_note is set */
    atomic_bool has_full_note;
    char full_note[1024];
    /* The card is opened with the first logical device, and closed with the last. The lock orders
     * the openings of this card, and guards the fields below and nothing else. Apart from a
     * stream's, it is the only lock that is held while the driver is called, so no thread that
     * holds another lock may take it. */
    gantry__mutex_t open_lock;
    gantry_backend_device_t *handle;
    uint32_t open_count;
    /* the program's, over which the card is opened (device/adopted.h); NULL: none; constant once
     * the runtime is made */
    void *adopted_context;
    void *adopted_queue; /* the compute stream of the card's first logical device */
    /* see device/card_limit.c; known after the first opening */
    uint64_t whole_limit_bytes; /* the limit of all logical devices of the card together */
    uint64_t bound_bytes;       /* the limit of this process on the card, including the context */
    /* memory that the driver and its libraries took for themselves; 0: unknown; any thread reads */
    atomic_uint_fast64_t context_bytes;
    /* bit n: copy_peer to this card from the one at position n mod 64 is not implemented */
    atomic_uint_fast64_t no_peer_copy;
    /* see device/loss.h */
    atomic_int lost;
    char lost_text[1024]; /* the cause, ending with the driver's error; constant once lost */
} gantry__card_t;

static inline bool gantry__card_is_lost(const gantry__card_t *card) {
    return atomic_load_explicit(&card->lost, memory_order_acquire) == GANTRY__LOST;
}

#endif
