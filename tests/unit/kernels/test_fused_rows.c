/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Fused programs over rows give the bits of the ops one by one on the CPU: elementwise ops
 * and reductions, softmax and layer norm of many lengths.
 * Promise: On the CPU, Sum, Mean, Max and Min over the last axis fuse with the elementwise ops
 * around them, with the bits of the ops run one by one. */
#include "fused_rows_case.h"
#include "test.h"

#include "cpu_scope.h"

static void check(cpu_scope_t *f, fused_case_t *c, uint64_t seed) {
    gantry_scope_t *scope = gantry_scope_begin(f->runtime, "/CPU:0");
    fused_check(scope, c, seed);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    fused_free(c);
}

static void run_programs(cpu_scope_t *f, uint64_t first, uint64_t count, uint64_t types,
                         uint32_t longest) {
    static fused_case_t c; /* large */
    for (uint64_t seed = first; seed < first + count; ++seed) {
        fused_rows_draw(&c, seed, types, 1 + (uint32_t)(seed * 7 % longest), longest);
        check(f, &c, seed);
    }
}

TEST(random_rows_of_float32_have_the_ops_bits) {
    run_programs(*state, 1, 1500, UINT64_C(1) << GANTRY_FLOAT32, 24);
}

TEST(random_rows_of_floats_have_the_ops_bits) {
    run_programs(*state, 3000, 1500, FUSED_ROWS_FLOATS, 24);
}

TEST(random_rows_of_all_types_have_the_ops_bits) {
    run_programs(*state, 6000, 1500, FUSED_ALL_TYPES | FUSED_ROWS_FLOATS, 40);
}

TEST(norms_of_many_lengths_have_the_ops_bits) {
    static const int64_t lengths[] = {2, 3, 17, 63, 64, 65, 128, 255, 256, 1000, 1024, 4095, 4096};
    static const int64_t rows[] = {1, 2, 5, 67};
    static const gantry_dtype_t types[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16,
                                           GANTRY_BFLOAT16};
    static fused_case_t c; /* large */
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; ++i) {
        for (size_t k = 0; k < 4 * (sizeof rows / sizeof rows[0]); ++k) {
            const gantry_dtype_t dtype = types[k % 4];
            /* three slots; three more widen halves */
            const int64_t bytes = dtype == GANTRY_FLOAT64   ? 3 * 8
                                  : dtype == GANTRY_FLOAT32 ? 3 * 4
                                                            : 6 * 4;
            if (lengths[i] * bytes > FUSED_ROWS_BYTES) continue;
            fused_rows_softmax(&c, dtype, rows[k / 4], lengths[i]);
            check(*state, &c, i);
            fused_rows_norm(&c, dtype, rows[k / 4], lengths[i]);
            check(*state, &c, i);
        }
    }
}

/* [n, n] summed along rows, with a vector of n elements whose memory the sums may take. */
TEST(sums_may_lie_where_a_vector_was) {
    static fused_case_t c; /* large */
    const int64_t program[] = {GANTRY__FUSED_Mul, GANTRY_FLOAT32, 0,  1, 0,
                               GANTRY__FUSED_Sum, GANTRY_FLOAT32, -1, 0, 0};
    for (int64_t n = 2; n < 1100; n += 299) {
        fused_rows_begin(&c, GANTRY_FLOAT32, n, n);
        (void)fused_add_input(&c, GANTRY_FLOAT32, GANTRY_SHAPE(n));
        memcpy(c.program, program, sizeof program);
        c.instruction_count = 2;
        c.output_count = 1;
        c.outputs[0] = 1;
        check(*state, &c, (uint64_t)n);
    }
}

/* Rows for which the slots have no room run on no device. */
TEST(rows_without_room_are_refused) {
    cpu_scope_t *f = *state;
    static fused_case_t c; /* large */
    const gantry_tensor_t *inputs[GANTRY__FUSED_MOST_INPUTS], *out[4];
    gantry_scope_t *scope = gantry_scope_begin(f->runtime, "/CPU:0");
    fused_rows_begin(&c, GANTRY_FLOAT64, 3, 4096);
    c.instruction_count = 8;
    for (uint32_t k = 0; k < 8; ++k) {
        const int64_t in[] = {k < 4 ? GANTRY__FUSED_Exp : GANTRY__FUSED_Add, GANTRY_FLOAT64,
                              k < 4 ? -(int64_t)k : -4, k < 4 ? 0 : -(int64_t)(k - 3), 0};
        memcpy(c.program + k * GANTRY__FUSED_WORDS, in, sizeof in);
    }
    c.output_count = 4;
    for (uint32_t i = 0; i < 4; ++i) c.outputs[i] = i + 4;
    fused_inputs(scope, &c, inputs);
    fused_call(scope, &c, inputs, out);
    assert_null(out[0]);
    assert_non_null(strstr(gantry_last_message(), "_FusedRows"));
    (void)gantry_scope_end(scope);
    fused_free(&c);
}

int main(void) { return test_main_each(cpu_scope_set_up, cpu_scope_tear_down); }
