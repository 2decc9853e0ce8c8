/* The device table of one runtime: physical devices found, settings until they freeze, logical devices after that.
 *
 * Owner: the runtime. Filling it (init) makes no context and takes no device memory. Setters and freeze are guarded by the table's lock;
 * after freeze the lists are constant. Thread-safe. */
#ifndef GANTRY_DEVICE_DEVICE_TABLE_H
#define GANTRY_DEVICE_DEVICE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>

#include <gantry/memory.h>

#include "backend/backend_set.h"
#include "base/log.h"
#include "base/settings.h"
#include "base/thread.h"
#include "device/device_name.h"
#include "device/fault.h"
#include "device/staging.h"
#include "device/stream.h"
#include "memory/allocator.h"

typedef struct gantry__device_table_t gantry__device_table_t;

enum { GANTRY__NOT_LOST = 0, GANTRY__BEING_LOST = 1, GANTRY__LOST = 2 };

struct gantry_physical_device_t {
    gantry__device_table_t *table;
    const gantry__backend_t *backend;
    uint32_t backend_index; /* position among the backend's devices */
    uint32_t position;      /* in the table */
    gantry_device_info_t info;
    char type[16];          /* "CPU", "GPU", ...: as the user sees it */
    int32_t number;         /* in its type's namespace; -1 when unlisted */
    char name[64];          /* "/physical_device:GPU:0"; the alias when unlisted */
    char alias[48];         /* "opencl:0" */
    char uuid[64];
    char pci[GANTRY__PCI_BYTES]; /* normalised, "" when unknown */
    char platform[160];
    char note[192];
    bool listed;
    const struct gantry_physical_device_t *served_by; /* the listed view of the same card, when this one is not it */
    /* settings */
    gantry_choice_t growth;
    uint64_t memory_limit_bytes; /* 0: default */
    gantry_logical_device_config_t *parts; /* one per logical device, heap memory of the table; NULL: not split */
    size_t part_count;
    /* opened with the first logical device, under the table's lock */
    gantry_backend_device_t *handle;
    atomic_uint open_count;
    /* see device/loss.h */
    atomic_int lost;
    char lost_text[256]; /* the cause; constant once lost */
};

struct gantry_logical_device_t {
    gantry__device_table_t *table;
    struct gantry_physical_device_t *physical;
    const gantry_backend_t *backend;
    int32_t index;       /* N of GPU:N; -1: reached by alias only */
    uint32_t position;   /* in the table */
    char name[80];       /* "/device:GPU:0" */
    char full_name[128];
    bool synchronous;
    bool host_addressable;
    atomic_uint_fast64_t waited_for; /* bit (position % 64) of each other device whose events this one's streams have waited for */
    /* valid once is_open */
    atomic_bool is_open;
    gantry_backend_device_t *handle;
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
    struct gantry_physical_device_t **physical; /* listed first (CPU, GPU, ...), each type in its order, then the unlisted views */
    size_t physical_count, physical_capacity;
    const struct gantry_physical_device_t **visible; /* chosen ones, CPUs first, in logical order */
    size_t visible_count;
    gantry_choice_t default_growth;
    uint64_t default_limit_bytes;
    bool opencl_cpu_as_gpu;
    atomic_uint losses; /* cards lost so far */
    /* after freeze */
    atomic_bool frozen;
    char frozen_by[64]; /* what initialised it */
    struct gantry_logical_device_t **logical;
    size_t logical_count; /* of all, those reached by alias only included at the end */
    size_t listed_count;
    const char *const *backend_names; /* for the name parser */
    size_t backend_name_count;
};

gantry_status_t gantry__device_table_init(gantry__device_table_t *table, const gantry__heap_t *heap, const gantry__log_t *log,
                                          gantry__settings_t *settings, gantry__backend_set_t *backends,
                                          const gantry_runtime_options_t *options);
void gantry__device_table_deinit(gantry__device_table_t *table);

/* Makes the logical devices. by: the call or op that needs them, for later messages. */
gantry_status_t gantry__device_table_freeze(gantry__device_table_t *table, const char *by);

/* ---- settings (gantry/device.h without the runtime) ---- */
gantry_status_t gantry__device_check(const gantry__device_table_t *table, const gantry_physical_device_t *device);
gantry_status_t gantry__device_set_visible(gantry__device_table_t *table, const gantry_physical_device_t *const *devices, size_t count,
                                           const char *type);
gantry_status_t gantry__device_set_growth(gantry__device_table_t *table, const gantry_physical_device_t *device, bool enabled);
bool gantry__device_growth(const gantry__device_table_t *table, const gantry_physical_device_t *device);
/* The limit that settings give the whole device, fraction included, 0: none was set. */
uint64_t gantry__device_limit(const gantry__device_table_t *table, const gantry_physical_device_t *device);
gantry_status_t gantry__device_set_limit(gantry__device_table_t *table, const gantry_physical_device_t *device, uint64_t limit_bytes);
gantry_status_t gantry__device_set_logical(gantry__device_table_t *table, const gantry_physical_device_t *device,
                                           const gantry_logical_device_config_t *configs, size_t count);
void gantry__device_details(const gantry__device_table_t *table, const gantry_physical_device_t *device, gantry_device_details_t *out);
bool gantry__device_is_visible(const gantry__device_table_t *table, const gantry_physical_device_t *device);

/* ---- parts of init and freeze, in files of their own ---- */
gantry_status_t gantry__physical_devices_find(gantry__device_table_t *table);
/* The list that environment and options make visible. */
gantry_status_t gantry__visible_devices_find(gantry__device_table_t *table, const char *option_text);
/* One information line per backend, card and library. */
void gantry__device_table_announce(const gantry__device_table_t *table);

/* ---- logical devices ---- */

/* Opens driver context, allocator and streams on first need. */
gantry_status_t gantry__logical_device_open_slowly(gantry_logical_device_t *device);
static inline gantry_status_t gantry__logical_device_open(gantry_logical_device_t *device) {
    if (atomic_load_explicit(&device->is_open, memory_order_acquire)) return GANTRY_OK;
    return gantry__logical_device_open_slowly(device);
}
void gantry__logical_device_close(gantry_logical_device_t *device);
gantry_status_t gantry__logical_device_synchronize(gantry_logical_device_t *device);
/* Hands what was submitted to the device. */
void gantry__logical_device_flush(gantry_logical_device_t *device);

/* ---- references ---- */

gantry_status_t gantry__device_reference_from_user(const gantry__device_table_t *table, const char *text,
                                                   gantry__device_reference_t *out_reference);
/* Does the reference allow this logical device? Empty references allow every listed one. */
bool gantry__device_reference_matches(const gantry__device_reference_t *reference, const gantry_logical_device_t *device);
/* The only listed or aliased device that the reference names. NotFound "<text> unknown device."; InvalidArgument when several match. */
gantry_status_t gantry__device_reference_find(gantry__device_table_t *table, const gantry__device_reference_t *reference, const char *text,
                                              gantry_logical_device_t **out_device);
/* "CPU:0 /device..., ...": full names of the listed devices, cut to fit. */
void gantry__device_table_format_names(const gantry__device_table_t *table, char *out, size_t out_bytes);

#endif
