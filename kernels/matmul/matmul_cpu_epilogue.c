/* SPDX-License-Identifier: Apache-2.0 */
/* A program runs in one of two ways. A program that is a chain, as a bias and an activation are,
 * runs by calls of the loops in place, without the steps of a job, whose making takes longer than a
 * small product:
 *
 *     for each piece of C          a part of a row, or several short rows
 *         for each instruction     its loop over the piece, in place
 *
 * A vector along short rows is repeated for as many rows as a piece has. Other programs run as jobs
 * of _FusedElementwise. */
#include "kernels/matmul/matmul_cpu_epilogue.h"

#define PIECE_ELEMENTS 512
#define PIECE_BYTES (PIECE_ELEMENTS * 8)

/* ---- chains ---- */

/* The operand by which instruction k takes the elements so far. */
static int64_t chain_operand(int64_t k) { return k == 0 ? 0 : -k; }

/* Reads the operand `at` of a link, which is not the elements so far. */
static bool read_other(const gantry__cpu_epilogue_t *epilogue, int64_t at,
                       gantry__cpu_link_t *link) {
    const gantry_arg_t *c = epilogue->call.outputs[0];
    if (at < 1) return false;
    const gantry_arg_t *input = epilogue->inputs[at];
    link->operand = input->data;
    link->is_scalar = input->element_count == 1;
    link->is_vector = !link->is_scalar && input->element_count != c->element_count;
    return input->dtype == c->dtype &&
           (!link->is_vector || (input->element_count == c->dims[c->rank - 1] &&
                                 input->dims[input->rank - 1] == input->element_count));
}

static bool read_link(const gantry__cpu_epilogue_t *epilogue, const gantry__cpu_loops_t *loops,
                      int64_t k, gantry__cpu_link_t *link) {
    const gantry__k_instruction_t *in = &epilogue->program.instructions[k];
    const gantry_arg_t *c = epilogue->call.outputs[0];
    if (in->id >= GANTRY_K_ROWS || in->dtype != c->dtype) return false;
    const gantry__k_fused_row_t *row = &gantry__k_fused_rows[in->id];
    const int64_t self = chain_operand(k);
    *link = (gantry__cpu_link_t){.loop = loops[in->id].dense};
    if (row->result != 0 || (in->operands[0] != self && row->operands == 1)) return false;
    if (row->operands == 1) return link->loop != NULL;
    link->is_second = in->operands[0] != self;
    if (link->is_second && in->operands[1] != self) return false;
    if (!read_other(epilogue, in->operands[link->is_second ? 0 : 1], link)) return false;
    if (link->is_scalar)
        link->loop = link->is_second ? loops[in->id].x_scalar : loops[in->id].y_scalar;
    return link->loop != NULL;
}

/* Reads the program as a chain. Returns false if it is none. */
static bool read_chain(gantry__cpu_epilogue_t *epilogue) {
    const uint32_t column = gantry__cpu_type_column(epilogue->call.outputs[0]->dtype);
    const uint32_t count = epilogue->program.instruction_count;
    if (column >= GANTRY_CPU_TYPES || count > GANTRY__CPU_CHAIN) return false;
    const gantry__cpu_loops_t *loops =
        GANTRY_CPU_PICK(epilogue->call.device->simd_level, element_loops)(column);
    for (uint32_t k = 0; k < count; ++k) {
        if (!read_link(epilogue, loops, k, &epilogue->chain[k])) return false;
    }
    epilogue->chain_count = count;
    return true;
}

/* `y` must point to the operand's first element for the piece. */
static void run_link(const gantry__cpu_link_t *link, const char *y, char *c, int64_t count) {
    if (!y) y = c; /* the instruction has one operand */
    (void)link->loop(link->is_second ? y : c, link->is_second ? c : y, c, count);
}

/* Runs over a part of one row, which begins at `first` and at `column` of the row. */
static void run_row(const gantry__cpu_epilogue_t *epilogue, int64_t first, int64_t column,
                    int64_t count) {
    const int64_t size = gantry__k_size(epilogue->call.outputs[0]->dtype);
    char *c = (char *)epilogue->call.outputs[0]->data + first * size;
    for (uint32_t k = 0; k < epilogue->chain_count; ++k) {
        const gantry__cpu_link_t *link = &epilogue->chain[k];
        const int64_t at = link->is_scalar ? 0 : link->is_vector ? column : first;
        run_link(link, link->operand ? (const char *)link->operand + at * size : NULL, c, count);
    }
}

/* Runs over whole rows, several at a time. Vectors are repeated in `repeated`, one after the
 * other. */
static void run_short_rows(const gantry__cpu_epilogue_t *epilogue, int64_t row, int64_t rows,
                           int64_t width) {
    _Alignas(64) char repeated[GANTRY__CPU_CHAIN][PIECE_BYTES];
    const int64_t size = gantry__k_size(epilogue->call.outputs[0]->dtype), whole = rows * width,
                  fitting = PIECE_ELEMENTS / width * width,
                  piece = fitting < whole ? fitting : whole;
    char *c = (char *)epilogue->call.outputs[0]->data + row * width * size;
    for (uint32_t k = 0; k < epilogue->chain_count; ++k) {
        for (int64_t i = 0; epilogue->chain[k].is_vector && i < piece; i += width)
            memcpy(repeated[k] + i * size, epilogue->chain[k].operand, (size_t)(width * size));
    }
    for (int64_t done = 0, count; done < whole; done += count) {
        count = whole - done < piece ? whole - done : piece;
        for (uint32_t k = 0; k < epilogue->chain_count; ++k) {
            const gantry__cpu_link_t *link = &epilogue->chain[k];
            const char *y = link->operand;
            if (link->is_vector) {
                y = repeated[k];
            } else if (y && !link->is_scalar) {
                y += (row * width + done) * size;
            }
            run_link(link, y, c + done * size, count);
        }
    }
}

static void run_chain(const gantry__cpu_epilogue_t *epilogue, int64_t row, int64_t rows,
                      int64_t column, int64_t columns) {
    const gantry_arg_t *c = epilogue->call.outputs[0];
    const int64_t width = c->dims[c->rank - 1];
    if (columns == width && rows > 1 && 2 * width <= PIECE_ELEMENTS) {
        run_short_rows(epilogue, row, rows, width);
        return;
    }
    for (int64_t i = row; i < row + rows; ++i) {
        for (int64_t j = column, count; j < column + columns; j += count) {
            count = column + columns - j;
            count = count < 2 * PIECE_ELEMENTS ? count : 2 * PIECE_ELEMENTS;
            run_row(epilogue, i * width + j, j, count);
        }
    }
}

/* ---- any program ---- */

void gantry__cpu_epilogue_init(gantry__cpu_epilogue_t *epilogue, const gantry_op_call_t *call) {
    epilogue->call = *call;
    epilogue->inputs[0] = call->outputs[0];
    for (uint32_t i = 2; i < call->input_count; ++i) epilogue->inputs[i - 1] = call->inputs[i];
    epilogue->attrs[0] = gantry__k_attr(call, "program");
    epilogue->attrs[1] = &epilogue->outputs;
    epilogue->call.inputs = epilogue->inputs;
    epilogue->call.input_count = call->input_count - 1;
    epilogue->call.attrs = epilogue->attrs;
    epilogue->call.attr_count = 2;
    epilogue->outputs = (gantry_attr_t){.struct_size = sizeof(gantry_attr_t),
                                        .kind = GANTRY_ATTR_INTS,
                                        .name = "outputs",
                                        .i = 1,
                                        .list = &epilogue->last};
    epilogue->program = gantry__k_fused(&epilogue->call);
    epilogue->last = epilogue->program.instruction_count - 1;
    epilogue->chain_count = 0;
    if (!read_chain(epilogue))
        gantry__cpu_fused_prepare(&epilogue->job, &epilogue->call, &epilogue->program,
                                  gantry__cpu_fused_shares(&epilogue->call));
}

void gantry__cpu_epilogue_run(const gantry__cpu_epilogue_t *epilogue, int64_t row, int64_t rows,
                              int64_t column, int64_t columns) {
    const gantry_arg_t *c = epilogue->call.outputs[0];
    const int64_t width = c->dims[c->rank - 1];
    if (epilogue->chain_count > 0) {
        run_chain(epilogue, row, rows, column, columns);
        return;
    }
    if (columns == width) {
        gantry__cpu_fused_part(&epilogue->job, row * width, (row + rows) * width);
        return;
    }
    for (int64_t i = row; i < row + rows; ++i)
        gantry__cpu_fused_part(&epilogue->job, i * width + column, i * width + column + columns);
}
