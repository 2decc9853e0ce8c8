/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA backend's own types: cards found through NVIDIA's driver, presented through the plug-in
 * interface.
 *
 * A region's number is its device pointer. Every slot that calls the driver must push the device's
 * context, if the thread has another one, and pop it again, so that a thread leaves with the
 * context with which it came. The context is the card's primary one, retained and never reset, one
 * of our own by GANTRY_CUDA_CONTEXT=private, or the program's (cuda_interop.c). cuda_driver.c makes
 * a code and a text of what the driver refuses.
 *
 * Owner: the core owns instances, devices, streams, events and programs, and must give them back in
 * reverse order; an instance owns the records of its devices, a program its kernels. Threads: as
 * backend_abi.h says slot by slot. */
#ifndef GANTRY_CUDA_BACKEND_H
#define GANTRY_CUDA_BACKEND_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/os/thread.h"
#include "cuda/cublas/cuda_cublas_table.h"
#include "cuda/cudnn/cuda_cudnn_table.h"
#include "cuda/cuda_nccl.h"
#include "cuda/cuda_nvml.h"
#include "cuda/cuda_nvrtc.h"
#include "cuda/cuda_driver.h"
#include "driver/driver_program.h"
#include "driver/driver_record.h"
#include "driver/wait_policy.h"

/* One card as the driver describes it. info points into this record, which must therefore not move
 * without gantry__cuda_record_point. */
typedef struct gantry__cuda_record_t {
    gantry__cu_device_t device;
    int capability; /* 90 for 9.0 */
    int arch;       /* what programs are compiled for; 0 when NVRTC cannot */
    bool is_ptx;    /* programs end as PTX for a later card, because NVRTC is older */
    gantry_device_info_t info;
    char hardware_name[256];
    gantry__record_texts_t texts;
    atomic_int wait_policy;               /* GANTRY__WAIT_...; 0: the instance's */
    gantry_backend_device_t *open_device; /* the one opened last; NULL: none is open */
} gantry__cuda_record_t;

struct gantry_backend_instance_t {
    const gantry_host_t *host;
    gantry__cuda_symbols_t cu;
    gantry__nvrtc_t nvrtc;
    gantry__cuda_record_t *records;
    uint32_t record_count;
    uint32_t record_capacity;
    bool has_private_contexts;
    bool waits_by_blocking;        /* waiting threads sleep; GANTRY_CUDA_WAIT=block */
    bool is_started;               /* cuInit succeeded */
    unsigned int float32_products; /* GANTRY__CUBLAS_COMPUTE_32F, or a faster one */
    char version[24];              /* the driver's, such as "CUDA 12.9" */
    /* whether libraries of CUDA 12 come before those of 13, which need a driver of 13 and know no
     * card before 7.5 */
    bool wants_12;
    /* guards the records' open_device and what is opened late: the tables below and the line */
    gantry__mutex_t lock;
    gantry__cublas_t cublas;
    gantry__nvml_t nvml;
    gantry__cudnn_t cudnn;
    gantry__nccl_t nccl;
    gantry__mutex_t nccl_lock; /* for NCCL's groups and cliques, and around its calls */
    char libraries[8192];
};

/* What a library takes of a card for itself: for its handle, and for kernels that it loads when
 * they are first used. */
typedef struct gantry__library_memory_t {
    atomic_bool is_new; /* noted, and the library has computed nothing yet */
    uint64_t free_bytes;
    uint64_t region_bytes; /* ours */
} gantry__library_memory_t;

struct gantry_backend_device_t {
    gantry_backend_instance_t *instance;
    const gantry_host_t *host;
    const gantry__cuda_symbols_t *cu;
    gantry__cuda_record_t *record;
    gantry__cu_context_t context;
    bool is_private;
    bool is_adopted;    /* the context is the program's */
    int least_priority; /* the context's own, wider than info's */
    int greatest_priority;
    atomic_ullong peers_tried; /* bit: index of a device whose memory was requested */
    gantry__mutex_t lock;      /* guards what follows */
    gantry__cu_stream_t relay; /* for events that come in; NULL: none came */
    bool has_tried_cublas;
    gantry__cublas_handle_t cublas; /* NULL: not made, or refused */
    gantry__library_memory_t cublas_memory, cudnn_memory;
    atomic_uint captures;                  /* open captures */
    atomic_ullong region_bytes;            /* taken through us and not given back */
    uint8_t tuned[GANTRY__CUBLAS_CLASSES]; /* tuned choices: cuda_cublas_tuned.h */
    gantry__cublas_table_t plans;
    gantry__cublas_table_t answers; /* the library's answers: whether it has a way for a form */
    gantry__mutex_t cudnn_lock;     /* guards what follows */
    gantry__cudnn_device_t cudnn;
};

struct gantry_backend_stream_t {
    gantry_backend_device_t *device;
    gantry__cu_stream_t handle;
    bool is_capturing; /* a capture began here and has not ended */
    bool is_adopted;   /* the program's */
};

struct gantry_backend_event_t {
    gantry_backend_device_t *device;
    gantry__cu_event_t handle;
};

struct gantry_backend_graph_t {
    gantry_backend_device_t *device;
    gantry__cu_graph_exec_t exec;
};

struct gantry_backend_program_t {
    gantry__program_head_t head; /* must be first */
    gantry__cu_module_t module;
    void *image; /* CUBIN or PTX, owned: image_bytes and a zero */
    size_t image_bytes;
};

extern const gantry_memory_ops_t gantry__cuda_memory_ops;
extern const gantry_stream_ops_t gantry__cuda_stream_ops;
extern const gantry_event_ops_t gantry__cuda_event_ops;
extern const gantry_transfer_ops_t gantry__cuda_transfer_ops;
extern const gantry_program_ops_t gantry__cuda_program_ops;
extern const gantry_graph_ops_t gantry__cuda_graph_ops;
extern const gantry_interop_ops_t gantry__cuda_interop_ops;

/* ---- the context around a call ---- */

static inline gantry__cu_result_t gantry__cuda_enter(const gantry_backend_device_t *device) {
    return device->cu->cuCtxPushCurrent_v2(device->context);
}

static inline void gantry__cuda_leave(const gantry_backend_device_t *device) {
    gantry__cu_context_t popped = NULL;
    device->cu->cuCtxPopCurrent_v2(&popped);
}

/* Whether the device's context is current. This query costs less than pushing and popping. */
static inline bool gantry__cuda_is_inside(const gantry_backend_device_t *device) {
    gantry__cu_context_t current = NULL;
    return device->cu->cuCtxGetCurrent(&current) == GANTRY__CU_SUCCESS &&
           current == device->context;
}

/* Sets native = expression, which is evaluated with the device's context current. */
#define GANTRY__CUDA_CALL(device, native, expression)                           \
    do {                                                                        \
        const bool is_inside = gantry__cuda_is_inside(device);                  \
        (native) = is_inside ? GANTRY__CU_SUCCESS : gantry__cuda_enter(device); \
        if ((native) == GANTRY__CU_SUCCESS) {                                   \
            (native) = (expression);                                            \
            if (!is_inside) gantry__cuda_leave(device);                         \
        }                                                                       \
    } while (0)

/* A device's bit in the peers_tried of others; 0: it is beyond them, and its memory is never
 * requested. */
static inline unsigned long long gantry__cuda_peer_bit(const gantry_backend_device_t *device) {
    uint64_t number = (uint64_t)(device->record - device->instance->records);
    return number < 64 ? 1ull << number : 0;
}

static inline gantry__cu_address_t gantry__cuda_address(const gantry_span_t *span) {
    return (gantry__cu_address_t)(span->region + span->offset_bytes);
}

/* ---- cuda_device.c ---- */

/* Fills instance->records. A card that fails is left out with a warning; Unavailable, with the
 * reason, is returned when none remains. */
int32_t gantry__cuda_devices_find(gantry_backend_instance_t *instance);
void gantry__cuda_devices_forget(gantry_backend_instance_t *instance);
int32_t gantry__cuda_device_info(gantry_backend_instance_t *instance, uint32_t index,
                                 gantry_device_info_t *out_info);
int32_t gantry__cuda_device_open(gantry_backend_instance_t *instance, uint32_t index,
                                 gantry_backend_device_t **out_device);
/* The same over a context of the program, which stays the program's. */
int32_t gantry__cuda_device_open_over(gantry_backend_instance_t *instance, uint32_t index,
                                      gantry__cu_context_t context,
                                      gantry_backend_device_t **out_device);
void gantry__cuda_device_close(gantry_backend_device_t *device);
int32_t gantry__cuda_set_wait_policy(gantry_backend_instance_t *instance, uint32_t index,
                                     int32_t policy);
/* GANTRY__WAIT_...: the device's own policy, else that of GANTRY_CUDA_WAIT. */
int32_t gantry__cuda_wait_policy(const gantry_backend_device_t *device);

/* ---- cuda_interop.c ---- */

/* Fails if the program captures a stream of its own. */
int32_t gantry__cuda_stream_refuse_capture(const gantry_backend_stream_t *stream);

/* Must be called before work is submitted to the stream. */
static inline int32_t gantry__cuda_stream_check(const gantry_backend_stream_t *stream) {
    return stream->is_adopted ? gantry__cuda_stream_refuse_capture(stream) : GANTRY_OK;
}

/* ---- cuda_memory.c ---- */

/* The slot card_memory. Without NVML an open device answers for its card; Unavailable, with the
 * reason, is returned when none is open. */
int32_t gantry__cuda_card_memory(gantry_backend_instance_t *instance, uint32_t index,
                                 uint64_t *out_free_bytes, uint64_t *out_total_bytes);

void gantry__library_memory_init(gantry__library_memory_t *memory);
/* Notes what is free before the library takes anything. The context must be current. */
void gantry__library_memory_note(gantry_backend_device_t *device, gantry__library_memory_t *memory);
/* What the library took, after its first computation, and what others took meanwhile; 0 from then
 * on. The context must be current. */
uint64_t gantry__library_memory_took(gantry_backend_device_t *device,
                                     gantry__library_memory_t *memory);
/* Reports these bytes to the core, if there are any. */
void gantry__library_memory_report(gantry_op_call_t *call, uint64_t bytes);

/* ---- cuda_nvml_telemetry.c ---- */

/* Each returns Unavailable, with the reason, without NVML. */
extern const gantry_telemetry_ops_t gantry__cuda_telemetry_ops;

/* ---- cuda_device_info.c ---- */

/* Fills a record whose device must be set. Returns the driver's number; for a card that this
 * backend cannot use, reason says why. */
gantry__cu_result_t gantry__cuda_record_fill(const gantry_backend_instance_t *instance,
                                             gantry__cuda_record_t *record, char *reason,
                                             size_t reason_bytes);
/* Points the record's info to its own texts; it must be called after the record moved. */
void gantry__cuda_record_point(const gantry_backend_instance_t *instance,
                               gantry__cuda_record_t *record);

/* Chooses, of the architectures for which NVRTC compiles, the one for a card of this compute
 * capability; 0: none. */
int gantry__cuda_arch_choose(const int *archs, int count, int capability);

/* ---- cuda_backend.c ---- */

/* NVML, which the first call opens. */
const gantry__nvml_t *gantry__cuda_nvml(gantry_backend_instance_t *instance);
/* Opens cuBLASLt on the first call. Returns whether it can be used; if not, reason says why. */
bool gantry__cuda_has_cublas(gantry_backend_instance_t *instance, char *reason,
                             size_t reason_bytes);
/* The same of cuDNN. */
bool gantry__cuda_has_cudnn(gantry_backend_instance_t *instance, char *reason, size_t reason_bytes);

/* ---- cuda_graph.c ---- */

/* Ends what a capturing stream has captured and throws it away. The device's context must be
 * current. */
void gantry__cuda_capture_abandon(gantry_backend_stream_t *stream);
/* Must be called before a copy of host memory, because a stream that is captured refuses pageable
 * memory. */
int32_t gantry__cuda_capture_check(const gantry_backend_stream_t *stream, const void *memory,
                                   uint64_t size_bytes);

/* ---- cuda_kernel.c ---- */

int32_t gantry__cuda_kernel_find(gantry_backend_program_t *program, const char *name,
                                 gantry_backend_kernel_t **out_kernel);
int32_t gantry__cuda_kernel_launch(gantry_backend_stream_t *stream, gantry_backend_kernel_t *kernel,
                                   const gantry_launch_t *launch);
int32_t gantry__cuda_kernel_info(gantry_backend_kernel_t *kernel, gantry_kernel_info_t *out_info);
/* Releases all kernels of a program's list. */
void gantry__cuda_kernels_release(const gantry_host_t *host, gantry__kernel_list_t *kernels);

#endif
