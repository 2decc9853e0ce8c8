/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of a graph whose elements a subgraph joins: the calls of gantry/join.h by name, with their
 * arguments as attributes. A list whose length follows from a rank is checked in each run. */
#include <gantry/join.h>

#include <string.h>

#include "function/build/graph_join.h"
#include "run/tensor_state.h"

typedef const gantry_tensor_t tensor;

#define MOST_ATTRS 5

/* One call while it runs. */
typedef struct join_node_t {
    const gantry__graph_item_t *item;
    gantry_scope_t *scope;
    tensor *const *in, **out;
    gantry_function_body_fn body;
    void *user;
    size_t count; /* operands */
} join_node_t;

/* ---- attributes ---- */

static const gantry_attr_value_t *join_attr(const join_node_t *n, const char *name) {
    for (size_t i = 0; i < n->item->node.attr_count; ++i)
        if (strcmp(n->item->node.attrs[i].name, name) == 0) return &n->item->node.attrs[i];
    return NULL;
}

static int64_t join_number(const join_node_t *n, const char *name) {
    const gantry_attr_value_t *attr = join_attr(n, name);
    return attr ? attr->i : 0;
}

/* A list with `each` entries for each axis of operand 0; NULL: it is not given. */
static gantry_status_t join_list(const join_node_t *n, const char *name, int64_t each,
                                 const int64_t **out) {
    const gantry_attr_value_t *attr = join_attr(n, name);
    const int64_t wanted = each * n->in[0]->shape.rank;
    *out = attr ? attr->list : NULL;
    if (!attr || attr->i == wanted) return GANTRY_OK;
    return gantry__scope_fail(
        n->scope, gantry__refuse("attribute '%s' has %lld entries; %lld are accepted, %lld for "
                                 "each axis of operand 0",
                                 name, (long long)attr->i, (long long)wanted, (long long)each));
}

/* ---- calls ---- */

/* An axis as an int32, of which the call checks the range. */
static gantry_status_t join_axis(const join_node_t *n, const char *name, int64_t axis,
                                 int32_t *out) {
    *out = (int32_t)axis;
    if (axis == *out) return GANTRY_OK;
    return gantry__scope_fail(
        n->scope, gantry__refuse("attribute '%s' has %lld; an axis of operand 0, of rank %d, is "
                                 "accepted",
                                 name, (long long)axis, n->in[0]->shape.rank));
}

static gantry_status_t join_run_reduce(const join_node_t *n) {
    const gantry_attr_value_t *axes = join_attr(n, "axes");
    int32_t list[GANTRY_MAX_RANK] = {0};
    if (axes && axes->i > GANTRY_MAX_RANK)
        return gantry__scope_fail(n->scope,
                                  gantry__refuse("attribute 'axes' has %lld entries; 0 to %d are "
                                                 "accepted",
                                                 (long long)axes->i, GANTRY_MAX_RANK));
    for (int64_t i = 0; axes && i < axes->i; ++i)
        GANTRY__TRY(join_axis(n, "axes", axes->list[i], &list[i]));
    const gantry_reduce_body_options_t options = {.struct_size = sizeof options,
                                                  .axes = axes ? list : NULL,
                                                  .axis_count = axes ? (size_t)axes->i : 0,
                                                  .keep_dims = join_number(n, "keep_dims") != 0,
                                                  .in_order = join_number(n, "in_order") != 0};
    return gantry_reduce_with_body(n->scope, n->in, n->in + n->count, n->count, n->body, n->user,
                                   &options, n->out);
}

static gantry_status_t join_run_window(const join_node_t *n) {
    gantry_window_body_options_t options = {.struct_size = sizeof options};
    const int64_t *window;
    GANTRY__TRY(join_list(n, "window", 1, &window));
    GANTRY__TRY(join_list(n, "strides", 1, &options.strides));
    GANTRY__TRY(join_list(n, "base_dilations", 1, &options.base_dilations));
    GANTRY__TRY(join_list(n, "window_dilations", 1, &options.window_dilations));
    GANTRY__TRY(join_list(n, "paddings", 2, &options.paddings));
    return gantry_reduce_window_with_body(n->scope, n->in, n->in + n->count, n->count, n->body,
                                          n->user, window, &options, n->out);
}

static gantry_status_t join_run_scan(const join_node_t *n) {
    const gantry_scan_body_options_t options = {.struct_size = sizeof options,
                                                .exclusive = join_number(n, "exclusive") != 0,
                                                .reverse = join_number(n, "reverse") != 0};
    tensor *const *inits = n->item->node.input_count > n->count ? n->in + n->count : NULL;
    int32_t axis;
    GANTRY__TRY(join_axis(n, "axis", join_number(n, "axis"), &axis));
    return gantry_scan_with_body(n->scope, n->in, inits, n->count, axis, n->body, n->user, &options,
                                 n->out);
}

static gantry_scatter_body_options_t scatter_options(const join_node_t *n) {
    const gantry_attr_value_t *policy = join_attr(n, "bad_indices_policy");
    return (gantry_scatter_body_options_t){.struct_size = sizeof(gantry_scatter_body_options_t),
                                           .bad_indices_policy = policy ? policy->s : NULL};
}

static gantry_status_t join_run_scatter(const join_node_t *n) {
    const gantry_scatter_body_options_t options = scatter_options(n);
    return gantry_scatter_with_body(n->scope, n->in, n->in[n->count], n->in + n->count + 1,
                                    n->count, n->body, n->user, &options, n->out);
}

static gantry_status_t join_run_scatter_elements(const join_node_t *n) {
    const gantry_scatter_body_options_t options = scatter_options(n);
    int32_t axis;
    GANTRY__TRY(join_axis(n, "axis", join_number(n, "axis"), &axis));
    return gantry_scatter_elements_with_body(n->scope, n->in, n->in[n->count], n->in + n->count + 1,
                                             n->count, axis, n->body, n->user, &options, n->out);
}

/* ---- the table ---- */

typedef struct graph_join_t {
    const char *op;
    gantry_status_t (*run)(const join_node_t *n);
    bool has_indices, may_lack_inits;
    struct {
        const char *name;
        gantry_attr_kind_t kind;
    } attrs[MOST_ATTRS];
} graph_join_t;

static const graph_join_t joins[] = {
    {"Reduce",
     join_run_reduce,
     false,
     false,
     {{"axes", GANTRY_ATTR_INTS}, {"keep_dims", GANTRY_ATTR_BOOL}, {"in_order", GANTRY_ATTR_BOOL}}},
    {"ReduceWindow",
     join_run_window,
     false,
     false,
     {{"window", GANTRY_ATTR_INTS},
      {"strides", GANTRY_ATTR_INTS},
      {"base_dilations", GANTRY_ATTR_INTS},
      {"window_dilations", GANTRY_ATTR_INTS},
      {"paddings", GANTRY_ATTR_INTS}}},
    {"Scan",
     join_run_scan,
     false,
     true,
     {{"axis", GANTRY_ATTR_INT}, {"exclusive", GANTRY_ATTR_BOOL}, {"reverse", GANTRY_ATTR_BOOL}}},
    {"Scatter", join_run_scatter, true, false, {{"bad_indices_policy", GANTRY_ATTR_STRING}}},
    {"ScatterElements",
     join_run_scatter_elements,
     true,
     false,
     {{"axis", GANTRY_ATTR_INT}, {"bad_indices_policy", GANTRY_ATTR_STRING}}},
};

static const graph_join_t *find_join(const char *op) {
    for (size_t i = 0; op && i < sizeof joins / sizeof joins[0]; ++i)
        if (strcmp(joins[i].op, op) == 0) return &joins[i];
    return NULL;
}

/* ---- checks ---- */

static gantry_status_t join_check_attr(const graph_join_t *join, const gantry_attr_value_t *attr) {
    for (int i = 0; attr->name && i < MOST_ATTRS && join->attrs[i].name; ++i) {
        if (strcmp(join->attrs[i].name, attr->name) != 0) continue;
        if (join->attrs[i].kind != attr->kind)
            return gantry__refuse("attribute '%s' is of kind %d; %d is accepted", attr->name,
                                  (int)attr->kind, (int)join->attrs[i].kind);
        if (attr->kind != GANTRY_ATTR_INTS) return GANTRY_OK;
        return attr->i >= 0 && attr->i <= 2 * GANTRY_MAX_RANK && (attr->list || attr->i == 0)
                   ? GANTRY_OK
                   : gantry__refuse("attribute '%s' has %lld entries; 0 to %d are accepted",
                                    attr->name, (long long)attr->i, 2 * GANTRY_MAX_RANK);
    }
    return gantry__refuse("%s has no attribute '%s'", join->op,
                          gantry__graph_label(attr->name ? attr->name : "").text);
}

gantry_status_t gantry__graph_join_check(gantry__graph_item_t *item) {
    const graph_join_t *join = find_join(item->node.op);
    if (!join)
        return gantry__refuse(
            "op %s; Reduce, ReduceWindow, Scan, Scatter and ScatterElements are "
            "accepted",
            item->node.op ? gantry__graph_label(item->node.op).text : "NULL");
    item->node.op = join->op;
    if (item->node.attr_count > 0 && !item->node.attrs)
        return gantry__refuse("attrs is NULL; an array of %zu is accepted", item->node.attr_count);
    for (size_t i = 0; i < item->node.attr_count; ++i) {
        const gantry_attr_value_t *attr = &item->node.attrs[i];
        GANTRY__TRY(join_check_attr(join, attr));
        for (size_t k = 0; k < i; ++k)
            if (strcmp(item->node.attrs[k].name, attr->name) == 0)
                return gantry__refuse("attribute '%s' is given twice", attr->name);
    }
    const size_t count = item->subgraphs[0]->output_count;
    const size_t inputs = 2 * count + join->has_indices, given = item->node.input_count;
    if (count == 0 || count > GANTRY_MAX_JOINED)
        return gantry__refuse("body has %zu outputs; 1 to %d are accepted", count,
                              GANTRY_MAX_JOINED);
    if (given != inputs && !(join->may_lack_inits && given == count))
        return gantry__refuse("the number of inputs is %zu; %zu is accepted", given, inputs);
    item->output_count = (uint32_t)count;
    return GANTRY_OK;
}

gantry_status_t gantry__graph_join_run(const gantry__graph_item_t *item, gantry_scope_t *scope,
                                       tensor *const *in, tensor **out,
                                       gantry_function_body_fn body, void *user) {
    return find_join(item->node.op)
        ->run(&(join_node_t){item, scope, in, out, body, user, item->output_count});
}
