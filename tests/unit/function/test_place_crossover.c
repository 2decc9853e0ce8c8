/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: With crossover, the ops of a graph that the rules leave free run where they cost
 * least, with their copies counted; requests, variables, colocation and GANTRY_PLACEMENT keep
 * precedence. */
#include "failing_heap.h"
#include "place_world.h"
#include "test.h"

#define ARG(name_) \
    { .kind = ARGUMENT, .name = name_ }
#define BIG_ARG(name_) \
    { .kind = ARGUMENT, .name = name_, .elements = 10000000 }
#define DO(name_, op_, inputs_, ...)                                         \
    {                                                                        \
        .kind = OP                                                           \
        , .name = name_, .op = op_, .inputs = inputs_, .device = __VA_ARGS__ \
    }
#define BECAUSE(reason_) .reason = GANTRY_PLACED_##reason_
#define BIG .elements = 10000000

/* The processor launches in 0.1 us and moves 10 bytes in a ns; the card in 5 us and moves 1000. A
 * copy between them takes 9 us and a ns for 20 bytes. */
#define PROCESSOR \
    { .is_known = true, .launch = 100, .per_byte = 0.1, .per_operation = 0.01 }
#define CARD                                                                                    \
    {                                                                                           \
        .is_known = true, .launch = 5000, .per_byte = 0.001, .per_operation = 1e-5, .to = 9000, \
        .to_per_byte = 0.05, .from = 9000, .from_per_byte = 0.05                                \
    }
/* CPU:0, CPU:1, GPU:0, GPU:1, the view */
static const gantry__device_cost_t measured[] = {PROCESSOR, PROCESSOR, CARD, CARD, CARD};
static const gantry__device_cost_t cards_alone[] = {{0}, {0}, CARD, CARD, CARD};
static const gantry__device_cost_t processors_alone[] = {PROCESSOR, PROCESSOR, {0}, {0}, {0}};
static const gantry__device_cost_t first_card_and_cpu[] = {PROCESSOR, {0}, CARD, {0}, {0}};

static const row_t rows[] = {
    {"small work goes to the CPU", .costs = measured,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "CPU:0", BECAUSE(CROSSOVER)),
               DO("m", "Add", "01", "CPU:0", BECAUSE(CROSSOVER))}},
    {"large work stays on the GPU, with the same reason", .costs = measured,
     .nodes = {BIG_ARG("a"), DO("n", "Sqrt", "0", "GPU:0", BECAUSE(CROSSOVER), BIG)}},
    {"crossover off", .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:0", BECAUSE(GPU_PREFERRED))}},
    {"a small node stays with a large neighbour that needs its value", .costs = measured,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:0", BECAUSE(CROSSOVER)), BIG_ARG("b"),
               DO("m", "Add", "12", "GPU:0", BECAUSE(CROSSOVER), BIG)}},
    {"two small nodes save more than one copy costs", .costs = measured,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "CPU:0"), DO("o", "Sqrt", "1", "CPU:0"), BIG_ARG("b"),
               DO("m", "Add", "23", "GPU:0", BIG)}},
    {"a small node between large ones stays", .costs = measured,
     .nodes = {BIG_ARG("a"), DO("n", "Sqrt", "0", "GPU:0", BIG), DO("o", "Sqrt", "1", "GPU:0"),
               DO("m", "Add", "20", "GPU:0", BIG)}},
    {"groups that share no value are decided apart", .costs = measured,
     .nodes = {ARG("a"), BIG_ARG("b"), DO("n", "Sqrt", "0", "CPU:0"),
               DO("m", "Sqrt", "1", "GPU:0", BIG)}},
    {"a constant is copied once for all calls: it joins no group", .costs = measured,
     .nodes = {{.kind = CONSTANT, .name = "c"},
               ARG("a"),
               BIG_ARG("b"),
               DO("n", "Add", "01", "CPU:0"),
               DO("m", "Add", "02", "GPU:0", BIG)}},
    {"an alias lies where its input went", .costs = measured,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "CPU:0"),
               DO("same", "Identity", "1", "CPU:0", BECAUSE(WITH_INPUT)),
               DO("m", "Sqrt", "2", "CPU:0")}},
    {"an alias shows its neighbours the copy", .costs = measured,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:0"), DO("same", "Identity", "1", "GPU:0"),
               BIG_ARG("b"), DO("m", "Add", "23", "GPU:0", BIG)}},
    {"a large product goes to the GPU, a small one stays", .costs = measured,
     .nodes = {{.kind = ARGUMENT, .name = "a", .side = 400},
               ARG("x"),
               DO("big", "MatMul", "00", "GPU:0", BECAUSE(CROSSOVER), .side = 400),
               {.kind = ARGUMENT, .name = "b", .side = 20},
               DO("small", "MatMul", "33", "CPU:0", BECAUSE(CROSSOVER), .side = 20)}},
    {"a source follows its consumer", .costs = measured,
     .nodes = {{.kind = CONSTANT, .name = "c"},
               ARG("a"),
               DO("s", "Sqrt", "0", "CPU:0"),
               DO("n", "Add", "12", "CPU:0", BECAUSE(CROSSOVER))}},
    /* ---- precedence ---- */
    {"a request wins", .costs = measured,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:1", .request = "/GPU:1", BECAUSE(EXPLICIT)),
               DO("m", "Sqrt", "0", "GPU:0", .request = "/GPU:*", BECAUSE(PARTIAL))}},
    {"a request that cannot be falls as without crossover", .costs = measured,
     .nodes = {ARG("a"),
               DO("n", "Sqrt", "0", "GPU:0", .request = "/GPU:9", BECAUSE(SOFT_SAME_TYPE))}},
    {"a neighbour of a requested device joins it if a copy costs more", .costs = measured,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:1", .request = "/GPU:1"),
               DO("m", "Sqrt", "1", "GPU:1", BECAUSE(CROSSOVER))}},
    {"a variable stays at home, and keeps its neighbours if copies cost more", .costs = measured,
     .nodes = {{.kind = READ, .name = "v", .home = AT_GPU0, .device = "GPU:0"},
               DO("n", "Sqrt", "0", "GPU:0", BECAUSE(CROSSOVER)),
               {.kind = ASSIGN,
                .name = "w",
                .home = AT_GPU0,
                .inputs = "1",
                .device = "GPU:0",
                BECAUSE(WITH_VARIABLE)}}},
    {"a variable on the CPU keeps small neighbours there", .costs = measured,
     .nodes = {{.kind = READ, .name = "v", .home = AT_CPU1, .device = "CPU:1"},
               DO("n", "Sqrt", "0", "CPU:0", BECAUSE(CROSSOVER))}},
    {"colocated nodes stay", .costs = measured,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:0", BECAUSE(GPU_PREFERRED)),
               DO("m", "Sqrt", "0", "GPU:0", .with = "1", BECAUSE(COLOCATED))}},
    {"only a GPU has a kernel", .costs = measured,
     .nodes = {ARG("a"), DO("n", "Log", "0", "GPU:0")}},
    {"only CPUs have a kernel", .costs = measured,
     .nodes = {ARG("a"), DO("n", "Exp", "0", "CPU:0", BECAUSE(ONLY_CPU_KERNEL))}},
    {"require: nothing leaves the GPUs", .costs = measured, .require = true,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:0", BECAUSE(GPU_PREFERRED)), ARG("b"),
               DO("o", "Sqrt", "2", "GPU:1", .request = "/GPU:1"),
               DO("m", "Sqrt", "3", "GPU:1", BECAUSE(CROSSOVER))}},
    /* ---- what is not measured ---- */
    {"no CPU is measured: as usual", .costs = cards_alone,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:0", BECAUSE(GPU_PREFERRED))}},
    {"no GPU is measured: as usual", .costs = processors_alone,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "GPU:0", BECAUSE(GPU_PREFERRED))}},
    {"others are not measured: they do not compete", .costs = first_card_and_cpu,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "CPU:0", BECAUSE(CROSSOVER))}},
    {"one device", .costs = measured, .devices = CPU_ALONE,
     .nodes = {ARG("a"), DO("n", "Sqrt", "0", "CPU:0", BECAUSE(NO_GPU))}},
};

/* ---- expectations ---- */

static void expect_node(const world_t *w, const row_t *row, size_t i) {
    const row_node_t *node = &row->nodes[i];
    const gantry__node_place_t *place = &w->places[i];
    const char *got = place->device ? place->device->full_name : "", *expected = node->device;
    if (expected && !strstr(got, expected))
        fail_msg("%s: node %s is on %s, not %s", row->what, node->name, got, expected);
    if (node->reason && place->reason != node->reason)
        fail_msg("%s: node %s: %s, not: %s", row->what, node->name,
                 gantry_placement_reason_text(place->reason),
                 gantry_placement_reason_text(node->reason));
    if (place->reason != GANTRY_PLACED_CROSSOVER) {
        assert_null(place->other);
        return;
    }
    assert_non_null(place->other);
    assert_ptr_not_equal(place->other, place->device);
    assert_true(place->cost_ns > 0 && place->cost_ns <= place->other_cost_ns);
    const gantry__plan_t *plan = &place->kept->plan;
    assert_ptr_equal(plan->device, place->device);
    assert_int_equal(plan->reason, GANTRY_PLACED_CROSSOVER);
    assert_int_equal(plan->refusal_count, 1);
    assert_ptr_equal(plan->refusals[0].device, place->other);
    assert_int_equal(plan->refusals[0].why, GANTRY_REFUSED_COSTS_MORE);
}

TEST(every_case_is_placed_as_it_says) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        world_t w;
        open_world(&w, &rows[i]);
        for (int round = 0; round < 2; ++round) { /* kept plans change no answer */
            if (place_world(&w, &rows[i]) != GANTRY_OK)
                fail_msg("%s: %s", rows[i].what, gantry__message());
            for (size_t k = 0; k < w.graph.node_count; ++k) expect_node(&w, &rows[i], k);
        }
        close_world(&w);
    }
}

/* ---- costs ---- */

static const row_t *find_row(const char *what) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
        if (strcmp(rows[i].what, what) == 0) return &rows[i];
    }
    fail_msg("no row %s", what);
    return NULL;
}

static void place_row(world_t *w, const char *what) {
    const row_t *row = find_row(what);
    open_world(w, row);
    assert_int_equal(place_world(w, row), GANTRY_OK);
}

static void expect_costs(const world_t *w, size_t node, double own, double other) {
    const gantry__node_place_t *place = &w->places[node];
    if (place->cost_ns < own - 0.5 || place->cost_ns > own + 0.5 ||
        place->other_cost_ns < other - 0.5 || place->other_cost_ns > other + 0.5)
        fail_msg("node %zu costs %f beside %f, not %f beside %f", node, place->cost_ns,
                 place->other_cost_ns, own, other);
}

TEST(costs_are_launch_bytes_operations_and_copies) {
    world_t w;
    place_row(&w, "large work stays on the GPU, with the same reason");
    expect_costs(&w, 1, 5000 + 80e6 * 0.001, 100 + 80e6 * 0.1); /* 40 MB read, 40 MB written */
    assert_ptr_equal(w.places[1].other, &machine.logical[AT_CPU0]);
    close_world(&w);
    place_row(&w, "small work goes to the CPU");
    /* m on the GPU would need both its inputs there: the argument and the result of n */
    expect_costs(&w, 2, 100 + 48 * 0.1, 5000 + 48 * 0.001 + 2 * (9000 + 16 * 0.05));
    assert_ptr_equal(w.places[2].other, &machine.logical[AT_GPU0]);
    close_world(&w);
    place_row(&w, "a large product goes to the GPU, a small one stays");
    expect_costs(&w, 2, 5000 + 1280e3 * 0.001 + 128e6 * 1e-5, 100 + 1280e3 * 0.1 + 128e6 * 0.01);
    close_world(&w);
}

TEST(what_is_not_measured_is_told) {
    static const char *const cases[] = {"no GPU is measured: as usual",
                                        "no CPU is measured: as usual"};
    world_t w;
    for (size_t i = 0; i < 2; ++i) {
        place_row(&w, cases[i]);
        const gantry__plan_t *plan = &w.places[1].kept->plan;
        assert_int_equal(plan->reason, GANTRY_PLACED_GPU_PREFERRED);
        assert_int_equal(plan->refusal_count, 1);
        assert_ptr_equal(plan->refusals[0].device, &machine.logical[AT_CPU0]);
        assert_int_equal(plan->refusals[0].why, GANTRY_REFUSED_NOT_MEASURED);
        close_world(&w);
    }
    assert_non_null(
        strstr(gantry_refusal_text(GANTRY_REFUSED_NOT_MEASURED), "gantry tune --what crossover"));
}

TEST(without_memory_it_fails_and_leaks_nothing) {
    const row_t *row = find_row("an alias shows its neighbours the copy");
    bool has_failed = true;
    for (long n = 0; has_failed; ++n) {
        failing_heap_t failing;
        world_t w;
        open_world(&w, row);
        failing_heap_init(&failing, n);
        w.graph.heap = &failing.heap;
        const gantry_status_t status = place_world(&w, row);
        has_failed = failing.calls > n;
        assert_int_equal(status, has_failed ? GANTRY_RESOURCE_EXHAUSTED : GANTRY_OK);
        assert_int_equal(failing.live_blocks, 0);
        assert_false(failing.wrong_size);
        w.graph.heap = &gantry__heap_default;
        close_world(&w);
    }
}

/* ---- random graphs ---- */

static uint32_t random_state;

static uint32_t draw(uint32_t below) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

enum { RANDOM_NODES = 6 };

/* By hand: the sum that the model has for these places. */
static double cost_of_all(const world_t *w, const uint32_t *at) {
    const gantry__graph_t *graph = &w->graph;
    double sum = 0;
    for (size_t v = 0; v < graph->value_count; ++v) {
        const gantry__node_t *maker = &graph->nodes[graph->values[v].node];
        double least = -1;
        bool is_used[5] = {false};
        for (size_t i = 0; i < graph->node_count; ++i) {
            for (uint32_t k = 0; k < graph->nodes[i].input_count; ++k)
                is_used[at[i]] |= graph->nodes[i].inputs[k] == v;
        }
        for (uint32_t from = 0; from < 5; ++from) {
            double cost = 0;
            if (maker->kind == GANTRY__NODE_OP ? from != at[graph->values[v].node] : !is_used[from])
                continue;
            for (uint32_t to = 0; to < 5; ++to)
                cost += is_used[to] && to != from
                            ? gantry__cost_of_copy(&measured[from], &measured[to],
                                                   graph->values[v].bytes)
                            : 0;
            least = least < 0 || cost < least ? cost : least;
        }
        sum += least > 0 ? least : 0;
    }
    for (size_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        gantry__op_work_t work = {.bytes = graph->values[node->first_output].bytes};
        if (node->kind != GANTRY__NODE_OP) continue;
        for (uint32_t k = 0; k < node->input_count; ++k)
            work.bytes += k > 0 && node->inputs[k] == node->inputs[0]
                              ? 0
                              : graph->values[node->inputs[k]].bytes;
        sum += gantry__cost_of_work(&measured[at[i]], &work);
    }
    return sum;
}

/* The sum is never more than as usual; and no way to move one node makes it less. */
TEST(random_graphs_never_cost_more_than_as_usual) {
    static char texts[RANDOM_NODES + 2][3];
    for (uint32_t seed = 1; seed <= 400; ++seed) {
        static const int64_t sizes[] = {4, 4, 30000, 300000, 10000000};
        row_t row = {.what = "random", .costs = measured};
        world_t w;
        uint32_t at[MOST_NODES], usual[MOST_NODES];
        random_state = seed;
        for (uint32_t i = 0; i < MOST_NODES; ++i) {
            row_node_t *node = &row.nodes[i];
            *node = (row_node_t) {
                .kind = i < 2 ? ARGUMENT : OP
                , .name = "n"
            };
            node->elements = sizes[draw(5)];
            if (i < 2) continue;
            node->op = draw(2) ? "Add" : "Sqrt";
            texts[i - 2][0] = (char)('0' + (int)draw(i));
            texts[i - 2][1] = (char)(node->op[0] == 'A' ? '0' + (int)draw(i) : '\0');
            node->inputs = texts[i - 2];
        }
        open_world(&w, &row);
        assert_int_equal(place_world(&w, &row), GANTRY_OK);
        for (uint32_t i = 0; i < MOST_NODES; ++i) {
            at[i] = w.places[i].device ? w.places[i].device->position : 0;
            usual[i] = i < 2 ? 0 : AT_GPU0;
        }
        const double cost = cost_of_all(&w, at);
        if (cost > cost_of_all(&w, usual) * (1 + 1e-9)) fail_msg("seed %u costs more", seed);
        for (uint32_t i = 2; i < MOST_NODES; ++i) {
            const uint32_t own = at[i];
            for (at[i] = 0; at[i] < 4; ++at[i]) {
                if (cost_of_all(&w, at) < cost * (1 - 1e-6))
                    fail_msg("seed %u: node %u costs less on device %u", seed, i, at[i]);
            }
            at[i] = own;
        }
        close_world(&w);
    }
}

/* ---- records ---- */

TEST(records_are_read_or_refused_with_a_reason) {
    static const struct {
        const char *values, *reason; /* NULL: accepted */
    } cases[] = {
        {"launch_us=0.1 gbs=10 gflops=100", NULL},
        {"gflops=35000 to_us=9 to_gbs=20 launch_us=5 from_us=9 from_gbs=20  gbs=1000", NULL},
        {"", "launch_us=, gbs= and gflops= are required"},
        {"launch_us=1 gbs=10", "launch_us=, gbs= and gflops= are required"},
        {"launch_us=1 gbs=10 gflops=1 to_us=1",
         "to_us=, to_gbs=, from_us= and from_gbs= stand together"},
        {"launch_us=0 gbs=10 gflops=1", "a value is not a number above 0, up to 1e9"},
        {"launch_us=1 gbs=-10 gflops=1", "a value is not a number above 0, up to 1e9"},
        {"launch_us=1 gbs=nan gflops=1", "a value is not a number above 0, up to 1e9"},
        {"launch_us=1 gbs=1e99 gflops=1", "a value is not a number above 0, up to 1e9"},
        {"launch_us=1 gbs=10000000000 gflops=1", "a value is not a number above 0, up to 1e9"},
        {"launch_us= gbs=10 gflops=1", "a value is not a number above 0, up to 1e9"},
        {"launch_us=1 launch_us=1 gbs=10 gflops=1", "a name stands twice"},
        {"launch_us", "a word is not NAME=VALUE"},
        {"launch_us=1 gbs=10 gflops=1 speed=9",
         "launch_us=, gbs=, gflops=, to_us=, to_gbs=, from_us= and from_gbs= are accepted"},
        {"=1", "launch_us=, gbs=, gflops=, to_us=, to_gbs=, from_us= and from_gbs= are accepted"},
    };
    gantry__device_cost_t cost;
    const char *reason;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        const bool is_good = gantry__device_cost_parse(cases[i].values, &cost, &reason);
        assert_int_equal(is_good, !cases[i].reason);
        assert_int_equal(cost.is_known, is_good);
        if (cases[i].reason) assert_string_equal(reason, cases[i].reason);
    }
    assert_true(gantry__device_cost_parse(cases[1].values, &cost, &reason));
    assert_true(cost.launch > 4999 && cost.launch < 5001 && cost.to > 8999 && cost.to < 9001);
    assert_true(cost.per_byte > 0.00099 && cost.per_byte < 0.00101);
    assert_true(cost.from_per_byte > 0.0499 && cost.from_per_byte < 0.0501);
}

int main(void) { return test_main(); }
