/* SPDX-License-Identifier: Apache-2.0 */
/* A small op on a card, against cuLaunchKernel of a kernel with the same arguments: many ops with
 * one wait at the end, rows of 100 with a wait, which fill no queue of the driver, and one wait for
 * each op. An op also allocates and frees the memory of its result. */
#include "card.h"

#define MOST_RATIO 1.2 /* of the raw driver's time */
#define ROW 100

typedef struct subject_t {
    gantry_scope_t *scope;
    const gantry_tensor_t *x;
} subject_t;

/* Waits after so many calls, and at the end. */
static bool run(const subject_t *subject, int calls, int row) {
    for (int i = 1; i <= calls; ++i) {
        const gantry_tensor_t *y = gantry_add(subject->scope, subject->x, subject->x);
        if (!y) return false;
        if ((i % row == 0 || i == calls) && gantry_tensor_wait(y) != GANTRY_OK) return false;
        gantry_tensor_drop(subject->scope, y);
    }
    return true;
}

static bool run_in_a_row(void *subject, int calls) { return run(subject, calls, calls); }
static bool run_rows(void *subject, int calls) { return run(subject, calls, ROW); }
static bool run_waited(void *subject, int calls) { return run(subject, calls, 1); }

static bool raw(const bench_small_add_t *add, int calls, int row) {
    for (int i = 1; i <= calls; ++i) {
        if (!bench_small_add_launch(add)) return false;
        if ((i % row == 0 || i == calls) && !bench_card_wait(add->card)) return false;
    }
    return true;
}

static bool raw_in_a_row(void *subject, int calls) { return raw(subject, calls, calls); }
static bool raw_rows(void *subject, int calls) { return raw(subject, calls, ROW); }
static bool raw_waited(void *subject, int calls) { return raw(subject, calls, 1); }

/* The ways of waiting. */
static const struct {
    const char *work;
    bool (*ours)(void *subject, int calls);
    bool (*raw)(void *subject, int calls);
} ways[] = {{"add of 4 elements, in a row", run_in_a_row, raw_in_a_row},
            {"add of 4 elements, in rows of 100", run_rows, raw_rows},
            {"add of 4 elements, each waited for", run_waited, raw_waited}};

static bool is_right(bench_t *bench, const subject_t *subject, const char *device) {
    float y[4] = {0};
    const gantry_tensor_t *sum = gantry_add(subject->scope, subject->x, subject->x);
    if (!sum || gantry_tensor_read(sum, y, sizeof y) != GANTRY_OK)
        return bench_card_has_failed(bench, "card_launch", "add of 4 elements", device);
    return (y[0] == 2 && y[1] == 4 && y[2] == 6 && y[3] == 8) ||
           bench_card_is_wrong(bench, "card_launch", "add of 4 elements", device);
}

static bool open_subject(bench_t *bench, const char *device, subject_t *subject) {
    const float x[4] = {1, 2, 3, 4};
    *subject = (subject_t){.scope = bench_scope(bench, device)};
    if (!subject->scope) return false;
    subject->x = gantry_constant(subject->scope, GANTRY_FLOAT32, GANTRY_SHAPE(4), x, sizeof x);
    return subject->x && is_right(bench, subject, device);
}

static void measure(bench_t *bench, bench_contender_t *contenders, size_t count, size_t way) {
    bench_measure_t shown = {
        .subject = "card_launch",
        .work = ways[way].work,
        .unit = "us",
        .per_second = 1e6,
        .reference = &contenders[1],
        .least_ratio = 1 / MOST_RATIO,
    };
    for (size_t i = 0; i < count; ++i) contenders[i].run = i == 1 ? ways[way].raw : ways[way].ours;
    if (way == 0) bench_card_settle(bench, contenders, count);
    bench_card_interleave(bench, contenders, count, BENCH_CARD_MOST_CALLS);
    bench_report_contenders(&bench->report, &shown, contenders, count, 1);
}

static void run_case(bench_t *bench, const bench_device_t *device, const bench_card_t *card) {
    const bench_device_t *view = bench_card_opencl_view(bench, device);
    subject_t subject, other = {0};
    bench_small_add_t add;
    bool is_open = open_subject(bench, device->alias, &subject),
         has_other = view && open_subject(bench, view->alias, &other);
    bool has_raw = bench_small_add_open(&add, card);
    if (has_raw && bench_small_add_launch(&add) && !bench_small_add_is_right(&add))
        (void)bench_card_is_wrong(bench, "card_launch", "add of 4 elements", "raw CUDA");
    if (is_open && has_raw) {
        bench_contender_t contenders[3] = {{.name = device->alias, .subject = &subject},
                                           {.name = "cuLaunchKernel", .subject = &add}};
        if (has_other) contenders[2] = (bench_contender_t){.name = view->alias, .subject = &other};
        for (size_t way = 0; way < sizeof ways / sizeof ways[0]; ++way)
            measure(bench, contenders, has_other ? 3 : 2, way);
    } else {
        bench_report_note(&bench->report, "card_launch, %s: left out, see standard error",
                          device->alias);
    }
    bench_small_add_close(&add);
    if (other.scope) (void)gantry_scope_end(other.scope);
    if (subject.scope) (void)gantry_scope_end(subject.scope);
}

void bench_card_launch(bench_t *bench) { bench_each_card(bench, "card_launch", run_case); }
