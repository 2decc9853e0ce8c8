/* SPDX-License-Identifier: Apache-2.0 */
/* Transfers of a card: making a constant and reading a tensor, against cuMemcpyHtoDAsync and
 * cuMemcpyDtoHAsync with the same memory, each with a wait. "Pinned" memory comes from
 * gantry_pinned_alloc, and has the target; "ordinary memory" comes from malloc. Above 64 KiB Gantry
 * hands the program's memory to the driver. Smaller transfers go through its own pinned blocks,
 * which this case does not measure. Copies between the card's two views, through the host, have no
 * reference. */
#include "card.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_RATIO 0.95
/* the time of smaller transfers is that of the call */
#define LEAST_BYTES_OF_TARGET ((size_t)16 << 20)

typedef struct subject_t {
    const bench_card_t *card;
    gantry_scope_t *scope;
    const gantry_tensor_t *source; /* the tensor to read */
    bench_address_t raw;           /* the raw driver's source and target */
    unsigned char *memory;         /* the program's */
    size_t bytes;
} subject_t;

static const gantry_tensor_t *make(const subject_t *subject) {
    gantry_shape_t shape = GANTRY_SHAPE((int64_t)(subject->bytes / 4));
    const gantry_tensor_t *x =
        gantry_constant(subject->scope, GANTRY_INT32, shape, subject->memory, subject->bytes);
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
        if (gantry_tensor_read(subject->source, subject->memory, subject->bytes) != GANTRY_OK)
            return false;
    }
    return true;
}

static bool raw_to_device(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        if (!bench_card_write(subject->card, subject->raw, subject->memory, subject->bytes))
            return false;
    }
    return true;
}

static bool raw_to_host(void *argument, int calls) {
    subject_t *subject = argument;
    for (int i = 0; i < calls; ++i) {
        if (!bench_card_read(subject->card, subject->memory, subject->raw, subject->bytes))
            return false;
    }
    return true;
}

/* Checks a copy there and back, with a different value in each 4 KiB and at the end. */
static bool comes_back(bench_t *bench, const subject_t *subject, const char *work,
                       const char *device) {
    size_t bytes = subject->bytes;
    bool is_same = true;
    memset(subject->memory, 0, bytes);
    for (size_t i = 0; i < bytes; i += 4096)
        subject->memory[i] = (unsigned char)(1 + i / 4096 % 251);
    subject->memory[bytes - 1] = 77;
    const gantry_tensor_t *x = make(subject);
    memset(subject->memory, 0, bytes);
    if (!x || gantry_tensor_read(x, subject->memory, bytes) != GANTRY_OK)
        return bench_card_has_failed(bench, "card_transfer", work, device);
    for (size_t i = 0; i < bytes; i += 4096)
        is_same &= subject->memory[i] == (unsigned char)(1 + i / 4096 % 251);
    is_same &= subject->memory[bytes - 1] == 77;
    gantry_tensor_drop(subject->scope, x);
    return is_same || bench_card_is_wrong(bench, "card_transfer", work, device);
}

static void measure(bench_t *bench, subject_t *subject, const char *device, bool is_pinned,
                    bool in) {
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
    static const size_t sizes[] = {(size_t)256 << 10, (size_t)4 << 20, (size_t)64 << 20,
                                   (size_t)256 << 20};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
        if (sizes[i] > bench->most_bytes) continue;
        subject->bytes = sizes[i];
        if (!comes_back(bench, subject, is_pinned ? "pinned" : "ordinary memory", device)) return;
        measure(bench, subject, device, is_pinned, true);
        subject->source = make(subject);
        if (!subject->source) return;
        measure(bench, subject, device, is_pinned, false);
        gantry_tensor_drop(subject->scope, subject->source);
    }
}

/* ---- between the card's two views ---- */

typedef struct copy_t {
    gantry_scope_t *target;
    const gantry_tensor_t *source;
} copy_t;

static bool copy_over(void *argument, int calls) {
    copy_t *copy = argument;
    for (int i = 0; i < calls; ++i) {
        const gantry_tensor_t *there = gantry_identity(copy->target, copy->source);
        if (!there || gantry_tensor_wait(there) != GANTRY_OK) return false;
        gantry_tensor_drop(copy->target, there);
    }
    return true;
}

static bool copy_is_right(const copy_t *copy, int64_t count) {
    int32_t *found = calloc((size_t)count, sizeof *found);
    const gantry_tensor_t *there = gantry_identity(copy->target, copy->source);
    bool is_same = found && there &&
                   gantry_tensor_read(there, found, (size_t)count * sizeof *found) == GANTRY_OK;
    for (int64_t i = 0; is_same && i < count; ++i) is_same = found[i] == (int32_t)i;
    if (there) gantry_tensor_drop(copy->target, there);
    free(found);
    return is_same;
}

static void measure_copy(bench_t *bench, const char *from, const char *to) {
    size_t bytes = bench->most_bytes < (size_t)64 << 20 ? bench->most_bytes : (size_t)64 << 20;
    int64_t count = (int64_t)(bytes / 4);
    char work[48];
    gantry_scope_t *source = bench_scope(bench, from);
    copy_t copy = {.target = bench_scope(bench, to)};
    bench_contender_t contender = {.name = to, .run = copy_over, .subject = &copy};
    bench_measure_t shown = {
        .subject = "card_transfer", .work = work, .unit = "GB/s", .amount = (double)bytes * 1e-9};
    (void)snprintf(work, sizeof work, "from %s, %zu KiB", from, bytes >> 10);
    if (source && copy.target)
        copy.source =
            gantry_range(source, gantry_scalar_i32(source, 0),
                         gantry_scalar_i32(source, (int32_t)count), gantry_scalar_i32(source, 1));
    if (!copy.source) {
        (void)bench_card_has_failed(bench, "card_transfer", work, to);
    } else if (!copy_is_right(&copy, count)) {
        (void)bench_card_is_wrong(bench, "card_transfer", work, to);
    } else {
        bench_card_interleave(bench, &contender, 1, 1000);
        bench_report_contenders(&bench->report, &shown, &contender, 1, 0);
    }
    if (copy.target) (void)gantry_scope_end(copy.target);
    if (source) (void)gantry_scope_end(source);
    bench_card_trim(bench, from);
    bench_card_trim(bench, to);
}

/* ---- the case ---- */

static void run_case(bench_t *bench, const bench_device_t *device, const bench_card_t *card) {
    const bench_device_t *view = bench_card_opencl_view(bench, device);
    size_t most = (size_t)256 << 20;
    void *pinned = NULL, *ordinary;
    if (most > bench->most_bytes) most = bench->most_bytes;
    subject_t subject = {.card = card,
                         .scope = bench_scope(bench, device->alias),
                         .raw = bench_card_alloc(card, most)};
    ordinary = malloc(most);
    if (gantry_pinned_alloc(bench->runtime, device->alias, most, &pinned) != GANTRY_OK)
        pinned = NULL;
    if (subject.scope && subject.raw && ordinary && pinned) {
        subject.memory = pinned;
        measure_sizes(bench, &subject, device->alias, true);
        subject.memory = ordinary;
        measure_sizes(bench, &subject, device->alias, false);
    } else {
        bench_report_note(&bench->report, "card_transfer, %s: left out, no memory for it",
                          device->alias);
    }
    (void)gantry_pinned_free(bench->runtime, pinned);
    free(ordinary);
    bench_card_free(card, subject.raw);
    if (subject.scope) (void)gantry_scope_end(subject.scope);
    bench_card_trim(bench, device->alias);
    if (!view) return;
    measure_copy(bench, device->alias, view->alias);
    measure_copy(bench, view->alias, device->alias);
}

void bench_card_transfer(bench_t *bench) { bench_each_card(bench, "card_transfer", run_case); }
