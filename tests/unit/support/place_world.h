/* SPDX-License-Identifier: Apache-2.0 */
/* Graphs of a few nodes on machines made of tables, for tests of the placer of graphs. Header only;
 * externally synchronised. */
#ifndef TESTS_PLACE_WORLD_H
#define TESTS_PLACE_WORLD_H

#include "placer_machine.h"

#include "base/arena.h"
#include "function/place/place_graph.h"

#define MOST_NODES 8

KERNEL(sqrt_any, "Sqrt", NULL, 0, .priority = 0);
KERNEL(exp_any, "Exp", NULL, 0, .priority = 0);
KERNEL(log_any, "Log", NULL, 0, .priority = 0);
KERNEL(cos_first, "Cos", NULL, 0, .priority = 9);
KERNEL(cos_other, "Cos", NULL, 0, .priority = 1);
KERNEL(identity_any, "Identity", NULL, 0, .priority = 0);
KERNEL(mat_mul_any, "MatMul", NULL, 0, .priority = 0);
KERNEL(abs_picky, "Abs", NULL, 0, .supports = decline);
KERNEL(abs_any, "Abs", NULL, 0, .priority = 0);

/* ---- machines ---- */

typedef enum devices_t { ALL = 0, CPU_ALONE, NO_DEVICE } devices_t;

enum { AT_CPU0 = 0, AT_CPU1 = 1, AT_GPU0 = 2, AT_GPU1 = 3, AT_VIEW = 4 };

/* Abs: the GPUs' kernels decline. Add, Sqrt, Identity, MatMul: all. Cos: a CPU's has the higher
 * priority. Exp: the CPUs. Log: the GPUs. Sin: none. In the registry's order. */
static inline void make_machine(devices_t devices) {
    begin_machine();
    if (devices == NO_DEVICE) return;
    add_device("CPU", 0, 0, 0);
    if (devices == ALL) {
        add_device("CPU", 1, 0, 1);
        add_device("GPU", 0, 1, 0);
        add_device("GPU", 1, 1, 1);
        add_device("GPU", -1, 2, 0);
    }
    const uint32_t cpus = devices == ALL ? 3 : 1, gpus = devices == ALL ? 28 : 0;
    add_kernel(gpus, &abs_picky);
    add_kernel(cpus, &abs_any);
    add_kernel(cpus | gpus, &add_any);
    add_kernel(cpus, &cos_first);
    add_kernel(gpus, &cos_other);
    add_kernel(cpus, &exp_any);
    add_kernel(cpus | gpus, &identity_any);
    add_kernel(gpus, &log_any);
    add_kernel(cpus | gpus, &mat_mul_any);
    add_kernel(cpus | gpus, &sqrt_any);
}

/* ---- a row ---- */

typedef enum row_kind_t { NONE = 0, ARGUMENT, CONSTANT, READ, ASSIGN, OP } row_kind_t;

typedef struct row_node_t {
    row_kind_t kind;
    const char *name;
    const char *op;                   /* of OP */
    const char *inputs;               /* numbers of nodes: "01" */
    const char *request;              /* or NULL */
    const char *with;                 /* numbers of nodes with which it is colocated */
    int home;                         /* of READ and ASSIGN */
    int64_t elements;                 /* 0: 4 */
    int64_t side;                     /* of a square matrix; 0: a vector */
    const char *device;               /* expected; NULL: wherever it is used */
    gantry_placement_reason_t reason; /* expected; 0: any */
} row_node_t;

typedef struct row_t {
    const char *what;
    bool hard, require;
    devices_t devices;
    const char *error;                  /* expected, or NULL */
    const gantry__device_cost_t *costs; /* with crossover */
    row_node_t nodes[MOST_NODES];
} row_t;

/* ---- making and placing ---- */

typedef struct world_t {
    gantry__graph_t graph;
    gantry__plan_cache_t plans;
    gantry__wish_t wishes[512];
    size_t wish_count;
    int told;
    gantry__node_place_t places[MOST_NODES];
} world_t;

static inline gantry_status_t world_wish(void *owner, const gantry__device_reference_t *reference,
                                         const gantry__wish_t **out_wish) {
    world_t *w = owner;
    gantry__wish_t *wish = &w->wishes[w->wish_count++];
    assert_in_range(w->wish_count, 1, 512);
    *wish = (gantry__wish_t){.reference = *reference};
    (void)gantry__device_reference_format(reference, wish->text, sizeof wish->text);
    *out_wish = wish;
    return GANTRY_OK;
}

static inline void world_tell(void *owner, const char *text) {
    world_t *w = owner;
    assert_non_null(strstr(text, "Cannot colocate nodes {{colocation_node "));
    ++w->told;
}

static inline uint32_t read_numbers(const char *text, uint32_t *out) {
    uint32_t count = 0;
    for (; text && text[count]; ++count) out[count] = (uint32_t)(text[count] - '0');
    return count;
}

static inline void add_row_node(world_t *w, const row_node_t *of) {
    static const gantry__node_kind_t kinds[] = {0,
                                                GANTRY__NODE_INPUT,
                                                GANTRY__NODE_CONST,
                                                GANTRY__NODE_READ,
                                                GANTRY__NODE_ASSIGN,
                                                GANTRY__NODE_OP};
    static const char *const ops[] = {"", "Const", "Const", "ReadVariableOp", "AssignVariableOp"};
    const gantry_dtype_t dtype = GANTRY_FLOAT32;
    const gantry_shape_t vector = {.rank = 1, .dims = {of->elements ? of->elements : 4}},
                         matrix = {.rank = 2, .dims = {of->side, of->side}},
                         shape = of->side ? matrix : vector;
    uint32_t inputs[4], with[4], index;
    gantry__node_t node = {
        .kind = kinds[of->kind],
        .op = gantry__op_find(of->kind == OP ? of->op : ops[of->kind]),
        .name = of->name,
        .inputs = inputs,
        .input_count = read_numbers(of->inputs, inputs),
        .colocated = with,
        .colocated_count = read_numbers(of->with, with),
        .output_count = of->kind == ASSIGN ? 0 : 1
    };
    assert_non_null(node.op);
    for (uint32_t i = 0; i < node.input_count; ++i)
        inputs[i] = w->graph.nodes[inputs[i]].first_output;
    if (of->kind == READ || of->kind == ASSIGN) node.home = &machine.logical[of->home];
    begin_placing(node.op->name, dtype, of->request); /* fills attributes and request */
    if (of->kind == OP) node.attrs = placing.attrs;
    if (of->request) {
        gantry__wish_t *wish = &w->wishes[w->wish_count++];
        *wish = placing.wish;
        node.wish = wish;
    }
    assert_int_equal(gantry__graph_add(&w->graph, &node, &dtype, &shape, &index), GANTRY_OK);
}

static inline void open_world(world_t *w, const row_t *row) {
    memset(w, 0, sizeof *w);
    make_machine(row->devices);
    gantry__graph_init(&w->graph, &gantry__heap_default);
    assert_int_equal(gantry__plan_cache_init(&w->plans, &gantry__heap_default), GANTRY_OK);
    for (size_t i = 0; i < MOST_NODES && row->nodes[i].kind != NONE; ++i)
        add_row_node(w, &row->nodes[i]);
}

static inline void close_world(world_t *w) {
    gantry__plan_cache_deinit(&w->plans);
    gantry__graph_deinit(&w->graph);
}

static inline gantry_status_t place_world(world_t *w, const row_t *row) {
    const gantry__graph_place_t request = {.graph = &w->graph,
                                           .rules = {.devices = &machine.table,
                                                     .registries = machine.registries,
                                                     .soft = !row->hard,
                                                     .require = row->require},
                                           .plans = &w->plans,
                                           .costs = row->costs,
                                           .make_wish = world_wish,
                                           .tell = world_tell,
                                           .owner = w};
    memset(w->places, 0, sizeof w->places);
    return gantry__place_graph(&request, w->places);
}

#endif
