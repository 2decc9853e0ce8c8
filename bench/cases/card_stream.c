/* SPDX-License-Identifier: Apache-2.0 */
/* Elementwise ops and sums of large float32 matrices on a card, against the card's own copy,
 * cuMemcpyDtoDAsync. Bytes count as they cross the memory bus. An op that reads two tensors and
 * writes one moves three, and is compared with a copy of one and a half, which reads and writes
 * them. Sums count the bytes that they read. */
#include "card.h"

#include <math.h>
#include <stdlib.h>

#define LEAST_RATIO 0.9
#define CHECKED 256 /* elements of a row or column */

typedef enum form_t { FORM_ELEMENTS, FORM_TOTAL, FORM_ROWS, FORM_COLUMNS } form_t;

typedef struct work_t {
    const char *name;
    form_t form;
    int tensors; /* moved */
    /* NULL: a + b, or a sum */
    const gantry_tensor_t *(*op)(gantry_scope_t *scope, const gantry_tensor_t *a);
    double (*host)(double a);
} work_t;

static const work_t works[] = {
    {"a + b", FORM_ELEMENTS, 3, NULL, NULL},
    {"exp(a)", FORM_ELEMENTS, 2, gantry_exp, exp},
    {"tanh(a)", FORM_ELEMENTS, 2, gantry_tanh, tanh},
    {"sum of all", FORM_TOTAL, 1, NULL, NULL},
    {"sums of rows", FORM_ROWS, 1, NULL, NULL},
    {"sums of columns", FORM_COLUMNS, 1, NULL, NULL},
};

typedef struct subject_t {
    gantry_scope_t *scope;
    const gantry_tensor_t *a, *b;
    const work_t *work;
    int64_t side; /* of the square matrices */
} subject_t;

typedef struct copy_t {
    const bench_card_t *card;
    bench_address_t source, target;
    size_t bytes;
} copy_t;

static const gantry_tensor_t *compute(const subject_t *subject) {
    const int32_t axis = subject->work->form == FORM_ROWS ? 1 : 0;
    gantry_reduce_options_t along = {.axes = &axis, .axis_count = 1};
    if (subject->work->op) return subject->work->op(subject->scope, subject->a);
    if (subject->work->form == FORM_ELEMENTS)
        return gantry_add(subject->scope, subject->a, subject->b);
    return gantry_sum(subject->scope, subject->a,
                      subject->work->form == FORM_TOTAL ? NULL : &along);
}

static bool run(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        const gantry_tensor_t *c = compute(subject);
        if (!c || (i + 1 == calls && gantry_tensor_wait(c) != GANTRY_OK)) return false;
        gantry_tensor_drop(subject->scope, c);
    }
    return true;
}

static bool raw_copy(void *argument, int calls) {
    const copy_t *copy = argument;
    for (int i = 0; i < calls; ++i) {
        if (copy->card->cuda.cuMemcpyDtoDAsync_v2(copy->target, copy->source, copy->bytes,
                                                  copy->card->stream) != 0)
            return false;
    }
    return bench_card_wait(copy->card);
}

/* ---- checks ---- */

/* Reads rows x columns of x from (row, column) on. */
static bool read_part(const subject_t *subject, const gantry_tensor_t *x, const int64_t begin[2],
                      const int64_t size[2], float *out) {
    const gantry_tensor_t *part = x ? gantry_slice(subject->scope, x, begin, size) : NULL;
    if (!part ||
        gantry_tensor_read(part, out, (size_t)(size[0] * size[1]) * sizeof *out) != GANTRY_OK)
        return false;
    gantry_tensor_drop(subject->scope, part);
    return true;
}

static bool is_near(double found, double wanted) {
    return fabs(found - wanted) <= 1e-4 * fabs(wanted) + 1e-6;
}

/* Checks the first elements of the last row. */
static bool elements_are_right(const subject_t *subject, const gantry_tensor_t *c) {
    float a[CHECKED], b[CHECKED], found[CHECKED];
    int64_t begin[2] = {subject->side - 1, 0},
            size[2] = {1, subject->side < CHECKED ? subject->side : CHECKED};
    bool is_right = read_part(subject, subject->a, begin, size, a) &&
                    read_part(subject, subject->b, begin, size, b) &&
                    read_part(subject, c, begin, size, found);
    for (int64_t i = 0; is_right && i < size[1]; ++i) {
        is_right = is_near(found[i], subject->work->host ? subject->work->host(a[i])
                                                         : (double)a[i] + (double)b[i]);
    }
    return is_right;
}

static double total(const float *values, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += (double)values[i];
    return sum;
}

/* Checks the sum of the last row or column, or compares the sum of all with the rows' sums. */
static bool sums_are_right(const subject_t *subject, const gantry_tensor_t *c) {
    int64_t side = subject->side;
    bool is_row = subject->work->form == FORM_ROWS, is_total = subject->work->form == FORM_TOTAL;
    float *values = malloc((size_t)side * 2 * sizeof *values),
          *found = values + (values ? side : 0);
    bool is_right = values;
    if (is_right && is_total) {
        gantry_reduce_options_t rows = {.axes = (const int32_t[]){1}, .axis_count = 1};
        const gantry_tensor_t *sums = gantry_sum(subject->scope, subject->a, &rows);
        is_right = sums &&
                   gantry_tensor_read(sums, values, (size_t)side * sizeof *values) == GANTRY_OK &&
                   gantry_tensor_read(c, found, sizeof *found) == GANTRY_OK &&
                   is_near(found[0], total(values, side));
    } else if (is_right) {
        int64_t begin[2] = {is_row ? side - 1 : 0, is_row ? 0 : side - 1},
                size[2] = {is_row ? 1 : side, is_row ? side : 1};
        is_right = read_part(subject, subject->a, begin, size, values) &&
                   gantry_tensor_read(c, found, (size_t)side * sizeof *found) == GANTRY_OK &&
                   is_near(found[side - 1], total(values, side));
    }
    free(values);
    return is_right;
}

static bool is_right(bench_t *bench, const subject_t *subject, const char *work,
                     const char *device) {
    const gantry_tensor_t *c = compute(subject);
    if (!c || gantry_tensor_wait(c) != GANTRY_OK)
        return bench_card_has_failed(bench, "card_stream", work, device);
    bool right = subject->work->form == FORM_ELEMENTS ? elements_are_right(subject, c)
                                                      : sums_are_right(subject, c);
    gantry_tensor_drop(subject->scope, c);
    return right || bench_card_is_wrong(bench, "card_stream", work, device);
}

/* ---- the case ---- */

static bool open_subject(bench_t *bench, const char *device, int64_t side, subject_t *subject) {
    *subject = (subject_t){.scope = bench_scope(bench, device), .side = side};
    if (!subject->scope) return false;
    subject->a = bench_random(subject->scope, GANTRY_SHAPE(side, side), 1);
    subject->b = bench_random(subject->scope, GANTRY_SHAPE(side, side), 2);
    return subject->a && subject->b;
}

/* subjects[0] is the CUDA view, and subjects[1] the OpenCL view, without a scope if there is
 * none. */
static void measure(bench_t *bench, const char *const names[2], subject_t subjects[2], copy_t *copy,
                    const work_t *work) {
    char text[48];
    bench_contender_t contenders[3] = {
        {.name = "cuMemcpyDtoDAsync", .run = raw_copy, .subject = copy}};
    size_t bytes = (size_t)(subjects[0].side * subjects[0].side) * 4, count = 1;
    copy->bytes = bytes * (size_t)work->tensors / 2;
    (void)snprintf(text, sizeof text, "%s, %zu KiB", work->name, bytes >> 10);
    for (int i = 0; i < 2; ++i) {
        subjects[i].work = work;
        if (!subjects[i].a || !subjects[i].b) continue;
        if (is_right(bench, &subjects[i], text, names[i]))
            contenders[count++] =
                (bench_contender_t){.name = names[i], .run = run, .subject = &subjects[i]};
    }
    bench_measure_t shown = {
        .subject = "card_stream",
        .work = text,
        .unit = "GB/s",
        .amount = (double)bytes * work->tensors * 1e-9,
        .reference = &contenders[0],
        .least_ratio = LEAST_RATIO,
    };
    bench_card_interleave(bench, contenders, count, BENCH_CARD_MOST_CALLS);
    for (size_t i = 1; i < count; ++i) {
        bool is_cuda = contenders[i].name == names[0];
        bench_report_contenders(&bench->report, &shown, &contenders[i], 1, is_cuda ? 1 : 0);
    }
    bench_report_contenders(&bench->report, &shown, contenders, 1, 0);
}

static void measure_side(bench_t *bench, const bench_device_t *device, const bench_card_t *card,
                         int64_t side) {
    const bench_device_t *view = bench_card_opencl_view(bench, device);
    const char *const names[2] = {device->alias, view ? view->alias : ""};
    size_t most = (size_t)(side * side) * 6; /* one and a half tensors */
    copy_t copy = {.card = card,
                   .source = bench_card_alloc(card, most),
                   .target = bench_card_alloc(card, most)};
    subject_t subjects[2] = {{0}};
    bool is_open = open_subject(bench, names[0], side, &subjects[0]);
    if (view) (void)open_subject(bench, names[1], side, &subjects[1]);
    if (is_open && copy.source && copy.target) {
        for (size_t i = 0; i < sizeof works / sizeof works[0]; ++i)
            measure(bench, names, subjects, &copy, &works[i]);
    } else {
        bench_report_note(&bench->report, "card_stream, %s, side %lld: left out, no memory for it",
                          device->alias, (long long)side);
    }
    for (int i = 0; i < 2; ++i) {
        if (subjects[i].scope) (void)gantry_scope_end(subjects[i].scope);
        if (names[i][0]) bench_card_trim(bench, names[i]);
    }
    bench_card_free(card, copy.source);
    bench_card_free(card, copy.target);
}

static void run_case(bench_t *bench, const bench_device_t *device, const bench_card_t *card) {
    static const int64_t sides[] = {4096, 8192, 16384}; /* 64 MiB, 256 MiB, 1 GiB */
    bool is_any = false;
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; ++i) {
        if ((size_t)(sides[i] * sides[i]) * 4 > bench->most_bytes) continue;
        is_any = true;
        measure_side(bench, device, card, sides[i]);
        (void)bench_save(bench);
    }
    if (!is_any) measure_side(bench, device, card, (int64_t)sqrt((double)bench->most_bytes / 4));
}

void bench_card_stream(bench_t *bench) { bench_each_card(bench, "card_stream", run_case); }
