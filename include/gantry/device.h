/* SPDX-License-Identifier: Apache-2.0 */
/* Devices: what is in the machine (physical) and what a program uses (logical). How their memory is
 * shared out: gantry/memory.h.
 *
 * Physical devices exist from gantry_runtime_create; logical ones from initialisation. Both are
 * owned by the runtime and compared by address. Setters check at once; after initialisation setting
 * an equal value is fine, a different one is FailedPrecondition. Thread-safe. */
#ifndef GANTRY_DEVICE_H
#define GANTRY_DEVICE_H

#include <gantry/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct gantry_physical_device_t gantry_physical_device_t;
typedef struct gantry_logical_device_t gantry_logical_device_t;

/* Written where a device text is expected: cuts off the device of all outer scopes (NULL
 * inherits it). */
#define GANTRY_DEVICE_NONE "none"

/* ---- physical ---- */

/* type: "CPU", "GPU", ..., in any case, or NULL for all. Writes up to capacity pointers and the
 * full count. A type that no device has gives count 0; a text that is no type, such as a
 * device's name, is InvalidArgument. */
GANTRY_API gantry_status_t
gantry_list_physical_devices(gantry_runtime_t *runtime, const char *type, size_t capacity,
                             const gantry_physical_device_t **out_devices, size_t *out_count);

/* The one card, or view of a card, that a user's text names, in any spelling: "GPU:0",
 * "/device:GPU:0", "/physical_device:GPU:0", "opencl:1", "GPU:0@opencl", a UUID's beginning, a PCI
 * address. GPU:N is the card behind that logical device; before initialisation, which this does
 * not bring about, the visible card of that number. NotFound "<name> unknown device." */
GANTRY_API gantry_status_t gantry_find_physical_device(gantry_runtime_t *runtime, const char *name,
                                                       const gantry_physical_device_t **out_device);

typedef struct gantry_device_details_t {
    uint32_t struct_size;
    const char *name;          /* "/physical_device:GPU:0" */
    const char *type;          /* "GPU" */
    const char *alias;         /* the backend's own view: "opencl:0" */
    const char *backend;       /* "opencl" */
    const char *hardware_name; /* "NVIDIA H200" */
    const char *vendor;
    const char *driver_version;
    const char *platform;    /* the driver's platform and version */
    const char *pci_address; /* "" when unknown */
    /* the card's, or a stable one made from platform, name and position */
    const char *uuid;
    const char *compute_capability; /* "" when the notion does not exist */
    /* why it is not a GPU, which other view serves the card, or why the first one does not; "" */
    const char *note;
    uint64_t total_bytes;
    uint64_t largest_allocation_bytes;
    uint64_t alignment_bytes;
    uint64_t local_memory_bytes;
    uint32_t compute_units;
    uint32_t max_work_group_size;
    uint32_t native_vector_width;
    bool float64;
    bool visible;
    bool listed; /* counted in the /GPU:N or /CPU:N namespace; others are reached by alias only */
    /* alias of the card's other view, when several backends see it: "opencl:0"; "" */
    const char *other_view;
    /* what left a listed device out of the visible ones: "CUDA_VISIBLE_DEVICES", an option, a
     * call; "" */
    const char *hidden_by;
} gantry_device_details_t;

/* A card that several backends see is served by the one of highest rank. When that one cannot be
 * used, which shows when the card is first needed, another one takes over: alias, backend, driver
 * and limits are then its own, and note says why. out_details->struct_size must be set. device
 * must come from gantry_list_physical_devices or gantry_list_device_views. */
GANTRY_API gantry_status_t gantry_get_device_details(gantry_runtime_t *runtime,
                                                     const gantry_physical_device_t *device,
                                                     gantry_device_details_t *out_details);

/* Every view of every backend, also those that no /GPU:N names (an OpenCL CPU device, the second
 * view of a card). */
GANTRY_API gantry_status_t gantry_list_device_views(gantry_runtime_t *runtime, size_t capacity,
                                                    const gantry_physical_device_t **out_devices,
                                                    size_t *out_count);

/* ---- visibility: frozen by initialisation ---- */

/* type NULL replaces the whole list, else only that type's. The order given is the order of the
 * logical devices. */
GANTRY_API gantry_status_t gantry_set_visible_devices(
    gantry_runtime_t *runtime, const gantry_physical_device_t *const *devices, size_t count,
    const char *type);
GANTRY_API gantry_status_t gantry_get_visible_devices(gantry_runtime_t *runtime, const char *type,
                                                      size_t capacity,
                                                      const gantry_physical_device_t **out_devices,
                                                      size_t *out_count);

/* ---- splitting: frozen by initialisation ---- */

/* One logical device of a split card. Zero-filled: no limit of its own, nothing imitated. In a list
 * the first one's struct_size is that of all. */
typedef struct gantry_logical_device_config_t {
    /* its sizeof; in a list to be read 0 stands for the struct of version 0.1 */
    uint32_t struct_size;
    /* a GPU in several parts needs it; 0 on a CPU: an equal share of what the others leave; 0
     * alone: the device's default */
    uint64_t memory_limit_bytes;
    bool has_priority; /* all entries or none */
    /* of its streams, lower is more urgent; within the range the device offers */
    int32_t priority;
    /* all entries or none, and the same for all split devices of a type */
    bool has_ordinal;
    int32_t ordinal; /* logical devices of a type are numbered by (ordinal, card) */
    /* Imitation of a smaller device, so that a kernel that would fail there fails here; 0: the
     * device's own. */
    uint64_t largest_allocation_bytes;
    uint64_t local_memory_bytes;
    uint32_t max_work_group_size;
} gantry_logical_device_config_t;

/* One logical device per entry, 1 to 64, on any listed device of any backend. The sum of the limits
 * must fit the device, and the limit that a call gave it; InvalidArgument as well beside a fraction
 * by call. The last call before initialisation holds; one zero-filled entry takes a split back. */
GANTRY_API gantry_status_t gantry_set_logical_device_configuration(
    gantry_runtime_t *runtime, const gantry_physical_device_t *device,
    const gantry_logical_device_config_t *configs, size_t count);
/* Count 0 when the device is not configured. out_configs[0].struct_size must be set. */
GANTRY_API gantry_status_t gantry_get_logical_device_configuration(
    gantry_runtime_t *runtime, const gantry_physical_device_t *device, size_t capacity,
    gantry_logical_device_config_t *out_configs, size_t *out_count);
/* Splits /physical_device:CPU:0 into count equal logical CPUs. Once: another count is
 * FailedPrecondition "Virtual CPUs already set, cannot modify again." */
GANTRY_API gantry_status_t gantry_set_logical_cpu_devices(gantry_runtime_t *runtime, size_t count);

/* ---- logical ---- */

/* Initialises the runtime. Order: visible list's order within a type, CPUs first. */
GANTRY_API gantry_status_t gantry_list_logical_devices(gantry_runtime_t *runtime, const char *type,
                                                       size_t capacity,
                                                       const gantry_logical_device_t **out_devices,
                                                       size_t *out_count);
/* "/device:GPU:0" */
GANTRY_API const char *gantry_logical_device_name(const gantry_logical_device_t *device);
/* "/job:localhost/replica:0/task:0/device:GPU:0" */
GANTRY_API const char *gantry_logical_device_full_name(const gantry_logical_device_t *device);
GANTRY_API const char *gantry_logical_device_type(const gantry_logical_device_t *device);
GANTRY_API const gantry_physical_device_t *gantry_logical_device_physical(
    const gantry_logical_device_t *device);

/* The one logical device that a user's text names, e.g. "GPU:0", "opencl:1", a UUID's beginning.
 * Initialises the runtime. NotFound "<name> unknown device." */
GANTRY_API gantry_status_t gantry_find_logical_device(gantry_runtime_t *runtime, const char *name,
                                                      const gantry_logical_device_t **out_device);

#ifdef __cplusplus
}
#endif
#endif
