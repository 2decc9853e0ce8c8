/* SPDX-License-Identifier: Apache-2.0 */
/* The order of the rows of a functional model, as Keras's map_graph finds it. A walk from each
 * output visits the inputs of each call before the call. The depth of a call is one more than
 * that of the deepest call that takes its output; a layer has the depth of its deepest call.
 * Rows go from deep to shallow; layers of one depth follow each other as the walk reached them. */
#include "train/base/memory.h"
#include "train/model/summary.h"

typedef struct walk_t {
    const gantry_model_t *model;
    /* by value; of calls: */
    size_t *depths, *next; /* next: the input to visit */
    size_t *order, *stack; /* calls in the order in which they are finished; those in progress */
    /* by value; of the first value of a layer: */
    size_t *layer_depths,
        *layer_places; /* place: 1 + the number of layers reached before; 0: none */
    size_t order_count, stack_count, place_count;
} walk_t;

static size_t call_of(const gantry_model_t *model, size_t value) {
    return value - model->values[value].part;
}

/* The first value of the call's layer. */
static size_t layer_of(const gantry_model_t *model, size_t call) {
    const gantry__member_t *member = model->values[call].member;
    for (size_t v = 0; member && v < call; ++v) {
        if (model->values[v].member == member) return v;
    }
    return call;
}

static void enter(walk_t *w, size_t call) {
    const size_t layer = layer_of(w->model, call);
    if (w->layer_places[layer] == 0) w->layer_places[layer] = ++w->place_count;
    w->next[call] = 1; /* it is known; input next - 1 comes first */
    w->stack[w->stack_count++] = call;
}

static void walk_from(walk_t *w, size_t output) {
    enter(w, output);
    while (w->stack_count > 0) {
        const size_t call = w->stack[w->stack_count - 1];
        const gantry__model_value_t *value = &w->model->values[call];
        if (w->next[call] > value->input_count) {
            w->order[w->order_count++] = call;
            --w->stack_count;
            continue;
        }
        const size_t input = call_of(w->model, (size_t)value->inputs[w->next[call]++ - 1]);
        if (w->next[input] == 0) enter(w, input);
    }
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

static void summary_order_find_depths(walk_t *w) {
    for (size_t i = w->order_count; i-- > 0;) {
        const size_t call = w->order[i], layer = layer_of(w->model, call);
        const gantry__model_value_t *value = &w->model->values[call];
        w->depths[call] = w->layer_depths[layer] = larger(w->depths[call], w->layer_depths[layer]);
        for (size_t k = 0; k < value->input_count; ++k) {
            const size_t input = call_of(w->model, (size_t)value->inputs[k]);
            w->depths[input] = larger(w->depths[input], w->depths[call] + 1);
        }
    }
}

/* Whether row a comes before row b. What the output does not need has place 0 and depth 0. */
static bool summary_order_is_before(const walk_t *w, size_t a, size_t b) {
    if (w->layer_depths[a] != w->layer_depths[b]) return w->layer_depths[a] > w->layer_depths[b];
    return w->layer_places[a] < w->layer_places[b];
}

static size_t sort_rows(const walk_t *w, size_t *rows) {
    size_t count = 0;
    for (size_t v = 0; v < w->model->value_count; ++v) {
        size_t at = count;
        if (layer_of(w->model, call_of(w->model, v)) != v) continue;
        for (; at > 0 && summary_order_is_before(w, v, rows[at - 1]); --at) rows[at] = rows[at - 1];
        rows[at] = v;
        ++count;
    }
    return count;
}

/* One call after the other, each of a layer of its own. */
static bool is_chain(const walk_t *w, size_t rows) {
    for (size_t i = 0; i < w->order_count; ++i) {
        if (w->model->values[w->order[i]].input_count > 1) return false;
    }
    return rows == w->order_count && w->place_count == w->order_count;
}

gantry_status_t gantry__summary_order(const gantry_model_t *model, size_t *rows, size_t *out_count,
                                      bool *out_is_chain) {
    const size_t count = model->value_count;
    size_t *room = gantry__train_alloc(6 * count, sizeof *room);
    if (!room) return GANTRY_RESOURCE_EXHAUSTED;
    walk_t w = {.model = model,
                .depths = room,
                .next = room + count,
                .order = room + 2 * count,
                .stack = room + 3 * count,
                .layer_depths = room + 4 * count,
                .layer_places = room + 5 * count};
    for (size_t i = 0; i < model->output_count; ++i) {
        const size_t output = call_of(model, (size_t)model->outputs[i]);
        if (w.next[output] == 0) walk_from(&w, output);
    }
    summary_order_find_depths(&w);
    *out_count = sort_rows(&w, rows);
    *out_is_chain = is_chain(&w, *out_count);
    gantry__train_free(room);
    return GANTRY_OK;
}
