/* SPDX-License-Identifier: Apache-2.0 */
/** @file
 * The slots by which a backend shares a driver's objects with the program: contexts, queues, memory
 * and events that the program made come in, and those of Gantry go out.
 *
 * A native object is what the driver calls it, as a void pointer: cl_context, cl_device_id,
 * cl_command_queue, cl_mem and cl_event; CUcontext, CUstream, CUdeviceptr and CUevent. A CUdevice
 * is a number in the pointer's bits.
 *
 * Objects that come in stay the program's: the backend never ends them, and gives back each
 * reference that it took, also when a slot fails. The program's context outlives the instance.
 *
 * Threads: as backend_abi.h says of the tables of a device. */
#ifndef GANTRY_ABI_INTEROP_H
#define GANTRY_ABI_INTEROP_H

#include <stdint.h>

struct gantry_backend_instance_t;
struct gantry_backend_device_t;
struct gantry_backend_stream_t;
struct gantry_backend_event_t;

/** Sharing with the program. All slots are required when the table is there. */
typedef struct gantry_interop_ops_t {
    uint32_t struct_size; /**< Its sizeof. */
    uint32_t reserved;    /**< 0. */
    /** Which of the devices that open found a program's context is of. native_device may be NULL if
     * the context has one device, or if the driver's contexts have one each. InvalidArgument names
     * what was given and what is accepted. */
    int32_t (*context_find)(struct gantry_backend_instance_t *instance, void *native_context,
                            void *native_device, uint32_t *out_index);
    /** Opens a device, as device_open does, over the program's context instead of one of its own;
     * device_close gives it back. */
    int32_t (*device_adopt)(struct gantry_backend_instance_t *instance, uint32_t index,
                            void *native_context, struct gantry_backend_device_t **out_device);
    /** Makes a stream over the program's queue, which must be an in-order queue of the device and
     * of its context: else InvalidArgument. Other threads of the program may submit to it at any
     * time. destroy does not wait for the queue and does not end it; synchronize waits for all work
     * before it, the program's too. */
    int32_t (*stream_adopt)(struct gantry_backend_device_t *device, void *native_queue,
                            struct gantry_backend_stream_t **out_stream);
    /** Makes a region of the program's memory, which may begin before it: out_offset_bytes is where
     * offset_bytes is in the region, whose first byte has base_alignment_bytes.
     * [offset_bytes, offset_bytes + size_bytes) must be in the memory; writes is 1 if work may
     * write there. InvalidArgument for memory that is too small, of another context, or whose flags
     * forbid the use. */
    int32_t (*region_adopt)(struct gantry_backend_device_t *device, void *native_memory,
                            uint64_t offset_bytes, uint64_t size_bytes, int32_t writes,
                            uint64_t *out_region, uint64_t *out_offset_bytes);
    /** Gives a region of region_adopt back. No work that uses it is pending. */
    void (*region_disown)(struct gantry_backend_device_t *device, uint64_t region);
    /** Makes an event of one that the program recorded. It takes wait_event, query, synchronize and
     * destroy, and is not recorded again. */
    int32_t (*event_adopt)(struct gantry_backend_device_t *device, void *native_event,
                           struct gantry_backend_event_t **out_event);
    /** The context of an open device. */
    void *(*native_context)(struct gantry_backend_device_t *device);
    /** The device itself. */
    void *(*native_device)(struct gantry_backend_device_t *device);
    /** The queue of a stream. */
    void *(*native_queue)(struct gantry_backend_stream_t *stream);
    /** The memory of a region, of region_alloc or region_adopt, from which its spans count. */
    void *(*native_memory)(struct gantry_backend_device_t *device, uint64_t region);
    /** Records an event after the stream's present work that belongs to the caller, who releases
     * it. Work before it was handed to the device: a wait in another queue needs no flush. */
    int32_t (*native_event)(struct gantry_backend_stream_t *stream, void **out_native_event);
} gantry_interop_ops_t;

#endif
