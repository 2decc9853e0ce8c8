/* SPDX-License-Identifier: Apache-2.0 */
/* What was placed where: a ring of the newest placements, and public records made from it on
 * request.
 *
 * It keeps pointers to kept plans, which must outlive it. Owner: the runtime. Threads: thread-safe;
 * noting takes no lock. */
#ifndef GANTRY_PLACE_PLACEMENT_LOG_H
#define GANTRY_PLACE_PLACEMENT_LOG_H

#include "place/plan_cache.h"

#define GANTRY__PLACEMENTS 1024

/* For the reason CROSSOVER the costs on the chosen device, and on the device that was refused for
 * it; else 0. */
typedef struct gantry__placed_costs_t {
    uint64_t own_ns, other_ns;
} gantry__placed_costs_t;

typedef struct gantry__placement_log_t {
    atomic_uint_fast64_t sequence;
    struct {
        atomic_uint_fast64_t sequence; /* 0 while being written */
        _Atomic(const gantry__kept_plan_t *) kept;
        _Atomic(const gantry__op_def_t *) part_of;
        atomic_uint_fast64_t bytes_copied, own_ns, other_ns;
    } ring[GANTRY__PLACEMENTS];
} gantry__placement_log_t;

void gantry__placement_log_init(gantry__placement_log_t *log);
/* The number of the next op. */
static inline uint64_t gantry__placement_log_next(gantry__placement_log_t *log) {
    return atomic_fetch_add_explicit(&log->sequence, 1, memory_order_relaxed) + 1;
}
/* part_of: the composed op that ran it, or NULL. */
void gantry__placement_log_note(gantry__placement_log_t *log, uint64_t sequence,
                                const gantry__kept_plan_t *kept, const gantry__op_def_t *part_of,
                                uint64_t bytes_copied, gantry__placed_costs_t costs);
/* Writes the newest, the oldest of them first, struct_size bytes each; returns how many. */
size_t gantry__placement_log_read(gantry__placement_log_t *log, size_t capacity,
                                  uint32_t struct_size, gantry_placement_record_t *out_records);
void gantry__placement_record_fill(gantry_placement_record_t *record, uint64_t sequence,
                                   const gantry__plan_t *plan, const gantry__op_def_t *part_of,
                                   uint64_t bytes_copied, gantry__placed_costs_t costs);

#endif
