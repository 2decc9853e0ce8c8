/* SPDX-License-Identifier: Apache-2.0 */
/* The device table of one runtime: physical devices found, settings until they freeze, logical
 * devices after that.
 *
 * Owner: the runtime. Filling it (init) makes no context and takes no device memory. Setters and
 * freeze are guarded by the table's lock; after freeze the lists are constant. Thread-safe. */
#ifndef GANTRY_DEVICE_DEVICE_TABLE_H
#define GANTRY_DEVICE_DEVICE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <gantry/memory.h>

#include "backend/backend_set.h"
#include "base/log.h"
#include "base/profile.h"
#include "base/settings.h"
#include "base/thread.h"
#include "device/device_name.h"
#include "device/device_settings.h"
#include "device/fault.h"
#include "device/memory_policy.h"
#include "device/staging.h"
#include "device/stream.h"
#include "memory/allocator.h"

typedef struct gantry__device_table_t gantry__device_table_t;
typedef struct gantry__pinned_piece_t gantry__pinned_piece_t;

typedef gantry_status_t (*gantry__view_probe_fn)(void *user,
                                                 const struct gantry_physical_device_t *view,
                                                 gantry_backend_device_t *handle);

enum { GANTRY__NOT_LOST = 0, GANTRY__BEING_LOST = 1, GANTRY__LOST = 2 };

struct gantry_physical_device_t {
    gantry__device_table_t *table;
    const gantry__backend_t *backend;
    uint32_t backend_index; /* position among the backend's devices */
    uint32_t position;      /* in the table */
    gantry_device_info_t info;
    char type[16];  /* "CPU", "GPU", ...: as the user sees it */
    int32_t number; /* in its type's namespace; -1 when unlisted */
    char name[64];  /* "/physical_device:GPU:0"; the alias when unlisted */
    char alias[48]; /* "opencl:0" */
    char uuid[64];
    char pci[GANTRY__PCI_BYTES]; /* normalised, "" when unknown */
    char platform[160];
    char note[320];
    bool listed;
    /* the listed view of the same card, when this one is not it */
    const struct gantry_physical_device_t *served_by;
    const struct gantry__vendor_t *vendor; /* see device/vendor_visible.h; NULL: none of those */
    bool hidden_by_vendor;                 /* by the vendor's variable */
    uint32_t vendor_place; /* its place in that variable's order; UINT32_MAX: it gives none */
    /* see device/fail_over.h */
    /* the view that serves the card in place of this one; NULL: this one does */
    _Atomic(struct gantry_physical_device_t *) instead;
    _Atomic(struct gantry_physical_device_t *) stands_in_for; /* the other way round */
    bool is_proven; /* under open_lock: who serves the card is decided */
    /* what the first opening found, ""; takes note's place once instead or stands_in_for is set */
    char later_note[512];
    /* settings, under the table's lock until it is frozen */
    gantry__device_settings_t settings;
    /* one per logical device, memory of the settings; NULL: not split */
    const gantry_logical_device_config_t *parts;
    size_t part_count;
    /* Opened with the first logical device, closed with the last. The lock puts the openings of
     * this card in a row and guards what follows, nothing else: it is the one lock but a stream's
     * that is held while the driver is called, so nobody who holds another lock may take it. */
    gantry__mutex_t open_lock;
    gantry_backend_device_t *handle;
    uint32_t open_count;
    /* see device/card_limit.c; known from the first opening on */
    uint64_t whole_limit_bytes; /* what all logical devices of the card may take together */
    uint64_t bound_bytes;       /* what this process may take of the card, the context included */
    uint64_t context_bytes;     /* what the driver took for itself; 0: not known */
    /* bit n: copy_peer to this card from the one at position n mod 64 is not implemented */
    atomic_uint_fast64_t no_peer_copy;
    /* see device/loss.h */
    atomic_int lost;
    char lost_text[1024]; /* the cause, the driver's error at its end; constant once lost */
};

struct gantry_logical_device_t {
    gantry__device_table_t *table;
    struct gantry_physical_device_t *physical; /* the card; who serves it: gantry__logical_view */
    /* of the card's configuration; NULL: the card is not configured */
    const gantry_logical_device_config_t *part;
    /* what the view that serves the card decides: bound when the device is made, and again when
     * it is opened */
    const gantry_backend_t *backend;
    /* the card's, with the limits that the part imitates: what kernels and callers look at */
    gantry_device_info_t info;
    /* work-groups and local memory are smaller than the card's: launches are checked */
    bool imitates_launches;
    bool synchronous;
    bool host_addressable;
    int32_t index;     /* N of GPU:N; -1: reached by alias only */
    uint32_t position; /* in the table */
    char name[80];     /* "/device:GPU:0" */
    char full_name[128];
    /* bit (position % 64) of each other device whose events this one's streams have waited for */
    atomic_uint_fast64_t waited_for;
    /* valid once is_open */
    atomic_bool is_open;
    gantry_backend_device_t *handle;
    uint64_t limit_bytes;   /* of everything that is taken on it */
    uint64_t context_bytes; /* of it, what is charged for the driver's context */
    gantry__allocator_t allocator;
    gantry__stream_t streams[GANTRY__STREAMS];
    gantry__fault_table_t faults;
    gantry__staging_t staging;
};

struct gantry__device_table_t {
    const gantry__heap_t *heap;
    const gantry__log_t *log;
    gantry__settings_t *settings;
    gantry__backend_set_t *backends;
    gantry__mutex_t lock;
    /* listed first (CPU, GPU, ...), each type in its order, then the unlisted views */
    struct gantry_physical_device_t **physical;
    size_t physical_count, physical_capacity;
    const struct gantry_physical_device_t **visible; /* chosen ones, CPUs first, in logical order */
    size_t visible_count;
    /* the call that set them; NULL: option, environment or default */
    const char *visible_by;
    gantry__device_settings_t defaults; /* what holds where nothing is said of a device */
    bool opencl_cpu_as_gpu;
    gantry__memory_policy_t policy;
    /* host memory of staging and programs for all devices: at most policy.pinned_limit_bytes */
    atomic_uint_fast64_t pinned_bytes;
    gantry__pinned_piece_t *pinned; /* programs' pieces, see device/pinned.h */
    /* a gantry_profile_mode_t; 0: off, and then no thread has a frame of this runtime's calls */
    atomic_int profiling;
    /* cards lost so far, and cards whose view changed: plans of before do not hold */
    atomic_uint losses;
    /* Tries an open view before a card with a second one relies on it, with the card's open_lock
     * held; NULL: nobody does. Set before freeze. */
    gantry__view_probe_fn probe;
    void *probe_user;
    /* after freeze */
    atomic_bool frozen;
    char frozen_by[64]; /* what initialised it */
    struct gantry_logical_device_t **logical;
    size_t logical_count; /* of all, those reached by alias only included at the end */
    size_t logical_capacity;
    size_t listed_count;
    const char *const *backend_names; /* for the name parser */
    size_t backend_name_count;
};

gantry_status_t gantry__device_table_init(gantry__device_table_t *table, const gantry__heap_t *heap,
                                          const gantry__log_t *log, gantry__settings_t *settings,
                                          gantry__backend_set_t *backends);
void gantry__device_table_deinit(gantry__device_table_t *table);

/* Makes the logical devices. by: the call or op that needs them, for later messages. */
gantry_status_t gantry__device_table_freeze(gantry__device_table_t *table, const char *by);

/* The frame of the call that this thread is in; NULL while nothing is recorded, which costs no
 * more than the flag. */
static inline gantry__profile_frame_t *gantry__device_frame(const gantry__device_table_t *table) {
    return atomic_load_explicit(&table->profiling, memory_order_relaxed) ? gantry__profile_current()
                                                                         : NULL;
}

/* ---- settings (gantry/device.h without the runtime) ---- */
gantry_status_t gantry__device_check(const gantry__device_table_t *table,
                                     const gantry_physical_device_t *device);
gantry_status_t gantry__device_set_visible(gantry__device_table_t *table,
                                           const gantry_physical_device_t *const *devices,
                                           size_t count, const char *type);
gantry_status_t gantry__device_set_growth(gantry__device_table_t *table,
                                          const gantry_physical_device_t *device, bool enabled);
bool gantry__device_growth(const gantry__device_table_t *table,
                           const gantry_physical_device_t *device);
/* The limit that settings give the whole device, fraction included, at most its total; 0: none was
 * set. For a split device it bounds the parts together. */
uint64_t gantry__device_limit(const gantry__device_table_t *table,
                              const gantry_physical_device_t *device);
gantry_status_t gantry__device_set_limit(gantry__device_table_t *table,
                                         const gantry_physical_device_t *device,
                                         uint64_t limit_bytes);
gantry_status_t gantry__device_set_logical(gantry__device_table_t *table,
                                           const gantry_physical_device_t *device,
                                           const gantry_logical_device_config_t *configs,
                                           size_t count);
void gantry__device_details(const gantry__device_table_t *table,
                            const gantry_physical_device_t *device, gantry_device_details_t *out);
bool gantry__device_is_visible(const gantry__device_table_t *table,
                               const gantry_physical_device_t *device);

/* ---- parts of init and freeze, in files of their own ---- */
gantry_status_t gantry__physical_devices_find(gantry__device_table_t *table);
/* A closed one, its parts included. */
void gantry__physical_device_release(gantry_physical_device_t *device);
/* The list that environment and options make visible. */
gantry_status_t gantry__visible_devices_find(gantry__device_table_t *table);
/* One logical device per part of each visible device and one per reachable other view. The
 * table's lock is held. */
gantry_status_t gantry__logical_devices_make(gantry__device_table_t *table);
/* Gives their memory back; they are closed. */
void gantry__logical_devices_forget(gantry__device_table_t *table);
/* One information line per backend, card and library. */
void gantry__device_table_announce(const gantry__device_table_t *table);

/* ---- logical devices ---- */

/* The view that serves the card: itself, or the one that took over. */
static inline struct gantry_physical_device_t *gantry__device_view(
    struct gantry_physical_device_t *card) {
    struct gantry_physical_device_t *instead =
        atomic_load_explicit(&card->instead, memory_order_acquire);
    return instead ? instead : card;
}
static inline struct gantry_physical_device_t *gantry__logical_view(
    const gantry_logical_device_t *device) {
    return gantry__device_view(device->physical);
}
/* Takes over what the view that serves the card decides. The card's open_lock is held, or the
 * table is being made. */
void gantry__logical_device_bind(gantry_logical_device_t *device);

/* Opens driver context, allocator and streams on first need. A failure leaves the device closed:
 * the next one who needs it tries again. */
gantry_status_t gantry__logical_device_open_slowly(gantry_logical_device_t *device);
static inline gantry_status_t gantry__logical_device_open(gantry_logical_device_t *device) {
    if (atomic_load_explicit(&device->is_open, memory_order_acquire)) return GANTRY_OK;
    return gantry__logical_device_open_slowly(device);
}
void gantry__logical_device_close(gantry_logical_device_t *device);
/* Parts of one card: memory of one is memory of the driver's same context. */
static inline bool gantry__logical_device_is_sibling(const gantry_logical_device_t *a,
                                                     const gantry_logical_device_t *b) {
    return a->physical == b->physical;
}
gantry_status_t gantry__logical_device_synchronize(gantry_logical_device_t *device);
/* Hands what was submitted to the device. */
void gantry__logical_device_flush(gantry_logical_device_t *device);

/* ---- references ---- */

gantry_status_t gantry__device_reference_from_user(const gantry__device_table_t *table,
                                                   const char *text,
                                                   gantry__device_reference_t *out_reference);
/* Does the reference name this view of a card? GPU:N is the card of that number, split or not. */
bool gantry__device_reference_names(const gantry__device_reference_t *reference,
                                    const gantry_physical_device_t *device);
/* The only card or view that the text names; GPU:N is the card behind that logical device: before
 * there are any the visible card of that number. NotFound "<text> unknown device.";
 * InvalidArgument when several match. */
gantry_status_t gantry__physical_device_find(gantry__device_table_t *table, const char *text,
                                             const gantry_physical_device_t **out_device);
/* Does the reference allow this logical device? Empty references allow every listed one. */
bool gantry__device_reference_matches(const gantry__device_reference_t *reference,
                                      const gantry_logical_device_t *device);
/* The only listed or aliased device that the reference names. NotFound "<text> unknown device.";
 * InvalidArgument when several match. */
gantry_status_t gantry__device_reference_find(gantry__device_table_t *table,
                                              const gantry__device_reference_t *reference,
                                              const char *text,
                                              gantry_logical_device_t **out_device);
/* "CPU:0 /device..., ...": full names of the listed devices, cut to fit. */
void gantry__device_table_format_names(const gantry__device_table_t *table, char *out,
                                       size_t out_bytes);

#endif
