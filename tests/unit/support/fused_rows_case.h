/* SPDX-License-Identifier: Apache-2.0 */
/* Programs of _FusedRows for fused_check of fused_case.h: random ones, softmax and layer norm.
 * Header only; owner: the test's program, one thread. */
#ifndef TESTS_FUSED_ROWS_CASE_H
#define TESTS_FUSED_ROWS_CASE_H

#include "fused_case.h"

#define FUSED_ROWS_FLOATS                                            \
    (UINT64_C(1) << GANTRY_FLOAT32 | UINT64_C(1) << GANTRY_FLOAT64 | \
     UINT64_C(1) << GANTRY_FLOAT16 | UINT64_C(1) << GANTRY_BFLOAT16)
/* Bytes of slots, at least, that each device has for a row. */
#define FUSED_ROWS_BYTES 65536

static inline gantry_shape_t fused_rows_whole(fused_case_t *c, uint32_t length) {
    static const int64_t lengths[] = {2, 3, 5, 8, 31, 32, 63, 64, 65, 100, 255, 256, 257, 500};
    const int64_t most = FUSED_ROWS_BYTES / 8 / (length + 10);
    gantry_shape_t shape = {.rank = 1 + (int32_t)fused_random(c, 3)};
    for (int32_t d = 0; d < shape.rank; ++d) shape.dims[d] = 1 + (int64_t)fused_random(c, 9);
    if (shape.rank > 1 && fused_random(c, 3) == 0)
        shape.dims[0] = 1 + (int64_t)fused_random(c, 100);
    do {
        shape.dims[shape.rank - 1] = lengths[fused_random(c, sizeof lengths / sizeof lengths[0])];
    } while (shape.dims[shape.rank - 1] > most);
    return shape;
}

static inline bool fused_rows_is_wide(const fused_case_t *c, int64_t operand) {
    const gantry_shape_t shape = fused_shape_of(c, operand);
    return shape.rank > 0 && shape.dims[shape.rank - 1] != 1;
}

static inline bool fused_rows_reduce(fused_case_t *c) {
    const int64_t count = (int64_t)c->instruction_count + c->input_count;
    const int64_t x = (int64_t)fused_random(c, (uint64_t)count) - (int64_t)c->instruction_count;
    const gantry__fused_id_t id = (gantry__fused_id_t)(GANTRY__FUSED_Sum + (int)fused_random(c, 4));
    const gantry_dtype_t dtype = fused_type_of(c, x);
    if (!gantry__fused_reduces(id, dtype) || !fused_rows_is_wide(c, x)) return false;
    const int64_t words[GANTRY__FUSED_WORDS] = {id, (int64_t)dtype, x, 1, 0};
    gantry_shape_t shape = fused_shape_of(c, x);
    shape.dims[shape.rank - 1] = 1;
    memcpy(c->program + c->instruction_count * GANTRY__FUSED_WORDS, words, sizeof words);
    c->shapes[c->instruction_count++] = shape;
    return true;
}

static inline bool fused_rows_is_used(const fused_case_t *c, int64_t result) {
    for (uint32_t k = 0; k < c->instruction_count; ++k) {
        const int64_t *in = c->program + k * GANTRY__FUSED_WORDS;
        for (uint32_t i = 0; i < gantry__fused_operands((gantry__fused_id_t)in[0]); ++i) {
            if (in[2 + i] == -1 - result) return true;
        }
    }
    return false;
}

/* Results that have all rows. False: there is none. */
static inline bool fused_rows_choose_outputs(fused_case_t *c) {
    gantry_shape_t narrow = c->whole;
    int64_t candidates[GANTRY__FUSED_MOST_INSTRUCTIONS];
    uint64_t count = 0;
    narrow.dims[narrow.rank - 1] = 1;
    for (int64_t k = (int64_t)c->instruction_count - 1; k >= 0; --k) {
        const gantry_shape_t shape = fused_shape_of(c, -1 - k);
        if (gantry_shape_equal(&shape, &c->whole) || gantry_shape_equal(&shape, &narrow))
            candidates[count++] = k;
    }
    c->output_count = 1 + (uint32_t)fused_random(c, GANTRY__FUSED_MOST_OUTPUTS);
    for (uint32_t i = 0; count > 0 && i < c->output_count; ++i) {
        const int64_t k = candidates[i == 0 ? 0 : fused_random(c, count)];
        int64_t *in = c->program + k * GANTRY__FUSED_WORDS;
        c->outputs[i] = k;
        if (in[0] > GANTRY__FUSED_COUNT && in[3] == 1 && !fused_rows_is_used(c, k) &&
            fused_random(c, 2) == 0) {
            in[3] = 0; /* does not keep its dimension */
            --c->shapes[k].rank;
        }
    }
    return count > 0;
}

/* Whether the kernels of devices that build programs take the case: inputs have elements of their
 * own for each row, or the same ones for all; narrow results cannot lie over other inputs, and no
 * output is bool. */
static inline bool fused_rows_fit_devices(const fused_case_t *c) {
    const int64_t length = c->whole.dims[c->whole.rank - 1];
    const int64_t rows = gantry_shape_elements(&c->whole) / length;
    const bool is_narrow = !fused_rows_is_wide(c, -1 - c->outputs[0]) ||
                           c->program[c->outputs[0] * GANTRY__FUSED_WORDS] > GANTRY__FUSED_COUNT;
    for (uint32_t i = 0; i < c->output_count; ++i) {
        if (fused_type_of(c, -1 - c->outputs[i]) == GANTRY_BOOL) return false;
    }
    for (uint32_t i = 0; i < c->input_count; ++i) {
        const bool is_wide = fused_rows_is_wide(c, i);
        const int64_t elements = gantry_shape_elements(&c->input_shapes[i]),
                      own = elements / (is_wide ? length : 1);
        if (own != 1 && own != rows) return false;
        if (is_narrow && is_wide && elements == rows) return false;
    }
    return true;
}

/* `length` instructions, of which `costly` may be expensive; a quarter of them reduces. */
static inline void fused_rows_draw(fused_case_t *c, uint64_t seed, uint64_t types, uint32_t length,
                                   uint32_t costly) {
    c->op = "_FusedRows";
    c->is_tame = seed % 4 != 0;
    c->random = seed * 2 + 1;
    c->types = types;
    c->input_count = 0;
    for (;;) {
        fused_free(c);
        c->input_count = c->instruction_count = 0;
        c->whole = fused_rows_whole(c, length);
        (void)fused_add_input(c, fused_type(c), c->whole);
        while (c->input_count < 1 + seed % 5)
            (void)fused_add_input(c, fused_type(c), fused_smaller(c));
        uint32_t used = 0, reductions = 0;
        for (uint32_t tries = 0; tries < 40 * length && c->instruction_count < length; ++tries) {
            if (reductions < 16 && fused_random(c, 4) == 0) {
                reductions += fused_rows_reduce(c);
            } else if (fused_add_instruction(c, used < costly)) {
                used += gantry__fused_is_costly(
                    (gantry__fused_id_t)
                        c->program[(c->instruction_count - 1) * GANTRY__FUSED_WORDS]);
            }
        }
        if (c->instruction_count > 0 && reductions > 0 && fused_rows_choose_outputs(c)) return;
    }
}

static inline void fused_rows_begin(fused_case_t *c, gantry_dtype_t dtype, int64_t rows,
                                    int64_t length) {
    *c = (fused_case_t){
        .op = "_FusedRows", .is_tame = true, .random = (uint64_t)(rows * 8191 + length)};
    c->whole = GANTRY_SHAPE(rows, length);
    (void)fused_add_input(c, dtype, c->whole);
}

/* Softmax of [rows, length] out of ops. */
static inline void fused_rows_softmax(fused_case_t *c, gantry_dtype_t dtype, int64_t rows,
                                      int64_t length) {
    const int64_t t = (int64_t)dtype;
    const int64_t program[] = {GANTRY__FUSED_Max, t, 0,  1,  0, GANTRY__FUSED_Sub, t, 0,  -1, 0,
                               GANTRY__FUSED_Exp, t, -2, 0,  0, GANTRY__FUSED_Sum, t, -3, 1,  0,
                               GANTRY__FUSED_Div, t, -3, -4, 0};
    fused_rows_begin(c, dtype, rows, length);
    memcpy(c->program, program, sizeof program);
    c->instruction_count = 5;
    c->output_count = 1;
    c->outputs[0] = 4;
}

/* Layer norm of [rows, length] out of ops. */
static inline void fused_rows_norm(fused_case_t *c, gantry_dtype_t dtype, int64_t rows,
                                   int64_t length) {
    const int64_t t = (int64_t)dtype;
    /* Rsqrt of float64 is a driver's own */
    const bool is_double = dtype == GANTRY_FLOAT64;
    const int64_t root = is_double ? GANTRY__FUSED_Sqrt : GANTRY__FUSED_Rsqrt,
                  scale = is_double ? GANTRY__FUSED_Div : GANTRY__FUSED_Mul;
    const int64_t program[] = {GANTRY__FUSED_Mean,
                               t,
                               0,
                               1,
                               0,
                               GANTRY__FUSED_Sub,
                               t,
                               0,
                               -1,
                               0,
                               GANTRY__FUSED_Square,
                               t,
                               -2,
                               0,
                               0,
                               GANTRY__FUSED_Mean,
                               t,
                               -3,
                               1,
                               0,
                               GANTRY__FUSED_Add,
                               t,
                               -4,
                               1,
                               0,
                               root,
                               t,
                               -5,
                               0,
                               0,
                               scale,
                               t,
                               -2,
                               -6,
                               0,
                               GANTRY__FUSED_Mul,
                               t,
                               -7,
                               2,
                               0,
                               GANTRY__FUSED_Add,
                               t,
                               -8,
                               3,
                               0};
    fused_rows_begin(c, dtype, rows, length);
    (void)fused_add_input(c, dtype, GANTRY_SHAPE(1));
    (void)fused_add_input(c, dtype, GANTRY_SHAPE(length));
    (void)fused_add_input(c, dtype, GANTRY_SHAPE(length));
    memcpy(c->program, program, sizeof program);
    c->instruction_count = 9;
    c->output_count = 1;
    c->outputs[0] = 8;
}

#endif
