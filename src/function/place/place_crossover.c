/* SPDX-License-Identifier: Apache-2.0 */
/* Crossover in a graph: after the rules have placed all nodes, moves those that the rules leave
 * free to where they cost least.
 *
 *   free       an op without a request, a colocation or a variable, whose device and one other
 *              that takes it are measured
 *   cost       of each node its work (place/crossover.h); of each value a copy for each device
 *              that uses it and is not its own. A constant is copied once for all calls: it is
 *              free. An argument is, for the model, on the device that makes its copies cheapest
 *   group      free nodes that share values. Groups cost nothing to each other, so each is decided
 *              by itself
 *
 * For each group, these places are compared: as the rules say, and all members on one device that
 * takes them, for each such device. Each is refined first: members move one by one, in order, while
 * that makes the sum less. The cheapest sum wins; at equal sums the rules do. So a small node stays
 * with its neighbours if its copies cost more than it saves, and no group gets dearer.
 *
 *     x -> Exp -> Log -> MatMul -> y       launch 5 us on the GPU, 0.1 us on the CPU, copy 9 us:
 *                                          CPU, CPU, GPU costs 0.2 + 9 + 5, all on the GPU 15;
 *                                          with only Exp the copy costs more than it saves
 *
 * The time is linear in nodes and uses, times devices squared. */
#include <string.h>

#include "device/device_table.h"
#include "device/loss.h"
#include "function/place/place_parts.h"

#define NOWHERE UINT32_MAX
#define MOST_SWEEPS 16
#define MOST_DEVICES 64u /* further ones are no targets */
#define LEAST_GAIN (1 - 1e-9)

typedef struct crossing_t {
    const gantry__graph_place_t *request;
    const gantry__graph_t *graph;
    const gantry__place_groups_t *groups;
    gantry__node_place_t *places;
    gantry__arena_t memory;
    uint32_t devices;
    const gantry__device_cost_t **costs; /* one for each logical device; NULL: not measured */
    uint64_t targets;                    /* bit d: free nodes may go to device d */
    /* of each node */
    uint64_t *fits;    /* targets that take it, its device too; 0: it is not free */
    uint32_t *at;      /* the position of its device; NOWHERE: an argument or a constant */
    uint32_t *best;    /* at, in the cheapest places so far */
    uint32_t *parents; /* the parent of each node in its group's tree */
    uint32_t *next;    /* member of its group in program order: a ring */
    /* of each value */
    uint32_t *roots;   /* itself, or the value that its alias shows */
    uint32_t *counted; /* the last sum that has it */
    uint32_t *uses;    /* on each device */
    uint32_t sums;
} crossing_t;

/* ---- facts ---- */

static bool shows_input(const crossing_t *crossing, uint32_t index) {
    const gantry__node_t *node = &crossing->graph->nodes[index];
    return gantry__node_is_alias(node) && !gantry__node_is_asked(node) &&
           crossing->places[index].decided_by == 0;
}

static bool is_loose(const crossing_t *crossing, uint32_t index) {
    const gantry__node_t *node = &crossing->graph->nodes[index];
    return node->kind == GANTRY__NODE_OP && !gantry__node_is_alias(node) &&
           !gantry__node_is_asked(node) && crossing->places[index].device &&
           !gantry__place_groups_has(crossing->groups, index);
}

/* The first other device that takes the node and cannot be compared; NULL: none. */
static gantry_status_t find_unmeasured(const crossing_t *crossing, uint32_t index,
                                       gantry_logical_device_t **out_device) {
    const gantry__place_request_t *rules = &crossing->request->rules;
    const uint32_t own = crossing->at[index];
    *out_device = NULL;
    for (uint32_t d = 0; d < crossing->devices && !*out_device; ++d) {
        gantry_logical_device_t *device = rules->devices->logical[d];
        bool fits = false;
        if (d == own || (crossing->costs[own] && crossing->costs[d])) continue;
        if (gantry__crossover_takes(device, rules->require))
            GANTRY__TRY(gantry__node_fits(crossing->request, index, device, &fits));
        if (fits) *out_device = device;
    }
    return GANTRY_OK;
}

/* The node stays, and its plan says that it was not compared. */
static gantry_status_t note_unmeasured(const crossing_t *crossing, uint32_t index) {
    const gantry__node_t *node = &crossing->graph->nodes[index];
    gantry_logical_device_t *other;
    GANTRY__TRY(find_unmeasured(crossing, index, &other));
    const gantry__node_ask_t ask = {
        .wish = node->wish, .passed_over = other, .passed_why = GANTRY_REFUSED_NOT_MEASURED};
    if (!other) return GANTRY_OK;
    return gantry__place_op(crossing->request, index, &ask, &crossing->places[index], NULL);
}

static gantry_status_t find_fits(crossing_t *crossing, uint32_t index) {
    const uint32_t own = crossing->at[index];
    uint64_t fits = 0;
    bool takes;
    if (own < MOST_DEVICES && crossing->costs[own]) {
        for (uint32_t d = 0; d < crossing->devices && d < MOST_DEVICES; ++d) {
            gantry_logical_device_t *device = crossing->request->rules.devices->logical[d];
            takes = d == own;
            if (!takes && crossing->targets >> d & 1)
                GANTRY__TRY(gantry__node_fits(crossing->request, index, device, &takes));
            fits |= (uint64_t)takes << d;
        }
    }
    if ((fits & (fits - 1)) == 0) return note_unmeasured(crossing, index);
    crossing->fits[index] = fits;
    return GANTRY_OK;
}

static void find_costs(const crossing_t *crossing, uint64_t *out_targets) {
    const gantry__place_request_t *rules = &crossing->request->rules;
    for (uint32_t d = 0; d < crossing->devices; ++d) {
        const gantry_logical_device_t *device = rules->devices->logical[d];
        const gantry__device_cost_t *cost =
            &crossing->request->costs[gantry__logical_view(device)->position];
        if (!cost->is_known) continue;
        crossing->costs[d] = cost;
        if (d < MOST_DEVICES && gantry__crossover_takes(device, rules->require))
            *out_targets |= UINT64_C(1) << d;
    }
}

/* ---- groups ---- */

static uint32_t crossing_root(const crossing_t *crossing, uint32_t node) {
    uint32_t *parents = crossing->parents;
    while (parents[node] != node) node = parents[node] = parents[parents[node]];
    return node;
}

static void crossing_join(const crossing_t *crossing, uint32_t a, uint32_t b) {
    a = crossing_root(crossing, a);
    b = crossing_root(crossing, b);
    if (a < b) {
        crossing->parents[b] = a;
    } else {
        crossing->parents[a] = b;
    }
}

static bool is_constant(const crossing_t *crossing, uint32_t value) {
    return crossing->graph->nodes[crossing->graph->values[value].node].kind == GANTRY__NODE_CONST;
}

/* Joins the free nodes that share a value. touched: of each value a free node + 1, or 0. */
static void find_groups(const crossing_t *crossing, uint32_t *touched) {
    const gantry__graph_t *graph = crossing->graph;
    for (uint32_t i = 0; i < graph->node_count; ++i) {
        const gantry__node_t *node = &graph->nodes[i];
        if (!crossing->fits[i]) continue;
        for (uint32_t k = 0; k < node->input_count; ++k) {
            const uint32_t value = crossing->roots[node->inputs[k]];
            if (is_constant(crossing, value)) continue;
            if (touched[value]) crossing_join(crossing, touched[value] - 1, i);
            touched[value] = i + 1;
        }
        for (uint32_t k = 0; k < node->output_count; ++k) touched[node->first_output + k] = i + 1;
    }
}

/* Makes the rings; the root is the first member. tails: of each node 0. */
static void list_groups(const crossing_t *crossing, uint32_t *tails) {
    for (uint32_t i = 0; i < crossing->graph->node_count; ++i) {
        const uint32_t root = crossing_root(crossing, i);
        if (i != root) crossing->next[tails[root]] = i;
        crossing->next[i] = root;
        tails[root] = i;
    }
}

/* ---- costs ---- */

static double cost_from(const crossing_t *crossing, uint32_t value, uint32_t source) {
    const uint32_t *uses = &crossing->uses[(size_t)value * crossing->devices];
    double cost = 0;
    for (uint32_t d = 0; d < crossing->devices; ++d) {
        if (d != source && uses[d] > 0)
            cost += gantry__cost_of_copy(crossing->costs[source], crossing->costs[d],
                                         crossing->graph->values[value].bytes);
    }
    return cost;
}

static double cost_of_value(const crossing_t *crossing, uint32_t value) {
    const uint32_t *uses = &crossing->uses[(size_t)value * crossing->devices];
    const uint32_t source = crossing->at[crossing->graph->values[value].node];
    double least = -1;
    if (is_constant(crossing, value)) return 0;
    if (source != NOWHERE) return cost_from(crossing, value, source);
    for (uint32_t d = 0; d < crossing->devices; ++d) {
        const double cost = uses[d] > 0 ? cost_from(crossing, value, d) : -1;
        if (cost >= 0 && (least < 0 || cost < least)) least = cost;
    }
    return least > 0 ? least : 0;
}

/* Whether input i shows a value that no earlier input shows. */
static bool is_first_use(const crossing_t *crossing, const gantry__node_t *node, uint32_t i) {
    for (uint32_t k = 0; k < i; ++k) {
        if (crossing->roots[node->inputs[k]] == crossing->roots[node->inputs[i]]) return false;
    }
    return true;
}

static double cost_of_node(const crossing_t *crossing, uint32_t index) {
    const gantry__graph_t *graph = crossing->graph;
    const gantry__node_t *node = &graph->nodes[index];
    const gantry__value_t *values = graph->values;
    gantry__op_work_t work = {0};
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (is_first_use(crossing, node, i)) work.bytes += values[node->inputs[i]].bytes;
    }
    for (uint32_t i = 0; i < node->output_count; ++i)
        work.bytes += values[node->first_output + i].bytes;
    if (node->input_count >= 2 && node->output_count >= 1)
        work.operations = gantry__operations_of(node->op, &values[node->inputs[0]].shape,
                                                &values[node->inputs[1]].shape,
                                                &values[node->first_output].shape);
    return gantry__cost_of_work(crossing->costs[crossing->at[index]], &work);
}

/* The node and the copies of its values. */
static double cost_around(const crossing_t *crossing, uint32_t index) {
    const gantry__node_t *node = &crossing->graph->nodes[index];
    double cost = cost_of_node(crossing, index);
    for (uint32_t i = 0; i < node->input_count; ++i) {
        if (is_first_use(crossing, node, i))
            cost += cost_of_value(crossing, crossing->roots[node->inputs[i]]);
    }
    for (uint32_t i = 0; i < node->output_count; ++i)
        cost += cost_of_value(crossing, node->first_output + i);
    return cost;
}

static void crossing_move(const crossing_t *crossing, uint32_t index, uint32_t device) {
    const gantry__node_t *node = &crossing->graph->nodes[index];
    for (uint32_t i = 0; i < node->input_count; ++i) {
        uint32_t *uses =
            &crossing->uses[(size_t)crossing->roots[node->inputs[i]] * crossing->devices];
        --uses[crossing->at[index]];
        ++uses[device];
    }
    crossing->at[index] = device;
}

static double sum_value(const crossing_t *crossing, uint32_t value) {
    if (crossing->counted[value] == crossing->sums) return 0;
    crossing->counted[value] = crossing->sums;
    return cost_of_value(crossing, value);
}

/* The cost of a group: that of its nodes and of all values that they touch. */
static double cost_of_group(crossing_t *crossing, uint32_t root) {
    uint32_t index = root;
    double cost = 0;
    ++crossing->sums;
    do {
        const gantry__node_t *node = &crossing->graph->nodes[index];
        cost += cost_of_node(crossing, index);
        for (uint32_t i = 0; i < node->input_count; ++i)
            cost += sum_value(crossing, crossing->roots[node->inputs[i]]);
        for (uint32_t i = 0; i < node->output_count; ++i)
            cost += sum_value(crossing, node->first_output + i);
        index = crossing->next[index];
    } while (index != root);
    return cost;
}

/* ---- decisions ---- */

/* Moves the node to the device where it costs least; returns whether it moves. */
static bool move_to_best(const crossing_t *crossing, uint32_t index) {
    const uint32_t first = crossing->at[index];
    uint32_t best = first;
    double least = cost_around(crossing, index);
    for (uint32_t d = 0; d < crossing->devices && d < MOST_DEVICES; ++d) {
        if (d == first || !(crossing->fits[index] >> d & 1)) continue;
        crossing_move(crossing, index, d);
        const double cost = cost_around(crossing, index);
        if (cost >= least * LEAST_GAIN) continue;
        least = cost;
        best = d;
    }
    crossing_move(crossing, index, best);
    return best != first;
}

static void crossing_refine(const crossing_t *crossing, uint32_t root) {
    bool moves = true;
    for (int sweep = 0; moves && sweep < MOST_SWEEPS; ++sweep) {
        uint32_t index = root;
        moves = false;
        do {
            moves |= move_to_best(crossing, index);
            index = crossing->next[index];
        } while (index != root);
    }
}

/* Puts all members that can run there on a device, the others where the rules put them. */
static void gather_group(const crossing_t *crossing, uint32_t root, uint32_t device) {
    uint32_t index = root;
    do {
        const bool fits = crossing->fits[index] >> device & 1;
        crossing_move(crossing, index, fits ? device : crossing->places[index].device->position);
        index = crossing->next[index];
    } while (index != root);
}

/* Keeps the present places if they cost less than the best ones. */
static void keep_if_less(crossing_t *crossing, uint32_t root, double *least) {
    const double cost = cost_of_group(crossing, root);
    uint32_t index = root;
    if (cost >= *least * LEAST_GAIN) return;
    *least = cost;
    do {
        crossing->best[index] = crossing->at[index];
        index = crossing->next[index];
    } while (index != root);
}

static void decide_group(crossing_t *crossing, uint32_t root) {
    double least = cost_of_group(crossing, root);
    uint32_t index = root;
    crossing_refine(crossing, root);
    keep_if_less(crossing, root, &least);
    for (uint32_t d = 0; d < crossing->devices && d < MOST_DEVICES; ++d) {
        if (!(crossing->targets >> d & 1)) continue;
        gather_group(crossing, root, d);
        crossing_refine(crossing, root);
        keep_if_less(crossing, root, &least);
    }
    do {
        crossing_move(crossing, index, crossing->best[index]);
        index = crossing->next[index];
    } while (index != root);
}

/* ---- results ---- */

/* The device to compare with: the one that the rules chose, or, if the node stays there, the
 * cheapest one of another type. NOWHERE: none. */
static uint32_t find_other(const crossing_t *crossing, uint32_t index, double *out_cost) {
    gantry_logical_device_t **devices = crossing->request->rules.devices->logical;
    const uint32_t own = crossing->at[index], usual = crossing->places[index].device->position;
    uint32_t other = NOWHERE;
    for (uint32_t d = 0; d < crossing->devices && d < MOST_DEVICES; ++d) {
        const bool competes =
            own != usual ? d == usual
                         : strcmp(devices[d]->physical->type, devices[own]->physical->type) != 0;
        if (!competes || !(crossing->fits[index] >> d & 1)) continue;
        crossing_move(crossing, index, d);
        const double cost = cost_around(crossing, index);
        if (other != NOWHERE && cost >= *out_cost) continue;
        other = d;
        *out_cost = cost;
    }
    crossing_move(crossing, index, own);
    return other;
}

static gantry_status_t place_crossed(const crossing_t *crossing, uint32_t index) {
    gantry_logical_device_t **devices = crossing->request->rules.devices->logical;
    gantry__node_place_t there = {.cost_ns = cost_around(crossing, index),
                                  .is_apart = crossing->places[index].is_apart};
    const uint32_t other = find_other(crossing, index, &there.other_cost_ns);
    if (other == NOWHERE) return note_unmeasured(crossing, index);
    there.other = devices[other];
    const gantry__node_ask_t ask = {.wish = crossing->graph->nodes[index].wish,
                                    .pinned = devices[crossing->at[index]],
                                    .pin_reason = GANTRY_PLACED_CROSSOVER,
                                    .passed_over = there.other,
                                    .passed_why = GANTRY_REFUSED_COSTS_MORE};
    const uint32_t before = gantry__failures();
    gantry_status_t status = gantry__place_op(crossing->request, index, &ask, &there, NULL);
    if (status == GANTRY_RESOURCE_EXHAUSTED) return status;
    gantry__forget_since(before);
    if (status == GANTRY_OK) crossing->places[index] = there;
    return GANTRY_OK;
}

/* ---- all ---- */

static gantry_status_t crossing_allocate(crossing_t *crossing) {
    const size_t nodes = crossing->graph->node_count, values = crossing->graph->value_count;
    gantry__arena_t *memory = &crossing->memory;
    crossing->costs =
        gantry__arena_zalloc(memory, crossing->devices, sizeof(gantry__device_cost_t *));
    crossing->fits = gantry__arena_zalloc(memory, nodes, sizeof *crossing->fits);
    crossing->at = gantry__arena_zalloc(memory, nodes, sizeof *crossing->at);
    crossing->best = gantry__arena_zalloc(memory, nodes, sizeof *crossing->best);
    crossing->parents = gantry__arena_zalloc(memory, nodes, sizeof *crossing->parents);
    crossing->next = gantry__arena_zalloc(memory, nodes, sizeof *crossing->next);
    crossing->roots = gantry__arena_zalloc(memory, values, sizeof *crossing->roots);
    crossing->counted = gantry__arena_zalloc(memory, values, sizeof *crossing->counted);
    crossing->uses =
        gantry__arena_zalloc(memory, values, crossing->devices * sizeof *crossing->uses);
    return crossing->costs && crossing->fits && crossing->at && crossing->best &&
                   crossing->parents && crossing->next && crossing->roots && crossing->counted &&
                   crossing->uses
               ? GANTRY_OK
               : GANTRY_RESOURCE_EXHAUSTED;
}

static gantry_status_t find_node(crossing_t *crossing, uint32_t index) {
    const gantry__node_t *node = &crossing->graph->nodes[index];
    const gantry_logical_device_t *device = crossing->places[index].device;
    crossing->parents[index] = crossing->next[index] = index;
    crossing->at[index] = crossing->best[index] = device ? device->position : NOWHERE;
    for (uint32_t k = 0; k < node->output_count; ++k) {
        const uint32_t value = node->first_output + k;
        crossing->roots[value] =
            shows_input(crossing, index) ? crossing->roots[node->inputs[0]] : value;
    }
    if (shows_input(crossing, index)) return GANTRY_OK;
    for (uint32_t i = 0; device && i < node->input_count; ++i)
        ++crossing->uses[(size_t)crossing->roots[node->inputs[i]] * crossing->devices +
                         device->position];
    return is_loose(crossing, index) ? find_fits(crossing, index) : GANTRY_OK;
}

static gantry_status_t cross_all(crossing_t *crossing) {
    const size_t count = crossing->graph->node_count;
    GANTRY__TRY(crossing_allocate(crossing));
    uint32_t *touched =
        gantry__arena_zalloc(&crossing->memory, crossing->graph->value_count, sizeof *touched);
    uint32_t *tails = gantry__arena_zalloc(&crossing->memory, count, sizeof *tails);
    if (!touched || !tails) return GANTRY_RESOURCE_EXHAUSTED;
    find_costs(crossing, &crossing->targets);
    for (uint32_t i = 0; i < count; ++i) GANTRY__TRY(find_node(crossing, i));
    find_groups(crossing, touched);
    list_groups(crossing, tails);
    for (uint32_t i = 0; i < count; ++i) {
        if (crossing->fits[i] && crossing->parents[i] == i) decide_group(crossing, i);
    }
    for (uint32_t i = 0; i < count; ++i) {
        if (crossing->fits[i]) GANTRY__TRY(place_crossed(crossing, i));
    }
    return GANTRY_OK;
}

gantry_status_t gantry__place_crossover(const gantry__graph_place_t *request,
                                        const gantry__place_groups_t *groups,
                                        gantry__node_place_t *places) {
    crossing_t crossing = {.request = request,
                           .graph = request->graph,
                           .groups = groups,
                           .places = places,
                           .devices = (uint32_t)request->rules.devices->logical_count};
    gantry__arena_init(&crossing.memory, request->graph->heap);
    gantry_status_t status = cross_all(&crossing);
    gantry__arena_deinit(&crossing.memory);
    return status;
}
