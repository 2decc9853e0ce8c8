/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: The planned memory of a function is at most what its body takes op by op, where each
 * value is dropped after its last use: for an MLP and for random bodies, packed constants apart. */
#define _XOPEN_SOURCE 700

#include "device/form.h"
#include "function_fixture.h"
#include "test.h"

enum { ROWS = 64, WIDTHS = 4, MOST_NODES = 40 };

static uint64_t graphs = 300;

static const int64_t widths[WIDTHS] = {16, 32, 64, 256};

typedef enum node_kind_t { TANH, ADD, MUL, PRODUCT, NODE_KINDS } node_kind_t;

/* Node 0 is the input. Every value is [ROWS, widths[width]]. */
typedef struct body_node_t {
    node_kind_t kind;
    uint32_t left, right; /* nodes; PRODUCT has left alone */
    uint32_t width;
} body_node_t;

typedef struct body_t {
    body_node_t nodes[MOST_NODES];
    uint32_t count;
    gantry_tensor_t *weights[WIDTHS][WIDTHS]; /* of products; from outside */
    bool drops;                               /* op by op: each value after its last use */
} body_t;

/* ---- bodies ---- */

static uint32_t draw(uint64_t *state, uint32_t limit) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(*state >> 33) % limit;
}

/* A node of the width, the newer the likelier. */
static uint32_t draw_node(const body_t *body, uint64_t *state, uint32_t width) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < body->count; ++i) {
        if (body->nodes[i].width == width && draw(state, 3) > 0) found = i;
    }
    return body->nodes[found].width == width ? found : UINT32_MAX;
}

static void draw_body(body_t *body, uint64_t number) {
    uint64_t state = number;
    const uint32_t count = 5 + draw(&state, MOST_NODES - 5);
    body->count = 1;
    body->nodes[0] = (body_node_t){.width = 2};
    while (body->count < count) {
        const node_kind_t kind = (node_kind_t)draw(&state, NODE_KINDS);
        const uint32_t left = draw_node(body, &state, body->nodes[body->count - 1].width),
                       chosen = left == UINT32_MAX ? body->count - 1 : left,
                       width = body->nodes[chosen].width, right = draw_node(body, &state, width);
        body->nodes[body->count++] =
            (body_node_t){.kind = kind,
                          .left = chosen,
                          .right = right == UINT32_MAX ? chosen : right,
                          .width = kind == PRODUCT ? draw(&state, WIDTHS) : width};
    }
}

static void make_mlp(body_t *body) {
    static const uint32_t layers[] = {3, 3, 0};
    body->count = 1;
    body->nodes[0] = (body_node_t){.width = 2};
    for (uint32_t i = 0; i < 3; ++i) {
        body->nodes[body->count] =
            (body_node_t){.kind = PRODUCT, .left = body->count - 1, .width = layers[i]};
        body->nodes[body->count + 1] =
            (body_node_t){.kind = TANH, .left = body->count, .width = layers[i]};
        body->count += 2;
    }
}

static const gantry_tensor_t *run_node(gantry_scope_t *scope, const body_t *body, uint32_t i,
                                       const gantry_tensor_t *const *values) {
    const body_node_t *node = &body->nodes[i];
    const gantry_tensor_t *left = values[node->left], *right = values[node->right];
    switch (node->kind) {
        case TANH: return gantry_tanh(scope, left);
        case ADD: return gantry_add(scope, left, right);
        case MUL: return gantry_mul(scope, left, right);
        default: break;
    }
    return gantry_matmul(scope, left, body->weights[body->nodes[node->left].width][node->width],
                         NULL);
}

static uint32_t last_use(const body_t *body, uint32_t value) {
    uint32_t last = value;
    for (uint32_t i = value + 1; i < body->count; ++i) {
        const body_node_t *node = &body->nodes[i];
        if (node->left == value || (node->kind != PRODUCT && node->right == value)) last = i;
    }
    return value + 1 == body->count ? UINT32_MAX : last;
}

static void run_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    const body_t *body = user;
    const gantry_tensor_t *values[MOST_NODES] = {inputs[0]};
    for (uint32_t i = 1; i < body->count; ++i) {
        values[i] = run_node(scope, body, i, values);
        for (uint32_t k = 1; body->drops && k <= i; ++k) {
            if (last_use(body, k) == i) gantry_tensor_drop(scope, values[k]);
        }
    }
    outputs[0] = values[body->count - 1];
}

/* ---- memory ---- */

static uint64_t bytes_of(const body_t *body, uint32_t node) {
    return (uint64_t)ROWS * (uint64_t)widths[body->nodes[node].width] * sizeof(float);
}

/* The bytes of all values that live at a time, op by op; the input does not count. */
static uint64_t live_peak(const body_t *body) {
    uint64_t peak = 0;
    for (uint32_t i = 1; i < body->count; ++i) {
        uint64_t live = 0;
        for (uint32_t k = 1; k <= i; ++k) {
            if (last_use(body, k) >= i) live += bytes_of(body, k);
        }
        if (live > peak) peak = live;
    }
    return peak;
}

static gantry_function_memory_t planned_by_query(gantry_function_t *function) {
    gantry_function_memory_t memory = {.struct_size = sizeof memory};
    size_t count;
    assert_int_equal(gantry_function_get_memory(function, 1, &memory, &count), GANTRY_OK);
    assert_int_equal(count, 1);
    return memory;
}

static gantry_memory_info_t memory_of(gantry_runtime_t *runtime) {
    gantry_memory_info_t info = {.struct_size = sizeof info};
    assert_int_equal(gantry_get_memory_info(runtime, "CPU:0", &info), GANTRY_OK);
    return info;
}

/* Calls the function; returns the most bytes that were in use, inputs included. */
static uint64_t call_and_watch(gantry_runtime_t *runtime, gantry_function_t *function, float *out) {
    static float values[ROWS * 64];
    gantry_scope_t *scope = gantry_scope_begin(runtime, "CPU:0");
    for (int i = 0; i < ROWS * 64; ++i) values[i] = (float)(i % 13 - 6) * 0.125f;
    const gantry_tensor_t *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(ROWS, 64),
                                               values, sizeof values),
                          *got;
    assert_int_equal(gantry_reset_memory_stats(runtime, "CPU:0"), GANTRY_OK);
    function_fixture_call(scope, function, &x, 1, &got, 1);
    uint64_t peak = memory_of(runtime).peak_bytes;
    for (const gantry__form_t *form = runtime->devices.keepers.forms.first; form; form = form->next)
        peak -= (form->key.bytes + 255) / 256 * 256;
    assert_int_equal(
        gantry_tensor_read(got, out, (size_t)gantry_tensor_elements(got) * sizeof *out), GANTRY_OK);
    expect_ended_well(scope);
    return peak;
}

static gantry_function_t *trace(gantry_runtime_t *runtime, body_t *body, bool is_eager) {
    const gantry_input_spec_t input = SPEC_F32(ROWS, 64);
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .runs_eagerly = is_eager};
    body->drops = is_eager;
    return function_fixture_trace(runtime, run_body, body, &input, 1, 1, &options);
}

/* Between calls the function keeps its arena, so the result of a call comes on top. */
static void check_body(gantry_runtime_t *runtime, body_t *body, uint64_t number) {
    static float eager_values[ROWS * 256], values[ROWS * 256];
    gantry_function_t *eager = trace(runtime, body, true);
    const uint64_t eager_peak = call_and_watch(runtime, eager, eager_values);
    gantry_function_release(eager);
    gantry_function_t *function = trace(runtime, body, false);
    const uint64_t peak = call_and_watch(runtime, function, values), live = live_peak(body),
                   result = bytes_of(body, body->count - 1);
    const gantry_function_memory_t memory = planned_by_query(function);
    gantry_function_release(function);
    assert_memory_equal(values, eager_values, result);
    assert_int_equal(memory.result_bytes, result);
    if (memory.planned_bytes > live || peak > eager_peak + result)
        fail_msg("body %llu: %llu bytes planned, %llu in use; op by op %llu live, %llu in use",
                 (unsigned long long)number, (unsigned long long)memory.planned_bytes,
                 (unsigned long long)peak, (unsigned long long)live,
                 (unsigned long long)eager_peak);
}

static void make_weights(gantry_runtime_t *runtime, body_t *body) {
    static float values[256 * 256];
    for (int i = 0; i < 256 * 256; ++i) values[i] = (float)(i % 7 - 3) * 0.0625f;
    gantry_scope_t *scope = gantry_scope_begin(runtime, "CPU:0");
    for (int i = 0; i < WIDTHS; ++i) {
        for (int k = 0; k < WIDTHS; ++k) {
            const size_t bytes = (size_t)(widths[i] * widths[k]) * sizeof(float);
            body->weights[i][k] = gantry_tensor_retain(gantry_constant(
                scope, GANTRY_FLOAT32, GANTRY_SHAPE(widths[i], widths[k]), values, bytes));
            assert_non_null(body->weights[i][k]);
        }
    }
    expect_ended_well(scope);
}

static void release_weights(body_t *body) {
    for (int i = 0; i < WIDTHS; ++i) {
        for (int k = 0; k < WIDTHS; ++k) gantry_tensor_release(body->weights[i][k]);
    }
}

TEST(mlp_takes_at_most_what_its_ops_take) {
    runtime_fixture_t f;
    body_t body = {.count = 0};
    runtime_fixture_open(&f, 0);
    make_weights(f.runtime, &body);
    make_mlp(&body);
    check_body(f.runtime, &body, 0);
    release_weights(&body);
    runtime_fixture_close(&f);
}

TEST(random_bodies_take_at_most_what_their_ops_take) {
    runtime_fixture_t f;
    body_t body = {.count = 0};
    runtime_fixture_open(&f, 0);
    make_weights(f.runtime, &body);
    for (uint64_t number = 1; number <= graphs; ++number) {
        draw_body(&body, number);
        check_body(f.runtime, &body, number);
    }
    release_weights(&body);
    runtime_fixture_close(&f);
}

/* ---- loops ---- */

static void is_small(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_less(scope, inputs[1], gantry_scalar_i32(scope, 5));
}

/* A Reverse cannot overwrite its input. */
static void turn(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *turned = gantry_reverse(scope, inputs[0], (const int32_t[]){0}, 1);
    turned = gantry_add(scope, turned, inputs[0]);
    outputs[0] = gantry_reverse(scope, turned, (const int32_t[]){0}, 1);
    outputs[1] = gantry_add(scope, inputs[1], gantry_scalar_i32(scope, 1));
}

static void turn_often(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *values[] = {inputs[0], gantry_scalar_i32(scope, 0)};
    (void)gantry_while(scope, is_small, turn, user, values, 2, NULL, values);
    outputs[0] = values[0];
}

TEST(a_loop_takes_at_most_what_the_query_tells) {
    const gantry_input_spec_t input = SPEC_F32(1 << 16);
    runtime_fixture_t f;
    runtime_fixture_open(&f, 0);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, turn_often, NULL, &input, 1, 1, NULL);
    gantry_function_memory_t memory = {.struct_size = sizeof memory};
    gantry_memory_info_t before = {.struct_size = sizeof before}, after = before;
    size_t count;
    assert_int_equal(gantry_function_get_memory(function, 1, &memory, &count), GANTRY_OK);
    gantry_scope_t *scope = runtime_fixture_scope(&f, NULL);
    const gantry_tensor_t *given = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1 << 16)), *got;
    assert_int_equal(gantry_get_memory_info(f.runtime, "CPU:0", &before), GANTRY_OK);
    assert_int_equal(gantry_reset_memory_stats(f.runtime, "CPU:0"), GANTRY_OK);
    function_fixture_call(scope, function, &given, 1, &got, 1);
    assert_int_equal(gantry_get_memory_info(f.runtime, "CPU:0", &after), GANTRY_OK);
    assert_true(after.peak_bytes - before.current_bytes <=
                memory.planned_bytes + memory.result_bytes + 4096); /* padding of small values */
    expect_ended_well(scope);
    gantry_function_release(function);
    runtime_fixture_close(&f);
}

int main(int argc, char **argv) {
    /* an argument: how many random bodies */
    if (argc > 1) graphs = strtoull(argv[1], NULL, 10);
    return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down);
}
