/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Each allocation that fails while a graph is made, traced, called or described is
 * ResourceExhausted, and leaves nothing; after it the same graph takes the node. */
#define _XOPEN_SOURCE 700

#include "graph_case.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

#define TRY(call)                                 \
    do {                                          \
        const gantry_status_t status_ = (call);   \
        if (status_ != GANTRY_OK) return status_; \
    } while (0)

typedef struct made_t {
    gantry_graph_t *graph, *described;
    gantry_function_t *function, *outer, *again;
    gantry_scope_t *scope;
} made_t;

static gantry_status_t add_op(gantry_graph_t *graph, const char *op, const char *name,
                              const gantry_graph_value_t *inputs, size_t count,
                              gantry_graph_value_t *out) {
    const gantry_graph_node_t node = graph_case_node(op, name, inputs, count);
    size_t outputs = 1;
    return gantry_graph_add_node(graph, &node, out, &outputs);
}

/* x < w ? x + w : loop of x + x below w; the variable is assigned, too. */
static gantry_status_t fill(gantry_graph_t *graph, tensor *w_tensor, gantry_variable_t *variable) {
    gantry_graph_value_t x, w, v, is_less, given, at, out, last;
    gantry_graph_t *two[2], *loop[2];
    TRY(gantry_graph_add_input(graph, &(gantry_input_spec_t){"x", GANTRY_FLOAT32, GANTRY_SCALAR},
                               &x));
    TRY(gantry_graph_add_constant(graph, "w", w_tensor, &w));
    TRY(gantry_graph_add_read(graph, "v", variable, &v));
    TRY(gantry_graph_add_assign(graph, NULL, variable, GANTRY_ASSIGN_ADD, x));
    TRY(add_op(graph, "Less", "is_less", GRAPH_VALUES(x, w), &is_less));
    TRY(gantry_graph_add_subgraph(graph, "yes", &two[0]));
    TRY(gantry_graph_add_subgraph(graph, "no", &two[1]));
    TRY(add_op(two[0], "Add", NULL, GRAPH_VALUES(x, w), &out));
    TRY(gantry_graph_add_output(two[0], NULL, out));
    TRY(gantry_graph_add_subgraph(two[1], NULL, &loop[0]));
    TRY(gantry_graph_add_subgraph(two[1], NULL, &loop[1]));
    TRY(gantry_graph_add_input(loop[0], &(gantry_input_spec_t){.name = "at"}, &at));
    TRY(add_op(loop[0], "Less", NULL, GRAPH_VALUES(at, w), &out));
    TRY(gantry_graph_add_output(loop[0], NULL, out));
    TRY(gantry_graph_add_input(loop[1], &(gantry_input_spec_t){.name = "given"}, &given));
    TRY(add_op(loop[1], "Add", NULL, GRAPH_VALUES(given, given), &out));
    TRY(gantry_graph_add_output(loop[1], NULL, out));
    gantry_graph_node_t node = graph_case_node(NULL, NULL, &x, 1);
    TRY(gantry_graph_add_while(two[1], &node, loop[0], loop[1], 0, &last));
    TRY(gantry_graph_add_output(two[1], NULL, last));
    node = graph_case_node(NULL, "choice", &is_less, 1);
    node.device = "/CPU:0";
    node.controls = node.colocated = &v;
    node.control_count = node.colocated_count = 1;
    TRY(gantry_graph_add_case(graph, &node, two, 2, &out, 1));
    TRY(gantry_graph_add_output(graph, "out", out));
    TRY(gantry_graph_set_metadata(graph, "key", "text"));
    return gantry_graph_set_metadata(graph, "key", "another");
}

static void call_inner(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    (void)gantry_function_call(scope, user, inputs, 1, outputs, 1);
}

static gantry_status_t do_all(runtime_fixture_t *f, made_t *made, tensor *w,
                              gantry_variable_t *variable) {
    static const char *const names[] = {"result"};
    const gantry_input_spec_t spec = {"x", GANTRY_FLOAT32, {.rank = 0}};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .output_names = names};
    tensor *x, *out;
    float value;
    TRY(gantry_graph_create(f->runtime, "graph", &made->graph));
    TRY(fill(made->graph, w, variable));
    TRY(gantry_function_from_graph(made->graph, NULL, &made->function));
    TRY(gantry_function_trace(f->runtime, "outer", call_inner, made->function, &spec, 1, 1,
                              &options, &made->outer));
    TRY(gantry_function_get_graph(made->outer, &made->described));
    TRY(gantry_function_from_graph(made->described, NULL, &made->again));
    made->scope = gantry_scope_begin(f->runtime, NULL);
    if (!made->scope) return GANTRY_RESOURCE_EXHAUSTED;
    x = gantry_scalar_f32(made->scope, 3);
    TRY(gantry_function_call(made->scope, made->again, &x, 1, &out, 1));
    TRY(gantry_tensor_read(out, &value, sizeof value));
    assert_true(value == 13);
    return GANTRY_OK;
}

static void release_all(made_t *made) {
    if (made->scope) {
        gantry_scope_clear(made->scope);
        (void)gantry_scope_end(made->scope);
    }
    gantry_function_release(made->again);
    gantry_graph_release(made->described);
    gantry_function_release(made->outer);
    gantry_function_release(made->function);
    gantry_graph_release(made->graph);
}

TEST(each_allocation_that_fails_leaves_nothing) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    tensor *w = gantry_scalar_f32(scope, 10);
    gantry_variable_t *variable = gantry_variable_create(scope, w, "v");
    made_t first = {NULL};
    graph_expect_ok(do_all(&f, &first, w, variable)); /* what is made once is there */
    release_all(&first);
    bool is_over = false;
    uint32_t refused = 0;
    for (long n = 0; !is_over; ++n) {
        made_t made = {NULL};
        f.heap.inner.calls = 0;
        f.heap.inner.fail_at = n;
        const gantry_status_t status = do_all(&f, &made, w, variable);
        is_over = f.heap.inner.calls <= n;
        f.heap.inner.fail_at = -1;
        if (status != GANTRY_OK) {
            ++refused;
            if (status != GANTRY_RESOURCE_EXHAUSTED)
                fail_msg("allocation %ld: %s", n, gantry_last_message());
        }
        release_all(&made);
    }
    print_message("%u allocations were refused\n", refused);
    assert_true(refused > 100);
    gantry_variable_release(variable);
    expect_ended_well(scope);
    runtime_fixture_close(&f); /* nothing leaked */
}

/* A node that found no memory is added by the next call. */
TEST(graph_goes_on_after_a_failure) {
    runtime_fixture_t f;
    gantry_graph_t *graph = graph_case_begin(&f, NULL);
    gantry_graph_value_t x = graph_case_input(graph, "x", GANTRY_SHAPE(2));
    for (size_t i = 0; i < 100; ++i) {
        const gantry_graph_node_t node = graph_case_node("Neg", "n", &x, 1);
        gantry_status_t status = GANTRY_RESOURCE_EXHAUSTED;
        for (long n = 0; status != GANTRY_OK; ++n) {
            size_t count = 1;
            f.heap.inner.calls = 0;
            f.heap.inner.fail_at = n;
            status = gantry_graph_add_node(graph, &node, &x, &count);
            f.heap.inner.fail_at = -1;
        }
        assert_int_equal(gantry_graph_node_count(graph), i + 2);
    }
    graph_case_output(graph, NULL, x);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_function_t *function = graph_case_function(graph, false);
    tensor *in = F32(scope, 1, 2), *out;
    graph_expect_ok(gantry_function_call(scope, function, &in, 1, &out, 1));
    EXPECT_F32(out, 1, 2);
    gantry_function_release(function);
    gantry_graph_release(graph);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
