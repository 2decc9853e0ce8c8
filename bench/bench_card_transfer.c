/* Transfers of a card: a constant made and waited for, a tensor read, against cuMemcpyHtoDAsync and cuMemcpyDtoHAsync from and to the same
 * memory, each waited for. "Pinned" is what gantry_pinned_alloc gives, and has the target; "ordinary memory" is malloc's. Above 64 KiB Gantry
 * hands the program's memory to the driver, up to there it copies through pinned blocks of its own, which is not measured here. */
#include "bench_card.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_RATIO 0.95
#define LEAST_BYTES_OF_TARGET ((size_t)16 << 20) /* below, the cost of a call is measured and not that of the way */

typedef struct subject_t {
    const bench_card_t *card;
    gantry_scope_t *scope;
    const gantry_tensor_t *source; /* read back from here */
    bench_address_t raw;           /* the raw driver's source and target */
    unsigned char *memory;         /* the program's */
    size_t bytes;
} subject_t;

static const gantry_tensor_t *make(const subject_t *subject) {
    gantry_shape_t shape = GANTRY_SHAPE((int64_t)(subject->bytes / 4));
    const gantry_tensor_t *x = gantry_constant(subject->scope, GANTRY_INT32, shape, subject->memory, subject->bytes);
    return x && gantry_tensor_wait(x) == GANTRY_OK ? x : NULL;
}

static bool to_device(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        const gantry_tensor_t *x = make(subject);
        if (!x) return false;
        gantry_tensor_drop(subject->scope, x);
    }
    return true;
}

static bool to_host(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        if (gantry_tensor_read(subject->source, subject->memory, subject->bytes) != GANTRY_OK) return false;
    }
    return true;
}

static bool raw_to_device(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        if (!bench_card_write(subject->card, subject->raw, subject->memory, subject->bytes)) return false;
    }
    return true;
}

static bool raw_to_host(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        if (!bench_card_read(subject->card, subject->memory, subject->raw, subject->bytes)) return false;
    }
    return true;
}

/* There and back, a different value in each 4 KiB and at the end. */
static bool comes_back(const subject_t *subject) {
    size_t bytes = subject->bytes;
    bool is_same = true;
    memset(subject->memory, 0, bytes);
    for (size_t i = 0; i < bytes; i += 4096) subject->memory[i] = (unsigned char)(1 + i / 4096 % 251);
    subject->memory[bytes - 1] = 77;
    const gantry_tensor_t *x = make(subject);
    memset(subject->memory, 0, bytes);
    if (!x || gantry_tensor_read(x, subject->memory, bytes) != GANTRY_OK) return false;
    for (size_t i = 0; i < bytes; i += 4096) is_same &= subject->memory[i] == (unsigned char)(1 + i / 4096 % 251);
    is_same &= subject->memory[bytes - 1] == 77;
    gantry_tensor_drop(subject->scope, x);
    return is_same;
}

static void measure(bench_t *bench, subject_t *subject, const char *device, bool is_pinned, bool in) {
    char work[48];
    bench_contender_t contenders[2] = {
        {.name = device, .run = in ? to_device : to_host, .subject = subject},
        {.name = in ? "cuMemcpyHtoDAsync" : "cuMemcpyDtoHAsync",
         .run = in ? raw_to_device : raw_to_host,
         .subject = subject},
    };
    bool has_target = is_pinned && subject->bytes >= LEAST_BYTES_OF_TARGET;
    bench_measure_t shown = {
        .subject = "card_transfer",
        .work = work,
        .unit = "GB/s",
        .amount = (double)subject->bytes * 1e-9,
        .reference = &contenders[1],
        .least_ratio = has_target ? LEAST_RATIO : 0,
    };
    (void)snprintf(work, sizeof work, "to the %s, %s, %zu KiB", in ? "card" : "host",
                   is_pinned ? "pinned" : "ordinary memory", subject->bytes >> 10);
    bench_card_interleave(bench, contenders, 2, 1000);
    bench_report_contenders(&bench->report, &shown, contenders, 2, 1);
}

static void measure_sizes(bench_t *bench, subject_t *subject, const char *device, bool is_pinned) {
    static const size_t sizes[] = {(size_t)256 << 10, (size_t)4 << 20, (size_t)64 << 20, (size_t)256 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        if (sizes[i] > bench->most_bytes) continue;
        subject->bytes = sizes[i];
        if (!comes_back(subject)) {
            (void)bench_card_is_wrong(bench, "card_transfer", is_pinned ? "pinned" : "ordinary memory", device);
            return;
        }
        measure(bench, subject, device, is_pinned, true);
        subject->source = make(subject);
        if (!subject->source) return;
        measure(bench, subject, device, is_pinned, false);
        gantry_tensor_drop(subject->scope, subject->source);
    }
}

static void run_case(bench_t *bench, const bench_device_t *device, const bench_card_t *card) {
    size_t most = (size_t)256 << 20;
    void *pinned = NULL, *ordinary;
    if (most > bench->most_bytes) most = bench->most_bytes;
    subject_t subject = {.card = card, .scope = bench_scope(bench, device->alias), .raw = bench_card_alloc(card, most)};
    ordinary = malloc(most);
    if (gantry_pinned_alloc(bench->runtime, device->alias, most, &pinned) != GANTRY_OK) pinned = NULL;
    if (subject.scope && subject.raw && ordinary && pinned) {
        subject.memory = pinned;
        measure_sizes(bench, &subject, device->alias, true);
        subject.memory = ordinary;
        measure_sizes(bench, &subject, device->alias, false);
    } else {
        bench_report_note(&bench->report, "card_transfer, %s: left out, no memory for it", device->alias);
    }
    (void)gantry_pinned_free(bench->runtime, pinned);
    free(ordinary);
    bench_card_free(card, subject.raw);
    if (subject.scope) (void)gantry_scope_end(subject.scope);
    bench_card_trim(bench, device->alias);
}

void bench_card_transfer(bench_t *bench) { bench_each_card(bench, "card_transfer", run_case); }
