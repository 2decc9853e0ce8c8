/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Each elementwise C function of ops.h runs the op of its name.
 *
 * Golden files check the ops' results. */
#include <string.h>

#include "cpu_scope.h"
#include "test.h"

#define COUNT 3

/* The op takes this type: bool for logical ops, int32 for bitwise ops, else float32. */
static const gantry_tensor_t *operand(const cpu_scope_t *f, const char *op, int second) {
    static const float floats[2][COUNT] = {{0.25f, -0.5f, 3.0f}, {2.0f, 0.75f, -1.0f}};
    static const int32_t ints[2][COUNT] = {{5, -6, 7}, {3, 1, 2}};
    static const bool bools[2][COUNT] = {{true, false, true}, {true, true, false}};
    if (strncmp(op, "Logical", 7) == 0) {
        return gantry_constant(f->scope, GANTRY_BOOL, GANTRY_SHAPE(COUNT), bools[second],
                               sizeof bools[0]);
    }
    if (strncmp(op, "Bitwise", 7) == 0 || strstr(op, "Shift") || strstr(op, "Count") ||
        strcmp(op, "Invert") == 0) {
        return gantry_constant(f->scope, GANTRY_INT32, GANTRY_SHAPE(COUNT), ints[second],
                               sizeof ints[0]);
    }
    return gantry_constant(f->scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), floats[second],
                           sizeof floats[0]);
}

static void check_same(const cpu_scope_t *f, const char *op, const gantry_tensor_t *got,
                       const gantry_tensor_t *const *inputs, size_t input_count,
                       const gantry_attr_value_t *attrs, size_t attr_count) {
    const gantry_tensor_t *wanted = NULL;
    size_t count = 1;
    char values[2][COUNT * sizeof(float)] = {{0}, {1}};
    if (!got) fail_msg("%s: %s", op, gantry_scope_message(f->scope));
    assert_int_equal(
        gantry_op_call(f->scope, op, inputs, input_count, attrs, attr_count, &wanted, &count),
        GANTRY_OK);
    assert_int_equal(gantry_tensor_dtype(got), gantry_tensor_dtype(wanted));
    assert_int_equal(gantry_tensor_bytes(got), gantry_tensor_bytes(wanted));
    const size_t bytes = gantry_tensor_bytes(got);
    assert_int_equal(gantry_tensor_read(got, values[0], bytes), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(wanted, values[1], bytes), GANTRY_OK);
    if (memcmp(values[0], values[1], bytes) != 0)
        fail_msg("gantry_... of %s gives something else", op);
}

/* The rows of ops/elementwise.def declare these functions; ops with an attribute follow below. */
TEST(functions_of_rows_run_the_op_of_their_name) {
    const cpu_scope_t *f = *state;
#define CHECK_UNARY(op, function)                                          \
    {                                                                      \
        const gantry_tensor_t *x = operand(f, op, 0);                      \
        check_same(f, op, gantry_##function(f->scope, x), &x, 1, NULL, 0); \
    }
#define CHECK_BINARY(op, function)                                                                \
    {                                                                                             \
        const gantry_tensor_t *inputs[] = {operand(f, op, 0), operand(f, op, 1)};                 \
        check_same(f, op, gantry_##function(f->scope, inputs[0], inputs[1]), inputs, 2, NULL, 0); \
    }
#define CHECK_ACTIVATION CHECK_UNARY
#define CHECK_EQUALITY CHECK_BINARY
#define CHECK_ANGLE CHECK_BINARY
#define CHECK_VALUE(op, function)
#define CHECK_CHOICE(op, function)
#define CHECK_UNARY_CHOICE CHECK_UNARY
#define CHECK_BINARY_CHOICE CHECK_BINARY
#define CHECK_PRECISION(op, function)
#define CHECK_VARIANT(op, function)
#define CHECK_BINARY_VARIANT(op, function)
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    CHECK_##form(#name, function)
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
    CHECK_UNARY("Identity", identity)
    CHECK_UNARY("Softmax", softmax)
    CHECK_UNARY("LogSoftmax", log_softmax)
}

TEST(functions_with_attributes_pass_them_on) {
    const cpu_scope_t *f = *state;
    const gantry_tensor_t *x = operand(f, "Gelu", 0);
    const gantry_attr_value_t alpha = {.name = "alpha", .kind = GANTRY_ATTR_FLOAT, .f = 0.5};
    check_same(f, "LeakyRelu", gantry_leaky_relu(f->scope, x, 0.5f), &x, 1, &alpha, 1);
    const gantry_attr_value_t bits[] = {{.name = "exponent_bits", .kind = GANTRY_ATTR_INT, .i = 5},
                                        {.name = "mantissa_bits", .kind = GANTRY_ATTR_INT, .i = 2}};
    check_same(f, "ReducePrecision", gantry_reduce_precision(f->scope, x, 5, 2), &x, 1, bits, 2);
    for (int approximate = 0; approximate < 2; ++approximate) {
        const gantry_attr_value_t attr = {
            .name = "approximate", .kind = GANTRY_ATTR_BOOL, .i = approximate};
        check_same(f, "Gelu", gantry_gelu(f->scope, x, approximate), &x, 1, &attr, 1);
    }
    const gantry_tensor_t *inputs[] = {x, gantry_scalar_f32(f->scope, -0.25f),
                                       gantry_scalar_f32(f->scope, 1.0f)};
    check_same(f, "ClipByValue", gantry_clip_by_value(f->scope, x, inputs[1], inputs[2]), inputs, 3,
               NULL, 0);
}

/* TensorFlow's other names of the same ops. */
TEST(aliases_are_the_same_ops) {
    const cpu_scope_t *f = *state;
    const gantry_tensor_t *inputs[] = {operand(f, "Div", 0), operand(f, "Div", 1)};
    check_same(f, "Inv", gantry_reciprocal(f->scope, inputs[0]), inputs, 1, NULL, 0);
    check_same(f, "Mod", gantry_truncate_mod(f->scope, inputs[0], inputs[1]), inputs, 2, NULL, 0);
}

int main(void) { return test_main_each(cpu_scope_set_up, cpu_scope_tear_down); }
