/* SPDX-License-Identifier: Apache-2.0 */
/* Families of items (kernels/common/item.cl): ops whose host code, too, is written once for the CPU
 * backend and for every device that builds programs.
 *
 * A family has a list of its items, GANTRY_X_ITEMS(ITEM). Its compute() functions fill in a
 * gantry__k_item_launch_t and call gantry__k_run_items. Each op has two kernel definitions over the
 * same compute(): one of the pack for devices, which builds the text, and one of the CPU backend,
 * into which the text is compiled. The definition decides which way the call goes.
 *
 * matrix_items.c is a short example, with matrix_cpu.c and kernels/matrix/matrix.cl.
 *
 * Owner: definitions are constant data; a launch, and what its pointers name, is the caller's and
 * must live until the run returns. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_ITEM_KERNEL_H
#define GANTRY_KERNELS_ITEM_KERNEL_H

#include "kernels/common/place_text.h"
#include "kernels/common/device_text.h"
#include "kernels/common/work.h"

#include "kernels/common/dialect.cl"

#include "kernels/common/work.cl"

_Static_assert(sizeof(gantry__item_plan_t) == sizeof(gantry__k_device_plan_t) &&
                   offsetof(gantry__item_plan_t, strides0) ==
                       offsetof(gantry__k_device_plan_t, strides[0]) &&
                   offsetof(gantry__item_plan_t, strides2) ==
                       offsetof(gantry__k_device_plan_t, strides[2]),
               "a plan lies alike in the text and on the host's side");

enum { GANTRY_K_ITEM_SPANS = 5 };

/* One launch of one item over [0, count). */
typedef struct gantry__k_item_launch_t {
    uint32_t item;      /* its number in the family's list */
    int32_t t, i;       /* the element types T and I of the text; 0 where it has none */
    int64_t count;      /* must be at least 1 */
    int64_t item_bytes; /* the bytes that an item writes; 0: those of a T */
    bool is_costly;     /* whether an item is worth dozens of instructions: shorter runs */
    int64_t elements;   /* the cheap elements of an item that is a run; 0: it is none */
    int64_t grain;      /* the items that pay for a processor's thread; 0: by the fields above */
    bool can_fail;      /* whether the text takes a fault slot, reported in these words */
    bool never_fails;   /* with can_fail: this call cannot, so nothing reads the slot */
    gantry_fault_words_t words;
    /* Only on the CPU: writes the message for bad data at that position. A launch that can fail
     * must have it. */
    void (*explain)(const gantry_op_call_t *call, int64_t position, char *text, size_t text_bytes);
    void *parameters; /* must begin with a gantry__work_t, which the run fills in */
    uint32_t parameter_bytes;
    uint32_t span_count;
    gantry_span_t spans[GANTRY_K_ITEM_SPANS]; /* the inputs, then the outputs */
} gantry__k_item_launch_t;

/* Runs items [begin, end) in C. spans: the addresses of the launch's spans, followed by that of the
 * fault slot, which has 16 bytes. */
typedef void (*gantry__k_item_fn)(void *const *spans, const void *parameters, int64_t begin,
                                  int64_t end);

/* The functions of a family for one choice of types, which must be in the order of the family's
 * list. */
typedef struct gantry__k_item_row_t {
    int32_t t, i;
    const gantry__k_item_fn *functions;
} gantry__k_item_row_t;

typedef struct gantry__k_items_t gantry__k_items_t;
struct gantry__k_items_t {
    int32_t (*run)(gantry_op_call_t *call, const gantry__k_items_t *items,
                   gantry__k_item_launch_t *launch);
    const char *const *names;              /* only on devices */
    const gantry_program_source_t *source; /* only on devices */
    /* Only on the CPU: the rows of each level (cpu_simd.h), which an empty row must end. A level
     * without rows, or without these types, takes the level below. */
    const gantry__k_item_row_t *rows[3];
};

/* Run the launch on a device that builds programs, and on the CPU. */
int32_t gantry__portable_run_items(gantry_op_call_t *call, const gantry__k_items_t *items,
                                   gantry__k_item_launch_t *launch);
int32_t gantry__cpu_run_items(gantry_op_call_t *call, const gantry__k_items_t *items,
                              gantry__k_item_launch_t *launch);

/* Runs the launch on the call's device. Returns the status, whose message is set if bad data was
 * found. */
static inline int32_t gantry__k_run_items(gantry_op_call_t *call, gantry__k_item_launch_t *launch) {
    const gantry__k_items_t *items = call->kernel->data;

    return items->run(call, items, launch);
}

/* The same with items of another family than the kernel's own: one set is for devices, the other
 * for the CPU. */
static inline int32_t gantry__k_run_items_of(gantry_op_call_t *call,
                                             const gantry__k_items_t *on_devices,
                                             const gantry__k_items_t *on_cpu,
                                             gantry__k_item_launch_t *launch) {
    const gantry__k_items_t *own = call->kernel->data,
                            *items = own->run == on_cpu->run ? on_cpu : on_devices;

    return items->run(call, items, launch);
}

/* Whether the items run as C, on the CPU. */
static inline bool gantry__k_items_are_c(const gantry_op_call_t *call) {
    const gantry__k_items_t *items = call->kernel->data;

    return items->run == gantry__cpu_run_items;
}

/* the most elements of an item on a processor; must equal GANTRY_RUN_MOST of item.cl */
enum { GANTRY_K_LONGEST_RUN = 64 };

/* Cuts rows of `size` elements into items that are runs of them. */
static inline gantry__runs_t gantry__k_runs(const gantry_op_call_t *call, int64_t size) {
    const int64_t most = gantry__k_is_serial(call) ? GANTRY_K_LONGEST_RUN : 1,
                  length = size < most ? size : most;

    return (gantry__runs_t){.size = size, .length = length, .count = (size + length - 1) / length};
}

/* Runs the launch over all runs of output 0, which decides the launch's count and item_bytes. */
static inline int32_t gantry__k_run_runs(gantry_op_call_t *call, gantry__k_item_launch_t *launch,
                                         const gantry__runs_t *runs) {
    launch->count = call->outputs[0]->element_count / runs->size * runs->count;
    launch->item_bytes = runs->length * (int64_t)gantry__k_size(launch->t);
    launch->elements = runs->length;
    launch->is_costly = runs->length > 1;
    return gantry__k_run_items(call, launch);
}

/* ---- the parts of a family's file, in this order ---- */

/* Defines the family's device text (the common parts, then the given ones), the names of its items,
 * and their numbers ITEM_name. GANTRY_CPU_ITEM_FAMILY (kernels/common/cpu_items.h) defines the
 * CPU's half, in a file of the CPU backend. */
#define GANTRY_K_ITEM_NAME(name) #name,
#define GANTRY_K_ITEM_NUMBER(name) ITEM_##name,
#define GANTRY_K_ITEM_TEXTS(family, ITEMS, ...)                                                  \
    enum { ITEMS(GANTRY_K_ITEM_NUMBER) };                                                        \
    GANTRY_K_PROGRAM(family##_source, "portable/" #family, gantry__text_half, gantry__text_work, \
                     gantry__text_item, __VA_ARGS__);                                            \
    static const char *const family##_names[] = {ITEMS(GANTRY_K_ITEM_NAME)};                     \
    static const gantry__k_items_t family##_items = {                                            \
        .run = gantry__portable_run_items, .names = family##_names, .source = &family##_source}; \
    extern const gantry__k_items_t gantry__cpu_##family##_items

/* Both definitions of one op, named x_...; type constraints and names of host inputs must be
 * arrays. */
#define GANTRY_K_ITEM_DEFINITION(items, op_, types_, hosts_, host_count_, flags_, compute_) \
    GANTRY_K_DEFINITION(op_, types_, GANTRY_K_COUNT_OF(types_), hosts_, host_count_,        \
                        .flags = flags_, .compute = compute_, .data = items)
/* Both definitions of an op that promises GANTRY_KERNEL_ANY_ORDER, too. */
#define GANTRY_K_ITEM_ANY_ORDER(items, op_, types_, hosts_, host_count_, flags_, compute_)   \
    GANTRY_K_PROMISING(GANTRY_KERNEL_BATCH_INVARIANT | GANTRY_KERNEL_ANY_ORDER, op_, types_, \
                       GANTRY_K_COUNT_OF(types_), hosts_, host_count_, .flags = flags_,      \
                       .compute = compute_, .data = items)
#define GANTRY_K_ITEM_KERNEL_ANY_ORDER(x, family, op_, types_, hosts_, host_count_, flags_, \
                                       compute_)                                            \
    static const gantry_kernel_def_t x##_on_devices = GANTRY_K_ITEM_ANY_ORDER(              \
        &family##_items, op_, types_, hosts_, host_count_, flags_, compute_);               \
    static const gantry_kernel_def_t x##_on_cpu = GANTRY_K_ITEM_ANY_ORDER(                  \
        &gantry__cpu_##family##_items, op_, types_, hosts_, host_count_, flags_, compute_)
#define GANTRY_K_ITEM_KERNEL_(x, family, op_, types_, hosts_, host_count_, flags_, compute_) \
    static const gantry_kernel_def_t x##_on_devices = GANTRY_K_ITEM_DEFINITION(              \
        &family##_items, op_, types_, hosts_, host_count_, flags_, compute_);                \
    static const gantry_kernel_def_t x##_on_cpu = GANTRY_K_ITEM_DEFINITION(                  \
        &gantry__cpu_##family##_items, op_, types_, hosts_, host_count_, flags_, compute_)
#define GANTRY_K_ITEM_KERNEL(x, family, op_, types_, compute_) \
    GANTRY_K_ITEM_KERNEL_(x, family, op_, types_, NULL, 0, 0, compute_)
/* The same for an op that changes a part of its input 0. */
#define GANTRY_K_ITEM_KERNEL_IN_PLACE(x, family, op_, types_, compute_) \
    GANTRY_K_ITEM_KERNEL_(x, family, op_, types_, NULL, 0, GANTRY_KERNEL_IN_PLACE_FIRST, compute_)
#define GANTRY_K_ITEM_KERNEL_HOST(x, family, op_, types_, hosts_, compute_) \
    GANTRY_K_ITEM_KERNEL_(x, family, op_, types_, hosts_, GANTRY_K_COUNT_OF(hosts_), 0, compute_)

/* The family as a pack and as kernels of the CPU backend; OPS(OP) lists the x of its ops. A line of
 * families.def must name the family, which makes both known. */
#define GANTRY_K_ON_DEVICES(x) &x##_on_devices,
#define GANTRY_K_ON_CPU(x) &x##_on_cpu,
#define GANTRY_K_ITEM_PACK(family, OPS)                                                         \
    static const gantry_kernel_def_t *const family##_kernels[] = {OPS(GANTRY_K_ON_DEVICES)};    \
    GANTRY_K_PACK(family, #family, family##_kernels);                                           \
    extern const gantry_kernel_def_t *const gantry__cpu_##family##_kernels[];                   \
    extern const uint32_t gantry__cpu_##family##_kernel_count;                                  \
    const gantry_kernel_def_t *const gantry__cpu_##family##_kernels[] = {OPS(GANTRY_K_ON_CPU)}; \
    const uint32_t gantry__cpu_##family##_kernel_count =                                        \
        GANTRY_K_COUNT_OF(gantry__cpu_##family##_kernels)

#endif
