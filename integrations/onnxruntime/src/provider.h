/* SPDX-License-Identifier: Apache-2.0 */
/* The provider: what its files share.
 *
 *     plugin.c      the two functions that ONNX Runtime looks up
 *     factory.c     devices and sessions
 *     ep.c          a session: its options, what it compiles
 *     claim.c       which nodes of a graph it takes, and why it leaves the others
 *     check.c       whether Gantry has a node, with the reason
 *     kinds.c       nodes that are alike, so that one is checked for all
 *     partition.c   groups of nodes, none with a path out of it and back
 *     lists.c       the values of a node
 *     bytes.c       a graph of ONNX Runtime as an ONNX file in memory
 *     compute.c     runs a group as a model of libgantry_onnx
 *     value.c       tensors of ONNX Runtime's values, and back
 *     memory.c      addresses for tensors of devices
 *     transfer.c    copies between the host and devices
 *     stream.c      streams, which order nothing
 *     profile.c     the nodes of groups in ONNX Runtime's profile
 *
 * A group of nodes becomes the bytes of an ONNX file, which gantry_onnx_model_load_bytes takes: so
 * libgantry_onnx has the only list of ops and their rules, and weights are copied once, into bytes
 * that tensors use in place.
 *
 * Owner: ONNX Runtime releases factories, sessions and computes; each holds a reference to the
 * provider, so they may go in any order. Threads: as the struct says. */
#ifndef GANTRY_ORT_PROVIDER_H
#define GANTRY_ORT_PROVIDER_H

#include <pthread.h>
#include <stdatomic.h>

#include <gantry/gantry.h>
#include <gantry_onnx/onnx.h>

#include "ort_abi.h"

#define ORT_PROVIDER_NAME "GantryExecutionProvider"
#define ORT_MOST_DEVICES 16
/* Of devices that Gantry describes, and of their memory. */
#define ORT_VENDOR_ID 0x10000u
#define ORT_TEXT_BYTES 2048 /* of a status */

/* What lives as long as anything of the provider. Thread-safe. */
typedef struct ort_provider_t {
    const ort_api_t *api;
    const ort_ep_api_t *ep_api;
    gantry_runtime_t *runtime;
    uint32_t release; /* N of ONNX Runtime 1.N: ORT_VERSION or later */
    bool offers_cpu;
    /* Bytes that inputs, outputs and transfers copied. */
    atomic_ullong bytes_to_device, bytes_to_host;
    /* Whoever has work for the runtime reads it; the end of a timeline, between that, writes it. No
     * function of ONNX Runtime that may wait for the end of a profile is called under it. */
    pthread_rwlock_t work;
} ort_provider_t;

/* settings: texts "NAME=VALUE" for the runtime, as its option extra; NULL: none. */
ort_status_t *ort_provider_create(const ort_api_t *api, uint32_t release, bool offers_cpu,
                                  const char *const *settings, ort_provider_t **out_provider);
ort_provider_t *ort_provider_retain(ort_provider_t *provider);
void ort_provider_release(ort_provider_t *provider);

/* A status with a text; the code follows from Gantry's. */
ort_status_t *ort_fail(const ort_provider_t *provider, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
ort_status_t *ort_out_of_memory(const ort_provider_t *provider);
/* The status of Gantry with the thread's last message. */
ort_status_t *ort_fail_as(const ort_provider_t *provider, gantry_status_t status, const char *text);

/* Finds a device by Gantry's name. */
ort_status_t *ort_find_device(const ort_provider_t *provider, const char *name,
                              const gantry_logical_device_t **out_device);
/* Finds the GPU that has a memory. */
ort_status_t *ort_find_gpu(const ort_provider_t *provider, const ort_memory_device_t *memory,
                           const gantry_logical_device_t **out_device);
/* Whether a device is there, not lost. */
ort_status_t *ort_check_device(const ort_provider_t *provider,
                               const gantry_logical_device_t *device);

/* Hands a failure of ONNX Runtime on. */
#define ORT_TRY(expression)                   \
    do {                                      \
        ort_status_t *failed_ = (expression); \
        if (failed_) return failed_;          \
    } while (0)

/* ---- factory.c ---- */
ort_factory_t *ort_factory_create(ort_provider_t *provider);
void ort_factory_release(ort_factory_t *factory);

/* ---- ep.c ---- */
/* device: Gantry's name. options: those of the session, of which the provider's are read:
 *
 *     ep.gantryexecutionprovider.device         "/GPU:1", in place of the device that was chosen
 *     ep.gantryexecutionprovider.report         a new file with a line for each node that is left
 *     ep.gantryexecutionprovider.memory_limit   as GANTRY_MEMORY_LIMIT
 *     ep.gantryexecutionprovider.placement      as GANTRY_PLACEMENT
 *     ep.gantryexecutionprovider.timeline       as GANTRY_TRACE, of the session's work
 *
 * A session with one of the last three has a runtime of its own. */
ort_status_t *ort_ep_create(ort_provider_t *provider, const char *device,
                            const ort_session_options_t *options, const ort_logger_t *logger,
                            ort_ep_t **out_ep);
void ort_ep_release(ort_ep_t *ep);
/* The file of the session's timeline; NULL: none is written. */
const char *ort_ep_timeline(const ort_ep_t *ep);
/* Begins a timeline in a runtime of the session's own; path NULL: it has begun. NotImplemented once
 * the session has nodes, which belong to the runtime that it has. */
ort_status_t *ort_ep_begin_timeline(ort_ep_t *ep, const char *path);
/* Ends the timeline, whose file is then complete, after the runs that are in progress. */
ort_status_t *ort_ep_end_timeline(ort_ep_t *ep);

/* ---- lists.c ---- */
/* What messages call the model of a graph: its file, or "ONNX Runtime" if it has none. */
ort_status_t *ort_model_name(const ort_provider_t *provider, const ort_graph_t *graph,
                             const char **out_name);

/* Makes room for count addresses in *out_list, a pointer to addresses, which the caller frees. */
ort_status_t *ort_new_addresses(const ort_provider_t *provider, size_t count, void *out_list);

/* What a node has: inputs, outputs, and what its bodies read from outside. */
typedef enum ort_values_t { ORT_INPUTS, ORT_OUTPUTS, ORT_BODY_INPUTS } ort_values_t;

/* Calls visit for each value of a node, until one fails; value NULL: one that is left out. */
typedef ort_status_t *(*ort_visit_fn)(void *user, const ort_value_info_t *value);
ort_status_t *ort_each_value(const ort_provider_t *provider, const ort_node_t *node,
                             ort_values_t values, ort_visit_fn visit, void *user);

/* ---- bytes.c ---- */
/* Bytes that grow. is_full: memory was out. */
typedef struct ort_bytes_t {
    uint8_t *data;
    size_t size, room;
    size_t most_weight_bytes; /* of a model: as for ort_write_model */
    bool is_full;
} ort_bytes_t;

void ort_bytes_put(ort_bytes_t *out, const void *data, size_t size);

/* Some nodes of a graph, and what they get and give. */
typedef struct ort_part_t {
    const ort_graph_t *graph;
    const ort_node_t *const *nodes;
    size_t node_count;
    /* Inputs in their order; NULL: those that the nodes read and do not make. */
    const ort_value_info_t *const *inputs, *const *outputs;
    size_t input_count, output_count;
} ort_part_t;

/* Writes a model of these nodes; the caller frees the data, also after a failure. A larger
 * initializer than most_weight_bytes, which is SIZE_MAX for a model that runs, becomes an input,
 * in a subgraph one without elements. */
ort_status_t *ort_write_model(const ort_provider_t *provider, const ort_part_t *part,
                              size_t most_weight_bytes, ort_bytes_t *out);
/* Writes a node's attributes but graphs. NOT_IMPLEMENTED: it has one of a kind that ONNX Runtime
 * does not give. */
ort_status_t *ort_write_attrs(const ort_provider_t *provider, const ort_node_t *node,
                              ort_bytes_t *out);

/* ---- kinds.c ---- */
/* Gives each node the first one that is like it, itself if there is none before it: Gantry has both
 * or none of them. */
ort_status_t *ort_find_kinds(const ort_provider_t *provider, const ort_node_t *const *nodes,
                             size_t count, size_t *out_first);

/* ---- check.c ---- */
/* Whether Gantry has all of these nodes of a graph; else text gets the first reason. A failure is
 * none of the nodes: memory that is out. */
ort_status_t *ort_check_nodes(const ort_provider_t *provider, const ort_graph_t *graph,
                              const ort_node_t *const *nodes, size_t count, char *text, size_t size,
                              bool *out_has);

/* ---- claim.c ---- */
/* Makes the file of a report anew, with a line that no node is taken, which holds if ONNX Runtime
 * asks about no graph: it folds constants first. InvalidArgument if the file cannot be written. */
ort_status_t *ort_report_begin(const ort_provider_t *provider, const char *report);
/* Gives ONNX Runtime the groups of nodes of a graph. report: NULL, or a file that gets lines. After
 * a failure a node is taken nevertheless, if there is memory for that, so that ONNX Runtime goes on
 * to Compile. */
ort_status_t *ort_claim_nodes(const ort_provider_t *provider, const ort_graph_t *graph,
                              const ort_logger_t *logger, const char *report,
                              ort_support_t *support);

/* ---- partition.c ---- */
/* Gives each node that is wanted the number of its group, from 0 on; others get -1. producers:
 * for node i those from first[i] to first[i + 1], each before i. Returns the number of groups. */
int32_t ort_partition(size_t count, const bool *wanted, const size_t *first,
                      const size_t *producers, int32_t *out_groups, int32_t *levels);

/* ---- memory.c ---- */
/* The description of a GPU's memory, by its number; the caller releases it. */
ort_status_t *ort_memory_info_create(const ort_provider_t *provider, uint32_t number,
                                     ort_memory_info_t **out_info);
/* Makes what allocates on a device; memory says for which one. device: Gantry's name of another
 * one, which then has the tensors, or NULL. */
ort_status_t *ort_allocator_create(ort_provider_t *provider, const char *device,
                                   const ort_memory_info_t *memory,
                                   ort_allocator_t **out_allocator);
/* All of its memory must be free. */
void ort_allocator_release(ort_allocator_t *allocator);

/* "input 3", of messages. */
typedef struct ort_what_t {
    const char *kind;
    size_t number;
} ort_what_t;

/* Whether an address is one of these allocators'. */
bool ort_is_held(const void *address);
/* The runtime and the device for which an address was allocated; the caller releases the provider.
 * what: of a message. Thread-safe, as the following. */
ort_status_t *ort_find_memory(const ort_provider_t *provider, ort_what_t what, const void *address,
                              ort_provider_t **out_provider,
                              const gantry_logical_device_t **out_device);
/* Puts a tensor of the provider's runtime at an address, in place of what is there. */
ort_status_t *ort_put_tensor(ort_provider_t *provider, ort_what_t what, const void *address,
                             const gantry_tensor_t *tensor);
/* The tensor that has the bytes at an address. */
typedef struct ort_held_t {
    ort_provider_t *provider; /* of its runtime */
    gantry_tensor_t *tensor;
    uint64_t first_byte; /* of the address in the tensor */
} ort_held_t;
/* Finds it; ort_held_release gives it back. InvalidArgument where nobody has written. */
ort_status_t *ort_take_tensor(const ort_provider_t *provider, ort_what_t what, const void *address,
                              uint64_t bytes, ort_held_t *out_held);
void ort_held_release(ort_held_t *held);

/* ---- value.c ---- */
/* Gantry's type of an element type that the provider takes, ONNX's number; GANTRY_DTYPE_NONE: it
 * takes none of these tensors. */
gantry_dtype_t ort_dtype_of(int type);

/* Whether the host reads a memory; NULL: it is the host's. */
bool ort_host_reads(const ort_ep_api_t *api, const ort_memory_device_t *device);

typedef enum ort_place_t {
    ORT_ON_HOST,
    ORT_HELD,   /* an address of memory.c */
    ORT_FOREIGN /* device memory of others */
} ort_place_t;

/* A tensor of ONNX Runtime. */
typedef struct ort_content_t {
    ort_what_t what;
    gantry_dtype_t dtype;
    gantry_shape_t shape;
    size_t bytes;
    void *data; /* NULL: it has no elements */
    ort_place_t place;
} ort_content_t;

ort_status_t *ort_describe_value(const ort_provider_t *provider, ort_what_t what,
                                 const ort_value_t *value, ort_content_t *out_content);
/* Makes a tensor of a value, which the scope owns; device: where foreign memory is. Failures of
 * Gantry stay in the scope, and the tensor is NULL. */
ort_status_t *ort_tensor_of_value(ort_provider_t *provider, gantry_scope_t *scope,
                                  const gantry_logical_device_t *device,
                                  const ort_content_t *content, const gantry_tensor_t **out_tensor);
/* Reads the elements of a value that is held. */
ort_status_t *ort_read_held(ort_provider_t *provider, const ort_content_t *content, void *out);
/* Gives a value the elements of a tensor. out_read: NULL, or it gets the read of a value on the
 * host, which has only begun. */
ort_status_t *ort_store_tensor(ort_provider_t *provider, const ort_content_t *content,
                               const gantry_tensor_t *tensor, gantry_read_t **out_read);

/* ---- transfer.c ---- */
ort_status_t *ort_transfer_create(ort_provider_t *provider, ort_transfer_t **out_transfer);

/* ---- stream.c ---- */
/* of_session: ONNX Runtime makes it for the runs of a session, whose ends do not wait. */
ort_status_t *ort_stream_create(ort_provider_t *provider, const gantry_logical_device_t *device,
                                bool of_session, ort_stream_impl_t **out_stream);
/* Waits until a device has computed what was submitted before. A failure of that work is reported
 * to who uses its results; that the device is lost is reported here, too. */
ort_status_t *ort_wait_for_device(ort_provider_t *provider, const gantry_logical_device_t *device);

/* ---- compute.c ---- */
ort_status_t *ort_compute_create(ort_provider_t *provider, const char *device,
                                 const ort_graph_t *graph, const ort_node_t *fused,
                                 ort_compute_t **out_compute);
void ort_compute_release(ort_compute_t *compute);

/* ---- profile.c ---- */
/* A profiler of a session, which ONNX Runtime releases, maybe after the session. */
ort_status_t *ort_profiler_create(ort_provider_t *provider, ort_ep_t *ep,
                                  ort_profiler_t **out_profiler);

#endif
