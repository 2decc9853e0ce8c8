/* SPDX-License-Identifier: Apache-2.0 */
#include "place/placement_log.h"

#include <string.h>

#include "base/text.h"
#include "device/logical_device.h"
#include "shared/struct_size.h"

void gantry__placement_log_init(gantry__placement_log_t *log) {
    atomic_init(&log->sequence, 0);
    for (size_t i = 0; i < GANTRY__PLACEMENTS; ++i) {
        atomic_init(&log->ring[i].sequence, 0);
        atomic_init(&log->ring[i].kept, NULL);
        atomic_init(&log->ring[i].part_of, NULL);
        atomic_init(&log->ring[i].bytes_copied, 0);
        atomic_init(&log->ring[i].own_ns, 0);
        atomic_init(&log->ring[i].other_ns, 0);
    }
}

void gantry__placement_log_note(gantry__placement_log_t *log, uint64_t sequence,
                                const gantry__kept_plan_t *kept, const gantry__op_def_t *part_of,
                                uint64_t bytes_copied, gantry__placed_costs_t costs) {
    size_t place = (size_t)(sequence % GANTRY__PLACEMENTS);
    atomic_store_explicit(&log->ring[place].sequence, 0, memory_order_release);
    atomic_store_explicit(&log->ring[place].kept, kept, memory_order_relaxed);
    atomic_store_explicit(&log->ring[place].part_of, part_of, memory_order_relaxed);
    atomic_store_explicit(&log->ring[place].bytes_copied, bytes_copied, memory_order_relaxed);
    atomic_store_explicit(&log->ring[place].own_ns, costs.own_ns, memory_order_relaxed);
    atomic_store_explicit(&log->ring[place].other_ns, costs.other_ns, memory_order_relaxed);
    atomic_store_explicit(&log->ring[place].sequence, sequence, memory_order_release);
}

void gantry__placement_record_fill(gantry_placement_record_t *record, uint64_t sequence,
                                   const gantry__plan_t *plan, const gantry__op_def_t *part_of,
                                   uint64_t bytes_copied, gantry__placed_costs_t costs) {
    *record = (gantry_placement_record_t){.struct_size = sizeof *record,
                                          .reason = plan->reason,
                                          .sequence = sequence,
                                          .dtype = plan->dtype,
                                          .bytes_copied = bytes_copied,
                                          .cost_ns = costs.own_ns,
                                          .other_cost_ns = costs.other_ns,
                                          .batch_invariant = plan->batch_invariant,
                                          .any_order = plan->any_order,
                                          .refusal_count = plan->refusal_count};
    gantry__text_copy(record->op, sizeof record->op, plan->op->name);
    gantry__text_copy(record->part_of, sizeof record->part_of, part_of ? part_of->name : "");
    const char *asked = plan->wish && !plan->wish->is_empty ? plan->wish->text : "";
    gantry__text_copy(record->asked, sizeof record->asked, asked);
    gantry__text_copy(record->device, sizeof record->device,
                      plan->device ? plan->device->full_name : "");
    gantry__text_copy(record->kernel, sizeof record->kernel,
                      plan->device && plan->kernel_count ? plan->kernels[0]->source
                      : plan->device                     ? "core"
                                                         : "");
    gantry__text_copy(record->left_library, sizeof record->left_library,
                      plan->left_library ? plan->left_library : "");
    for (uint32_t i = 0; i < plan->refusal_count && i < GANTRY_MAX_REFUSALS; ++i) {
        const gantry_logical_device_t *device = plan->refusals[i].device;
        gantry__text_copy(record->refusals[i].device, sizeof record->refusals[i].device,
                          device ? device->full_name : asked);
        record->refusals[i].why = plan->refusals[i].why;
    }
}

size_t gantry__placement_log_read(gantry__placement_log_t *log, size_t capacity,
                                  uint32_t struct_size, gantry_placement_record_t *out_records) {
    uint64_t newest = atomic_load(&log->sequence);
    uint64_t count = newest < GANTRY__PLACEMENTS ? newest : GANTRY__PLACEMENTS;
    if (count > capacity) count = capacity;
    size_t written = 0;
    for (uint64_t sequence = newest - count + 1; sequence <= newest; ++sequence) {
        size_t place = (size_t)(sequence % GANTRY__PLACEMENTS);
        const gantry__kept_plan_t *kept = atomic_load(&log->ring[place].kept);
        const gantry__op_def_t *part_of = atomic_load(&log->ring[place].part_of);
        uint64_t bytes = atomic_load(&log->ring[place].bytes_copied);
        const gantry__placed_costs_t costs = {atomic_load(&log->ring[place].own_ns),
                                              atomic_load(&log->ring[place].other_ns)};
        if (atomic_load_explicit(&log->ring[place].sequence, memory_order_acquire) != sequence ||
            !kept)
            continue; /* overtaken */
        gantry_placement_record_t record;
        gantry__placement_record_fill(&record, sequence, &kept->plan, part_of, bytes, costs);
        gantry__struct_fill_at(out_records, written++, struct_size, &record);
    }
    return written;
}

const char *gantry_placement_reason_text(gantry_placement_reason_t reason) {
    static const char *const texts[] = {"none",
                                        "the requested device",
                                        "a GPU has a kernel",
                                        "no GPU has a kernel for this",
                                        "no GPU is visible",
                                        "soft placement: another device of the requested type",
                                        "soft placement: another type of device",
                                        "where its variable lives",
                                        "first device with a kernel that matches the partial name",
                                        "refused",
                                        "its device had no memory for it",
                                        "where its input is",
                                        "where it is used",
                                        "where the result of its body is",
                                        "with the nodes that it is colocated with",
                                        "cheaper by measured cost"};
    return (size_t)reason < sizeof texts / sizeof texts[0] ? texts[reason] : "invalid reason";
}

const char *gantry_any_order_text(gantry_any_order_t outcome) {
    static const char *const texts[] = {"off",
                                        "sums are made in any order",
                                        "the op has one order",
                                        "only sums of float32 have another order",
                                        "the device has no atomic additions of floats",
                                        "the option batch_invariant is on"};
    return (size_t)outcome < sizeof texts / sizeof texts[0] ? texts[outcome] : "invalid outcome";
}

const char *gantry_refusal_text(gantry_refusal_t refusal) {
    static const char *const texts[] = {
        "none",
        "no kernel for the op",
        "no kernel for the type",
        "its kernel does not take these shapes or attributes",
        "the requested name does not match",
        "no such device",
        "not visible",
        "integer variables other than int64 live on the CPU",
        "the device was lost",
        "the device has no memory for it",
        "the device does not compute with a type of the op",
        "a node that it is colocated with cannot run there",
        "it costs more by measurement",
        "it or the chosen device has no measurement: gantry tune --what crossover",
        "its kernels do not promise rows that do not depend on the batch"};
    return (size_t)refusal < sizeof texts / sizeof texts[0] ? texts[refusal] : "invalid refusal";
}
