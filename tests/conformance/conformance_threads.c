/* SPDX-License-Identifier: Apache-2.0 */
/* Several threads, each with its own scopes, must give the same values on one device as one
 * thread. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "conformance.h"

#define THREADS 4
#define ROUNDS 40

typedef struct worker_t {
    gantry_runtime_t *runtime;
    const char *device;
    const gantry_tensor_t *shared; /* 0, 1, 2, ... 4095 */
    gantry_variable_t *variable;   /* each round adds 1 to this scalar; NULL: none */
    int number;
    char reason[512]; /* "" on success */
} worker_t;

/* shared * number + round, element 4095. */
static bool run_round(worker_t *w, int round) {
    float got = 0, wanted = 4095.0f * (float)w->number + (float)round;
    gantry_scope_t *scope = gantry_scope_begin(w->runtime, w->device);
    const int64_t begin[] = {4095}, size[] = {1};
    const gantry_tensor_t *scaled =
        gantry_mul(scope, w->shared, gantry_scalar_f32(scope, (float)w->number));
    const gantry_tensor_t *last = gantry_slice(
        scope, gantry_add(scope, scaled, gantry_scalar_f32(scope, (float)round)), begin, size);
    if (w->variable) gantry_variable_assign_add(scope, w->variable, gantry_scalar_f32(scope, 1));
    gantry_status_t status =
        last ? gantry_tensor_read(last, &got, sizeof got) : gantry_scope_status(scope);
    if (status != GANTRY_OK)
        snprintf(w->reason, sizeof w->reason, "%s",
                 last ? gantry_last_message() : gantry_scope_message(scope));
    else if (got != wanted)
        snprintf(w->reason, sizeof w->reason, "round %d gave %g instead of %g", round, (double)got,
                 (double)wanted);
    gantry_scope_end(scope);
    return w->reason[0] == 0;
}

static void *run_worker(void *argument) {
    worker_t *w = argument;
    for (int round = 0; round < ROUNDS && run_round(w, round); ++round) {
    }
    return NULL;
}

static void run_workers(conformance_t *c, const gantry_tensor_t *shared,
                        gantry_variable_t *variable) {
    worker_t workers[THREADS];
    pthread_t threads[THREADS];
    bool started[THREADS];
    for (int i = 0; i < THREADS; ++i) {
        workers[i] = (worker_t){c->runtime, c->options.device, shared, variable, i + 1, ""};
        started[i] = pthread_create(&threads[i], NULL, run_worker, &workers[i]) == 0;
    }
    for (int i = 0; i < THREADS; ++i) {
        CHECK(c, started[i], "thread %d cannot be started", i);
        if (started[i]) pthread_join(threads[i], NULL);
        CHECK(c, !workers[i].reason[0], "thread %d: %s", i, workers[i].reason);
    }
}

/* All records go to one object that is not thread-safe. */
static void threads_share_a_device(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *shared = conformance_iota(scope, 4096);
    gantry_variable_t *variable =
        gantry_variable_create(scope, gantry_scalar_f32(scope, 0), "rounds");
    CHECK(c, variable, "%s", gantry_scope_message(scope));
    gantry_set_placement_callback(c->runtime, NULL, NULL);
    run_workers(c, shared, variable);
    const float total[] = {THREADS * ROUNDS};
    if (variable && c->reasons == 0)
        conformance_check_floats(c, "the variable", gantry_variable_read(scope, variable), total,
                                 1);
    conformance_end_scope(c, scope, GANTRY_OK);
    gantry_variable_release(variable);
    conformance_watch_placements(c);
}

void conformance_run_threads(conformance_t *c) {
    static const conformance_check_t checks[] = {
        {"threads_share_a_device", threads_share_a_device}};
    conformance_run_checks(c, "thread", checks, sizeof checks / sizeof checks[0]);
}
