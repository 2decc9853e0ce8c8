/* SPDX-License-Identifier: Apache-2.0 */
#include "place/crossover.h"

#include <math.h>
#include <string.h>

#include "backend/tuning_key.h"
#include "base/amount.h"
#include "device/logical_device.h"
#include "device/loss.h"
#include "device/physical_device.h"

/* ---- a record ---- */

enum { LAUNCH_US, GBS, GFLOPS, TO_US, TO_GBS, FROM_US, FROM_GBS, FIELDS, REQUIRED = TO_US };

static const char *const names[FIELDS] = {"launch_us", "gbs",     "gflops",  "to_us",
                                          "to_gbs",    "from_us", "from_gbs"};

/* Reads one word; returns NULL, or what is wrong with the word. */
static const char *crossover_read_word(const char *word, size_t length, double *fields,
                                       uint32_t *seen) {
    const char *equals = memchr(word, '=', length);
    if (!equals) return "a word is not NAME=VALUE";
    const size_t name = (size_t)(equals - word);
    uint32_t i = 0;
    while (i < FIELDS && (strlen(names[i]) != name || memcmp(names[i], word, name) != 0)) ++i;
    if (i == FIELDS)
        return "launch_us=, gbs=, gflops=, to_us=, to_gbs=, from_us= and from_gbs= are accepted";
    if (*seen >> i & 1) return "a name stands twice";
    *seen |= UINT32_C(1) << i;
    if (!gantry__parse_decimal(equals + 1, length - name - 1, &fields[i]) || !(fields[i] > 0) ||
        fields[i] > 1e9)
        return "a value is not a number above 0, up to 1e9";
    return NULL;
}

static const char *read_fields(const char *values, double *fields, uint32_t *seen) {
    const uint32_t required = (1u << REQUIRED) - 1, all = (1u << FIELDS) - 1;
    *seen = 0;
    while (*values) {
        const size_t length = strcspn(values, " ");
        const char *reason = length > 0 ? crossover_read_word(values, length, fields, seen) : NULL;
        if (reason) return reason;
        values += length + strspn(values + length, " ");
    }
    if ((*seen & required) != required) return "launch_us=, gbs= and gflops= are required";
    return *seen == required || *seen == all
               ? NULL
               : "to_us=, to_gbs=, from_us= and from_gbs= stand together";
}

bool gantry__device_cost_parse(const char *values, gantry__device_cost_t *out_cost,
                               const char **out_reason) {
    double fields[FIELDS];
    uint32_t seen;
    *out_cost = (gantry__device_cost_t){0};
    *out_reason = read_fields(values, fields, &seen);
    if (*out_reason) return false;
    /* 1 GB/s is a byte in a ns */
    *out_cost = (gantry__device_cost_t){.is_known = true,
                                        .launch = 1e3 * fields[LAUNCH_US],
                                        .per_byte = 1 / fields[GBS],
                                        .per_operation = 1 / fields[GFLOPS]};
    if (!(seen >> TO_US & 1)) return true;
    out_cost->to = 1e3 * fields[TO_US];
    out_cost->to_per_byte = 1 / fields[TO_GBS];
    out_cost->from = 1e3 * fields[FROM_US];
    out_cost->from_per_byte = 1 / fields[FROM_GBS];
    return true;
}

/* ---- all records ---- */

static void read_cost(const gantry__device_table_t *devices,
                      const struct gantry_physical_device_t *view,
                      gantry__device_cost_t *out_cost) {
    gantry__tuning_store_t *store = &devices->backends->tuning;
    char key[GANTRY__TUNING_DEVICE_BYTES];
    const char *reason;
    gantry__tuning_key(&view->info, key);
    const gantry__tuning_record_t *record =
        gantry__tuning_store_find(store, key, GANTRY__CROSSOVER_RECORD);
    if (!record || gantry__device_cost_parse(record->values, out_cost, &reason)) return;
    gantry__log(devices->log, GANTRY_LEVEL_WARNING, "Tuning file %s, line %u: %s is not used: %s",
                store->path, record->line, record->what, reason);
}

void gantry__device_costs_read(const gantry__device_table_t *devices,
                               gantry__device_cost_t *out_costs) {
    for (size_t i = 0; i < devices->physical_count; ++i)
        read_cost(devices, devices->physical[i], &out_costs[i]);
    for (size_t i = 0; i < devices->listed_count; ++i) {
        const struct gantry_physical_device_t *view = gantry__logical_view(devices->logical[i]);
        const bool is_told = i > 0 && gantry__logical_view(devices->logical[i - 1]) == view;
        if (out_costs[view->position].is_known || is_told) continue;
        gantry__log(
            devices->log, GANTRY_LEVEL_WARNING,
            "Crossover has no measurement of %s and places ops without it; `gantry tune --device %s --what crossover` makes one",
            view->alias, view->alias);
    }
}

/* ---- costs ---- */

double gantry__cost_of_work(const gantry__device_cost_t *cost, const gantry__op_work_t *work) {
    return cost->launch + cost->per_byte * (double)work->bytes +
           cost->per_operation * work->operations;
}

double gantry__cost_of_copy(const gantry__device_cost_t *from, const gantry__device_cost_t *to,
                            uint64_t bytes) {
    double cost = 0;
    if (from) cost += from->from + from->from_per_byte * (double)bytes;
    if (to) cost += to->to + to->to_per_byte * (double)bytes;
    return cost;
}

/* Elements of the last two dimensions, or of all. */
static double matrix_elements(const gantry_shape_t *shape, bool is_batch) {
    if (shape->rank < 2) return 0;
    if (!is_batch) return (double)gantry_shape_elements(shape);
    return (double)shape->dims[shape->rank - 1] * (double)shape->dims[shape->rank - 2];
}

/* (m k) (k n) = k^2 (m n), whichever matrix is transposed. */
double gantry__operations_of(const gantry__op_def_t *op, const gantry_shape_t *a,
                             const gantry_shape_t *b, const gantry_shape_t *out) {
    if (op->id == GANTRY__OP_ID__GroupedMatMul || op->id == GANTRY__OP_ID__FusedGroupedMatMul)
        return 2 * (double)gantry_shape_elements(out) * (double)a->dims[a->rank - 1];
    if (op->id != GANTRY__OP_ID_MatMul && op->id != GANTRY__OP_ID_BatchMatMul &&
        op->id != GANTRY__OP_ID__FusedMatMul)
        return 0;
    const bool is_batch = op->id == GANTRY__OP_ID_BatchMatMul; /* places have any order of axes */
    const double product = matrix_elements(out, is_batch);
    if (!(product > 0)) return 0;
    return 2 * (double)gantry_shape_elements(out) *
           sqrt(matrix_elements(a, is_batch) * matrix_elements(b, is_batch) / product);
}

bool gantry__crossover_takes(const gantry_logical_device_t *device, bool require) {
    return device->index >= 0 && atomic_load_explicit(&device->is_open, memory_order_acquire) &&
           !gantry__device_is_lost(device) &&
           (!require || strcmp(device->physical->type, "GPU") == 0);
}
