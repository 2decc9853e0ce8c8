/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Random graphs with random requests, homes and colocations are placed by the rules: each
 * op where it has a kernel, variables at home, colocated nodes together, and twice the same. */
#include "place_world.h"
#include "test.h"

#define RANDOM_NODES 48

static uint32_t random_state, seed_now;

static uint32_t draw(uint32_t below) {
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % below;
}

/* A node whose inputs and mates are earlier ones. The texts live as long as the row. */
static row_node_t draw_node(uint32_t index, char texts[3][4]) {
    static const char *const ops[] = {"Sqrt", "Sqrt", "Exp", "Log", "Abs", "Identity"};
    static const char *const requests[] = {
        NULL, NULL, NULL, NULL, "/device:CPU:0", "/device:CPU:*", "/device:GPU:1", "/device:GPU:9"};
    static const row_kind_t kinds[] = { ARGUMENT, CONSTANT, READ, OP, OP, OP, OP, OP, OP, OP };
    row_node_t node = {.kind = kinds[index == 0 ? 0 : draw(10)], .name = "n"};
    if (node.kind == OP) node.op = ops[draw(6)];
    if (node.kind == OP) {
        texts[0][0] = (char)('0' + (int)draw(index));
        node.inputs = texts[0];
    }
    if (node.kind != ARGUMENT && node.kind != READ) node.request = requests[draw(8)];
    if (node.kind == READ) node.home = (int)draw(4);
    if (index > 0 && node.kind != ARGUMENT && draw(3) == 0) {
        texts[1][0] = (char)('0' + (int)draw(index));
        if (draw(4) == 0) texts[1][1] = (char)('0' + (int)draw(index));
        node.with = texts[1];
    }
    return node;
}

static bool is_floating(const gantry__node_place_t *place) { return !place->device; }

static void expect_kernel(const row_node_t *node, const gantry__node_place_t *place) {
    if (node->kind != OP || strcmp(node->op, "Identity") == 0) return;
    assert_non_null(place->device);
    assert_ptr_equal(place->kept->plan.device, place->device);
    assert_string_equal(place->kept->plan.kernels[place->choice]->def->op, node->op);
    if (strcmp(node->op, "Exp") == 0 || strcmp(node->op, "Abs") == 0)
        assert_string_equal(place->device->physical->type, "CPU");
    if (strcmp(node->op, "Log") == 0) assert_string_equal(place->device->physical->type, "GPU");
}

static void expect_rules(const world_t *w, const row_node_t *nodes, const gantry__node_place_t *at,
                         bool is_hard) {
    for (size_t i = 0; i < w->graph.node_count; ++i) {
        const gantry__node_t *node = &w->graph.nodes[i];
        expect_kernel(&nodes[i], &at[i]);
        if (node->home) assert_ptr_equal(at[i].device, node->home);
        if (is_hard && nodes[i].request && at[i].device)
            assert_true(gantry__device_reference_matches(&node->wish->reference, at[i].device));
        for (uint32_t k = 0; !at[i].is_apart && k < node->colocated_count; ++k) {
            const gantry__node_place_t *mate = &at[node->colocated[k]];
            if (!is_floating(&at[i]) && !is_floating(mate) && mate->device != at[i].device)
                fail_msg("seed %u: node %zu (%s) with %u (%s): %s, %s", (unsigned)seed_now, i,
                         node->op->name, (unsigned)node->colocated[k],
                         w->graph.nodes[node->colocated[k]].op->name, at[i].device->full_name,
                         mate->device->full_name);
        }
        assert_false(is_hard && at[i].is_apart);
    }
}

TEST(random_graphs_keep_the_rules) {
    static gantry__node_place_t places[2][RANDOM_NODES];
    static row_node_t nodes[RANDOM_NODES];
    static char texts[RANDOM_NODES][3][4];
    static const row_t none = {.what = "random"};
    static world_t w;
    uint32_t placed = 0, refused = 0;
    for (uint32_t round = 0; round < 3000; ++round) {
        const bool is_hard = round % 3 == 2;
        const uint32_t count = 1 + round % RANDOM_NODES;
        random_state = seed_now = round;
        open_world(&w, &none);
        memset(texts, 0, sizeof texts);
        for (uint32_t i = 0; i < count; ++i) {
            nodes[i] = draw_node(i, texts[i]);
            add_row_node(&w, &nodes[i]);
        }
        gantry_status_t status[2];
        for (int twice = 0; twice < 2; ++twice) {
            const gantry__graph_place_t request = {.graph = &w.graph,
                                                   .rules = {.devices = &machine.table,
                                                             .registries = machine.registries,
                                                             .soft = !is_hard},
                                                   .plans = &w.plans,
                                                   .make_wish = world_wish,
                                                   .owner = &w};
            memset(places[twice], 0, sizeof places[twice]);
            status[twice] = gantry__place_graph(&request, places[twice]);
        }
        assert_int_equal(status[0], status[1]);
        if (status[0] == GANTRY_OK) {
            expect_rules(&w, nodes, places[0], is_hard);
            for (uint32_t i = 0; i < count; ++i) {
                assert_ptr_equal(places[0][i].device, places[1][i].device);
                assert_int_equal(places[0][i].reason, places[1][i].reason);
            }
        } else {
            assert_true(is_hard); /* every op has a kernel somewhere */
        }
        placed += status[0] == GANTRY_OK;
        refused += status[0] != GANTRY_OK;
        close_world(&w);
    }
    assert_true(placed > 2000 && refused > 200);
}

int main(void) { return test_main(); }
