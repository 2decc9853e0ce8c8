/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An op may write its result into a donated tensor's memory, and must not if that memory
 * is still used elsewhere. */
#define _XOPEN_SOURCE 700

#include "device/buffer.h"
#include "runtime_fixture.h"
#include "test.h"

#include "run/scope_state.h"

#define COUNT 1024 /* elements: more than a tensor's object can hold */

typedef struct test_t {
    runtime_fixture_t f;
    gantry_scope_t *scope;
    const gantry_tensor_t *x, *y;
    uint64_t place; /* of x */
} test_t;

static uint64_t place_of(const gantry_tensor_t *tensor) {
    assert_non_null(tensor);
    assert_non_null(tensor->buffer);
    return tensor->buffer->span.region + tensor->buffer->span.offset_bytes + tensor->offset_bytes;
}

static const gantry_tensor_t *make_steps(gantry_scope_t *scope, float step) {
    static float values[COUNT];
    for (int i = 0; i < COUNT; ++i) values[i] = (float)i * step;
    const gantry_tensor_t *tensor = make_f32(scope, COUNT, values);
    if (!tensor) fail_msg("%s", gantry_scope_message(scope));
    return tensor;
}

static void expect_steps(const gantry_tensor_t *tensor, float step) {
    static float got[COUNT];
    if (gantry_tensor_read(tensor, got, sizeof got) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    for (int i = 0; i < COUNT; ++i) {
        float wanted = (float)i * step;
        if (got[i] < wanted || got[i] > wanted)
            fail_msg("element %d is %g, not %g", i, (double)got[i], (double)wanted);
    }
}

static void begin(test_t *t, const char *device) {
    runtime_fixture_open(&t->f, 1);
    t->scope = runtime_fixture_scope(&t->f, device);
    t->x = make_steps(t->scope, 1);
    t->y = make_steps(t->scope, 2);
    t->place = place_of(t->x);
}

static void end(test_t *t) {
    expect_ended_well(t->scope);
    runtime_fixture_close(&t->f);
}

static int tensors_of(const gantry_scope_t *scope) {
    int count = 0;
    for (const gantry_tensor_t *at = scope->tensors; at; at = at->next) ++count;
    return count;
}

TEST(donated_operand_is_where_the_result_is_made) {
    static const char *const devices[] = {"CPU:0", "GPU:0"};
    for (int i = 0; i < 2; ++i) {
        test_t t;
        begin(&t, devices[i]);
        const gantry_tensor_t *sum = gantry_add(t.scope, gantry_tensor_donate(t.scope, t.x), t.y);
        assert_true(place_of(sum) == t.place);
        const gantry_tensor_t *difference =
            gantry_sub(t.scope, t.y, gantry_tensor_donate(t.scope, sum));
        assert_true(place_of(difference) == t.place);
        expect_steps(difference, -1);
        expect_steps(t.y, 2);
        assert_int_equal(tensors_of(t.scope), 2);
        end(&t);
    }
}

TEST(donated_square_is_made_in_place) {
    test_t t;
    begin(&t, "CPU:0");
    (void)gantry_tensor_donate(t.scope, t.x);
    const gantry_tensor_t *doubled = gantry_add(t.scope, t.x, t.x);
    assert_true(place_of(doubled) == t.place);
    expect_steps(doubled, 2);
    end(&t);
}

TEST(donated_operand_of_another_type_of_that_size_serves) {
    test_t t;
    begin(&t, "CPU:0");
    static uint8_t bytes[COUNT];
    const gantry_tensor_t *small =
        gantry_constant(t.scope, GANTRY_UINT8, GANTRY_SHAPE(COUNT), bytes, sizeof bytes);
    const uint64_t place = place_of(small);
    const gantry_tensor_t *equal =
        gantry_equal(t.scope, gantry_tensor_donate(t.scope, small), small);
    assert_int_equal(gantry_tensor_dtype(equal), GANTRY_BOOL);
    assert_true(place_of(equal) == place);
    bool got[COUNT];
    assert_int_equal(gantry_tensor_read(equal, got, sizeof got), GANTRY_OK);
    for (int i = 0; i < COUNT; ++i) assert_true(got[i]);
    end(&t);
}

TEST(donated_tensor_that_somebody_holds_keeps_its_elements) {
    test_t t;
    begin(&t, "CPU:0");
    gantry_tensor_t *held = gantry_tensor_retain(t.x);
    const gantry_tensor_t *sum = gantry_add(t.scope, gantry_tensor_donate(t.scope, t.x), t.y);
    assert_true(place_of(sum) != t.place);
    expect_steps(held, 1);
    expect_steps(sum, 3);
    gantry_tensor_release(held);
    end(&t);
}

TEST(donated_tensor_with_an_alias_keeps_its_elements) {
    test_t t;
    begin(&t, "CPU:0");
    const gantry_tensor_t *alias = gantry_reshape(t.scope, t.x, GANTRY_SHAPE(COUNT / 2, 2));
    assert_true(place_of(alias) == t.place);
    const gantry_tensor_t *sum = gantry_add(t.scope, gantry_tensor_donate(t.scope, t.x), t.y);
    assert_true(place_of(sum) != t.place);
    expect_steps(alias, 1);
    end(&t);
}

/* After the tensor's donation, its alias is the only owner. */
TEST(donated_alias_of_a_donated_tensor_is_made_in_place) {
    test_t t;
    begin(&t, "CPU:0");
    const gantry_tensor_t *alias =
        gantry_reshape(t.scope, gantry_tensor_donate(t.scope, t.x), GANTRY_SHAPE(COUNT));
    const gantry_tensor_t *sum = gantry_add(t.scope, gantry_tensor_donate(t.scope, alias), t.y);
    assert_true(place_of(sum) == t.place);
    expect_steps(sum, 3);
    end(&t);
}

TEST(donated_operand_smaller_than_the_result_only_ends) {
    test_t t;
    begin(&t, "CPU:0");
    const gantry_tensor_t *column = gantry_reshape(t.scope, t.y, GANTRY_SHAPE(COUNT, 1));
    const gantry_tensor_t *table = gantry_add(t.scope, gantry_tensor_donate(t.scope, t.x), column);
    assert_int_equal(gantry_tensor_elements(table), COUNT * COUNT);
    assert_true(place_of(table) != t.place);
    assert_int_equal(tensors_of(t.scope), 3);
    end(&t);
}

/* An op that reads its input more than once, or at other positions than it writes. */
TEST(donated_operand_of_another_kind_of_op_only_ends) {
    test_t t;
    begin(&t, "CPU:0");
    const gantry_tensor_t *sums =
        gantry_cumsum(t.scope, gantry_tensor_donate(t.scope, t.x), 0, NULL);
    assert_true(place_of(sums) != t.place);
    assert_int_equal(tensors_of(t.scope), 2);
    end(&t);
}

TEST(donated_tensor_of_another_device_ends_with_the_op) {
    test_t t;
    begin(&t, "CPU:0");
    gantry_scope_t *gpu = runtime_fixture_scope(&t.f, "GPU:0");
    const gantry_tensor_t *z = make_steps(gpu, 4);
    const gantry_tensor_t *sum = gantry_add(t.scope, gantry_tensor_donate(t.scope, t.x), z);
    expect_steps(sum, 5);
    assert_int_equal(tensors_of(t.scope), 2);
    expect_ended_well(gpu);
    end(&t);
}

TEST(tensor_of_another_scope_is_not_donated) {
    test_t t;
    begin(&t, "CPU:0");
    gantry_scope_t *foreign = runtime_fixture_scope(&t.f, "CPU:0");
    assert_ptr_equal(gantry_tensor_donate(foreign, t.x), t.x);
    const gantry_tensor_t *sum = gantry_add(foreign, t.x, t.y);
    assert_true(place_of(sum) != t.place);
    expect_steps(t.x, 1);
    assert_null(gantry_tensor_donate(foreign, NULL));
    assert_ptr_equal(gantry_tensor_donate(NULL, t.x), t.x);
    expect_ended_well(foreign);
    end(&t);
}

TEST(donated_tensor_that_is_kept_or_dropped_is_no_gift_any_more) {
    test_t t;
    begin(&t, "CPU:0");
    gantry_scope_t *inner = gantry_scope_begin_in(t.scope, NULL);
    const gantry_tensor_t *kept = make_steps(inner, 8), *dropped = make_steps(inner, 9);
    (void)gantry_tensor_donate(inner, kept);
    (void)gantry_tensor_donate(inner, dropped);
    assert_ptr_equal(gantry_scope_keep(inner, kept), kept);
    gantry_tensor_drop(inner, dropped);
    assert_int_equal(inner->donated_count, 0);
    const gantry_tensor_t *sum = gantry_add(inner, kept, t.x);
    assert_true(place_of(sum) != place_of(kept));
    expect_steps(kept, 8);
    expect_ended_well(inner);
    end(&t);
}

TEST(donated_operand_ends_with_an_op_that_fails) {
    test_t t;
    begin(&t, "CPU:0");
    (void)gantry_tensor_donate(t.scope, t.x);
    assert_null(gantry_add(t.scope, t.x, F32(t.scope, 1, 2, 3)));
    expect_scope_failure(t.scope, GANTRY_INVALID_ARGUMENT, "Add");
    assert_int_equal(tensors_of(t.scope), 2);
    end(&t);
}

/* The parts of composed ops reuse each other's memory; the program's own tensors stay. */
TEST(composed_op_leaves_its_inputs_alone) {
    test_t t;
    begin(&t, "CPU:0");
    const gantry_tensor_t *y = gantry_var(t.scope, t.x, NULL);
    assert_non_null(y);
    expect_steps(t.x, 1);
    end(&t);
}

TEST(each_allocation_that_fails_loses_nothing) {
    test_t t;
    begin(&t, "GPU:0");
    bool well = false;
    for (int n = 0; !well && n < 50; ++n) {
        const gantry_tensor_t *given = make_steps(t.scope, 1);
        (void)gantry_tensor_donate(t.scope, given);
        t.f.heap.inner.calls = 0;
        t.f.heap.inner.fail_at = n;
        const gantry_tensor_t *sum = gantry_add(t.scope, given, t.y);
        t.f.heap.inner.fail_at = -1;
        well = sum != NULL;
        if (well)
            expect_steps(sum, 3);
        else
            expect_scope_failure(t.scope, GANTRY_RESOURCE_EXHAUSTED, "");
        assert_int_equal(tensors_of(t.scope), well ? 3 : 2);
    }
    assert_true(well);
    end(&t);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
