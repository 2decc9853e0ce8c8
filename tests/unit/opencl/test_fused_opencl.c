/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Fused programs of elementwise ops and of reductions over rows give the bits of the ops
 * one by one on PoCL, over all ops, types and broadcasts.
 *
 * The CPU computes the ops one by one, because PoCL would compile each of them.
 * GANTRY_TEST_FUSED_PROGRAMS sets how many programs, and then the same device computes the ops. So
 * it does on a card (GANTRY_TEST_BACKENDS). */
#define _XOPEN_SOURCE 700

#include "fused_parts_case.h"
#include "fused_rows_case.h"
#include "test.h"

#include "log_lines.h"
#include "need_opencl.h"

#define MODULES GANTRY_TEST_MODULES "/../gantry"

/* GANTRY_TEST_BACKENDS names others, for a card. */
static gantry_runtime_t *open_runtime(void) {
    const char *backends = getenv("GANTRY_TEST_BACKENDS");
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .backend_path = MODULES,
                                        .backends = backends ? backends : "cpu,opencl",
                                        .opencl_cpu_as_gpu = GANTRY_ON,
                                        .soft_placement = GANTRY_OFF,
                                        .kernel_cache = ""};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
    return runtime;
}

static gantry_scope_t *begin_ops(gantry_runtime_t *runtime) {
    const bool is_own = getenv("GANTRY_TEST_BACKENDS") || getenv("GANTRY_TEST_FUSED_PROGRAMS");
    return gantry_scope_begin(runtime, is_own ? "/GPU:0" : "/CPU:0");
}

static void check_on_card(gantry_runtime_t *runtime, const fused_case_t *c, uint64_t seed) {
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/GPU:0"), *apart = begin_ops(runtime);
    fused_check_against(scope, apart, c, seed);
    assert_int_equal(gantry_scope_end(apart), GANTRY_OK);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
}

/* `first` and on: the cards' forms get other programs than the processors'. */
static void run_programs(gantry_runtime_t *runtime, uint64_t first, uint64_t fewest) {
    static fused_case_t c; /* large */
    const char *wanted = getenv("GANTRY_TEST_FUSED_PROGRAMS");
    const uint64_t count = wanted ? strtoull(wanted, NULL, 10) : fewest;
    for (uint64_t seed = first; seed < first + count; ++seed) {
        fused_draw(&c, seed, seed % 3 == 0 ? UINT64_C(1) << GANTRY_FLOAT32 : FUSED_ALL_TYPES,
                   1 + (uint32_t)(seed * 7 % 24), 4);
        check_on_card(runtime, &c, seed);
        fused_free(&c);
    }
    gantry_runtime_release(runtime);
}

TEST(random_programs_have_the_ops_bits) { run_programs(open_runtime(), 1, 16); }

/* A part of the processor that imitates a card runs the kernels' forms for cards. */
static gantry_runtime_t *open_imitation(void) {
    const gantry_logical_device_config_t part = {.max_work_group_size = 256};
    const gantry_physical_device_t *device = NULL;
    gantry_runtime_t *runtime = open_runtime();
    size_t count = 0;
    assert_int_equal(gantry_list_physical_devices(runtime, "GPU", 1, &device, &count), GANTRY_OK);
    assert_true(count > 0);
    assert_int_equal(gantry_set_logical_device_configuration(runtime, device, &part, 1), GANTRY_OK);
    return runtime;
}

TEST(random_programs_have_the_ops_bits_in_forms_for_cards) {
    run_programs(open_imitation(), 10001, 10);
}

/* ---- rows ---- */

static void run_rows(gantry_runtime_t *runtime, uint64_t first, uint64_t fewest) {
    static fused_case_t c; /* large */
    const char *wanted = getenv("GANTRY_TEST_FUSED_PROGRAMS");
    const uint64_t count = wanted ? strtoull(wanted, NULL, 10) : fewest;
    for (uint64_t seed = first, found = 0; found < count; ++seed) {
        fused_rows_draw(&c, seed,
                        seed % 3 == 0 ? UINT64_C(1) << GANTRY_FLOAT32
                                      : FUSED_ROWS_FLOATS | UINT64_C(1) << GANTRY_BOOL,
                        3 + (uint32_t)(seed * 7 % 22), 4);
        if (fused_rows_fit_devices(&c)) {
            check_on_card(runtime, &c, seed);
            ++found;
        }
        fused_free(&c);
    }
    for (int64_t length = 50; length < 4096; length = length * 9 + 7) {
        fused_rows_softmax(&c, GANTRY_FLOAT32, 5, length);
        check_on_card(runtime, &c, (uint64_t)length);
        fused_free(&c);
        fused_rows_norm(&c, GANTRY_FLOAT32, 5, length);
        check_on_card(runtime, &c, (uint64_t)length);
        fused_free(&c);
    }
    gantry_runtime_release(runtime);
}

TEST(random_rows_have_the_ops_bits) { run_rows(open_runtime(), 20001, 4); }

TEST(random_rows_have_the_ops_bits_in_forms_for_cards) { run_rows(open_imitation(), 30001, 3); }

/* ---- parts ---- */

static void run_parts(gantry_runtime_t *runtime, uint64_t first, uint64_t fewest) {
    const char *wanted = getenv("GANTRY_TEST_FUSED_PROGRAMS");
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/GPU:0"), *apart = begin_ops(runtime);
    fused_parts_run(
        scope, apart, first, wanted ? strtoull(wanted, NULL, 10) : fewest,
        UINT64_C(1) << GANTRY_FLOAT32 | UINT64_C(1) << GANTRY_BOOL | UINT64_C(1) << GANTRY_FLOAT16,
        4);
    assert_int_equal(gantry_scope_end(apart), GANTRY_OK);
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_runtime_release(runtime);
}

TEST(random_parts_have_the_bits_of_single_calls) { run_parts(open_runtime(), 40001, 6); }

TEST(random_parts_have_the_bits_of_single_calls_in_forms_for_cards) {
    run_parts(open_imitation(), 50001, 4);
}

/* Rows of 300 elements are whole words of 4 and of 2, but not of 8. */
TEST(words_of_rows_have_the_ops_bits) {
    static const struct {
        gantry__fused_id_t id;
        gantry_dtype_t dtype;
    } rows[] = {{GANTRY__FUSED_Sub, GANTRY_FLOAT32},
                {GANTRY__FUSED_Select, GANTRY_FLOAT16},
                {GANTRY__FUSED_Less, GANTRY_FLOAT64}};
    static fused_case_t c; /* large */
    gantry_runtime_t *runtime = open_imitation();
    for (int n = 0; n < 3 * FUSED_FORMS; ++n) {
        fused_single(&c, rows[n % 3].id, rows[n % 3].dtype, GANTRY_FLOAT32, n / 3);
        check_on_card(runtime, &c, (uint64_t)n);
        fused_free(&c);
    }
    gantry_runtime_release(runtime);
}

/* A second call takes the program from the cache, and other shapes of the same form do, too. */
TEST(one_program_serves_all_sizes) {
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

/* A program beyond the limits of devices runs on the CPU, and a device refuses it if it must be
 * there. */
TEST(long_program_is_declined) {
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

int main(int argc, char **argv) {
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const int code = skip_without_opencl();
    if (code != 0) return code;
    return test_main();
}
