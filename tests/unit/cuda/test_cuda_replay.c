/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A function's kernels on a card become a CUDA graph that later calls launch, with the
 * same bits, and with plain launches where a graph cannot be; on the stand-in for NVIDIA's driver.
 * Promise: Whichever driver call of recording or launching a graph fails, the function stays usable
 * and nothing leaks. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>

#include "cuda_machine.h"

#define STEPS 20 /* kernels of the body */
#define COUNT 4  /* elements */

typedef struct chain_t {
    machine_t *machine;
    gantry_variable_t *weights; /* NULL: none */
    bool has_gather;            /* a kernel in the middle that may report an error */
} chain_t;

/* Ten times y = y * x + w. */
static void chain(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                  const gantry_tensor_t **outputs, void *user) {
    static const int32_t places[COUNT] = {3, 2, 1, 0};
    const chain_t *parts = user;
    const gantry_tensor_t *y = inputs[0];
    for (int i = 0; i < STEPS / 2; ++i) {
        const gantry_tensor_t *w =
            parts->weights ? gantry_variable_read(scope, parts->weights) : inputs[0];
        y = gantry_add(scope, gantry_mul(scope, y, inputs[0]), w);
        if (parts->has_gather && i == STEPS / 4)
            y = gantry_gather(
                scope, y,
                gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(COUNT), places, sizeof places),
                0);
    }
    outputs[0] = y;
}

/* The same in C. */
static void expected(const chain_t *parts, const float *x, const float *w, float *out) {
    for (int e = 0; e < COUNT; ++e) out[e] = x[e];
    for (int i = 0; i < STEPS / 2; ++i) {
        float next[COUNT];
        for (int e = 0; e < COUNT; ++e) {
            volatile float product = out[e] * x[e]; /* rounded, as the two ops round */
            next[e] = product + (w ? w[e] : x[e]);
        }
        for (int e = 0; e < COUNT; ++e)
            out[e] = parts->has_gather && i == STEPS / 4 ? next[COUNT - 1 - e] : next[e];
    }
}

static gantry_function_t *trace(machine_t *m, chain_t *parts, gantry_choice_t graphs) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(COUNT)};
    const gantry_function_options_t options = {
        .struct_size = sizeof options, .passes_off = GANTRY_PASS_ALL, .device_graphs = graphs};
    gantry_function_t *function = NULL;
    parts->machine = m;
    EXPECT(gantry_function_trace(m->runtime, "chain", chain, parts, &input, 1, 1, &options,
                                 &function) == GANTRY_OK,
           "%s", gantry_last_message());
    if (!function) _exit(1);
    return function;
}

/* Number k as an input. */
static void make_input(int k, float *out) {
    for (int e = 0; e < COUNT; ++e) out[e] = 0.5f + 0.03125f * (float)(k % 7) + 0.25f * (float)e;
}

/* A call in a scope of its own. */
static gantry_status_t call(machine_t *m, gantry_function_t *function, const char *device,
                            const float *x, float *y) {
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, device);
    const gantry_tensor_t *in =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), x, COUNT * sizeof *x);
    const gantry_tensor_t *out = NULL;
    gantry_status_t status = gantry_function_call(scope, function, &in, 1, &out, 1);
    if (status == GANTRY_OK) status = gantry_tensor_read(out, y, COUNT * sizeof *y);
    gantry_status_t ended = gantry_scope_end(scope);
    return status == GANTRY_OK ? ended : status;
}

static void expect_call(machine_t *m, gantry_function_t *function, const char *device,
                        const chain_t *parts, int k, const float *w) {
    float x[COUNT], y[COUNT] = {0}, right[COUNT];
    make_input(k, x);
    expected(parts, x, w, right);
    gantry_status_t status = call(m, function, device, x, y);
    EXPECT(status == GANTRY_OK, "call %d: %s", k, gantry_last_message());
    EXPECT(memcmp(y, right, sizeof y) == 0, "call %d: %g %g, not %g %g", k, (double)y[0],
           (double)y[1], (double)right[0], (double)right[1]);
}

static const char *explain(gantry_function_t *function, gantry_explain_form_t form) {
    static char text[32768];
    EXPECT(gantry_function_explain(function, form, text, sizeof text, NULL) == GANTRY_OK, "%s",
           gantry_last_message());
    return text;
}

static void expect_nothing_lives(void) {
    for (int kind = 0; kind < STAND_IN_KINDS; ++kind)
        EXPECT(control()->live(kind) == 0, "%ld objects of kind %d live", control()->live(kind),
               kind);
    EXPECT(control()->complaints(NULL, 0) == 0, "%llu complaints",
           (unsigned long long)control()->complaints(NULL, 0));
}

static uint64_t launches(void) { return control()->calls("cuLaunchKernel"); }
static uint64_t graphs(void) { return control()->calls("cuGraphLaunch"); }

/* ---- replay ---- */

static void one_graph_replaces_the_launches(machine_t *m) {
    chain_t parts = {0};
    machine_open(m);
    gantry_function_t *function = trace(m, &parts, GANTRY_DEFAULT);
    EXPECT_TEXT(explain(function, GANTRY_EXPLAIN_TEXT),
                "20 kernels, replayed as one graph once its addresses come again");
    expect_call(m, function, "GPU:0", &parts, 0, NULL);
    const uint64_t before = launches();
    expect_call(m, function, "GPU:0", &parts, 1, NULL); /* recorded and launched */
    EXPECT(launches() - before == STEPS, "%llu kernels are recorded",
           (unsigned long long)(launches() - before));
    EXPECT(graphs() == 1, "%llu graphs", (unsigned long long)graphs());
    const uint64_t recorded = launches();
    for (int k = 2; k < 50; ++k) expect_call(m, function, "GPU:0", &parts, k, NULL);
    EXPECT(launches() == recorded, "%llu kernels beside the graph",
           (unsigned long long)(launches() - recorded));
    EXPECT(graphs() == 49, "%llu graphs", (unsigned long long)graphs());
    EXPECT(control()->calls("cuGraphInstantiateWithFlags") == 1, "recorded again");
    EXPECT_TEXT(explain(function, GANTRY_EXPLAIN_TEXT),
                "Mul to Add_9 on GPU:0: 20 kernels, replayed as one graph: recorded 1 time, "
                "launched 49 times");
    EXPECT_TEXT(explain(function, GANTRY_EXPLAIN_JSON),
                "\"kernels\":20,\"replayed\":true,\"why\":\"\",\"detail\":\"\",\"recorded\":1,"
                "\"launched\":49");
    gantry_function_release(function);
    EXPECT(control()->live(STAND_IN_GRAPHS) == 0, "a graph outlives its function");
    machine_close(m);
    expect_nothing_lives();
}

static void the_option_turns_it_off(machine_t *m) {
    chain_t parts = {0};
    machine_open(m);
    gantry_function_t *function = trace(m, &parts, GANTRY_OFF);
    for (int k = 0; k < 10; ++k) expect_call(m, function, "GPU:0", &parts, k, NULL);
    EXPECT(graphs() == 0, "%llu graphs", (unsigned long long)graphs());
    EXPECT_TEXT(explain(function, GANTRY_EXPLAIN_TEXT),
                "GPU:0: launched one by one: the option device_graphs is off");
    EXPECT_TEXT(explain(function, GANTRY_EXPLAIN_JSON), "\"why\":\"device_graphs is off\"");
    gantry_function_release(function);
    const gantry_function_options_t wrong_choice = {.struct_size = sizeof wrong_choice,
                                                    .device_graphs = (gantry_choice_t)3};
    EXPECT(gantry_function_trace(m->runtime, "chain", chain, &parts, NULL, 0, 1, &wrong_choice,
                                 &function) == GANTRY_INVALID_ARGUMENT,
           "device_graphs 3 is accepted");
    EXPECT_TEXT(gantry_last_message(), "device_graphs is 3; GANTRY_DEFAULT, GANTRY_OFF and");
}

/* ---- addresses ---- */

/* Two results that are kept in turn: calls alternate between two sets of addresses. */
static void kept_results_have_graphs_of_their_own(machine_t *m) {
    chain_t parts = {0};
    float x[COUNT], y[COUNT], right[COUNT];
    machine_open(m);
    gantry_function_t *function = trace(m, &parts, GANTRY_ON);
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
    const gantry_tensor_t *last = NULL;
    make_input(3, x);
    expected(&parts, x, NULL, right);
    const gantry_tensor_t *in =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), x, sizeof x);
    for (int k = 0; k < 40; ++k) {
        const gantry_tensor_t *out;
        EXPECT(gantry_function_call(scope, function, &in, 1, &out, 1) == GANTRY_OK, "%s",
               gantry_last_message());
        EXPECT(gantry_tensor_read(out, y, sizeof y) == GANTRY_OK, "%s", gantry_last_message());
        EXPECT(memcmp(y, right, sizeof y) == 0, "call %d: %g, not %g", k, (double)y[0],
               (double)right[0]);
        if (last) gantry_tensor_drop(scope, last);
        last = out;
    }
    EXPECT(graphs() >= 36, "%llu graphs in 40 calls", (unsigned long long)graphs());
    EXPECT(control()->calls("cuGraphInstantiateWithFlags") == 2, "%llu are recorded",
           (unsigned long long)control()->calls("cuGraphInstantiateWithFlags"));
    EXPECT(gantry_scope_end(scope) == GANTRY_OK, "%s", gantry_last_message());
    gantry_function_release(function);
}

/* All results are kept, so no address comes again. */
static void new_addresses_in_each_call_record_nothing(machine_t *m) {
    chain_t parts = {0};
    float x[COUNT], y[COUNT], right[COUNT];
    const gantry_tensor_t *out[40];
    machine_open(m);
    gantry_function_t *function = trace(m, &parts, GANTRY_DEFAULT);
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
    make_input(5, x);
    expected(&parts, x, NULL, right);
    const gantry_tensor_t *in =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), x, sizeof x);
    for (int k = 0; k < 40; ++k)
        EXPECT(gantry_function_call(scope, function, &in, 1, &out[k], 1) == GANTRY_OK, "%s",
               gantry_last_message());
    for (int k = 0; k < 40; ++k) {
        EXPECT(gantry_tensor_read(out[k], y, sizeof y) == GANTRY_OK, "%s", gantry_last_message());
        EXPECT(memcmp(y, right, sizeof y) == 0, "call %d: %g", k, (double)y[0]);
    }
    EXPECT(control()->calls("cuStreamBeginCapture_v2") == 0, "something is recorded");
    EXPECT_TEXT(explain(function, GANTRY_EXPLAIN_TEXT),
                "launched one by one: arguments or results move from call to call");
    EXPECT_TEXT(explain(function, GANTRY_EXPLAIN_JSON), "\"why\":\"addresses\"");
    (void)gantry_scope_end(scope);
    gantry_function_release(function);
}

/* Six sets of addresses in turn are too many: recording ends. */
static void too_many_addresses_end_the_recording(machine_t *m) {
    enum { SETS = 6 };
    chain_t parts = {0};
    float x[SETS][COUNT], y[COUNT], right[COUNT];
    const gantry_tensor_t *in[SETS];
    machine_open(m);
    gantry_function_t *function = trace(m, &parts, GANTRY_DEFAULT);
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
    for (int s = 0; s < SETS; ++s) {
        make_input(s, x[s]);
        in[s] = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), x[s], sizeof x[s]);
    }
    for (int k = 0; k < 60; ++k) {
        const gantry_tensor_t *out;
        expected(&parts, x[k % SETS], NULL, right);
        EXPECT(gantry_function_call(scope, function, &in[k % SETS], 1, &out, 1) == GANTRY_OK, "%s",
               gantry_last_message());
        EXPECT(gantry_tensor_read(out, y, sizeof y) == GANTRY_OK, "%s", gantry_last_message());
        EXPECT(memcmp(y, right, sizeof y) == 0, "call %d: %g", k, (double)y[0]);
        gantry_tensor_drop(scope, out);
    }
    EXPECT(control()->calls("cuGraphInstantiateWithFlags") <= 12, "%llu are recorded",
           (unsigned long long)control()->calls("cuGraphInstantiateWithFlags"));
    EXPECT_TEXT(explain(function, GANTRY_EXPLAIN_JSON), "\"why\":\"addresses\"");
    (void)gantry_scope_end(scope);
    gantry_function_release(function);
}

/* Memory that the driver gets back, and gives again for something else. */
static void freed_regions_end_the_graphs(machine_t *m) {
    chain_t parts = {0};
    machine_open(m);
    gantry_function_t *function = trace(m, &parts, GANTRY_DEFAULT);
    for (int k = 0; k < 4; ++k) expect_call(m, function, "GPU:0", &parts, k, NULL);
    EXPECT(graphs() == 3, "%llu graphs", (unsigned long long)graphs());
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
    EXPECT(gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(16 << 20)), "%s",
           gantry_last_message());
    (void)gantry_scope_end(scope);
    EXPECT(gantry_trim_memory(m->runtime, "GPU:0", 0, NULL) == GANTRY_OK, "%s",
           gantry_last_message());
    for (int k = 0; k < 4; ++k) expect_call(m, function, "GPU:0", &parts, k, NULL);
    EXPECT(control()->calls("cuGraphInstantiateWithFlags") == 2, "%llu are recorded",
           (unsigned long long)control()->calls("cuGraphInstantiateWithFlags"));
    gantry_function_release(function);
    machine_close(m);
    expect_nothing_lives();
}

/* ---- variables, other kernels ---- */

static void assigned_variables_show_in_the_next_call(machine_t *m) {
    chain_t parts = {0};
    float w[COUNT];
    machine_open(m);
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
    make_input(0, w);
    parts.weights = gantry_variable_create(
        scope, gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), w, sizeof w), "w");
    gantry_function_t *function = trace(m, &parts, GANTRY_DEFAULT);
    for (int k = 0; k < 40; ++k) {
        make_input(k / 3, w);
        if (k % 3 == 0)
            EXPECT(gantry_variable_assign(
                       scope, parts.weights,
                       gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), w, sizeof w)) ==
                       GANTRY_OK,
                   "%s", gantry_last_message());
        gantry_scope_clear(scope);
        expect_call(m, function, "GPU:0", &parts, k, w);
    }
    EXPECT(graphs() >= 20, "%llu graphs in 40 calls", (unsigned long long)graphs());
    (void)gantry_scope_end(scope);
    gantry_function_release(function);
    gantry_variable_release(parts.weights);
}

static void kernels_that_may_report_errors_are_left_out(machine_t *m) {
    chain_t parts = {.has_gather = true};
    machine_open(m);
    gantry_function_t *function = trace(m, &parts, GANTRY_DEFAULT);
    for (int k = 0; k < 10; ++k) expect_call(m, function, "GPU:0", &parts, k, NULL);
    EXPECT(graphs() >= 14, "%llu graphs", (unsigned long long)graphs()); /* two in a call */
    EXPECT_TEXT(explain(function, GANTRY_EXPLAIN_TEXT),
                "1 kernel, launched one by one: the kernel may report an error in its data");
    EXPECT_TEXT(explain(function, GANTRY_EXPLAIN_JSON), "\"why\":\"error slot\"");
    gantry_function_release(function);
}

static void picking_among_others(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                                 const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *before[1], *after[1];
    chain(scope, inputs, before, user);
    gantry_scope_name_next(scope, "pick");
    after[0] = gantry_gather(scope, before[0], inputs[1], 0);
    chain(scope, after, outputs, user);
}

static void errors_between_graphs_name_their_node(machine_t *m) {
    static const gantry_input_spec_t specs[] = {{"x", GANTRY_FLOAT32, {.rank = 1, .dims = {COUNT}}},
                                                {"i", GANTRY_INT32, {.rank = 1, .dims = {COUNT}}}};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = GANTRY_PASS_ALL};
    chain_t parts = {.machine = m};
    gantry_function_t *function = NULL;
    float x[COUNT] = {0}, y[COUNT];
    machine_open(m);
    EXPECT(gantry_function_trace(m->runtime, "f", picking_among_others, &parts, specs, 2, 1,
                                 &options, &function) == GANTRY_OK,
           "%s", gantry_last_message());
    for (int k = 0; k < 10 && function; ++k) {
        const int32_t places[COUNT] = {3, k > 5 ? 9 : 2, 1, 0};
        gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
        const gantry_tensor_t *out = NULL,
                              *in[] = {gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT),
                                                       x, sizeof x),
                                       gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(COUNT),
                                                       places, sizeof places)};
        EXPECT(gantry_function_call(scope, function, in, 2, &out, 1) == GANTRY_OK, "%s",
               gantry_last_message());
        const gantry_status_t status = gantry_tensor_read(out, y, sizeof y);
        EXPECT(status == (k > 5 ? GANTRY_INVALID_ARGUMENT : GANTRY_OK), "call %d", k);
        if (k > 5)
            EXPECT_TEXT(gantry_last_message(),
                        "function f: node pick (Gather) of float32[4], int32[4], int32[] on "
                        "/device:GPU:0: indices[1] = 9 is not");
        (void)gantry_scope_end(scope);
    }
    EXPECT(graphs() >= 14, "%llu graphs", (unsigned long long)graphs()); /* two in a call */
    gantry_function_release(function);
}

/* Products of the vendor's library, and sums that need scratch. */
#define SIDE 96

static void products(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *y = inputs[0];
    for (int i = 0; i < 3; ++i) {
        y = gantry_matmul(scope, y, inputs[0], NULL);
        const gantry_tensor_t *all = gantry_sum(scope, gantry_mul(scope, y, y), NULL);
        y = gantry_mul(scope, y, gantry_rsqrt(scope, all));
    }
    outputs[0] = y;
}

static void call_products(const machine_t *m, gantry_function_t *function, int k, float *y) {
    static float x[SIDE * SIDE];
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
    for (int i = 0; i < SIDE * SIDE; ++i) x[i] = (float)((i * (k + 3)) % 17 - 8) / 16;
    const gantry_tensor_t *out = NULL, *in = gantry_constant(scope, GANTRY_FLOAT32,
                                                             GANTRY_SHAPE(SIDE, SIDE), x, sizeof x);
    EXPECT(gantry_function_call(scope, function, &in, 1, &out, 1) == GANTRY_OK, "%s",
           gantry_last_message());
    EXPECT(gantry_tensor_read(out, y, sizeof x) == GANTRY_OK, "%s", gantry_last_message());
    (void)gantry_scope_end(scope);
}

static void products_and_sums_are_replayed(machine_t *m) {
    static float got[SIDE * SIDE], wanted[SIDE * SIDE];
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(SIDE, SIDE)};
    gantry_function_t *functions[2] = {NULL, NULL};
    machine_open(m);
    for (int i = 0; i < 2; ++i) {
        const gantry_function_options_t options = {.struct_size = sizeof options,
                                                   .device_graphs = i ? GANTRY_ON : GANTRY_OFF};
        EXPECT(gantry_function_trace(m->runtime, "f", products, NULL, &input, 1, 1, &options,
                                     &functions[i]) == GANTRY_OK,
               "%s", gantry_last_message());
    }
    for (int k = 0; k < 8; ++k) {
        call_products(m, functions[0], k, wanted);
        call_products(m, functions[1], k, got);
        EXPECT(memcmp(got, wanted, sizeof got) == 0, "call %d differs", k);
    }
    EXPECT(graphs() >= 5, "%llu graphs: %s", (unsigned long long)graphs(),
           explain(functions[1], GANTRY_EXPLAIN_TEXT));
    gantry_function_release(functions[0]);
    gantry_function_release(functions[1]);
    machine_close(m);
    expect_nothing_lives();
}

/* A loop's body has a schedule, a frame and graphs of its own. */
static void halve(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                  const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *y = inputs[0];
    for (int i = 0; i < 6; ++i) y = gantry_sub(scope, gantry_add(scope, y, y), y);
    outputs[0] = gantry_sub(scope, y, gantry_scalar_f32(scope, 1));
}

static void is_large(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_greater(scope, inputs[0], gantry_scalar_f32(scope, 0.5f));
}

static void counting_down(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    (void)user;
    gantry_while(scope, is_large, halve, NULL, inputs, 1, NULL, outputs);
}

static void bodies_of_loops_are_replayed(machine_t *m) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, {.rank = 0}};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = GANTRY_PASS_ALL};
    gantry_function_t *function = NULL;
    machine_open(m);
    EXPECT(gantry_function_trace(m->runtime, "f", counting_down, NULL, &input, 1, 1, &options,
                                 &function) == GANTRY_OK,
           "%s", gantry_last_message());
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
    float y = 9;
    const gantry_tensor_t *in = gantry_scalar_f32(scope, 20), *out = NULL;
    EXPECT(gantry_function_call(scope, function, &in, 1, &out, 1) == GANTRY_OK, "%s",
           gantry_scope_message(scope));
    EXPECT(out && gantry_tensor_read(out, &y, sizeof y) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(y >= 0 && y <= 0, "%g", (double)y);
    EXPECT(graphs() >= 10, "%llu graphs in 20 steps", (unsigned long long)graphs());
    (void)gantry_scope_end(scope);
    gantry_function_release(function);
}

/* ---- threads, cards ---- */

typedef struct worker_t {
    machine_t *machine;
    gantry_function_t *function;
    const char *device;
    const chain_t *parts;
    int first;
    pthread_t thread;
} worker_t;

static void *work(void *self) {
    worker_t *worker = self;
    for (int k = 0; k < 30; ++k)
        expect_call(worker->machine, worker->function, worker->device, worker->parts,
                    worker->first + k, NULL);
    return NULL;
}

static void run_workers(worker_t *workers, int count) {
    for (int i = 0; i < count; ++i)
        EXPECT(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0, "no thread");
    for (int i = 0; i < count; ++i) (void)pthread_join(workers[i].thread, NULL);
}

static void threads_have_graphs_of_their_own(machine_t *m) {
    chain_t parts = {0};
    machine_open(m);
    gantry_function_t *function = trace(m, &parts, GANTRY_DEFAULT);
    worker_t workers[] = {{m, function, "GPU:0", &parts, 0, 0},
                          {m, function, "GPU:0", &parts, 3, 0}};
    run_workers(workers, 2);
    EXPECT(graphs() > 0, "nothing is replayed");
    gantry_function_release(function);
    machine_close(m);
    expect_nothing_lives();
}

static void cards_have_graphs_of_their_own(machine_t *m) {
    chain_t parts = {0};
    machine_open(m);
    gantry_function_t *function = trace(m, &parts, GANTRY_DEFAULT);
    for (int k = 0; k < 10; ++k) {
        expect_call(m, function, "GPU:0", &parts, k, NULL);
        expect_call(m, function, "GPU:1", &parts, k + 1, NULL);
    }
    EXPECT(graphs() == 18, "%llu graphs", (unsigned long long)graphs());
    worker_t workers[] = {{m, function, "GPU:0", &parts, 0, 0},
                          {m, function, "GPU:1", &parts, 3, 0}};
    run_workers(workers, 2);
    gantry_function_release(function);
    machine_close(m);
    expect_nothing_lives();
}

static void parts_of_a_card_are_replayed(machine_t *m) {
    chain_t parts = {0};
    m->options.logical_devices = "GPU:0=64M,64M";
    machine_open(m);
    gantry_function_t *function = trace(m, &parts, GANTRY_DEFAULT);
    for (int k = 0; k < 10; ++k) {
        expect_call(m, function, "GPU:0", &parts, k, NULL);
        expect_call(m, function, "GPU:1", &parts, k + 1, NULL);
    }
    EXPECT(graphs() == 18, "%llu graphs", (unsigned long long)graphs());
    gantry_function_release(function);
}

/* ---- profiles ---- */

static void a_profile_gets_every_kernel(machine_t *m) {
    chain_t parts = {0};
    machine_open(m);
    gantry_function_t *function = trace(m, &parts, GANTRY_DEFAULT);
    for (int k = 0; k < 4; ++k) expect_call(m, function, "GPU:0", &parts, k, NULL);
    const uint64_t replayed = graphs(), before = launches();
    EXPECT(gantry_profile_start(m->runtime, GANTRY_PROFILE_ON) == GANTRY_OK, "%s",
           gantry_last_message());
    expect_call(m, function, "GPU:0", &parts, 4, NULL);
    EXPECT(gantry_profile_stop(m->runtime) == GANTRY_OK, "%s", gantry_last_message());
    EXPECT(graphs() == replayed && launches() - before == STEPS, "a graph under a profile");
    expect_call(m, function, "GPU:0", &parts, 5, NULL);
    EXPECT(graphs() == replayed + 1, "no graph after the profile");
    gantry_function_release(function);
}

/* ---- failures ---- */

static void a_refused_recording_leaves_plain_launches(machine_t *m) {
    chain_t parts = {0};
    machine_open(m);
    gantry_function_t *function = trace(m, &parts, GANTRY_DEFAULT);
    set("fail=cuGraphInstantiateWithFlags:1:2");
    for (int k = 0; k < 6; ++k) expect_call(m, function, "GPU:0", &parts, k, NULL);
    EXPECT(graphs() == 0, "%llu graphs", (unsigned long long)graphs());
    EXPECT_TEXT(explain(function, GANTRY_EXPLAIN_TEXT),
                "launched one by one: the device refused to record them: ");
    EXPECT_TEXT(explain(function, GANTRY_EXPLAIN_JSON),
                "\"why\":\"refused\",\"detail\":\"ending a capture on a stream of");
    gantry_function_release(function);
    machine_close(m);
    expect_nothing_lives();
}

static void a_failed_launch_names_nodes_and_device(machine_t *m) {
    chain_t parts = {0};
    float x[COUNT], y[COUNT];
    machine_open(m);
    gantry_function_t *function = trace(m, &parts, GANTRY_DEFAULT);
    expect_call(m, function, "GPU:0", &parts, 0, NULL);
    expect_call(m, function, "GPU:0", &parts, 1, NULL);
    control()->reset();
    set("fail=cuGraphLaunch:1:2");
    make_input(0, x);
    EXPECT(call(m, function, "GPU:0", x, y) == GANTRY_RESOURCE_EXHAUSTED, "%s",
           gantry_last_message());
    EXPECT_TEXT(gantry_last_message(),
                "nodes Mul to Add_9 (20 kernels as one graph) on /device:GPU:0: ");
    for (int k = 0; k < 4; ++k) expect_call(m, function, "GPU:0", &parts, k, NULL);
    gantry_function_release(function);
    machine_close(m);
    expect_nothing_lives();
}

/* Each call of the driver fails in turn, from a function's first call to its third. A context that
 * was pushed is always popped. An object stays where its own end fails, or the push before. */
static int fail_at;
static int driver_calls;
static bool may_leave_objects;

static int32_t watch(void *self, const char *function) {
    (void)self;
    if (strstr(function, "CtxPop")) return 0;
    if (++driver_calls != fail_at) return 0;
    may_leave_objects = strstr(function, "CtxPush") || strstr(function, "Destroy");
    return 2; /* out of memory: no loss of the card */
}

static void calls_fail_in_turn(machine_t *m) {
    chain_t parts = {0};
    float x[COUNT], y[COUNT];
    machine_open(m);
    make_input(0, x);
    expect_computes(m, "GPU:0"); /* the device is open, and its programs are built */
    gantry_function_t *warm = trace(m, &parts, GANTRY_OFF);
    (void)call(m, warm, "GPU:0", x, y);
    gantry_function_release(warm);
    int most = 1;
    for (fail_at = 1; fail_at <= most; ++fail_at) {
        gantry_function_t *function = trace(m, &parts, GANTRY_DEFAULT);
        const long streams = control()->live(STAND_IN_STREAMS),
                   kept = control()->live(STAND_IN_GRAPHS);
        driver_calls = 0;
        may_leave_objects = false;
        control()->watch(watch, NULL);
        for (int k = 0; k < 3; ++k) {
            make_input(k, x);
            gantry_status_t status = call(m, function, "GPU:0", x, y);
            EXPECT(status == GANTRY_OK || *gantry_last_message(), "no message");
        }
        most = driver_calls;
        control()->watch(NULL, NULL);
        for (int k = 0; k < 3; ++k) expect_call(m, function, "GPU:0", &parts, k, NULL);
        gantry_function_release(function);
        EXPECT(may_leave_objects || control()->live(STAND_IN_GRAPHS) == kept,
               "call %d leaves a graph", fail_at);
        EXPECT(may_leave_objects || control()->live(STAND_IN_STREAMS) == streams,
               "call %d leaves a stream", fail_at);
    }
    EXPECT(most > STEPS, "%d calls of the driver", most);
    machine_close(m);
    expect_nothing_lives();
}

static void a_lost_card_fails_the_call(machine_t *m) {
    chain_t parts = {0};
    float x[COUNT], y[COUNT];
    machine_open(m);
    gantry_function_t *function = trace(m, &parts, GANTRY_DEFAULT);
    for (int k = 0; k < 4; ++k) expect_call(m, function, "GPU:0", &parts, k, NULL);
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
    make_input(0, x);
    const gantry_tensor_t *out,
        *in = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(COUNT), x, sizeof x);
    EXPECT(gantry_tensor_wait(in) == GANTRY_OK, "%s", gantry_last_message());
    control()->lose(0, 719);
    EXPECT(gantry_function_call(scope, function, &in, 1, &out, 1) == GANTRY_UNAVAILABLE, "%s",
           gantry_last_message());
    (void)gantry_scope_end(scope);
    EXPECT(call(m, function, "GPU:0", x, y) != GANTRY_OK, "a lost card computes");
    gantry_function_release(function);
}

/* ---- the tests ---- */

#define ON_MACHINE(name, settings)      \
    static void name##_(void **state) { \
        (void)state;                    \
        on_machine(settings, name);     \
    }

ON_MACHINE(one_graph_replaces_the_launches, "devices=1")
ON_MACHINE(the_option_turns_it_off, "devices=1")
ON_MACHINE(kept_results_have_graphs_of_their_own, "devices=1")
ON_MACHINE(new_addresses_in_each_call_record_nothing, "devices=1")
ON_MACHINE(too_many_addresses_end_the_recording, "devices=1")
ON_MACHINE(freed_regions_end_the_graphs, "devices=1")
ON_MACHINE(assigned_variables_show_in_the_next_call, "devices=1")
ON_MACHINE(kernels_that_may_report_errors_are_left_out, "devices=1")
ON_MACHINE(errors_between_graphs_name_their_node, "devices=1")
ON_MACHINE(products_and_sums_are_replayed, "devices=1")
ON_MACHINE(bodies_of_loops_are_replayed, "devices=1")
ON_MACHINE(threads_have_graphs_of_their_own, "devices=1")
ON_MACHINE(cards_have_graphs_of_their_own, "devices=2")
ON_MACHINE(parts_of_a_card_are_replayed, "devices=1")
ON_MACHINE(a_profile_gets_every_kernel, "devices=1")
ON_MACHINE(a_refused_recording_leaves_plain_launches, "devices=1")
ON_MACHINE(a_failed_launch_names_nodes_and_device, "devices=1")
ON_MACHINE(calls_fail_in_turn, "devices=1")
ON_MACHINE(a_lost_card_fails_the_call, "devices=1")

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_graph_replaces_the_launches_),
        cmocka_unit_test(the_option_turns_it_off_),
        cmocka_unit_test(kept_results_have_graphs_of_their_own_),
        cmocka_unit_test(new_addresses_in_each_call_record_nothing_),
        cmocka_unit_test(too_many_addresses_end_the_recording_),
        cmocka_unit_test(freed_regions_end_the_graphs_),
        cmocka_unit_test(assigned_variables_show_in_the_next_call_),
        cmocka_unit_test(kernels_that_may_report_errors_are_left_out_),
        cmocka_unit_test(errors_between_graphs_name_their_node_),
        cmocka_unit_test(products_and_sums_are_replayed_),
        cmocka_unit_test(bodies_of_loops_are_replayed_),
        cmocka_unit_test(threads_have_graphs_of_their_own_),
        cmocka_unit_test(cards_have_graphs_of_their_own_),
        cmocka_unit_test(parts_of_a_card_are_replayed_),
        cmocka_unit_test(a_profile_gets_every_kernel_),
        cmocka_unit_test(a_refused_recording_leaves_plain_launches_),
        cmocka_unit_test(a_failed_launch_names_nodes_and_device_),
        cmocka_unit_test(calls_fail_in_turn_),
        cmocka_unit_test(a_lost_card_fails_the_call_),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
