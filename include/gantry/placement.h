/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * Where each op ran, and why: a record for every placement.
 *
 * The newest 1024 records are kept in a ring, counted per (op, reason, device), and passed to a
 * callback as they are made. In a list, the struct_size of the first struct holds for all: the
 * program sets list[0].struct_size, and the library sets the others. Thread-safe. */
#ifndef GANTRY_PLACEMENT_H
#define GANTRY_PLACEMENT_H

#include <gantry/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Why the op runs on its device. */
typedef enum gantry_placement_reason_t {
    GANTRY_PLACED_NONE = 0,            /**< No reason; no record has it. */
    GANTRY_PLACED_EXPLICIT = 1,        /**< The program requested this device. */
    GANTRY_PLACED_GPU_PREFERRED = 2,   /**< No request; a GPU has a kernel. */
    GANTRY_PLACED_ONLY_CPU_KERNEL = 3, /**< No request; no GPU has a kernel for these types. */
    GANTRY_PLACED_NO_GPU = 4,          /**< No request; no GPU is visible. */
    GANTRY_PLACED_SOFT_SAME_TYPE = 5,  /**< Fell back to another device of the requested type. */
    GANTRY_PLACED_SOFT_OTHER_TYPE = 6, /**< Fell back to a device of another type. */
    GANTRY_PLACED_WITH_VARIABLE = 7,   /**< Runs where its variable lives. */
    /** The first device with a kernel that matches a partial name such as "/GPU:*". */
    GANTRY_PLACED_PARTIAL = 8,
    GANTRY_PLACED_REFUSED = 9, /**< No device could run it: the op failed. */
    /** Its device had no memory for it; oom_fallback moved it. */
    GANTRY_PLACED_OUT_OF_MEMORY = 10,
    GANTRY_PLACED_WITH_INPUT = 11,    /**< In a function: an alias, which is where its input is. */
    GANTRY_PLACED_WITH_CONSUMER = 12, /**< In a function: a source, which is where it is used. */
    /** A branch or loop of a function, placed where its body's result is. */
    GANTRY_PLACED_WITH_BODY = 13,
    /** A node of a function, placed on the device of the nodes that it is colocated with. */
    GANTRY_PLACED_COLOCATED = 14,
    /** No request; with option crossover, this device is the cheapest by measured cost. */
    GANTRY_PLACED_CROSSOVER = 15
} gantry_placement_reason_t;

/** Why a device was not chosen. */
typedef enum gantry_refusal_t {
    GANTRY_REFUSED_NO_KERNEL = 1,          /**< It has no kernel for the op. */
    GANTRY_REFUSED_NO_KERNEL_FOR_TYPE = 2, /**< It has no kernel for the op with these types. */
    /** The kernel does not take these shapes or attributes. */
    GANTRY_REFUSED_KERNEL_DECLINED = 3,
    GANTRY_REFUSED_NAME_MISMATCH = 4,  /**< The requested name is another device's. */
    GANTRY_REFUSED_NO_SUCH_DEVICE = 5, /**< No device has the requested name. */
    GANTRY_REFUSED_NOT_VISIBLE = 6,    /**< The device is not visible. */
    /** Integer variables other than int64 live on the CPU. */
    GANTRY_REFUSED_INTEGER_VARIABLE = 7,
    GANTRY_REFUSED_DEVICE_LOST = 8,   /**< The device is lost for this process. */
    GANTRY_REFUSED_OUT_OF_MEMORY = 9, /**< The device had no memory for the op. */
    /** A kernel exists, but the device does not compute with a type of the op, such as float64. */
    GANTRY_REFUSED_DEVICE_LACKS_TYPE = 10,
    /** A node of a function with which this one is colocated cannot run there. */
    GANTRY_REFUSED_COLOCATED = 11,
    GANTRY_REFUSED_COSTS_MORE = 12, /**< Option crossover: by measured cost, another is cheaper. */
    /** Option crossover: it or the chosen device has no measurement, so it was not compared. */
    GANTRY_REFUSED_NOT_MEASURED = 13,
    /** Option batch_invariant: no kernel of it promises rows that do not depend on the batch. */
    GANTRY_REFUSED_BATCH_DEPENDENT = 14
} gantry_refusal_t;

/** What became of the option any_order for an op. */
typedef enum gantry_any_order_t {
    GANTRY_ANY_ORDER_OFF = 0,            /**< The option is off. */
    GANTRY_ANY_ORDER_USED = 1,           /**< The op's sums, if it makes any, have any order. */
    GANTRY_ANY_ORDER_NOT_OF_OP = 2,      /**< The op has one order, by which it is fast. */
    GANTRY_ANY_ORDER_NOT_OF_TYPE = 3,    /**< Only sums of float32 have another order. */
    GANTRY_ANY_ORDER_NO_ATOMICS = 4,     /**< The device has no atomic additions of floats. */
    GANTRY_ANY_ORDER_BATCH_INVARIANT = 5 /**< The option batch_invariant is on, too. */
} gantry_any_order_t;

/** What became of it, in words. The text is constant. */
GANTRY_API const char *gantry_any_order_text(gantry_any_order_t outcome);

/** The reason in words. The text is constant. */
GANTRY_API const char *gantry_placement_reason_text(gantry_placement_reason_t reason);
/** The refusal in words. The text is constant. */
GANTRY_API const char *gantry_refusal_text(gantry_refusal_t refusal);

/** The most refusals that a record keeps. */
#define GANTRY_MAX_REFUSALS 8

/** One placement. Texts that do not fit are cut. */
typedef struct gantry_placement_record_t {
    uint32_t struct_size;             /**< Its sizeof. */
    gantry_placement_reason_t reason; /**< Why the op runs there. */
    uint64_t sequence;                /**< 1, 2, 3 and so on over the runtime's life. */
    char op[48];                      /**< The op: "MatMul". */
    gantry_dtype_t dtype;             /**< The op's first type attribute. */
    char asked[256];                  /**< The requested device; "" when there was no request. */
    char device[128];                 /**< The full name of the chosen device; "" when refused. */
    /** The kernel's source: "cpu", "opencl", "portable/elementwise", "core". */
    char kernel[32];
    uint64_t bytes_copied;  /**< Bytes moved to that device for this op. */
    uint32_t refusal_count; /**< All refusals; at most GANTRY_MAX_REFUSALS of them are kept. */
    /** The devices that were not chosen, the first ones. */
    struct {
        /** The full name of the refused device. */
        char device[128];
        /** Why it was refused. */
        gantry_refusal_t why;
    } refusals[GANTRY_MAX_REFUSALS];
    /** The composed op that the program called and that ran this one; "" otherwise. */
    char part_of[48];
    /** For GANTRY_PLACED_CROSSOVER, the measured cost there, with its copies; else 0. */
    uint64_t cost_ns;
    /** The same cost on the device that was refused with GANTRY_REFUSED_COSTS_MORE. */
    uint64_t other_cost_ns;
    bool batch_invariant; /**< The op ran with the option batch_invariant. */
    /** With it, the libraries that the op's kernels of this device are without: "cuBLASLt". "" if
     * none of these kernels uses a library, and without the option. */
    char left_library[32];
    gantry_any_order_t any_order; /**< What became of the option any_order. */
} gantry_placement_record_t;

/** Called after each placement, on the thread that runs the op. It must not call Gantry. */
typedef void (*gantry_placement_fn)(void *user, const gantry_placement_record_t *record);
/** Sets the callback, with the user pointer that it gets; NULL removes it. */
GANTRY_API gantry_status_t gantry_set_placement_callback(gantry_runtime_t *runtime,
                                                         gantry_placement_fn callback, void *user);

/** Reads the newest records, the oldest of them first. Writes up to capacity records, and the
 * number written. out_records[0].struct_size must be set. */
GANTRY_API gantry_status_t gantry_get_placements(gantry_runtime_t *runtime, size_t capacity,
                                                 gantry_placement_record_t *out_records,
                                                 size_t *out_count);

/** How often an op was placed on a device for a reason. */
typedef struct gantry_placement_count_t {
    uint32_t struct_size;             /**< Its sizeof. */
    gantry_placement_reason_t reason; /**< Why the op ran there. */
    char op[48];                      /**< The op: "MatMul". */
    char device[128];                 /**< The full name of the chosen device; "" when refused. */
    uint64_t count;                   /**< How often. */
} gantry_placement_count_t;

/** Reads how often each op was placed on each device, by reason. Writes up to capacity counts,
 * and the full count. out_counts[0].struct_size must be set. */
GANTRY_API gantry_status_t gantry_get_placement_counts(gantry_runtime_t *runtime, size_t capacity,
                                                       gantry_placement_count_t *out_counts,
                                                       size_t *out_count);

#ifdef __cplusplus
}
#endif
#endif
