/* SPDX-License-Identifier: Apache-2.0 */
/* Agreement among the processes of a training. For each value x that must be alike, the header has
 * x and x * x: n processes have the same x exactly if n times the sum of squares is the square of
 * the sum. (Sums wrap around; a difference of 2^32 and more may then go unseen by chance.) Every
 * process has the same sums, so all of them see a difference, and then request all values. */
#include "train/model/worker.h"

#include <stdio.h>
#include <string.h>

#include "train/base/fp_mode.h"
#include "shared/memory.h"

typedef struct kind_row_t {
    const char *place; /* of a process: "rank 1 ..." */
    const char *what;  /* the work, for errors of the communicator */
    const char *values[GANTRY__WORKER_VALUES];
    const char *hint;
} kind_row_t;

static const kind_row_t rows[GANTRY__WORKER_KINDS] = {
    [GANTRY__WORKER_BUILD] = {"builds the model",
                              "gantry_model_build",
                              {"weights", "numbers in its weights", "as the type of weights",
                               "as the checksum of names and shapes of weights"},
                              "each makes the same model"},
    [GANTRY__WORKER_FIT] = {"begins gantry_model_fit",
                            "the begin of gantry_model_fit",
                            {"epochs", "as the first epoch", "batches in an epoch",
                             "batches of validation"},
                            "each trains alike"},
    [GANTRY__WORKER_STEP] = {"has another batch",
                             "step",
                             {"as the number of its step", "rows in its batch",
                              "as the checksum of its inputs",
                              "as the checksum of its labels and weights"},
                             "each reads the same data set in the same order"},
    [GANTRY__WORKER_METRICS] = {"has no further batch",
                                "the sum of the metrics",
                                {"numbers in its metrics", "tested batches", "tested rows", NULL},
                                "each reads the same data set"},
    [GANTRY__WORKER_EPOCH] = {"ends an epoch",
                              "the end of an epoch",
                              {"as the number of its epoch", NULL, NULL, NULL},
                              "each trains alike"},
    [GANTRY__WORKER_LOAD] = {"calls gantry_model_load",
                             "gantry_model_load",
                             {"variables to load", NULL, NULL, NULL},
                             "each compiles the same model"},
    [GANTRY__WORKER_BACKUP] = {"is at a backup",
                               "a backup",
                               {"as the epoch of its backup", "as the step of its backup", NULL,
                                NULL},
                               "each trains alike"},
    [GANTRY__WORKER_SETTINGS] = {"compares settings in gantry_model_fit",
                                 "the comparison of settings",
                                 {NULL},
                                 "each trains alike"},
    [GANTRY__WORKER_TEST] = {"begins gantry_model_evaluate",
                             "the begin of gantry_model_evaluate",
                             {NULL},
                             "each tests alike"},
    [GANTRY__WORKER_WEIGHTS] = {"compares weights in gantry_model_fit",
                                "the comparison of weights",
                                {NULL},
                                "each trains alike"},
    [GANTRY__WORKER_END] = {"is at the end of a call", "the end of a call", {NULL}, ""},
};

enum {
    ALIKE = 1 + GANTRY__WORKER_VALUES, /* the kind, and the values */
    HEADER = 2 * ALIKE + GANTRY__WORKER_SUMS + 1
};

/* ---- begin and end ---- */

gantry__worker_t *gantry__worker_create(const gantry_communicator_t *communicator) {
    gantry__worker_t *worker = gantry__alloc(1, sizeof *worker);
    if (!worker) return NULL;
    worker->communicator = *communicator;
    worker->table = gantry__alloc(communicator->size * ALIKE, sizeof *worker->table);
    if (worker->table) return worker;
    gantry__free(worker);
    return NULL;
}

void gantry__worker_forget(gantry__worker_t *worker) {
    if (!worker) return;
    gantry_function_release(worker->apply);
    worker->apply = NULL;
}

void gantry__worker_release(gantry__worker_t *worker) {
    if (!worker) return;
    gantry__worker_forget(worker);
    gantry__free(worker->table);
    gantry__free(worker->flat);
    gantry__free(worker->has_value);
    gantry__free((void *)worker->gradients);
    gantry__free((void *)worker->variables);
    gantry__free(worker);
}

bool gantry__worker_writes(const gantry__worker_t *worker) {
    return !worker || worker->communicator.rank == 0;
}

/* ---- the communicator ---- */

/* Notes an error of the communicator, after which nothing can be sent. */
static gantry_status_t note_told(gantry__worker_t *worker, gantry_status_t status) {
    if (status != GANTRY_OK) worker->is_told = true;
    return status;
}

gantry_status_t gantry__worker_all_reduce(gantry__worker_t *worker, void *elements, size_t count,
                                          gantry_dtype_t dtype, const char *what) {
    const gantry_communicator_t *c = &worker->communicator;
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    return note_told(worker, c->all_reduce(c->user, elements, count, dtype, what));
}

gantry_status_t gantry__worker_broadcast(gantry__worker_t *worker, void *data, size_t bytes,
                                         const char *what) {
    const gantry_communicator_t *c = &worker->communicator;
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    return note_told(worker, c->broadcast(c->user, data, bytes, 0, what));
}

gantry_status_t gantry__worker_compare(gantry__worker_t *worker, gantry__lines_t *lines,
                                       const char *what) {
    return note_told(worker, gantry__compare(&worker->communicator, lines, what));
}

static gantry__rank_name_t name_rank(const gantry__worker_t *worker, size_t rank) {
    return gantry__name_rank(&worker->communicator, rank);
}

/* ---- errors ---- */

static gantry_status_t fail_as(gantry__worker_t *worker, size_t rank, gantry_status_t status) {
    return gantry__train_fail(status, "%s failed: %s", name_rank(worker, rank).text, worker->told);
}

void gantry__worker_keep_text(gantry__worker_t *worker, gantry_status_t status) {
    if (status != GANTRY_OK)
        (void)snprintf(worker->own, sizeof worker->own, "%s", gantry_last_message());
}

gantry_status_t gantry__worker_tell(gantry__worker_t *worker, gantry_status_t status) {
    const gantry_communicator_t *c = &worker->communicator;
    GANTRY__TRAIN_PROGRAM_FP_MODE(program);
    uint64_t *table = worker->table;
    size_t first = 0;
    memset(table, 0, c->size * sizeof *table);
    table[c->rank] = (uint64_t)status;
    gantry_status_t said =
        gantry__worker_all_reduce(worker, table, c->size, GANTRY_UINT64, "the errors");
    while (first + 1 < c->size && table[first] == 0) ++first;
    memcpy(worker->told, worker->own, sizeof worker->told);
    if (said == GANTRY_OK)
        said = note_told(worker, c->broadcast(c->user, worker->told, sizeof worker->told, first,
                                              "the text of an error"));
    worker->is_told = true;
    if (status != GANTRY_OK) return gantry_fail(status, worker->own);
    return said != GANTRY_OK ? said : fail_as(worker, first, (gantry_status_t)table[first]);
}

static gantry_status_t fail_at_places(const gantry__worker_t *worker, size_t rank) {
    const uint64_t *table = worker->table;
    return gantry__train_fail(
        GANTRY_FAILED_PRECONDITION,
        "%s %s, and %s %s; all processes make the same calls in the same order, on the same data",
        name_rank(worker, rank).text, rows[table[rank * ALIKE]].place, name_rank(worker, 0).text,
        rows[table[0]].place);
}

/* The first process that says something else than rank 0, and where. */
static gantry_status_t fail_at_difference(const gantry__worker_t *worker) {
    const uint64_t *table = worker->table;
    for (size_t at = 0; at < worker->communicator.size * ALIKE; ++at) {
        const size_t rank = at / ALIKE, i = at % ALIKE;
        if (table[at] == table[i]) continue;
        if (i == 0) return fail_at_places(worker, rank);
        const kind_row_t *row = &rows[table[0]];
        return gantry__train_refuse(NULL, "%s has %lld %s; %s has %lld; %s",
                                    name_rank(worker, rank).text, (long long)table[at],
                                    row->values[i - 1], name_rank(worker, 0).text,
                                    (long long)table[i], row->hint);
    }
    return gantry__train_fail(
        GANTRY_INTERNAL, "the processes differ, but in none of the values that this call compares");
}

static void list_alike(const gantry__worker_call_t *call, uint64_t out[ALIKE]) {
    out[0] = (uint64_t)call->kind;
    memcpy(out + 1, call->values, sizeof call->values);
}

static gantry_status_t tell_difference(gantry__worker_t *worker,
                                       const gantry__worker_call_t *call) {
    const gantry_communicator_t *c = &worker->communicator;
    memset(worker->table, 0, c->size * ALIKE * sizeof *worker->table);
    list_alike(call, worker->table + c->rank * ALIKE);
    GANTRY__TRY(gantry__worker_all_reduce(worker, worker->table, c->size * ALIKE, GANTRY_UINT64,
                                          "the comparison of processes"));
    worker->is_told = true;
    return fail_at_difference(worker);
}

/* ---- agreement ---- */

static bool are_alike(const uint64_t *header, size_t size) {
    for (size_t i = 0; i < ALIKE; ++i) {
        if (size * header[2 * i + 1] != header[2 * i] * header[2 * i]) return false;
    }
    return true;
}

static void fill_header(const gantry__worker_call_t *call, uint64_t header[HEADER]) {
    uint64_t alike[ALIKE];
    list_alike(call, alike);
    for (size_t i = 0; i < ALIKE; ++i) {
        header[2 * i] = alike[i];
        header[2 * i + 1] = alike[i] * alike[i];
    }
    memcpy(header + 2 * ALIKE, call->sums, sizeof call->sums);
    header[HEADER - 1] = call->status != GANTRY_OK;
}

gantry__worker_text_t gantry__worker_say(const gantry__worker_t *worker,
                                         gantry__worker_kind_t kind) {
    gantry__worker_text_t what;
    if (kind == GANTRY__WORKER_STEP)
        (void)snprintf(what.text, sizeof what.text, "step %llu", (unsigned long long)worker->step);
    else
        (void)snprintf(what.text, sizeof what.text, "%s", rows[kind].what);
    return what;
}

gantry_status_t gantry__worker_agree(gantry__worker_t *worker, gantry__worker_call_t *call) {
    uint64_t header[HEADER];
    gantry__worker_keep_text(worker, call->status);
    fill_header(call, header);
    const gantry_status_t status = gantry__worker_all_reduce(
        worker, header, HEADER, GANTRY_UINT64, gantry__worker_say(worker, call->kind).text);
    if (call->status != GANTRY_OK) (void)gantry_fail(call->status, worker->own);
    if (status != GANTRY_OK) return call->status != GANTRY_OK ? call->status : status;
    if (header[HEADER - 1] > 0) return gantry__worker_tell(worker, call->status);
    if (!are_alike(header, worker->communicator.size)) return tell_difference(worker, call);
    memcpy(call->sums, header + 2 * ALIKE, sizeof call->sums);
    worker->is_told = false;
    return GANTRY_OK;
}

void gantry__worker_begin(gantry__worker_t *worker) {
    if (worker) worker->is_told = false;
}

gantry_status_t gantry__worker_end(gantry__worker_t *worker, gantry_status_t status) {
    if (!worker || (status != GANTRY_OK && worker->is_told)) return status;
    gantry__worker_call_t call = {.kind = GANTRY__WORKER_END, .status = status};
    return gantry__worker_agree(worker, &call);
}
