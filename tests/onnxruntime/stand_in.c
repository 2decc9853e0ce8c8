/* SPDX-License-Identifier: Apache-2.0 */
/* Promise (onnxruntime.*): The provider works through the calls of ONNX Runtime, and releases all
 * that it makes.
 * Promise (onnxruntime.*): A node is left with a reason if Gantry lacks a value of its attributes,
 * and others of its op are taken.
 * Promise (onnxruntime.*): Sessions run and end in any order, after the end of their registration,
 * too, and with sessions of a second registration; after the end, a device makes no session.
 * Promise (onnxruntime.*): An unknown option, an absent device and a report that cannot be
 * written are refused when a session is made, with what is accepted.
 * Promise (onnxruntime.memory*): A chain of runs on values of a device copies nothing to the host;
 * values go between devices, runtimes and the host, also when their session and registration ended.
 * Promise (onnxruntime.memory*): Streams of a program and of a session end work without a failure's
 * loss, know the driver's queue, and outlive their registration.
 * Promise (onnxruntime.memory*): Memory that nobody wrote, memory that was freed and memory of
 * others that is not adopted are refused by a text, and are never read.
 * Promise: An ONNX Runtime that is too old gets a status that names both versions.
 * Promise (onnxruntime.lost): A device that is lost in a run is an error with the cause, of that
 * run and of each later one of its sessions; sessions of another device go on, and all end well.
 *
 *     stand_in LIBRARY [GPUS | LAYER]
 *
 * GPUS: how many must be there. With a LAYER, the fault tool's OpenCL layer, which must be in
 * OPENCL_LAYERS, a device is lost.
 *
 * A stand-in for ONNX Runtime: tables of the interface over one small graph, y = -(relu(x) + w) and
 * z = text(y), of which it runs nothing itself. Slots that the provider does not call are NULL, so
 * that a call of another one ends the program. */
#define _DEFAULT_SOURCE

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stand_in.h"

char last_text[2048];
static long live; /* statuses, pairs, devices, infos */

/* ---- statuses and pairs ---- */

static ort_status_t *make_status(int code, const char *text) {
    ort_status_t *status = malloc(sizeof *status);
    if (!status) abort();
    status->code = code;
    (void)snprintf(last_text, sizeof last_text, "%s", text);
    ++live;
    return status;
}

static int status_code(const ort_status_t *status) { return status->code; }

void drop_status(ort_status_t *status) {
    if (status) --live;
    free(status);
}

static const char *status_text(const ort_status_t *status) {
    (void)status;
    return last_text;
}

#define MOST_PAIRS 8
struct ort_pairs_t {
    const char *keys[MOST_PAIRS], *values[MOST_PAIRS];
    char texts[MOST_PAIRS][2][128];
    size_t count;
};

static void make_pairs(ort_pairs_t **out) {
    *out = calloc(1, sizeof **out);
    if (!*out) abort();
    ++live;
}

static void add_pair(ort_pairs_t *pairs, const char *key, const char *value) {
    const size_t i = pairs->count++;
    (void)snprintf(pairs->texts[i][0], 128, "%s", key);
    (void)snprintf(pairs->texts[i][1], 128, "%s", value);
    pairs->keys[i] = pairs->texts[i][0];
    pairs->values[i] = pairs->texts[i][1];
}

static const char *find_pair(const ort_pairs_t *pairs, const char *key) {
    for (size_t i = 0; i < pairs->count; ++i)
        if (strcmp(pairs->keys[i], key) == 0) return pairs->values[i];
    return NULL;
}

static void list_pairs(const ort_pairs_t *pairs, const char *const **keys,
                       const char *const **values, size_t *count) {
    *keys = pairs->keys;
    *values = pairs->values;
    *count = pairs->count;
}

static void drop_pairs(ort_pairs_t *pairs) {
    --live;
    free(pairs);
}

const char *session_option, *session_value;
static ort_status_t *session_entries(const ort_session_options_t *options, ort_pairs_t **out) {
    (void)options;
    make_pairs(out);
    add_pair(*out, "session.of_no_interest", "1");
    if (session_option) add_pair(*out, session_option, session_value);
    return NULL;
}

/* ---- devices ---- */

struct ort_hardware_t {
    int type;
};
struct ort_memory_device_t {
    int type, memory_type;
    uint32_t vendor, id;
};
struct ort_memory_info_t {
    ort_memory_device_t device;
};
struct ort_ep_device_t {
    ort_pairs_t metadata;
    const ort_memory_info_t *memory;
};

static int hardware_type(const ort_hardware_t *hardware) { return hardware->type; }

static ort_status_t *make_hardware(int type, uint32_t vendor, uint32_t id, const char *name,
                                   const ort_pairs_t *metadata, ort_hardware_t **out) {
    (void)vendor, (void)id, (void)name, (void)metadata;
    *out = calloc(1, sizeof **out);
    if (!*out) abort();
    (*out)->type = type;
    ++live;
    return NULL;
}

static void drop_hardware(ort_hardware_t *hardware) {
    --live;
    free(hardware);
}

static ort_status_t *make_device(ort_factory_t *factory, const ort_hardware_t *hardware,
                                 const ort_pairs_t *metadata, const ort_pairs_t *options,
                                 ort_ep_device_t **out) {
    (void)factory, (void)hardware, (void)options;
    *out = calloc(1, sizeof **out);
    if (!*out) abort();
    for (size_t i = 0; i < metadata->count; ++i)
        add_pair(&(*out)->metadata, metadata->keys[i], metadata->values[i]);
    return NULL;
}

const ort_memory_device_t *memory_of_device(const ort_ep_device_t *device) {
    return &device->memory->device;
}

/* ---- a graph ---- */

struct ort_value_info_t {
    const char *name;
    ort_tensor_info_t info;
    const ort_value_t *weights;
    const ort_node_t *producer;
};
struct ort_node_t {
    size_t id;
    const char *name, *op;
    size_t input_count, output_count;
    const ort_value_info_t *inputs[2], *outputs[2];
};
struct ort_graph_t {
    size_t node_count;
    const ort_node_t *nodes[4];
};

static const ort_value_t weight_data = {{1, 1, {3, 0}}, {1, 2, 3}};
static ort_node_t nodes[5];
static ort_value_info_t values[] = {
    {"x", {1, 2, {-1, 3}}, NULL, NULL},      {"w", {1, 1, {3, 0}}, &weight_data, NULL},
    {"a", {1, 2, {-1, 3}}, NULL, &nodes[0]}, {"b", {1, 2, {-1, 3}}, NULL, &nodes[1]},
    {"y", {1, 2, {-1, 3}}, NULL, &nodes[2]}, {"z", {8, 2, {-1, 3}}, NULL, &nodes[3]},
    {"q", {1, 2, {-1, 3}}, NULL, &nodes[4]}, {"e", {1, 2, {-1, 3}}, NULL, NULL},
    {"f", {1, 2, {-1, 3}}, NULL, NULL}};
static ort_node_t nodes[5] = {{10, "relu", "Relu", 1, 1, {&values[0]}, {&values[2]}},
                              {11, "add", "Add", 2, 1, {&values[2], &values[1]}, {&values[3]}},
                              {12, "neg", "Neg", 1, 1, {&values[3]}, {&values[4]}},
                              {13, "text", "Cast", 1, 1, {&values[4]}, {&values[5]}},
                              {14, "odd", "NoSuchOp", 1, 1, {&values[0]}, {&values[6]}}};
const ort_graph_t whole = {4, {&nodes[0], &nodes[1], &nodes[2], &nodes[3]}};
/* The last node does not read the one that Gantry lacks. */
static const ort_graph_t forked = {4, {&nodes[0], &nodes[4], &nodes[1], &nodes[2]}};
#include "attributes.inc"
const ort_graph_t group = {3, {&nodes[0], &nodes[1], &nodes[2]}};
const ort_node_t fused = {20, "fused", "Gantry", 1, 1, {&values[0]}, {&values[4]}};

static ort_status_t *zero_of_graph(const ort_graph_t *graph, size_t *out) {
    (void)graph;
    *out = 0;
    return NULL;
}
static ort_status_t *zero_of_node(const ort_node_t *node, size_t *out) {
    (void)node;
    *out = 0;
    return NULL;
}
static ort_status_t *count_nodes(const ort_graph_t *graph, size_t *out) {
    *out = graph->node_count;
    return NULL;
}
bool loses_nodes;
static ort_status_t *list_nodes(const ort_graph_t *graph, const ort_node_t **out, size_t count) {
    if (loses_nodes) return make_status(ORT_FAIL, "the nodes were lost");
    memcpy(out, graph->nodes, count * sizeof *out);
    return NULL;
}
static ort_status_t *model_path(const ort_graph_t *graph, const char **out) {
    *out = graph == &whole ? "" : "folder/model.onnx";
    return NULL;
}
static ort_status_t *no_parent(const ort_graph_t *graph, const ort_node_t **out) {
    (void)graph;
    *out = NULL;
    return NULL;
}
static ort_status_t *count_opsets(const ort_graph_t *graph, size_t *out) {
    (void)graph;
    *out = 3;
    return NULL;
}
static ort_status_t *list_opsets(const ort_graph_t *graph, const char **domains, int64_t *versions,
                                 size_t count) {
    (void)graph, (void)count;
    domains[0] = "", versions[0] = 17;
    domains[1] = "com.microsoft", versions[1] = 1;
    domains[2] = "ai.onnx.ml", versions[2] = 3;
    return NULL;
}
static ort_status_t *node_id(const ort_node_t *node, size_t *out) {
    *out = node->id;
    return NULL;
}
static ort_status_t *node_name(const ort_node_t *node, const char **out) {
    *out = node->name;
    return NULL;
}
static ort_status_t *node_op(const ort_node_t *node, const char **out) {
    *out = node->op;
    return NULL;
}
static ort_status_t *node_domain(const ort_node_t *node, const char **out) {
    *out = is_encoder(node) ? "ai.onnx.ml" : "";
    return NULL;
}
static ort_status_t *count_inputs(const ort_node_t *node, size_t *out) {
    *out = node->input_count;
    return NULL;
}
static ort_status_t *count_outputs(const ort_node_t *node, size_t *out) {
    *out = node->output_count;
    return NULL;
}
static ort_status_t *list_inputs(const ort_node_t *node, const ort_value_info_t **out,
                                 size_t count) {
    memcpy(out, node->inputs, count * sizeof *out);
    return NULL;
}
static ort_status_t *list_outputs(const ort_node_t *node, const ort_value_info_t **out,
                                  size_t count) {
    memcpy(out, node->outputs, count * sizeof *out);
    return NULL;
}
static ort_status_t *no_values(const ort_node_t *node, const ort_value_info_t **out, size_t count) {
    (void)node, (void)out, (void)count;
    return NULL;
}
static ort_status_t *value_name(const ort_value_info_t *value, const char **out) {
    *out = value->name;
    return NULL;
}
static ort_status_t *value_type(const ort_value_info_t *value, const ort_type_info_t **out) {
    *out = (const ort_type_info_t *)&value->info;
    return NULL;
}
static ort_status_t *tensor_of_type(const ort_type_info_t *type, const ort_tensor_info_t **out) {
    *out = (const ort_tensor_info_t *)type;
    return NULL;
}
static ort_status_t *value_producer(const ort_value_info_t *value, const ort_node_t **out,
                                    size_t *out_index) {
    *out = value->producer;
    *out_index = 0;
    return NULL;
}
static ort_status_t *is_constant(const ort_value_info_t *value, bool *out) {
    *out = value->weights != NULL;
    return NULL;
}
static ort_status_t *initializer(const ort_value_info_t *value, const ort_value_t **out) {
    *out = value->weights;
    return NULL;
}

/* ---- tensors ---- */

static ort_status_t *element_type(const ort_tensor_info_t *info, int *out) {
    *out = info->type;
    return NULL;
}
static ort_status_t *rank_of(const ort_tensor_info_t *info, size_t *out) {
    *out = info->rank;
    return NULL;
}
static ort_status_t *dims_of(const ort_tensor_info_t *info, int64_t *out, size_t count) {
    memcpy(out, info->dims, count * sizeof *out);
    return NULL;
}
static ort_status_t *names_of(const ort_tensor_info_t *info, const char **out, size_t count) {
    (void)info;
    for (size_t i = 0; i < count; ++i) out[i] = i == 0 ? "n" : "";
    return NULL;
}
static bool has_shape(const ort_tensor_info_t *info) {
    (void)info;
    return true;
}
static ort_status_t *info_of_value(const ort_value_t *value, ort_tensor_info_t **out) {
    *out = malloc(sizeof **out);
    if (!*out) abort();
    **out = value->info;
    ++live;
    return NULL;
}
static void drop_info(ort_tensor_info_t *info) {
    --live;
    free(info);
}
static ort_status_t *bytes_of(const ort_value_t *value, size_t *out) {
    *out = sizeof(float);
    for (size_t i = 0; i < value->info.rank; ++i) *out *= (size_t)value->info.dims[i];
    return NULL;
}
static ort_status_t *type_and_dims(const ort_value_t *value, int *out_type,
                                   const int64_t **out_dims, size_t *out_rank) {
    *out_type = value->info.type;
    *out_dims = value->info.dims;
    *out_rank = value->info.rank;
    return NULL;
}

/* Values that are not in the host's memory. */
typedef struct located_t {
    const ort_value_t *value;
    void *address;
    ort_memory_device_t device;
} located_t;
static located_t located[16];

static const located_t *location_of(const ort_value_t *value) {
    for (size_t i = 0; i < sizeof located / sizeof *located; ++i)
        if (located[i].value == value) return &located[i];
    return NULL;
}
static ort_status_t *data_of(const ort_value_t *value, const void **out) {
    const located_t *at = location_of(value);
    *out = at ? at->address : value->data;
    return NULL;
}
/* Of outputs; NULL: they are in the host's memory. */
static ort_allocator_t *output_allocator;
static void locate_value(const ort_value_t *value, ort_allocator_t *allocator);

/* ---- a run ---- */

static ort_status_t *context_input(const ort_kernel_context_t *context, size_t i,
                                   const ort_value_t **out) {
    MUST(i == 0);
    *out = &context->input;
    return NULL;
}
static ort_status_t *context_output(ort_kernel_context_t *context, size_t i, const int64_t *dims,
                                    size_t count, ort_value_t **out) {
    MUST(i == 0 && count == 2);
    context->output.info = (ort_tensor_info_t){1, 2, {dims[0], dims[1]}};
    if (output_allocator) locate_value(&context->output, output_allocator);
    *out = &context->output;
    return NULL;
}

static size_t log_lines, strict_lines;
static ort_status_t *log_line(const ort_logger_t *logger, int level, const char *text,
                              const char *file, int line, const char *function) {
    (void)logger, (void)level, (void)file, (void)line, (void)function;
    log_lines += strstr(text, "node 'text' (Cast)") != NULL;
    strict_lines += strstr(text, "node 'strict' (OneHotEncoder)") && strstr(text, "zeros 0");
    return NULL;
}

static ort_status_t *fuse(ort_support_t *support, const ort_node_t *const *members, size_t count,
                          const ort_fusion_options_t *options) {
    MUST(options->drop_constant_initializers && options->version == ORT_VERSION);
    MUST(members[0] == &nodes[0] || members[0] == &encoders[1]);
    ++support->groups;
    support->nodes += count;
    return NULL;
}

/* ---- tables ---- */

#include "memory_tables.inc"

static const ort_ep_api_t ep_api = {.CreateEpDevice = make_device,
                                    .EpDevice_AddAllocatorInfo = add_memory,
                                    .MemoryInfo_GetMemoryDevice = device_of_memory,
                                    .Value_GetMemoryDevice = device_of_value,
                                    .MemoryDevice_GetDeviceType = memory_device_type,
                                    .MemoryDevice_GetMemoryType = memory_device_kind,
                                    .MemoryDevice_GetVendorId = memory_device_vendor,
                                    .MemoryDevice_GetDeviceId = memory_device_id,
                                    .AddNodesToFuse = fuse,
                                    .CreateHardwareDevice = make_hardware,
                                    .ReleaseHardwareDevice = drop_hardware,
                                    .CreateProfilingEvent = make_event,
                                    .ReleaseProfilingEvent = drop_event,
                                    .ProfilingEventsContainer_AddEvents = add_events};
static const ort_ep_api_t *get_ep_api(void) { return &ep_api; }

static const ort_api_t api = {.CreateStatus = make_status,
                              .ReleaseStatus = drop_status,
                              .GetErrorMessage = status_text,
                              .GetErrorCode = status_code,
                              .GetEpApi = get_ep_api,
                              .CreateKeyValuePairs = make_pairs,
                              .AddKeyValuePair = add_pair,
                              .GetKeyValue = find_pair,
                              .GetKeyValuePairs = list_pairs,
                              .ReleaseKeyValuePairs = drop_pairs,
                              .GetSessionOptionsConfigEntries = session_entries,
                              .HardwareDevice_Type = hardware_type,
                              .Logger_LogMessage = log_line,
                              .Graph_GetNumNodes = count_nodes,
                              .Graph_GetNodes = list_nodes,
                              .Graph_GetParentNode = no_parent,
                              .Graph_GetModelPath = model_path,
                              .Graph_GetNumOperatorSets = count_opsets,
                              .Graph_GetOperatorSets = list_opsets,
                              .Graph_GetNumInitializers = zero_of_graph,
                              .Node_GetId = node_id,
                              .Node_GetName = node_name,
                              .Node_GetOperatorType = node_op,
                              .Node_GetDomain = node_domain,
                              .Node_GetNumInputs = count_inputs,
                              .Node_GetInputs = list_inputs,
                              .Node_GetNumOutputs = count_outputs,
                              .Node_GetOutputs = list_outputs,
                              .Node_GetNumImplicitInputs = zero_of_node,
                              .Node_GetImplicitInputs = no_values,
                              .Node_GetNumAttributes = count_attrs,
                              .Node_GetAttributes = list_attrs,
                              .OpAttr_GetName = attr_name,
                              .OpAttr_GetType = attr_type,
                              .ReadOpAttr = read_attr,
                              .Node_GetNumSubgraphs = zero_of_node,
                              .GetValueInfoName = value_name,
                              .GetValueInfoTypeInfo = value_type,
                              .CastTypeInfoToTensorInfo = tensor_of_type,
                              .ValueInfo_GetValueProducer = value_producer,
                              .ValueInfo_IsConstantInitializer = is_constant,
                              .ValueInfo_GetInitializerValue = initializer,
                              .GetTensorElementType = element_type,
                              .GetDimensionsCount = rank_of,
                              .GetDimensions = dims_of,
                              .GetSymbolicDimensions = names_of,
                              .TensorTypeAndShape_HasShape = has_shape,
                              .GetTensorTypeAndShape = info_of_value,
                              .ReleaseTensorTypeAndShapeInfo = drop_info,
                              .GetTensorSizeInBytes = bytes_of,
                              .GetTensorData = data_of,
                              .GetTensorElementTypeAndShapeDataReference = type_and_dims,
                              .CreateMemoryInfo_V2 = make_memory,
                              .ReleaseMemoryInfo = drop_memory,
                              .KernelContext_GetInput = context_input,
                              .KernelContext_GetOutput = context_output};

static uint32_t newest = 32;
static const ort_api_t *get_api(uint32_t version) { return version <= newest ? &api : NULL; }
static const char *get_version(void) { return newest < 24 ? "1.23.2" : "1.32.0"; }
static const ort_api_base_t base = {get_api, get_version};

/* ---- the tests ---- */

typedef ort_status_t *(*create_fn)(const char *name, const ort_api_base_t *base,
                                   const ort_logger_t *logger, ort_factory_t **out, size_t room,
                                   size_t *out_count);
typedef ort_status_t *(*release_fn)(ort_factory_t *factory);
static create_fn create;
static release_fn release;

static void refuses_old_versions(void) {
    ort_factory_t *factory;
    size_t count = 7;
    newest = 23;
    ort_status_t *status = create("gantry", &base, NULL, &factory, 4, &count);
    newest = 32;
    MUST(status && count == 0 && status->code == ORT_NOT_IMPLEMENTED);
    MUST(strstr(last_text, "1.24") && strstr(last_text, "1.23.2"));
    drop_status(status);
}

void runs_a_group(ort_ep_t *ep) {
    const ort_graph_t *graphs[] = {&group};
    const ort_node_t *fused_nodes[] = {&fused};
    ort_compute_t *compute = NULL;
    ort_node_t *contexts = NULL;
    void *state;
    MUST(!ep->Compile(ep, graphs, fused_nodes, 1, &compute, &contexts) && compute);
    MUST(!compute->CreateState(compute, NULL, &state));
    for (int64_t rows = 1; rows <= 3; ++rows) {
        static const float wanted[3] = {-1, -3, -5};
        ort_kernel_context_t context = {
            .input = {{1, 2, {rows, 3}}, {-1, 1, 2, -1, 1, 2, -1, 1, 2}}};
        MUST(!compute->Compute(compute, state, &context));
        MUST(context.output.info.dims[0] == rows && context.output.info.dims[1] == 3);
        MUST(memcmp(context.output.data, wanted, sizeof wanted) == 0);
    }
    ort_kernel_context_t wrong = {.input = {{1, 2, {1, 4}}, {0}}};
    ort_status_t *status = compute->Compute(compute, state, &wrong);
    MUST(status && status->code == ORT_INVALID_ARGUMENT && strstr(last_text, "model.onnx: "));
    drop_status(status);
    compute->ReleaseState(compute, state);
    ep->ReleaseNodeComputeInfos(ep, &compute, 1);
}

ort_status_t *begin_session(ort_factory_t *factory, const ort_ep_device_t *device,
                            ort_ep_t **out_ep) {
    const ort_pairs_t *metadata[] = {device ? &device->metadata : NULL};
    const ort_hardware_t *hardware[] = {NULL};
    return factory->CreateEp(factory, hardware, metadata, 1, NULL, NULL, out_ep);
}

static void refuses_options(ort_factory_t *factory, const ort_ep_device_t *device) {
    static const char *const wrong[][3] = {{"colour", "1", "placement and timeline are accepted"},
                                           {"memory_limit", "lots", "512M"},
                                           {"placement", "soft", "prefer, warn, require"},
                                           {"device", "/GPU:77", "/device:CPU:0"},
                                           {"device", "/CPU:5", "/device:CPU:0"},
                                           {"device", "opencl:9", "/device:CPU:0"},
                                           {"device", "/job:x/CPU:0", "/device:CPU:0"},
                                           {"report", "/", "'/' cannot be written"},
                                           {"timeline", "/", "'/'"},
                                           {"device", "?", "/device:GPU:0"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        char option[64];
        ort_ep_t *ep = NULL;
        (void)snprintf(option, sizeof option, "ep.gantryexecutionprovider.%s", wrong[i][0]);
        session_option = option, session_value = wrong[i][1];
        ort_status_t *status = begin_session(factory, device, &ep);
        session_option = NULL;
        MUST(status && !ep && status->code == ORT_INVALID_ARGUMENT);
        MUST(strstr(last_text, wrong[i][0]) || strstr(last_text, wrong[i][1]));
        MUST(strstr(last_text, wrong[i][2]));
        drop_status(status);
    }
}

static void runs_a_session(ort_factory_t *factory, const ort_ep_device_t *device) {
    ort_support_t support = {0};
    ort_ep_t *ep;
    refuses_options(factory, device);
    MUST(!begin_session(factory, device, &ep));
    MUST(strcmp(ep->GetName(ep), factory->GetName(factory)) == 0);
    MUST(!ep->GetCapability(ep, &whole, &support));
    MUST(support.groups == 1 && support.nodes == 3 && log_lines == 1);
    support = (ort_support_t){0};
    MUST(!ep->GetCapability(ep, &forked, &support));
    MUST(support.groups == 1 && support.nodes == 3);
    support = (ort_support_t){0};
    MUST(!ep->GetCapability(ep, &differing, &support));
    MUST(support.groups == 1 && support.nodes == 1 && strict_lines == 1);
    runs_a_group(ep);
    factory->ReleaseEp(factory, ep);
}

/* Writes over memory that was freed, of all sizes that a factory may have. */
static void churn_memory(void) {
    void *blocks[64][8];
    for (size_t i = 0; i < 64; ++i)
        for (size_t k = 0; k < 8; ++k)
            if ((blocks[i][k] = malloc(16 * (i + 1)))) memset(blocks[i][k], 0xff, 16 * (i + 1));
    for (size_t i = 0; i < 64; ++i)
        for (size_t k = 0; k < 8; ++k) free(blocks[i][k]);
}

/* A registration with its devices, of which the last one is /CPU:0. */
static ort_factory_t *begin_registration(ort_ep_device_t *devices[8], size_t *out_count) {
    const ort_hardware_t cpu = {ORT_DEVICE_CPU};
    const ort_hardware_t *hardware[] = {&cpu};
    ort_factory_t *factory;
    size_t count;
    MUST(!create("gantry.cpu", &base, NULL, &factory, 4, &count) && count == 1);
    MUST(!factory->GetSupportedDevices(factory, hardware, 1, devices, 8, out_count));
    MUST(*out_count >= 1);
    return factory;
}

static void end_registration(ort_factory_t *factory, ort_ep_device_t **devices, size_t count) {
    MUST(!release(factory));
    for (size_t i = 0; i < count; ++i) free(devices[i]);
    churn_memory();
}

static void serves_a_session(void) {
    ort_ep_device_t *devices[8];
    size_t count;
    ort_factory_t *factory = begin_registration(devices, &count);
    MUST(strcmp(find_pair(&devices[count - 1]->metadata, "gantry_device"), "/CPU:0") == 0);
    for (size_t i = 0; i < count; ++i) {
        log_lines = strict_lines = 0;
        runs_a_session(factory, devices[i]);
        claims_loudly(factory, devices[i]);
        profiles_a_session(factory, devices[i]);
    }
    end_registration(factory, devices, count);
    MUST(live == 0);
}

static void outlives_the_registration(void) {
    ort_ep_device_t *devices[8];
    size_t count;
    ort_factory_t *first = begin_registration(devices, &count), *second;
    ort_ep_t *eps[4];
    for (size_t i = 0; i < 3; ++i) MUST(!begin_session(first, devices[count - 1], &eps[i]));
    first->ReleaseEp(first, eps[0]);
    end_registration(first, devices, count);
    second = begin_registration(devices, &count);
    session_option = "ep.gantryexecutionprovider.placement", session_value = "require";
    MUST(!begin_session(second, devices[count - 1], &eps[3]));
    session_option = NULL;
    ort_status_t *status = begin_session(first, NULL, &eps[0]);
    MUST(status && strstr(last_text, "registration"));
    drop_status(status);
    for (size_t i = 1; i < 4; ++i) runs_a_group(eps[i]);
    first->ReleaseEp(first, eps[2]);
    end_registration(second, devices, count);
    second->ReleaseEp(second, eps[3]);
    runs_a_group(eps[1]);
    first->ReleaseEp(first, eps[1]);
    churn_memory();
    MUST((status = begin_session(first, NULL, &eps[0])));
    drop_status(status);
    MUST(live == 0);
}

static void survives_a_lost_device(const char *layer) {
    ort_ep_device_t *devices[8];
    size_t count;
    ort_factory_t *factory = begin_registration(devices, &count);
    MUST(count >= 3);
    loses_a_device(factory, devices, layer);
    end_registration(factory, devices, count);
    MUST(live == 0);
}

#include "memory_tests.inc"

int main(int count, char **arguments) {
    if (count != 2 && count != 3) return 2;
    void *library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
    void *symbols[] = {dlsym(library, "CreateEpFactories"), dlsym(library, "ReleaseEpFactory")};
    memcpy(&create, &symbols[0], sizeof create);
    memcpy(&release, &symbols[1], sizeof release);
    MUST(create && release);
    char *end = NULL;
    const size_t gpus = count == 3 ? strtoul(arguments[2], &end, 10) : 0;
    if (end && *end) {
        survives_a_lost_device(arguments[2]);
    } else {
        refuses_old_versions();
        serves_a_session();
        outlives_the_registration();
        serves_memory(gpus);
    }
    (void)dlclose(library);
    (void)printf("ok\n");
    return 0;
}
