/* SPDX-License-Identifier: Apache-2.0 */
/* The placer: maps an op, its types and a requested device to a device, a kernel and a reason. It
 * is a pure function of its arguments.
 *
 * "Supported" is a look-up in the device's kernel registry, the one that dispatch uses. Owner: a
 * plan points into the tables of its request, which must outlive it. Threads: thread-safe. */
#ifndef GANTRY_PLACE_PLACER_H
#define GANTRY_PLACE_PLACER_H

#include <gantry/placement.h>

#include <gantry/device.h>

#include "device/device_name.h"
#include "kernel/kernel_registry.h"
#include "op/op_def.h"

/* The most kernels of a device that a plan keeps, best first; further ones are not tried. */
#define GANTRY__MAX_CANDIDATES 8

struct gantry__device_table_t;

/* A requested device: parsed once, shared by all scopes that request it. */
typedef struct gantry__wish_t {
    gantry__device_reference_t reference;
    char text[GANTRY__DEVICE_NAME_BYTES]; /* canonical, for messages and records */
    bool is_empty;                        /* requests nothing */
} gantry__wish_t;

typedef struct gantry__place_request_t {
    const struct gantry__device_table_t *devices;
    const gantry__kernel_registry_t *registries; /* one for each position of a view */
    const gantry__op_def_t *op;
    const gantry_attr_t *attrs;
    const gantry__wish_t *wish;            /* NULL: none */
    const gantry_logical_device_t *pinned; /* the device that another decided, or NULL */
    /* why the op is pinned; NONE: to its variable's device */
    gantry_placement_reason_t pin_reason;
    /* bit i: the op's colocation group allows the logical device at position i; NULL: all */
    const uint64_t *allowed;
    /* the op's device, which had no memory for it: place the op on a CPU; or NULL */
    const gantry_logical_device_t *exhausted;
    /* the device that crossover does not choose, and why; NULL: crossover is off */
    const gantry_logical_device_t *passed_over;
    gantry_refusal_t passed_why;
    /* shapes, for kernels that check them; NULL: no kernel checks */
    const gantry_op_call_t *call;
    bool soft;
    bool require;          /* only the requested device, or a GPU */
    bool integer_variable; /* an integer variable other than int64: CPU only */
    bool batch_invariant;  /* only kernels that promise GANTRY_KERNEL_BATCH_INVARIANT */
    bool any_order;        /* the option is on */
} gantry__place_request_t;

/* The decision and its reasons. */
typedef struct gantry__plan_t {
    const gantry__op_def_t *op;
    gantry_dtype_t dtype; /* the first type attribute */
    const gantry__wish_t *wish;
    gantry_logical_device_t *device; /* NULL: refused */
    /* the view that served it, whose kernels these are */
    const struct gantry_physical_device_t *view;
    const gantry__kernel_entry_t *kernels[GANTRY__MAX_CANDIDATES]; /* of that device, best first */
    uint32_t kernel_count;
    /* for each kernel; bit i: definition i of the op's inputs lives on the host */
    uint64_t host_inputs[GANTRY__MAX_CANDIDATES];
    gantry_placement_reason_t reason;
    bool batch_invariant; /* the request's */
    gantry_any_order_t any_order;
    const char *left_library; /* that of a kernel of the device, left because of it; NULL: none */
    uint32_t refusal_count;
    struct {
        const gantry_logical_device_t *device; /* NULL: the requested device does not exist */
        gantry_refusal_t why;
        gantry_dtype_t lacking; /* the type, for DEVICE_LACKS_TYPE */
    } refusals[GANTRY_MAX_REFUSALS];
} gantry__plan_t;

/* The flags of a call of one of the plan's kernels. */
static inline uint32_t gantry__plan_call_flags(const gantry__plan_t *plan) {
    return (plan->batch_invariant ? (uint32_t)GANTRY_CALL_BATCH_INVARIANT : 0) |
           (plan->any_order == GANTRY_ANY_ORDER_USED ? (uint32_t)GANTRY_CALL_ANY_ORDER : 0);
}

/* Fills *out_plan. If no device remains, the call fails with TensorFlow's texts, InvalidArgument or
 * NotFound, and the plan keeps the refusals. */
gantry_status_t gantry__place(const gantry__place_request_t *request, gantry__plan_t *out_plan);

#endif
