/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An op may have as many outputs as one of its attributes says.
 *
 * The op is the test's own; its kernel is the fake backend's (fake_test_ops.c). */
#define _XOPEN_SOURCE 700

#include "runtime_fixture.h"
#include "test.h"

#include "op/op_infer.h"
#include "run/eager.h"

static gantry_status_t infer_copies(gantry__infer_t *call) {
    for (uint32_t k = 0; k < call->output_count; ++k) call->out_shapes[k] = *call->shapes[0];
    return GANTRY_OK;
}

static const gantry__op_def_t copies = {
    .name = "TestCopies",
    .input_count = 1,
    .output_count = 1,
    .attr_count = 2,
    .inputs = (const gantry__op_arg_t[]){{"x", 0, 0}, {"y", 0, GANTRY__ARG_LIST}},
    .attrs =
        (const gantry__op_attr_t[]){
            {.name = "T", .kind = GANTRY_ATTR_TYPE, .dtype_mask = ~UINT64_C(0)},
            {.name = "num", .kind = GANTRY_ATTR_INT, .required = true, .counts_outputs = true}},
    .infer = infer_copies,
    .id = GANTRY__OP_COUNT,
};

static gantry_status_t run_copies(gantry_scope_t *scope, const gantry_tensor_t *x, int64_t num,
                                  const gantry_tensor_t **outputs, size_t *count) {
    const gantry_attr_value_t attr = {.name = "num", .kind = GANTRY_ATTR_INT, .i = num};
    return gantry__run_op(scope,
                          &(gantry__op_request_t){.op = &copies,
                                                  .inputs = &x,
                                                  .input_count = 1,
                                                  .attrs = &attr,
                                                  .attr_count = 1,
                                                  .outputs = outputs,
                                                  .room = *count},
                          count);
}

TEST(attribute_counts_the_outputs) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2), *out[GANTRY_MAX_OP_OUTPUTS];
    static const size_t counts[] = {1, 3, 4, 5, GANTRY_MAX_OP_OUTPUTS};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; ++i) {
        size_t count = GANTRY_MAX_OP_OUTPUTS;
        assert_int_equal(run_copies(scope, x, (int64_t)counts[i], out, &count), GANTRY_OK);
        assert_int_equal(count, counts[i]);
        for (size_t k = 0; k < count; ++k) EXPECT_F32(out[k], 1, 2);
        for (size_t k = count; k < GANTRY_MAX_OP_OUTPUTS; ++k) assert_null(out[k]);
    }
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(no_output_at_all_is_possible) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *out = NULL;
    size_t count = 1;
    assert_int_equal(run_copies(scope, F32(scope, 1), 0, &out, &count), GANTRY_OK);
    assert_int_equal(count, 0);
    assert_null(out);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

static void expect_refused(gantry_scope_t *scope, const gantry_tensor_t *x, int64_t num,
                           size_t room, const char *text) {
    const gantry_tensor_t *out[GANTRY_MAX_OP_OUTPUTS];
    size_t count = room;
    for (size_t k = 0; k < GANTRY_MAX_OP_OUTPUTS; ++k) out[k] = x;
    assert_int_equal(run_copies(scope, x, num, out, &count), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(count, 0);
    for (size_t k = 0; k < GANTRY_MAX_OP_OUTPUTS; ++k)
        assert_ptr_equal(out[k], k < room ? NULL : x);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, text);
}

TEST(wrong_number_is_refused) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *x = F32(scope, 1, 2);
    expect_refused(scope, x, 3, 2, "op TestCopies has 3 outputs; room for 2 is given");
    expect_refused(scope, x, -1, 4, "attribute 'num' is -1; 0 to 64 outputs are accepted");
    expect_refused(scope, x, 65, GANTRY_MAX_OP_OUTPUTS, "attribute 'num' is 65");
    const gantry_tensor_t *out;
    const gantry__op_request_t without_num = {
        .op = &copies, .inputs = &x, .input_count = 1, .outputs = &out, .room = 1};
    assert_int_equal(gantry__run_op(scope, &without_num, NULL), GANTRY_INVALID_ARGUMENT);
    expect_scope_failure(scope, GANTRY_INVALID_ARGUMENT, "attribute 'num' (int) must be given");
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(failure_at_any_output_leaves_nothing_behind) {
    bool reached = true;
    for (uint64_t n = 1; reached; ++n) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 1);
        gantry_scope_t *scope = runtime_fixture_scope(&f, "GPU:0");
        const gantry_tensor_t *x = F32(scope, 1, 2), *out[3];
        size_t count = 3;
        assert_true(fake->fail_calls("copy", n, 1, GANTRY_INTERNAL, "injected here"));
        gantry_status_t status = run_copies(scope, x, 3, out, &count);
        reached = status != GANTRY_OK;
        if (reached) expect_scope_failure(scope, GANTRY_INTERNAL, "injected here");
        assert_int_equal(count, reached ? 0 : 3);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
        fake->reset();
        assert_true(n <= 4);
    }
}

int main(int argc, char **argv) {
    /* an argument runs one test: the leftovers of a failed test fail the next ones */
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
