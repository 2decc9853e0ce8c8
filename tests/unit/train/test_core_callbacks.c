/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Callbacks of the log, of the heap, of placements, device functions and observers run in
 * the program's floating-point mode within a call of the training library, too.
 *
 * Each act is one call of the training library. What its own callbacks do is no call of the
 * program, so that the core's callbacks can only come from the library. */
#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <gantry/gantry.h>
#include <gantry_train/train.h>

#include "fp_modes.h"
#include "runtime_fixture.h"
#include "test.h"

/* ---- the core's callbacks ---- */

typedef enum kind_t { LOG = 1, HEAP = 2, PLACEMENT = 4, CHOICE = 8, OBSERVED = 16 } kind_t;
enum { KINDS = 5, OPS = LOG | HEAP | PLACEMENT, ALL = OPS | CHOICE | OBSERVED };
static const char *const kind_names[KINDS] = {"log", "heap", "placement", "device function",
                                              "observer"};

typedef struct program_t {
    gantry__fp_mode_t mode;
    atomic_int right[KINDS], wrong[KINDS];
    gantry_runtime_t *runtime;
    gantry_scope_t *outer, *scope;
    gantry_observer_t observer;
    gantry_variable_t *variable;
    const gantry_tensor_t *x; /* the variable's value, float32 [3] */
    gantry_tape_t *tape;
    const gantry_tensor_t *target;
    gantry_optimizer_t *optimizer;
    gantry_metric_t *metric;
    gantry_strategy_t *strategy;
    gantry_model_t *model;
    gantry_dataset_t *rows;
    gantry_dataset_iterator_t *iterator;
    char folder[64], file[96];
} program_t;

static void must(gantry_status_t status) {
    if (status != GANTRY_OK) fail_msg("%s", gantry_last_message());
}

/* Also on threads of the library, where a test cannot fail: fails later. */
static void note(program_t *p, kind_t kind) {
    const int place = __builtin_ctz((unsigned)kind);
    ++*(gantry__fp_equal(gantry__fp_read(), p->mode) ? &p->right[place] : &p->wrong[place]);
}

static void on_log(void *user, gantry_log_level_t level, const char *text) {
    (void)level, (void)text;
    note(user, LOG);
}

static void *on_heap(void *user, void *ptr, size_t old_bytes, size_t new_bytes) {
    (void)old_bytes;
    note(user, HEAP);
    if (new_bytes > 0) return realloc(ptr, new_bytes);
    free(ptr);
    return NULL;
}

static void on_placement(void *user, const gantry_placement_record_t *record) {
    (void)record;
    note(user, PLACEMENT);
}

static const char *on_choice(const gantry_device_choice_t *choice, void *user) {
    (void)choice;
    note(user, CHOICE);
    return NULL;
}

static gantry_status_t on_op(gantry_scope_t *scope, const gantry_observation_t *observation,
                             void *user) {
    (void)scope, (void)observation;
    note(user, OBSERVED);
    return GANTRY_OK;
}

/* ---- what the acts need ---- */

static gantry_status_t next_row(void *state, gantry_element_t *element, bool *out_end) {
    (void)state;
    float *x = gantry_element_component(element, 0, GANTRY_FLOAT32, &GANTRY_SHAPE(3));
    float *y = gantry_element_component(element, 1, GANTRY_FLOAT32, &GANTRY_SHAPE(1));
    if (!x || !y) return GANTRY_RESOURCE_EXHAUSTED;
    x[0] = x[1] = x[2] = *y = 0.5f;
    *out_end = false;
    return GANTRY_OK;
}

/* Its sum is a call of the program, on a thread of the library. */
static gantry_status_t add_rows(void *user, const gantry_array_t *input, size_t input_count,
                                gantry_element_t *output) {
    program_t *p = user;
    gantry_scope_t *scope = gantry_scope_begin(p->runtime, NULL);
    (void)gantry_add(scope, gantry_scalar_f32(scope, 1), gantry_scalar_f32(scope, 2));
    for (size_t i = 0; i < input_count; ++i) {
        void *out = gantry_element_component(output, i, input[i].dtype, &input[i].shape);
        if (!out) break;
        memcpy(out, input[i].data, (size_t)gantry_shape_elements(&input[i].shape) * sizeof(float));
    }
    return gantry_scope_end(scope);
}

static void open_data(program_t *p) {
    gantry_dataset_t *rows = gantry_dataset_from_callback(&(gantry_dataset_source_t){
        .struct_size = sizeof(gantry_dataset_source_t), .next = next_row, .user = p});
    p->rows = gantry_dataset_prefetch(
        gantry_dataset_take(gantry_dataset_batch(gantry_dataset_map(rows, add_rows, p, 2), 4, true),
                            3),
        1);
    must(gantry_dataset_iterator_create(p->rows, &p->iterator));
}

static void open_model(program_t *p) {
    p->model = gantry_sequential(p->runtime, NULL);
    must(gantry_model_add(p->model, gantry_dense(2, GANTRY_TANH, NULL)));
    must(gantry_model_add(p->model, gantry_dense(1, GANTRY_LINEAR, NULL)));
    must(gantry_model_compile(
        p->model, &(gantry_compile_options_t){.struct_size = sizeof(gantry_compile_options_t),
                                              .optimizer = gantry_sgd(NULL),
                                              .loss = GANTRY_MEAN_SQUARED_ERROR}));
}

static void open_runtime(program_t *p) {
    must(gantry_runtime_create(
        &(gantry_runtime_options_t){.struct_size = sizeof(gantry_runtime_options_t),
                                    .backends = "cpu",
                                    .cpu_threads = 2,
                                    .kernel_cache = "",
                                    .log_level = GANTRY_LEVEL_DEBUG,
                                    .log = on_log,
                                    .log_user = p,
                                    .reallocate = on_heap,
                                    .reallocate_user = p},
        &p->runtime));
    must(gantry_set_log_device_placement(p->runtime, true));
    must(gantry_set_placement_callback(p->runtime, on_placement, p));
}

static void open_program(program_t *p) {
    open_runtime(p);
    p->outer = gantry_scope_begin(p->runtime, NULL);
    p->scope = gantry_scope_begin_choosing(p->outer, on_choice, p);
    p->observer = (gantry_observer_t){.observe = on_op, .user = p};
    must(gantry_scope_observe(p->scope, &p->observer));
    p->variable = gantry_variable_create(p->scope, F32(p->scope, 0.5f, 2, 3), "v");
    p->tape = gantry_tape_begin(p->scope, &(gantry_tape_options_t){.persistent = true});
    p->x = gantry_variable_read(p->scope, p->variable);
    p->target = gantry_mul(p->scope, p->x, gantry_exp(p->scope, p->x));
    gantry_tape_pause(p->tape, true);
    p->optimizer = gantry_adam(NULL);
    p->metric = gantry_mean_metric(NULL);
    p->strategy = gantry_mirrored_strategy(p->runtime, (const char *const[]){"CPU:0"}, 1);
    (void)strcpy(p->folder, "/tmp/gantry_core_callbacks_XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    (void)snprintf(p->file, sizeof p->file, "%s/file", p->folder);
    open_model(p);
    open_data(p);
    must(gantry_scope_status(p->scope));
}

static void close_program(program_t *p) {
    (void)unlink(p->file);
    (void)rmdir(p->folder);
    gantry_dataset_iterator_release(p->iterator);
    gantry_dataset_release(p->rows);
    gantry_model_release(p->model);
    gantry_strategy_release(p->strategy);
    gantry_metric_release(p->metric);
    gantry_optimizer_release(p->optimizer);
    gantry_tape_end(p->tape);
    gantry_variable_release(p->variable);
    must(gantry_scope_end(p->scope));
    must(gantry_scope_end(p->outer));
    gantry_runtime_release(p->runtime);
}

/* ---- acts ---- */

static void gradient(program_t *p) {
    const gantry_source_t source = {.variable = p->variable};
    const gantry_tensor_t *found;
    must(gantry_tape_gradient(p->tape, p->target, NULL, &source, 1, NULL, &found));
}

static void gradient_slices(program_t *p) {
    const gantry_source_t source = {.variable = p->variable};
    gantry_gradient_t found;
    must(gantry_tape_gradient_slices(p->tape, p->target, NULL, &source, 1, NULL, &found));
}

static void jacobian(program_t *p) {
    const gantry_source_t source = {.variable = p->variable};
    const gantry_tensor_t *found;
    must(gantry_tape_jacobian(p->tape, p->target, &source, 1, NULL, &found));
}

static void hand_through(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                         const gantry_tensor_t **outputs, void *user) {
    (void)scope, (void)user;
    outputs[0] = inputs[0];
}

static void hand_back(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t *const *outputs, const gantry_tensor_t *const *dy,
                      const gantry_tensor_t **dx, void *user) {
    (void)scope, (void)inputs, (void)outputs, (void)user;
    dx[0] = dy[0];
}

static void custom_gradient(program_t *p) {
    const gantry_tensor_t *output;
    must(gantry_custom_gradient(p->scope, hand_through, hand_back, p, &p->x, 1, &output, 1));
}

static void do_nothing(gantry_scope_t *scope, size_t replica, void *user) {
    (void)scope, (void)replica, (void)user;
}

static void strategy_run(program_t *p) {
    must(gantry_strategy_run(p->strategy, p->scope, do_nothing, p));
}

static void strategy_reduce(program_t *p) {
    const gantry_tensor_t *out;
    must(gantry_strategy_reduce(p->strategy, p->scope, GANTRY_REDUCE_MEAN, &p->x, &out));
}

static void apply(program_t *p) {
    must(gantry_optimizer_apply(p->optimizer, p->scope, &p->variable, &p->x, 1));
}

static void loss(program_t *p) {
    (void)gantry_loss(p->scope, GANTRY_MEAN_SQUARED_ERROR, p->x, p->x, NULL);
}

static void metric(program_t *p) {
    must(gantry_metric_update(p->metric, p->scope, NULL, p->x, NULL));
}

static void activate(program_t *p) { (void)gantry_activate(p->scope, GANTRY_GELU, p->x); }

static void initialize(program_t *p) {
    const gantry_initializer_t random = {
        .struct_size = sizeof random, .kind = GANTRY_INIT_GLOROT_UNIFORM, .seed = 3};
    (void)gantry_initialize(p->scope, &random, GANTRY_FLOAT32, GANTRY_SHAPE(3, 4));
}

static void save(program_t *p) {
    const gantry_checkpoint_entry_t entry = {.name = "v", .variable = p->variable};
    must(gantry_checkpoint_save(p->scope, p->file, &entry, 1, NULL, 0));
}

static void next(program_t *p) {
    const gantry_array_t *components;
    size_t count;
    bool ends;
    must(gantry_dataset_iterator_next(p->iterator, &components, &count, &ends));
}

static void fit(program_t *p) {
    must(gantry_model_fit(
        p->model, p->rows,
        &(gantry_fit_options_t){.struct_size = sizeof(gantry_fit_options_t), .epochs = 1}));
}

static void evaluate(program_t *p) {
    double value;
    must(gantry_model_evaluate(p->model, p->rows, &value, 1));
}

static void save_model(program_t *p) { must(gantry_model_save(p->model, p->file)); }

typedef struct act_t {
    const char *name;
    void (*run)(program_t *program);
    int kinds; /* that come */
} act_t;

static const act_t acts[] = {
    {"gantry_tape_gradient", gradient, ALL},
    {"gantry_tape_gradient_slices", gradient_slices, ALL},
    {"gantry_tape_jacobian", jacobian, ALL},
    {"gantry_custom_gradient", custom_gradient, ALL},
    {"gantry_strategy_run", strategy_run, HEAP},
    {"gantry_strategy_reduce", strategy_reduce, ALL},
    {"gantry_optimizer_apply", apply, OPS | CHOICE},
    {"gantry_loss", loss, ALL},
    {"gantry_metric_update", metric, OPS | CHOICE},
    {"gantry_activate", activate, ALL},
    {"gantry_initialize", initialize, ALL},
    {"gantry_checkpoint_save", save, HEAP},
    {"gantry_dataset_iterator_next", next, OPS},
    {"gantry_model_fit", fit, OPS},
    {"gantry_model_evaluate", evaluate, OPS},
    {"gantry_model_save", save_model, HEAP},
};

/* ---- tests ---- */

static void check_act(program_t *p, const act_t *act, const char *mode) {
    for (int k = 0; k < KINDS; ++k) p->right[k] = p->wrong[k] = 0;
    act->run(p);
    must(gantry_scope_status(p->scope));
    for (int k = 0; k < KINDS; ++k) {
        if (p->wrong[k] > 0)
            fail_msg("%s, %s: %d of %d calls of the %s came in another mode", act->name, mode,
                     (int)p->wrong[k], p->wrong[k] + p->right[k], kind_names[k]);
        if (act->kinds >> k & 1 && p->right[k] == 0)
            fail_msg("%s, %s: the %s was not called", act->name, mode, kind_names[k]);
    }
}

static void check_acts(const fp_mode_case_t *mode) {
    static program_t p;
    memset(&p, 0, sizeof p);
    const gantry__fp_mode_t before = fp_mode_set(mode);
    p.mode = gantry__fp_read();
    open_program(&p);
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; ++i) check_act(&p, &acts[i], mode->name);
    close_program(&p);
    assert_same_mode(gantry__fp_read(), p.mode);
    gantry__fp_write(before);
    for (int k = 0; k < KINDS; ++k) assert_int_equal(p.wrong[k], 0);
}

TEST(callbacks_of_the_core_have_the_programs_mode_in_calls_of_training) {
    for (size_t m = 0; m < FP_MODES; ++m) check_acts(&fp_modes[m]);
}

int main(void) { return test_main(); }
