/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenCL backend's own types: platforms and devices found through the ICD loader, presented
 * through the plug-in interface.
 *
 * A region's number is its cl_mem; a span is that buffer and an offset. Each device has one
 * context, its own or the program's (opencl_interop.c), and in-order queues without profiling.
 * opencl_status.c makes a code and a text of what a driver refuses.
 *
 * Owner: the core owns instances, devices, streams, events and programs, and must give them back in
 * reverse order; an instance owns the records of its devices, a program its kernels. Threads: as
 * backend_abi.h says slot by slot. */
#ifndef GANTRY_OPENCL_BACKEND_H
#define GANTRY_OPENCL_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/os/thread.h"
#include "opencl/matmul/opencl_clblast.h"
#include "opencl/processor/opencl_cpu_blocks.h"
#include "opencl/opencl_compile.h"
#include "opencl/opencl_drivers.h"
#include "opencl/opencl_status.h"
#include "opencl/opencl_symbols.h"
#include "opencl/opencl_wait.h"
#include "driver/driver_program.h"
#include "driver/driver_record.h"

/* The matrix product that a device uses: option GANTRY_OPENCL_MATMUL. AUTO is resolved when the
 * device is opened. */
enum {
    GANTRY__OPENCL_MATMUL_AUTO = 0,
    GANTRY__OPENCL_MATMUL_CLBLAST = 1,
    GANTRY__OPENCL_MATMUL_CPU = 2,
    GANTRY__OPENCL_MATMUL_PORTABLE = 3,
    GANTRY__OPENCL_MATMUL_TENSOR = 4,  /* NVIDIA's tensor cores by PTX: only on request */
    GANTRY__OPENCL_MATMUL_EMULATED = 5 /* the same kernel in plain OpenCL C, for tests */
};

/* One device as the driver describes it. info points into this record. */
typedef struct gantry__opencl_record_t {
    cl_platform_id platform;
    cl_device_id device;
    gantry_device_info_t info;
    char *hardware_name; /* these five: owned, of strlen + 1 bytes */
    char *vendor;
    char *driver_version;
    char *platform_name;
    char *platform_version;
    gantry__record_texts_t texts;
    char build_options[96]; /* what every program is built with, before its own options */
    bool has_dots;          /* cl_khr_integer_dot_product, for programs in OpenCL C 3.0 */
    bool has_amd_memory;    /* whether the driver reports how much is free */
    atomic_int wait_policy; /* the policy of devices opened from now on; 0: auto */
} gantry__opencl_record_t;

struct gantry_backend_instance_t {
    const gantry_host_t *host;
    gantry__opencl_symbols_t cl;
    gantry__opencl_record_t **records;
    uint32_t record_count;
    uint32_t record_capacity;
    uint32_t platform_count; /* so far, while devices are found: their info.driver */
    int32_t matmul;          /* as requested */
    gantry__mutex_t lock; /* orders the first opening of CLBlast, guards the lines of libraries */
    gantry__opencl_clblast_t clblast;
    struct gantry__clblast_rows_t *clblast_rows; /* the rows of the option's file; NULL: none */
    gantry__opencl_notes_t notes;
    bool has_platforms; /* a driver was called, and now lives as long as the process */
    gantry__opencl_compiler_t compiler;
    char libraries[sizeof(gantry__opencl_notes_t) + 512];
    char libraries_failed[sizeof(gantry__opencl_notes_t) + 1024]; /* with CLBlast's failure */
};

/* Host memory that the driver pinned: a mapped buffer. */
typedef struct gantry__opencl_pinned_t {
    struct gantry__opencl_pinned_t *next;
    cl_mem buffer;
    void *ptr;
} gantry__opencl_pinned_t;

struct gantry_backend_device_t {
    gantry_backend_instance_t *instance;
    const gantry_host_t *host;
    const gantry__opencl_symbols_t *cl;
    const gantry__opencl_record_t *record;
    cl_context context;
    bool is_pocl;
    int32_t matmul; /* resolved: never AUTO */
    /* for products of float32 and of float64 where matmul is CPU */
    gantry__opencl_cpu_blocks_t cpu_blocks[2];
    gantry__opencl_wait_t wait;
    atomic_int used_clblast; /* CLBlast's program cache holds the context */
    /* products at which it failed: of float32 and float64, plain and batched; a bit for each
     * size */
    atomic_ullong clblast_failed[2][2];
    atomic_ullong released_regions; /* how many: a released handle may be another buffer's */
    gantry__mutex_t lock;           /* guards pinned */
    gantry__opencl_pinned_t *pinned;
    cl_command_queue host_queue; /* maps pinned memory; NULL on CPU-type devices */
};

struct gantry_backend_stream_t {
    gantry_backend_device_t *device;
    cl_command_queue queue;
    cl_command_queue former; /* the queue before the last set_timed; NULL: none */
    bool is_adopted;         /* the queue is the program's */
    int32_t priority;
};

struct gantry_backend_event_t {
    gantry_backend_device_t *device;
    cl_event handle; /* NULL until recorded */
    /* recorded there; retained, so that the event may outlive it; NULL: the program's user event */
    cl_command_queue queue;
    atomic_int flushed; /* the queue was flushed after the record */
};

extern const gantry_memory_ops_t gantry__opencl_memory_ops;
extern const gantry_stream_ops_t gantry__opencl_stream_ops;
extern const gantry_event_ops_t gantry__opencl_event_ops;
extern const gantry_transfer_ops_t gantry__opencl_transfer_ops;
extern const gantry_program_ops_t gantry__opencl_program_ops;
extern const gantry_interop_ops_t gantry__opencl_interop_ops;

/* ---- opencl_backend.c ---- */

/* Opens CLBlast on the first call. Returns whether it can be used; if not, reason says why. */
bool gantry__opencl_has_clblast(gantry_backend_instance_t *instance, char *reason,
                                size_t reason_bytes);

/* ---- opencl_device.c ---- */

/* Fills instance->records from all platforms. A platform or device that fails is left out with a
 * warning, and one that the loader returns twice is counted once. Returns Unavailable, with what is
 * missing, when no device remains. */
int32_t gantry__opencl_devices_find(gantry_backend_instance_t *instance);
void gantry__opencl_devices_forget(gantry_backend_instance_t *instance);
int32_t gantry__opencl_device_info(gantry_backend_instance_t *instance, uint32_t index,
                                   gantry_device_info_t *out_info);
int32_t gantry__opencl_device_open(gantry_backend_instance_t *instance, uint32_t index,
                                   gantry_backend_device_t **out_device);
/* The same over the program's context, which has the device; NULL: a context of its own. */
int32_t gantry__opencl_device_open_over(gantry_backend_instance_t *instance, uint32_t index,
                                        cl_context context, gantry_backend_device_t **out_device);
void gantry__opencl_device_close(gantry_backend_device_t *device);
int32_t gantry__opencl_set_wait_policy(gantry_backend_instance_t *instance, uint32_t index,
                                       int32_t policy);

/* ---- opencl_device_info.c ---- */

/* Fills a record whose platform and device must be set. Returns OpenCL's number, or
 * GANTRY__OPENCL_NO_MEMORY with the error stated. For a device that fails or that this backend
 * cannot use, reason says why, which is not the backend's failure. Texts made before a failure stay
 * in the record. */
cl_int gantry__opencl_record_fill(const gantry_backend_instance_t *instance,
                                  gantry__opencl_record_t *record, char *reason,
                                  size_t reason_bytes);
void gantry__opencl_record_deinit(const gantry_host_t *host, gantry__opencl_record_t *record);
/* Writes a text of a platform, without blanks at its ends, which the caller must free. Returns as
 * above. */
cl_int gantry__opencl_platform_text(const gantry_backend_instance_t *instance,
                                    cl_platform_id platform, cl_platform_info what,
                                    char **out_text);

/* ---- opencl_memory.c ---- */

static inline gantry_region_t gantry__opencl_region(cl_mem buffer) {
    return (gantry_region_t)(uintptr_t)buffer;
}

static inline cl_mem gantry__opencl_buffer(gantry_region_t region) {
    return (cl_mem)(uintptr_t)region;
}

/* Frees pinned memory that is still held. */
void gantry__opencl_pinned_release_all(gantry_backend_device_t *device);

/* ---- opencl_event.c ---- */

/* Makes queue, which must be one of device, wait for the event, which may belong to another
 * device. */
int32_t gantry__opencl_event_wait_on(gantry_backend_device_t *device, cl_command_queue queue,
                                     gantry_backend_event_t *event);

/* Makes an event of one that the program recorded, in queue or as a user event (NULL). */
int32_t gantry__opencl_event_over(gantry_backend_device_t *device, cl_event handle,
                                  cl_command_queue queue, gantry_backend_event_t **out_event);

/* ---- opencl_kernel.c ---- */

int32_t gantry__opencl_kernel_find(gantry_backend_program_t *program, const char *name,
                                   gantry_backend_kernel_t **out_kernel);
int32_t gantry__opencl_kernel_launch(gantry_backend_stream_t *stream,
                                     gantry_backend_kernel_t *kernel,
                                     const gantry_launch_t *launch);
int32_t gantry__opencl_kernel_info(gantry_backend_kernel_t *kernel, gantry_kernel_info_t *out_info);
/* Releases all kernels of a program's list. */
void gantry__opencl_kernels_release(gantry__kernel_list_t *kernels);

struct gantry_backend_program_t {
    gantry__program_head_t head; /* must be first */
    cl_program handle;
};

#endif
