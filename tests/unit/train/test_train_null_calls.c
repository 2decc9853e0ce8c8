/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Every function of libgantry_train refuses NULL in each place, or gives it the meaning
 * that its header names.
 * Promise: A text about an object that is NULL ends with the thread's last failure, which is most
 * often that of the object's constructor.
 * Promise: After gantry_runtime_release, and in a child of fork, every function of libgantry_train
 * that takes the runtime, or an object of it, says FailedPrecondition and why; none reads freed
 * memory.
 *
 * null_calls.awk reads the functions from the headers. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "null_test.h"

const null_place_t null_places[] = {
#include "train_null_places.def"
};
const size_t null_place_count = sizeof null_places / sizeof null_places[0];
const size_t null_least_functions = 150;

/* ---- objects whose constructor failed ---- */

static const char constructor_text[] = "gantry_made: the constructor's own text";

/* Places of objects that a constructor makes. */
static bool is_object(const char *place) {
    static const char *const names[] = {"batches",   "block",   "checkpoint",  "dataset",
                                        "iterator",  "layer",   "metric",      "model",
                                        "optimizer", "runtime", "schedule",    "scope",
                                        "strategy",  "tape",    "communicator"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; ++i) {
        if (strcmp(names[i], place) == 0) return true;
    }
    return false;
}

static void fail_before(null_call_t *c) {
    (void)c;
    (void)gantry_fail(GANTRY_ABORTED, constructor_text);
}

static void call_without(const null_function_t *function, uint32_t place) {
    null_call_t c = {.function = function, .nulls = UINT32_C(1) << place, .ready = fail_before};
    char end[128];
    (void)snprintf(end, sizeof end, "; the last failure of this thread: %s", constructor_text);
    function->call(&c);
    const char *text = message_of(&c);
    const size_t length = strlen(text), end_length = strlen(end);
    if (c.gives == NULL_GIVES_NOTHING) _exit(0);
    if (length >= end_length && strcmp(text + length - end_length, end) == 0) _exit(0);
    (void)fprintf(stderr, "%s without %s: \"%.300s\"\n", function->name, function->places[place],
                  text);
    _exit(1);
}

static void texts_about_null_objects_end_with_the_failure_before(void **state) {
    int failures = 0, calls = 0;
    (void)state;
    for (size_t i = 0; i < null_function_count; ++i) {
        for (uint32_t p = 0; p < null_functions[i].place_count; ++p) {
            int ended = 0;
            if (!is_object(null_functions[i].places[p]) || is_optional(&null_functions[i], p))
                continue;
            (void)fflush(NULL);
            const pid_t child = fork();
            if (child == 0) {
                end_by_signals();
                call_without(&null_functions[i], p);
            }
            assert_true(child > 0 && waitpid(child, &ended, 0) == child);
            failures += ended != 0;
            ++calls;
        }
    }
    assert_true(calls > 80);
    if (failures > 0) fail_msg("%d of %d texts do not", failures, calls);
}

/* ---- released runtimes ---- */

/* These ask no runtime: they read or set what is in the object alone, or in a file. */
static const char *const without_runtime[] = {
    "gantry_strategy_device",
    "gantry_model_value_name",
    "gantry_model_variable",
    "gantry_mirrored_variable_copy",
};

static bool asks_runtime(const null_function_t *function) {
    for (size_t i = 0; i < sizeof without_runtime / sizeof without_runtime[0]; ++i) {
        if (strcmp(function->name, without_runtime[i]) == 0) return false;
    }
    return true;
}

/* The scope keeps the pointer valid. */
static void release_runtime(null_call_t *c) {
    if (!c->runtime) _exit(0); /* the function takes none, and no object of one */
    if (!gantry_scope_begin(c->runtime, NULL)) _exit(3);
    gantry_runtime_release(c->runtime);
}

static void go_on_in_child(null_call_t *c) {
    if (!c->runtime) _exit(0);
    const pid_t child = fork();
    if (child == 0) return;
    int state = 0;
    if (child < 0 || waitpid(child, &state, 0) != child) _exit(3);
    _exit(WIFEXITED(state) ? WEXITSTATUS(state) : 4);
}

static bool is_refused(const null_call_t *c, const char *text) {
    if (c->gives == NULL_GIVES_NOTHING) return true;
    if (c->gives == NULL_GIVES_STATUS && c->status != GANTRY_FAILED_PRECONDITION) return false;
    if (c->gives == NULL_GIVES_TENSOR && c->object) return false;
    return strstr(message_of(c), text) != NULL;
}

static void call_after(const null_function_t *function, void (*ready)(null_call_t *c),
                       const char *text) {
    null_call_t c = {.function = function, .ready = ready};
    function->call(&c);
    if (is_refused(&c, text)) _exit(0);
    (void)fprintf(stderr, "%s: %s, \"%.300s\"\n", function->name,
                  c.gives == NULL_GIVES_STATUS ? gantry_status_name(c.status)
                  : c.object                   ? "a result"
                                               : "no result",
                  message_of(&c));
    _exit(1);
}

static void expect_all_refused(void (*ready)(null_call_t *c), const char *text) {
    int failures = 0;
    for (size_t i = 0; i < null_function_count; ++i) {
        int state = 0;
        if (!asks_runtime(&null_functions[i])) continue;
        (void)fflush(NULL);
        const pid_t child = fork();
        if (child == 0) {
            end_by_signals();
            call_after(&null_functions[i], ready, text);
        }
        assert_true(child > 0 && waitpid(child, &state, 0) == child);
        if (state == 0) continue;
        ++failures;
        print_error("%s ends with state %x\n", null_functions[i].name, (unsigned)state);
    }
    if (failures > 0) fail_msg("%d functions fail", failures);
}

static void every_function_is_refused_after_release(void **state) {
    (void)state;
    expect_all_refused(release_runtime, "the runtime was released");
}

static void every_function_is_refused_after_fork(void **state) {
    (void)state;
    expect_all_refused(go_on_in_child, "fork");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_place_that_may_be_null_exists),
        cmocka_unit_test(every_function_with_null_in_each_place_returns),
        cmocka_unit_test(texts_about_null_objects_end_with_the_failure_before),
        cmocka_unit_test(every_function_is_refused_after_release),
        cmocka_unit_test(every_function_is_refused_after_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
