/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with functions: traced, planned, called several times. When something fails, the program
 * does the same once more: the fault is over, so the function must work and give the right values,
 * unless its device is lost. They use nothing of the tool. */
#include <gantry/gantry.h>
#include <stdio.h>
#include <string.h>

#include "faults_programs.h"

#define MOST_OUTPUTS 4
#define MOST_VALUES 8
#define CALLS 3
#define ELEMENTS 40000

typedef struct program_t {
    const char *device;
    gantry_function_body_fn body;
    gantry_input_spec_t input; /* of the one input, float32 */
    size_t output_count;
    uint32_t passes_off;
    uint64_t budget_bytes; /* 0: none */
    size_t cpu_parts;      /* 0: not set */
    bool reads_text;
    float (
        *known)[MOST_OUTPUTS][MOST_VALUES]; /* CALLS of them, from the first run without a fault */
    bool *is_known;
} program_t;

typedef struct state_t {
    gantry_runtime_t *runtime;
    gantry_variable_t *variable;
    gantry_generator_t *generator;
    const char *device;
    gantry_function_t *function;
} state_t;

/* ---- bodies ---- */

static void double_it(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_add(scope, inputs[0], inputs[0]);
}

static void square_it(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] = gantry_mul(scope, inputs[0], inputs[0]);
}

static void is_small(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    (void)user;
    outputs[0] =
        gantry_less(scope, gantry_sum(scope, inputs[0], NULL), gantry_scalar_f32(scope, 100));
}

/* A product, elementwise ops that fuse, a branch and a loop. */
static void flow(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                 const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *x = inputs[0], *product = gantry_matmul(scope, x, x, NULL);
    const gantry_tensor_t *shifted =
        gantry_relu(scope, gantry_sub(scope, product, gantry_scalar_f32(scope, 9)));
    const gantry_tensor_t *doubled = gantry_mul(scope, shifted, gantry_scalar_f32(scope, 2));
    const gantry_tensor_t *sum = gantry_sum(scope, doubled, NULL);
    const gantry_tensor_t *is_large = gantry_less(scope, gantry_scalar_f32(scope, 40), sum);
    (void)gantry_cond(scope, is_large, double_it, square_it, user, &doubled, 1, &outputs[0], 1);
    (void)gantry_while(scope, is_small, double_it, user, &shifted, 1, NULL, &outputs[1]);
}

/* A variable read, assigned and updated, and a draw. */
static void effects(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    const state_t *state = user;
    const gantry_tensor_t *before = gantry_variable_read(scope, state->variable);
    (void)gantry_variable_assign(scope, state->variable, gantry_add(scope, before, inputs[0]));
    (void)gantry_variable_assign_add(scope, state->variable, inputs[0]);
    outputs[0] = gantry_mul(scope, before, gantry_variable_read(scope, state->variable));
    outputs[1] =
        gantry_generator_uniform(scope, state->generator, GANTRY_SHAPE(2, 2), GANTRY_FLOAT32);
}

/* There and back between the CPU and the device under test, and by a host input. */
static void crossing(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    const state_t *state = user;
    gantry_scope_t *cpu = gantry_scope_begin_in(scope, "CPU:0"),
                   *other = gantry_scope_begin_in(scope, state->device);
    const gantry_tensor_t *sum = gantry_add(cpu, inputs[0], inputs[0]),
                          *product = gantry_mul(other, sum, inputs[0]),
                          *back = gantry_sub(cpu, product, gantry_scalar_f32(cpu, 1));
    outputs[0] = gantry_identity(scope, gantry_add(other, back, product));
    outputs[1] = gantry_identity(scope, back);
    (void)gantry_scope_end(other);
    (void)gantry_scope_end(cpu);
}

/* Two chains that use each other's values, on the two parts of the CPU: two lanes. */
static void weaving(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                    const gantry_tensor_t **outputs, void *user) {
    static const char *const devices[] = {"CPU:0", "CPU:1"};
    const gantry_tensor_t *at[2] = {inputs[0], inputs[0]};
    gantry_scope_t *scopes[2];
    (void)user;
    for (int d = 0; d < 2; ++d) scopes[d] = gantry_scope_begin_in(scope, devices[d]);
    for (int step = 0; step < 4; ++step) {
        for (int d = 0; d < 2; ++d)
            at[d] = gantry_add(scopes[d], at[d], step == 2 ? at[1 - d] : inputs[0]);
    }
    for (int d = 0; d < 2; ++d) outputs[d] = gantry_sum(scope, at[d], NULL);
    for (int d = 1; d >= 0; --d) (void)gantry_scope_end(scopes[d]);
}

/* All powers first, then their sums: a budget of two values asks for another order. */
static void powers(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    const gantry_tensor_t *wide[4];
    (void)user;
    for (int i = 0; i < 4; ++i)
        wide[i] = gantry_mul(scope, inputs[0], gantry_scalar_f32(scope, (float)i));
    outputs[0] = gantry_scalar_f32(scope, 0);
    for (int i = 0; i < 4; ++i)
        outputs[0] = gantry_add(scope, outputs[0], gantry_sum(scope, wide[i], NULL));
}

/* Values without elements, a draw with a seed of its own, a name of two lines, and an error in a
 * scope of the body, which ignores it. */
static void scopes(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                   const gantry_tensor_t **outputs, void *user) {
    static const int64_t begin[] = {0, 0}, size[] = {0, 2}, paddings[] = {0, 0, 1, 1}, seed = 3;
    (void)user;
    (void)gantry_scope_name_next(scope, "first\nline");
    const gantry_tensor_t *none = gantry_slice(scope, inputs[0], begin, size);
    gantry_scope_t *inner = gantry_scope_begin_in(scope, NULL);
    (void)gantry_matmul(inner, inputs[0], none, NULL);
    if (inner) (void)gantry_scope_end(inner);
    const gantry_tensor_t *padded =
        gantry_pad(scope, gantry_transpose(scope, none, NULL), paddings, NULL);
    outputs[0] = gantry_add(
        scope, padded, gantry_random_uniform(scope, GANTRY_SHAPE(2, 2), GANTRY_FLOAT32, &seed));
    outputs[1] = gantry_neg(scope, inputs[0]);
}

/* ---- one call ---- */

/* Variable, generator and seeds as before the first call. */
static gantry_status_t reset_state(const state_t *state, gantry_scope_t *scope) {
    if (!state->variable) return gantry_set_seed(state->runtime, 7);
    const gantry_tensor_t *ones = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2));
    if (!ones) return gantry_scope_status(scope);
    gantry_status_t status = gantry_variable_assign(scope, state->variable, ones);
    return status == GANTRY_OK ? gantry_generator_reset_from_seed(state->generator, 7) : status;
}

static const gantry_tensor_t *ramp(gantry_scope_t *scope, const gantry_shape_t *shape, int first) {
    static float values[ELEMENTS];
    int64_t count = gantry_shape_elements(shape);
    for (int64_t i = 0; i < count; ++i) values[i] = (float)(first + i % 4);
    return gantry_constant(scope, GANTRY_FLOAT32, *shape, values, (size_t)count * sizeof *values);
}

static gantry_status_t read_outputs(const gantry_tensor_t *const *outputs, size_t count,
                                    float (*got)[MOST_VALUES]) {
    gantry_status_t status = GANTRY_OK;
    for (size_t i = 0; i < count && status == GANTRY_OK; ++i)
        status = gantry_tensor_read(
            outputs[i], got[i],
            (size_t)gantry_shape_elements(gantry_tensor_shape(outputs[i])) * sizeof **got);
    return status;
}

/* A failed call says whose it is. */
static gantry_status_t call_named(gantry_scope_t *scope, const state_t *state,
                                  const gantry_tensor_t *given, const gantry_tensor_t **outputs,
                                  size_t count, int *code) {
    gantry_status_t status =
        gantry_function_call(scope, state->function, &given, 1, outputs, count);
    if (status == GANTRY_OK || strstr(gantry_scope_message(scope), "function tried: "))
        return status;
    (void)printf("a failed call does not name its function: %s\n", gantry_scope_message(scope));
    *code |= FAULTS_PROGRAM_UNUSABLE;
    return status;
}

static gantry_status_t call_under_faults(const program_t *program, const state_t *state, int k,
                                         float (*got)[MOST_VALUES], int *code) {
    const gantry_tensor_t *outputs[MOST_OUTPUTS];
    gantry_scope_t *scope = gantry_scope_begin(state->runtime, program->device);
    if (!scope) return GANTRY_RESOURCE_EXHAUSTED;
    gantry_status_t status = reset_state(state, scope);
    const gantry_tensor_t *given =
        status == GANTRY_OK ? ramp(scope, &program->input.shape, k) : NULL;
    if (given) {
        status = call_named(scope, state, given, outputs, program->output_count, code);
        if (status == GANTRY_OK) status = read_outputs(outputs, program->output_count, got);
    } else if (status == GANTRY_OK) {
        status = gantry_scope_status(scope);
    }
    gantry_status_t ended = gantry_scope_end(scope);
    return status == GANTRY_OK ? ended : status;
}

static int compare(const program_t *program, int k, float (*got)[MOST_VALUES]) {
    if (!*program->is_known) {
        memcpy(program->known[k], got, sizeof program->known[k]);
        return 0;
    }
    if (memcmp(program->known[k], got, sizeof program->known[k]) == 0) return 0;
    (void)printf("call %d gives other values\n", k);
    return FAULTS_PROGRAM_WRONG;
}

/* Once more after a failure. */
static int call_until_good(const program_t *program, const state_t *state, int k) {
    float got[MOST_OUTPUTS][MOST_VALUES] = {{0}};
    int code = 0;
    gantry_status_t status = call_under_faults(program, state, k, got, &code);
    if (status == GANTRY_OK) return code | compare(program, k, got);
    memset(got, 0, sizeof got);
    status = call_under_faults(program, state, k, got, &code);
    if (status == GANTRY_OK) return code | compare(program, k, got) | 1;
    (void)printf("the next call fails too: %s\n", gantry_last_message());
    return code | 1 | FAULTS_PROGRAM_UNUSABLE;
}

/* ---- a program ---- */

static gantry_status_t trace_once(const program_t *program, state_t *state) {
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = program->passes_off,
                                               .memory_budget_bytes = program->budget_bytes};
    return gantry_function_trace(state->runtime, "tried", program->body, state, &program->input, 1,
                                 program->output_count, &options, &state->function);
}

static gantry_status_t make_variable(const program_t *program, state_t *state) {
    gantry_scope_t *scope = gantry_scope_begin(state->runtime, program->device);
    if (!scope) return GANTRY_RESOURCE_EXHAUSTED;
    const gantry_tensor_t *ones = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 2));
    state->variable = ones ? gantry_variable_create(scope, ones, "v") : NULL;
    gantry_status_t ended = gantry_scope_end(scope);
    return state->variable ? GANTRY_OK : ended;
}

static gantry_status_t make_state(const program_t *program, state_t *state) {
    if (program->body != effects) return GANTRY_OK;
    gantry_status_t status =
        gantry_generator_from_seed(state->runtime, 7, GANTRY_RANDOM_PHILOX, &state->generator);
    return status == GANTRY_OK ? make_variable(program, state) : status;
}

static int explain(const state_t *state) {
    static char text[32768];
    gantry_function_memory_t memory[4] = {{.struct_size = sizeof memory[0]}};
    size_t count;
    int code = 0;
    for (int form = GANTRY_EXPLAIN_TEXT; form <= GANTRY_EXPLAIN_GRAPHVIZ; ++form)
        code |= gantry_function_explain(state->function, (gantry_explain_form_t)form, text,
                                        sizeof text, NULL) != GANTRY_OK;
    return code | (gantry_function_get_memory(state->function, 4, memory, &count) != GANTRY_OK);
}

static int use_function(const program_t *program, state_t *state) {
    int code = 0;
    if (trace_once(program, state) != GANTRY_OK) {
        code = 1;
        if (trace_once(program, state) != GANTRY_OK) {
            (void)printf("the next trace fails too: %s\n", gantry_last_message());
            return code | FAULTS_PROGRAM_UNUSABLE;
        }
    }
    for (int k = 0; k < CALLS; ++k) code |= call_until_good(program, state, k);
    if (program->reads_text) code |= explain(state);
    return code;
}

static int run(const program_t *program) {
    state_t state = {.device = program->device};
    if (gantry_runtime_create(NULL, &state.runtime) != GANTRY_OK) return 1;
    int code = 0;
    if (program->cpu_parts)
        code |= gantry_set_logical_cpu_devices(state.runtime, program->cpu_parts) != GANTRY_OK;
    code |= make_state(program, &state) != GANTRY_OK;
    if (code == 0) code = use_function(program, &state);
    gantry_function_release(state.function);
    gantry_variable_release(state.variable);
    gantry_generator_release(state.generator);
    code |= gantry_runtime_synchronize(state.runtime) != GANTRY_OK;
    gantry_runtime_release(state.runtime);
    if (code == 0) *program->is_known = true;
    return code;
}

#define RUN(...)                                                                                \
    static float known[CALLS][MOST_OUTPUTS][MOST_VALUES];                                       \
    static bool is_known;                                                                       \
    const program_t program = {                                                                 \
        .device = argc > 1 ? argv[1] : "", .known = known, .is_known = &is_known, __VA_ARGS__}; \
    return run(&program)

#define INPUT(...) .input = {NULL, GANTRY_FLOAT32, GANTRY_SHAPE(__VA_ARGS__)}

int faults_program_function_flow(int argc, char **argv) {
    RUN(.body = flow, INPUT(2, 2), .output_count = 2, .reads_text = true);
}

int faults_program_function_effects(int argc, char **argv) {
    RUN(.body = effects, INPUT(2, 2), .output_count = 2);
}

int faults_program_function_devices(int argc, char **argv) {
    RUN(.body = crossing, INPUT(2), .output_count = 2, .reads_text = true);
}

int faults_program_function_lanes(int argc, char **argv) {
    RUN(.body = weaving, INPUT(ELEMENTS), .output_count = 2, .cpu_parts = 2,
        .passes_off = GANTRY_PASS_ELEMENTWISE_FUSION);
}

int faults_program_function_scopes(int argc, char **argv) {
    RUN(.body = scopes, INPUT(2, 2), .output_count = 2, .reads_text = true);
}

int faults_program_function_budget(int argc, char **argv) {
    RUN(.body = powers, INPUT(ELEMENTS), .output_count = 1,
        .budget_bytes = 2 * ELEMENTS * sizeof(float) + 4096,
        .passes_off = GANTRY_PASS_ELEMENTWISE_FUSION);
}
