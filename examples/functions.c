/* SPDX-License-Identifier: Apache-2.0 */
/* Functions: the placement, control dependency and threading programs of TensorFlow's guides to
 * graphs, in C. Each chapter traces a function, calls it, and prints its explanation.
 *
 *   functions [--device NAME]         the chapters; NAME is where ops without a request run
 *   functions --drawing CHAPTER       the chapter's function for dot: functions --drawing place |
 *                                     dot -Tsvg >place.svg
 *
 * The default is the first GPU, or the CPU if there is none. This program lets OpenCL CPU devices
 * (PoCL) count as GPUs. */
#include <string.h>

#include "example.h"

#define MIB (UINT64_C(1) << 20)
#define BOTH (const gantry_tensor_t *const[])

static const char *wanted;       /* the device's name, as the user writes it */
static const char *drawn = NULL; /* the chapter whose function is drawn, and nothing else printed */
static bool was_drawn;

/* ---- services for the chapters ---- */

static void heading(const char *text) {
    if (!drawn) (void)printf("\n== %s ==\n", text);
}

static gantry_runtime_t *open_runtime(uint64_t memory_limit) {
    gantry_runtime_options_t options = {.struct_size = sizeof options,
                                        .log = example_log,
                                        .log_level = GANTRY_LEVEL_ERROR,
                                        .opencl_cpu_as_gpu = GANTRY_ON};
    gantry_runtime_t *runtime;
    example_check(gantry_runtime_create(&options, &runtime), "gantry_runtime_create");
    const gantry_physical_device_t *card;
    if (gantry_find_physical_device(runtime, wanted, &card) != GANTRY_OK) {
        (void)fprintf(stderr, "--device: %s\n", gantry_last_message());
        exit(2);
    }
    if (memory_limit > 0)
        example_check(gantry_set_memory_limit(runtime, card, memory_limit),
                      "gantry_set_memory_limit");
    return runtime;
}

static gantry_function_t *trace_with(gantry_runtime_t *runtime, const char *name,
                                     gantry_function_body_fn body, void *user,
                                     const gantry_input_spec_t *inputs, size_t input_count,
                                     const gantry_function_options_t *options) {
    gantry_function_t *function;
    example_check(gantry_function_trace(runtime, name, body, user, inputs, input_count, 1, options,
                                        &function),
                  name);
    return function;
}

static gantry_function_t *trace(gantry_runtime_t *runtime, const char *name,
                                gantry_function_body_fn body, void *user,
                                const gantry_input_spec_t *inputs, size_t input_count) {
    return trace_with(runtime, name, body, user, inputs, input_count, NULL);
}

static void print_explanation(gantry_function_t *function, gantry_explain_form_t form) {
    size_t length = 0;
    example_check(gantry_function_explain(function, form, NULL, 0, &length), "explaining");
    char *text = malloc(length + 1);
    if (text && gantry_function_explain(function, form, text, length + 1, NULL) == GANTRY_OK)
        (void)printf("%s", text);
    free(text);
}

/* Explains a function that was called, or draws it. */
static void show(gantry_function_t *function, const char *chapter) {
    if (!drawn) {
        print_explanation(function, GANTRY_EXPLAIN_TEXT);
    } else if (strcmp(drawn, chapter) == 0) {
        print_explanation(function, GANTRY_EXPLAIN_GRAPHVIZ);
        was_drawn = true;
    }
}

/* Calls a function of no inputs, and prints its result. */
static void call(gantry_runtime_t *runtime, gantry_function_t *function) {
    const gantry_tensor_t *result;
    gantry_scope_t *scope = gantry_scope_begin(runtime, wanted);
    if (gantry_function_call(scope, function, NULL, 0, &result, 1) == GANTRY_OK && !drawn)
        example_print(result);
    example_check(gantry_scope_end(scope), gantry_function_name(function));
}

/* ---- nodes on chosen devices ---- */

/* with tf.device("/cpu:0"): a = tf.Variable(3.0); b = tf.constant(4.0)
 * c = a * b */
static void multiply(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                     const gantry_tensor_t **outputs, void *user) {
    gantry_scope_t *cpu = gantry_scope_begin_in(scope, "/CPU:0");
    (void)inputs;
    const gantry_tensor_t *a = gantry_scope_keep(cpu, gantry_variable_read(cpu, user));
    (void)gantry_scope_name_next(cpu, "b");
    const gantry_tensor_t *b = gantry_scope_keep(cpu, gantry_scalar_f32(cpu, 4));
    (void)gantry_scope_end(cpu);
    (void)gantry_scope_name_next(scope, "mul");
    outputs[0] = gantry_mul(scope, a, b);
}

static void place(void) {
    heading("Nodes on chosen devices");
    gantry_runtime_t *runtime = open_runtime(0);
    gantry_scope_t *cpu = gantry_scope_begin(runtime, "/CPU:0");
    gantry_variable_t *a = gantry_variable_create(cpu, gantry_scalar_f32(cpu, 3), "a");
    example_check(gantry_scope_end(cpu), "the variable");
    gantry_function_t *function = trace(runtime, "c", multiply, a, NULL, 0);
    call(runtime, function);
    show(function, "place");
    gantry_function_release(function);
    gantry_variable_release(a);
    gantry_runtime_release(runtime);
}

/* ---- a device function ---- */

/* def variables_on_cpu(op): return "/cpu:0" if op.type == "Variable" else "/gpu:0" */
static const char *variables_on_cpu(const gantry_device_choice_t *choice, void *user) {
    (void)user;
    return strcmp(choice->op, "VarHandleOp") == 0 ? "/CPU:0" : wanted;
}

static void multiply_chosen(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                            const gantry_tensor_t **outputs, void *user) {
    gantry_scope_t *chosen = gantry_scope_begin_choosing(scope, variables_on_cpu, NULL);
    (void)inputs;
    const gantry_tensor_t *a = gantry_variable_read(chosen, user);
    (void)gantry_scope_name_next(chosen, "b");
    const gantry_tensor_t *b = gantry_scalar_f32(chosen, 4);
    (void)gantry_scope_name_next(chosen, "mul");
    outputs[0] = gantry_scope_keep(chosen, gantry_mul(chosen, a, b));
    (void)gantry_scope_end(chosen);
}

static void choose(void) {
    heading("A device function");
    gantry_runtime_t *runtime = open_runtime(0);
    gantry_scope_t *scope = gantry_scope_begin(runtime, NULL);
    gantry_scope_t *chosen = gantry_scope_begin_choosing(scope, variables_on_cpu, NULL);
    gantry_variable_t *a = gantry_variable_create(chosen, gantry_scalar_f32(chosen, 3), "a");
    example_check(gantry_scope_end(chosen), "the variable");
    example_check(gantry_scope_end(scope), "the variable");
    gantry_function_t *function = trace(runtime, "c", multiply_chosen, a, NULL, 0);
    call(runtime, function);
    show(function, "choose");
    gantry_function_release(function);
    gantry_variable_release(a);
    gantry_runtime_release(runtime);
}

/* ---- a variable that no GPU takes ---- */

/* with tf.device("/gpu:0"): i = tf.Variable(3) */
static void make_integer(bool is_soft) {
    gantry_runtime_t *runtime = open_runtime(0);
    example_check(gantry_set_soft_device_placement(runtime, is_soft), "soft placement");
    gantry_scope_t *scope = gantry_scope_begin(runtime, wanted);
    gantry_variable_t *i = gantry_variable_create(scope, gantry_scalar_i32(scope, 3), "i");
    if (!drawn)
        (void)printf("soft placement %s: %s\n", is_soft ? "on" : "off",
                     i ? gantry_logical_device_full_name(gantry_variable_device(i))
                       : gantry_scope_message(scope));
    gantry_variable_release(i);
    gantry_scope_clear(scope);
    (void)gantry_scope_end(scope);
    gantry_runtime_release(runtime);
}

static void place_softly(void) {
    heading("An integer variable, which lives on a CPU");
    make_integer(false);
    make_integer(true);
}

/* ---- control dependencies ---- */

/* a = tf.constant(1.0); b = a + 2.0 with tf.control_dependencies([a, b]): x = tf.constant(3.0); y =
 * tf.constant(4.0) z = x + y
 *
 * The constants are there from the start, so the addition waits in their place. The pass that folds
 * constants must be off, because it would compute all of this while the body is traced. */
static void wait_for_b(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                       const gantry_tensor_t **outputs, void *user) {
    (void)inputs, (void)user;
    (void)gantry_scope_name_next(scope, "a");
    const gantry_tensor_t *a = gantry_scalar_f32(scope, 1);
    const gantry_tensor_t *two = gantry_scalar_f32(scope, 2);
    (void)gantry_scope_name_next(scope, "b");
    const gantry_tensor_t *b = gantry_add(scope, a, two);
    gantry_scope_t *after = gantry_scope_begin_after(scope, BOTH{a, b}, 2);
    (void)gantry_scope_name_next(after, "x");
    const gantry_tensor_t *x = gantry_scalar_f32(after, 3);
    (void)gantry_scope_name_next(after, "y");
    const gantry_tensor_t *y = gantry_scalar_f32(after, 4);
    (void)gantry_scope_name_next(after, "z");
    outputs[0] = gantry_scope_keep(after, gantry_add(after, x, y));
    (void)gantry_scope_end(after);
}

static void wait_for(void) {
    heading("Control dependencies");
    gantry_runtime_t *runtime = open_runtime(0);
    const gantry_function_options_t options = {.struct_size = sizeof options,
                                               .passes_off = GANTRY_PASS_CONSTANT_FOLDING};
    gantry_function_t *function = trace_with(runtime, "z", wait_for_b, NULL, NULL, 0, &options);
    call(runtime, function);
    show(function, "after");
    gantry_function_release(function);
    gantry_runtime_release(runtime);
}

/* ---- a program that only fits when it is ordered ---- */

enum { SIDE = 2048 }; /* a matrix takes 16 MiB */

/* column * (factor column)^T */
static const gantry_tensor_t *make_matrix(gantry_scope_t *scope, const char *name,
                                          const gantry_tensor_t *column, float factor) {
    const gantry_tensor_t *scaled = gantry_mul(scope, column, gantry_scalar_f32(scope, factor));
    (void)gantry_scope_name_next(scope, name);
    return gantry_matmul(scope, column, scaled, &(gantry_matmul_options_t){.transpose_b = true});
}

static const gantry_tensor_t *make_b(gantry_scope_t *scope, const gantry_tensor_t *column) {
    const gantry_tensor_t *left = make_matrix(scope, "left", column, 1);
    const gantry_tensor_t *right = make_matrix(scope, "right", column, 2);
    return gantry_sum(scope, gantry_mul(scope, left, right), NULL);
}

/* x and y are ready early, and stay in memory until b is. */
static void work_at_once(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *x = make_matrix(scope, "x", inputs[0], 3),
                          *y = make_matrix(scope, "y", inputs[0], 4);
    const gantry_tensor_t *b = make_b(scope, inputs[0]);
    const gantry_tensor_t *z = gantry_sum(scope, gantry_add(scope, x, y), NULL);
    outputs[0] = gantry_add(scope, b, z);
}

/* The same, but x and y wait for b: the memory of one half serves the other. */
static void work_in_order(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                          const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *b = make_b(scope, inputs[0]);
    gantry_scope_t *after = gantry_scope_begin_after(scope, &b, 1);
    const gantry_tensor_t *x = make_matrix(after, "x", inputs[0], 3),
                          *y = make_matrix(after, "y", inputs[0], 4);
    const gantry_tensor_t *z = gantry_sum(after, gantry_add(after, x, y), NULL);
    outputs[0] = gantry_scope_keep(after, gantry_add(after, b, z));
    (void)gantry_scope_end(after);
}

static void print_planned(gantry_function_t *function) {
    gantry_function_memory_t memory[8] = {{.struct_size = sizeof memory[0]}};
    size_t count;
    example_check(gantry_function_get_memory(function, 8, memory, &count), "the memory's plan");
    for (size_t i = 0; i < count && i < 8; ++i) {
        if (memory[i].planned_bytes > 0)
            (void)printf("  a call takes %.1f MiB; side by side its values would take %.1f MiB\n",
                         (double)memory[i].planned_bytes / (double)MIB,
                         (double)memory[i].unplanned_bytes / (double)MIB);
    }
}

static void try_to_work(gantry_runtime_t *runtime, const char *name, gantry_function_body_fn body) {
    const gantry_input_spec_t input = {"column", GANTRY_FLOAT32, GANTRY_SHAPE(SIDE, 1)};
    const gantry_tensor_t *result;
    gantry_scope_t *scope = gantry_scope_begin(runtime, wanted);
    const gantry_tensor_t *column = gantry_ones(scope, GANTRY_FLOAT32, GANTRY_SHAPE(SIDE, 1));
    gantry_function_t *function = trace(runtime, name, body, NULL, &input, 1);
    gantry_status_t status = gantry_function_call(scope, function, &column, 1, &result, 1);
    if (!drawn) {
        (void)printf("%s\n", name);
        print_planned(function);
        if (status == GANTRY_OK) {
            example_print(result);
        } else {
            (void)printf("  %s: %.160s...\n", gantry_status_name(status),
                         gantry_scope_message(scope));
        }
    }
    show(function, name);
    gantry_function_release(function);
    gantry_scope_clear(scope);
    (void)gantry_scope_end(scope);
}

static void fit(void) {
    heading("A program that only fits when it is ordered: 48 MiB");
    gantry_runtime_t *runtime = open_runtime(48 * MIB);
    try_to_work(runtime, "at_once", work_at_once);
    try_to_work(runtime, "in_order", work_in_order);
    gantry_runtime_release(runtime);
}

/* ---- threads ---- */

/* Two independent halves. */
static void square_sums(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                        const gantry_tensor_t **outputs, void *user) {
    (void)user;
    const gantry_tensor_t *left = gantry_sum(scope, gantry_square(scope, inputs[0]), NULL),
                          *right = gantry_sum(scope, gantry_exp(scope, inputs[0]), NULL);
    outputs[0] = gantry_sub(scope, left, right);
}

/* tf.config.threading.set_intra_op_parallelism_threads(inside)
 * tf.config.threading.set_inter_op_parallelism_threads(between) */
static void use_threads(int32_t inside, int32_t between) {
    const gantry_input_spec_t input = {"x", GANTRY_FLOAT32, GANTRY_SHAPE(1 << 20)};
    gantry_runtime_t *runtime = open_runtime(0);
    example_check(gantry_set_intra_op_parallelism_threads(runtime, inside),
                  "gantry_set_intra_op_parallelism_threads");
    example_check(gantry_set_inter_op_parallelism_threads(runtime, between),
                  "gantry_set_inter_op_parallelism_threads");
    gantry_function_t *function = trace(runtime, "square_sums", square_sums, NULL, &input, 1);
    gantry_scope_t *scope = gantry_scope_begin(runtime, "/CPU:0");
    const gantry_tensor_t *zero = gantry_scalar_f32(scope, 0), *one = gantry_scalar_f32(scope, 1);
    const gantry_tensor_t *x = gantry_lin_space(scope, zero, one, 1 << 20), *result;
    (void)gantry_function_call(scope, function, &x, 1, &result, 1);
    if (!drawn) {
        (void)printf("inside an op %d, between ops %d\n", inside, between);
        example_print(result);
    }
    example_check(gantry_scope_end(scope), "square_sums");
    gantry_function_release(function);
    gantry_runtime_release(runtime);
}

static void share_work(void) {
    heading("Threads inside an op and between ops: the same bits for any number");
    use_threads(1, -1);
    use_threads(2, -1);
    use_threads(1, 2);
    use_threads(2, 2);
}

/* ---- */

static void choose_device(void) {
    wanted = "CPU:0";
    gantry_runtime_t *runtime = open_runtime(0);
    size_t count;
    example_check(gantry_list_physical_devices(runtime, "GPU", 0, NULL, &count),
                  "gantry_list_physical_devices");
    if (count > 0) wanted = "GPU:0";
    gantry_runtime_release(runtime);
}

static int show_usage(void) {
    (void)fprintf(
        stderr,
        "usage: functions [--device NAME] [--drawing place|choose|after|at_once|in_order]\n");
    return 2;
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i += 2) {
        const bool has_value = i + 1 < argc;
        if (has_value && strcmp(argv[i], "--device") == 0) {
            wanted = argv[i + 1];
        } else if (has_value && strcmp(argv[i], "--drawing") == 0) {
            drawn = argv[i + 1];
        } else {
            return show_usage();
        }
    }
    if (!wanted) choose_device();
    place();
    choose();
    place_softly();
    wait_for();
    fit();
    share_work();
    return drawn && !was_drawn ? show_usage() : 0;
}
