/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Every golden case of every op, and calls of every kind in a thread of 128 KiB, need at
 * most GANTRY_STACK_BYTES of stack.
 *
 * The stack is painted before a call and read afterwards. An op's name as argument prints its
 * cases' need; "all" prints all. */
#define _GNU_SOURCE
#include "fused_case.h"
#include "painted_thread.h"
#include "test.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#include <gantry/gantry.h>

#include "../../conformance/golden_attr.h"

#define CASES GANTRY_TEST_SOURCE_DIR "/tests/golden/cases"
enum { ROOMY_BYTES = 1 << 20, SMALL_BYTES = 128 << 10, MOST_ATTRS = 16 };

static const char *printed = "";

/* limit_bytes 0: no limit. A library for products has its own needs. */
static gantry_runtime_t *make_runtime(uint64_t limit_bytes) {
    const char *const extra[] = {"GANTRY_CPU_MATMUL=own", NULL};
    const gantry_runtime_options_t options = {.struct_size = sizeof options,
                                              .backends = "cpu",
                                              .memory_limit_bytes = limit_bytes,
                                              .extra = extra};
    gantry_runtime_t *runtime = NULL;
    assert_int_equal(gantry_runtime_create(&options, &runtime), GANTRY_OK);
    return runtime;
}

/* ---- golden cases ---- */

typedef struct cases_t {
    gantry_runtime_t *runtime;
    golden_file_t file;
} cases_t;

/* The same with variables in the place of the first inputs. */
static void update_variables(gantry_scope_t *scope, const golden_case_t *item,
                             const gantry_tensor_t *const *inputs,
                             const gantry_attr_value_t *attrs) {
    gantry_variable_t *variables[4] = {NULL};
    const size_t count = item->output_count;
    if (strncmp(item->op, "Resource", strlen("Resource")) != 0 || count == 0) return;
    for (size_t i = 0; i < count; ++i) variables[i] = gantry_variable_create(scope, inputs[i], "v");
    (void)gantry_variable_update(scope, item->op, variables, count, inputs + count,
                                 item->input_count - count, attrs, item->attr_count);
    for (size_t i = 0; i < count; ++i) gantry_variable_release(variables[i]);
}

/* Large data is static: the library does not need it on the stack. */
static void run_case(gantry_runtime_t *runtime, const golden_case_t *item) {
    static const gantry_tensor_t *inputs[GANTRY_MAX_OP_INPUTS], *outputs[GANTRY_MAX_OP_OUTPUTS];
    static gantry_attr_value_t attrs[MOST_ATTRS];
    static char elements[1 << 20];
    size_t count = GANTRY_MAX_OP_OUTPUTS;
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/CPU:0");
    assert_in_range(item->input_count, 0, GANTRY_MAX_OP_INPUTS);
    assert_in_range(item->attr_count, 0, MOST_ATTRS);
    for (size_t i = 0; i < item->input_count; ++i) {
        const golden_tensor_t *input = &item->inputs[i];
        inputs[i] = gantry_constant(scope, input->dtype, input->shape, input->data, input->bytes);
    }
    for (size_t i = 0; i < item->attr_count; ++i) attrs[i] = golden_attr_value(&item->attrs[i]);
    (void)gantry_op_call(scope, item->op, inputs, item->input_count, attrs, item->attr_count,
                         outputs, &count);
    for (size_t i = 0; i < count; ++i) {
        const size_t bytes = gantry_tensor_bytes(outputs[i]);
        if (bytes <= sizeof elements) (void)gantry_tensor_read(outputs[i], elements, bytes);
    }
    update_variables(scope, item, inputs, attrs);
    (void)gantry_scope_end(scope); /* a case that expects a refusal ends here with an error */
}

static void run_cases(void *data) {
    cases_t *cases = data;
    for (size_t i = 0; i < cases->file.case_count; ++i)
        run_case(cases->runtime, &cases->file.cases[i]);
}

static size_t measure_file(painted_thread_t *thread, gantry_runtime_t *runtime, const char *name) {
    char path[512], error[256];
    cases_t cases = {.runtime = runtime};
    (void)snprintf(path, sizeof path, "%s/%s", CASES, name);
    if (golden_load(path, &cases.file, error, sizeof error)) fail_msg("%s", error);
    painted_thread_run(thread, run_cases, &cases);
    if (strcmp(printed, "all") == 0 || strcmp(printed, cases.file.op) == 0)
        printf("%6zu %s\n", thread->used, name);
    golden_free(&cases.file);
    return thread->used;
}

TEST(op_of_every_golden_case_needs_no_more_than_promised) {
    painted_thread_t thread;
    gantry_runtime_t *runtime = make_runtime(0);
    size_t files = 0, most = 0;
    painted_thread_init(&thread, ROOMY_BYTES);
    DIR *folder = opendir(CASES);
    assert_non_null(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        if (!strstr(entry->d_name, ".json")) continue;
        const size_t used = measure_file(&thread, runtime, entry->d_name);
        if (used > GANTRY_STACK_BYTES)
            fail_msg("%s: an op needs %zu bytes of the stack; at most %d are promised",
                     entry->d_name, used, GANTRY_STACK_BYTES);
        most = used > most ? used : most;
        ++files;
    }
    assert_in_range(files, 200, SIZE_MAX);
    printf("the most that an op needs: %zu bytes; promised: %d\n", most, GANTRY_STACK_BYTES);
    (void)closedir(folder);
    gantry_runtime_release(runtime);
    painted_thread_deinit(&thread);
}

/* ---- a small thread ---- */

static const gantry_tensor_t *ones(gantry_scope_t *scope, gantry_dtype_t dtype,
                                   gantry_shape_t shape) {
    return gantry_cast(scope, gantry_broadcast_to(scope, gantry_scalar_f32(scope, 1), shape),
                       dtype);
}

static void call_matrices(gantry_scope_t *scope) {
    const gantry_dtype_t types[] = {GANTRY_FLOAT32, GANTRY_FLOAT64, GANTRY_FLOAT16};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        const gantry_tensor_t *square = ones(scope, types[i], GANTRY_SHAPE(300, 300));
        const gantry_tensor_t *thin = ones(scope, types[i], GANTRY_SHAPE(6, 5000));
        const gantry_tensor_t *images = ones(scope, types[i], GANTRY_SHAPE(2, 20, 20, 8));
        const gantry_tensor_t *stack = ones(scope, types[i], GANTRY_SHAPE(8, 40, 40));
        const gantry_tensor_t *pair[] = {stack, stack};
        (void)gantry_matmul(scope, square, square, NULL);
        (void)gantry_matmul(scope, thin, thin, &(gantry_matmul_options_t){.transpose_b = true});
        (void)gantry_matmul(scope, stack, stack, NULL);
        (void)gantry_einsum(scope, "bij,bkj->ik", pair, 2);
        (void)gantry_conv2d(scope, images, ones(scope, types[i], GANTRY_SHAPE(3, 3, 8, 16)), NULL);
        (void)gantry_depthwise_conv2d(scope, images,
                                      ones(scope, types[i], GANTRY_SHAPE(3, 3, 8, 2)), NULL);
    }
}

static void call_rows(gantry_scope_t *scope) {
    const gantry_dtype_t types[] = {GANTRY_FLOAT32, GANTRY_FLOAT64};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i) {
        const gantry_tensor_t *short_rows = ones(scope, types[i], GANTRY_SHAPE(500, 63));
        const gantry_tensor_t *long_rows = ones(scope, types[i], GANTRY_SHAPE(3, 20000)), *loss,
                              *slope, *indices;
        const gantry_tensor_t *rows[] = {short_rows, long_rows};
        for (size_t k = 0; k < 2; ++k) {
            (void)gantry_sum(scope, rows[k],
                             &(gantry_reduce_options_t){.axes = (int32_t[]){1}, .axis_count = 1});
            (void)gantry_sum(scope, rows[k],
                             &(gantry_reduce_options_t){.axes = (int32_t[]){0}, .axis_count = 1});
            (void)gantry_softmax(scope, rows[k]);
            (void)gantry_log_softmax(scope, rows[k]);
            (void)gantry_softmax_cross_entropy_with_logits(scope, rows[k], rows[k], &loss, &slope);
            (void)gantry_cumsum(scope, rows[k], 1, NULL);
            (void)gantry_top_k(scope, rows[k], 10, &indices);
        }
    }
}

/* The largest number of inputs and outputs. */
static void call_lists(gantry_scope_t *scope) {
    static const gantry_tensor_t *parts[GANTRY_MAX_OP_OUTPUTS];
    const gantry_tensor_t *whole =
        ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(GANTRY_MAX_OP_OUTPUTS, 5));
    (void)gantry_split(scope, whole, 0, parts, GANTRY_MAX_OP_OUTPUTS);
    (void)gantry_unpack(scope, whole, 0, parts, GANTRY_MAX_OP_OUTPUTS);
    (void)gantry_pack(scope, parts, GANTRY_MAX_OP_INPUTS, 0);
    (void)gantry_add_n(scope, parts, GANTRY_MAX_OP_INPUTS);
    (void)gantry_concat(scope, parts, GANTRY_MAX_OP_INPUTS - 1, 0);
}

static void call_norms(gantry_scope_t *scope) {
    const gantry_tensor_t *images = ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(2, 20, 20, 8));
    const gantry_tensor_t *one = ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(8)), *outputs[3];
    static char text[4096];
    (void)gantry_fused_batch_norm(scope, images, one, one, one, one, NULL, outputs);
    (void)gantry_layer_norm(scope, images, one, one, 3, 0.001);
    gantry_variable_t *variable = gantry_variable_create(scope, one, "weights");
    (void)gantry_tensor_format(images, NULL, text, sizeof text, NULL);
    gantry_variable_release(variable);
}

/* The report of a refusal is written in calls below the op. */
static void run_out_of_memory(void) {
    gantry_runtime_t *runtime = make_runtime(8 << 20);
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/CPU:0");
    (void)ones(scope, GANTRY_FLOAT64, GANTRY_SHAPE(1 << 12, 1 << 12));
    assert_int_equal(gantry_scope_end(scope), GANTRY_RESOURCE_EXHAUSTED);
    gantry_runtime_release(runtime);
}

static void live_on_a_small_thread(void *data) {
    (void)data;
    gantry_runtime_t *runtime = make_runtime(0);
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/CPU:0");
    call_matrices(scope);
    call_rows(scope);
    call_lists(scope);
    call_norms(scope);
    if (gantry_scope_status(scope) != GANTRY_OK) fail_msg("%s", gantry_scope_message(scope));
    assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
    gantry_runtime_release(runtime);
    run_out_of_memory();
}

TEST(thread_of_128_kib_runs_all_from_the_runtime_on) {
    painted_thread_t thread;
    painted_thread_init(&thread, SMALL_BYTES);
    painted_thread_run(&thread, live_on_a_small_thread, NULL);
    printf("a runtime's whole life and large calls: %zu bytes, with the thread's variables %zu\n",
           thread.used, thread.taken);
    assert_in_range(thread.used, 1, GANTRY_STACK_BYTES);
    painted_thread_deinit(&thread);
}

/* The longest program of the type with the most steps, in blocks and in the short way. */
static void run_longest_fused(void *data) {
    gantry_runtime_t *runtime = data;
    static fused_case_t c; /* large */
    for (int way = 0; way < 2; ++way) {
        const gantry_dtype_t dtype = way == 0 ? GANTRY_FLOAT16 : GANTRY_FLOAT32;
        c = (fused_case_t){.random = 1,
                           .instruction_count = GANTRY__FUSED_MOST_INSTRUCTIONS,
                           .output_count = 1,
                           .outputs = {GANTRY__FUSED_MOST_INSTRUCTIONS - 1}};
        while (c.input_count < GANTRY__FUSED_MOST_INPUTS)
            (void)fused_add_input(&c, dtype,
                                  (gantry_shape_t){.rank = 1, .dims = {way == 0 ? 5000 : 4}});
        for (int k = 0; k < GANTRY__FUSED_MOST_INSTRUCTIONS; ++k) {
            const int64_t in[] = {GANTRY__FUSED_Add, (int64_t)dtype, -k,
                                  k % GANTRY__FUSED_MOST_INPUTS, 0};
            memcpy(c.program + k * GANTRY__FUSED_WORDS, in, sizeof in);
        }
        gantry_scope_t *scope = gantry_scope_begin(runtime, "/CPU:0");
        const gantry_tensor_t *inputs[GANTRY__FUSED_MOST_INPUTS], *out;
        fused_inputs(scope, &c, inputs);
        fused_call(scope, &c, inputs, &out);
        assert_int_equal(gantry_scope_end(scope), GANTRY_OK);
        fused_free(&c);
    }
}

TEST(longest_fused_program_keeps_to_the_stack) {
    gantry_runtime_t *runtime;
    painted_thread_t thread;
    assert_int_equal(gantry_runtime_create(NULL, &runtime), GANTRY_OK);
    painted_thread_init(&thread, (size_t)256 << 10);
    painted_thread_run(&thread, run_longest_fused, runtime);
    const size_t used = thread.used;
    painted_thread_deinit(&thread);
    gantry_runtime_release(runtime);
    assert_in_range(used, 1024, GANTRY_STACK_BYTES);
}

int main(int argc, char **argv) {
    printed = argc > 1 ? argv[1] : "";
#if !defined(__OPTIMIZE__)
    printf("SKIP: frames of a build without optimisation are larger than promised\n");
    return 77;
#endif
    return test_main();
}
