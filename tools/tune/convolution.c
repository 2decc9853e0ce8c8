/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the fastest of cuDNN's first sixteen choices for each convolution that the user names. The
 * library orders them by a heuristic. Each choice is measured through a record, in turn, round
 * after round, and runs as a program would run it: op by op, and with a bias or a Relu in a
 * function. The log says which engine that is, in the form of a record. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/clock.h"
#include "tune/tune.h"

#define SAMPLE_NS UINT64_C(4000000) /* one figure is a measurement of at least this time */

enum { CHOICES = 16, MOST_ROUNDS = 10, VALUES_BYTES = 512, NAME_BYTES = 64, WHY_BYTES = 400 };

/* One choice, on a device of its own. */
typedef struct conv_choice_t {
    const tune_form_t *form;
    tune_try_t tried;
    gantry_prepared_op_t *op;
    gantry_function_t *function; /* NULL: the op by itself */
    const gantry_tensor_t *inputs[3];
    size_t input_count;
    bool is_in;
    bool is_refused, is_missing; /* cuDNN does not compute the form; there is no cuDNN */
    char name[NAME_BYTES], values[VALUES_BYTES], why[WHY_BYTES]; /* what the log said */
    double seconds; /* of the fastest run so far; below 0: none */
} conv_choice_t;

typedef struct conv_race_t {
    tune_t *tune;
    const tune_form_t *form;
    size_t count; /* choices that were opened */
    conv_choice_t choices[CHOICES];
    size_t elements;       /* of the result */
    float *values;         /* of any operand */
    float *result, *first; /* first: the result of choice 0 */
} conv_race_t;

/* ---- what the log says ---- */

static void conv_hear(void *user, gantry_log_level_t level, const char *text) {
    conv_choice_t *choice = user;
    char name[NAME_BYTES], values[VALUES_BYTES], form[TUNE_FORM_BYTES] = "";
    const char *plan = strstr(text, "cuDNN plan ");
    if (plan && sscanf(plan, "cuDNN plan %63s %511[^;];", name, values) == 2 &&
        sscanf(values, "form=%199s", form) == 1) {
        const bool is_own = strcmp(form, choice->form->text) == 0;
        if (!is_own) (void)snprintf(choice->why, sizeof choice->why, "its form here is %s", form);
        (void)snprintf(choice->name, sizeof choice->name, "%s", is_own ? name : "");
        (void)snprintf(choice->values, sizeof choice->values, "%s", is_own ? values : "");
    }
    const bool is_missing = strstr(text, "take patches and matrix products") != NULL;
    if (level < GANTRY_LEVEL_INFO || !(is_missing || strstr(text, "cuDNN does not compute")))
        return;
    choice->is_missing = is_missing;
    choice->is_refused = true;
    (void)snprintf(choice->why, sizeof choice->why, "%s", text);
}

/* ---- one choice ---- */

static bool conv_report(const conv_choice_t *self, const char *what) {
    (void)fprintf(stderr, "gantry: %s: %s\n", self->form->text, what);
    return false;
}

/* The sizes of an operand, in the form's order. */
static gantry_shape_t conv_sizes_of(const tune_form_t *form, const int64_t dims[4],
                                    bool is_filter) {
    return form->is_planar && !is_filter ? GANTRY_SHAPE(dims[0], dims[3], dims[1], dims[2])
                                         : GANTRY_SHAPE(dims[0], dims[1], dims[2], dims[3]);
}

/* An operand with values of about -1 to 1, without memory for more. */
static const gantry_tensor_t *conv_operand(const conv_race_t *race, gantry_scope_t *scope,
                                           gantry_shape_t shape, size_t step) {
    const size_t count = (size_t)gantry_shape_elements(&shape);
    for (size_t i = 0; i < count; ++i) race->values[i] = (float)(i * step % 2003) * 1e-3f - 1.001f;
    const gantry_tensor_t *wide = gantry_constant(scope, GANTRY_FLOAT32, shape, race->values,
                                                  count * sizeof(float)),
                          *narrow = gantry_cast(scope, wide, race->form->dtype);
    if (wide && wide != narrow) gantry_tensor_drop(scope, wide);
    return narrow;
}

static const gantry_tensor_t *conv_sizes(gantry_scope_t *scope, gantry_shape_t shape) {
    int32_t dims[4];
    for (int d = 0; d < 4; ++d) dims[d] = (int32_t)shape.dims[d];
    return gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(4), dims, sizeof dims);
}

static void conv_make_inputs(const conv_race_t *race, conv_choice_t *self) {
    const tune_form_t *form = race->form;
    gantry_scope_t *scope = self->tried.scope;
    const gantry_shape_t images = conv_sizes_of(form, form->images, false),
                         filter = conv_sizes_of(form, form->filter, true),
                         result = conv_sizes_of(form, form->result, false);
    self->inputs[0] = form->kind == TUNE_GIVES_IMAGE ? conv_sizes(scope, images)
                                                     : conv_operand(race, scope, images, 7919);
    self->inputs[1] = form->kind == TUNE_GIVES_FILTER ? conv_sizes(scope, filter)
                                                      : conv_operand(race, scope, filter, 104729);
    self->input_count = form->kind != TUNE_CONVOLVES || form->has_bias ? 3 : 2;
    if (form->kind != TUNE_CONVOLVES)
        self->inputs[2] = conv_operand(race, scope, result, 1299709);
    else if (form->has_bias)
        self->inputs[2] = conv_operand(race, scope, GANTRY_SHAPE(form->filter[3]), 1299709);
}

#define CONV_ATTRS 5

/* The op's attributes. lists must outlive them. */
static void conv_write_attrs(const tune_form_t *form, int64_t lists[3][8],
                             gantry_attr_value_t attrs[CONV_ATTRS]) {
    const int first = form->is_planar ? 2 : 1;
    memset(lists, 0, 3 * 8 * sizeof lists[0][0]);
    for (int d = 0; d < 4; ++d) lists[0][d] = lists[1][d] = 1;
    for (int d = 0; d < 2; ++d) {
        lists[0][first + d] = form->steps[d];
        lists[1][first + d] = form->spreads[d];
        lists[2][2 * (first + d)] = form->pads[2 * d];
        lists[2][2 * (first + d) + 1] = form->pads[2 * d + 1];
    }
    attrs[0] = (gantry_attr_value_t){
        .name = "strides", .kind = GANTRY_ATTR_INTS, .i = 4, .list = lists[0]};
    attrs[1] = (gantry_attr_value_t){
        .name = "dilations", .kind = GANTRY_ATTR_INTS, .i = 4, .list = lists[1]};
    attrs[2] = (gantry_attr_value_t){
        .name = "explicit_paddings", .kind = GANTRY_ATTR_INTS, .i = 8, .list = lists[2]};
    attrs[3] =
        (gantry_attr_value_t){.name = "padding", .kind = GANTRY_ATTR_STRING, .s = "EXPLICIT"};
    attrs[4] = (gantry_attr_value_t){
        .name = "data_format", .kind = GANTRY_ATTR_STRING, .s = form->is_planar ? "NCHW" : "NHWC"};
}

/* A convolution with a bias, a Relu or both. */
static void conv_body(gantry_scope_t *scope, const gantry_tensor_t *const *inputs,
                      const gantry_tensor_t **outputs, void *user) {
    const conv_choice_t *self = user;
    const gantry_attr_value_t format = {.name = "data_format",
                                        .kind = GANTRY_ATTR_STRING,
                                        .s = self->form->is_planar ? "NCHW" : "NHWC"};
    const gantry_tensor_t *last = NULL;
    size_t count = 1;
    (void)gantry_op_call_prepared(scope, self->op, inputs, 2, &last, &count);
    if (self->form->has_bias) {
        const gantry_tensor_t *const both[] = {last, inputs[2]};
        (void)gantry_op_call(scope, "BiasAdd", both, 2, &format, 1, &last, &count);
    }
    outputs[0] = self->form->has_relu ? gantry_relu(scope, last) : last;
}

static bool conv_trace(conv_choice_t *self) {
    const tune_form_t *form = self->form;
    const gantry_input_spec_t specs[] = {
        {"images", form->dtype, conv_sizes_of(form, form->images, false)},
        {"filter", form->dtype, conv_sizes_of(form, form->filter, true)},
        {"bias", form->dtype, GANTRY_SHAPE(form->filter[3])}};
    return gantry_function_trace(self->tried.runtime, "convolution", conv_body, self, specs,
                                 self->input_count, 1, NULL, &self->function) == GANTRY_OK;
}

static bool conv_prepare(conv_choice_t *self) {
    static const char *const ops[] = {"Conv2D", "Conv2DBackpropInput", "Conv2DBackpropFilter"};
    gantry_attr_value_t attrs[CONV_ATTRS];
    int64_t lists[3][8];
    conv_write_attrs(self->form, lists, attrs);
    if (gantry_op_prepare(self->tried.runtime, ops[self->form->kind], attrs, CONV_ATTRS,
                          &self->op) != GANTRY_OK)
        return false;
    return (!self->form->has_bias && !self->form->has_relu) || conv_trace(self);
}

/* Returns NULL after a failure. */
static const gantry_tensor_t *conv_compute(const conv_choice_t *self) {
    gantry_scope_t *scope = self->tried.scope;
    const gantry_tensor_t *result = NULL;
    size_t count = 1;
    if (self->function)
        (void)gantry_function_call(scope, self->function, self->inputs, self->input_count, &result,
                                   1);
    else
        (void)gantry_op_call_prepared(scope, self->op, self->inputs, self->input_count, &result,
                                      &count);
    return result && gantry_tensor_wait(result) == GANTRY_OK ? result : NULL;
}

/* Computes once, and reads the result. */
static bool conv_first(const conv_race_t *race, const conv_choice_t *self) {
    gantry_scope_t *scope = self->tried.scope;
    const gantry_tensor_t *result = conv_compute(self),
                          *wide = result ? gantry_cast(scope, result, GANTRY_FLOAT32) : NULL;
    const bool is_read =
        wide && gantry_tensor_read(wide, race->result, race->elements * sizeof(float)) == GANTRY_OK;
    if (wide && wide != result) gantry_tensor_drop(scope, wide);
    if (result) gantry_tensor_drop(scope, result);
    return is_read;
}

static void conv_close(conv_choice_t *self) {
    self->is_in = false;
    gantry_function_release(self->function);
    gantry_prepared_op_release(self->op);
    tune_try_close(&self->tried);
    self->function = NULL;
    self->op = NULL;
}

/* Opens choice `number` and computes with it. False, after a message: a call failed. */
static bool conv_open(conv_race_t *race, conv_choice_t *self, int number) {
    const char *settings[] = {race->form->may_round ? "GANTRY_CUDA_MATMUL_PRECISION=tf32"
                                                    : "GANTRY_CUDA_MATMUL_PRECISION=float32",
                              "GANTRY_ANY_ORDER=0", "GANTRY_BATCH_INVARIANT=0", NULL};
    char values[TUNE_FORM_BYTES + 32];
    (void)snprintf(values, sizeof values, "form=%s use=%d", race->form->text, number);
    /* the first choice needs no record, and says the name of the others' */
    const tune_record_t records[] = {{number > 0 ? race->choices[0].name : NULL, values},
                                     {NULL, NULL}};
    self->form = race->form;
    self->seconds = -1;
    if (!tune_try_open_logged(&self->tried, race->tune, "cuda", settings, records, conv_hear, self))
        return false;
    conv_make_inputs(race, self);
    self->is_in = conv_prepare(self) && conv_first(race, self);
    if (self->is_in) return true;
    const char *reason = gantry_scope_message(self->tried.scope);
    (void)conv_report(self, reason[0] ? reason : gantry_last_message());
    conv_close(self);
    return false;
}

/* ---- results ---- */

/* The two results have sums in another order. How much they may differ, compared with an element
 * and the mean size of elements: a rounding of the result, and some roundings of operands or
 * sums. */
static double conv_tolerance(const tune_form_t *form) {
    if (form->dtype == GANTRY_BFLOAT16) return 0x1p-6;
    if (form->dtype == GANTRY_FLOAT16) return 0x1p-9;
    return form->may_round ? 0x1p-8 : 0x1p-13;
}

static bool conv_agrees(const conv_race_t *race) {
    const double tolerance = conv_tolerance(race->form);
    double squares = 0;
    for (size_t i = 0; i < race->elements; ++i)
        squares += (double)race->first[i] * (double)race->first[i];
    const double mean = sqrt(squares / (double)race->elements);
    for (size_t i = 0; i < race->elements; ++i) {
        const double first = (double)race->first[i];
        if (!(fabs((double)race->result[i] - first) <= tolerance * (fabs(first) + mean)))
            return false;
    }
    return true;
}

/* ---- the race ---- */

/* Whether an earlier choice has the same engine with the same knobs. */
static bool conv_is_again(const conv_race_t *race, const conv_choice_t *choice) {
    for (const conv_choice_t *other = race->choices; other < choice; ++other) {
        if (strcmp(other->values, choice->values) == 0) return true;
    }
    return false;
}

/* Opens the first choice. False: cuDNN does not compute the form, or a call failed. */
static bool conv_open_first(conv_race_t *race) {
    conv_choice_t *first = &race->choices[0];
    const bool is_open = conv_open(race, first, 0);
    race->count = 1;
    race->tune->failed += !is_open;
    if (is_open && (first->is_refused || !first->values[0])) {
        if (!first->is_missing)
            printf("  %s: not measured: %s\n", race->form->text,
                   first->why[0] ? first->why : "cuDNN does not compute it here");
        conv_close(first);
    }
    if (first->is_in) memcpy(race->first, race->result, race->elements * sizeof(float));
    return first->is_in;
}

/* Keeps the choice in the race if it is another engine with right results. */
static void conv_judge(conv_race_t *race, conv_choice_t *choice) {
    if (choice->is_refused || !choice->values[0] || conv_is_again(race, choice)) {
        conv_close(choice);
    } else if (!conv_agrees(race)) {
        ++race->tune->failed;
        (void)conv_report(choice, "wrong results:");
        (void)conv_report(choice, choice->values);
        conv_close(choice);
    }
}

/* Opens the other choices, also when time is up: a winner that was not compared with all of them is
 * none. After the last one that there is, the library's first choice comes again; twice, because it
 * may also be a second time in the list. */
static void conv_open_others(conv_race_t *race) {
    int again = 0;
    for (int i = 1; i < CHOICES && again < 2 && !gantry__os_is_asked_to_end(); ++i) {
        conv_choice_t *choice = &race->choices[race->count++];
        const bool is_open = conv_open(race, choice, i);
        race->tune->failed += !is_open;
        again = strcmp(choice->values, race->choices[0].values) == 0 ? again + 1 : 0;
        if (is_open) conv_judge(race, choice);
    }
}

/* Runs the choice for some milliseconds and times it. */
static bool conv_run(conv_choice_t *self) {
    const uint64_t start = gantry__now_ns();
    uint64_t end = start;
    for (int run = 0; run < 2 || end - start < SAMPLE_NS; ++run) {
        const uint64_t begin = end;
        const gantry_tensor_t *result = conv_compute(self);
        if (!result || self->is_refused)
            return conv_report(self, self->is_refused ? self->why : gantry_last_message());
        gantry_tensor_drop(self->tried.scope, result);
        end = gantry__now_ns();
        const double seconds = 1e-9 * (double)(end - begin);
        if (run > 0 && (self->seconds < 0 || seconds < self->seconds)) self->seconds = seconds;
    }
    return true;
}

static void conv_run_in_turn(conv_race_t *race) {
    for (int round = 0; round < MOST_ROUNDS && (round == 0 || !tune_is_over(race->tune)); ++round) {
        for (size_t turn = 0; turn < race->count; ++turn) {
            conv_choice_t *choice = &race->choices[(turn + (size_t)round) % race->count];
            if (!choice->is_in || gantry__os_is_asked_to_end()) continue;
            choice->is_in = conv_run(choice);
            race->tune->failed += !choice->is_in;
        }
    }
}

/* The first choice, unless another one gains enough. */
static void conv_conclude(conv_race_t *race) {
    const conv_choice_t *first = &race->choices[0], *best = first;
    char values[VALUES_BYTES + 64];
    if (!first->is_in) return;
    for (size_t i = 1; i < race->count; ++i) {
        const conv_choice_t *choice = &race->choices[i];
        if (choice->is_in &&
            choice->seconds * (best == first ? TUNE_LEAST_GAIN : 1) < best->seconds)
            best = choice;
    }
    (void)snprintf(values, sizeof values, "%s us=%.1f first=%.1f", best->values,
                   1e6 * best->seconds, 1e6 * first->seconds);
    tune_save(race->tune, best->name, values);
}

/* Returns whether there is a cuDNN. */
static bool conv_race(conv_race_t *race) {
    const conv_choice_t *first = &race->choices[0];
    const bool is_open = conv_open_first(race);
    if (first->is_missing) printf("  there is nothing to tune here: %s\n", first->why);
    if (is_open && tune_wants(race->tune, first->name)) {
        conv_open_others(race);
        conv_run_in_turn(race);
        if (!gantry__os_is_asked_to_end()) conv_conclude(race);
    }
    for (size_t i = 0; i < race->count; ++i) conv_close(&race->choices[i]);
    return !first->is_missing;
}

/* ---- all forms ---- */

static size_t conv_elements(const int64_t dims[4]) {
    return (size_t)dims[0] * (size_t)dims[1] * (size_t)dims[2] * (size_t)dims[3];
}

static size_t conv_most_elements(const tune_form_t *form) {
    const size_t images = conv_elements(form->images), filter = conv_elements(form->filter),
                 result = conv_elements(form->result), most = images > filter ? images : filter;
    return most > result ? most : result;
}

/* Measures one form. Returns whether there is a cuDNN. */
static bool conv_tune(tune_t *tune, const tune_form_t *form) {
    const size_t most = conv_most_elements(form);
    bool has_cudnn = true;
    conv_race_t *race = calloc(1, sizeof *race);
    float *values = malloc(most * sizeof(float)), *result = malloc(most * sizeof(float)),
          *first = malloc(most * sizeof(float));
    if (race && values && result && first) {
        *race = (conv_race_t){
            .tune = tune, .form = form, .values = values, .result = result, .first = first};
        race->elements = conv_elements(form->kind == TUNE_CONVOLVES     ? form->result
                                       : form->kind == TUNE_GIVES_IMAGE ? form->images
                                                                        : form->filter);
        has_cudnn = conv_race(race);
    } else {
        ++tune->failed;
        (void)fprintf(stderr, "gantry: %s: no memory for %zu elements\n", form->text, most);
    }
    free(first);
    free(result);
    free(values);
    free(race);
    return has_cudnn;
}

/* Whether the user may want records of the form: its name is known when it runs. */
static bool conv_is_wanted(const tune_t *tune, const tune_form_t *form) {
    static const char *const kinds[] = {"cudnn.convolve.", "cudnn.image_gradient.",
                                        "cudnn.filter_gradient."};
    const char *kind = kinds[form->kind];
    const size_t length = tune->only ? strlen(tune->only) : 0;
    return strncmp(kind, tune->only ? tune->only : "",
                   length < strlen(kind) ? length : strlen(kind)) == 0;
}

void tune_convolutions(tune_t *tune) {
    const uint64_t deadline = tune->deadline_ns;
    bool is_first = true, has_cudnn = true;
    if (!tune->forms) {
        printf("  convolutions are not measured: %s\n", TUNE_FORMS_ADVICE);
        return;
    }
    for (size_t i = 0; i < tune->forms->count && has_cudnn && !gantry__os_is_asked_to_end(); ++i) {
        const tune_form_t *form = &tune->forms->list[i];
        if (conv_is_wanted(tune, form) &&
            tune_takes_share(tune, form->text, deadline, (int)(tune->forms->count - i), &is_first))
            has_cudnn = conv_tune(tune, form);
    }
    tune->deadline_ns = deadline;
}
