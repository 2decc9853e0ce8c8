/* SPDX-License-Identifier: Apache-2.0 */
/* Measures what work costs on a device: a launch, bytes, operations of a product, and, unless its
 * memory is the host's, transfers each way.
 *
 * A node costs its part of a chain of nodes in one function, so that the cost of the call is small
 * compared with it. Fast devices get longer chains and larger matrices. Each time is the shortest
 * of several runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tune/tune.h"
#include "base/os/thread.h"

#define WHAT "crossover"
#define SAMPLE_NS UINT64_C(100000000)
#define FEWEST_RUNS 5

#define SLOW_S 2e-3 /* a node that takes longer is measured only in short chains */
#define FAST_S 2e-4

enum { SMALL = 256, LARGE = 4 << 20 };        /* elements */
enum { LAUNCHES = 1024, FEW = 4, MANY = 32 }; /* nodes of a chain */
enum { SIDE = 256, LARGE_SIDE = 1024 };       /* of square matrices */

typedef struct chain_t {
    bool is_product;
    int nodes;
} chain_t;

/* ---- chains ---- */

static void chain_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    const chain_t *chain = user;
    const gantry_tensor_t *last = inputs[0];
    for (int i = 0; i < chain->nodes; ++i)
        last = chain->is_product ? gantry_matmul(scope, last, inputs[1], NULL)
                                 : gantry_add(scope, last, inputs[1]);
    outputs[0] = last;
}

static double shorter(double seconds, uint64_t begin) {
    const double now = 1e-9 * (double)(gantry__now_ns() - begin);
    return seconds < 0 || now < seconds ? now : seconds;
}

static bool is_measured(int run, uint64_t start) {
    return gantry__os_is_asked_to_end() ||
           (run >= FEWEST_RUNS && gantry__now_ns() - start > SAMPLE_NS);
}

/* The shortest call; below 0 after a failure. The first call traces and is not counted. */
static double time_calls(const tune_try_t *tried, gantry_function_t *function,
                         const gantry_tensor_t *const inputs[2]) {
    const uint64_t start = gantry__now_ns();
    double seconds = -1;
    for (int run = 0; !is_measured(run - 1, start); ++run) {
        const gantry_tensor_t *result;
        const uint64_t begin = gantry__now_ns();
        if (gantry_function_call(tried->scope, function, inputs, 2, &result, 1) != GANTRY_OK ||
            gantry_tensor_wait(result) != GANTRY_OK)
            return -1;
        if (run > 0) seconds = shorter(seconds, begin);
        gantry_tensor_drop(tried->scope, result);
    }
    return seconds;
}

static double time_chain(const tune_try_t *tried, const chain_t *chain,
                         const gantry_tensor_t *const inputs[2]) {
    const gantry_input_spec_t one = {NULL, GANTRY_FLOAT32, GANTRY_SHAPE(-1)},
                              two = {NULL, GANTRY_FLOAT32, GANTRY_SHAPE(-1, -1)};
    const gantry_input_spec_t specs[2] = {chain->is_product ? two : one,
                                          chain->is_product ? two : one};
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = GANTRY_PASS_ELEMENTWISE_FUSION};
    chain_t body = *chain;
    gantry_function_t *function;
    if (gantry_function_trace(tried->runtime, WHAT, chain_body, &body, specs, 2, 1, &options,
                              &function) != GANTRY_OK)
        return -1;
    const double seconds = time_calls(tried, function, inputs);
    gantry_function_release(function);
    return seconds;
}

/* Returns the time of one node; below 0 after a failure. */
static double time_adds(const tune_try_t *tried, int64_t elements, int nodes) {
    const gantry_shape_t shape = GANTRY_SHAPE(elements);
    const chain_t chain = {false, nodes};
    const gantry_tensor_t *const inputs[2] = {gantry_ones(tried->scope, GANTRY_FLOAT32, shape),
                                              gantry_zeros(tried->scope, GANTRY_FLOAT32, shape)};
    if (!inputs[0] || !inputs[1]) return -1;
    const double seconds = time_chain(tried, &chain, inputs);
    gantry_tensor_drop(tried->scope, inputs[0]);
    gantry_tensor_drop(tried->scope, inputs[1]);
    return seconds / nodes;
}

static double time_large_adds(const tune_try_t *tried) {
    const double first = time_adds(tried, LARGE, FEW);
    return first < 0 || first > SLOW_S ? first : time_adds(tried, LARGE, MANY);
}

static double time_products(const tune_try_t *tried, int side, int nodes) {
    const gantry_shape_t shape = GANTRY_SHAPE(side, side);
    const chain_t chain = {true, nodes};
    const gantry_tensor_t *const inputs[2] = {gantry_ones(tried->scope, GANTRY_FLOAT32, shape),
                                              gantry_eye(tried->scope, side, side, GANTRY_FLOAT32)};
    if (!inputs[0] || !inputs[1]) return -1;
    const double seconds = time_chain(tried, &chain, inputs);
    gantry_tensor_drop(tried->scope, inputs[0]);
    gantry_tensor_drop(tried->scope, inputs[1]);
    return seconds / nodes;
}

/* The units of a second in thousand millions; a time that is too short to measure counts as 1
 * ns. */
static double rate(double units, double seconds) {
    return 1e-9 * units / (seconds > 1e-9 ? seconds : 1e-9);
}

/* GFLOP/s; below 0 after a failure. */
static double measure_products(const tune_try_t *tried, double launch) {
    const double operations = 2.0 * SIDE * SIDE * SIDE, larger = LARGE_SIDE / SIDE;
    const double first = time_products(tried, SIDE, FEW);
    if (first < 0 || first > SLOW_S) return first < 0 ? -1 : rate(operations, first - launch);
    const double second = time_products(tried, LARGE_SIDE, first < FAST_S ? MANY : 1);
    return second < 0 ? -1 : rate(operations * larger * larger * larger, second - launch);
}

/* ---- transfers ---- */

static double time_to(const tune_try_t *tried, const gantry_tensor_t *host) {
    const uint64_t start = gantry__now_ns();
    double seconds = -1;
    for (int run = 0; !is_measured(run, start); ++run) {
        const uint64_t begin = gantry__now_ns();
        const gantry_tensor_t *there = gantry_identity(tried->scope, host);
        if (!there || gantry_tensor_wait(there) != GANTRY_OK) return -1;
        seconds = shorter(seconds, begin);
        gantry_tensor_drop(tried->scope, there);
    }
    return seconds;
}

static double time_from(const tune_try_t *tried, const gantry_tensor_t *host, float *bytes,
                        size_t size_bytes) {
    const gantry_tensor_t *there = gantry_identity(tried->scope, host);
    const uint64_t start = gantry__now_ns();
    double seconds = -1;
    if (!there || gantry_tensor_wait(there) != GANTRY_OK) return -1;
    for (int run = 0; !is_measured(run, start); ++run) {
        const uint64_t begin = gantry__now_ns();
        if (gantry_tensor_read(there, bytes, size_bytes) != GANTRY_OK) return -1;
        seconds = shorter(seconds, begin);
    }
    gantry_tensor_drop(tried->scope, there);
    return seconds;
}

typedef struct transfers_t {
    double to[2], from[2]; /* small, large */
} transfers_t;

static bool time_transfers(const tune_try_t *tried, transfers_t *out) {
    static const int64_t sizes[2] = {SMALL, LARGE};
    float *bytes = malloc(LARGE * sizeof *bytes);
    gantry_scope_t *host = gantry_scope_begin(tried->runtime, "/CPU:0");
    bool is_good = bytes && host;
    for (int i = 0; i < 2 && is_good; ++i) {
        const gantry_tensor_t *tensor = gantry_ones(host, GANTRY_FLOAT32, GANTRY_SHAPE(sizes[i]));
        out->to[i] = tensor ? time_to(tried, tensor) : -1;
        out->from[i] =
            tensor ? time_from(tried, tensor, bytes, (size_t)sizes[i] * sizeof *bytes) : -1;
        is_good = out->to[i] > 0 && out->from[i] > 0;
    }
    if (host) (void)gantry_scope_end(host);
    free(bytes);
    return is_good;
}

/* ---- the record ---- */

static bool tune_crossover_measure(const tune_try_t *tried, bool has_transfers, char *out,
                                   size_t out_bytes) {
    const double large = LARGE * sizeof(float);
    const double launch = time_adds(tried, SMALL, LAUNCHES);
    const double add = launch < 0 ? -1 : time_large_adds(tried);
    const double gflops = add < 0 ? -1 : measure_products(tried, launch);
    transfers_t times;
    if (gflops < 0 || (has_transfers && !time_transfers(tried, &times))) return false;
    int used =
        snprintf(out, out_bytes, "launch_us=%.3f gbs=%.3f gflops=%.3f",
                 launch > 1e-9 ? 1e6 * launch : 0.001, rate(3 * large, add - launch), gflops);
    if (has_transfers)
        (void)snprintf(out + used, out_bytes - (size_t)used,
                       " to_us=%.3f to_gbs=%.3f from_us=%.3f from_gbs=%.3f", 1e6 * times.to[0],
                       rate(large, times.to[1] - times.to[0]), 1e6 * times.from[0],
                       rate(large, times.from[1] - times.from[0]));
    return true;
}

void tune_crossover(tune_t *tune) {
    const char *none[] = {NULL};
    const bool has_transfers = strcmp(tune->details.backend, "cpu") != 0;
    bool is_first = true;
    char values[256];
    tune_try_t tried;
    if (!tune_begins_class(tune, WHAT, tune->deadline_ns, 1, &is_first)) return;
    if (!tune_try_open(&tried, tune, tune->details.backend, none, NULL)) {
        ++tune->failed;
        return;
    }
    if (tune_crossover_measure(&tried, has_transfers, values, sizeof values)) {
        if (!gantry__os_is_asked_to_end()) tune_save(tune, WHAT, values);
    } else if (!gantry__os_is_asked_to_end()) {
        ++tune->failed;
        (void)fprintf(stderr, "gantry: %s: %s\n", WHAT, gantry_last_message());
    }
    tune_try_close(&tried);
}
