/* SPDX-License-Identifier: Apache-2.0 */
/* A chain of elementwise ops as one fused program, and as ops one by one: 20 ops over 1 Mi and over
 * 4 float32 elements, on the CPU backend and on a card, or a processor in its place, if OpenCL
 * shows one. The fused op comes through the whole way of an op, too: its inference checks the
 * program. */
#include <gantry/gantry.h>
#include <stdio.h>
#include <string.h>

#include "internal.h"
#include "op/fused_program.h"

#define OPS 20
#define MOST 1048576

typedef struct chain_t {
    gantry_runtime_t *runtime;
    const char *device;
    const gantry_tensor_t *x, *y;
    gantry_scope_t *scope; /* owns x and y */
} chain_t;

/* x * y, + y, * y, + y, ... */
static bool run_apart(void *subject, int calls) {
    const chain_t *chain = subject;
    for (int i = 0; i < calls; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(chain->runtime, chain->device);
        const gantry_tensor_t *value = chain->x;
        for (int k = 0; k < OPS; ++k) {
            const gantry_tensor_t *last = value;
            value =
                k % 2 == 0 ? gantry_mul(scope, last, chain->y) : gantry_add(scope, last, chain->y);
        }
        if (gantry_tensor_wait(value) != GANTRY_OK) return false;
        if (gantry_scope_end(scope) != GANTRY_OK) return false;
    }
    return true;
}

static bool run_fused(void *subject, int calls) {
    const chain_t *chain = subject;
    const gantry_tensor_t *inputs[] = {chain->x, chain->y};
    int64_t program[OPS * GANTRY__FUSED_WORDS], outputs[] = {OPS - 1};
    for (int k = 0; k < OPS; ++k) {
        int64_t *in = program + k * GANTRY__FUSED_WORDS;
        in[0] = k % 2 == 0 ? GANTRY__FUSED_Mul : GANTRY__FUSED_Add;
        in[1] = GANTRY_FLOAT32;
        in[2] = -k; /* the result of instruction k - 1; of the first, input 0 */
        in[3] = 1;
        in[4] = 0;
    }
    const gantry_attr_value_t attrs[] = {
        {.name = "program",
         .kind = GANTRY_ATTR_INTS,
         .i = OPS * GANTRY__FUSED_WORDS,
         .list = program},
        {.name = "outputs", .kind = GANTRY_ATTR_INTS, .i = 1, .list = outputs}};
    for (int i = 0; i < calls; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(chain->runtime, chain->device);
        const gantry_tensor_t *out;
        size_t count = 1;
        (void)gantry_op_call(scope, "_FusedElementwise", inputs, 2, attrs, 2, &out, &count);
        if (gantry_tensor_wait(out) != GANTRY_OK) return false;
        if (gantry_scope_end(scope) != GANTRY_OK) return false;
    }
    return true;
}

static bool measure(bench_report_t *report, gantry_runtime_t *runtime, const char *device,
                    int64_t count, const char *work, int rounds) {
    static float values[MOST];
    const bool is_cpu = strcmp(device, "/CPU:0") == 0;
    chain_t chain = {
        .runtime = runtime, .device = device, .scope = gantry_scope_begin(runtime, device)};
    for (int64_t i = 0; i < count; ++i) values[i] = 0.5f + (float)(i % 7) / 16.0f;
    chain.x = gantry_constant(chain.scope, GANTRY_FLOAT32, GANTRY_SHAPE(count), values,
                              (size_t)count * sizeof *values);
    chain.y = gantry_constant(chain.scope, GANTRY_FLOAT32, GANTRY_SHAPE(count), values,
                              (size_t)count * sizeof *values);
    bench_contender_t contenders[] = {
        {.name = is_cpu ? "fused" : "fused, OpenCL", .run = run_fused, .subject = &chain},
        {.name = is_cpu ? "one by one" : "one by one, OpenCL",
         .run = run_apart,
         .subject = &chain}};
    if (chain.x && chain.y) {
        bench_interleave(contenders, 2, rounds, bench_calls_for(contenders, 2, 50, 10000));
        const bench_measure_t measure_ = {.subject = "chain of 20",
                                          .work = work,
                                          .unit = "us",
                                          .per_second = 1e6,
                                          .reference = &contenders[1]};
        bench_report_contenders(report, &measure_, contenders, 2, 0);
    }
    return gantry_scope_end(chain.scope) == GANTRY_OK;
}

void bench_fused(bench_report_t *report, int rounds) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .opencl_cpu_as_gpu = GANTRY_ON};
    gantry_runtime_t *runtime;
    bool done = gantry_runtime_create(&options, &runtime) == GANTRY_OK;
    size_t cards = 0;
    if (done) (void)gantry_list_logical_devices(runtime, "GPU", 0, NULL, &cards);
    for (size_t d = 0; d < (cards > 0 ? 2 : 1); ++d) {
        const char *device = d == 0 ? "/CPU:0" : "/GPU:0";
        done = done && measure(report, runtime, device, 4, "float32, 4 elements", rounds) &&
               measure(report, runtime, device, MOST, "float32, 1048576 elements", rounds);
    }
    if (!done) (void)fprintf(stderr, "fused: %s\n", gantry_last_message());
    gantry_runtime_release(runtime);
}
