/* SPDX-License-Identifier: Apache-2.0 */
/* The arguments of the calls that null_calls.awk makes: a value by type and name, made on first
 * use, and a place for the result. The table of public structs comes from null_calls.awk, too. */
#ifndef GANTRY_TEST_NULL_CALLS_H
#define GANTRY_TEST_NULL_CALLS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/gantry.h>

#include "api/dlpack_abi.h"

#define NULL_PLACES 16 /* most pointers of one function */

typedef struct null_call_t null_call_t;

typedef struct null_function_t {
    const char *name;
    void (*call)(null_call_t *c);
    uint32_t place_count;
    const char *places[NULL_PLACES];
} null_function_t;

extern const null_function_t null_functions[];
extern const size_t null_function_count;

typedef struct public_struct_t {
    const char *name;
    bool has_size; /* its first field is struct_size */
} public_struct_t;

extern const public_struct_t public_structs[];
extern const size_t public_struct_count;

typedef enum null_result_t {
    NULL_GIVES_NOTHING,
    NULL_GIVES_STATUS,
    NULL_GIVES_TENSOR
} null_result_t;

/* One call. Nothing of it is freed, since its process ends. */
struct null_call_t {
    const null_function_t *function;
    uint32_t nulls; /* bit i: place i is NULL */
    void (*ready)(null_call_t *c);
    gantry_runtime_t *runtime;
    gantry_scope_t *scope;
    gantry_tensor_t *values[2]; /* to update */
    gantry_variable_t *variable, *variables[2];
    gantry_generator_t *generator;
    gantry_function_t *traced;
    gantry_graph_t *graph;
    gantry_claim_t *claim;
    null_result_t gives;
    gantry_status_t status;
    const void *object; /* returned */
    const gantry_tensor_t *tensors[2];
    char text[512];
    char before[2048]; /* the last message */
};

#define IS_NULL(place) (c->nulls >> (place)&1)
/* What a test does between the arguments and the call; NULL: nothing. */
#define READY(c) ((c)->ready ? (c)->ready(c) : (void)0)

/* ---- results ---- */

/* A scope that begins with wrong arguments has failed. */
static inline gantry_scope_t *well_begun(gantry_scope_t *scope) {
    return scope && gantry_scope_status(scope) == GANTRY_OK ? scope : NULL;
}

#define RESULT_gantry_status_t(call) (c->gives = NULL_GIVES_STATUS, c->status = (call))
#define RESULT_const_gantry_tensor_t_p(call) (c->gives = NULL_GIVES_TENSOR, c->object = (call))
#define RESULT_gantry_scope_t_p(call) (c->gives = NULL_GIVES_TENSOR, c->object = well_begun(call))
#define RESULT_gantry_variable_t_p(call) (c->gives = NULL_GIVES_TENSOR, c->object = (call))
#define RESULT_void(call) (call)
#define RESULT_void_p(call) ((void)(call))
#define RESULT_bool(call) ((void)(call))
#define RESULT_int32_t(call) ((void)(call))
#define RESULT_int64_t(call) ((void)(call))
#define RESULT_size_t(call) ((void)(call))
#define RESULT_uint64_t(call) ((void)(call))
#define RESULT_const_char_p(call) ((void)(call))
#define RESULT_const_gantry_logical_device_t_p(call) ((void)(call))
#define RESULT_const_gantry_physical_device_t_p(call) ((void)(call))
#define RESULT_const_gantry_shape_t_p(call) ((void)(call))
#define RESULT_gantry_device_policy_t(call) ((void)(call))
#define RESULT_gantry_placement_mode_t(call) ((void)(call))
#define RESULT_gantry_dtype_t(call) ((void)(call))
#define RESULT_const_gantry_fp_mode_t_p_p(call) ((void)(call))
#define RESULT_gantry_runtime_t_p(call) ((void)(call))
#define RESULT_gantry_function_t_p(call) gantry_function_release(call)
#define RESULT_gantry_graph_t_p(call) gantry_graph_release(call)
#define RESULT_gantry_tensor_t_p(call) ((void)(call))

/* ---- objects ---- */

static inline gantry_runtime_t *given_runtime(null_call_t *c) {
    static const char *const extra[] = {"GANTRY_CLAIMS_DIR=/tmp/gantry_null_calls", NULL};
    const gantry_runtime_options_t options = {
        .struct_size = sizeof options, .backends = "cpu", .kernel_cache = "", .extra = extra};
    if (!c->runtime && gantry_runtime_create(&options, &c->runtime) != GANTRY_OK) abort();
    return c->runtime;
}

static inline gantry_scope_t *given_scope(null_call_t *c) {
    if (!c->scope) c->scope = gantry_scope_begin(given_runtime(c), NULL);
    return c->scope;
}

/* A tensor of the scope; a call without a scope uses another one. */
static inline const gantry_tensor_t *given_tensor(null_call_t *c) {
    const float values[] = {1, 2};
    const gantry_shape_t shape = {.rank = 1, .dims = {2}};
    if (!c->tensors[0]) {
        gantry_scope_t *home = c->scope ? c->scope : gantry_scope_begin(given_runtime(c), NULL);
        c->tensors[0] = c->tensors[1] =
            gantry_constant(home, GANTRY_FLOAT32, shape, values, sizeof values);
    }
    return c->tensors[0];
}

/* gantry_op_update refuses two values of AddN, which has one output, and leaves them. */
static inline gantry_tensor_t **given_values(null_call_t *c) {
    for (size_t i = 0; i < 2; ++i) c->values[i] = gantry_tensor_retain(given_tensor(c));
    return c->values;
}

static inline gantry_variable_t *given_variable(null_call_t *c) {
    if (!c->variable) {
        gantry_scope_t *home = gantry_scope_begin(given_runtime(c), NULL);
        const float values[] = {1, 2};
        const gantry_shape_t shape = {.rank = 1, .dims = {2}};
        c->variable = gantry_variable_create(
            home, gantry_constant(home, GANTRY_FLOAT32, shape, values, sizeof values), NULL);
    }
    return c->variable;
}

static inline gantry_variable_t *const *given_variables(null_call_t *c) {
    (void)given_variable(c);
    c->variables[0] = c->variables[1] = c->variable;
    return c->variables;
}

static inline gantry_generator_t *given_generator(null_call_t *c) {
    if (!c->generator && gantry_generator_from_seed(given_runtime(c), 1, GANTRY_RANDOM_AUTO,
                                                    &c->generator) != GANTRY_OK)
        abort();
    return c->generator;
}

static const gantry_input_spec_t given_inputs[2] = {
    {"x", GANTRY_FLOAT32, {.rank = 1, .dims = {2}}},
    {"y", GANTRY_FLOAT32, {.rank = 1, .dims = {2}}}};

static inline void given_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                              const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], inputs[1]);
    outputs[1] = outputs[0];
}

/* Has one output. */
static inline void given_condition(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                   const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], inputs[1]);
}

static inline gantry_function_t *given_function(null_call_t *c) {
    if (!c->traced && gantry_function_trace(given_runtime(c), "f", given_body, NULL, given_inputs,
                                            2, 2, NULL, &c->traced) != GANTRY_OK)
        abort();
    return c->traced;
}

/* Has two inputs, its values 0 and 1. */
static inline gantry_graph_t *given_graph(null_call_t *c) {
    gantry_graph_value_t value;
    if (c->graph) return c->graph;
    if (gantry_graph_create(given_runtime(c), NULL, &c->graph) != GANTRY_OK ||
        gantry_graph_add_input(c->graph, &given_inputs[0], &value) != GANTRY_OK ||
        gantry_graph_add_input(c->graph, &given_inputs[1], &value) != GANTRY_OK ||
        gantry_graph_add_output(c->graph, NULL, value) != GANTRY_OK)
        abort();
    return c->graph;
}

static inline gantry_graph_t *const *given_graphs(null_call_t *c) {
    static gantry_graph_t *graphs[2];
    graphs[0] = graphs[1] = given_graph(c);
    return graphs;
}

static const gantry_graph_value_t given_values_of_graph[2] = {0, 1};
static const gantry_graph_node_t given_node = {.struct_size = sizeof given_node,
                                               .op = "Add",
                                               .inputs = given_values_of_graph,
                                               .input_count = 2};

/* Ends the turn of the claim before it, which its call may have begun. */
static inline gantry_claim_t *given_claim(null_call_t *c) {
    static gantry_claim_t *before;
    if (before) (void)gantry_claim_end_turn(before, false);
    if (before) gantry_claim_give_back(before);
    if (!c->claim && gantry_claim_create(given_runtime(c), NULL, &c->claim) != GANTRY_OK) abort();
    before = strcmp(c->function->name, "gantry_claim_release") == 0 ? NULL : c->claim;
    return c->claim;
}

/* Begun, but for the call that begins it. */
static inline gantry_new_file_t *given_new_file(const char *name) {
    static gantry_new_file_t file = {.file = -1};
    gantry_file_abandon(&file);
    if (strcmp(name, "file") == 0 && gantry_file_begin("/dev/null", &file) != GANTRY_OK) abort();
    return &file;
}

static inline const gantry_physical_device_t *given_physical(null_call_t *c) {
    const gantry_physical_device_t *device = NULL;
    size_t count;
    if (gantry_list_physical_devices(given_runtime(c), "CPU", 1, &device, &count) != GANTRY_OK)
        abort();
    return device;
}

static inline const gantry_logical_device_t *given_logical(null_call_t *c) {
    const gantry_logical_device_t *device = NULL;
    if (gantry_find_logical_device(given_runtime(c), "CPU:0", &device) != GANTRY_OK) abort();
    return device;
}

static inline gantry_prepared_op_t *given_prepared(null_call_t *c) {
    gantry_prepared_op_t *prepared;
    if (gantry_op_prepare(given_runtime(c), "Neg", NULL, 0, &prepared) != GANTRY_OK) abort();
    return prepared;
}

static inline gantry_read_t *given_read(null_call_t *c) {
    static float place[2];
    gantry_read_t *read;
    if (gantry_tensor_read_async(given_tensor(c), place, sizeof place, &read) != GANTRY_OK) abort();
    return read;
}

static inline gantry_call_t *given_call(null_call_t *c) {
    gantry_scope_t *scope = gantry_scope_begin(given_runtime(c), NULL);
    const gantry_tensor_t *inputs[] = {given_tensor(c), given_tensor(c)};
    gantry_call_t *call;
    if (gantry_function_start(scope, given_function(c), inputs, 2, NULL, &call) != GANTRY_OK)
        abort();
    (void)gantry_scope_end(scope);
    return call;
}

#define given_gantry_runtime_t_p(c, name) given_runtime(c)
#define given_const_gantry_runtime_t_p(c, name) given_runtime(c)
#define given_gantry_scope_t_p(c, name) given_scope(c)
#define given_const_gantry_scope_t_p(c, name) given_scope(c)
#define given_const_gantry_tensor_t_p(c, name) given_tensor(c)
#define given_gantry_tensor_t_p(c, name) gantry_tensor_retain(given_tensor(c))
#define given_gantry_tensor_t_p_p(c, name) given_values(c)
#define given_gantry_variable_t_p(c, name) given_variable(c)
#define given_const_gantry_variable_t_p(c, name) given_variable(c)
#define given_gantry_variable_t_p_const_p(c, name) given_variables(c)
#define given_gantry_generator_t_p(c, name) given_generator(c)
#define given_gantry_claim_t_p(c, name) given_claim(c)
#define given_gantry_new_file_t_p(c, name) given_new_file(name)
#define given_gantry_function_t_p(c, name) given_function(c)
#define given_gantry_graph_t_p(c, name) given_graph(c)
#define given_const_gantry_graph_t_p(c, name) given_graph(c)
#define given_gantry_graph_t_p_const_p(c, name) given_graphs(c)
#define given_const_gantry_graph_node_t_p(c, name) (&given_node)
#define given_const_gantry_function_t_p(c, name) given_function(c)
#define given_const_gantry_physical_device_t_p(c, name) given_physical(c)
#define given_const_struct_gantry_physical_device_t_p(c, name) given_physical(c)
#define given_const_gantry_logical_device_t_p(c, name) given_logical(c)
#define given_gantry_call_t_p(c, name) given_call(c)
#define given_const_gantry_call_t_p(c, name) given_call(c)
#define given_gantry_read_t_p(c, name) given_read(c)
#define given_const_gantry_read_t_p(c, name) given_read(c)
#define given_gantry_prepared_op_t_p(c, name) given_prepared(c)
#define given_const_gantry_prepared_op_t_p(c, name) given_prepared(c)
#define given_const_gantry_tensor_t_p_const_p(c, name) (given_tensor(c), (c)->tensors)

/* ---- lists and places to write to; no test reads them ---- */

#define GIVEN_PLACE(type, count)                      \
    static inline type *given_place_of_##type(void) { \
        static type place[count];                     \
        return place;                                 \
    }
GIVEN_PLACE(size_t, 1)
GIVEN_PLACE(uint64_t, 4)
GIVEN_PLACE(uint32_t, 4)
GIVEN_PLACE(gantry_input_spec_t, 1)
GIVEN_PLACE(gantry_metadata_t, 1)
GIVEN_PLACE(bool, 4)

/* A struct that the call fills. */
#define GIVEN_STRUCT(type)                        \
    static inline type *given_##type##_p_(void) { \
        static type place[2];                     \
        place[0].struct_size = sizeof place[0];   \
        return place;                             \
    }
GIVEN_STRUCT(gantry_backend_status_t)
GIVEN_STRUCT(gantry_claim_info_t)
GIVEN_STRUCT(gantry_device_details_t)
GIVEN_STRUCT(gantry_device_process_t)
GIVEN_STRUCT(gantry_device_telemetry_t)
GIVEN_STRUCT(gantry_function_memory_t)
GIVEN_STRUCT(gantry_function_value_t)
GIVEN_STRUCT(gantry_graph_node_info_t)
GIVEN_STRUCT(gantry_memory_info_t)
GIVEN_STRUCT(gantry_op_info_t)
GIVEN_STRUCT(gantry_placement_record_t)
GIVEN_STRUCT(gantry_profile_row_t)
GIVEN_STRUCT(gantry_program_stats_t)
GIVEN_STRUCT(gantry_setting_t)
#define given_gantry_backend_status_t_p(c, name) given_gantry_backend_status_t_p_()
#define given_gantry_claim_info_t_p(c, name) given_gantry_claim_info_t_p_()
#define given_gantry_device_details_t_p(c, name) given_gantry_device_details_t_p_()
#define given_gantry_device_process_t_p(c, name) given_gantry_device_process_t_p_()
#define given_gantry_device_telemetry_t_p(c, name) given_gantry_device_telemetry_t_p_()
#define given_gantry_function_memory_t_p(c, name) given_gantry_function_memory_t_p_()
#define given_gantry_function_value_t_p(c, name) given_gantry_function_value_t_p_()
#define given_gantry_graph_node_info_t_p(c, name) given_gantry_graph_node_info_t_p_()
#define given_gantry_memory_info_t_p(c, name) given_gantry_memory_info_t_p_()
#define given_gantry_op_info_t_p(c, name) given_gantry_op_info_t_p_()
#define given_gantry_placement_record_t_p(c, name) given_gantry_placement_record_t_p_()
#define given_gantry_profile_row_t_p(c, name) given_gantry_profile_row_t_p_()
#define given_gantry_program_stats_t_p(c, name) given_gantry_program_stats_t_p_()
#define given_gantry_setting_t_p(c, name) given_gantry_setting_t_p_()

GIVEN_STRUCT(gantry_placement_count_t)
GIVEN_STRUCT(gantry_logical_device_config_t)
#define given_gantry_placement_count_t_p(c, name) given_gantry_placement_count_t_p_()
#define given_gantry_logical_device_config_t_p(c, name) given_gantry_logical_device_config_t_p_()

static inline void given_release(void *data) { (void)data; }

static inline void *given_pointers(void) {
    static void *pointers[8];
    return pointers;
}

#define given_size_t_p(c, name) given_count_place(name)
#define given_uint64_t_p(c, name) given_place_of_uint64_t()
#define given_gantry_graph_value_t_p(c, name) given_place_of_uint32_t()
#define given_gantry_input_spec_t_p(c, name) given_place_of_gantry_input_spec_t()
#define given_gantry_metadata_t_p(c, name) given_place_of_gantry_metadata_t()
#define given_bool_p(c, name) given_place_of_bool()
#define given_void_p(c, name) ((void *)(c)->text)
#define given_gantry_release_fn(c, name) given_release
#define given_char_p(c, name) ((c)->text)
#define given_void_p_const_p(c, name) ((void *const *)given_pointers())
#define given_void_p_p(c, name) ((void **)given_pointers())
#define given_const_void_p_p(c, name) ((const void **)given_pointers())
#define given_const_char_p_p(c, name) ((const char **)given_pointers())
#define given_gantry_runtime_t_p_p(c, name) ((gantry_runtime_t **)given_pointers())
#define given_gantry_claim_t_p_p(c, name) ((gantry_claim_t **)given_pointers())
#define given_gantry_generator_t_p_p(c, name) ((gantry_generator_t **)given_pointers())
#define given_gantry_call_t_p_p(c, name) ((gantry_call_t **)given_pointers())
#define given_gantry_read_t_p_p(c, name) ((gantry_read_t **)given_pointers())
#define given_gantry_prepared_op_t_p_p(c, name) ((gantry_prepared_op_t **)given_pointers())
#define given_struct_DLManagedTensor_p_p(c, name) ((struct DLManagedTensor **)given_pointers())
#define given_struct_DLManagedTensorVersioned_p_p(c, name) \
    ((struct DLManagedTensorVersioned **)given_pointers())
#define given_gantry_function_t_p_p(c, name) ((gantry_function_t **)given_pointers())
#define given_gantry_graph_t_p_p(c, name) ((gantry_graph_t **)given_pointers())
#define given_const_gantry_tensor_t_p_p(c, name) ((const gantry_tensor_t **)given_pointers())
#define given_const_gantry_logical_device_t_p_p(c, name) \
    ((const gantry_logical_device_t **)given_pointers())
#define given_const_gantry_physical_device_t_p_p(c, name) \
    ((const gantry_physical_device_t **)given_pointers())

/* The count's place holds the capacity of outputs before the call. */
static inline size_t *given_count_place(const char *name) {
    size_t *place = given_place_of_size_t();
    *place = strcmp(name, "output_count") == 0 ? 2 : 0;
    return place;
}

static inline const gantry_physical_device_t *const *given_physical_list(null_call_t *c) {
    static const gantry_physical_device_t *devices[2];
    devices[0] = devices[1] = given_physical(c);
    return devices;
}

static const int64_t given_i64[4] = {1, 1, 1, 1};
static const int32_t given_i32[4] = {0, 0, 0, 0};
static const uint64_t given_u64[4] = {1, 1, 1, 1};
static const size_t given_sizes[4] = {1, 1, 1, 1};
static const float given_floats[2] = {1, 2};
static const gantry_shape_t given_two = {.rank = 1, .dims = {2}};
static const gantry_attr_value_t given_attrs[2] = {
    {.name = "T", .kind = GANTRY_ATTR_TYPE, .i = GANTRY_FLOAT32},
    /* for AddN */
    {.name = "N", .kind = GANTRY_ATTR_INT, .i = 2}};
static const gantry_logical_device_config_t given_configs[2];

#define given_const_gantry_input_spec_t_p(c, name) given_inputs
#define given_const_gantry_physical_device_t_p_const_p(c, name) given_physical_list(c)
#define given_const_int64_t_p(c, name) given_i64
#define given_const_int32_t_p(c, name) given_i32
#define given_const_uint64_t_p(c, name) given_u64
#define given_const_size_t_p(c, name) given_sizes
/* A .npy file without elements. */
#define GIVEN_NPY_BYTES 128
static inline const void *given_bytes(const char *name) {
    static char npy[GIVEN_NPY_BYTES + 1];
    if (strcmp(name, "npy") != 0) return given_floats;
    (void)snprintf(npy, sizeof npy, "\x93NUMPY\x01%cv%c%-117s\n", 0, 0,
                   "{'descr': '|b1', 'fortran_order': False, 'shape': (0,), }");
    return npy;
}
#define given_const_void_p(c, name) given_bytes(name)
#define given_const_gantry_shape_t_p(c, name) (&given_two)
#define given_const_gantry_attr_value_t_p(c, name) given_attrs
#define given_const_gantry_logical_device_config_t_p(c, name) given_configs

/* ---- observers ---- */

static inline gantry_status_t given_observe(gantry_scope_t *scope,
                                            const gantry_observation_t *observation, void *user) {
    (void)scope, (void)observation, (void)user;
    return GANTRY_OK;
}

static inline gantry_observer_t *given_observer(void) {
    static gantry_observer_t observer = {.observe = given_observe};
    return &observer;
}

#define given_gantry_observer_t_p(c, name) given_observer()
#define given_const_gantry_observation_t_p(c, name) \
    (&(gantry_observation_t){.struct_size = sizeof(gantry_observation_t), .op = "Test"})

/* ---- DLPack ---- */

/* Managed tensors of one float, which nobody has to delete. */
static inline struct DLManagedTensor *given_dlpack(void) {
    static float one[1];
    static struct DLManagedTensor managed = {
        .dl_tensor = {.data = one, .device_type = 1, .dtype = {2, 32, 1}}};
    return &managed;
}
static inline struct DLManagedTensorVersioned *given_dlpack_versioned(void) {
    static float one[1];
    static struct DLManagedTensorVersioned managed = {
        .version = {1, 0}, .dl_tensor = {.data = one, .device_type = 1, .dtype = {2, 32, 1}}};
    return &managed;
}
static inline int given_from_object(void *object, struct DLManagedTensorVersioned **out) {
    (void)object;
    *out = given_dlpack_versioned();
    return 0;
}
static inline int given_to_object(struct DLManagedTensorVersioned *managed, void **out_object) {
    managed->deleter(managed);
    *out_object = managed;
    return 0;
}
static inline int given_no_stream(int32_t device_type, int32_t device_id, void **out_stream) {
    (void)device_type, (void)device_id;
    *out_stream = NULL;
    return 0;
}
static inline const struct DLPackExchangeAPI *given_exchange(void) {
    static const struct DLPackExchangeAPI api = {
        .header = {.version = {1, 3}},
        .managed_tensor_from_py_object_no_sync = given_from_object,
        .managed_tensor_to_py_object_no_sync = given_to_object,
        .current_work_stream = given_no_stream};
    return &api;
}
#define given_const_struct_DLPackExchangeAPI_p(c, name) given_exchange()
#define given_struct_DLManagedTensor_p(c, name) given_dlpack()
#define given_struct_DLManagedTensorVersioned_p(c, name) given_dlpack_versioned()
#define given_gantry_native_t_p(c, name) \
    (&(gantry_native_t){.struct_size = sizeof(gantry_native_t)})
#define given_gantry_device_memory_t_p(c, name) \
    (&(gantry_device_memory_t){.struct_size = sizeof(gantry_device_memory_t)})
#define given_const_gantry_from_device_memory_options_t_p(c, name) \
    (&(gantry_from_device_memory_options_t){.struct_size =         \
                                                sizeof(gantry_from_device_memory_options_t)})
#define given_gantry_tensor_memory_t_p(c, name) \
    (&(gantry_tensor_memory_t){.struct_size = sizeof(gantry_tensor_memory_t)})

/* ---- options ---- */

#define given_const_gantry_runtime_options_t_p(c, name)                           \
    (&(gantry_runtime_options_t){.struct_size = sizeof(gantry_runtime_options_t), \
                                 .backends = "cpu"})
#define given_const_gantry_while_options_t_p(c, name) \
    (&(gantry_while_options_t){.struct_size = sizeof(gantry_while_options_t), .most_steps = 2})
#define given_const_gantry_reduce_body_options_t_p(c, name) \
    (&(gantry_reduce_body_options_t){.struct_size = sizeof(gantry_reduce_body_options_t)})
#define given_const_gantry_window_body_options_t_p(c, name) \
    (&(gantry_window_body_options_t){.struct_size = sizeof(gantry_window_body_options_t)})
#define given_const_gantry_scan_body_options_t_p(c, name) \
    (&(gantry_scan_body_options_t){.struct_size = sizeof(gantry_scan_body_options_t)})
#define given_const_gantry_scatter_body_options_t_p(c, name) \
    (&(gantry_scatter_body_options_t){.struct_size = sizeof(gantry_scatter_body_options_t)})
#define given_const_gantry_clone_options_t_p(c, name) \
    (&(gantry_clone_options_t){.struct_size = sizeof(gantry_clone_options_t)})
#define given_const_gantry_start_options_t_p(c, name) \
    (&(gantry_start_options_t){.struct_size = sizeof(gantry_start_options_t)})
#define given_const_gantry_function_options_t_p(c, name) \
    (&(gantry_function_options_t){.struct_size = sizeof(gantry_function_options_t)})
#define given_const_gantry_function_save_options_t_p(c, name) \
    (&(gantry_function_save_options_t){.struct_size = sizeof(gantry_function_save_options_t)})
#define given_const_gantry_function_load_options_t_p(c, name) \
    (&(gantry_function_load_options_t){.struct_size = sizeof(gantry_function_load_options_t)})
#define given_const_gantry_format_options_t_p(c, name) \
    (&(gantry_format_options_t){.struct_size = sizeof(gantry_format_options_t)})
#define given_const_gantry_from_memory_options_t_p(c, name) \
    (&(gantry_from_memory_options_t){.struct_size = sizeof(gantry_from_memory_options_t)})
#define given_const_gantry_from_dlpack_options_t_p(c, name) \
    (&(gantry_from_dlpack_options_t){.struct_size = sizeof(gantry_from_dlpack_options_t)})
#define given_const_gantry_to_dlpack_options_t_p(c, name) \
    (&(gantry_to_dlpack_options_t){.struct_size = sizeof(gantry_to_dlpack_options_t)})
#define given_const_gantry_reduce_options_t_p(c, name) (&(gantry_reduce_options_t){.axis_count = 1})
#define given_const_struct_gantry_reduce_options_t_p(c, name) \
    given_const_gantry_reduce_options_t_p(c, name)
#define given_const_gantry_scan_options_t_p(c, name) (&(gantry_scan_options_t){.reverse = true})
#define given_const_gantry_matmul_options_t_p(c, name) \
    (&(gantry_matmul_options_t){.transpose_a = true})
#define given_const_gantry_strided_slice_options_t_p(c, name) \
    (&(gantry_strided_slice_options_t){.begin_mask = 1})
#define given_const_gantry_pad_options_t_p(c, name) \
    (&(gantry_pad_options_t){.mode = GANTRY_PAD_CONSTANT})
#define given_const_gantry_diagonal_options_t_p(c, name) (&(gantry_diagonal_options_t){.lower = 0})
#define given_const_gantry_scaled_attention_options_t_p(c, name) \
    (&(gantry_scaled_attention_options_t){.is_causal = true})
#define given_const_gantry_rotary_options_t_p(c, name) \
    (&(gantry_rotary_options_t){.interleaved = true})
#define given_const_gantry_resize_options_t_p(c, name) \
    (&(gantry_resize_options_t){.mode = "LINEAR"})
#define given_const_bool_p(c, name) given_place_of_bool()
#define given_const_gantry_window_options_t_p(c, name) \
    (&(gantry_window_options_t){.channels_first = true})
#define given_const_gantry_fused_batch_norm_options_t_p(c, name) \
    (&(gantry_fused_batch_norm_options_t){.inference = true})

/* ---- texts, functions and numbers ---- */

static inline const char *given_text(const null_call_t *c, const char *name) {
    static const struct {
        const char *name, *text;
    } texts[] = {{"device", "CPU:0"},   {"type", "CPU"},      {"path", "/nowhere/no_such_file.npy"},
                 {"equation", "i,i->"}, {"op", "MatMul"},     {"data_format", "NHWC"},
                 {"what", "test.none"}, {"text", "text"},     {"values", "of=no"},
                 {"tag", "tag"},        {"origin", "origin"}, {"key", "AddN"},
                 {"monitor", "loss"},   {"command", "test"},  {"detail", "text"},
                 {"weight", "kernel"},  {"reduction", "ADD"}};
    if (strcmp(name, "name") == 0 && strcmp(c->function->name, "gantry_find_logical_device") == 0)
        return "CPU:0";
    if (strcmp(c->function->name, "gantry_variable_update") == 0) return "ResourceApplyMomentum";
    if (strcmp(name, "name") == 0)
        return strcmp(c->function->name, "gantry_get_setting") == 0 ? "memory_limit" : "AddN";
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i)
        if (strcmp(texts[i].name, name) == 0) return texts[i].text;
    abort(); /* this text has no value here */
}

static inline size_t given_size(const char *name) {
    if (strcmp(name, "bytes") == 0) return sizeof given_floats;
    if (strcmp(name, "npy_bytes") == 0) return GIVEN_NPY_BYTES;
    if (strcmp(name, "out_bytes") == 0) return 64;
    return strcmp(name, "index") == 0 ? 0 : strcmp(name, "axis_count") == 0 ? 1 : 2;
}

static inline void given_callback(void *user, const gantry_placement_record_t *record) {
    (void)user, (void)record;
}
static inline const char *given_choose(const gantry_device_choice_t *choice, void *user) {
    return choice || user ? NULL : "";
}
static inline bool given_visit(void *user, const gantry_tuning_record_t *record) {
    return !user && !record;
}

#define given_const_char_p(c, name) given_text(c, name)
#define given_gantry_placement_fn(c, name) given_callback
#define given_gantry_function_body_fn(c, name) \
    (strcmp(name, "condition") == 0 ? given_condition : given_body)
#define given_const_gantry_function_body_fn_p(c, name) \
    ((const gantry_function_body_fn[]){given_body, given_body, given_body})
#define given_gantry_device_fn(c, name) given_choose
#define given_gantry_tuning_record_fn(c, name) given_visit
static inline gantry_shape_t *given_gantry_shape_t_p(null_call_t *c, const char *name) {
    static gantry_shape_t place;
    (void)c, (void)name;
    return &place;
}
static inline gantry_dtype_t *given_gantry_dtype_t_p(null_call_t *c, const char *name) {
    static gantry_dtype_t place;
    (void)c, (void)name;
    return &place;
}
#define given_size_t(c, name) given_size(name)
#define given_bool(c, name) true
#define given_int(c, name) 0 /* a file */
#define given_int32_t(c, name) 0
#define given_int64_t(c, name) 1
#define given_uint64_t(c, name) 1
#define given_float(c, name) 0.5f
#define given_double(c, name) 0.5
#define given_gantry_shape_t(c, name) given_two
#define given_gantry_dtype_t(c, name) GANTRY_FLOAT32
#define given_gantry_assign_mode_t(c, name) GANTRY_ASSIGN_SET
#define given_gantry_graph_value_t(c, name) 0
#define given_gantry_status_t(c, name) GANTRY_NOT_FOUND
#define given_gantry_log_level_t(c, name) GANTRY_LEVEL_INFO
#define given_gantry_device_policy_t(c, name) GANTRY_POLICY_SILENT
#define given_gantry_wait_policy_t(c, name) GANTRY_WAIT_AUTO
#define given_gantry_log_level_t(c, name) GANTRY_LEVEL_INFO
#define given_gantry_placement_mode_t(c, name) GANTRY_PLACEMENT_PREFER
#define given_gantry_choice_t(c, name) GANTRY_ON
#define given_gantry_explain_form_t(c, name) GANTRY_EXPLAIN_TEXT
#define given_gantry_placement_reason_t(c, name) GANTRY_PLACED_EXPLICIT
#define given_gantry_any_order_t(c, name) GANTRY_ANY_ORDER_USED
#define given_gantry_refusal_t(c, name) GANTRY_REFUSED_NO_KERNEL
#define given_gantry_profile_mode_t(c, name) GANTRY_PROFILE_ON
#define given_gantry_random_algorithm_t(c, name) GANTRY_RANDOM_AUTO
#define given_gantry_report_format_t(c, name) GANTRY_REPORT_TEXT

#endif
