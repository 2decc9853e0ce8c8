/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of variables: rows that are scattered, and the sparse steps of optimizers.
 *
 *     indices 7 2 7 7     rounds    1: rows 7 2    2: row 7    3: row 7
 *
 * TensorFlow's kernels take the indices one by one, so a row that is named twice has two steps.
 * Where no op of Gantry does so, a round takes each row once: it gathers the rows of all variables,
 * runs the op on these rows, and scatters them back in place. Indices that differ, the usual case,
 * are one round.
 *
 * The indices are already checked, so Gantry's ops get the policy that ignores bad ones: they need
 * no check on the device, whose pending outcome would forbid to overwrite the variable. */
#include <stdlib.h>
#include <string.h>

#include "variable_indices.h"
#include "variable_row.h"

#define MOST_INPUTS 16

/* An index, its place in the list, and how often it came before. */
typedef struct place_t {
    int64_t row;
    int64_t position;
    int64_t round;
} place_t;

typedef struct rows_call_t {
    const variable_kernel_t *kernel;
    bridge_call_t *call;
    variables_t variables;
    indices_t indices;
    const gantry_tensor_t *inputs[MOST_INPUTS]; /* all but the indices */
    size_t input_count;
    size_t update; /* the input that has one row for each index */
    place_t *places;
    int64_t rounds;
} rows_call_t;

const gantry_attr_value_t variable_ignores_bad = {
    .name = "bad_indices_policy", .kind = GANTRY_ATTR_STRING, .s = "IGNORE"};

/* ---- inputs ---- */

static bool is_sparse_step(const rows_call_t *rows) {
    return rows->kernel->row->indices > rows->kernel->row->variables;
}

static bool variable_rows_take_inputs(rows_call_t *rows) {
    const variable_row_t *row = rows->kernel->row;
    const int count = TF_NumInputs(rows->call->context);
    const int update = is_sparse_step(rows) ? row->indices - 1 : row->indices + 1;
    for (int i = row->variables; i < count; ++i) {
        if (i == update) rows->update = rows->input_count;
        if (i != row->indices) rows->inputs[rows->input_count++] = bridge_input(rows->call, i);
    }
    return indices_read(&rows->indices, rows->call, row->indices);
}

static void variable_rows_fail_shapes(const rows_call_t *rows, const gantry_shape_t *shape,
                                      const gantry_shape_t *updates) {
    char held[256], given[256], indices[256];
    (void)gantry_shape_format(shape, held, sizeof held);
    (void)gantry_shape_format(updates, given, sizeof given);
    (void)gantry_shape_format(&rows->indices.shape, indices, sizeof indices);
    bridge_fail(rows->call, GANTRY_INVALID_ARGUMENT,
                "Must have updates.shape = indices.shape + params.shape[1:] or updates.shape = [], "
                "got updates.shape %s, indices.shape %s, params.shape %s",
                given, indices, held);
}

/* Gives one row for each index the variable's row shape. */
static bool shape_update(rows_call_t *rows, bool may_stay_scalar) {
    gantry_scope_t *scope = rows->call->scope;
    const gantry_tensor_t **update = &rows->inputs[rows->update];
    const gantry_shape_t *shape = gantry_tensor_shape(rows->variables.values[0]);
    const gantry_shape_t *given = gantry_tensor_shape(*update);
    const int32_t leading = rows->indices.shape.rank;
    const bool is_scalar = !is_sparse_step(rows) && given->rank == 0;
    bool fits = shape->rank > 0 && (is_scalar || given->rank == leading + shape->rank - 1);
    for (int32_t d = 0; fits && !is_scalar && d < given->rank; ++d)
        fits = given->dims[d] ==
               (d < leading ? rows->indices.shape.dims[d] : shape->dims[d - leading + 1]);
    if (!fits) {
        variable_rows_fail_shapes(rows, shape, given);
        return false;
    }
    gantry_shape_t wanted = *shape;
    wanted.dims[0] = rows->indices.count;
    if (!is_scalar) {
        *update = gantry_reshape(scope, *update, wanted);
    } else if (!may_stay_scalar) {
        *update = gantry_broadcast_to(scope, *update, wanted);
    }
    return !bridge_has_failed(rows->call) &&
           indices_check(&rows->indices, rows->call, shape->dims[0], is_sparse_step(rows));
}

/* ---- rounds ---- */

static int by_row(const void *left, const void *right) {
    const place_t *a = left, *b = right;
    if (a->row != b->row) return a->row < b->row ? -1 : 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

static int by_round(const void *left, const void *right) {
    const place_t *a = left, *b = right;
    if (a->round != b->round) return a->round < b->round ? -1 : 1;
    return a->position < b->position ? -1 : a->position > b->position;
}

static bool sort_places(rows_call_t *rows) {
    const size_t count = (size_t)rows->indices.count;
    rows->places = calloc(count + 1, sizeof *rows->places);
    if (!rows->places) {
        bridge_fail_memory(rows->call);
        return false;
    }
    for (size_t i = 0; i < count; ++i)
        rows->places[i] = (place_t){.row = rows->indices.list[i], .position = (int64_t)i};
    qsort(rows->places, count, sizeof *rows->places, by_row);
    for (size_t i = 1; i < count; ++i) {
        place_t *place = &rows->places[i];
        if (place[-1].row == place->row) place->round = place[-1].round + 1;
        if (place->round >= rows->rounds) rows->rounds = place->round + 1;
    }
    qsort(rows->places, count, sizeof *rows->places, by_round);
    return true;
}

/* Makes a column of rows or of positions. It overwrites the list of indices, which is no longer
 * needed. */
static const gantry_tensor_t *variable_rows_list_places(rows_call_t *rows, int64_t first,
                                                        int64_t count, bool is_row) {
    int64_t *list = rows->indices.list;
    for (int64_t i = 0; i < count; ++i)
        list[i] = is_row ? rows->places[first + i].row : rows->places[first + i].position;
    return gantry_constant(rows->call->scope, GANTRY_INT64, GANTRY_SHAPE(count, 1), list,
                           (size_t)count * sizeof *list);
}

static const gantry_tensor_t *variable_gather_rows(const rows_call_t *rows,
                                                   const gantry_tensor_t *tensor,
                                                   const gantry_tensor_t *column) {
    const gantry_tensor_t *const inputs[] = {tensor, column};
    const gantry_tensor_t *result = NULL;
    size_t count = 1;
    (void)gantry_op_call(rows->call->scope, "GatherNd", inputs, 2, &variable_ignores_bad, 1,
                         &result, &count);
    return result;
}

static void run_round(rows_call_t *rows, int64_t first, int64_t count) {
    gantry_scope_t *scope = rows->call->scope;
    const variable_row_t *row = rows->kernel->row;
    const gantry_tensor_t *given[VARIABLES_MOST + MOST_INPUTS], *made[VARIABLES_MOST];
    const gantry_tensor_t *column = variable_rows_list_places(rows, first, count, true);
    const size_t variables = (size_t)row->variables;
    size_t made_count = VARIABLES_MOST;
    for (size_t i = 0; i < variables; ++i)
        given[i] = variable_gather_rows(rows, rows->variables.values[i], column);
    memcpy(given + variables, rows->inputs, rows->input_count * sizeof *given);
    const gantry_tensor_t *update = rows->inputs[rows->update];
    if (rows->rounds > 1 && gantry_tensor_shape(update)->rank > 0)
        given[variables + rows->update] = variable_gather_rows(
            rows, update, variable_rows_list_places(rows, first, count, false));
    (void)gantry_op_call(scope, row->gantry, given, variables + rows->input_count,
                         rows->kernel->attrs, rows->kernel->attr_count, made, &made_count);
    for (size_t i = 0; i < variables && !bridge_has_failed(rows->call); ++i) {
        const gantry_tensor_t *const inputs[] = {column, made[i]};
        (void)gantry_op_update(scope, "ResourceScatterNdUpdate", &rows->variables.values[i], 1,
                               inputs, 2, &variable_ignores_bad, 1);
    }
}

static void run_rounds(rows_call_t *rows) {
    const int64_t count = rows->indices.count;
    if (!shape_update(rows, true) || !sort_places(rows)) return;
    for (int64_t first = 0; first < count && !bridge_has_failed(rows->call);) {
        int64_t end = first;
        while (end < count && rows->places[end].round == rows->places[first].round) ++end;
        run_round(rows, first, end - first);
        first = end;
    }
}

void variable_rounds_compute(void *data, TF_OpKernelContext *context) {
    bridge_call_t call;
    rows_call_t rows = {.kernel = data, .call = &call, .rounds = 1};
    if (!bridge_begin(&call, context)) return;
    const bool is_taken = variable_rows_take_inputs(&rows);
    variables_begin(&rows.variables, &call, rows.kernel->row->variables, true);
    if (is_taken && !bridge_has_failed(&call)) run_rounds(&rows);
    variables_end(&rows.variables);
    bridge_end(&call);
    free(rows.places);
    indices_free(&rows.indices);
}

/* ---- ops of Gantry's own that scatter ---- */

static void scatter(rows_call_t *rows, const gantry_tensor_t *indices) {
    const gantry_tensor_t *const inputs[] = {indices, rows->inputs[rows->update]};
    (void)gantry_op_update(rows->call->scope, rows->kernel->row->gantry, rows->variables.values, 1,
                           inputs, 2, &variable_ignores_bad, 1);
}

void variable_scatter_compute(void *data, TF_OpKernelContext *context) {
    bridge_call_t call;
    rows_call_t rows = {.kernel = data, .call = &call};
    if (!bridge_begin(&call, context)) return;
    const bool is_taken = variable_rows_take_inputs(&rows);
    const gantry_tensor_t *indices = bridge_input(&call, 1);
    if (is_taken)
        indices = gantry_reshape(call.scope, indices, GANTRY_SHAPE(rows.indices.count, 1));
    variables_begin(&rows.variables, &call, 1, true);
    if (!bridge_has_failed(&call) && shape_update(&rows, false)) scatter(&rows, indices);
    variables_end(&rows.variables);
    bridge_end(&call);
    indices_free(&rows.indices);
}

void variable_scatter_nd_compute(void *data, TF_OpKernelContext *context) {
    bridge_call_t call;
    rows_call_t rows = {.kernel = data, .call = &call};
    if (!bridge_begin(&call, context)) return;
    const char *policy = rows.kernel->attr_count > 0 ? rows.kernel->attrs[0].s : "";
    (void)variable_rows_take_inputs(&rows);
    const gantry_tensor_t *indices = bridge_input(&call, 1);
    variables_begin(&rows.variables, &call, 1, true);
    if (!bridge_has_failed(&call) &&
        (strcmp(policy, "IGNORE") == 0 ||
         indices_check_vectors(&rows.indices, &call,
                               gantry_tensor_shape(rows.variables.values[0]))))
        scatter(&rows, indices);
    variables_end(&rows.variables);
    bridge_end(&call);
    indices_free(&rows.indices);
}
