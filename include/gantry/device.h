/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Devices: those in the machine (physical), and those that a program uses (logical).
 * gantry/memory.h says how they share memory.
 *
 * Physical devices exist from gantry_runtime_create on, logical ones from initialisation on.
 * The runtime owns both; compare them by address. A setter checks its arguments at once. After
 * initialisation it accepts an equal value and refuses a different one with FailedPrecondition.
 * Thread-safe. */
#ifndef GANTRY_DEVICE_H
#define GANTRY_DEVICE_H

#include <gantry/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A device that a backend found. The runtime owns it. */
typedef struct gantry_physical_device_t gantry_physical_device_t;
/** A device that ops run on: a physical one, or a part of it. The runtime owns it. */
typedef struct gantry_logical_device_t gantry_logical_device_t;

/** A device text that cancels the wishes of all outer scopes. NULL inherits them. */
#define GANTRY_DEVICE_NONE "none"

/* ---- physical ---- */

/** Lists the physical devices of a type: "CPU", "GPU" and so on, in any case, or NULL for all.
 * Writes up to capacity pointers, and the full count. A type that no device has gives count 0.
 * A text that is no type, such as a device's name, is InvalidArgument. */
GANTRY_API gantry_status_t
gantry_list_physical_devices(gantry_runtime_t *runtime, const char *type, size_t capacity,
                             const gantry_physical_device_t **out_devices, size_t *out_count);

/** Finds the one card, or view of a card, that a text names, in any spelling: "GPU:0",
 * "/device:GPU:0", "/physical_device:GPU:0", "opencl:1", "GPU:0@opencl", the beginning of a
 * UUID, a PCI address. "GPU:N" is the card of that logical device; before initialisation,
 * it is the visible card of that number. The call does not initialise the runtime. NotFound:
 * "NAME unknown device." */
GANTRY_API gantry_status_t gantry_find_physical_device(gantry_runtime_t *runtime, const char *name,
                                                       const gantry_physical_device_t **out_device);

/** A physical device, described. The runtime owns the texts. */
typedef struct gantry_device_details_t {
    uint32_t struct_size;       /**< Its sizeof. */
    const char *name;           /**< "/physical_device:GPU:0". */
    const char *type;           /**< "GPU". */
    const char *alias;          /**< The backend's own name for it: "opencl:0". */
    const char *backend;        /**< "opencl". */
    const char *hardware_name;  /**< "NVIDIA H200". */
    const char *vendor;         /**< The vendor, as the driver names it. */
    const char *driver_version; /**< The driver's version. */
    const char *platform;       /**< The driver's platform and its version. */
    const char *pci_address;    /**< "0000:65:00.0"; "" when unknown. */
    /** The card's UUID, or a stable one made from platform, name and position. */
    const char *uuid;
    const char *compute_capability; /**< "9.0"; "" where there is no such notion. */
    /** Why it is not a GPU, which other view serves the card, or why the first view does not;
     * "". */
    const char *note;
    uint64_t total_bytes;              /**< All memory of the device. */
    uint64_t largest_allocation_bytes; /**< The largest region that the driver allocates. */
    uint64_t alignment_bytes;          /**< A buffer's offset is a multiple of this. */
    uint64_t local_memory_bytes;       /**< Memory of one work-group. */
    uint32_t compute_units;            /**< Compute units, multiprocessors or cores. */
    uint32_t max_work_group_size;      /**< The most work-items of a work-group. */
    uint32_t native_vector_width;      /**< Lanes of float32; 1 when it is no vector machine. */
    bool float64;                      /**< It computes in double precision. */
    bool visible;                      /**< It is among the visible devices. */
    /** It has a number as /GPU:N or /CPU:N; others are named by alias only. */
    bool listed;
    /** The alias of the card's other view when several backends see it: "opencl:0"; "". */
    const char *other_view;
    /** What hides a listed device: "CUDA_VISIBLE_DEVICES", an option, a call; "". */
    const char *hidden_by;
} gantry_device_details_t;

/** Describes a physical device, which gantry_list_physical_devices or gantry_list_device_views
 * returned. out_details->struct_size must be set.
 *
 * When several backends see a card, the one of the highest rank serves it. If that view proves
 * unusable when the card is first needed, another view takes over: alias, backend, driver and
 * limits are then those of the other view, and note says why. */
GANTRY_API gantry_status_t gantry_get_device_details(gantry_runtime_t *runtime,
                                                     const gantry_physical_device_t *device,
                                                     gantry_device_details_t *out_details);

/** Why a scan of a long sequence takes three launches on the device, as a constant text; "" where
 * its driver allows one, and on processors. NULL for NULL. */
GANTRY_API const char *gantry_device_three_launches(const gantry_physical_device_t *device);

/** Lists every view of every backend, including those that no /GPU:N names: an OpenCL CPU
 * device, the second view of a card. Writes up to capacity pointers, and the full count. */
GANTRY_API gantry_status_t gantry_list_device_views(gantry_runtime_t *runtime, size_t capacity,
                                                    const gantry_physical_device_t **out_devices,
                                                    size_t *out_count);

/* ---- visibility: frozen by initialisation ---- */

/** Chooses the devices that become logical devices, in this order. type NULL replaces the whole
 * list; otherwise only the list of that type is replaced. */
GANTRY_API gantry_status_t gantry_set_visible_devices(
    gantry_runtime_t *runtime, const gantry_physical_device_t *const *devices, size_t count,
    const char *type);
/** Lists the visible devices of a type, NULL for all. Writes up to capacity pointers, and the
 * full count. */
GANTRY_API gantry_status_t gantry_get_visible_devices(gantry_runtime_t *runtime, const char *type,
                                                      size_t capacity,
                                                      const gantry_physical_device_t **out_devices,
                                                      size_t *out_count);

/* ---- splitting: frozen by initialisation ---- */

/** One logical device of a split card. A zero-filled struct has no limit of its own and imitates
 * nothing. In a list, the struct_size of the first entry holds for all. */
typedef struct gantry_logical_device_config_t {
    uint32_t struct_size; /**< Its sizeof; 0 means the struct of version 0.1. */
    /** Limit of this part. Required for a GPU in several parts. 0 on a CPU means an equal share
     * of what the other entries leave; 0 in a single entry means the device's default. */
    uint64_t memory_limit_bytes;
    bool has_priority; /**< priority is set. True for all entries or for none. */
    /** Priority of its streams, in the range that the device offers; lower is more urgent. */
    int32_t priority;
    /** ordinal is set. True for all entries or for none, and equal for all split devices of a
     * type. */
    bool has_ordinal;
    /** Logical devices of a type are numbered by (ordinal, card). */
    int32_t ordinal;
    /** Imitates a smaller device, so that a kernel that would fail there fails here; 0: the
     * device's own. */
    uint64_t largest_allocation_bytes;
    uint64_t local_memory_bytes;  /**< As above, for the memory of a work-group. */
    uint32_t max_work_group_size; /**< As above, for work-items. */
} gantry_logical_device_config_t;

/** Sets how threads wait for a device. GANTRY_WAIT_DEFAULT takes the setting back. The last call
 * before initialisation counts. A backend without a choice ignores it: the CPU's work is done when
 * its call returns. InvalidArgument for a number that is no policy. */
GANTRY_API gantry_status_t gantry_set_wait_policy(gantry_runtime_t *runtime,
                                                  const gantry_physical_device_t *device,
                                                  gantry_wait_policy_t policy);

/** Splits a listed device of any backend into count logical devices, 1 to 64. The sum of the
 * limits must fit the device, and the limit that a call set for it. InvalidArgument also if a
 * call set a fraction for the device. The last call before initialisation counts; a single
 * zero-filled entry cancels the split. */
GANTRY_API gantry_status_t gantry_set_logical_device_configuration(
    gantry_runtime_t *runtime, const gantry_physical_device_t *device,
    const gantry_logical_device_config_t *configs, size_t count);
/** Reads how a device is split: up to capacity entries, and the full count, 0 when it is not
 * split. out_configs[0].struct_size must be set. */
GANTRY_API gantry_status_t gantry_get_logical_device_configuration(
    gantry_runtime_t *runtime, const gantry_physical_device_t *device, size_t capacity,
    gantry_logical_device_config_t *out_configs, size_t *out_count);
/** Splits /physical_device:CPU:0 into count equal logical CPUs. A second call with another count
 * is FailedPrecondition: "Virtual CPUs already set, cannot modify again." */
GANTRY_API gantry_status_t gantry_set_logical_cpu_devices(gantry_runtime_t *runtime, size_t count);

/* ---- logical ---- */

/** Lists the logical devices of a type, NULL for all; CPUs come first, then the order of the
 * visible devices. Initialises the runtime. Writes up to capacity pointers, and the full count. */
GANTRY_API gantry_status_t gantry_list_logical_devices(gantry_runtime_t *runtime, const char *type,
                                                       size_t capacity,
                                                       const gantry_logical_device_t **out_devices,
                                                       size_t *out_count);
/** The device's name, "/device:GPU:0". */
GANTRY_API const char *gantry_logical_device_name(const gantry_logical_device_t *device);
/** The device's full name, "/job:localhost/replica:0/task:0/device:GPU:0". */
GANTRY_API const char *gantry_logical_device_full_name(const gantry_logical_device_t *device);
/** The device's type, "GPU". */
GANTRY_API const char *gantry_logical_device_type(const gantry_logical_device_t *device);
/** The physical device of a logical one. */
GANTRY_API const gantry_physical_device_t *gantry_logical_device_physical(
    const gantry_logical_device_t *device);

/** Finds the one logical device that a text names: "GPU:0", "opencl:1", the beginning of a UUID.
 * Initialises the runtime. NotFound: "NAME unknown device." */
GANTRY_API gantry_status_t gantry_find_logical_device(gantry_runtime_t *runtime, const char *name,
                                                      const gantry_logical_device_t **out_device);

#ifdef __cplusplus
}
#endif
#endif
