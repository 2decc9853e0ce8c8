/* SPDX-License-Identifier: Apache-2.0 */
/* A function of 100 small ops on a card, against a CUDA graph of 100 such kernels made by the raw
 * driver: many calls with one wait at the end, and one wait for each call. It also measures the
 * function with launches one by one, and the ops without a function. Fusion must be off, because
 * 100 kernels must remain. A call also allocates its result. */
#include "card.h"

#define OPS 100
#define MOST_RATIO 1.1 /* of the raw graph's time */
#define MOST_CALLS 1000

static const char function_work[] = "100 adds of 4 elements";

typedef struct subject_t {
    gantry_scope_t *scope;
    const gantry_tensor_t *x;
    gantry_function_t *function; /* NULL: op by op */
} subject_t;

/* y = x + x + ... */
static void body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *y = inputs[0];
    for (int i = 0; i < OPS; ++i) y = gantry_add(scope, y, inputs[0]);
    outputs[0] = y;
}

static const gantry_tensor_t *call_ops(const subject_t *subject) {
    const gantry_tensor_t *y = subject->x;
    for (int i = 0; i < OPS && y; ++i) {
        const gantry_tensor_t *last = y;
        y = gantry_add(subject->scope, last, subject->x);
        if (last != subject->x) gantry_tensor_drop(subject->scope, last);
    }
    return y;
}

static const gantry_tensor_t *call(const subject_t *subject) {
    const gantry_tensor_t *y = NULL;
    if (!subject->function) return call_ops(subject);
    (void)gantry_function_call(subject->scope, subject->function, &subject->x, 1, &y, 1);
    return y;
}

static bool run(const subject_t *subject, int calls, bool is_waited) {
    for (int i = 0; i < calls; ++i) {
        const gantry_tensor_t *y = call(subject);
        if (!y) return false;
        if ((is_waited || i + 1 == calls) && gantry_tensor_wait(y) != GANTRY_OK) return false;
        gantry_tensor_drop(subject->scope, y);
    }
    return true;
}

static bool run_in_a_row(void *subject, int calls) { return run(subject, calls, false); }
static bool run_waited(void *subject, int calls) { return run(subject, calls, true); }

static bool raw(const bench_small_graph_t *graph, int calls, bool is_waited) {
    for (int i = 0; i < calls; ++i) {
        if (!bench_small_graph_launch(graph) ||
            ((is_waited || i + 1 == calls) && !bench_card_wait(graph->add->card)))
            return false;
    }
    return true;
}

static bool raw_in_a_row(void *subject, int calls) { return raw(subject, calls, false); }
static bool raw_waited(void *subject, int calls) { return raw(subject, calls, true); }

/* ---- subjects ---- */

static bool trace(bench_t *bench, gantry_choice_t graphs, gantry_function_t **out_function) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(4)};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = GANTRY_PASS_ELEMENTWISE_FUSION,
                                               .device_graphs = graphs};
    return bench_is_ok(gantry_function_trace(bench->runtime, "adds", body, NULL, &input, 1, 1,
                                             &options, out_function),
                       "card_function", "gantry_function_trace");
}

/* Calls until a graph is recorded, and once more. */
static bool is_right(bench_t *bench, const subject_t *subject, const char *device) {
    for (int k = 0; k < 4; ++k) {
        float y[4] = {0};
        const gantry_tensor_t *sum = call(subject);
        if (!sum || gantry_tensor_read(sum, y, sizeof y) != GANTRY_OK)
            return bench_card_has_failed(bench, "card_function", function_work, device);
        gantry_tensor_drop(subject->scope, sum);
        if (y[0] != OPS + 1 || y[1] != 2 * (OPS + 1) || y[2] != 3 * (OPS + 1) ||
            y[3] != 4 * (OPS + 1))
            return bench_card_is_wrong(bench, "card_function", function_work, device);
    }
    return true;
}

static bool open_subject(bench_t *bench, const char *device, subject_t *subject) {
    const float x[4] = {1, 2, 3, 4};
    subject->scope = bench_scope(bench, device);
    if (!subject->scope) return false;
    subject->x = gantry_constant(subject->scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), x, sizeof x);
    return subject->x && is_right(bench, subject, device);
}

static void close_subject(subject_t *subject) {
    if (subject->scope) (void)gantry_scope_end(subject->scope);
    gantry_function_release(subject->function);
}

/* ---- the case ---- */

enum { REPLAYED, RAW, SINGLE, OP_BY_OP, CONTENDERS };

static void measure(bench_t *bench, bench_contender_t *contenders, bool is_waited) {
    bench_measure_t shown = {
        .subject = "card_function",
        .work = is_waited ? "100 adds of 4 elements, each call waited for"
                          : "100 adds of 4 elements, calls in a row",
        .unit = "us",
        .per_second = 1e6,
        .reference = &contenders[RAW],
        .least_ratio = 1 / MOST_RATIO,
    };
    for (size_t i = 0; i < CONTENDERS; ++i)
        contenders[i].run = i == RAW ? (is_waited ? raw_waited : raw_in_a_row)
                                     : (is_waited ? run_waited : run_in_a_row);
    bench_card_interleave(bench, contenders, CONTENDERS, MOST_CALLS);
    bench_report_contenders(&bench->report, &shown, contenders, CONTENDERS, 1);
}

static void run_case(bench_t *bench, const bench_device_t *device, const bench_card_t *card) {
    subject_t replayed = {0}, single = {0}, ops = {0};
    bench_small_add_t add;
    bench_small_graph_t graph = {0};
    bool is_open =
        trace(bench, GANTRY_ON, &replayed.function) && trace(bench, GANTRY_OFF, &single.function) &&
        open_subject(bench, device->alias, &replayed) &&
        open_subject(bench, device->alias, &single) && open_subject(bench, device->alias, &ops);
    bool has_raw = bench_small_add_open(&add, card) && bench_small_graph_open(&graph, &add, OPS);
    if (has_raw && bench_small_graph_launch(&graph) && !bench_small_graph_is_right(&graph))
        (void)bench_card_is_wrong(bench, "card_function", function_work, "raw CUDA");
    if (is_open && has_raw) {
        bench_contender_t contenders[CONTENDERS] = {
            [REPLAYED] = {.name = device->alias, .subject = &replayed},
            [RAW] = {.name = "cuGraphLaunch", .subject = &graph},
            [SINGLE] = {.name = "without a graph", .subject = &single},
            [OP_BY_OP] = {.name = "op by op", .subject = &ops}};
        measure(bench, contenders, false);
        measure(bench, contenders, true);
    } else {
        bench_report_note(&bench->report, "card_function, %s: left out, see standard error",
                          device->alias);
    }
    bench_small_graph_close(&graph);
    bench_small_add_close(&add);
    close_subject(&ops);
    close_subject(&single);
    close_subject(&replayed);
}

void bench_card_function(bench_t *bench) { bench_each_card(bench, "card_function", run_case); }
