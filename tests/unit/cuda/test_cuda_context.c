/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: An op asks the driver for little: it records no event before somebody waits, and pushes
 * the card's context only in a thread that has another one, which it has again afterwards. */
#define _GNU_SOURCE
#include "cuda_machine.h"
#include "test.h"

#define OPS 10

typedef struct driver_t {
    int (*cuDevicePrimaryCtxRetain)(void **context, int device);
    int (*cuDevicePrimaryCtxRelease_v2)(int device);
    int (*cuCtxPushCurrent_v2)(void *context);
    int (*cuCtxPopCurrent_v2)(void **context);
    int (*cuCtxGetCurrent)(void **context);
} driver_t;

static void find(const char *name, void *slot) {
    void *library = dlopen(STAND_IN("libcuda"), RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, name) : NULL;
    EXPECT(symbol, "no %s", name);
    if (!symbol) _exit(1);
    memcpy(slot, &symbol, sizeof symbol);
}

static driver_t open_driver(void) {
    driver_t driver;
    find("cuDevicePrimaryCtxRetain", &driver.cuDevicePrimaryCtxRetain);
    find("cuDevicePrimaryCtxRelease_v2", &driver.cuDevicePrimaryCtxRelease_v2);
    find("cuCtxPushCurrent_v2", &driver.cuCtxPushCurrent_v2);
    find("cuCtxPopCurrent_v2", &driver.cuCtxPopCurrent_v2);
    find("cuCtxGetCurrent", &driver.cuCtxGetCurrent);
    return driver;
}

/* Calls of the driver by OPS ops in a row. */
static void count(gantry_scope_t *scope, const gantry_tensor_t *x, const char *function,
                  uint64_t wanted) {
    const uint64_t before = control()->calls(function);
    for (int i = 0; i < OPS; ++i) gantry_tensor_drop(scope, gantry_add(scope, x, x));
    const uint64_t calls = control()->calls(function) - before;
    EXPECT(calls == wanted, "%llu calls of %s, not %llu", (unsigned long long)calls,
           function ? function : "the driver", (unsigned long long)wanted);
}

static const gantry_tensor_t *make_input(gantry_scope_t *scope) {
    const float values[] = {1, 2, 3, 4};
    const gantry_tensor_t *x =
        gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), values, sizeof values);
    const gantry_tensor_t *sum = gantry_add(scope, x, x); /* builds the program */
    EXPECT(sum && gantry_tensor_wait(sum) == GANTRY_OK, "%s", gantry_last_message());
    gantry_tensor_drop(scope, sum);
    return x;
}

static void an_op_is_a_launch_in_its_context(machine_t *m) {
    machine_open(m);
    const driver_t driver = open_driver();
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
    const gantry_tensor_t *x = make_input(scope);
    void *context = NULL, *current = &current;
    EXPECT(driver.cuCtxGetCurrent(&current) == 0 && !current, "a context is left behind");
    count(scope, x, "cuLaunchKernel", OPS);
    count(scope, x, "cuEventRecord", 0);
    count(scope, x, "cuCtxPushCurrent_v2", OPS);
    count(scope, x, "cuCtxPopCurrent_v2", OPS);
    count(scope, x, NULL, 4 * OPS);
    EXPECT(driver.cuDevicePrimaryCtxRetain(&context, 0) == 0, "no context");
    EXPECT(driver.cuCtxPushCurrent_v2(context) == 0, "no context");
    count(scope, x, "cuCtxPushCurrent_v2", 0);
    count(scope, x, "cuCtxPopCurrent_v2", 0);
    count(scope, x, NULL, 2 * OPS);
    EXPECT(driver.cuCtxGetCurrent(&current) == 0 && current == context, "another context");
    EXPECT(driver.cuCtxPopCurrent_v2(&current) == 0 && current == context, "another context");
    (void)gantry_scope_end(scope);
    EXPECT(driver.cuDevicePrimaryCtxRelease_v2(0) == 0, "the context is gone");
}

/* The thread has the context of another card. */
static void another_context_comes_back(machine_t *m) {
    machine_open(m);
    const driver_t driver = open_driver();
    gantry_scope_t *scope = gantry_scope_begin(m->runtime, "GPU:0");
    const gantry_tensor_t *x = make_input(scope);
    void *context = NULL, *current = NULL;
    EXPECT(driver.cuDevicePrimaryCtxRetain(&context, 1) == 0, "no context");
    EXPECT(driver.cuCtxPushCurrent_v2(context) == 0, "no context");
    count(scope, x, "cuCtxPushCurrent_v2", OPS);
    expect_computes(m, "GPU:0");
    EXPECT(driver.cuCtxGetCurrent(&current) == 0 && current == context, "another context");
    EXPECT(driver.cuCtxPopCurrent_v2(&current) == 0 && current == context, "another context");
    (void)gantry_scope_end(scope);
    EXPECT(driver.cuDevicePrimaryCtxRelease_v2(1) == 0, "the context is gone");
}

TEST(ops_in_a_row) { on_machine("devices=1", an_op_is_a_launch_in_its_context); }

TEST(ops_among_contexts) { on_machine("devices=2", another_context_comes_back); }

int main(void) { return test_main_with(set_up, NULL, NULL, NULL); }
