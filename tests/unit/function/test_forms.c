/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The CPU backend packs a constant operand of a product or convolution once for
 * all calls, traces and frames of all functions, and the results have the bits of the ops one by
 * one.
 * Promise: Packed constants are the device's memory. gantry_function_trim and a device
 * that runs out of memory free them, later calls pack them again, and they end with the functions.
 * Promise: A constant and a bitcast of it to elements of another size are packed apart, because
 * they have the same bytes and other panels.
 * Promise: A packed constant that would leave less than half of the memory limit free is
 * not kept.
 * Promise: Several threads that call functions of one constant at a time pack it once.
 * Promise: A call whose packed constant finds no host memory gives the same results.
 * Promise: Where a rule chooses what multiplies, a product of a constant has the bits of the op.
 */
#define _XOPEN_SOURCE 700

#include <pthread.h>
#include <stdatomic.h>

#include "function_fixture.h"
#include "sanitized.h"
#include "test.h"

typedef const gantry_tensor_t tensor;

enum { MOST_ELEMENTS = 1 << 20 };

/* A body that multiplies by a constant from outside. */
typedef struct product_t {
    const char *name;
    tensor *(*multiply)(gantry_scope_t *scope, tensor *x, tensor *w);
    gantry_dtype_t dtype;
    gantry_shape_t x, w; /* x: the first size is that of the call */
} product_t;

static tensor *multiply(gantry_scope_t *scope, tensor *x, tensor *w) {
    return gantry_matmul(scope, x, w, NULL);
}

static tensor *multiply_turned(gantry_scope_t *scope, tensor *x, tensor *w) {
    const gantry_matmul_options_t options = {.transpose_b = true};
    return gantry_matmul(scope, x, w, &options);
}

static tensor *multiply_from_left(gantry_scope_t *scope, tensor *x, tensor *w) {
    const gantry_matmul_options_t options = {.transpose_b = true};
    return gantry_matmul(scope, w, x, &options);
}

static tensor *multiply_bytes(gantry_scope_t *scope, tensor *x, tensor *w) {
    return gantry_matmul_integer(
        scope, x, w, NULL, gantry_constant(scope, GANTRY_UINT8, GANTRY_SCALAR, "\3", 1), NULL);
}

static tensor *multiply_turned_bytes(gantry_scope_t *scope, tensor *x, tensor *w) {
    const gantry_matmul_options_t options = {.transpose_b = true};
    return gantry_matmul_integer(scope, x, w, NULL, NULL, &options);
}

static tensor *convolve(gantry_scope_t *scope, tensor *x, tensor *w) {
    return gantry_conv2d(scope, x, w, NULL);
}

static const product_t products[] = {
    {"rows", multiply, GANTRY_FLOAT32, {2, {0, 300}}, {2, {300, 50}}},
    {"wide", multiply, GANTRY_FLOAT32, {2, {0, 520}}, {2, {520, 2100}}},
    {"turned", multiply_turned, GANTRY_FLOAT32, {2, {0, 300}}, {2, {50, 300}}},
    {"doubles", multiply, GANTRY_FLOAT64, {2, {0, 300}}, {2, {300, 50}}},
    {"from the left", multiply_from_left, GANTRY_FLOAT32, {2, {0, 300}}, {2, {50, 300}}},
    {"bytes", multiply_bytes, GANTRY_UINT8, {2, {0, 301}}, {2, {301, 50}}},
    {"turned bytes", multiply_turned_bytes, GANTRY_UINT8, {2, {0, 301}}, {2, {50, 301}}},
    {"3x3", convolve, GANTRY_FLOAT32, {4, {0, 9, 7, 5}}, {4, {3, 3, 5, 20}}},
    {"narrow", convolve, GANTRY_FLOAT32, {4, {0, 9, 7, 5}}, {4, {3, 3, 5, 6}}},
    {"few", convolve, GANTRY_FLOAT32, {4, {0, 9, 7, 16}}, {4, {3, 3, 16, 2}}}};

enum { PRODUCTS = sizeof products / sizeof products[0] };

static tensor *make(gantry_scope_t *scope, gantry_dtype_t dtype, gantry_shape_t shape,
                    uint32_t seed) {
    const size_t count = (size_t)gantry_shape_elements(&shape), size = gantry_dtype_size(dtype);
    unsigned char *values = malloc(count * size);
    assert_non_null(values);
    for (size_t i = 0; i < count; ++i) {
        seed = seed * UINT32_C(1664525) + UINT32_C(1013904223);
        const double number = (double)(seed >> 8) / (1 << 23) - 1;
        const float single = (float)number;
        if (size == 1) values[i] = (unsigned char)(seed >> 24);
        if (size == 4) memcpy(values + i * size, &single, size);
        if (size == 8) memcpy(values + i * size, &number, size);
    }
    tensor *made = gantry_constant(scope, dtype, shape, values, count * size);
    free(values);
    return made;
}

typedef struct body_t {
    const product_t *product;
    tensor *w;
} body_t;

static void product_body(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                         void *user) {
    const body_t *body = user;
    outputs[0] = body->product->multiply(scope, inputs[0], body->w);
}

static uint64_t made(const runtime_fixture_t *f) {
    return atomic_load(&f->runtime->devices.keepers.forms.made);
}

static uint64_t memory_in_use(const runtime_fixture_t *f) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(f->runtime, "CPU:0", &info), GANTRY_OK);
    return info.requested_bytes;
}

static gantry_function_t *trace(runtime_fixture_t *f, body_t *body) {
    gantry_input_spec_t input = {NULL, body->product->dtype, body->product->x};
    input.shape.dims[0] = -1;
    return function_fixture_trace(f->runtime, product_body, body, &input, 1, 1, NULL);
}

static void read_all(tensor *from, unsigned char *to, size_t *out_bytes) {
    const gantry_shape_t *shape = gantry_tensor_shape(from);
    *out_bytes =
        (size_t)gantry_shape_elements(shape) * gantry_dtype_size(gantry_tensor_dtype(from));
    assert_in_range(*out_bytes, 1, MOST_ELEMENTS);
    if (gantry_tensor_read(from, to, *out_bytes) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

/* Calls the function with `rows` rows, and compares its result with that of the op. */
static void expect_bits(runtime_fixture_t *f, gantry_function_t *function, const body_t *body,
                        int64_t rows) {
    static unsigned char got[MOST_ELEMENTS], wanted[MOST_ELEMENTS];
    size_t got_bytes, wanted_bytes;
    gantry_shape_t shape = body->product->x;
    shape.dims[0] = rows;
    gantry_scope_t *scope = runtime_fixture_scope(f, "CPU:0");
    tensor *x = make(scope, body->product->dtype, shape, (uint32_t)rows), *y;
    function_fixture_call(scope, function, &x, 1, &y, 1);
    read_all(y, got, &got_bytes);
    read_all(body->product->multiply(scope, x, body->w), wanted, &wanted_bytes);
    assert_int_equal(got_bytes, wanted_bytes);
    if (memcmp(got, wanted, got_bytes) != 0)
        fail_msg("%s, %d rows: other bits", body->product->name, (int)rows);
    expect_ended_well(scope);
}

TEST(a_constant_is_packed_once) {
    static const int64_t rows[] = {7, 7, 25, 7, 1, 13, 25};
    for (size_t p = 0; p < PRODUCTS; ++p) {
        runtime_fixture_t f;
        runtime_fixture_open(&f, 0);
        gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
        body_t body = {&products[p], make(scope, products[p].dtype, products[p].w, 5)};
        gantry_function_t *function = trace(&f, &body), *second = trace(&f, &body);
        const uint64_t before = memory_in_use(&f);
        for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
            expect_bits(&f, function, &body, rows[i]);
            expect_bits(&f, second, &body, rows[i]);
            if (made(&f) != 1)
                fail_msg("%s, %d rows: packed %d times", products[p].name, (int)rows[i],
                         (int)made(&f));
        }
        assert_true(memory_in_use(&f) > before);
        gantry_function_release(function);
        expect_bits(&f, second, &body, 7);
        assert_int_equal(made(&f), 1);
        gantry_function_release(second);
        assert_int_equal(memory_in_use(&f), before);
        expect_ended_well(scope);
        runtime_fixture_close(&f);
    }
}

/* The constant's bytes are float32 [600, 64]. */
static tensor *multiply_halves(gantry_scope_t *scope, tensor *x, tensor *w) {
    tensor *halves = gantry_bitcast(scope, w, GANTRY_FLOAT32);
    return gantry_matmul(scope, x, gantry_reshape(scope, halves, GANTRY_SHAPE(600, 64)), NULL);
}

TEST(a_bitcast_is_packed_apart) {
    static const product_t whole = {
        "whole", multiply, GANTRY_FLOAT64, {2, {0, 300}}, {2, {300, 64}}};
    static const product_t halves = {
        "halves", multiply_halves, GANTRY_FLOAT32, {2, {0, 600}}, {2, {600, 64}}};
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    tensor *w = make(scope, GANTRY_FLOAT64, whole.w, 5);
    body_t bodies[2] = {{&whole, w}, {&halves, w}};
    gantry_function_t *functions[2] = {trace(&f, &bodies[0]), trace(&f, &bodies[1])};
    for (int i = 0; i < 4; ++i) expect_bits(&f, functions[i % 2], &bodies[i % 2], 40);
    assert_int_equal(made(&f), 2);
    for (int i = 0; i < 2; ++i) gantry_function_release(functions[i]);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

TEST(a_trim_frees_what_is_packed) {
    runtime_fixture_t f;
    uint64_t bytes;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    body_t body = {&products[1], make(scope, GANTRY_FLOAT32, products[1].w, 5)};
    gantry_function_t *function = trace(&f, &body);
    const uint64_t before = memory_in_use(&f);
    for (uint64_t i = 1; i <= 3; ++i) {
        expect_bits(&f, function, &body, 7);
        expect_bits(&f, function, &body, 9);
        assert_int_equal(made(&f), i);
        const uint64_t used = memory_in_use(&f);
        assert_true(used >= before + sizeof(float) * 520 * 2100);
        assert_int_equal(gantry_function_trim(function, &bytes), GANTRY_OK);
        assert_int_equal(bytes, used - before);
        assert_int_equal(memory_in_use(&f), before);
    }
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* The constant has 4.4 MB, so that a limit of 20 MiB leaves half free, and one of 16 does not. */
static uint64_t packed_within(uint64_t limit_bytes, bool then_fills) {
    runtime_fixture_t f;
    fake->set_device_count(0);
    gantry_runtime_options_t options = runtime_fixture_options(&f);
    options.memory_limit_bytes = limit_bytes;
    runtime_fixture_open_with(&f, &options);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    body_t body = {&products[1], make(scope, GANTRY_FLOAT32, products[1].w, 5)};
    gantry_function_t *function = trace(&f, &body);
    expect_bits(&f, function, &body, 7);
    expect_bits(&f, function, &body, 7);
    const uint64_t count = made(&f);
    if (then_fills) { /* what functions keep makes room */
        gantry_scope_t *inner = runtime_fixture_scope(&f, "CPU:0");
        assert_non_null(gantry_ones(inner, GANTRY_FLOAT32, GANTRY_SHAPE((12 << 20) / 4)));
        expect_ended_well(inner);
        expect_bits(&f, function, &body, 7);
        assert_int_equal(made(&f), count + 1);
    }
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
    return count;
}

TEST(half_of_the_limit_stays_free) {
    assert_int_equal(packed_within(UINT64_C(20) << 20, false), 1);
    assert_int_equal(packed_within(UINT64_C(16) << 20, false), 0);
}

TEST(a_device_that_runs_out_takes_what_is_packed) {
    assert_int_equal(packed_within(UINT64_C(20) << 20, true), 1);
}

/* ---- threads ---- */

enum { CALLERS = 4, CALLS = FEWER_FOR_SANITIZERS(60, 10) };

typedef struct caller_t {
    runtime_fixture_t *f;
    gantry_function_t *function;
    const unsigned char *wanted;
    size_t bytes;
    int wrong;
} caller_t;

static void *call_often(void *argument) {
    caller_t *caller = argument;
    unsigned char *got = malloc(caller->bytes);
    for (int i = 0; i < CALLS && got; ++i) {
        gantry_scope_t *scope = gantry_scope_begin(caller->f->runtime, "CPU:0");
        tensor *x = make(scope, GANTRY_FLOAT32, GANTRY_SHAPE(7, 520), 7), *y;
        if (gantry_function_call(scope, caller->function, &x, 1, &y, 1) != GANTRY_OK ||
            gantry_tensor_read(y, got, caller->bytes) != GANTRY_OK ||
            memcmp(got, caller->wanted, caller->bytes) != 0)
            ++caller->wrong;
        if (gantry_scope_end(scope) != GANTRY_OK) ++caller->wrong;
    }
    if (!got) ++caller->wrong;
    free(got);
    return NULL;
}

TEST(threads_pack_a_constant_once) {
    static unsigned char wanted[MOST_ELEMENTS];
    runtime_fixture_t f;
    pthread_t threads[CALLERS];
    caller_t callers[CALLERS];
    size_t bytes;
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    body_t body = {&products[1], make(scope, GANTRY_FLOAT32, products[1].w, 5)};
    gantry_function_t *functions[2] = {trace(&f, &body), trace(&f, &body)};
    read_all(multiply(scope, make(scope, GANTRY_FLOAT32, GANTRY_SHAPE(7, 520), 7), body.w), wanted,
             &bytes);
    for (int i = 0; i < CALLERS; ++i) {
        callers[i] = (caller_t){&f, functions[i % 2], wanted, bytes, 0};
        assert_int_equal(pthread_create(&threads[i], NULL, call_often, &callers[i]), 0);
    }
    for (int i = 0; i < CALLERS; ++i) {
        (void)pthread_join(threads[i], NULL);
        assert_int_equal(callers[i].wrong, 0);
    }
    assert_int_equal(made(&f), 1);
    for (int i = 0; i < 2; ++i) gantry_function_release(functions[i]);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* ---- without memory ---- */

static gantry_status_t call_once(gantry_scope_t *scope) {
    gantry_runtime_t *runtime = gantry_scope_runtime(scope);
    static const float w[40 * 30] = {1, 2, 3}, x[7 * 40] = {1};
    body_t body = {&products[0],
                   gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(40, 30), w, sizeof w)};
    tensor *given = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(7, 40), x, sizeof x), *y;
    const gantry_input_spec_t input = SPEC_F32(7, 40);
    gantry_function_t *function = NULL;
    gantry_status_t status = gantry_scope_status(scope);
    if (status == GANTRY_OK)
        status =
            gantry_function_trace(runtime, "f", product_body, &body, &input, 1, 1, NULL, &function);
    for (int i = 0; i < 2 && status == GANTRY_OK; ++i)
        status = gantry_function_call(scope, function, &given, 1, &y, 1);
    float got[7 * 30];
    if (status == GANTRY_OK) status = gantry_tensor_read(y, got, sizeof got);
    if (status == GANTRY_OK && (got[1] < 2 || got[1] > 2)) status = GANTRY_INTERNAL;
    gantry_function_release(function);
    return status;
}

TEST(a_call_without_host_memory_for_its_form) {
    runtime_fixture_starve_each(0, "CPU:0", call_once);
}

TEST(the_rule_of_few_rows_knows_no_constant) {
    runtime_fixture_t f;
    (void)setenv("GANTRY_CPU_MATMUL", "auto", 1);
    runtime_fixture_open(&f, 0);
    gantry_scope_t *scope = runtime_fixture_scope(&f, "CPU:0");
    body_t body = {&products[1], make(scope, GANTRY_FLOAT32, products[1].w, 5)};
    gantry_function_t *function = trace(&f, &body);
    for (int64_t rows = 7; rows < 60; rows += 20) expect_bits(&f, function, &body, rows);
    gantry_function_release(function);
    expect_ended_well(scope);
    runtime_fixture_close(&f);
}

/* Libraries pack for themselves. */
static int set_up(void **state) {
    const int code = runtime_fixture_set_up(state);
    (void)setenv("GANTRY_CPU_MATMUL", "own", 1);
    return code;
}

int main(void) { return test_main_each(set_up, runtime_fixture_tear_down); }
