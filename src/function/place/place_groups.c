/* SPDX-License-Identifier: Apache-2.0 */
/* Colocation groups: nodes that share one device, as TensorFlow's colocation graph unites them.
 *
 *   a joins b     what is left: the devices on which both can run, the home of a variable of
 *                 either, both requests as one name. If nothing is, the nodes stay apart under soft
 *                 placement; without it the error names both.
 *   the device    the rules of one op, for the member that decides: one that made the request, else
 *                 the first. The others are pinned there.
 *
 * A union-find forest over the nodes: with path halving and union by index, nearly linear. Masks
 * and requests are kept only at roots, and only if a node is colocated at all. */
#include <string.h>

#include "device/device_open.h"
#include "device/device_table.h"
#include "device/logical_device.h"
#include "function/place/place_parts.h"

typedef gantry__place_groups_t groups_t;
typedef gantry__place_group_t group_t;

/* ---- the forest ---- */

static uint32_t groups_root(const groups_t *groups, uint32_t node) {
    uint32_t *parents = groups->parents;
    while (parents[node] != node) node = parents[node] = parents[parents[node]];
    return node;
}

bool gantry__place_groups_has(const groups_t *groups, uint32_t node) {
    return groups->parents && groups->next[node] != node;
}

/* An alias is where its input is, unless it was given a device or a group. */
static uint32_t groups_anchor(const gantry__graph_t *graph, uint32_t node) {
    const gantry__node_t *at = &graph->nodes[node];
    while (gantry__node_is_alias(at) && !gantry__node_is_asked(at) && at->colocated_count == 0) {
        node = graph->values[at->inputs[0]].node;
        at = &graph->nodes[node];
    }
    return node;
}

/* ---- the group of one node ---- */

static void allow(group_t *group, const gantry_logical_device_t *device) {
    group->allowed[device->position / 64] |= UINT64_C(1) << device->position % 64;
}

static void forbid(group_t *group, const gantry_logical_device_t *device) {
    group->allowed[device->position / 64] &= ~(UINT64_C(1) << device->position % 64);
}

static bool is_nowhere(const groups_t *groups, const uint64_t *allowed) {
    uint64_t all = 0;
    for (size_t i = 0; i < groups->words; ++i) all |= allowed[i];
    return all == 0;
}

static gantry_status_t allow_fitting(const groups_t *groups, uint32_t node, group_t *group) {
    const gantry__device_table_t *devices = groups->request->rules.devices;
    const gantry__node_t *of = &groups->request->graph->nodes[node];
    const bool needs_kernel = of->kind == GANTRY__NODE_OP && !gantry__node_is_alias(of);
    for (size_t i = 0; i < devices->logical_count; ++i) {
        bool fits = true;
        if (needs_kernel)
            GANTRY__TRY(gantry__node_fits(groups->request, node, devices->logical[i], &fits));
        if (fits) allow(group, devices->logical[i]);
    }
    return GANTRY_OK;
}

static gantry_status_t group_of(groups_t *groups, uint32_t root, group_t **out_group) {
    *out_group = groups->groups[root];
    if (*out_group) return GANTRY_OK;
    const gantry__node_t *node = &groups->request->graph->nodes[root];
    group_t *group = gantry__arena_zalloc(&groups->memory, 1, sizeof *group);
    if (!group) return GANTRY_RESOURCE_EXHAUSTED;
    group->allowed = gantry__arena_zalloc(&groups->memory, groups->words, sizeof *group->allowed);
    if (!group->allowed) return GANTRY_RESOURCE_EXHAUSTED;
    group->pinned = node->home;
    if (node->home) {
        allow(group, node->home); /* the variable wins over a request of the node */
    } else {
        group->wish = gantry__node_is_asked(node) ? node->wish : NULL;
        GANTRY__TRY(allow_fitting(groups, root, group));
    }
    *out_group = groups->groups[root] = group;
    return GANTRY_OK;
}

/* ---- two requests as one ---- */

/* Whether every device of a is one of b. */
static bool is_part(const gantry__device_table_t *devices, const gantry__wish_t *a,
                    const gantry__wish_t *b) {
    for (size_t i = 0; i < devices->logical_count; ++i) {
        if (gantry__device_reference_matches(&a->reference, devices->logical[i]) &&
            !gantry__device_reference_matches(&b->reference, devices->logical[i]))
            return false;
    }
    return true;
}

/* Requests that are not names: the narrower one. */
static gantry_status_t narrow(const gantry__graph_place_t *request, const gantry__wish_t *a,
                              const gantry__wish_t *b, const gantry__wish_t **out_wish) {
    *out_wish = is_part(request->rules.devices, a, b)   ? a
                : is_part(request->rules.devices, b, a) ? b
                                                        : NULL;
    if (*out_wish || request->rules.soft) return GANTRY_OK;
    return gantry__refuse("Cannot merge devices with incompatible types: '%s' and '%s'", a->text,
                          b->text);
}

static gantry_status_t merge_wishes(const gantry__graph_place_t *request, const gantry__wish_t *a,
                                    const gantry__wish_t *b, const gantry__wish_t **out_wish) {
    *out_wish = a ? a : b;
    if (!a || !b || a == b) return GANTRY_OK;
    if (a->reference.kind != GANTRY__DEVICE_LOGICAL || b->reference.kind != GANTRY__DEVICE_LOGICAL)
        return narrow(request, a, b, out_wish);
    static const gantry__device_name_t nothing;
    gantry__device_reference_t merged = a->reference;
    GANTRY__TRY(gantry__device_name_merge(&a->reference.name, &b->reference.name,
                                          request->rules.soft, &merged.name));
    if (gantry__device_name_is_equal(&merged.name, &a->reference.name)) return GANTRY_OK;
    *out_wish = b;
    if (gantry__device_name_is_equal(&merged.name, &b->reference.name)) return GANTRY_OK;
    *out_wish = NULL;
    if (gantry__device_name_is_equal(&merged.name, &nothing)) return GANTRY_OK;
    return request->make_wish(request->owner, &merged, out_wish);
}

/* ---- two groups as one ---- */

static gantry_status_t fail_homes(const gantry_logical_device_t *a,
                                  const gantry_logical_device_t *b) {
    return gantry__refuse(
        ": Cannot place the graph because a reference or resource edge connects colocation groups with incompatible assigned devices: %s vs %s.",
        a->full_name, b->full_name);
}

static gantry_status_t check_home(const gantry__graph_place_t *request,
                                  const gantry_logical_device_t *home, const gantry__wish_t *wish) {
    if (!home || !wish || request->rules.soft ||
        gantry__device_reference_matches(&wish->reference, home))
        return GANTRY_OK;
    return gantry__refuse(": Cannot merge devices with incompatible types: '%s' and '%s'",
                          wish->text, home->full_name);
}

/* What both groups have in common; else the end of the sentence about two nodes. */
static gantry_status_t meet(const groups_t *groups, const group_t *a, const group_t *b,
                            group_t *out_both) {
    *out_both =
        (group_t){.allowed = out_both->allowed, .pinned = a->pinned ? a->pinned : b->pinned};
    if (a->pinned && b->pinned && a->pinned != b->pinned) return fail_homes(a->pinned, b->pinned);
    gantry_status_t merged = merge_wishes(groups->request, a->wish, b->wish, &out_both->wish);
    if (merged != GANTRY_OK) return gantry__fail_prefix(merged, ": ");
    GANTRY__TRY(check_home(groups->request, out_both->pinned, out_both->wish));
    for (size_t i = 0; i < groups->words; ++i) out_both->allowed[i] = a->allowed[i] & b->allowed[i];
    if (!is_nowhere(groups, out_both->allowed)) return GANTRY_OK;
    return gantry__refuse(
        " because no device type supports both of those nodes and the other nodes colocated with them.");
}

static void groups_join(groups_t *groups, uint32_t a, uint32_t b, const group_t *both) {
    const uint32_t root = a < b ? a : b, other = a < b ? b : a;
    group_t *group = groups->groups[root];
    memcpy(group->allowed, both->allowed, groups->words * sizeof *both->allowed);
    group->pinned = both->pinned;
    group->wish = both->wish;
    groups->parents[other] = root;
    const uint32_t next = groups->next[root];
    groups->next[root] = groups->next[other];
    groups->next[other] = next;
}

/* Under soft placement a colocation that cannot be is dropped, as TensorFlow does. */
static gantry_status_t keep_apart(const groups_t *groups, uint32_t node, uint32_t with,
                                  gantry_status_t status, gantry__node_place_t *places) {
    const gantry__graph_place_t *request = groups->request;
    if (status == GANTRY_RESOURCE_EXHAUSTED) return status;
    const char *name = request->graph->nodes[node].name, *other = request->graph->nodes[with].name;
    status = gantry__fail(
        status, "Cannot colocate nodes {{colocation_node %s}} and {{colocation_node %s}}%s", name,
        other, gantry__message());
    if (!request->rules.soft) return status;
    places[node].is_apart = true;
    if (request->tell) request->tell(request->owner, gantry__message());
    return GANTRY_OK;
}

static gantry_status_t colocate(groups_t *groups, uint32_t node, uint32_t with,
                                gantry__node_place_t *places) {
    const uint32_t a = groups_root(groups, node), b = groups_root(groups, with);
    group_t *of_a, *of_b, both;
    if (a == b) return GANTRY_OK;
    GANTRY__TRY(group_of(groups, a, &of_a));
    GANTRY__TRY(group_of(groups, b, &of_b));
    both.allowed = gantry__arena_zalloc(&groups->memory, groups->words, sizeof *both.allowed);
    if (!both.allowed) return GANTRY_RESOURCE_EXHAUSTED;
    const uint32_t before = gantry__failures();
    gantry_status_t status = meet(groups, of_a, of_b, &both);
    if (status == GANTRY_OK) {
        groups_join(groups, a, b, &both);
        return GANTRY_OK;
    }
    status = keep_apart(groups, node, with, status, places);
    if (status == GANTRY_OK) gantry__forget_since(before);
    return status;
}

/* ---- all groups ---- */

static bool has_colocated(const gantry__graph_t *graph) {
    for (size_t i = 0; i < graph->node_count; ++i) {
        if (graph->nodes[i].colocated_count > 0) return true;
    }
    return false;
}

gantry_status_t gantry__place_groups_init(groups_t *groups, const gantry__graph_place_t *request,
                                          gantry__node_place_t *places) {
    const gantry__graph_t *graph = request->graph;
    const size_t count = graph->node_count;
    *groups =
        (groups_t){.request = request, .words = (request->rules.devices->logical_count + 63) / 64};
    gantry__arena_init(&groups->memory, graph->heap);
    if (!has_colocated(graph)) return GANTRY_OK;
    groups->next = gantry__arena_zalloc(&groups->memory, count, sizeof *groups->next);
    groups->groups = gantry__arena_zalloc(&groups->memory, count, sizeof(group_t *));
    uint32_t *parents = gantry__arena_zalloc(&groups->memory, count, sizeof *parents);
    if (!groups->next || !groups->groups || !parents) return GANTRY_RESOURCE_EXHAUSTED;
    for (uint32_t i = 0; i < count; ++i) parents[i] = groups->next[i] = i;
    groups->parents = parents;
    for (uint32_t i = 0; i < count; ++i) {
        for (uint32_t k = 0; k < graph->nodes[i].colocated_count; ++k)
            GANTRY__TRY(
                colocate(groups, i, groups_anchor(graph, graph->nodes[i].colocated[k]), places));
    }
    return GANTRY_OK;
}

void gantry__place_groups_deinit(groups_t *groups) { gantry__arena_deinit(&groups->memory); }

/* ---- the device of a group ---- */

/* The member to which the rules are applied: a variable's node; else an op whose request is the
 * group's; else the first op with kernels; else, if there is a request, an alias. */
static uint32_t rank_member(const gantry__graph_t *graph, const group_t *group, uint32_t member) {
    const gantry__node_t *node = &graph->nodes[member];
    if (node->home) return 4;
    if (node->kind != GANTRY__NODE_OP) return 0;
    const bool asks = group->wish && node->wish == group->wish;
    if (gantry__node_is_alias(node)) return group->wish || gantry__node_is_asked(node) ? 1 : 0;
    return asks ? 3 : 2;
}

/* Returns the deciding member + 1; 0: all members float. */
static uint32_t find_decider(const groups_t *groups, const group_t *group, uint32_t root) {
    const gantry__graph_t *graph = groups->request->graph;
    uint32_t best = 0, best_rank = 0, at = root;
    do {
        const uint32_t rank = rank_member(graph, group, at);
        if (rank > best_rank || (rank > 0 && rank == best_rank && at + 1 < best)) {
            best = at + 1;
            best_rank = rank;
        }
        at = groups->next[at];
    } while (at != root);
    return best;
}

static gantry_status_t place_member(const groups_t *groups, uint32_t member,
                                    gantry_logical_device_t *device, uint32_t decider,
                                    gantry__node_place_t *places) {
    const gantry__node_t *node = &groups->request->graph->nodes[member];
    const gantry__node_ask_t ask = {
        .wish = node->wish, .pinned = device, .pin_reason = GANTRY_PLACED_COLOCATED};
    gantry__node_place_t *place = &places[member];
    place->decided_by = decider + 1;
    if (member == decider) return GANTRY_OK;
    if (node->kind != GANTRY__NODE_OP) {
        place->home = device;
        return GANTRY_OK;
    }
    if (!gantry__node_is_alias(node))
        return gantry__place_op(groups->request, member, &ask, place, NULL);
    place->device = place->home = device;
    place->reason = GANTRY_PLACED_COLOCATED;
    return gantry__logical_device_open(device);
}

static gantry_status_t place_members(const groups_t *groups, uint32_t root, uint32_t decider,
                                     gantry__node_place_t *places) {
    gantry_logical_device_t *device = places[decider].device;
    uint32_t at = root;
    do {
        GANTRY__TRY(place_member(groups, at, device, decider, places));
        at = groups->next[at];
    } while (at != root);
    return GANTRY_OK;
}

static gantry_status_t place_decider(const groups_t *groups, const group_t *group, uint32_t decider,
                                     gantry__node_place_t *places) {
    const gantry__node_ask_t ask = {.wish = group->wish, .allowed = group->allowed};
    const gantry__kept_plan_t *refused = NULL;
    gantry__node_place_t *place = &places[decider];
    place->device = place->home = group->pinned;
    place->reason = GANTRY_PLACED_WITH_VARIABLE;
    if (group->pinned) return GANTRY_OK;
    gantry_status_t status = gantry__place_op(groups->request, decider, &ask, place, &refused);
    if (status == GANTRY_OK || status == GANTRY_RESOURCE_EXHAUSTED) return status;
    return gantry__place_refuse(groups->request, decider, &ask, refused, groups, status);
}

/* In a group without ops, the first alias whose input has a device decides. */
static gantry_status_t place_floating(const groups_t *groups, group_t *group, uint32_t index,
                                      gantry__node_place_t *places) {
    const gantry__graph_t *graph = groups->request->graph;
    const gantry__node_t *node = &graph->nodes[index];
    gantry__node_place_t *place = &places[index];
    if (!gantry__node_is_alias(node)) return GANTRY_OK;
    if (!group->device) {
        group->device = places[graph->values[node->inputs[0]].node].device;
        group->first = group->device ? index + 1 : 0;
    }
    if (!group->device) return GANTRY_OK;
    place->device = place->home = group->device;
    place->decided_by = group->first;
    place->reason = group->first == index + 1 ? GANTRY_PLACED_WITH_INPUT : GANTRY_PLACED_COLOCATED;
    return gantry__logical_device_open(group->device);
}

/* A device may have been closed when it was to judge shapes: if a member declines now, the next
 * device is tried. */
gantry_status_t gantry__place_groups_place(groups_t *groups, uint32_t node,
                                           gantry__node_place_t *places) {
    const uint32_t root = groups_root(groups, node);
    group_t *group = groups->groups[root];
    if (group->floats) return place_floating(groups, group, node, places);
    const uint32_t found = find_decider(groups, group, root), before = gantry__failures();
    group->floats = found == 0;
    if (group->floats) return place_floating(groups, group, node, places);
    for (;;) {
        GANTRY__TRY(place_decider(groups, group, found - 1, places));
        gantry_status_t status = place_members(groups, root, found - 1, places);
        gantry_logical_device_t *device = places[found - 1].device;
        if (status != GANTRY_OK && status != GANTRY_RESOURCE_EXHAUSTED && !group->pinned) {
            forbid(group, device);
            if (!is_nowhere(groups, group->allowed)) continue;
        }
        if (status == GANTRY_OK) gantry__forget_since(before);
        return status;
    }
}
