/* SPDX-License-Identifier: Apache-2.0 */
/* Crossover: where work is cheapest, by costs that `gantry tune --what crossover` measured.
 *
 *     run     launch + bytes read and written / bandwidth + operations of a product / their rate
 *     copy    from the source to host memory, and from there to the target
 *
 * It chooses nothing itself: function/place/place_crossover.c and run/dispatch.c compare the costs.
 * Owner: plain values of the caller. Threads: thread-safe. */
#ifndef GANTRY_PLACE_CROSSOVER_H
#define GANTRY_PLACE_CROSSOVER_H

#include "device/device_table.h"
#include "op/op_def.h"

#define GANTRY__CROSSOVER_RECORD "crossover"

/* Costs in ns. A device whose memory is the host's has no cost of transfers. */
typedef struct gantry__device_cost_t {
    bool is_known;
    double launch, per_byte, per_operation;
    double to, to_per_byte, from, from_per_byte;
} gantry__device_cost_t;

typedef struct gantry__op_work_t {
    uint64_t bytes;    /* read and written */
    double operations; /* multiplications and additions of a matrix product; else 0 */
} gantry__op_work_t;

/* Reads a record's values: "launch_us=4.1 gbs=1800 gflops=35000 to_us=9.8 to_gbs=24 from_us=11
 * from_gbs=22"; the last four are left out by a device whose memory is the host's. False:
 * *out_reason says why not. */
bool gantry__device_cost_parse(const char *values, gantry__device_cost_t *out_cost,
                               const char **out_reason);
/* Reads the records of all views. out_costs must have room for devices->physical_count costs, all
 * zero at first. Logs a warning for each bad record, and for each listed device without one. */
void gantry__device_costs_read(const gantry__device_table_t *devices,
                               gantry__device_cost_t *out_costs);

double gantry__cost_of_work(const gantry__device_cost_t *cost, const gantry__op_work_t *work);
/* The cost in ns of a copy between two devices; NULL: not measured, which costs nothing. */
double gantry__cost_of_copy(const gantry__device_cost_t *from, const gantry__device_cost_t *to,
                            uint64_t bytes);
/* The operations of an op with these first two inputs and this first output; 0 if it is no matrix
 * product. */
double gantry__operations_of(const gantry__op_def_t *op, const gantry_shape_t *a,
                             const gantry_shape_t *b, const gantry_shape_t *out);
/* Whether crossover may put an op without a request on the device: it is listed, open and not lost,
 * and if a GPU is required, it is one. */
bool gantry__crossover_takes(const gantry_logical_device_t *device, bool require);

#endif
