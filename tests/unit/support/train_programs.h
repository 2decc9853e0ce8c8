/* SPDX-License-Identifier: Apache-2.0 */
/* Small programs of make_program_cases.py: each trains a model, and has Keras's losses, metrics and
 * weights, wherever it runs and whether it is interrupted or not. Returns false with a text instead
 * of assertions, so that threads and processes without cmocka run them, too. Header only. */
#ifndef TESTS_TRAIN_PROGRAMS_H
#define TESTS_TRAIN_PROGRAMS_H

#include "train_program_models.h"

/* ---- all of them ---- */

typedef struct program_case_t {
    const char *name;
    gantry_model_t *(*make)(program_t *p);
    size_t count;
    double numbers[PROGRAM_NUMBERS]; /* Keras's */
} program_case_t;

static const program_case_t program_cases[] = {
#include "train_program_cases.inc"
};

enum { PROGRAM_CASES = sizeof program_cases / sizeof program_cases[0] };

/* Whether parts of a batch count alike. */
static inline bool program_has_parts(size_t index) {
    return program_cases[index].make != program_normed;
}

/* Whether nothing is left out that was seen before an interruption. */
static inline bool program_goes_on(size_t index) {
    return program_cases[index].make != program_stopped;
}

/* ---- a run ---- */

static inline gantry_status_t program_record(gantry_model_t *model, int64_t epoch,
                                             const gantry_logs_t *logs, bool *stop, void *user) {
    (void)model, (void)epoch, (void)stop;
    program_give(user, logs->values, logs->count);
    return GANTRY_OK;
}

static inline gantry_status_t program_interrupt(gantry_model_t *model, int64_t step, bool *stop,
                                                void *user) {
    program_t *p = user;
    (void)step, (void)stop;
    if (p->stop_after > 0 && --p->stop_after == 0) gantry_model_stop(model);
    return GANTRY_OK;
}

static inline gantry_status_t program_fit(program_t *p, gantry_model_t *model,
                                          gantry_dataset_t *batches) {
    const gantry_callback_t recorder = {.struct_size = sizeof recorder,
                                        .epoch_end = program_record,
                                        .step_end = program_interrupt,
                                        .user = p};
    const gantry_callback_t *callbacks[] = {&recorder, p->callbacks[0], p->callbacks[1]};
    gantry_fit_options_t options = p->fit;
    options.callbacks = callbacks;
    options.callback_count = p->callbacks[1] ? 3 : p->callbacks[0] ? 2 : 1;
    options.backup = p->backup;
    if (options.epochs == 0) options.epochs = 3;
    if (p->is_validated) options.validation = program_batches(p, PROGRAM_TESTED);
    const gantry_status_t status = gantry_model_fit(model, batches, &options);
    gantry_dataset_release(options.validation);
    return status;
}

static inline bool program_give_weights(program_t *p, gantry_model_t *model) {
    for (size_t i = 0; i < gantry_model_variable_count(model); ++i) {
        double values[PROGRAM_NUMBERS];
        gantry_scope_t *scope = gantry_scope_begin(p->runtime, NULL);
        const gantry_tensor_t *value =
            gantry_variable_read(scope, gantry_model_variable(model, i, NULL));
        const size_t count = (size_t)gantry_tensor_elements(value);
        const gantry_status_t status = gantry_tensor_read(value, values, count * sizeof *values);
        (void)gantry_scope_end(scope);
        if (!program_must(p, status)) return false;
        program_give(p, values, count);
    }
    return true;
}

/* One call of fit, in a model of its own; with is_whole also what follows it. */
static inline bool program_train(program_t *p, size_t index, gantry_status_t expected,
                                 bool is_whole) {
    double values[16];
    size_t count = 0;
    p->array_count = 0;
    p->fit = (gantry_fit_options_t){.epochs = 0};
    p->is_validated = false;
    p->callbacks[0] = p->callbacks[1] = NULL;
    gantry_model_t *model = program_cases[index].make(p);
    gantry_dataset_t *batches = program_batches(p, 0);
    const gantry_status_t status = program_fit(p, model, batches);
    bool is_good =
        status == expected || program_fail(p, "status %d: %s", (int)status, gantry_last_message());
    if (is_good && is_whole) {
        is_good = program_must(p, gantry_model_evaluate(model, batches, values, 16));
        while (count < 16 && gantry_model_value_name(model, count)) ++count;
        program_give(p, values, count);
        is_good = is_good && program_give_weights(p, model);
    }
    for (size_t i = 0; i < 2; ++i) gantry_callback_release(p->callbacks[i]);
    gantry_dataset_release(batches);
    gantry_model_release(model);
    return is_good;
}

static inline bool program_compare(program_t *p, size_t index) {
    const program_case_t *wanted = &program_cases[index];
    if (p->count != wanted->count)
        return program_fail(p, "%zu numbers; Keras has %zu", p->count, wanted->count);
    for (size_t i = 0; i < p->count; ++i) {
        if (!(fabs(p->numbers[i] - wanted->numbers[i]) <= 1e-9 * (1 + fabs(wanted->numbers[i]))))
            return program_fail(p, "number %zu is %.12g; Keras has %.12g", i, p->numbers[i],
                                wanted->numbers[i]);
    }
    return true;
}

/* Runs a program in *p, of which the first members are given; prints a failure. */
static inline bool program_run(program_t *p, size_t index) {
    p->count = 0;
    program_make_data(p);
    bool is_good = p->stop_after == 0 || program_train(p, index, GANTRY_CANCELLED, false);
    is_good = is_good && program_train(p, index, GANTRY_OK, true) && program_compare(p, index);
    if (!is_good) (void)fprintf(stderr, "program %s: %s\n", program_cases[index].name, p->text);
    return is_good;
}

#endif
