/* SPDX-License-Identifier: Apache-2.0 */
/* LSTM, GRU and RNN. Few steps are unrolled, more of them are a loop of the library. Where lengths
 * differ, a step that is beyond a row's length keeps the row's state and gives 0; so the steps of
 * the reverse direction begin at each row's last valid one. */
#include "onnx/lower/lower_recurrent.h"

#include <gantry/control.h>
#include <gantry/ops.h>

#include "onnx/lower/lower_steps.h"

#include <string.h>

/* Steps that are unrolled at most. */
#define MOST_CELLS 32

int64_t gantry__onnx_gate_count(gantry__onnx_cell_kind_t kind) {
    return kind == GANTRY__ONNX_LSTM ? 4 : kind == GANTRY__ONNX_GRU ? 3 : 1;
}

const gantry_tensor_t *gantry__onnx_row_of(gantry_scope_t *scope, const gantry_tensor_t *x,
                                           int64_t row) {
    const gantry_shape_t *shape = gantry_tensor_shape(x);
    if (!x || shape->rank == 0) return NULL;
    int64_t begin[GANTRY_MAX_RANK] = {row}, size[GANTRY_MAX_RANK];
    gantry_shape_t rest = {.rank = shape->rank - 1};
    for (int32_t i = 0; i < shape->rank; ++i) size[i] = i ? shape->dims[i] : 1;
    for (int32_t i = 1; i < shape->rank; ++i) rest.dims[i - 1] = shape->dims[i];
    if (shape->dims[0] != 1 || row != 0) x = gantry_slice(scope, x, begin, size);
    return gantry_reshape(scope, x, rest);
}

/* ---- what the node says ---- */

static gantry_status_t read_directions(gantry__onnx_recurrent_t *node) {
    static const char *const words[3] = {"forward", "reverse", "bidirectional"};
    const char *text = gantry__onnx_attr_text(node->call, "direction", words[0]);
    for (size_t i = 0; i < 3; ++i) {
        if (strcmp(text, words[i]) != 0) continue;
        node->direction_count = i == 2 ? 2 : 1;
        node->directions[0].reversed = i == 1;
        node->directions[1].reversed = true;
        return GANTRY_OK;
    }
    return gantry__onnx_invalid(node->call,
                                "direction \"%s\"; accepted are forward, reverse and "
                                "bidirectional",
                                text);
}

/* Activation i of all directions, in the order of the file. */
static gantry__onnx_activation_t *activation_at(gantry__onnx_recurrent_t *node, size_t i) {
    const size_t each = node->kind == GANTRY__ONNX_LSTM  ? 3
                        : node->kind == GANTRY__ONNX_GRU ? 2
                                                         : 1;
    return &node->directions[i / each].activations[i % each];
}

/* The activation's name: given, or the default of its place. */
static gantry__onnx_bytes_t activation_name(const gantry__onnx_recurrent_t *node,
                                            const gantry__onnx_attr_t *names, size_t i) {
    if (names && names->count) return names->texts[i];
    const size_t each = node->kind == GANTRY__ONNX_LSTM ? 3 : 2;
    const bool is_gate = node->kind != GANTRY__ONNX_RNN && i % each == 0;
    const char *name = is_gate ? "Sigmoid" : "Tanh";
    return (gantry__onnx_bytes_t){(const uint8_t *)name, strlen(name)};
}

/* Activations; alpha and beta go to those that take them, in their order. */
static gantry_status_t read_activations(gantry__onnx_recurrent_t *node) {
    gantry__onnx_call_t *call = node->call;
    const gantry__onnx_attr_t *names = gantry__onnx_find_attr(call->node, "activations");
    size_t alpha_count = 0, beta_count = 0, alphas = 0, betas = 0;
    const float *alpha = gantry__onnx_attr_floats(call, "activation_alpha", &alpha_count);
    const float *beta = gantry__onnx_attr_floats(call, "activation_beta", &beta_count);
    const size_t each = node->kind == GANTRY__ONNX_LSTM  ? 3
                        : node->kind == GANTRY__ONNX_GRU ? 2
                                                         : 1;
    const size_t count = each * node->direction_count;
    /* exporters, and the schema, name those of two directions where there is one */
    if (names && names->count && names->count < count)
        return gantry__onnx_invalid(call, "activations has %zu names; %zu are needed", names->count,
                                    count);
    for (size_t i = 0; i < count; ++i) {
        gantry__onnx_activation_t *activation = activation_at(node, i);
        const gantry__onnx_bytes_t name = activation_name(node, names, i);
        if (!gantry__onnx_find_activation(name, activation))
            return gantry__onnx_invalid(call, "activations has \"%.*s\", which is no activation",
                                        (int)(name.size < 40 ? name.size : 40),
                                        (const char *)name.data);
        if (gantry__onnx_takes_alpha(activation) && alphas < alpha_count)
            activation->alpha = (double)alpha[alphas++];
        if (gantry__onnx_takes_beta(activation) && betas < beta_count)
            activation->beta = (double)beta[betas++];
    }
    return GANTRY_OK;
}

/* A first state [directions, batch, units], or batch first; *out_states gets that of each
 * direction. */
static gantry_status_t take_first_state(const gantry__onnx_recurrent_t *node, size_t input,
                                        const char *name, const gantry_tensor_t *out_states[2]) {
    static const int32_t order[3] = {1, 0, 2};
    gantry__onnx_call_t *call = node->call;
    const gantry_tensor_t *state = gantry__onnx_input(call, input);
    const int64_t directions = (int64_t)node->direction_count;
    const gantry_shape_t wanted = node->batch_first
                                      ? GANTRY_SHAPE(node->batch, directions, node->units)
                                      : GANTRY_SHAPE(directions, node->batch, node->units);
    if (!state) return GANTRY_OK;
    GANTRY__TRY(gantry__onnx_need_shape(call, state));
    if (!gantry_shape_equal(gantry_tensor_shape(state), &wanted))
        return gantry__onnx_invalid(call, "%s is not of the shape [%lld, %lld, %lld]", name,
                                    (long long)wanted.dims[0], (long long)wanted.dims[1],
                                    (long long)wanted.dims[2]);
    if (node->batch_first) state = gantry_transpose(call->scope, state, order);
    for (int64_t i = 0; i < directions; ++i)
        out_states[i] = gantry__onnx_row_of(call->scope, state, i);
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_take_states(gantry__onnx_recurrent_t *node, size_t initial) {
    const gantry_tensor_t *states[2] = {NULL, NULL}, *cells[2] = {NULL, NULL};
    GANTRY__TRY(take_first_state(node, initial, "initial_h", states));
    if (node->kind == GANTRY__ONNX_LSTM)
        GANTRY__TRY(take_first_state(node, initial + 1, "initial_c", cells));
    for (size_t i = 0; i < node->direction_count; ++i) {
        node->directions[i].state = states[i];
        node->directions[i].cell = cells[i];
    }
    return GANTRY_OK;
}

/* Lengths that all rows have need no mask. */
static gantry_status_t read_lengths(gantry__onnx_recurrent_t *node, size_t input) {
    gantry__onnx_call_t *call = node->call;
    const gantry_tensor_t *lengths = gantry__onnx_input(call, input);
    node->lengths = lengths;
    if (!lengths) return GANTRY_OK;
    const gantry_shape_t *shape = gantry_tensor_shape(lengths);
    if (shape->rank != 1 || (shape->dims[0] >= 0 && shape->dims[0] != node->batch))
        return gantry__onnx_invalid(call, "sequence_lens is not of the shape [%lld]",
                                    (long long)node->batch);
    if (!gantry__onnx_is_known(call, lengths)) return GANTRY_OK;
    const int64_t *values = NULL;
    size_t count = 0;
    GANTRY__TRY(gantry__onnx_get_ints(call, input, "sequence_lens", &values, &count));
    bool differ = false;
    for (size_t i = 0; i < count; ++i) {
        if (values[i] < 0 || values[i] > node->steps)
            return gantry__onnx_invalid(call, "sequence_lens has %lld; X has %lld steps",
                                        (long long)values[i], (long long)node->steps);
        differ = differ || values[i] != node->steps;
    }
    if (!differ) node->lengths = NULL;
    return GANTRY_OK;
}

gantry_status_t gantry__onnx_read_recurrent(gantry__onnx_call_t *call,
                                            gantry__onnx_cell_kind_t kind, size_t lengths,
                                            gantry__onnx_recurrent_t *node) {
    static const int32_t order[3] = {1, 0, 2};
    *node = (gantry__onnx_recurrent_t){.call = call, .kind = kind};
    node->x = gantry__onnx_input(call, 0);
    node->dtype = gantry_tensor_dtype(node->x);
    node->batch_first = gantry__onnx_attr_int(call, "layout", 0) != 0;
    node->linear_before_reset = gantry__onnx_attr_int(call, "linear_before_reset", 0) != 0;
    node->couples_gates = gantry__onnx_attr_int(call, "input_forget", 0) != 0;
    node->clip = (double)gantry__onnx_attr_float(call, "clip", 0);
    GANTRY__TRY(gantry__onnx_need_shape(call, node->x));
    const gantry_shape_t *shape = gantry_tensor_shape(node->x);
    const gantry_shape_t *recurrent = gantry_tensor_shape(gantry__onnx_input(call, 2));
    if (shape->rank != 3) return gantry__onnx_invalid(call, "X has rank %d, not 3", shape->rank);
    if (recurrent->rank != 3)
        return gantry__onnx_invalid(call, "R has rank %d, not 3", recurrent->rank);
    node->steps = shape->dims[node->batch_first ? 1 : 0];
    node->batch = shape->dims[node->batch_first ? 0 : 1];
    GANTRY__TRY(read_directions(node));
    GANTRY__TRY(read_activations(node));
    if (node->batch_first) node->x = gantry_transpose(call->scope, node->x, order);
    return read_lengths(node, lengths);
}

/* Part `first` of count units of a vector. */
static const gantry_tensor_t *cut_bias_units(gantry_scope_t *scope, const gantry_tensor_t *x,
                                             int64_t first, int64_t count) {
    return gantry_slice(scope, x, &first, &count);
}

/* The bias of a direction: of the input's weights, then of the recurrent ones. */
static void take_bias(const gantry__onnx_recurrent_t *node, gantry_scope_t *scope,
                      const gantry_tensor_t *bias, gantry__onnx_direction_t *direction) {
    const int64_t units = node->units, all = units * gantry__onnx_gate_count(node->kind);
    const gantry_tensor_t *input = cut_bias_units(scope, bias, 0, all);
    const gantry_tensor_t *state = cut_bias_units(scope, bias, all, all);
    if (node->kind != GANTRY__ONNX_GRU || !node->linear_before_reset) {
        direction->bias = gantry_add(scope, input, state);
        return;
    }
    const gantry_tensor_t *parts[2] = {gantry_add(scope, cut_bias_units(scope, input, 0, 2 * units),
                                                  cut_bias_units(scope, state, 0, 2 * units)),
                                       cut_bias_units(scope, input, 2 * units, units)};
    direction->bias = gantry_concat(scope, parts, 2, 0);
    direction->reset_bias = cut_bias_units(scope, state, 2 * units, units);
}

/* Where a part of this tensor is computed: on the host if it is known. */
static gantry_scope_t *scope_of(const gantry__onnx_recurrent_t *node, const gantry_tensor_t *x) {
    return gantry__onnx_is_known(node->call, x) ? node->call->host : node->call->scope;
}

gantry_status_t gantry__onnx_take_biases(gantry__onnx_recurrent_t *node,
                                         const gantry_tensor_t *bias,
                                         const gantry_tensor_t *peepholes) {
    gantry_scope_t *host = node->call->host;
    const int64_t all = 2 * node->units * gantry__onnx_gate_count(node->kind);
    const int64_t directions = (int64_t)node->direction_count;
    const gantry_shape_t *shape = gantry_tensor_shape(bias);
    if (bias && (shape->rank != 2 || shape->dims[0] != directions || shape->dims[1] != all))
        return gantry__onnx_invalid(node->call, "B is not of the shape [%lld, %lld]",
                                    (long long)directions, (long long)all);
    const gantry_shape_t *holes = gantry_tensor_shape(peepholes);
    if (peepholes &&
        (holes->rank != 2 || holes->dims[0] != directions || holes->dims[1] != 3 * node->units))
        return gantry__onnx_invalid(node->call, "P is not of the shape [%lld, %lld]",
                                    (long long)directions, (long long)(3 * node->units));
    for (size_t i = 0; i < node->direction_count; ++i) {
        gantry__onnx_direction_t *direction = &node->directions[i];
        if (bias) {
            gantry_scope_t *scope = scope_of(node, bias);
            take_bias(node, scope, gantry__onnx_row_of(scope, bias, (int64_t)i), direction);
        }
        if (peepholes)
            direction->peepholes =
                gantry__onnx_row_of(scope_of(node, peepholes), peepholes, (int64_t)i);
    }
    GANTRY__TRY(gantry_scope_status(host));
    return gantry_scope_status(node->call->scope);
}

/* ---- steps ---- */

/* A direction that runs. */
typedef struct recurrent_pass_t {
    const gantry__onnx_recurrent_t *node;
    const gantry__onnx_direction_t *direction;
    const gantry_tensor_t *products; /* [steps, batch, gates * units] */
    bool wants_all;                  /* Y is wanted. */
    const gantry_tensor_t *all, *state, *cell;
} recurrent_pass_t;

/* The first state of a loop or of a masked step, which must be there. */
static const gantry_tensor_t *state_or_zeros(const gantry__onnx_recurrent_t *node,
                                             gantry_scope_t *scope, const gantry_tensor_t *state) {
    const gantry_shape_t shape = {.rank = 2, .dims = {node->batch, node->units}};
    return state ? state : gantry_zeros(scope, node->dtype, shape);
}

/* A step: changes the states and returns the step's row of Y. step is a scalar of int64. */
static const gantry_tensor_t *run_cell_step(const recurrent_pass_t *pass, gantry_scope_t *scope,
                                            const gantry_tensor_t *step,
                                            const gantry_tensor_t *product,
                                            const gantry_tensor_t **state,
                                            const gantry_tensor_t **cell) {
    const gantry__onnx_recurrent_t *node = pass->node;
    const gantry_tensor_t *last_state = *state, *last_cell = *cell;
    gantry__onnx_run_cell(node, pass->direction, scope, product, state, cell);
    if (!node->lengths) return *state;
    const gantry_tensor_t *lengths = gantry_cast(scope, node->lengths, GANTRY_INT64);
    const gantry_tensor_t *valid =
        gantry_reshape(scope, gantry_less(scope, step, lengths), GANTRY_SHAPE(node->batch, 1));
    const gantry_tensor_t *row =
        gantry_select(scope, valid, *state, gantry_zeros_like(scope, *state));
    *state = gantry_select(scope, valid, *state, state_or_zeros(node, scope, last_state));
    if (node->kind == GANTRY__ONNX_LSTM)
        *cell = gantry_select(scope, valid, *cell, state_or_zeros(node, scope, last_cell));
    return row;
}

static gantry_status_t unroll_cells(recurrent_pass_t *pass) {
    const gantry__onnx_recurrent_t *node = pass->node;
    gantry__onnx_call_t *call = node->call;
    const gantry_tensor_t **rows =
        gantry__onnx_scratch(call, (size_t)node->steps + 1, sizeof *rows);
    if (!rows) return GANTRY_RESOURCE_EXHAUSTED;
    for (int64_t i = 0; i < node->steps; ++i) {
        const int64_t step = pass->direction->reversed ? node->steps - 1 - i : i;
        const gantry_tensor_t *product = gantry__onnx_row_of(call->scope, pass->products, step);
        rows[step] = run_cell_step(pass, call->scope, gantry_scalar_i64(call->host, step), product,
                                   &pass->state, &pass->cell);
        GANTRY__TRY(gantry_scope_status(call->scope));
    }
    if (!pass->wants_all) return GANTRY_OK;
    const gantry_shape_t shape = {.rank = 3, .dims = {node->steps, node->batch, node->units}};
    if (node->steps == 1) pass->all = gantry_reshape(call->scope, rows[0], shape);
    if (node->steps > 1) pass->all = gantry__onnx_stack(call, rows, (size_t)node->steps, 0, false);
    if (node->steps == 0) pass->all = gantry_zeros(call->scope, node->dtype, shape);
    return gantry_scope_status(call->scope);
}

/* ---- a loop: its variables are the step, the state, an LSTM's cell, and Y ---- */

static void cells_condition(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                            const gantry_tensor_t **outputs, void *user) {
    const recurrent_pass_t *pass = user;
    outputs[0] = gantry_less(scope, inputs[0], gantry_scalar_i64(scope, pass->node->steps));
}

static void cells_step(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    const recurrent_pass_t *pass = user;
    const gantry__onnx_recurrent_t *node = pass->node;
    const bool has_cell = node->kind == GANTRY__ONNX_LSTM;
    const gantry_tensor_t *state = inputs[1], *cell = has_cell ? inputs[2] : NULL;
    const gantry_tensor_t *step = inputs[0];
    if (pass->direction->reversed)
        step = gantry_sub(scope, gantry_scalar_i64(scope, node->steps - 1), step);
    const gantry_tensor_t *product = gantry_gather(scope, pass->products, step, 0);
    const gantry_tensor_t *row = run_cell_step(pass, scope, step, product, &state, &cell);
    outputs[0] = gantry_add(scope, inputs[0], gantry_scalar_i64(scope, 1));
    outputs[1] = state;
    if (has_cell) outputs[2] = cell;
    if (!pass->wants_all) return;
    const size_t at = has_cell ? 3 : 2;
    const gantry_tensor_t *parts[2] = {gantry_reshape(scope, step, GANTRY_SHAPE(1)),
                                       gantry_zeros(scope, GANTRY_INT64, GANTRY_SHAPE(2))};
    outputs[at] = gantry_dynamic_update_slice(scope, inputs[at], gantry_expand_dims(scope, row, 0),
                                              gantry_concat(scope, parts, 2, 0));
}

static gantry_status_t loop_cells(recurrent_pass_t *pass) {
    const gantry__onnx_recurrent_t *node = pass->node;
    gantry_scope_t *scope = node->call->scope;
    const bool has_cell = node->kind == GANTRY__ONNX_LSTM;
    const gantry_shape_t shape = {.rank = 3, .dims = {node->steps, node->batch, node->units}};
    const gantry_tensor_t *variables[4] = {gantry_scalar_i64(scope, 0),
                                           state_or_zeros(node, scope, pass->state)};
    size_t count = 2;
    if (has_cell) variables[count++] = state_or_zeros(node, scope, pass->cell);
    if (pass->wants_all) variables[count++] = gantry_zeros(scope, node->dtype, shape);
    GANTRY__TRY(gantry_scope_status(scope));
    GANTRY__TRY(
        gantry_while(scope, cells_condition, cells_step, pass, variables, count, NULL, variables));
    pass->state = variables[1];
    if (has_cell) pass->cell = variables[2];
    if (pass->wants_all) pass->all = variables[count - 1];
    return GANTRY_OK;
}

/* ---- outputs ---- */

/* X with zeros after the longest sequence: what is there must not count in the extremes by which a
 * product of bytes rounds. */
static const gantry_tensor_t *inputs_of_sequences(const gantry__onnx_recurrent_t *node) {
    gantry_scope_t *scope = node->call->scope;
    const gantry_tensor_t *steps =
        gantry_range(scope, gantry_scalar_i64(scope, 0), gantry_scalar_i64(scope, node->steps),
                     gantry_scalar_i64(scope, 1));
    const gantry_tensor_t *longest =
        gantry_max(scope, gantry_cast(scope, node->lengths, GANTRY_INT64), NULL);
    const gantry_tensor_t *used =
        gantry_reshape(scope, gantry_less(scope, steps, longest), GANTRY_SHAPE(node->steps, 1, 1));
    return gantry_select(scope, used, node->x, gantry_zeros_like(scope, node->x));
}

/* The products of all steps' inputs, with the bias. */
static const gantry_tensor_t *multiply_inputs(const gantry__onnx_recurrent_t *node,
                                              const gantry__onnx_direction_t *direction) {
    gantry_scope_t *scope = node->call->scope;
    const int64_t inputs = gantry_tensor_shape(node->x)->dims[2];
    const int64_t gates = gantry__onnx_gate_count(node->kind) * node->units;
    const gantry_tensor_t *x =
        node->lengths && direction->weights.scale ? inputs_of_sequences(node) : node->x;
    const gantry_tensor_t *rows =
        gantry_reshape(scope, x, GANTRY_SHAPE(node->steps * node->batch, inputs));
    rows = gantry__onnx_multiply_weights(node->call, scope, rows, &direction->weights);
    if (direction->bias) rows = gantry_bias_add(scope, rows, direction->bias);
    return gantry_reshape(scope, rows, GANTRY_SHAPE(node->steps, node->batch, gates));
}

/* The directions' states: [directions, batch, units], or batch first with these two exchanged. */
static const gantry_tensor_t *join_states(const gantry__onnx_recurrent_t *node,
                                          const gantry_tensor_t *const *states) {
    gantry_scope_t *scope = node->call->scope;
    const gantry_tensor_t *parts[2] = {states[0], states[1]};
    const int32_t axis = node->batch_first ? 1 : 0;
    for (size_t i = 0; i < node->direction_count; ++i)
        parts[i] = gantry_expand_dims(scope, state_or_zeros(node, scope, parts[i]), axis);
    return node->direction_count == 1 ? parts[0] : gantry_concat(scope, parts, 2, axis);
}

/* Y, [steps, directions, batch, units]; batch first: [batch, steps, directions, units]. */
static const gantry_tensor_t *join_cell_steps(const gantry__onnx_recurrent_t *node,
                                              const gantry_tensor_t *const *all) {
    static const int32_t order[4] = {2, 0, 1, 3};
    gantry_scope_t *scope = node->call->scope;
    const gantry_tensor_t *parts[2] = {NULL, NULL}, *y = NULL;
    for (size_t i = 0; i < node->direction_count; ++i)
        parts[i] = gantry_expand_dims(scope, all[i], 1);
    y = node->direction_count == 1 ? parts[0] : gantry_concat(scope, parts, 2, 1);
    return node->batch_first ? gantry_transpose(scope, y, order) : y;
}

gantry_status_t gantry__onnx_run_recurrent(gantry__onnx_recurrent_t *node) {
    gantry__onnx_call_t *call = node->call;
    const gantry_tensor_t *all[2], *states[2] = {NULL, NULL}, *cells[2] = {NULL, NULL};
    for (size_t i = 0; i < node->direction_count; ++i) {
        const gantry__onnx_direction_t *direction = &node->directions[i];
        recurrent_pass_t pass = {.node = node,
                                 .direction = direction,
                                 .products = multiply_inputs(node, direction),
                                 .wants_all = gantry__onnx_wants(call, 0),
                                 .state = direction->state,
                                 .cell = direction->cell};
        GANTRY__TRY(gantry_scope_status(call->scope));
        GANTRY__TRY(node->steps <= MOST_CELLS ? unroll_cells(&pass) : loop_cells(&pass));
        all[i] = pass.all;
        states[i] = pass.state;
        cells[i] = pass.cell;
    }
    if (gantry__onnx_wants(call, 0))
        GANTRY__TRY(gantry__onnx_set(call, 0, join_cell_steps(node, all)));
    if (gantry__onnx_wants(call, 1))
        GANTRY__TRY(gantry__onnx_set(call, 1, join_states(node, states)));
    if (node->kind == GANTRY__ONNX_LSTM && gantry__onnx_wants(call, 2))
        GANTRY__TRY(gantry__onnx_set(call, 2, join_states(node, cells)));
    return GANTRY_OK;
}
