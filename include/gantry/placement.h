/* SPDX-License-Identifier: Apache-2.0 */
/* Where did it run, and why: a record for every placement.
 *
 * Records are kept in a bounded ring (the newest 1024), counted per (op, reason, device), and
 * handed to a callback as they are made. Lists are filled by the caller's struct_size, which stands
 * in the first struct of the list and is that of all: a program sets list[0].struct_size = sizeof
 * list[0], and the library writes the others'.
 * Thread-safe. */
#ifndef GANTRY_PLACEMENT_H
#define GANTRY_PLACEMENT_H

#include <gantry/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Why the chosen device was chosen. */
typedef enum gantry_placement_reason_t {
    GANTRY_PLACED_NONE = 0,
    GANTRY_PLACED_EXPLICIT = 1,        /* the device asked for */
    GANTRY_PLACED_GPU_PREFERRED = 2,   /* nothing asked; a GPU has a kernel */
    GANTRY_PLACED_ONLY_CPU_KERNEL = 3, /* nothing asked; no GPU has a kernel for these types */
    GANTRY_PLACED_NO_GPU = 4,          /* nothing asked; there is no visible GPU */
    GANTRY_PLACED_SOFT_SAME_TYPE = 5,  /* fell back to another device of the type asked for */
    GANTRY_PLACED_SOFT_OTHER_TYPE = 6, /* fell back to another type */
    GANTRY_PLACED_WITH_VARIABLE = 7,   /* runs where its variable lives */
    /* first device with a kernel that matches a partial name such as "/GPU:*" */
    GANTRY_PLACED_PARTIAL = 8,
    GANTRY_PLACED_REFUSED = 9,       /* no device: the op failed */
    GANTRY_PLACED_OUT_OF_MEMORY = 10 /* its device had no memory for it; oom_fallback moved it */
} gantry_placement_reason_t;

/* Why a device was passed over. */
typedef enum gantry_refusal_t {
    GANTRY_REFUSED_NO_KERNEL = 1, /* no kernel for the op at all */
    GANTRY_REFUSED_NO_KERNEL_FOR_TYPE = 2,
    GANTRY_REFUSED_KERNEL_DECLINED = 3, /* the kernel does not take these shapes or attributes */
    GANTRY_REFUSED_NAME_MISMATCH = 4,
    GANTRY_REFUSED_NO_SUCH_DEVICE = 5,
    GANTRY_REFUSED_NOT_VISIBLE = 6,
    GANTRY_REFUSED_INTEGER_VARIABLE = 7, /* integer variables but int64 live on the CPU */
    GANTRY_REFUSED_DEVICE_LOST = 8,
    GANTRY_REFUSED_OUT_OF_MEMORY = 9,
    /* a kernel is there, but the device does not compute with a type of the op: float64 without
     * double precision */
    GANTRY_REFUSED_DEVICE_LACKS_TYPE = 10
} gantry_refusal_t;

GANTRY_API const char *gantry_placement_reason_text(gantry_placement_reason_t reason);
GANTRY_API const char *gantry_refusal_text(gantry_refusal_t refusal);

#define GANTRY_MAX_REFUSALS 8

typedef struct gantry_placement_record_t {
    uint32_t struct_size;
    gantry_placement_reason_t reason;
    uint64_t sequence; /* 1, 2, 3... over the runtime's life */
    char op[48];
    gantry_dtype_t dtype;   /* of the op's first type attribute */
    char asked[256];        /* "" when nothing was asked */
    char device[128];       /* full name of the chosen device, "" when refused */
    char kernel[32];        /* "cpu", "opencl", "portable/elementwise", "core" */
    uint64_t bytes_copied;  /* moved to that device for this op */
    uint32_t refusal_count; /* may exceed GANTRY_MAX_REFUSALS; that many are kept */
    struct {
        char device[128];
        gantry_refusal_t why;
    } refusals[GANTRY_MAX_REFUSALS];
    /* the composed op that the program called and that ran this one; "" when the program called
     * it itself */
    char part_of[48];
} gantry_placement_record_t;

/* Called after each placement, on the thread that runs the op; must not call Gantry. NULL
 * removes it. */
typedef void (*gantry_placement_fn)(void *user, const gantry_placement_record_t *record);
GANTRY_API gantry_status_t gantry_set_placement_callback(gantry_runtime_t *runtime,
                                                         gantry_placement_fn callback, void *user);

/* The newest records, oldest of them first: writes up to capacity and the number written.
 * out_records[0].struct_size must be set. */
GANTRY_API gantry_status_t gantry_get_placements(gantry_runtime_t *runtime, size_t capacity,
                                                 gantry_placement_record_t *out_records,
                                                 size_t *out_count);

typedef struct gantry_placement_count_t {
    uint32_t struct_size;
    gantry_placement_reason_t reason;
    char op[48];
    char device[128]; /* full name of the chosen device, "" when refused */
    uint64_t count;
} gantry_placement_count_t;

/* How often each op was placed on each device, by reason: writes up to capacity and the full
 * count. out_counts[0].struct_size must be set. */
GANTRY_API gantry_status_t gantry_get_placement_counts(gantry_runtime_t *runtime, size_t capacity,
                                                       gantry_placement_count_t *out_counts,
                                                       size_t *out_count);

#ifdef __cplusplus
}
#endif
#endif
