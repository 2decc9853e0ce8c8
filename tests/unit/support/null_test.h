/* SPDX-License-Identifier: Apache-2.0 */
/* Calls every function of null_calls.awk's table with NULL in each place, in child processes, so
 * that a crash names its function. The program that includes this defines null_places,
 * null_place_count and null_least_functions. Header only. */
#ifndef GANTRY_TEST_NULL_TEST_H
#define GANTRY_TEST_NULL_TEST_H

#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "null_calls.h"

#define MOST_SETS_OF 5 /* functions with more places: one at a time, all and none */

/* A place where NULL has a meaning. In every other place the call is InvalidArgument, and the
 * message says NULL. function "*": all. */
typedef struct null_place_t {
    const char *function, *place;
} null_place_t;

#define MAY_BE_NULL(function_name, place_name) {function_name, place_name},

extern const null_place_t null_places[];
extern const size_t null_place_count;
extern const size_t null_least_functions; /* of the table */

static bool is_optional(const null_function_t *function, uint32_t place) {
    for (size_t i = 0; i < null_place_count; ++i) {
        if (strcmp(null_places[i].place, function->places[place]) == 0 &&
            (strcmp(null_places[i].function, "*") == 0 ||
             strcmp(null_places[i].function, function->name) == 0))
            return true;
    }
    return false;
}

/* The child's progress, which its parent reads. */
typedef struct progress_t {
    uint32_t nulls;
    bool initialized;
    char complaint[512];
} progress_t;

static const char *message_of(const null_call_t *c) {
    return c->gives == NULL_GIVES_TENSOR && c->scope && *gantry_scope_message(c->scope)
               ? gantry_scope_message(c->scope)
               : gantry_last_message();
}

/* If a place that must not be NULL is NULL, the call has failed with InvalidArgument, and its
 * message says NULL. */
static bool is_told(const null_call_t *c) {
    if (c->gives == NULL_GIVES_NOTHING) return true;
    if (c->gives == NULL_GIVES_STATUS && c->status != GANTRY_INVALID_ARGUMENT) return false;
    if (c->gives == NULL_GIVES_TENSOR && c->object) return false;
    return strstr(message_of(c), "NULL") != NULL;
}

static bool has_succeeded(const null_call_t *c) {
    return c->gives == NULL_GIVES_STATUS ? c->status == GANTRY_OK
                                         : c->gives == NULL_GIVES_TENSOR && c->object != NULL;
}

static void call_with(const null_function_t *function, progress_t *progress) {
    null_call_t c = {.function = function, .nulls = progress->nulls};
    if (progress->initialized && gantry_runtime_initialize(given_runtime(&c)) != GANTRY_OK)
        _exit(3);
    (void)snprintf(c.before, sizeof c.before, "%s", gantry_last_message());
    function->call(&c);
    if (has_succeeded(&c) && *gantry_last_message() &&
        strcmp(gantry_last_message(), c.before) != 0) {
        (void)snprintf(progress->complaint, sizeof progress->complaint,
                       "it succeeds, and leaves \"%.300s\"", gantry_last_message());
        _exit(1);
    }
    if (c.gives == NULL_GIVES_STATUS &&
        (c.status == GANTRY_INTERNAL || c.status == GANTRY_UNKNOWN)) {
        (void)snprintf(progress->complaint, sizeof progress->complaint, "%s: %.300s",
                       gantry_status_name(c.status), gantry_last_message());
        _exit(1);
    }
    for (uint32_t i = 0; i < function->place_count; ++i) {
        if (c.nulls != UINT32_C(1) << i || is_optional(function, i) || is_told(&c)) continue;
        (void)snprintf(progress->complaint, sizeof progress->complaint, "%s, \"%.300s\"",
                       c.gives == NULL_GIVES_STATUS ? gantry_status_name(c.status)
                       : c.object                   ? "a result"
                                                    : "no result",
                       message_of(&c));
        _exit(1);
    }
}

/* Continues after the call in progress. */
static void call_all(const null_function_t *function, progress_t *progress) {
    const uint32_t sets = UINT32_C(1) << function->place_count;
    for (;; progress->nulls = 0, progress->initialized = true) {
        for (; progress->nulls < sets; ++progress->nulls) {
            uint32_t nulls = progress->nulls;
            bool is_single = (nulls & (nulls - 1)) == 0;
            if (function->place_count <= MOST_SETS_OF || is_single || nulls == sets - 1)
                call_with(function, progress);
        }
        if (progress->initialized) return;
    }
}

static void print_failure(const null_function_t *function, const progress_t *progress, int state) {
    print_error("%s, %s runtime, NULL:", function->name,
                progress->initialized ? "initialised" : "fresh");
    for (uint32_t i = 0; i < function->place_count; ++i)
        if (progress->nulls >> i & 1) print_error(" %s", function->places[i]);
    if (WIFSIGNALED(state)) {
        print_error(": died of signal %d\n", WTERMSIG(state));
    } else {
        print_error(": exit %d: %s\n", WEXITSTATUS(state), progress->complaint);
    }
}

/* The child inherits cmocka's signal handlers, which would continue the parent's test. */
static void end_by_signals(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS};
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; ++i)
        (void)signal(signals[i], SIG_DFL);
}

/* Returns the number of sets of places that fail. */
static int try_function(const null_function_t *function, progress_t *progress) {
    const uint32_t sets = UINT32_C(1) << function->place_count;
    int failures = 0;
    *progress = (progress_t){.nulls = 0};
    for (;;) {
        progress->complaint[0] = '\0';
        (void)fflush(NULL);
        pid_t child = fork();
        if (child == 0) {
            end_by_signals();
            call_all(function, progress);
            _exit(0);
        }
        int state = 0;
        assert_true(child > 0 && waitpid(child, &state, 0) == child);
        if (state == 0) return failures;
        print_failure(function, progress, state);
        if (++failures == 8) return failures;
        if (++progress->nulls < sets) continue;
        if (progress->initialized) return failures;
        progress->nulls = 0;
        progress->initialized = true;
    }
}

static void every_function_with_null_in_each_place_returns(void **state) {
    (void)state;
    progress_t *progress =
        mmap(NULL, sizeof *progress, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(progress != MAP_FAILED);
    int failures = 0;
    assert_true(null_function_count >= null_least_functions); /* the generator expands macros */
    for (size_t i = 0; i < null_function_count; ++i)
        failures += try_function(&null_functions[i], progress);
    (void)munmap(progress, sizeof *progress);
    if (failures > 0) fail_msg("%d sets of NULL places fail", failures);
}

/* A row of null_places.def without a function or place would hide that the place is gone. */
static void every_place_that_may_be_null_exists(void **state) {
    (void)state;
    for (size_t k = 0; k < null_place_count; ++k) {
        bool found = false;
        for (size_t i = 0; i < null_function_count && !found; ++i) {
            const null_function_t *function = &null_functions[i];
            if (strcmp(null_places[k].function, "*") != 0 &&
                strcmp(null_places[k].function, function->name) != 0)
                continue;
            for (uint32_t p = 0; p < function->place_count; ++p)
                found = found || strcmp(function->places[p], null_places[k].place) == 0;
        }
        if (!found) fail_msg("%s has no place %s", null_places[k].function, null_places[k].place);
    }
}

static inline int null_test_main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_place_that_may_be_null_exists),
        cmocka_unit_test(every_function_with_null_in_each_place_returns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
