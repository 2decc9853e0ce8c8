/* SPDX-License-Identifier: Apache-2.0 */
/* One card, several drivers: which one serves it.
 *
 * A card is the record of its listed view, the one of the backend of highest rank. That record
 * never changes: number, name, settings, parts and the place in the visible list belong to the
 * card, and so do the logical devices made from it. The parts that a driver decides (backend, info,
 * handle, kernels) are reached through one pointer of the record:
 *
 *      before   /GPU:0 ──physical──> card (cuda:0) ──instead──> NULL: its own view serves
 *      after    /GPU:0 ──physical──> card (cuda:0) ──instead──> opencl:0
 *
 * So limits, growth and parts need not be moved.
 *
 * The time of the decision. The decision is made at the card's first opening, under its open_lock,
 * and is final: the first successful opening sets is_proven, and instead is not written any more. A
 * view is tried by opening its device and, if it builds programs, by the runtime's probe: a kernel
 * of one work-item is built and launched, and its result is read back. Freeze is too early: it
 * would make a driver context, some hundred MiB and as many milliseconds, on every card of the
 * machine, for a program that uses one of them or none. A card that only one backend sees is never
 * probed like this: there is no alternative, and its first op reports the same error. Other cost:
 * one small program, from the binary cache except for the first time, a launch and a copy of four
 * bytes; no tensor is on the card yet.
 *
 * The arithmetic of every card is probed, once for a device and its driver: a view is vetted before
 * it is opened, and an unknown one is probed once it is open (kernel/view_probe.c). A driver that
 * ends the process that vets it counts as a view that cannot be opened.
 *
 * The parts that move with it. Logical devices take backend and info from the view when they are
 * opened (gantry__logical_device_bind), and no code reads them of a closed device. Kernel
 * registries exist for every view from the beginning; program caches are made with the open card.
 * The placer notes in a plan which view's kernels it holds. Earlier plans have the table's count of
 * losses in their key and are not found again. A thread that holds one compares its view with the
 * serving one after it has opened the device, when the view is final, and plans again.
 *
 *      thread A   plan ──────────────────────────────── open: done already ── plan again
 *      thread B   plan ── open: cuda fails,
 *                         instead = opencl:0,
 *                         losses + 1, is_open ── plan again
 *
 * Both plan again because their plans hold cuda's kernels, and another view serves now.
 *
 * The parts that are left. The failed view's alias names nothing any more, and a look-up says why.
 * The other view had a logical device of its own, reached by its alias: from now on the alias means
 * the card's numbered device, and a thread that opened the former before keeps it, with a driver
 * handle of its own. If no other view works either, the first one serves as well as it can, like a
 * card with one view. Short memory is no reason to change: the next try may find it. */
#include "device/fail_over.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend_check.h"
#include "backend/slot_failure.h"
#include "device/device_table.h"
#include "device/logical_device.h"

typedef struct gantry_physical_device_t physical_t;

/* ---- views of a card ---- */

bool gantry__view_is_better(const physical_t *a, const physical_t *b) {
    int32_t rank_a = a->backend->table->rank, rank_b = b->backend->table->rank;
    uint32_t made_a = a->info.flags & GANTRY_DEVICE_MAKERS_DRIVER,
             made_b = b->info.flags & GANTRY_DEVICE_MAKERS_DRIVER;
    if (rank_a != rank_b) return rank_a > rank_b;
    return made_a != made_b ? made_a > made_b : a->position < b->position;
}

static bool is_preferred(const physical_t *a, const physical_t *b) {
    if (!a->served_by != !b->served_by) return !a->served_by;
    return gantry__view_is_better(a, b);
}

const physical_t *gantry__card_next_view(const physical_t *listed, const physical_t *before) {
    const gantry__device_table_t *table = listed->table;
    const physical_t *next = NULL;
    for (size_t i = 0; i < table->physical_count; ++i) {
        const physical_t *view = table->physical[i];
        if (view != listed && view->served_by != listed) continue;
        if (before && !is_preferred(before, view)) continue;
        if (!next || is_preferred(view, next)) next = view;
    }
    return next;
}

bool gantry__view_is_first_of_backend(const physical_t *view) {
    const physical_t *card = view->served_by ? view->served_by : view, *at = NULL;
    do {
        at = gantry__card_next_view(card, at);
    } while (at && at->backend != view->backend);
    return !at || at == view;
}

const char *gantry__device_note(const physical_t *device) {
    if (atomic_load_explicit(&device->card->has_full_note, memory_order_acquire))
        return device->card->full_note;
    bool has_changed = atomic_load_explicit(&device->card->instead, memory_order_acquire) ||
                       atomic_load_explicit(&device->card->stands_in_for, memory_order_acquire);
    return has_changed ? device->card->later_note : device->note;
}

const physical_t *gantry__device_shown(const physical_t *device) {
    const physical_t *instead = atomic_load_explicit(&device->card->instead, memory_order_acquire);
    const physical_t *failed =
        atomic_load_explicit(&device->card->stands_in_for, memory_order_acquire);
    return instead ? instead : failed ? failed : device;
}

/* ---- opening ---- */

static void keep_numerics(const physical_t *listed, const physical_t *view,
                          gantry__view_note_t *note) {
    const gantry__device_table_t *table = listed->table;
    if (!note->is_known && table->learn)
        table->learn(table->probe_user, view, listed->card->handle, note);
    (void)snprintf(listed->card->numerics, sizeof listed->card->numerics, "%s", note->text);
    listed->card->is_in_note = false;
    listed->card->vetted = view;
}

/* Opens the driver's device: over the program's context, if it has one for the card. */
static int32_t open_handle(const physical_t *listed, const physical_t *view) {
    const gantry__backend_t *backend = view->backend;
    gantry__card_t *card = listed->card;
    if (!card->adopted_context)
        return backend->table->device_open(backend->instance, view->backend_index, &card->handle);
    return gantry__backend_interop(backend->table)
        ->device_adopt(backend->instance, view->backend_index, card->adopted_context,
                       &card->handle);
}

static gantry_status_t open_view(const physical_t *listed, const physical_t *view,
                                 const char *name) {
    const gantry__backend_t *backend = view->backend;
    const gantry__device_table_t *table = listed->table;
    bool is_vetted = !table->vet || listed->card->vetted == view;
    gantry__view_note_t note;
    if (listed->card->adopted_context) { /* the program uses the driver: nobody else tries it */
        note = (gantry__view_note_t){.is_known = true};
    } else if (!is_vetted) {
        gantry_status_t status = table->vet(table->probe_user, view, &note);
        listed->card->is_refused = status == GANTRY_UNAVAILABLE;
        if (status != GANTRY_OK) return status;
    }
    const gantry_wait_policy_t wait = listed->card->settings.wait;
    if (wait != GANTRY_WAIT_DEFAULT && GANTRY_ABI_HAS(backend->table, set_wait_policy) &&
        backend->table->set_wait_policy)
        (void)backend->table->set_wait_policy(backend->instance, view->backend_index, wait);
    const uint32_t before = gantry__failures();
    int32_t code = open_handle(listed, view);
    if (code == 0) {
        if (!is_vetted) keep_numerics(listed, view, &note);
        return GANTRY_OK;
    }
    listed->card->handle = NULL;
    return gantry__fail_prefix(gantry__slot_failure(code, before),
                               "%s (%s) cannot be opened: ", name, view->alias);
}

static void close_view(const physical_t *listed, const physical_t *view) {
    view->backend->table->device_close(listed->card->handle);
    listed->card->handle = NULL;
}

/* Refuses a view whose backend could build programs but lacks a library for it. */
static gantry_status_t refuse_without_programs(const physical_t *view) {
    const char *why = view->info.no_programs;
    return gantry__fail(GANTRY_UNAVAILABLE, "%s builds no programs%s%s%s", view->alias,
                        *why ? " (" : "", why, *why ? ")" : "");
}

/* Leaves the card open through the view, or closed, with the reason as the message. */
static gantry_status_t try_view(const physical_t *listed, const physical_t *view,
                                bool needs_programs, const char *name) {
    if (needs_programs && view->info.program_kinds == 0) return refuse_without_programs(view);
    GANTRY__TRY(open_view(listed, view, name));
    const gantry__device_table_t *table = listed->table;
    gantry_status_t status = table->probe && view->info.program_kinds != 0
                                 ? table->probe(table->probe_user, view, listed->card->handle)
                                 : GANTRY_OK;
    if (status == GANTRY_OK) return GANTRY_OK;
    char why[GANTRY__MESSAGE_BYTES]; /* closing may change the message */
    (void)snprintf(why, sizeof why, "%s", gantry__message());
    close_view(listed, view);
    return gantry__fail(status, "%s", why);
}

static void fail_over_take(const physical_t *listed, const physical_t *view, const char *reason) {
    (void)snprintf(listed->card->later_note, sizeof listed->card->later_note,
                   "%s serves this card in place of %s: %s", view->alias, listed->alias, reason);
    (void)snprintf(view->card->later_note, sizeof view->card->later_note,
                   "cannot be used, %s serves this card in its place: %s", view->alias, reason);
    atomic_store_explicit(&view->card->stands_in_for, listed, memory_order_release);
    atomic_store_explicit(&listed->card->instead, view, memory_order_release);
    (void)atomic_fetch_add(&listed->table->losses, 1);
}

/* The first other view that works takes over. Otherwise Unavailable, with the error of each view
 * after reason. */
static gantry_status_t try_others(const physical_t *listed, bool needs_programs, const char *name,
                                  char *reason, size_t reason_bytes) {
    const physical_t *before = listed;
    for (const physical_t *view; (view = gantry__card_next_view(listed, before)) != NULL;
         before = view) {
        gantry_status_t status = try_view(listed, view, needs_programs, name);
        if (status == GANTRY_OK) {
            fail_over_take(listed, view, reason);
            return GANTRY_OK;
        }
        if (status == GANTRY_RESOURCE_EXHAUSTED) return status;
        size_t used = strlen(reason);
        (void)snprintf(reason + used, reason_bytes - used, "; nor can %s: %s", view->alias,
                       gantry__message());
    }
    return GANTRY_UNAVAILABLE;
}

static bool has_view_with_programs(const physical_t *listed) {
    for (const physical_t *view = NULL; (view = gantry__card_next_view(listed, view)) != NULL;) {
        if (view->info.program_kinds != 0) return true;
    }
    return false;
}

static gantry_status_t open_best_view(const physical_t *listed, const char *name) {
    bool is_alone = gantry__card_next_view(listed, listed) == NULL;
    if (listed->card->is_proven || is_alone)
        return open_view(listed, gantry__device_view(listed), name);
    char reason[GANTRY__MESSAGE_BYTES];
    bool needs_programs = has_view_with_programs(listed);
    gantry_status_t status = try_view(listed, listed, needs_programs, name);
    if (status != GANTRY_OK && status != GANTRY_RESOURCE_EXHAUSTED) {
        (void)snprintf(reason, sizeof reason, "%s", gantry__message());
        status = try_others(listed, needs_programs, name, reason, sizeof reason);
        if (status == GANTRY_UNAVAILABLE) {
            gantry_status_t own = open_view(listed, listed, name);
            if (own != GANTRY_OK) return gantry__fail(own, "%s", reason);
            (void)snprintf(listed->card->later_note, sizeof listed->card->later_note,
                           "%s serves this card as well as it can: %s", listed->alias, reason);
            return GANTRY_OK;
        }
    }
    listed->card->is_proven = status == GANTRY_OK;
    return status;
}

gantry_status_t gantry__card_open(const physical_t *listed, const char *name) {
    gantry__card_t *card = listed->card;
    GANTRY__TRY(open_best_view(listed, name));
    if (*card->numerics && !card->is_in_note && !atomic_load(&card->has_full_note)) {
        const char *note = gantry__device_note(listed);
        (void)snprintf(card->full_note, sizeof card->full_note, "%s%s%s", note, *note ? "; " : "",
                       card->numerics);
        atomic_store_explicit(&card->has_full_note, true, memory_order_release);
    }
    return GANTRY_OK;
}

void gantry__fail_over_tell(const physical_t *listed) {
    const char *const texts[] = {listed->card->later_note, listed->card->numerics};
    for (size_t i = 0; i < 2; ++i) {
        if (*texts[i])
            gantry__log(listed->table->log, GANTRY_LEVEL_WARNING, "%s: %s", listed->name, texts[i]);
    }
}
