/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: In a function, the gradient of a max pool takes in that of the Relu before it, with the
 * bits of the ops run one by one and in the memory of the Relu's output.
 *
 * A pool has the same bits in both layouts. */
#define _XOPEN_SOURCE 700

#include "pool_gradient_case.h"
#include "test.h"

#include "function_fixture.h"

TEST(joined_gradients_have_the_ops_bits) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    pool_gradient_check_all(f.runtime, "/CPU:0");
    runtime_fixture_close(&f);
}

/* The block of the function holds the Relu's output or the gradient in its memory, and the pool's
 * output, its reverse and its gradient. */
TEST(joined_gradient_lies_in_the_relus_memory) {
    runtime_fixture_t f;
    gantry_function_memory_t memory = {.struct_size = sizeof memory};
    size_t count;
    runtime_fixture_open(&f, 0);
    for (size_t i = 0; i < 3; ++i) {
        const pool_gradient_case_t *c = &pool_gradient_cases[i];
        const gantry_shape_t shape = pool_gradient_shape(c);
        const uint64_t bytes =
            (uint64_t)gantry_shape_elements(&shape) * gantry_dtype_size(c->dtype);
        gantry_function_t *function = pool_gradient_trace(f.runtime, c, 0);
        assert_int_equal(gantry_function_get_memory(function, 1, &memory, &count), GANTRY_OK);
        if (memory.planned_bytes >= 2 * bytes)
            fail_msg("%s: %llu bytes", c->name, (unsigned long long)memory.planned_bytes);
        gantry_function_release(function);
    }
    runtime_fixture_close(&f);
}

/* Channels last, and few elements: another loop than that of single channels. */
TEST(layouts_of_a_pool_have_the_same_bits) {
    static const int32_t to_first[] = {0, 3, 1, 2};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    for (size_t i = 0; i < sizeof pool_gradient_cases / sizeof pool_gradient_cases[0]; ++i) {
        const pool_gradient_case_t *c = &pool_gradient_cases[i];
        pool_gradient_case_t planes = *c;
        if (strcmp(c->layout, "NHWC") != 0) continue;
        planes.layout = "NCHW";
        for (int d = 0; d < 4; ++d) {
            planes.size[d] = c->size[to_first[d]];
            planes.step[d] = c->step[to_first[d]];
        }
        const gantry_tensor_t *x = pool_gradient_input(scope, c);
        const gantry_tensor_t *turned = gantry_transpose(scope, x, to_first);
        const gantry_tensor_t *y = pool_gradient_op(c, scope, "MaxPool", &x, 1);
        pool_gradient_expect_same(c, "in the other layout", gantry_transpose(scope, y, to_first),
                                  pool_gradient_op(&planes, scope, "MaxPool", &turned, 1));
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, NULL); }
