/* Settings that shape devices. Each setter checks at once; after freeze an equal value is fine, another one FailedPrecondition. */
#include "device/device_table.h"

#include <inttypes.h>
#include <string.h>

typedef struct gantry_physical_device_t physical_t;

gantry_status_t gantry__device_check(const gantry__device_table_t *table, const gantry_physical_device_t *device) {
    for (size_t i = 0; i < table->physical_count; ++i) {
        if (table->physical[i] == device) return GANTRY_OK;
    }
    return gantry__fail(GANTRY_INVALID_ARGUMENT,
                        "Unrecognized device: %p is not a physical device of this runtime (%zu are listed)",
                        (const void *)device, table->physical_count);
}

static bool is_frozen(const gantry__device_table_t *table) {
    return atomic_load_explicit(&table->frozen, memory_order_acquire);
}

static gantry_status_t refuse_frozen(const gantry__device_table_t *table, const char *what) {
    return gantry__fail(GANTRY_FAILED_PRECONDITION, "%s cannot be modified after being initialized (initialized by %s)",
                        what, table->frozen_by);
}

/* ---- visible devices ---- */

static gantry_status_t check_visible(const gantry__device_table_t *table,
                                     const gantry_physical_device_t *const *devices, size_t count, const char *type) {
    for (size_t i = 0; i < count; ++i) {
        GANTRY__TRY(gantry__device_check(table, devices[i]));
        if (!devices[i]->listed) {
            return gantry__fail(GANTRY_INVALID_ARGUMENT, "%s cannot be made visible: %s", devices[i]->alias,
                                devices[i]->note);
        }
        if (type && strcmp(devices[i]->type, type) != 0) {
            return gantry__fail(GANTRY_INVALID_ARGUMENT, "Unrecognized device: %s is no %s device", devices[i]->name,
                                type);
        }
        for (size_t j = 0; j < i; ++j) {
            if (devices[j] == devices[i])
                return gantry__fail(GANTRY_INVALID_ARGUMENT, "%s is given twice", devices[i]->name);
        }
    }
    return GANTRY_OK;
}

/* Appends devices that are (not) of a type, keeping their order. */
static size_t append_by_type(const physical_t **out, size_t used, const physical_t *const *devices, size_t count,
                             const char *type, bool is) {
    for (size_t i = 0; i < count; ++i) {
        if ((strcmp(devices[i]->type, type) == 0) == is) out[used++] = devices[i];
    }
    return used;
}

gantry_status_t gantry__device_set_visible(gantry__device_table_t *table,
                                           const gantry_physical_device_t *const *devices, size_t count,
                                           const char *type) {
    GANTRY__TRY(check_visible(table, devices, count, type));
    size_t bytes = 2 * (table->physical_count + 1) * sizeof(physical_t *);
    const physical_t **wanted = gantry__heap_zalloc(table->heap, bytes);
    if (!wanted) return GANTRY_RESOURCE_EXHAUSTED;
    const physical_t **sorted = wanted + table->physical_count + 1;
    gantry__mutex_lock(&table->lock);
    size_t all = type ? append_by_type(wanted, 0, table->visible, table->visible_count, type, false) : 0;
    for (size_t i = 0; i < count; ++i) wanted[all++] = devices[i];
    size_t used = append_by_type(sorted, 0, wanted, all, "CPU", true);
    gantry_status_t status = GANTRY_OK;
    if (used == 0) {
        status = gantry__fail(
            GANTRY_INVALID_ARGUMENT,
            "the visible list has no CPU device; ops without a GPU kernel need one: include /physical_device:CPU:0");
    } else {
        used = append_by_type(sorted, used, wanted, all, "CPU", false);
        bool equal = used == table->visible_count && memcmp(sorted, table->visible, used * sizeof *sorted) == 0;
        if (!equal && is_frozen(table)) {
            status = refuse_frozen(table, "Visible devices");
        } else {
            memcpy(table->visible, sorted, used * sizeof *sorted);
            table->visible_count = used;
        }
    }
    gantry__mutex_unlock(&table->lock);
    gantry__heap_free(table->heap, wanted, bytes);
    return status;
}

/* ---- memory ---- */

static bool growth_of(const gantry__device_table_t *table, const physical_t *device) {
    gantry_choice_t choice = device->growth != GANTRY_DEFAULT ? device->growth : table->default_growth;
    return choice != GANTRY_OFF;
}

bool gantry__device_growth(const gantry__device_table_t *table, const gantry_physical_device_t *device) {
    return growth_of(table, device);
}

/* Setters get const handles from the user; the table owns the objects. */
static physical_t *mutable_device(const gantry__device_table_t *table, const gantry_physical_device_t *device) {
    return table->physical[device->position];
}

gantry_status_t gantry__device_set_growth(gantry__device_table_t *table, const gantry_physical_device_t *device,
                                          bool enabled) {
    GANTRY__TRY(gantry__device_check(table, device));
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&table->lock);
    if (is_frozen(table) && growth_of(table, device) != enabled) {
        status = refuse_frozen(table, "Physical devices");
    } else {
        mutable_device(table, device)->growth = enabled ? GANTRY_ON : GANTRY_OFF;
    }
    gantry__mutex_unlock(&table->lock);
    return status;
}

static gantry_status_t set_limit(gantry__device_table_t *table, const gantry_physical_device_t *device,
                                 uint64_t limit_bytes, const char *what) {
    GANTRY__TRY(gantry__device_check(table, device));
    if (limit_bytes > device->info.total_bytes && device->info.total_bytes > 0) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "memory limit %" PRIu64 " of %s is more than the device has: at most %" PRIu64
                            " bytes are accepted, 0 means its default",
                            limit_bytes, device->name, device->info.total_bytes);
    }
    gantry_status_t status = GANTRY_OK;
    gantry__mutex_lock(&table->lock);
    if (is_frozen(table) && device->memory_limit_bytes != limit_bytes) {
        status = refuse_frozen(table, what);
    } else {
        mutable_device(table, device)->memory_limit_bytes = limit_bytes;
    }
    gantry__mutex_unlock(&table->lock);
    return status;
}

uint64_t gantry__device_limit(const gantry__device_table_t *table, const gantry_physical_device_t *device) {
    return device->memory_limit_bytes ? device->memory_limit_bytes : table->default_limit_bytes;
}

gantry_status_t gantry__device_set_limit(gantry__device_table_t *table, const gantry_physical_device_t *device,
                                         uint64_t limit_bytes) {
    return set_limit(table, device, limit_bytes, "Physical devices");
}

gantry_status_t gantry__device_set_logical(gantry__device_table_t *table, const gantry_physical_device_t *device,
                                           const gantry_logical_device_config_t *configs, size_t count) {
    GANTRY__TRY(gantry__device_check(table, device));
    if (count == 0 || !configs) {
        return gantry__fail(GANTRY_INVALID_ARGUMENT,
                            "the logical device configuration of %s is empty; one entry or more is accepted",
                            device->name);
    }
    if (count > 1) {
        if (is_frozen(table)) return refuse_frozen(table, "Virtual devices");
        return gantry__fail(GANTRY_UNIMPLEMENTED,
                            "splitting %s into %zu logical devices is not implemented yet; one entry is accepted",
                            device->name, count);
    }
    return set_limit(table, device, configs[0].memory_limit_bytes, "Virtual devices");
}
