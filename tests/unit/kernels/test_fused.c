/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Fused programs of elementwise ops give the bits of the ops one by one on the CPU, over
 * all ops, types, broadcasts and instructions. */
#include "fused_parts_case.h"
#include "test.h"

#include "cpu_scope.h"

static void run_programs(cpu_scope_t *f, uint64_t first, uint64_t count, uint64_t types,
                         uint32_t longest) {
    static fused_case_t c; /* large */
    for (uint64_t seed = first; seed < first + count; ++seed) {
        fused_draw(&c, seed, types, 1 + (uint32_t)(seed * 7 % longest), longest);
        gantry_scope_t *scope = gantry_scope_begin(f->runtime, "/CPU:0");
        fused_check(scope, &c, seed);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
        fused_free(&c);
    }
}

TEST_WITH(random_programs_of_float32_have_the_ops_bits, cpu_scope_set_up, cpu_scope_tear_down) {
    run_programs(*state, 1, 1000, UINT64_C(1) << GANTRY_FLOAT32, 24);
}

TEST_WITH(random_programs_of_all_types_have_the_ops_bits, cpu_scope_set_up, cpu_scope_tear_down) {
    run_programs(*state, 2000, 4000, FUSED_ALL_TYPES, 24);
}

TEST_WITH(long_programs_have_the_ops_bits, cpu_scope_set_up, cpu_scope_tear_down) {
    run_programs(*state, 7000, 200, FUSED_ALL_TYPES, GANTRY__FUSED_MOST_INSTRUCTIONS);
}

TEST_WITH(every_instruction_has_the_ops_bits_with_every_type, cpu_scope_set_up,
          cpu_scope_tear_down) {
    cpu_scope_t *f = *state;
    static fused_case_t c; /* large */
    uint32_t pairs = 0;
    for (int id = 0; id < GANTRY__FUSED_COUNT; ++id) {
        for (int dtype = 1; dtype < 64; ++dtype) {
            if (!gantry__fused_takes((gantry__fused_id_t)id, (gantry_dtype_t)dtype)) continue;
            const int results = id == GANTRY__FUSED_Cast ? 64 : 2;
            for (int n = 1; n < results * FUSED_FORMS; ++n) {
                const gantry_dtype_t result = (gantry_dtype_t)(n / FUSED_FORMS);
                if (id == GANTRY__FUSED_Cast && !gantry__fused_takes(GANTRY__FUSED_Cast, result))
                    continue;
                fused_single(&c, (gantry__fused_id_t)id, (gantry_dtype_t)dtype, result,
                             n % FUSED_FORMS);
                gantry_scope_t *scope = gantry_scope_begin(f->runtime, "/CPU:0");
                fused_check(scope, &c, (uint64_t)n);
                assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
                fused_free(&c);
            }
            ++pairs;
        }
    }
    assert_true(pairs > 400);
}

/* ---- chains ---- */

enum { OPERANDS = 5 };

/* Six instructions, each of which reads the result of the one before. Two are of the id, with the
 * value carried as either operand. The other operand is in one of the forms: a block; a scalar; a
 * vector along rows; the value itself; an early result. Products keep the sign of zeros. */
static void draw_chain(fused_case_t *c, gantry__fused_id_t id, gantry_shape_t whole, int form) {
    const gantry_shape_t row = {.rank = 1, .dims = {whole.dims[whole.rank - 1]}};
    const int64_t first[OPERANDS] = {0, 1, 2, -2, -1}, second[OPERANDS] = {3, 1, 2, -3, -1};
    const int64_t early = form % 2 == 0 ? -1 : 0;
    const int64_t program[][4] = {
        {GANTRY__FUSED_Sub, 0, 3, 0},      {GANTRY__FUSED_Mul, 1, -1, 0},
        {id, -2, first[form], 0},          {id, second[form], -3, 0},
        {GANTRY__FUSED_Mul, -4, early, 0}, {GANTRY__FUSED_Minimum, 2, -5, 0}};
    const bool is_unary = gantry__fused_operands(id) == 1;
    *c = (fused_case_t){.random = (uint64_t)id * OPERANDS + (uint64_t)form,
                        .whole = whole,
                        .instruction_count = 6,
                        .output_count = form == 3 ? 2 : 1,
                        .outputs = {5, 3}};
    (void)fused_add_input(c, GANTRY_FLOAT32, whole);
    (void)fused_add_input(c, GANTRY_FLOAT32, (gantry_shape_t){.rank = 0});
    (void)fused_add_input(c, GANTRY_FLOAT32, row);
    (void)fused_add_input(c, GANTRY_FLOAT32, whole);
    for (uint32_t k = 0; k < c->instruction_count; ++k) {
        int64_t *in = c->program + k * GANTRY__FUSED_WORDS;
        in[0] = program[k][0];
        in[1] = GANTRY_FLOAT32;
        in[2] = program[k][1];
        in[3] = program[k][2];
        if (!is_unary || in[0] != id) continue;
        in[2] = -(int64_t)k;
        in[3] = 0;
    }
}

TEST_WITH(chains_have_the_ops_bits, cpu_scope_set_up, cpu_scope_tear_down) {
    cpu_scope_t *f = *state;
    static const gantry__fused_id_t ids[] = {
        GANTRY__FUSED_Add,    GANTRY__FUSED_Sub,     GANTRY__FUSED_Mul,
        GANTRY__FUSED_Div,    GANTRY__FUSED_Maximum, GANTRY__FUSED_Minimum,
        GANTRY__FUSED_Neg,    GANTRY__FUSED_Abs,     GANTRY__FUSED_SquaredDifference,
        GANTRY__FUSED_Square, GANTRY__FUSED_Relu};
    static const gantry_shape_t shapes[] = {
        {.rank = 1, .dims = {5000}}, {.rank = 2, .dims = {9, 300}}, {.rank = 2, .dims = {300, 9}}};
    static fused_case_t c; /* large */
    for (int n = 0; n < (int)(sizeof ids / sizeof ids[0]) * 3 * OPERANDS; ++n) {
        draw_chain(&c, ids[n / 3 / OPERANDS], shapes[n / OPERANDS % 3], n % OPERANDS);
        gantry_scope_t *scope = gantry_scope_begin(f->runtime, "/CPU:0");
        fused_check(scope, &c, (uint64_t)n);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
        fused_free(&c);
    }
}

TEST_WITH(random_parts_have_the_bits_of_single_calls, cpu_scope_set_up, cpu_scope_tear_down) {
    cpu_scope_t *f = *state;
    for (uint64_t seed = 1; seed < 400000; seed += 10000) {
        gantry_scope_t *scope = gantry_scope_begin(f->runtime, "/CPU:0");
        fused_parts_run(scope, scope, seed, 10,
                        seed % 3 == 0 ? UINT64_C(1) << GANTRY_FLOAT32 : FUSED_ALL_TYPES, 24);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    }
}

static bool can_fuse(gantry__op_id_t op, gantry_dtype_t dtype) {
    const gantry_attr_t attrs[GANTRY__MAX_ATTRS] = {{.i = 0}};
    return gantry__fused_takes(gantry__fused_id(gantry__op_get(op), attrs), dtype);
}

/* Every row fuses: with a type for which it cannot fail, and with the type of most programs. */
TEST(every_elementwise_op_can_fuse) {
    static const gantry__op_id_t ops[] = {
#define IS_UNARY(name) GANTRY__OP_ID_##name,
#define IS_ACTIVATION IS_UNARY
#define IS_CHOICE IS_UNARY
#define IS_VARIANT(name)
#define IS_BINARY IS_UNARY
#define IS_ANGLE IS_UNARY
#define IS_EQUALITY IS_UNARY
#define IS_VALUE IS_UNARY
#define IS_PRECISION IS_UNARY
#define IS_UNARY_CHOICE IS_UNARY
#define IS_BINARY_CHOICE IS_UNARY
#define IS_BINARY_VARIANT IS_VARIANT
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    IS_##form(name)
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
        GANTRY__OP_ID_Cast, GANTRY__OP_ID_Select, GANTRY__OP_ID_ClipByValue};
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; ++i) {
        bool can = false;
        for (int dtype = 1; dtype < 64; ++dtype) can |= can_fuse(ops[i], (gantry_dtype_t)dtype);
        if (!can) fail_msg("%s fuses with no type", gantry__op_get(ops[i])->name);
    }
    assert_true(can_fuse(GANTRY__OP_ID_Div, GANTRY_FLOAT32));
    assert_false(can_fuse(GANTRY__OP_ID_Div, GANTRY_INT32)); /* by zero */
    assert_true(can_fuse(GANTRY__OP_ID_Exp, GANTRY_FLOAT64));
    assert_false(can_fuse(GANTRY__OP_ID_Atan, GANTRY_FLOAT64)); /* a driver's */
    assert_false(can_fuse(GANTRY__OP_ID_MatMul, GANTRY_FLOAT32));
    assert_false(can_fuse(GANTRY__OP_ID_Select, GANTRY_COMPLEX64));
}

TEST(gelu_has_an_instruction_for_each_form) {
    const gantry__op_def_t *gelu = gantry__op_get(GANTRY__OP_ID_Gelu);
    gantry_attr_t attrs[2] = {{.name = "T", .i = GANTRY_FLOAT32}, {.name = "approximate", .i = 0}};
    assert_int_equal(gantry__fused_id(gelu, attrs), GANTRY__FUSED_Gelu);
    attrs[1].i = 1;
    assert_int_equal(gantry__fused_id(gelu, attrs), GANTRY__FUSED_GeluTanh);
    assert_int_equal(gantry__fused_id(gantry__op_get(GANTRY__OP_ID_Cast), attrs),
                     GANTRY__FUSED_Cast);
    assert_int_equal(gantry__fused_id(gantry__op_get(GANTRY__OP_ID_Sum), attrs),
                     GANTRY__FUSED_COUNT);
}

int main(void) { return test_main(); }
