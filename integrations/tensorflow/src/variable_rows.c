/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of variables: the sparse steps of optimizers, and rows that are multiplied or divided.
 *
 *     indices 7 2 7 7     rounds    1: rows 7 2    2: row 7    3: row 7
 *
 * TensorFlow's kernels take the indices one by one, so a row that is named twice has two steps.
 * Here a round takes each row once: it gathers the rows of all variables, runs the op on these
 * rows, and scatters them back in place. Indices that differ, the usual case, are one round. The
 * indices are read on the host, which also finds those out of range before anything changes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "variable_row.h"

#define MOST_INPUTS 16

/* An index, where it stands, and how often it stood before. */
typedef struct place_t {
    int64_t row;
    int64_t position;
    int64_t round;
} place_t;

typedef struct rows_call_t {
    const variable_kernel_t *kernel;
    bridge_call_t *call;
    variables_t variables;
    const gantry_tensor_t *inputs[MOST_INPUTS]; /* without the indices */
    size_t input_count;
    size_t update; /* the input that has one row for each index */
    bool is_sparse;
    place_t *places;
    int64_t count, rounds;
} rows_call_t;

/* ---- indices ---- */

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

static void sort_places(rows_call_t *rows) {
    const size_t count = (size_t)rows->count;
    qsort(rows->places, count, sizeof *rows->places, by_row);
    for (size_t i = 1; i < count; ++i) {
        place_t *place = &rows->places[i];
        if (place[-1].row == place->row) place->round = place[-1].round + 1;
        if (place->round >= rows->rounds) rows->rounds = place->round + 1;
    }
    qsort(rows->places, count, sizeof *rows->places, by_round);
}

static bool check_index(rows_call_t *rows, int64_t i, int64_t limit) {
    const int64_t row = rows->places[i].row;
    if (row >= 0 && row < limit) return true;
    if (rows->is_sparse) {
        bridge_fail(rows->call, GANTRY_INVALID_ARGUMENT,
                    "Index %lld at offset %lld in indices is out of range", (long long)row,
                    (long long)i);
    } else {
        bridge_fail(rows->call, GANTRY_INVALID_ARGUMENT, "indices[%lld] = %lld is not in [0, %lld)",
                    (long long)i, (long long)row, (long long)limit);
    }
    return false;
}

static bool read_places(rows_call_t *rows, const gantry_tensor_t *indices) {
    const uint64_t bytes = gantry_tensor_bytes(indices);
    const bool is_wide = gantry_tensor_dtype(indices) == GANTRY_INT64;
    rows->count = (int64_t)gantry_tensor_elements(indices);
    rows->rounds = 1;
    int64_t *data = malloc(bytes + 1);
    rows->places = calloc((size_t)rows->count + 1, sizeof *rows->places);
    if (!data || !rows->places) {
        bridge_fail(rows->call, GANTRY_RESOURCE_EXHAUSTED, "No host memory is left.");
    } else if (gantry_tensor_read(indices, data, bytes) != GANTRY_OK) {
        bridge_fail(rows->call, GANTRY_INTERNAL, "%s", gantry_last_message());
    }
    for (int64_t i = 0; i < rows->count && !bridge_has_failed(rows->call); ++i) {
        const int64_t row = is_wide ? data[i] : ((const int32_t *)data)[i];
        rows->places[i] = (place_t){.row = row, .position = i};
    }
    free(data);
    return !bridge_has_failed(rows->call);
}

/* ---- inputs ---- */

static bool take_inputs(rows_call_t *rows) {
    const variable_row_t *row = rows->kernel->row;
    const int count = TF_NumInputs(rows->call->context);
    rows->is_sparse = row->indices > row->variables;
    for (int i = row->variables; i < count; ++i) {
        if (i == (rows->is_sparse ? row->indices - 1 : row->indices + 1))
            rows->update = rows->input_count;
        if (i != row->indices) rows->inputs[rows->input_count++] = bridge_input(rows->call, i);
    }
    const gantry_tensor_t *indices = bridge_input(rows->call, row->indices);
    return !bridge_has_failed(rows->call) && read_places(rows, indices);
}

/* One row for each index, of the variable's row shape; of an op that scatters also a scalar. */
static bool shape_update(rows_call_t *rows) {
    const gantry_tensor_t *value = rows->variables.values[0], *update = rows->inputs[rows->update];
    const gantry_shape_t *shape = gantry_tensor_shape(value);
    gantry_shape_t wanted = *shape;
    if (shape->rank > 0) wanted.dims[0] = rows->count;
    if (!rows->is_sparse && shape->rank > 0 && gantry_tensor_shape(update)->rank == 0) return true;
    if (shape->rank < 1 ||
        gantry_shape_elements(&wanted) != (int64_t)gantry_tensor_elements(update)) {
        char given[256], held[256];
        (void)gantry_shape_format(gantry_tensor_shape(update), given, sizeof given);
        (void)gantry_shape_format(shape, held, sizeof held);
        bridge_fail(rows->call, GANTRY_INVALID_ARGUMENT,
                    "%s: %lld indices into a variable of shape %s do not fit updates of shape %s",
                    rows->kernel->row->op, (long long)rows->count, held, given);
        return false;
    }
    rows->inputs[rows->update] = gantry_reshape(rows->call->scope, update, wanted);
    return !bridge_has_failed(rows->call);
}

/* ---- rounds ---- */

static const gantry_tensor_t *list_places(rows_call_t *rows, int64_t first, int64_t count,
                                          bool is_row) {
    int64_t *list = malloc((size_t)count * sizeof *list);
    if (!list) {
        bridge_fail(rows->call, GANTRY_RESOURCE_EXHAUSTED, "No host memory is left.");
        return NULL;
    }
    for (int64_t i = 0; i < count; ++i)
        list[i] = is_row ? rows->places[first + i].row : rows->places[first + i].position;
    const gantry_tensor_t *tensor = gantry_constant(
        rows->call->scope, GANTRY_INT64, GANTRY_SHAPE(count), list, (size_t)count * sizeof *list);
    free(list);
    return tensor;
}

static void run_round(rows_call_t *rows, int64_t first, int64_t count) {
    gantry_scope_t *scope = rows->call->scope;
    const variable_row_t *row = rows->kernel->row;
    const gantry_tensor_t *given[VARIABLES_MOST + MOST_INPUTS], *made[VARIABLES_MOST];
    const gantry_tensor_t *indices = list_places(rows, first, count, true);
    const size_t variables = (size_t)row->variables;
    size_t made_count = VARIABLES_MOST;
    for (size_t i = 0; i < variables; ++i)
        given[i] = gantry_gather(scope, rows->variables.values[i], indices, 0);
    memcpy(given + variables, rows->inputs, rows->input_count * sizeof *given);
    const gantry_tensor_t *update = rows->inputs[rows->update];
    if (rows->rounds > 1 && gantry_tensor_shape(update)->rank > 0)
        given[variables + rows->update] =
            gantry_gather(scope, update, list_places(rows, first, count, false), 0);
    (void)gantry_op_call(scope, row->gantry, given, variables + rows->input_count,
                         rows->kernel->attrs, rows->kernel->attr_count, made, &made_count);
    for (size_t i = 0; i < variables && !bridge_has_failed(rows->call); ++i) {
        const gantry_tensor_t *const inputs[] = {indices, made[i]};
        (void)gantry_op_update(scope, "ResourceScatterUpdate", &rows->variables.values[i], 1,
                               inputs, 2, NULL, 0);
    }
}

static void run_rounds(rows_call_t *rows) {
    const int64_t limit = gantry_tensor_shape(rows->variables.values[0])->dims[0];
    for (int64_t i = 0; i < rows->count; ++i) {
        if (!check_index(rows, i, limit)) return;
    }
    sort_places(rows);
    for (int64_t first = 0; first < rows->count && !bridge_has_failed(rows->call);) {
        int64_t end = first;
        while (end < rows->count && rows->places[end].round == rows->places[first].round) ++end;
        run_round(rows, first, end - first);
        first = end;
    }
}

void variable_rows_compute(void *data, TF_OpKernelContext *context) {
    bridge_call_t call;
    rows_call_t rows = {.kernel = data, .call = &call};
    if (!bridge_begin(&call, context)) return;
    const bool is_taken = take_inputs(&rows);
    variables_begin(&rows.variables, &call, rows.kernel->row->variables, true);
    if (is_taken && !bridge_has_failed(&call) && shape_update(&rows)) run_rounds(&rows);
    variables_end(&rows.variables);
    bridge_end(&call);
    free(rows.places);
}
