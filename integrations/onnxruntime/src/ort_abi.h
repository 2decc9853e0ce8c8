/* SPDX-License-Identifier: Apache-2.0 */
/* The interface between ONNX Runtime and a provider in a file of its own, as far as it is used:
 * facts of onnxruntime_c_api.h and onnxruntime_ep_c_api.h at API 24, the first one that the
 * provider works with, and of profilers at API 25. Tables and structs only grow at their ends, and
 * each that the provider fills begins with the version whose members it has, so ONNX Runtime calls
 * no younger one.
 *
 * Owner: ONNX Runtime has its tables. Threads: constant. */
#ifndef GANTRY_ORT_ABI_H
#define GANTRY_ORT_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ORT_VERSION 24
#define ORT_PROFILER_VERSION 25
/* The first release whose groups get what only bodies read (microsoft/onnxruntime#28608). */
#define ORT_BODY_INPUTS_VERSION 27

typedef struct ort_status_t ort_status_t;
typedef struct ort_value_t ort_value_t;
typedef struct ort_type_info_t ort_type_info_t;
typedef struct ort_tensor_info_t ort_tensor_info_t;
typedef struct ort_kernel_context_t ort_kernel_context_t;
typedef struct ort_logger_t ort_logger_t;
typedef struct ort_attr_t ort_attr_t;
typedef struct ort_value_info_t ort_value_info_t;
typedef struct ort_pairs_t ort_pairs_t;
typedef struct ort_hardware_t ort_hardware_t;
typedef struct ort_ep_device_t ort_ep_device_t;
typedef struct ort_graph_t ort_graph_t;
typedef struct ort_node_t ort_node_t;
typedef struct ort_session_options_t ort_session_options_t;
typedef struct ort_support_t ort_support_t;
typedef struct ort_compute_context_t ort_compute_context_t;
typedef struct ort_ep_api_t ort_ep_api_t;
typedef struct ort_ep_t ort_ep_t;
typedef struct ort_factory_t ort_factory_t;
typedef struct ort_compute_t ort_compute_t;
typedef struct ort_memory_info_t ort_memory_info_t;
typedef struct ort_memory_device_t ort_memory_device_t;
typedef struct ort_stream_t ort_stream_t;
typedef struct ort_stream_impl_t ort_stream_impl_t;
typedef struct ort_notification_t ort_notification_t;
typedef struct ort_allocator_t ort_allocator_t;
typedef struct ort_transfer_t ort_transfer_t;
typedef struct ort_run_options_t ort_run_options_t;
typedef struct ort_profiler_t ort_profiler_t;
typedef struct ort_event_t ort_event_t;
typedef struct ort_events_t ort_events_t;

/* Statuses. A provider's own code, 11, makes ONNX Runtime run the model on its CPU without a word
 * to the program: it is not used. */
enum { ORT_FAIL = 1, ORT_INVALID_ARGUMENT = 2, ORT_RUNTIME_EXCEPTION = 6, ORT_NOT_IMPLEMENTED = 9 };
enum { ORT_DEVICE_CPU = 0, ORT_DEVICE_GPU = 1 };
enum { ORT_MEMORY_DEFAULT = 0, ORT_MEMORY_HOST_ACCESSIBLE = 5 };
enum { ORT_DEVICE_ALLOCATOR = 0 };
enum { ORT_LOG_INFO = 1, ORT_LOG_WARNING = 2 };
enum { ORT_EVENT_KERNEL = 2 };
/* Kinds of attributes. */
enum {
    ORT_ATTR_INT = 1,
    ORT_ATTR_INTS = 2,
    ORT_ATTR_FLOAT = 3,
    ORT_ATTR_FLOATS = 4,
    ORT_ATTR_STRING = 5,
    ORT_ATTR_STRINGS = 6,
    ORT_ATTR_GRAPH = 7,
    ORT_ATTR_TENSOR = 8
};

typedef struct ort_api_t {
#define CALL(name, type, arguments) type(*name) arguments;
#define SKIP(name) void (*name)(void);
#include "ort_api.def"
#undef CALL
#undef SKIP
} ort_api_t;
_Static_assert(offsetof(ort_api_t, ReleaseStatus) == 93 * sizeof(void *), "a slot is missing");
_Static_assert(offsetof(ort_api_t, GetEpApi) == 317 * sizeof(void *), "a slot is missing");
_Static_assert(offsetof(ort_api_t, Graph_GetName) == 333 * sizeof(void *), "a slot is missing");
_Static_assert(offsetof(ort_api_t, GetTensorElementTypeAndShapeDataReference) ==
                   414 * sizeof(void *),
               "a slot is missing");
_Static_assert(offsetof(ort_api_t, TensorTypeAndShape_HasShape) == 390 * sizeof(void *),
               "a slot is missing");

typedef struct ort_api_base_t {
    const ort_api_t *(*GetApi)(uint32_t version);
    const char *(*GetVersionString)(void);
} ort_api_base_t;

typedef struct ort_fusion_options_t {
    uint32_t version;
    bool drop_constant_initializers;
} ort_fusion_options_t;

struct ort_ep_api_t {
    ort_status_t *(*CreateEpDevice)(ort_factory_t *factory, const ort_hardware_t *hardware,
                                    const ort_pairs_t *metadata, const ort_pairs_t *options,
                                    ort_ep_device_t **out_device);
    void (*ReleaseEpDevice)(ort_ep_device_t *device);
    ort_status_t *(*AddNodesToFuse)(ort_support_t *support, const ort_node_t *const *nodes,
                                    size_t count, const ort_fusion_options_t *options);
    ort_status_t *(*AddSingleNode)(ort_support_t *support, const ort_node_t *node);
    const char *(*NodeComputeContext_NodeName)(const ort_compute_context_t *context);
    ort_status_t *(*EpDevice_AddAllocatorInfo)(ort_ep_device_t *device,
                                               const ort_memory_info_t *memory);
    const ort_memory_device_t *(*MemoryInfo_GetMemoryDevice)(const ort_memory_info_t *memory);
    const ort_memory_device_t *(*Value_GetMemoryDevice)(const ort_value_t *value);
    void (*MemoryDevice_AreEqual)(void);
    int (*MemoryDevice_GetDeviceType)(const ort_memory_device_t *device);
    int (*MemoryDevice_GetMemoryType)(const ort_memory_device_t *device);
    uint32_t (*MemoryDevice_GetVendorId)(const ort_memory_device_t *device);
    uint32_t (*MemoryDevice_GetDeviceId)(const ort_memory_device_t *device);
    void (*skipped[3])(void); /* Streams. */
    ort_status_t *(*CreateHardwareDevice)(int type, uint32_t vendor_id, uint32_t device_id,
                                          const char *vendor, const ort_pairs_t *metadata,
                                          ort_hardware_t **out_device);
    void (*ReleaseHardwareDevice)(ort_hardware_t *device);
    void (*skipped_kernels[47])(void); /* Kernels, prepacking, control flow, schemas. */
    /* Of 25. */
    ort_status_t *(*CreateProfilingEvent)(int category, int32_t process, int32_t thread,
                                          const char *name, int64_t begin_us, int64_t duration_us,
                                          const char *const *keys, const char *const *values,
                                          size_t count, ort_event_t **out_event);
    void (*ReleaseProfilingEvent)(ort_event_t *event);
    void (*skipped_events[5])(void);
    ort_status_t *(*ProfilingEventsContainer_AddEvents)(ort_events_t *events,
                                                        const ort_event_t *const *list,
                                                        size_t count);
};
_Static_assert(offsetof(ort_ep_api_t, ProfilingEventsContainer_AddEvents) == 72 * sizeof(void *),
               "a slot is missing");

/* What runs a group of nodes that was fused. */
struct ort_compute_t {
    uint32_t version;
    ort_status_t *(*CreateState)(ort_compute_t *self, ort_compute_context_t *context,
                                 void **out_state);
    ort_status_t *(*Compute)(ort_compute_t *self, void *state, ort_kernel_context_t *context);
    void (*ReleaseState)(ort_compute_t *self, void *state);
};

/* What gives memory of a device. */
struct ort_allocator_t {
    uint32_t version;
    void *(*Alloc)(ort_allocator_t *self, size_t size);
    void (*Free)(ort_allocator_t *self, void *address);
    const ort_memory_info_t *(*Info)(const ort_allocator_t *self);
    void *(*Reserve)(ort_allocator_t *self, size_t size);
    ort_status_t *(*GetStats)(const ort_allocator_t *self, ort_pairs_t **out_stats);
    void *(*AllocOnStream)(ort_allocator_t *self, size_t size, ort_stream_t *stream);
};

/* The order of work on a device, and an event in it. Failures of Flush and of waits are logged. */
struct ort_stream_impl_t {
    uint32_t version;
    void (*Release)(ort_stream_impl_t *self);
    void *(*GetHandle)(ort_stream_impl_t *self);
    ort_status_t *(*CreateNotification)(ort_stream_impl_t *self,
                                        ort_notification_t **out_notification);
    ort_status_t *(*Flush)(ort_stream_impl_t *self);
    ort_status_t *(*OnSessionRunEnd)(ort_stream_impl_t *self);
};
struct ort_notification_t {
    uint32_t version;
    void (*Release)(ort_notification_t *self);
    ort_status_t *(*Activate)(ort_notification_t *self);
    ort_status_t *(*WaitOnDevice)(ort_notification_t *self, ort_stream_t *consumer);
    ort_status_t *(*WaitOnHost)(ort_notification_t *self);
};

/* What copies tensors between the host and devices. */
struct ort_transfer_t {
    uint32_t version;
    void (*Release)(ort_transfer_t *self);
    bool (*CanCopy)(const ort_transfer_t *self, const ort_memory_device_t *from,
                    const ort_memory_device_t *to);
    ort_status_t *(*CopyTensors)(ort_transfer_t *self, const ort_value_t **from, ort_value_t **to,
                                 ort_stream_t **streams, size_t count);
};

/* The provider in a session. */
struct ort_ep_t {
    uint32_t version;
    const char *(*GetName)(const ort_ep_t *self);
    ort_status_t *(*GetCapability)(ort_ep_t *self, const ort_graph_t *graph,
                                   ort_support_t *support);
    ort_status_t *(*Compile)(ort_ep_t *self, const ort_graph_t **graphs, const ort_node_t **fused,
                             size_t count, ort_compute_t **out_computes, ort_node_t **out_contexts);
    void (*ReleaseNodeComputeInfos)(ort_ep_t *self, ort_compute_t **computes, size_t count);
    void (*skipped_layouts[3])(void); /* And options. */
    ort_status_t *(*OnRunStart)(ort_ep_t *self, const ort_run_options_t *options);
    ort_status_t *(*OnRunEnd)(ort_ep_t *self, const ort_run_options_t *options, bool waits);
    ort_status_t *(*CreateAllocator)(ort_ep_t *self, const ort_memory_info_t *memory,
                                     ort_allocator_t **out_allocator);
    ort_status_t *(*CreateSyncStreamForDevice)(ort_ep_t *self, const ort_memory_device_t *device,
                                               ort_stream_impl_t **out_stream);
    void (*skipped[2])(void); /* Compiled models, kernels. */
    ort_status_t *(*IsConcurrentRunSupported)(ort_ep_t *self, bool *out_is);
    /* Of 25. */
    ort_status_t *(*Sync)(ort_ep_t *self);
    ort_status_t *(*CreateProfiler)(ort_ep_t *self, ort_profiler_t **out_profiler);
};

/* What adds the provider's events to a profile. Times are from the profile's beginning. */
struct ort_profiler_t {
    uint32_t version;
    void (*Release)(ort_profiler_t *self);
    ort_status_t *(*StartProfiling)(ort_profiler_t *self, int64_t since_begin_ns);
    void (*StartEvent)(void);
    void (*StopEvent)(void);
    ort_status_t *(*EndProfiling)(ort_profiler_t *self, ort_events_t *events);
};

/* The provider in a process. */
struct ort_factory_t {
    uint32_t version;
    const char *(*GetName)(const ort_factory_t *self);
    const char *(*GetVendor)(const ort_factory_t *self);
    ort_status_t *(*GetSupportedDevices)(ort_factory_t *self, const ort_hardware_t *const *hardware,
                                         size_t hardware_count, ort_ep_device_t **out_devices,
                                         size_t room, size_t *out_count);
    ort_status_t *(*CreateEp)(ort_factory_t *self, const ort_hardware_t *const *hardware,
                              const ort_pairs_t *const *metadata, size_t count,
                              const ort_session_options_t *options, const ort_logger_t *logger,
                              ort_ep_t **out_ep);
    void (*ReleaseEp)(ort_factory_t *self, ort_ep_t *ep);
    uint32_t (*GetVendorId)(const ort_factory_t *self);
    const char *(*GetVersion)(const ort_factory_t *self);
    void (*ValidateCompiledModel)(void);
    ort_status_t *(*CreateAllocator)(ort_factory_t *self, const ort_memory_info_t *memory,
                                     const ort_pairs_t *options, ort_allocator_t **out_allocator);
    void (*ReleaseAllocator)(ort_factory_t *self, ort_allocator_t *allocator);
    ort_status_t *(*CreateDataTransfer)(ort_factory_t *self, ort_transfer_t **out_transfer);
    bool (*IsStreamAware)(const ort_factory_t *self);
    ort_status_t *(*CreateSyncStreamForDevice)(ort_factory_t *self,
                                               const ort_memory_device_t *device,
                                               const ort_pairs_t *options,
                                               ort_stream_impl_t **out_stream);
    void (*skipped[4])(void);
};

#endif
