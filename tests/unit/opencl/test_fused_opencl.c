/* SPDX-License-Identifier: Apache-2.0 */
/* Fused programs of elementwise ops have the bits of the CPU on a device that builds programs: random programs over
 * all ops, types and broadcasts on PoCL. GANTRY_TEST_FUSED_PROGRAMS sets how many. */
#include "fused_case.h"

#include "log_lines.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

static gantry_runtime_t *open_runtime(void) {
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .backend_path = MODULES,
                                        .backends = "cpu,opencl",
                                        .opencl_cpu_as_gpu = GANTRY_ON,
                                        .soft_placement = GANTRY_OFF,
                                        .kernel_cache = ""};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

static void run_on(gantry_runtime_t *runtime, const char *device, const fused_case_t *c,
                   uint64_t seed, gantry_scope_t **out_scope, const gantry_tensor_t **outputs) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, device);
    const gantry_tensor_t *inputs[GANTRY__FUSED_MOST_INPUTS];
    fused_inputs(scope, c, inputs);
    fused_call(scope, c, inputs, outputs);
    if (!outputs[0]) {
        fused_print(c);
        fail_msg("seed %u on %s: %s", (unsigned)seed, device, gantry_last_message());
    }
    *out_scope = scope;
}

static void compare_devices(gantry_runtime_t *runtime, const fused_case_t *c, uint64_t seed) {
    const gantry_tensor_t *here[GANTRY__FUSED_MOST_OUTPUTS], *there[GANTRY__FUSED_MOST_OUTPUTS];
    gantry_scope_t *cpu, *gpu;
    run_on(runtime, "/CPU:0", c, seed, &cpu, here);
    run_on(runtime, "/GPU:0", c, seed, &gpu, there);
    assert_string_equal(gantry_logical_device_name(gantry_tensor_device(there[0])),
                        "/device:GPU:0");
    for (uint32_t i = 0; i < c->output_count; ++i) fused_compare(c, seed, there[i], here[i]);
    assert_int_equal(gantry_scope_end(cpu), GANTRY_OK);
    assert_int_equal(gantry_scope_end(gpu), GANTRY_OK);
}

static void random_programs_have_the_cpus_bits(void **state) {
    (void)state;
    static fused_case_t c; /* large */
    const char *wanted = getenv("GANTRY_TEST_FUSED_PROGRAMS");
    const uint64_t count = wanted ? strtoull(wanted, NULL, 10) : 24;
    gantry_runtime_t *runtime = open_runtime();
    for (uint64_t seed = 1; seed <= count; ++seed) {
        fused_draw(&c, seed, seed % 3 == 0 ? UINT64_C(1) << GANTRY_FLOAT32 : FUSED_ALL_TYPES,
                   1 + (uint32_t)(seed * 7 % 24), 4);
        compare_devices(runtime, &c, seed);
        fused_free(&c);
    }
    gantry_runtime_release(runtime);
}

/* A second call takes the program from the cache, and other shapes of the same form do, too. */
static void one_program_serves_all_sizes(void **state) {
    (void)state;
    gantry_runtime_t *runtime = open_runtime();
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/GPU:0");
    gantry_program_stats_t before = {.struct_size = sizeof before}, after = before;
    for (int64_t n = 3; n < 6; ++n) {
        fused_case_t c = {
            .instruction_count = 2, .input_count = 2, .output_count = 1, .outputs = {1}};
        const int64_t program[] = {GANTRY__FUSED_Mul, GANTRY_FLOAT32, 0,  1, 0,
                                   GANTRY__FUSED_Neg, GANTRY_FLOAT32, -1, 0, 0};
        const gantry_tensor_t *inputs[2], *out;
        float values[60], result[60];
        memcpy(c.program, program, sizeof program);
        for (int i = 0; i < 60; ++i) values[i] = (float)i;
        inputs[0] =
            gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(10, n), values, (size_t)(40 * n));
        inputs[1] =
            gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(n), values, (size_t)(4 * n));
        if (n == 4) assert_int_equal(gantry_get_program_stats(runtime, &before), GANTRY_OK);
        fused_call(scope, &c, inputs, &out);
        assert_int_equal(gantry_tensor_read(out, result, (size_t)(40 * n)), GANTRY_OK);
        for (int i = 0; i < 10 * n; ++i) assert_true(result[i] == -(float)i * (float)(i % n));
    }
    assert_int_equal(gantry_get_program_stats(runtime, &after), GANTRY_OK);
    assert_int_equal(after.built + after.loaded, before.built + before.loaded);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_runtime_release(runtime);
}

/* A program beyond the limits of devices runs on the CPU, and a device refuses it if it must be there. */
static void long_program_is_declined(void **state) {
    (void)state;
    static fused_case_t c; /* large */
    gantry_runtime_t *runtime = open_runtime();
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/GPU:0");
    const float value = 1.0f;
    const gantry_tensor_t *x = gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SHAPE(1), &value, 4),
                          *out;
    c.instruction_count = GANTRY__FUSED_MOST_DEVICE_INSTRUCTIONS + 1;
    c.input_count = c.output_count = 1;
    c.outputs[0] = c.instruction_count - 1;
    for (uint32_t k = 0; k < c.instruction_count; ++k) {
        const int64_t in[] = {GANTRY__FUSED_Add, GANTRY_FLOAT32, k == 0 ? 0 : -(int64_t)k, 0, 0};
        memcpy(c.program + k * GANTRY__FUSED_WORDS, in, sizeof in);
    }
    fused_call(scope, &c, &x, &out);
    assert_null(out);
    assert_non_null(strstr(gantry_last_message(), "_FusedElementwise"));
    (void)gantry_scope_end(scope);
    gantry_runtime_release(runtime);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_programs_have_the_cpus_bits),
        cmocka_unit_test(one_program_serves_all_sizes),
        cmocka_unit_test(long_program_is_declined),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
