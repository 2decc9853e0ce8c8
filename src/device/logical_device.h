/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a logical device: a card or a part of one, with everything that an op on it needs.
 * It is made when the device table freezes (device/logical_make.c), and opened on first use
 * (device/device_open.h).
 *
 * Owner: the device table. Threads: constant, except for fields that say otherwise, so that any
 * thread may read it. */
#ifndef GANTRY_DEVICE_LOGICAL_DEVICE_H
#define GANTRY_DEVICE_LOGICAL_DEVICE_H

#include "device/card.h"
#include "device/physical_device.h"
#include "device/stream.h"
#include "memory/allocator.h"

struct gantry_logical_device_t {
    struct gantry__device_table_t *table;
    /* gantry__logical_view: the view that serves it */
    const struct gantry_physical_device_t *physical;
    gantry__card_t *card; /* physical's */
    /* its part of the card's configuration; NULL: the card is not configured */
    const gantry_logical_device_config_t *part;
    /* decided by the view that serves the card: set when the device is made, and again when it is
     * opened */
    const gantry_backend_t *backend;
    /* the card's, with the limits that the part imitates: the one that kernels and callers read */
    gantry_device_info_t info;
    /* work-groups and local memory are smaller than the card's: launches are checked */
    bool imitates_launches;
    bool synchronous;
    bool host_addressable;
    bool waits_for_pageable;
    int32_t index;     /* N of GPU:N; -1: reached by alias only */
    uint32_t position; /* the position in the table */
    char name[80];     /* "/device:GPU:0" */
    char full_name[128];
    /* valid once is_open */
    atomic_bool is_open;
    gantry_backend_device_t *handle;
    uint64_t limit_bytes;   /* the limit of all memory taken on it */
    uint64_t context_bytes; /* the part of it that is charged for the driver's context */
    gantry__allocator_t allocator;
    _Atomic(struct gantry__buffer_t *) ending; /* without references, in use */
    atomic_uint_fast64_t freed_regions;        /* counts them: numbers of regions may come again */
    gantry__stream_t streams[GANTRY__STREAMS];
    struct gantry__fault_table_t *faults; /* see device/fault.h */
    struct gantry__staging_t *staging;    /* see device/staging.h */
    /* the placer's request for this device; NULL until a scope begins on it */
    _Atomic(const struct gantry__wish_t *) wish;
    /* NULL until a timeline has an event of the device (device/device_times.h) */
    _Atomic(struct gantry__device_times_t *) times;
};

/* Whether the device is a processor. One that imitates a card, or makes lanes from work-items, does
 * not count. */
static inline bool gantry__logical_is_processor(const gantry_logical_device_t *device) {
    return device->info.type == GANTRY_DEVICE_TYPE_CPU && device->info.sub_group_size <= 1;
}

/* The view that serves the card: itself, or the one that took over. */
static inline const struct gantry_physical_device_t *gantry__device_view(
    const struct gantry_physical_device_t *listed) {
    const struct gantry_physical_device_t *instead =
        atomic_load_explicit(&listed->card->instead, memory_order_acquire);
    return instead ? instead : listed;
}
/* Its memory is host memory. */
static inline bool gantry__logical_is_host_backed(const gantry_logical_device_t *device) {
    return (device->info.flags & GANTRY_DEVICE_HOST_BACKED) != 0;
}
static inline const struct gantry_physical_device_t *gantry__logical_view(
    const gantry_logical_device_t *device) {
    return gantry__device_view(device->physical);
}

/* Whether both are parts of one card: they share the driver's context. */
static inline bool gantry__logical_device_is_sibling(const gantry_logical_device_t *a,
                                                     const gantry_logical_device_t *b) {
    return a->physical == b->physical;
}

/* Takes over the fields that the view that serves the card decides. The caller must hold the card's
 * open_lock, or be making the table. */
void gantry__logical_device_bind(gantry_logical_device_t *device);

#endif
