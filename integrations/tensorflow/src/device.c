/* SPDX-License-Identifier: Apache-2.0 */
/* The process's one state: the runtime, the list of devices, and the memory of their tensors
 * (device.h). */
#include "device.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "log.h"

typedef struct devices_t {
    pthread_mutex_t lock;
    bool is_open;
    gantry_status_t status;
    gantry_runtime_t *runtime;
    memory_t *memory;
    uint32_t count;
    device_t list[DEVICE_MOST];
    _Atomic(const gantry_logical_device_t *) logical[DEVICE_MOST + 1]; /* the last is the CPU */
    atomic_bool is_forked;
} devices_t;

static devices_t devices = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void mark_child(void) {
    atomic_store_explicit(&devices.is_forked, true, memory_order_relaxed);
}

static gantry_status_t describe_device(uint32_t number, const gantry_physical_device_t *physical) {
    device_t *device = &devices.list[number];
    gantry_device_details_t details = {.struct_size = sizeof details};
    const gantry_status_t status = gantry_get_device_details(devices.runtime, physical, &details);
    if (status) return status;
    *device = (device_t){.card = details.name,
                         .vendor = details.vendor,
                         .pci_address = details.pci_address[0] ? details.pci_address : "<none>",
                         .capability = details.compute_capability,
                         .total_bytes = details.total_bytes};
    snprintf(device->name, sizeof device->name, "/device:GPU:%u", number);
    snprintf(device->hardware, sizeof device->hardware, "%s (%s)", details.hardware_name,
             details.alias);
    return GANTRY_OK;
}

/* Whether a setting splits one of the cards. */
static gantry_status_t find_split(const gantry_physical_device_t *const *cards, size_t count,
                                  bool *out_is_split) {
    *out_is_split = false;
    for (size_t i = 0; i < count && !*out_is_split; ++i) {
        gantry_setting_t split = {.struct_size = sizeof split};
        const gantry_status_t status =
            gantry_get_setting(devices.runtime, "logical_devices", cards[i], &split);
        if (status) return status;
        *out_is_split = split.value[0];
    }
    return GANTRY_OK;
}

/* Lists the cards of the logical devices. The two differ only if a card is split; otherwise the
 * cards need not be opened to be counted. */
static gantry_status_t list_cards(const gantry_physical_device_t **out_list, size_t *out_count) {
    bool is_split = false;
    gantry_status_t status =
        gantry_get_visible_devices(devices.runtime, "GPU", DEVICE_MOST, out_list, out_count);
    if (*out_count > DEVICE_MOST) *out_count = DEVICE_MOST;
    if (!status) status = find_split(out_list, *out_count, &is_split);
    if (status || !is_split) return status;
    const gantry_logical_device_t *list[DEVICE_MOST];
    status = gantry_list_logical_devices(devices.runtime, "GPU", DEVICE_MOST, list, out_count);
    if (status) return status;
    for (size_t i = 0; i < *out_count && i < DEVICE_MOST; ++i) {
        out_list[i] = gantry_logical_device_physical(list[i]);
    }
    return GANTRY_OK;
}

static gantry_status_t device_list_devices(void) {
    const gantry_physical_device_t *list[DEVICE_MOST];
    size_t count = 0;
    gantry_status_t status = list_cards(list, &count);
    if (count > DEVICE_MOST) count = DEVICE_MOST;
    for (uint32_t i = 0; !status && i < count; ++i) status = describe_device(i, list[i]);
    if (status) return status;
    devices.count = (uint32_t)count;
    if (!count) {
        log_line(GANTRY_LEVEL_WARNING,
                 "Gantry finds no GPU, and TensorFlow continues with its CPU; "
                 "`gantry doctor` says why");
    }
    return GANTRY_OK;
}

static gantry_status_t open_once(void) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .log = log_receive};
    gantry_status_t status = gantry_runtime_create(&options, &devices.runtime);
    if (status) return status;
    status = memory_create(devices.runtime, &devices.memory);
    if (status) return status;
    pthread_atfork(NULL, NULL, mark_child);
    return device_list_devices();
}

gantry_status_t device_open(void) {
    pthread_mutex_lock(&devices.lock);
    if (!devices.is_open) {
        devices.status = open_once();
        devices.is_open = true;
        if (devices.status) {
            log_line(GANTRY_LEVEL_ERROR, "Gantry's devices are not available: %s",
                     gantry_last_message());
        }
    }
    const gantry_status_t status = devices.status;
    pthread_mutex_unlock(&devices.lock);
    return status;
}

uint32_t device_count(void) { return devices.count; }

const device_t *device_at(uint32_t ordinal) { return &devices.list[ordinal]; }

/* Finds a logical device once; two threads that look for it at the same time find the same one. */
static const gantry_logical_device_t *find_logical(uint32_t place, const char *name) {
    const gantry_logical_device_t *logical =
        atomic_load_explicit(&devices.logical[place], memory_order_acquire);
    if (logical) return logical;
    if (gantry_find_logical_device(devices.runtime, name, &logical)) return NULL;
    atomic_store_explicit(&devices.logical[place], logical, memory_order_release);
    return logical;
}

const gantry_logical_device_t *device_logical(uint32_t ordinal) {
    return find_logical(ordinal, devices.list[ordinal].name);
}

const gantry_logical_device_t *device_host(void) {
    return find_logical(DEVICE_MOST, "/device:CPU:0");
}

gantry_runtime_t *device_runtime(void) { return devices.runtime; }

memory_t *device_memory(void) { return devices.memory; }

const char *device_fork_text(void) {
    return "the process that forked this one uses Gantry's devices, and a child of fork cannot. "
           "Start children with multiprocessing's \"spawn\", or keep their work on /CPU:0";
}

bool device_is_forked(void) {
    return atomic_load_explicit(&devices.is_forked, memory_order_relaxed);
}
