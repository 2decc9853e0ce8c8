/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A clone computes what its function computes, with inputs that it got once, on the device
 * that it was made for, whatever is released meanwhile.
 * Promise: An input that is bound, in a clone or at the trace, is copied to a device once and not
 * in each call; the other inputs keep their order.
 * Promise: The device of a clone is the request of nodes that have none, and with replaces_devices
 * of all nodes, in branches and eager bodies, too.
 * Promise: The graph of a clone, and the file to which it is saved, have what is bound.
 * Promise: A clone that is not possible is refused with the entry, its value and what is accepted;
 * without memory it fails, and leaks nothing. */
#define _XOPEN_SOURCE 700

#include "function_fixture.h"
#include "test.h"

/* ---- bodies ---- */

/* y = a x + b, and x */
static void line(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t **outputs, void *user) {
    int *calls = user;
    if (calls) ++*calls;
    gantry_scope_name_next(scope, "product");
    outputs[0] = gantry_add(scope, gantry_mul(scope, inputs[0], inputs[1]), inputs[2]);
    outputs[1] = gantry_neg(scope, inputs[1]);
}

static const gantry_input_spec_t specs[] = {{"a", GANTRY_FLOAT32, {.rank = 1, .dims = {2}}},
                                            {"x", GANTRY_FLOAT32, {.rank = 1, .dims = {2}}},
                                            {"b", GANTRY_FLOAT32, {.rank = 1, .dims = {2}}}};

static gantry_function_t *trace_line(runtime_fixture_t *f, int *calls,
                                     const gantry_function_options_t *options) {
    return function_fixture_trace(f->runtime, line, calls, specs, 3, 2, options);
}

static gantry_function_t *clone_with(gantry_function_t *function,
                                     const gantry_clone_options_t *options) {
    gantry_function_t *clone;
    if (gantry_function_clone(function, options, &clone) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return clone;
}

static gantry_function_t *clone_bound(gantry_function_t *function,
                                      const gantry_bound_input_t *bound, uint32_t count) {
    return clone_with(
        function,
        &(gantry_clone_options_t){
            .struct_size = sizeof(gantry_clone_options_t), .bound = bound, .bound_count = count});
}

static gantry_function_t *clone_on(gantry_function_t *function, const char *device, bool all) {
    return clone_with(function,
                      &(gantry_clone_options_t){.struct_size = sizeof(gantry_clone_options_t),
                                                .device = device,
                                                .replaces_devices = all});
}

/* ---- bound inputs ---- */

static void check_bound(const char *device, bool is_eager) {
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .runs_eagerly = is_eager};
    const gantry_tensor_t *y[2], *z[2];
    int calls = 0;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, device);
    gantry_function_t *function = trace_line(&f, &calls, &options);
    const gantry_tensor_t *a = F32(scope, 2, 3), *x = F32(scope, 10, 20), *b = F32(scope, 1, 1);
    gantry_function_t *some = clone_bound(
                          function, (const gantry_bound_input_t[]){{NULL, 0, a}, {"b", 9, b}}, 2),
                      *more = clone_bound(function, (const gantry_bound_input_t[]){{"x", 0, x}}, 1),
                      *all = clone_bound(
                          more, (const gantry_bound_input_t[]){{NULL, 1, b}, {NULL, 0, a}}, 2),
                      *same = clone_with(more, NULL);
    gantry_function_release(function); /* the clones hold it */
    gantry_function_release(more);
    function_fixture_call(scope, some, &x, 1, y, 2);
    EXPECT_F32(y[0], 21, 61);
    EXPECT_F32(y[1], -10, -20);
    function_fixture_call(scope, all, NULL, 0, y, 2);
    EXPECT_F32(y[0], 21, 61);
    gantry_tensor_drop(scope, x);
    function_fixture_call(scope, same, (const gantry_tensor_t *[]){a, b}, 2, z, 2);
    EXPECT_F32(z[0], 21, 61);
    expect_on(z[0], device);
    assert_string_equal(gantry_function_name(all), "f");
    if (!is_eager) assert_in_range(calls, 5, 10); /* bodies run when they are traced */
    gantry_function_release(some);
    gantry_function_release(all);
    gantry_function_release(same);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(bound_inputs_are_not_passed) {
    check_bound("/device:CPU:0", false);
    check_bound("/device:CPU:0", true);
    check_bound("/device:GPU:0", false);
    check_bound("/device:GPU:0", true);
}

TEST(a_trace_may_bind_inputs) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_bound_input_t bound[] = {{"b", 0, F32(scope, 1, 1)}, {NULL, 0, F32(scope, 2, 3)}};
    const gantry_function_options_t options = {
        .struct_size = sizeof options, .bound = bound, .bound_count = 2};
    gantry_function_t *function = trace_line(&f, NULL, &options);
    const gantry_tensor_t *x = F32(scope, 10, 20), *y[2];
    function_fixture_call(scope, function, &x, 1, y, 2);
    EXPECT_F32(y[0], 21, 61);
    gantry_function_t *all =
        clone_bound(function, (const gantry_bound_input_t[]){{"x", 0, F32(scope, 1, 2)}}, 1);
    gantry_function_release(function);
    function_fixture_call(scope, all, NULL, 0, y, 2);
    EXPECT_F32(y[0], 3, 7);
    gantry_function_release(all);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(a_bound_input_is_copied_once) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *host = runtime_fixture_scope(&f, "CPU:0"),
                   *scope = runtime_fixture_scope(&f, "GPU:0");
    const gantry_tensor_t *a = F32(host, 2, 3), *b = F32(host, 1, 1), *x = F32(scope, 10, 20),
                          *all[] = {a, x, b}, *y[2];
    gantry_function_t *function = trace_line(&f, NULL, NULL),
                      *clone = clone_bound(
                          function, (const gantry_bound_input_t[]){{"a", 0, a}, {"b", 0, b}}, 2);
    function_fixture_call(scope, clone, &x, 1, y, 2);
    EXPECT_F32(y[0], 21, 61);
    uint64_t before = fake->calls("to_device");
    for (int i = 0; i < 5; ++i) function_fixture_call(scope, clone, &x, 1, y, 2);
    assert_int_equal(fake->calls("to_device"), before);
    EXPECT_F32(y[0], 21, 61);
    function_fixture_call(scope, function, all, 3, y, 2);
    before = fake->calls("to_device");
    for (int i = 0; i < 5; ++i) function_fixture_call(scope, function, all, 3, y, 2);
    assert_int_equal(fake->calls("to_device"), before + 10); /* those that are passed are */
    gantry_function_release(clone);
    gantry_function_release(function);
    expect_ended_well(scope);
    expect_ended_well(host);
    runtime_fixture_close(&f);
}

/* Sizes that the signature leaves open are those of the value. */
static void summing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    int64_t *size = user;
    *size = gantry_tensor_elements(inputs[0]);
    outputs[0] = gantry_sum(scope, gantry_mul(scope, inputs[0], inputs[1]), NULL);
}

TEST(a_bound_input_has_known_sizes) {
    const gantry_input_spec_t open[] = {SPEC_F32(GANTRY_OPEN_SIZE), SPEC_F32(-1)};
    int64_t size = 0;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, summing, &size, open, 2, 1, NULL);
    const gantry_tensor_t *x = F32(scope, 1, 2, 3), *y;
    gantry_function_t *clone =
        clone_bound(function, (const gantry_bound_input_t[]){{NULL, 0, x}}, 1);
    function_fixture_call(scope, clone, &x, 1, &y, 1);
    EXPECT_F32(y, 14);
    assert_int_equal(size, 3);
    gantry_function_release(clone);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- explanations, memory ---- */

static void expect_explained(gantry_function_t *function, const char *text, bool is_there) {
    char got[4096];
    assert_int_equal(gantry_function_explain(function, GANTRY_EXPLAIN_TEXT, got, sizeof got, NULL),
                     GANTRY_OK);
    if ((strstr(got, text) != NULL) != is_there) fail_msg("%s: %s", text, got);
}

TEST(an_explanation_names_bound_inputs) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 1);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_function_t *function = trace_line(&f, NULL, NULL);
    const gantry_bound_input_t bound = {"a", 0, F32(scope, 2, 3)};
    gantry_function_t *clone = clone_with(
        function, &(gantry_clone_options_t){.struct_size = sizeof(gantry_clone_options_t),
                                            .name = "bound line",
                                            .device = "GPU:0",
                                            .bound = &bound,
                                            .bound_count = 1});
    assert_string_equal(gantry_function_name(clone), "bound line");
    expect_explained(clone, "function bound line: ", true);
    expect_explained(clone, "\na        Const     float32[2]  GPU:0", true);
    expect_explained(clone, "\nx        argument  float32[2]", true);
    expect_explained(function, "\na        argument", true);
    gantry_function_release(clone);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* Values that need a block of memory. */
static void wide(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] =
        gantry_sum(scope, gantry_neg(scope, gantry_add(scope, inputs[0], inputs[0])), NULL);
}

TEST(a_clone_is_trimmed_by_itself) {
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = GANTRY_PASS_ALL};
    const gantry_input_spec_t input = SPEC_F32(200);
    float values[200] = {1};
    uint64_t bytes;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, wide, NULL, &input, 1, 1, &options);
    gantry_function_t *clone = clone_with(function, NULL);
    const gantry_tensor_t *x = make_f32(scope, 200, values), *y;
    function_fixture_call(scope, function, &x, 1, &y, 1);
    function_fixture_call(scope, clone, &x, 1, &y, 1);
    EXPECT_F32(y, -2);
    assert_int_equal(gantry_function_trim(function, &bytes), GANTRY_OK);
    assert_true(bytes > 0);
    assert_int_equal(gantry_function_trim(clone, &bytes), GANTRY_OK);
    assert_true(bytes > 0);
    assert_int_equal(gantry_function_trim(clone, &bytes), GANTRY_OK);
    assert_int_equal(bytes, 0);
    gantry_function_release(clone);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- life ---- */

static void note_end(void *data) { ++*(int *)data; }

TEST(a_clone_holds_its_function) {
    static const char key = 0;
    int ended = 0;
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace_line(&f, NULL, NULL);
    assert_ptr_equal(gantry_function_attach(function, &key, &ended, note_end), &ended);
    gantry_function_t *first = clone_with(function, NULL), *second = clone_with(first, NULL);
    assert_null(gantry_function_attach(second, &key, NULL, NULL)); /* data is not shared */
    gantry_function_release(function);
    gantry_function_release(first);
    assert_int_equal(ended, 0);
    gantry_function_release(second);
    assert_int_equal(ended, 1);
    runtime_fixture_close(&f);
}

/* ---- devices ---- */

static const char *always_first(const gantry_device_choice_t *choice, void *user) {
    (void)choice, (void)user;
    return "GPU:0";
}

/* Outputs: without a request; by a scope; by a block; by a device function; with another tensor; in
 * a scope that cancels requests. */
enum { PLACED = 6 };

static void placing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], inputs[0]);
    gantry_scope_t *on = gantry_scope_begin_in(scope, "GPU:0");
    outputs[1] = gantry_scope_keep(on, gantry_mul(on, inputs[0], inputs[0]));
    (void)gantry_device_begin(scope, "GPU:0");
    outputs[2] = gantry_add(scope, outputs[0], inputs[0]);
    (void)gantry_device_end(scope);
    gantry_scope_t *by = gantry_scope_begin_choosing(scope, always_first, NULL);
    outputs[3] = gantry_scope_keep(by, gantry_add(by, inputs[0], outputs[0]));
    gantry_scope_t *with = gantry_scope_begin_with(scope, outputs[1]);
    outputs[4] = gantry_scope_keep(with, gantry_add(with, inputs[0], inputs[0]));
    gantry_scope_t *none = gantry_scope_begin_in(on, GANTRY_DEVICE_NONE);
    outputs[5] = gantry_scope_keep(none, gantry_mul(none, inputs[0], inputs[0]));
    outputs[5] = gantry_scope_keep(on, outputs[5]);
    (void)gantry_scope_end(none);
    (void)gantry_scope_end(with);
    (void)gantry_scope_end(by);
    (void)gantry_scope_end(on);
}

static void check_places(gantry_scope_t *scope, gantry_function_t *function,
                         const char *const *devices) {
    const gantry_tensor_t *x = F32(scope, 1, 2), *y[PLACED];
    function_fixture_call(scope, function, &x, 1, y, PLACED);
    for (int i = 0; i < PLACED; ++i) {
        const char *got = gantry_logical_device_name(gantry_tensor_device(y[i]));
        if (strcmp(got, devices[i]) != 0) fail_msg("output %d is on %s", i, got);
    }
    EXPECT_F32(y[3], 3, 6);
}

#define AT(n) "/device:GPU:" #n

TEST(the_device_of_a_clone) {
    static const char *const first[] = {AT(1), AT(0), AT(0), AT(0), AT(0), AT(0)},
                             *const all[] = {AT(1), AT(1), AT(1), AT(1), AT(1), AT(1)},
                             *const cpu[] = {"/device:CPU:0", "/device:CPU:0", "/device:CPU:0",
                                             "/device:CPU:0", "/device:CPU:0", "/device:CPU:0"};
    const gantry_input_spec_t input = SPEC_F32(2);
    for (int is_eager = 0; is_eager < 2; ++is_eager) {
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .runs_eagerly = is_eager != 0};
        runtime_fixture_t f;
        runtime_fixture_open(&f, 2);
        gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
        gantry_function_t *function =
            function_fixture_trace(f.runtime, placing, NULL, &input, 1, PLACED, &options);
        gantry_function_t *some = clone_on(function, "GPU:1", false),
                          *every = clone_on(function, "GPU:1", true),
                          *again = clone_on(every, "CPU:0", false),
                          *as_call = clone_on(every, NULL, false),
                          *of_scope = clone_on(function, NULL, true);
        check_places(scope, some, first);
        check_places(scope, every, all);
        check_places(scope, as_call, all);
        check_places(scope, again, cpu);
        check_places(scope, of_scope, cpu);
        gantry_function_release(some);
        gantry_function_release(every);
        gantry_function_release(again);
        gantry_function_release(as_call);
        gantry_function_release(of_scope);
        gantry_function_release(function);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

/* A branch whose bodies ask for a device, and a function in a function. */
static void on_first(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    gantry_scope_t *on = gantry_scope_begin_in(scope, "GPU:0");
    outputs[0] = gantry_scope_keep(on, gantry_add(on, inputs[0], inputs[0]));
    (void)gantry_scope_end(on);
}

static void branching(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    gantry_function_t *inner = user;
    (void)gantry_cond(scope, inputs[1], on_first, on_first, NULL, inputs, 1, outputs, 1);
    (void)gantry_function_call(scope, inner, inputs, 1, &outputs[1], 1);
}

TEST(the_device_of_a_clone_holds_inside) {
    static const bool yes = true;
    const gantry_input_spec_t inputs[] = {SPEC_F32(2), {"p", GANTRY_BOOL, {.rank = 0}}};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 2);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    gantry_function_t *inner =
        function_fixture_trace(f.runtime, on_first, NULL, inputs, 1, 1, NULL);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, branching, inner, inputs, 2, 2, NULL);
    gantry_function_t *clone = clone_on(function, "GPU:1", true);
    const gantry_tensor_t *x[] = {F32(scope, 1, 2),
                                  gantry_constant(scope, GANTRY_BOOL, GANTRY_SCALAR, &yes, 1)},
                          *y[2];
    function_fixture_call(scope, clone, x, 2, y, 2);
    EXPECT_F32(y[0], 2, 4);
    expect_explained(clone, "GPU:0", false);
    expect_explained(function, "GPU:0", true);
    expect_on(y[1], AT(1));
    gantry_function_release(clone);
    gantry_function_release(function);
    gantry_function_release(inner);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- graphs and files ---- */

static void expect_line(gantry_scope_t *scope, gantry_function_t *function) {
    const gantry_tensor_t *x = F32(scope, 10, 20), *y[2];
    function_fixture_call(scope, function, &x, 1, y, 2);
    EXPECT_F32(y[0], 21, 61);
    EXPECT_F32(y[1], -10, -20);
    gantry_function_release(function);
}

/* The graph and the file have what is bound, also if the function was made of a graph. */
static void check_described(gantry_scope_t *scope, gantry_function_t *function) {
    static const char path[] = "test_function_clone.gantry";
    gantry_runtime_t *runtime = gantry_scope_runtime(scope);
    const gantry_bound_input_t bound[] = {{"a", 0, F32(scope, 2, 3)}, {"b", 0, F32(scope, 1, 1)}};
    gantry_function_t *clone = clone_bound(function, bound, 2), *again;
    gantry_graph_t *graph;
    assert_int_equal(gantry_function_get_graph(clone, &graph), GANTRY_OK);
    assert_int_equal(gantry_function_from_graph(graph, NULL, &again), GANTRY_OK);
    expect_line(scope, again);
    gantry_graph_release(graph);
    if (gantry_function_save(clone, path, NULL) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    if (gantry_function_load(runtime, path, NULL, &again) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    (void)remove(path);
    expect_line(scope, again);
    expect_line(scope, clone);
}

TEST(graphs_and_files_of_clones_have_what_is_bound) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_function_t *function = trace_line(&f, NULL, NULL), *of_graph;
    gantry_graph_t *graph;
    check_described(scope, function);
    assert_int_equal(gantry_function_get_graph(function, &graph), GANTRY_OK);
    assert_int_equal(gantry_function_from_graph(graph, NULL, &of_graph), GANTRY_OK);
    gantry_graph_release(graph);
    check_described(scope, of_graph);
    gantry_function_release(of_graph);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- what is refused ---- */

TEST(bad_clones_are_refused) {
    runtime_fixture_t f, g;
    runtime_fixture_open(&f, 0);
    gantry_runtime_options_t runtime = runtime_fixture_options(&g);
    runtime_fixture_open_with(&g, &runtime);
    gantry_function_t *function = trace_line(&f, NULL, NULL), *clone;
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL),
                   *there = runtime_fixture_scope(&g, NULL);
    const gantry_tensor_t *a = F32(scope, 1, 2), *c = F32(scope, 1, 2, 3), *i = I32(scope, 1, 2),
                          *far = F32(there, 1, 2);
    const struct {
        gantry_bound_input_t bound[2];
        const char *device, *text;
    } cases[] = {
        {{{"w", 0, a}},
         NULL,
         "gantry_function_clone: bound[0] has the name w; the name of one of the 3 inputs of "
         "function f is accepted"},
        {{{"", 0, a}}, NULL, "gantry_function_clone: bound[0] has the name ;"},
        {{{NULL, 3, a}},
         NULL,
         "gantry_function_clone: bound[0] has the index 3; function f has 3 inputs, and a smaller "
         "index is accepted"},
        {{{"a", 0, NULL}},
         NULL,
         "gantry_function_clone: bound[0].tensor is NULL; a tensor of the runtime with elements"},
        {{{"a", 0, far}}, NULL, "bound[0].tensor is of another runtime; a tensor of the runtime"},
        {{{"a", 0, c}},
         NULL,
         "gantry_function_clone: bound[0]: function f: input 0 is float32[3]; its signature "
         "accepts float32[2]"},
        {{{"b", 0, i}},
         NULL,
         "gantry_function_clone: bound[0]: function f: input 2 is int32[2]; its signature"},
        {{{"b", 0, a}, {NULL, 2, a}},
         NULL,
         "gantry_function_clone: bound[1] is input 2 of function f, which another entry binds, "
         "too; one entry for an input is accepted"},
        {{{"a", 0, a}}, "GPU:x", "gantry_function_clone: "},
    };
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
        const gantry_clone_options_t options = {.struct_size = sizeof options,
                                                .device = cases[k].device,
                                                .bound = cases[k].bound,
                                                .bound_count = cases[k].bound[1].tensor ? 2 : 1};
        clone = function;
        expect_refusal(gantry_function_clone(function, &options, &clone), GANTRY_INVALID_ARGUMENT,
                       cases[k].text);
        assert_null(clone);
    }
    const gantry_clone_options_t none = {.struct_size = sizeof none, .bound_count = 2};
    expect_refusal(gantry_function_clone(function, &none, &clone), GANTRY_INVALID_ARGUMENT,
                   "gantry_function_clone: bound is NULL; an array of 2 is accepted");
    expect_refusal(gantry_function_clone(NULL, NULL, &clone), GANTRY_INVALID_ARGUMENT,
                   "gantry_function_clone: the function is NULL");
    expect_refusal(gantry_function_clone(function, NULL, NULL), GANTRY_INVALID_ARGUMENT,
                   "gantry_function_clone: out_clone is NULL");
    const gantry_function_options_t traced = {
        .struct_size = sizeof traced, .bound = cases[0].bound, .bound_count = 1};
    expect_refusal(gantry_function_trace(f.runtime, "f", line, NULL, specs, 3, 2, &traced, &clone),
                   GANTRY_INVALID_ARGUMENT, "gantry_function_trace: bound[0] has the name w;");
    gantry_function_release(function);
    expect_ended_well(there);
    expect_ended_well(scope);
    gantry_runtime_release(g.runtime);
    runtime_fixture_close(&f);
    runtime_fixture_expect_no_leak(&g);
    locked_heap_deinit(&g.heap);
}

/* A symbolic tensor has no elements to keep. */
static void cloning(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    gantry_function_t *clone;
    const gantry_bound_input_t bound = {"a", 0, inputs[0]};
    const gantry_clone_options_t options = {
        .struct_size = sizeof options, .bound = &bound, .bound_count = 1};
    (void)gantry_scope_fail(scope, gantry_function_clone(user, &options, &clone),
                            gantry_last_message());
    outputs[0] = inputs[0];
}

TEST(a_symbolic_tensor_is_not_bound) {
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function = trace_line(&f, NULL, NULL);
    expect_refusal(function_fixture_try(&f, cloning, function), GANTRY_INVALID_ARGUMENT,
                   "bound[0].tensor is Placeholder; a tensor of the runtime with elements");
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

static void failing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_tensor_device(inputs[0]) ? gantry_matmul(scope, inputs[0], inputs[0], NULL)
                                                 : inputs[0];
}

TEST(an_error_of_the_body_is_that_of_the_clone) {
    const gantry_input_spec_t input = SPEC_F32(2);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, failing, NULL, &input, 1, 1, NULL);
    const gantry_bound_input_t bound = {NULL, 0, F32(scope, 1, 2)};
    const gantry_clone_options_t options = {
        .struct_size = sizeof options, .name = "g", .bound = &bound, .bound_count = 1};
    gantry_function_t *clone = function;
    expect_refusal(gantry_function_clone(function, &options, &clone), GANTRY_INVALID_ARGUMENT,
                   "function g: ");
    assert_null(clone);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- memory ---- */

static gantry_status_t clone_and_call(gantry_scope_t *scope) {
    gantry_function_t *function = NULL, *first = NULL, *second = NULL;
    const gantry_tensor_t *a = F32(scope, 2, 3), *x = F32(scope, 10, 20), *y[2];
    const gantry_bound_input_t bound[] = {{"a", 0, a}, {NULL, 0, x}};
    const gantry_clone_options_t options = {.struct_size = sizeof options,
                                            .bound = bound,
                                            .bound_count = 1},
                                 more = {.struct_size = sizeof options,
                                         .device = "CPU:0",
                                         .bound = bound + 1,
                                         .bound_count = 1};
    float got[2];
    gantry_status_t status = gantry_scope_status(scope);
    if (status == GANTRY_OK)
        status = gantry_function_trace(gantry_scope_runtime(scope), "f", line, NULL, specs, 3, 2,
                                       NULL, &function);
    if (status == GANTRY_OK) status = gantry_function_clone(function, &options, &first);
    if (status == GANTRY_OK) status = gantry_function_clone(first, &more, &second);
    if (status == GANTRY_OK) status = gantry_function_call(scope, second, &x, 1, y, 2);
    if (status == GANTRY_OK) status = gantry_tensor_read(y[0], got, sizeof got);
    if (status == GANTRY_OK) assert_true(got[0] > 29 && got[0] < 31);
    gantry_function_release(second);
    gantry_function_release(first);
    gantry_function_release(function);
    return status;
}

TEST(without_memory_clones_fail) { runtime_fixture_starve_each(0, "CPU:0", clone_and_call); }

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
