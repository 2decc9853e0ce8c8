/* SPDX-License-Identifier: Apache-2.0 */
/* Short forms for the host side of a kernel for devices: arguments of a launch, 1-D launches, and
 * words for bad data. Nothing here keeps state or allocates.
 *
 * Owner: arguments point into the caller's values, which must live until the launch slot returns.
 * Threads: thread-safe. */
#ifndef GANTRY_KERNELS_LAUNCH_H
#define GANTRY_KERNELS_LAUNCH_H

#include "kernels/common/kernel_types.h"

/* Work-items of a 1-D work-group: the least that kernels use, and the most, which a GPU gets if
 * there is enough work to fill it with such groups. */
#define GANTRY_K_LOCAL 64u
#define GANTRY_K_LOCAL_MOST 256u
/* groups that keep a compute unit busy: 8 of 256 are the 2048 work-items that a large one holds */
#define GANTRY_K_GROUPS_PER_UNIT 8

/* Whether the device's work-items are loops, not lanes. They are on processors, except for those
 * that make lanes of them. */
static inline bool gantry__k_is_serial_device(const gantry_device_info_t *info) {
    return info->type == GANTRY_DEVICE_TYPE_CPU && info->sub_group_size <= 1;
}

static inline bool gantry__k_is_serial(const gantry_op_call_t *call) {
    return gantry__k_is_serial_device(call->device_info);
}

static inline uint32_t gantry__k_local_for(const gantry_op_call_t *call, uint64_t items) {
    uint32_t local = GANTRY_K_LOCAL_MOST;

    while (local > GANTRY_K_LOCAL && (local > call->device_info->max_work_group_size ||
                                      items / local < (uint64_t)call->device_info->compute_units *
                                                          GANTRY_K_GROUPS_PER_UNIT)) {
        local /= 2;
    }
    return local;
}

static inline gantry_launch_arg_t gantry__k_span(const gantry_arg_t *arg) {
    gantry_launch_arg_t out = {
        .kind = GANTRY_LAUNCH_SPAN, .size_bytes = 0, .as = {.span = arg->span}};
    return out;
}

/* Passes only the region of the tensor, because its offset is part of a scalar. */
static inline gantry_launch_arg_t gantry__k_base(const gantry_arg_t *arg) {
    gantry_launch_arg_t out = {
        .kind = GANTRY_LAUNCH_BASE, .size_bytes = 0, .as = {.span = arg->span}};
    return out;
}

/* Passes a span that is not a tensor's, such as scratch or the fault slot. */
static inline gantry_launch_arg_t gantry__k_raw_span(gantry_span_t span) {
    gantry_launch_arg_t out = {.kind = GANTRY_LAUNCH_SPAN, .size_bytes = 0, .as = {.span = span}};
    return out;
}

static inline gantry_launch_arg_t gantry__k_scalar(const void *value, uint32_t size_bytes) {
    gantry_launch_arg_t out = {
        .kind = GANTRY_LAUNCH_SCALAR, .size_bytes = size_bytes, .as = {.value = value}};
    return out;
}

/* The words for bad data at a place of the first `rank` dimensions of arg, which must have as
 * many. */
static inline gantry_fault_words_t gantry__k_words(const char *text, const gantry_arg_t *arg,
                                                   int32_t rank) {
    gantry_fault_words_t words = {.struct_size = sizeof words, .text = text, .place_rank = rank};

    for (int32_t d = 0; d < rank; ++d) {
        words.place_dims[d] = arg->dims[d];
    }
    return words;
}

/* The same, with an accepted number. */
static inline gantry_fault_words_t gantry__k_words_up_to(const char *text, const gantry_arg_t *arg,
                                                         int64_t limit) {
    gantry_fault_words_t words = gantry__k_words(text, arg, arg->rank);

    words.accepted_count = 1;
    words.accepted[0] = limit;
    return words;
}

/* The same; value_text is the message if the number at that place is known, which is an element of
 * the op's input `input`. It must equal the CPU backend's message. */
static inline gantry_fault_words_t gantry__k_words_of_value(const char *text,
                                                            const char *value_text,
                                                            const gantry_op_call_t *call,
                                                            int32_t input, int64_t limit) {
    gantry_fault_words_t words = gantry__k_words_up_to(text, call->inputs[input], limit);

    words.value_text = value_text;
    words.value_input = input;
    return words;
}

/* Writes the fault slot of the call, whose faults are reported in these words. */
static inline int32_t gantry__k_fault(gantry_op_call_t *call, const gantry_fault_words_t *words,
                                      gantry_span_t *out_span) {
    const gantry_call_services_t *services = call->services;
    GANTRY__TRY(services->fault(call, out_span));
    if (services->struct_size > offsetof(gantry_call_services_t, fault_words) &&
        services->fault_words)
        services->fault_words(call, words);
    return GANTRY_OK;
}

/* The number of work-items that a group of this kernel may have. A driver may allow a kernel fewer
 * than the device has, because of the registers that the kernel takes. */
static inline uint32_t gantry__k_group_limit(gantry_op_call_t *call,
                                             gantry_backend_kernel_t *kernel) {
    const gantry_call_services_t *services = call->services;
    const uint32_t most = call->device_info->max_work_group_size;
    gantry_kernel_info_t info = {.struct_size = sizeof info};

    if (services->struct_size <= offsetof(gantry_call_services_t, kernel_info) ||
        !services->kernel_info || services->kernel_info(call, kernel, &info) != GANTRY_OK) {
        return most;
    }
    return info.max_work_group_size != 0 && info.max_work_group_size < most
               ? info.max_work_group_size
               : most;
}

/* The same for a kernel that takes groups of any power of two from GANTRY_K_LOCAL to `local`. */
static inline uint32_t gantry__k_local_within(gantry_op_call_t *call,
                                              gantry_backend_kernel_t *kernel, uint32_t local) {
    const uint32_t most = local > GANTRY_K_LOCAL ? gantry__k_group_limit(call, kernel) : local;

    while (local > GANTRY_K_LOCAL && local > most) {
        local /= 2;
    }
    return local;
}

/* The work-items of a group for a kernel that takes any power of two of them and shares local
 * memory: the most that kernels use, or fewer. */
static inline uint32_t gantry__k_wide_local(gantry_op_call_t *call,
                                            gantry_backend_kernel_t *kernel) {
    const bool is_wide = call->device_info->max_work_group_size >= GANTRY_K_LOCAL_MOST;

    return gantry__k_local_within(call, kernel, is_wide ? GANTRY_K_LOCAL_MOST : GANTRY_K_LOCAL);
}

/* Launches groups of exactly `local` work-items, a number that the kernel's text relies on. */
static inline int32_t gantry__k_launch_groups(gantry_op_call_t *call,
                                              gantry_backend_kernel_t *kernel, uint64_t groups,
                                              uint32_t local, const gantry_launch_arg_t *args,
                                              uint32_t arg_count) {
    gantry_launch_t launch = {.struct_size = sizeof launch,
                              .dimensions = 1,
                              .global_size = {groups * local, 1, 1},
                              .local_size = {local, 1, 1},
                              .args = args,
                              .arg_count = arg_count};
    return call->services->launch(call, kernel, &launch);
}

/* Launches at least `items` work-items in groups of `local`, or of as many as the kernel may have.
 * The text must test its position, because the last group may have work-items beyond the end. */
static inline int32_t gantry__k_launch_1d(gantry_op_call_t *call, gantry_backend_kernel_t *kernel,
                                          uint64_t items, uint32_t local,
                                          const gantry_launch_arg_t *args, uint32_t arg_count) {
    const uint32_t fit = gantry__k_local_within(call, kernel, local);

    return gantry__k_launch_groups(call, kernel, (items + fit - 1) / fit, fit, args, arg_count);
}

#endif
