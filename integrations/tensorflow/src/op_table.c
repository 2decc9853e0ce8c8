/* SPDX-License-Identifier: Apache-2.0 */
#include "op_table.h"

#include <string.h>

#include "op_adapters.h"

static const op_row_t rows[] = {
#include "op_table.def"
};

const op_row_t *op_row_at(size_t index) {
    return index < sizeof rows / sizeof *rows ? &rows[index] : NULL;
}

const op_row_t *op_row_next(const op_row_t *row) { return op_row_at((size_t)(row - rows) + 1); }

/* Finds a row by a walk over some hundred rows, which costs nothing, because kernels are made once
 * for each node. */
const op_row_t *op_row_find(const char *op) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        if (!strcmp(rows[i].op, op)) return &rows[i];
    }
    return NULL;
}
