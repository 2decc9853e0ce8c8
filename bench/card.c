/* SPDX-License-Identifier: Apache-2.0 */
#include "card.h"

#include <string.h>

#define ROUND_MS 30
#define STAND_IN_ROUND_MS 1
#define SETTLE_CALLS 2000
#define SETTLE_MOST_NS UINT64_C(2000000000)

void bench_each_card(bench_t *bench, const char *subject, bench_card_fn run) {
    bool is_any = false;
    for (size_t i = 0; i < bench->device_count; ++i) {
        const bench_device_t *device = &bench->devices[i];
        bench_card_t card;
        if (strncmp(device->alias, "cuda:", 5) != 0) continue;
        is_any = true;
        if (strncmp(device->hardware, "Stand-in", 8) == 0) {
            bench->is_stand_in = bench->report.is_without_targets = true;
            bench_report_note(
                &bench->report,
                "%s is the stand-in for NVIDIA's driver: results are checked, but times are not those of a card",
                device->alias);
        }
        if (bench_card_open(&card, device->uuid)) {
            run(bench, device, &card);
            bench_card_close(&card);
        } else {
            bench_report_note(&bench->report,
                              "%s, %s: left out, the raw driver does not open the card", subject,
                              device->alias);
        }
    }
    if (!is_any)
        bench_report_note(
            &bench->report,
            "the cases of cards are left out: there is no CUDA device, or none is selected");
}

const bench_device_t *bench_card_opencl_view(const bench_t *bench, const bench_device_t *device) {
    for (size_t i = 0; i < bench->device_count; ++i) {
        const bench_device_t *other = &bench->devices[i];
        if (strncmp(other->alias, "opencl:", 7) == 0 &&
            strcmp(other->alias, device->other_view) == 0)
            return other;
    }
    return NULL;
}

void bench_card_interleave(const bench_t *bench, bench_contender_t *contenders, size_t count,
                           int most_calls) {
    unsigned milliseconds = bench->is_stand_in ? STAND_IN_ROUND_MS : ROUND_MS;
    int calls = bench_calls_for(contenders, count, milliseconds, most_calls);
    bench_interleave(contenders, count, bench->is_stand_in ? 1 : bench->rounds, calls);
}

void bench_card_settle(const bench_t *bench, const bench_contender_t *contenders, size_t count) {
    const uint64_t begin = bench_now_ns();
    double before = 0;
    while (!bench->is_stand_in && bench_now_ns() - begin < SETTLE_MOST_NS) {
        const uint64_t start = bench_now_ns();
        for (size_t i = 0; i < count; ++i) {
            if (!contenders[i].run(contenders[i].subject, SETTLE_CALLS)) return;
        }
        const double took = (double)(bench_now_ns() - start);
        if (took > 0.98 * before && took < 1.02 * before) return;
        before = took;
    }
}

bool bench_card_is_wrong(bench_t *bench, const char *subject, const char *work, const char *on) {
    bench->is_wrong = true;
    bench_report_note(&bench->report, "WRONG RESULT: %s, %s on %s", subject, work, on);
    return false;
}

bool bench_card_has_failed(bench_t *bench, const char *subject, const char *work, const char *on) {
    bench->is_wrong = true;
    bench_report_note(&bench->report, "FAILED: %s, %s on %s: %.150s", subject, work, on,
                      gantry_last_message());
    return false;
}

void bench_card_trim(const bench_t *bench, const char *device) {
    (void)gantry_trim_memory(bench->runtime, device, 0, NULL);
}
