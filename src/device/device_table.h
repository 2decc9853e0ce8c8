/* SPDX-License-Identifier: Apache-2.0 */
/* The device table of one runtime: physical devices, settings until they freeze, logical devices
 * after that. The records themselves are in device/physical_device.h, device/card.h and
 * device/logical_device.h.
 *
 * Owner: the runtime. Filling it (init) makes no context and takes no device memory. The table's
 * lock guards setters and freeze; after freeze the lists are constant. Thread-safe. */
#ifndef GANTRY_DEVICE_DEVICE_TABLE_H
#define GANTRY_DEVICE_DEVICE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <gantry/memory.h>

#include "backend/backend_set.h"
#include "base/log.h"
#include "base/profile_frame.h"
#include "base/settings.h"
#include "base/timeline.h"
#include "device/device_name.h"
#include "device/device_settings.h"
#include "device/keeper.h"
#include "device/memory_policy.h"
#include "base/os/thread.h"

typedef struct gantry__device_table_t gantry__device_table_t;
typedef struct gantry__pinned_piece_t gantry__pinned_piece_t;

typedef gantry_status_t (*gantry__view_probe_fn)(void *user,
                                                 const struct gantry_physical_device_t *view,
                                                 gantry_backend_device_t *handle);

/* A note on how a view computes, if it differs from others. */
typedef struct gantry__view_note_t {
    bool is_known;
    char text[512]; /* "": as others, or unknown */
} gantry__view_note_t;

typedef gantry_status_t (*gantry__view_vet_fn)(void *user,
                                               const struct gantry_physical_device_t *view,
                                               gantry__view_note_t *out_note);
typedef void (*gantry__view_learn_fn)(void *user, const struct gantry_physical_device_t *view,
                                      gantry_backend_device_t *handle,
                                      gantry__view_note_t *out_note);

struct gantry__device_table_t {
    const gantry__heap_t *heap;
    const gantry__log_t *log;
    gantry__settings_t *settings;
    gantry__backend_set_t *backends;
    gantry__mutex_t lock;
    /* listed devices first (CPU, GPU, ...), each type in its order, then the unlisted views */
    struct gantry_physical_device_t **physical;
    size_t physical_count, physical_capacity;
    /* the chosen ones, CPUs first, in logical order */
    const struct gantry_physical_device_t **visible;
    size_t visible_count;
    /* the call that set them; NULL: option, environment or default */
    const char *visible_by;
    /* the list is "auto": so many of its GPUs are claimed at freeze (device_claim.h); 0: it is
     * not */
    uint32_t auto_count;
    struct gantry__claim_t *claim;      /* NULL: nothing is claimed */
    gantry__device_settings_t defaults; /* the settings of devices without a value of their own */
    bool opencl_cpu_as_gpu;
    gantry__memory_policy_t policy;
    /* shows other processes the memory of the devices; NULL: not requested. Constant while there
     * are devices. */
    struct gantry__status_file_t *status_file;
    /* host memory of staging and programs for all devices: at most policy.pinned_limit_bytes */
    atomic_uint_fast64_t pinned_bytes;
    gantry__pinned_piece_t *pinned; /* programs' pieces, see device/pinned.h */
    gantry__keepers_t keepers;      /* those that keep device memory between calls */
    /* a gantry_profile_mode_t, and GANTRY__TRACING while a timeline is written; while it is 0, no
     * thread has a frame of this runtime's calls */
    atomic_int profiling;
    _Atomic(gantry__timeline_t *) timeline; /* NULL until the first is begun */
    /* the number of lost cards, and of cards whose view changed: plans from before are invalid */
    atomic_uint losses;
    atomic_uint_fast64_t faults_made; /* so far; see device/fault.h */
    /* Tries an open view before the runtime relies on a card with a second view, with the card's
     * open_lock held; NULL: no probe. Set before freeze. */
    gantry__view_probe_fn probe;
    /* called before and after a view is first opened; may be NULL, too */
    gantry__view_vet_fn vet;
    gantry__view_learn_fn learn;
    void *probe_user;
    /* after freeze */
    atomic_bool frozen;
    char frozen_by[64]; /* the call or op that initialised it */
    struct gantry_logical_device_t **logical;
    /* the number of all devices, with those reached only by alias at the end */
    size_t logical_count;
    size_t logical_capacity;
    size_t listed_count;
    const char *const *backend_names; /* names for the name parser */
    size_t backend_name_count;
};

gantry_status_t gantry__device_table_init(gantry__device_table_t *table, const gantry__heap_t *heap,
                                          const gantry__log_t *log, gantry__settings_t *settings,
                                          gantry__backend_set_t *backends);
void gantry__device_table_deinit(gantry__device_table_t *table);

/* Makes the logical devices. by: the call or op that needs them, for later messages. */
gantry_status_t gantry__device_table_freeze(gantry__device_table_t *table, const char *by);

/* The bit of table->profiling next to the mode. */
enum { GANTRY__TRACING = 4 };

/* The timeline that is written; NULL: none, for the cost of reading the flag. */
static inline gantry__timeline_t *gantry__device_timeline(const gantry__device_table_t *table) {
    return atomic_load_explicit(&table->profiling, memory_order_relaxed) & GANTRY__TRACING
               ? atomic_load_explicit(&table->timeline, memory_order_acquire)
               : NULL;
}

/* The mode in which a profile is recorded now. */
static inline gantry_profile_mode_t gantry__device_profile_mode(
    const gantry__device_table_t *table) {
    return (gantry_profile_mode_t)(atomic_load_explicit(&table->profiling, memory_order_relaxed) &
                                   ~GANTRY__TRACING);
}
/* Changes the mode, or the bit, and not the other; returns the flag as it was. */
int gantry__device_set_profile(gantry__device_table_t *table, int mode);
int gantry__device_set_tracing(gantry__device_table_t *table, bool is_tracing);

/* The frame of this thread's present call; NULL while nothing is recorded, for the cost of reading
 * the flag. */
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
/* Releases a closed device and its parts. */
void gantry__physical_device_release(gantry_physical_device_t *device);
/* Finds the list that environment and options make visible. */
gantry_status_t gantry__visible_devices_find(gantry__device_table_t *table);
/* Makes one logical device per part of each visible device, and one per other view that can be
 * reached. The caller must hold the table's lock. */
gantry_status_t gantry__logical_devices_make(gantry__device_table_t *table);
/* Frees the closed logical devices. */
void gantry__logical_devices_forget(gantry__device_table_t *table);
/* Logs one information line per backend, card and library. */
void gantry__device_table_announce(const gantry__device_table_t *table);

/* ---- references ---- */

gantry_status_t gantry__device_reference_from_user(const gantry__device_table_t *table,
                                                   const char *text,
                                                   gantry__device_reference_t *out_reference);
/* Whether the reference names this view of a card. GPU:N is the card of that number, split or
 * not. */
bool gantry__device_reference_names(const gantry__device_reference_t *reference,
                                    const gantry_physical_device_t *device);
/* The only card or view that the text names. GPU:N is the card of that logical device; before there
 * are logical devices, the visible card of that number. NotFound "<text> unknown device.";
 * InvalidArgument if several match. */
gantry_status_t gantry__physical_device_find(gantry__device_table_t *table, const char *text,
                                             const gantry_physical_device_t **out_device);
/* Whether the reference allows this logical device. An empty reference allows every listed one. */
bool gantry__device_reference_matches(const gantry__device_reference_t *reference,
                                      const gantry_logical_device_t *device);
#define GANTRY__DEVICE_UNUSED_BYTES 768
/* The sentence "Backend NAME is not used: REASON"; "" if the reference names no backend, or one in
 * use. Returns out. */
const char *gantry__device_tell_unused(const gantry__device_table_t *table,
                                       const gantry__device_reference_t *reference,
                                       char out[GANTRY__DEVICE_UNUSED_BYTES]);
/* The only listed or aliased device that the reference names. NotFound "<text> unknown device.";
 * InvalidArgument if several match. */
gantry_status_t gantry__device_reference_find(gantry__device_table_t *table,
                                              const gantry__device_reference_t *reference,
                                              const char *text,
                                              gantry_logical_device_t **out_device);
/* Writes "CPU:0 /device..., ...": full names of the listed devices, cut to fit. */
void gantry__device_table_format_names(const gantry__device_table_t *table, char *out,
                                       size_t out_bytes);

#endif
