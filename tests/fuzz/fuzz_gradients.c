/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Random programs of cond, case, while and functions have the same values and gradients in
 * a function, through one and op by op, and finite differences agree.
 * Promise: A function of the graph of such a function has the same values and gradients.
 *
 *     fuzz_gradients [--seconds 60 | --programs N] [--seed N] [--first N] [--size N] [--verbose]
 *
 * Each program has the gradients of its inputs, its variables and a captured tensor
 *
 *     eager       by a tape over its ops
 *     inside      by a tape in a function
 *     outside     by a tape over the call of a function
 *     nested      by a tape in a function over the call of a function
 *     described   as outside and nested, of a function that is made of the graph of that one
 *     second      those of the sum of their squares, by ops, in a function and outside
 *     slopes      by differences of the program run op by op, where both take the same path
 *
 * A seed always gives the same programs. Exit code 1: findings. */
#define _POSIX_C_SOURCE 200809L

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz_program.h"
#include "fuzz_run.h"

typedef const gantry_tensor_t tensor;

enum {
    SOURCES = FUZZ_INPUTS + FUZZ_VARIABLES + 1,
    OUTPUTS = 1 + SOURCES,
    MOST_ELEMENTS = 6,
    MOST_SIZE = 1000000,
    HANG_SECONDS = 120,
    MOST_FINDINGS = 10
};

static const int source_types[SOURCES] = {1, 2, 0, 1, 1}; /* inputs, variables, captured */

typedef struct options_t {
    double seconds;
    uint64_t programs, seed, first, size;
    bool verbose;
} options_t;

/* A point: the elements of all sources. */
typedef struct point_t {
    double of[SOURCES][MOST_ELEMENTS];
} point_t;

/* y, then the gradients. */
typedef struct result_t {
    double values[OUTPUTS][MOST_ELEMENTS];
} result_t;

typedef struct test_t {
    gantry_runtime_t *runtime;
    fuzz_program_t program;
    fuzz_run_t run;
    point_t point;
    int order; /* of the gradients: 0 (none), 1 or 2 */
    gantry_function_t *callee;
} test_t;

static size_t elements_of(int type) { return type == 0 ? 1 : type == 1 ? 2 : 6; }

/* ---- a step: y and its gradients ---- */

static void list_sources(const test_t *t, tensor *const *in, gantry_source_t *sources) {
    for (int i = 0; i < FUZZ_INPUTS; ++i) sources[i] = (gantry_source_t){.tensor = in[i]};
    for (int i = 0; i < FUZZ_VARIABLES; ++i)
        sources[FUZZ_INPUTS + i] = (gantry_source_t){.variable = t->run.variables[i]};
    sources[SOURCES - 1] = (gantry_source_t){.tensor = t->run.captured};
}

static gantry_tape_t *begin_tape(gantry_scope_t *s, const gantry_source_t *sources) {
    gantry_tape_t *tape = gantry_tape_begin(s, NULL);
    for (int i = 0; i < SOURCES; ++i) {
        if (sources[i].tensor) (void)gantry_tape_watch(tape, sources[i].tensor);
    }
    return tape;
}

static void end_tape(gantry_tape_t *tape, tensor *y, const gantry_source_t *sources, tensor **out) {
    const gantry_gradient_options_t zeros = {.struct_size = sizeof zeros,
                                             .zeros_where_unconnected = true};
    if (y) (void)gantry_tape_gradient(tape, y, NULL, sources, SOURCES, &zeros, out);
    gantry_tape_end(tape);
}

static tensor *sum_squares(gantry_scope_t *s, tensor *const *gradients) {
    tensor *sum = NULL;
    for (int i = 0; i < SOURCES; ++i) {
        tensor *part = gantry_sum(s, gantry_mul(s, gradients[i], gradients[i]), NULL);
        sum = sum ? gantry_add(s, sum, part) : part;
    }
    return sum;
}

static tensor *run_program(test_t *t, gantry_scope_t *s, tensor *const *in) {
    tensor *y = NULL;
    if (!t->callee) return fuzz_run_main(&t->run, s, in);
    (void)gantry_function_call(s, t->callee, in, FUZZ_INPUTS, &y, 1);
    return y;
}

static void take_program(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    out[0] = fuzz_run_main(user, s, in);
}

static void take_step(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    test_t *t = user;
    gantry_source_t sources[SOURCES];
    list_sources(t, in, sources);
    gantry_tape_t *outer = t->order > 1 ? begin_tape(s, sources) : NULL;
    gantry_tape_t *inner = t->order > 0 ? begin_tape(s, sources) : NULL;
    out[0] = run_program(t, s, in);
    end_tape(inner, out[0], sources, out + 1);
    if (outer) end_tape(outer, sum_squares(s, out + 1), sources, out + 1);
}

/* ---- ways to run it ---- */

static void make_inputs(const test_t *t, gantry_scope_t *s, tensor **in) {
    for (int i = 0; i < FUZZ_INPUTS; ++i)
        in[i] = gantry_constant(s, GANTRY_FLOAT64, fuzz_shape(source_types[i]), t->point.of[i],
                                elements_of(source_types[i]) * sizeof(double));
}

static gantry_status_t read_result(tensor *const *out, int count, result_t *result) {
    for (int i = 0; i < count; ++i) {
        const size_t bytes = elements_of(i == 0 ? 0 : source_types[i - 1]) * sizeof(double);
        const gantry_status_t status = gantry_tensor_read(out[i], result->values[i], bytes);
        if (status != GANTRY_OK) return status;
    }
    return GANTRY_OK;
}

static gantry_status_t run_here(test_t *t, gantry_scope_t *s, int order, result_t *result) {
    tensor *in[FUZZ_INPUTS], *out[OUTPUTS] = {NULL};
    t->order = order;
    make_inputs(t, s, in);
    if (order == 0)
        take_program(s, in, out, &t->run);
    else
        take_step(s, in, out, t);
    if (gantry_scope_status(s) != GANTRY_OK) return gantry_scope_status(s);
    return read_result(out, order > 0 ? OUTPUTS : 1, result);
}

static gantry_status_t trace(const test_t *t, gantry_function_body_fn body, void *user,
                             size_t outputs, gantry_function_t **out) {
    gantry_input_spec_t specs[FUZZ_INPUTS];
    for (int i = 0; i < FUZZ_INPUTS; ++i)
        specs[i] = (gantry_input_spec_t){NULL, GANTRY_FLOAT64, fuzz_shape(source_types[i])};
    return gantry_function_trace(t->runtime, "program", body, user, specs, FUZZ_INPUTS, outputs,
                                 NULL, out);
}

static gantry_status_t run_traced(test_t *t, gantry_scope_t *s, int order, result_t *result) {
    tensor *in[FUZZ_INPUTS], *out[OUTPUTS] = {NULL};
    gantry_function_t *function = NULL;
    t->order = order;
    gantry_status_t status = trace(t, take_step, t, OUTPUTS, &function);
    if (status != GANTRY_OK) return status;
    make_inputs(t, s, in);
    status = gantry_function_call(s, function, in, FUZZ_INPUTS, out, OUTPUTS);
    if (status == GANTRY_OK) status = read_result(out, OUTPUTS, result);
    gantry_function_release(function);
    return status;
}

typedef enum way_t {
    EAGER,
    INSIDE,
    OUTSIDE,
    NESTED,
    DESCRIBED,
    DESCRIBED_NESTED,
    SECOND_EAGER,
    SECOND_INSIDE,
    SECOND_OUTSIDE,
    SECOND_DESCRIBED,
    WAYS
} way_t;

static bool is_described(way_t way) {
    return way == DESCRIBED || way == DESCRIBED_NESTED || way == SECOND_DESCRIBED;
}

static bool is_called(way_t way) {
    return way == OUTSIDE || way == NESTED || way == SECOND_OUTSIDE || is_described(way);
}

static bool is_traced(way_t way) {
    return way == INSIDE || way == NESTED || way == SECOND_INSIDE || way == DESCRIBED_NESTED;
}

static const char *const way_names[WAYS] = {
    "eager",        "inside",       "outside",       "nested",         "described",
    "described in", "second eager", "second inside", "second outside", "second described"};

/* The function becomes one of its graph. */
static gantry_status_t describe(gantry_function_t **function) {
    gantry_graph_t *graph;
    gantry_status_t status = gantry_function_get_graph(*function, &graph);
    if (status != GANTRY_OK) return status;
    gantry_function_release(*function);
    *function = NULL;
    status = gantry_function_from_graph(graph, NULL, function);
    gantry_graph_release(graph);
    return status;
}

static gantry_status_t run_way(test_t *t, gantry_scope_t *s, way_t way, result_t *result) {
    const int order = way >= SECOND_EAGER ? 2 : 1;
    gantry_status_t status = GANTRY_OK;
    if (is_called(way)) status = trace(t, take_program, &t->run, 1, &t->callee);
    if (status == GANTRY_OK && is_described(way)) status = describe(&t->callee);
    if (status == GANTRY_OK)
        status = is_traced(way) ? run_traced(t, s, order, result) : run_here(t, s, order, result);
    gantry_function_release(t->callee);
    t->callee = NULL;
    return status;
}

/* ---- a point ---- */

/* The captured tensor is of the scope: the one of the former point has ended. */
static void set_point(test_t *t, gantry_scope_t *s) {
    for (int i = 0; i < FUZZ_VARIABLES; ++i) {
        const int source = FUZZ_INPUTS + i, type = source_types[source];
        tensor *value = gantry_constant(s, GANTRY_FLOAT64, fuzz_shape(type), t->point.of[source],
                                        elements_of(type) * sizeof(double));
        if (t->run.variables[i])
            (void)gantry_variable_assign(s, t->run.variables[i], value);
        else
            t->run.variables[i] = gantry_variable_create(s, value, "w");
    }
    const int type = source_types[SOURCES - 1];
    t->run.captured = gantry_constant(s, GANTRY_FLOAT64, fuzz_shape(type), t->point.of[SOURCES - 1],
                                      elements_of(type) * sizeof(double));
}

/* Begins the program at the point, runs it, and ends all of it. */
static gantry_status_t at_point(test_t *t, way_t way, int order, result_t *result) {
    gantry_scope_t *s = gantry_scope_begin(t->runtime, NULL);
    set_point(t, s);
    gantry_status_t status = fuzz_run_begin(&t->run, &t->program, t->runtime);
    t->run.path = 0;
    if (status == GANTRY_OK)
        status = order == 0 ? run_here(t, s, 0, result) : run_way(t, s, way, result);
    fuzz_run_end(&t->run);
    const gantry_status_t ended = gantry_scope_end(s);
    return status == GANTRY_OK ? ended : status;
}

/* ---- findings ---- */

static bool is_near(double a, double b, double tolerance) {
    return a == b || fabs(a - b) <= tolerance * (1 + fmax(fabs(a), fabs(b)));
}

static bool compare(const result_t *got, const result_t *expected, const char *way) {
    for (int i = 0; i < OUTPUTS; ++i) {
        for (size_t k = 0; k < elements_of(i == 0 ? 0 : source_types[i - 1]); ++k) {
            const double a = got->values[i][k], b = expected->values[i][k];
            if (is_near(a, b, 1e-8)) continue;
            printf("FINDING %s: output %d, element %zu: %.12g, op by op %.12g\n", way, i, k, a, b);
            return true;
        }
    }
    return false;
}

/* The slope by differences; false: the two sides take different paths, or it is not smooth. */
static bool find_slope(test_t *t, double *element, double *out_slope) {
    const double at = *element;
    double slopes[2];
    for (int k = 0; k < 2; ++k) {
        const double h = k == 0 ? 1e-5 : 3e-6;
        result_t above = {{{0}}}, under = {{{0}}};
        *element = at + h;
        bool is_good = at_point(t, EAGER, 0, &above) == GANTRY_OK;
        const uint64_t path = t->run.path;
        *element = at - h;
        is_good = at_point(t, EAGER, 0, &under) == GANTRY_OK && is_good && t->run.path == path;
        *element = at;
        if (!is_good) return false;
        slopes[k] = (above.values[0][0] - under.values[0][0]) / (2 * h);
    }
    *out_slope = slopes[1];
    return is_near(slopes[0], slopes[1], 1e-6);
}

static bool compare_slopes(test_t *t, const result_t *expected, uint64_t *slopes) {
    for (int i = 0; i < SOURCES; ++i) {
        for (size_t k = 0; k < elements_of(source_types[i]); ++k) {
            double slope;
            if (!find_slope(t, &t->point.of[i][k], &slope)) continue;
            ++*slopes;
            if (is_near(slope, expected->values[1 + i][k], 3e-6)) continue;
            printf("FINDING slope: source %d, element %zu: %.12g by differences, gradient %.12g\n",
                   i, k, slope, expected->values[1 + i][k]);
            return true;
        }
    }
    return false;
}

/* ---- all programs ---- */

static bool fail(const char *way, gantry_status_t status) {
    printf("FINDING %s: %s: %s\n", way, gantry_status_name(status), gantry_last_message());
    return true;
}

/* A gradient in the program is a plain loop of its graph, whose gradient is refused; so is that of
 * a node whose gradient was the program's own. */
static bool is_refused_there(void) {
    return strstr(gantry_last_message(), "a size depends on data") ||
           strstr(gantry_last_message(), "refuses a gradient: that of its body was");
}

static bool try_ways(test_t *t, uint64_t *slopes) {
    result_t results[WAYS];
    memset(results, 0, sizeof results);
    for (int way = 0; way < WAYS; ++way) {
        const gantry_status_t status = at_point(t, (way_t)way, 1, &results[way]);
        if (status == GANTRY_UNIMPLEMENTED && is_described((way_t)way) && is_refused_there())
            continue;
        if (status != GANTRY_OK) return fail(way_names[way], status);
        const result_t *expected = &results[way >= SECOND_EAGER ? SECOND_EAGER : EAGER];
        if (compare(&results[way], expected, way_names[way])) return true;
    }
    return !t->program.is_stopped && compare_slopes(t, &results[EAGER], slopes);
}

static bool try_program(gantry_runtime_t *runtime, const options_t *o, uint64_t number,
                        uint64_t *slopes) {
    fuzz_random_t random = fuzz_random_of(o->seed, number);
    test_t t = {.runtime = runtime};
    if (!fuzz_program_make(&t.program, &random, (int)o->size)) abort();
    for (int i = 0; i < SOURCES; ++i)
        for (int k = 0; k < MOST_ELEMENTS; ++k)
            t.point.of[i][k] = (double)(fuzz_random(&random) >> 11) * 0x1p-52 - 1;
    (void)snprintf(fuzz_current, sizeof fuzz_current,
                   "--seed %" PRIu64 " --first %" PRIu64 " --programs 1 --size %" PRIu64, o->seed,
                   number, o->size);
    (void)alarm(HANG_SECONDS);
    if (o->verbose) fuzz_program_print(&t.program);
    const bool is_finding = try_ways(&t, slopes);
    if (is_finding) printf("    again: %s\n", fuzz_current);
    for (int i = 0; i < FUZZ_VARIABLES; ++i) gantry_variable_release(t.run.variables[i]);
    fuzz_program_free(&t.program);
    return is_finding;
}

static int fuzz(gantry_runtime_t *runtime, const options_t *o) {
    uint64_t number = o->first, slopes = 0;
    int findings = 0;
    const double end = fuzz_now() + o->seconds;
    while ((o->programs ? number < o->first + o->programs : fuzz_now() < end) &&
           findings < MOST_FINDINGS)
        findings += try_program(runtime, o, number++, &slopes);
    (void)alarm(0);
    printf("seed %" PRIu64 ": %" PRIu64 " programs, %" PRIu64 " slopes, %d findings\n", o->seed,
           number - o->first, slopes, findings);
    if (slopes == 0) printf("no slope was compared\n");
    return findings > 0 || (slopes == 0 && number > o->first + 1);
}

int main(int argc, char **argv) {
    options_t options = {.seconds = 60, .seed = 1, .size = 14};
    const fuzz_word_t words[] = {
        {"--seconds", "N", FUZZ_WORD_SECONDS, &options.seconds},
        {"--programs", "N", FUZZ_WORD_NUMBER, &options.programs},
        {"--seed", "N", FUZZ_WORD_NUMBER, &options.seed},
        {"--first", "N", FUZZ_WORD_NUMBER, &options.first},
        {"--size", "N", FUZZ_WORD_NUMBER, &options.size},
        {"--verbose", NULL, FUZZ_WORD_FLAG, &options.verbose},
    };
    if (!fuzz_parse("fuzz_gradients", argc, argv, words, sizeof words / sizeof words[0])) return 2;
    if (options.size < 1 || options.size > MOST_SIZE) {
        fprintf(stderr, "fuzz_gradients: --size %" PRIu64 "; accepted is 1 to %d\n", options.size,
                MOST_SIZE);
        return 2;
    }
    const gantry_runtime_options_t runtime_options = {.struct_size = sizeof runtime_options,
                                                      .backends = "cpu"};
    gantry_runtime_t *runtime = NULL;
    if (gantry_runtime_create(&runtime_options, &runtime) != GANTRY_OK) {
        fprintf(stderr, "fuzz_gradients: %s\n", gantry_last_message());
        return 2;
    }
    fuzz_watch("fuzz_gradients");
    const int code = fuzz(runtime, &options);
    gantry_runtime_release(runtime);
    return code;
}
