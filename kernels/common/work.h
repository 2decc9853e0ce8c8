/* SPDX-License-Identifier: Apache-2.0 */
/* Launches of kernels that compute each element apart: the host's side of kernels/common/work.cl.
 *
 * On a processor each work-item gets one run of elements, and each core a few runs; on other
 * devices each work-item gets a few elements. The device's type and compute units decide, never its
 * name. Owner: plain values of the caller; nothing is allocated. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_WORK_H
#define GANTRY_KERNELS_WORK_H

#include "kernels/common/kernel_shape.h"
#include "kernels/common/launch.h"

/* Must have the same fields as gantry__work_t of work.cl. */
typedef struct gantry__k_work_t {
    int64_t count;
    int64_t run;
    int64_t stream;
} gantry__k_work_t;

/* Must have the same fields as gantry__item_plan_t of work.cl: a collapsed plan for a device. */
typedef struct gantry__k_device_plan_t {
    gantry__k_work_t work;
    int64_t rank;
    int64_t dims[GANTRY_MAX_RANK];
    int64_t strides[GANTRY_K_MAX_OPERANDS][GANTRY_MAX_RANK];
} gantry__k_device_plan_t;

#define GANTRY_K_RUN_UNIT 1024 /* runs are multiples of this many elements */
/* enough runs that a late core does not delay the rest for long */
#define GANTRY_K_RUNS_PER_CORE 4
/* The same where runs are long. PoCL gives a thread its whole share of the remaining groups if they
 * are fewer than some hundred for each, and then no thread helps a slow core. */
#define GANTRY_K_MANY_RUNS_PER_CORE 512
/* in elements: with fewer, the overhead of a work-item exceeds its work */
#define GANTRY_K_SHORTEST_RUN 8192
/* outputs of this size and more are written by streaming stores */
#define GANTRY_K_STREAM_BYTES (INT64_C(16) << 20)
/* the bytes of an operand that a work-item of a GPU reads at once */
#define GANTRY_K_WIDE_BYTES 16
/* the work-items for each compute unit that fill a GPU */
#define GANTRY_K_ITEMS_PER_UNIT 4096
/* the same where an item costs little apart from its memory: a loop of several rounds then costs
 * more than new items. An H100 adds 256 MiB 1.05 times as fast with one round. */
#define GANTRY_K_CHEAP_ITEMS_PER_UNIT (64 * GANTRY_K_ITEMS_PER_UNIT)

#define GANTRY_K_MOST_UNITS 64

/* The threads of a processor that share a piece of work. They are few enough that each may read
 * what the others leave it. */
static inline int64_t gantry__k_units(const gantry_op_call_t *call) {
    const uint32_t units = call->device_info->compute_units;

    return units < 1 ? 1 : units < GANTRY_K_MOST_UNITS ? units : GANTRY_K_MOST_UNITS;
}

/* The work over `count` elements of element_bytes each. Streaming needs memory that is aligned to
 * whole vectors, so it is only used on devices that align it. Costly elements have shorter runs. */
static inline gantry__k_work_t gantry__k_work(const gantry_op_call_t *call, int64_t count,
                                              int64_t element_bytes, bool costly) {
    const int64_t units =
        call->device_info->compute_units > 0 ? call->device_info->compute_units : 1;
    const int64_t shortest = costly ? GANTRY_K_RUN_UNIT : GANTRY_K_SHORTEST_RUN;
    const int64_t of_many = count / (units * GANTRY_K_MANY_RUNS_PER_CORE);
    int64_t run = of_many >= GANTRY_K_SHORTEST_RUN / 2
                      ? of_many + 1
                      : count / (units * GANTRY_K_RUNS_PER_CORE) + 1;

    if (run < shortest) {
        run = shortest;
    }
    run = (run + GANTRY_K_RUN_UNIT - 1) / GANTRY_K_RUN_UNIT * GANTRY_K_RUN_UNIT;
    return (gantry__k_work_t){.count = count,
                              .run = run,
                              .stream = count * element_bytes >= GANTRY_K_STREAM_BYTES &&
                                        call->device_info->base_alignment_bytes >= 64};
}

/* The lanes of vectors for functions of floats on a processor (GANTRY_MATH_LANES); 1 leaves the
 * choice to the compiler. */
static inline uint32_t gantry__k_math_lanes(const gantry_op_call_t *call) {
    const int32_t dtype = call->inputs[0]->dtype;
    const uint32_t lanes =
        call->device_info->native_vector_width / (dtype == GANTRY_FLOAT64 ? 2 : 1);

    if (gantry__k_is_half(dtype)) return 1;
    return gantry__k_is_serial(call) && (lanes == 2 || lanes == 4 || lanes == 8 || lanes == 16)
               ? lanes
               : 1;
}

/* each: the elements that a work-item of a GPU takes at once. most: the most work-items for each
 * compute unit. */
static inline int32_t gantry__k_launch_items(gantry_op_call_t *call,
                                             gantry_backend_kernel_t *kernel,
                                             const gantry__k_work_t *work, int64_t each,
                                             int64_t most, const gantry_launch_arg_t *args,
                                             uint32_t arg_count) {
    const int64_t units =
        call->device_info->compute_units > 0 ? call->device_info->compute_units : 1;
    int64_t items = (work->count + each - 1) / each;

    if (gantry__k_is_serial(call)) {
        return gantry__k_launch_1d(call, kernel,
                                   (uint64_t)((work->count + work->run - 1) / work->run), 1, args,
                                   arg_count);
    }
    if (items > units * most) {
        items = units * most; /* the kernel's loop does the rest */
    }
    return gantry__k_launch_1d(call, kernel, (uint64_t)items,
                               gantry__k_local_for(call, (uint64_t)items), args, arg_count);
}

static inline int32_t gantry__k_launch_wide(gantry_op_call_t *call, gantry_backend_kernel_t *kernel,
                                            const gantry__k_work_t *work, int64_t each,
                                            const gantry_launch_arg_t *args, uint32_t arg_count) {
    return gantry__k_launch_items(call, kernel, work, each, GANTRY_K_ITEMS_PER_UNIT, args,
                                  arg_count);
}

static inline int32_t gantry__k_launch_work(gantry_op_call_t *call, gantry_backend_kernel_t *kernel,
                                            const gantry__k_work_t *work,
                                            const gantry_launch_arg_t *args, uint32_t arg_count) {
    return gantry__k_launch_wide(call, kernel, work, 1, args, arg_count);
}

static inline gantry__k_device_plan_t gantry__k_device_plan(const gantry__k_plan_t *plan,
                                                            const gantry__k_work_t *work) {
    gantry__k_device_plan_t out = {.work = *work, .rank = plan->rank};

    for (int32_t d = 0; d < plan->rank; ++d) {
        out.dims[d] = plan->dims[d];
        for (int32_t k = 0; k < plan->operands; ++k) {
            out.strides[k][d] = plan->strides[k][d];
        }
    }
    return out;
}

#endif
