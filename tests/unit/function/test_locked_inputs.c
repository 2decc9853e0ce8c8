/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: No kernel of the CPU backend writes into memory of the program, or reads beyond its last
 * element: each op's golden cases have the same bits there, donated, updated and in functions.
 * Promise: Random functions give the bits of their bodies where inputs, variables' values and
 * captured tensors are memory that cannot be written, with all passes, with none and with each. */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */

#include "locked_memory.h"

#define RANDOM_GRAPH_CONSTANT locked_constant
#include "random_graph.h"

#include "golden_cases.h"
#include "op/op_infer.h"
#include "runtime_fixture.h"
#include "sanitized.h"
#include "test.h"

#define MOST_INPUTS 64
#define MOST_OUTPUTS 64

typedef struct sweep_t {
    runtime_fixture_t f;
    const golden_case_t *item;
    const gantry__op_def_t *op;
    gantry_attr_value_t attrs[GOLDEN_MOST_ATTRS];
    size_t attr_count, output_count;
    unsigned char *wanted[MOST_OUTPUTS];
    bool draws; /* each call gives other bits */
    size_t cases, donated, updated, traced;
} sweep_t;

static const gantry_tensor_t *make_input(const sweep_t *s, gantry_scope_t *scope,
                                         locked_constant_fn *make, size_t i) {
    const golden_tensor_t *input = &s->item->inputs[i];
    return make(scope, input->dtype, input->shape, input->data, input->bytes);
}

static gantry_status_t call_op(const sweep_t *s, gantry_scope_t *scope,
                               const gantry_tensor_t *const *inputs,
                               const gantry_tensor_t **outputs, size_t *out_count) {
    return gantry_op_call(scope, s->item->op, inputs, s->item->input_count, s->attrs, s->attr_count,
                          outputs, out_count);
}

static unsigned char *read_bytes(const gantry_tensor_t *tensor) {
    const size_t bytes = gantry_tensor_bytes(tensor);
    unsigned char *data = malloc(bytes + 1);
    assert_non_null(data);
    if (gantry_tensor_read(tensor, data, bytes) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    return data;
}

static void expect_wanted(const sweep_t *s, const char *how, size_t i,
                          const gantry_tensor_t *tensor) {
    unsigned char *got = read_bytes(tensor);
    if (!s->draws && memcmp(got, s->wanted[i], gantry_tensor_bytes(tensor)) != 0)
        fail_msg("%s %s, %s: output %zu has other bits", s->item->op, s->item->name, how, i);
    free(got);
}

/* ---- one call after the other ---- */

/* The bits of Gantry's own memory; false: the case is one that fails. */
static bool call_plain(sweep_t *s) {
    const gantry_tensor_t *inputs[MOST_INPUTS], *outputs[MOST_OUTPUTS];
    gantry_scope_t *scope = runtime_fixture_scope(&s->f, "CPU:0");
    for (size_t i = 0; i < s->item->input_count; ++i)
        inputs[i] = make_input(s, scope, gantry_constant, i);
    s->output_count = MOST_OUTPUTS;
    const bool works = call_op(s, scope, inputs, outputs, &s->output_count) == GANTRY_OK;
    for (size_t i = 0; works && i < s->output_count; ++i) s->wanted[i] = read_bytes(outputs[i]);
    (void)gantry_scope_end(scope);
    return works;
}

static void call_locked(sweep_t *s, bool donates) {
    const gantry_tensor_t *inputs[MOST_INPUTS], *outputs[MOST_OUTPUTS];
    size_t count = MOST_OUTPUTS;
    gantry_scope_t *scope = runtime_fixture_scope(&s->f, "CPU:0");
    for (size_t i = 0; i < s->item->input_count; ++i) {
        inputs[i] = make_input(s, scope, locked_constant, i);
        if (donates) (void)gantry_tensor_donate(scope, inputs[i]);
    }
    if (call_op(s, scope, inputs, outputs, &count) != GANTRY_OK)
        fail_msg("%s: %s", s->item->name, gantry_scope_message(scope));
    for (size_t i = 0; i < count; ++i)
        expect_wanted(s, donates ? "donated" : "locked", i, outputs[i]);
    expect_ended_well(scope);
    s->donated += donates;
}

/* The op's first input becomes its first output. */
static void update_locked(sweep_t *s) {
    const gantry_tensor_t *inputs[MOST_INPUTS];
    gantry_scope_t *scope = runtime_fixture_scope(&s->f, "CPU:0");
    for (size_t i = 0; i < s->item->input_count; ++i)
        inputs[i] = make_input(s, scope, locked_constant, i);
    gantry_tensor_t *value = gantry_tensor_retain(inputs[0]);
    gantry_tensor_drop(scope, inputs[0]);
    if (gantry_op_update(scope, s->item->op, &value, 1, inputs + 1, s->item->input_count - 1,
                         s->attrs, s->attr_count) == GANTRY_OK) {
        expect_wanted(s, "updated", 0, value);
        ++s->updated;
    }
    gantry_tensor_release(value);
    (void)gantry_scope_end(scope); /* some ops update nothing, which is refused */
}

/* ---- functions ---- */

/* Numbers that shapes depend on are constants of the body. */
static bool is_number(const sweep_t *s, size_t i) {
    const gantry__op_arg_t *arg =
        gantry__op_input_arg(s->op, (uint32_t)s->item->input_count, (uint32_t)i);
    return arg && (arg->flags & GANTRY__ARG_HOST);
}

static void op_and_negated(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                           const gantry_tensor_t **outputs, void *user) {
    const sweep_t *s = user;
    const gantry_tensor_t *given[MOST_INPUTS];
    size_t count = s->output_count, next = 0;
    for (size_t i = 0; i < s->item->input_count; ++i)
        given[i] = is_number(s, i) ? make_input(s, scope, locked_constant, i) : inputs[next++];
    if (call_op(s, scope, given, outputs, &count) != GANTRY_OK) return;
    const bool is_float = gantry_tensor_dtype(outputs[0]) == GANTRY_FLOAT32;
    outputs[count] = is_float ? gantry_neg(scope, outputs[0]) : outputs[0];
}

static void call_function(sweep_t *s, gantry_function_t *function) {
    const gantry_tensor_t *inputs[MOST_INPUTS], *outputs[MOST_OUTPUTS + 1];
    size_t given = 0;
    gantry_scope_t *scope = runtime_fixture_scope(&s->f, "CPU:0");
    for (size_t i = 0; i < s->item->input_count; ++i) {
        if (is_number(s, i)) continue;
        inputs[given] = make_input(s, scope, locked_constant, i);
        (void)gantry_tensor_donate(scope, inputs[given++]);
    }
    if (gantry_function_call(scope, function, inputs, given, outputs, s->output_count + 1) !=
        GANTRY_OK)
        fail_msg("%s, in a function: %s", s->item->name, gantry_scope_message(scope));
    for (size_t i = 0; i < s->output_count; ++i) expect_wanted(s, "in a function", i, outputs[i]);
    assert_int_equal(gantry_tensor_wait(outputs[s->output_count]), GANTRY_OK);
    expect_ended_well(scope);
}

static void trace_locked(sweep_t *s) {
    gantry_input_spec_t specs[MOST_INPUTS];
    gantry_function_t *function;
    size_t given = 0;
    for (size_t i = 0; i < s->item->input_count; ++i) {
        const golden_tensor_t *input = &s->item->inputs[i];
        if (!is_number(s, i))
            specs[given++] = (gantry_input_spec_t){NULL, input->dtype, input->shape};
    }
    if (gantry_function_trace(s->f.runtime, "locked", op_and_negated, s, specs, given,
                              s->output_count + 1, NULL, &function) != GANTRY_OK)
        return; /* an op that functions do not have */
    for (int call = 0; call < 2; ++call) call_function(s, function);
    gantry_function_release(function);
    ++s->traced;
}

/* ---- all cases ---- */

static bool has_locked_updates(const sweep_t *s) {
    const golden_case_t *item = s->item;
    return item->input_count > 0 && item->output_count > 0 &&
           item->inputs[0].dtype == item->outputs[0].dtype &&
           gantry_shape_equal(&item->inputs[0].shape, &item->outputs[0].shape);
}

static void check_case(sweep_t *s) {
    if (!call_plain(s)) return;
    ++s->cases;
    call_locked(s, false);
    call_locked(s, true);
    if (has_locked_updates(s)) update_locked(s);
    trace_locked(s);
    for (size_t i = 0; i < s->output_count; ++i) free(s->wanted[i]);
    if (atomic_load(&locked_live) != 0)
        fail_msg("%s: %d memories were not released", s->item->name, atomic_load(&locked_live));
}

static void check_file(const golden_file_t *file, void *user) {
    sweep_t *s = user;
    for (size_t n = 0; n < file->case_count; ++n) {
        s->item = &file->cases[n];
        s->op = gantry__op_find(s->item->op);
        if (!s->op || s->item->error_status != GANTRY_OK) continue;
        assert_true(s->item->input_count <= MOST_INPUTS && s->item->output_count <= MOST_OUTPUTS);
        s->draws = false;
        for (uint32_t i = 0; i < s->op->attr_count; ++i)
            s->draws |= strcmp(s->op->attrs[i].name, "seed2") == 0;
        s->attr_count = golden_attr_values(s->item, s->attrs);
        check_case(s);
    }
}

TEST(kernels_leave_locked_memory_as_it_is) {
    static sweep_t s; /* large */
    runtime_fixture_open(&s.f, 0);
    assert_true(golden_each_file(check_file, &s) > 200);
    print_message("%zu cases: %zu donated, %zu updated, %zu traced\n", s.cases, s.donated,
                  s.updated, s.traced);
    runtime_fixture_close(&s.f);
}

/* ---- random functions ---- */

static void check_graphs(uint32_t gpus, uint64_t count) {
    runtime_fixture_t f;
    uint64_t recomputed = 0;
    runtime_fixture_open(&f, gpus);
    for (uint64_t number = 1; number <= count; ++number)
        (void)random_graph_check(f.runtime, number, false, &recomputed);
    runtime_fixture_close(&f);
    assert_int_equal(atomic_load(&locked_live), 0);
}

TEST(random_functions_leave_locked_memory_as_it_is) {
    check_graphs(0, FEWER_FOR_SANITIZERS(40, 6));
    check_graphs(1, FEWER_FOR_SANITIZERS(20, 3));
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
