/* SPDX-License-Identifier: Apache-2.0 */
#include "trace_replay.h"

#include <stdlib.h>

#include "timer.h"

typedef struct replay_t {
    const subject_t *subject;
    void *state;
    void **blocks; /* by id; NULL: refused */
    uint64_t failed;
} replay_t;

static bool begin(replay_t *replay, const memory_trace_t *trace, const subject_t *subject,
                  uint64_t limit_bytes) {
    *replay = (replay_t){.subject = subject,
                         .blocks = calloc((size_t)trace->id_count + 1, sizeof(void *))};
    if (replay->blocks) replay->state = subject->open(limit_bytes);
    if (replay->state) return true;
    free(replay->blocks);
    return false;
}

static bool end(replay_t *replay) {
    bool ok = !replay->subject->is_broken(replay->state);
    replay->subject->close(replay->state);
    free(replay->blocks);
    return ok;
}

static void step(replay_t *replay, const trace_event_t *event) {
    void **block = &replay->blocks[event->id];
    if (event->bytes > 0) {
        *block = replay->subject->allocate(replay->state, event->bytes);
        replay->failed += !*block;
    } else if (*block) {
        replay->subject->free(replay->state, *block);
    }
}

static double fragmentation(const subject_view_t *view) {
    uint64_t unused = view->pool_bytes - view->in_use_bytes;
    return unused > 0 ? (double)(unused - view->largest_free_bytes) / (double)unused : 0;
}

static void raise_to(double *most, double value) {
    if (value > *most) *most = value;
}

static void note(trace_figures_t *figures, const subject_view_t *view, uint64_t needed_bytes,
                 bool allocated) {
    if (view->in_use_bytes > figures->peak_in_use_bytes)
        figures->peak_in_use_bytes = view->in_use_bytes;
    if (view->pool_bytes > figures->peak_pool_bytes) figures->peak_pool_bytes = view->pool_bytes;
    if (view->regions > figures->regions) figures->regions = view->regions;
    if (view->largest_region_bytes > figures->largest_region_bytes)
        figures->largest_region_bytes = view->largest_region_bytes;
    double bound = 2.0 * (double)needed_bytes + (double)view->largest_region_bytes;
    raise_to(&figures->worst_bound, (double)view->pool_bytes / bound);
    double now = fragmentation(view);
    figures->mean_fragmentation += now;
    if (view->pool_bytes - view->in_use_bytes >= figures->peak_pool_bytes / 10)
        raise_to(&figures->worst_fragmentation, now);
    if (allocated) figures->end_fragmentation = now;
}

bool trace_replay(const memory_trace_t *trace, const subject_t *subject, uint64_t limit_bytes,
                  trace_figures_t *out_figures) {
    *out_figures = (trace_figures_t){0};
    replay_t replay;
    uint64_t *peaks = memory_trace_make_peaks(trace);
    if (trace->broken || !peaks || !begin(&replay, trace, subject, limit_bytes)) {
        free(peaks);
        return false;
    }
    for (size_t i = 0; i < trace->count; ++i) {
        step(&replay, &trace->events[i]);
        subject_view_t view;
        subject->look(replay.state, &view);
        note(out_figures, &view, peaks[i], trace->events[i].bytes > 0);
    }
    if (trace->count > 0) {
        out_figures->mean_fragmentation /= (double)trace->count;
        out_figures->trace_peak_bytes = peaks[trace->count - 1];
    }
    out_figures->failed = replay.failed;
    free(peaks);
    return end(&replay);
}

uint64_t trace_replay_time_ns(const memory_trace_t *trace, const subject_t *subject) {
    replay_t replay;
    if (trace->broken || !begin(&replay, trace, subject, TRACE_NO_LIMIT)) return 0;
    uint64_t start = bench_now_ns();
    for (size_t i = 0; i < trace->count; ++i) step(&replay, &trace->events[i]);
    uint64_t taken = bench_now_ns() - start;
    return end(&replay) ? taken : 0;
}
