/* SPDX-License-Identifier: Apache-2.0 */
/* Tracks the order of work with vector clocks over streams.
 *
 * Each stream has a place in the clocks and gives its submissions rising positions. For each place,
 * a clock holds the position up to which all work is known to come before. A stream's clock grows
 * when the stream waits for an event (by the clock at the record). The host's clock grows when the
 * host waits or queries. A submission starts with the host's clock.
 *
 *     stream A:  write x (A1)   record e: {A1}
 *     stream B:                  wait e -> {A1}     read x: A1 is behind, good
 *     stream C:                                     read x: knows nothing of A1: violation
 *
 * A region remembers the accesses that a later access could still collide with, and forgets those
 * that the host knows to have ended. The check runs at submission, so that it detects a missing
 * wait independent of the threads' timing. A new stream gets the place of an ended stream, and
 * positions continue to rise. The host is one clock for all its threads, which can hide a collision
 * between two threads and never invents one. Cost: places * streams in bytes, accesses remembered
 * per operand in time. */
#include "fake_internal.h"

#include <stdlib.h>
#include <string.h>

#define MOST_ACCESSES 4096u

void gantry__fake_order_begin_stream(fake_stream_t *stream) {
    stream->clock_index = -1;
    for (int32_t i = 0; i < FAKE_CLOCKS; ++i) {
        if (gantry__fake.clock_taken[i]) continue;
        gantry__fake.clock_taken[i] = true;
        stream->clock_index = i;
        return;
    }
}

void gantry__fake_order_end_stream(const fake_stream_t *stream) {
    if (stream->clock_index < 0) return;
    gantry__fake.host_clock[stream->clock_index] = gantry__fake.positions[stream->clock_index];
    gantry__fake.clock_taken[stream->clock_index] = false;
}

void gantry__fake_order_join(uint64_t *clock, const uint64_t *with) {
    for (int32_t i = 0; i < FAKE_CLOCKS; ++i) {
        if (clock[i] < with[i]) clock[i] = with[i];
    }
}

void gantry__fake_order_submit(fake_stream_t *stream) {
    gantry__fake_order_join(stream->clock, gantry__fake.host_clock);
    if (stream->clock_index >= 0)
        stream->clock[stream->clock_index] = ++gantry__fake.positions[stream->clock_index];
}

bool gantry__fake_order_is_known(const fake_region_t *region) {
    for (uint32_t i = 0; i < region->access_count; ++i) {
        const fake_access_t *access = &region->accesses[i];
        if (gantry__fake.host_clock[access->clock] < access->position) return false;
    }
    return true;
}

static bool is_behind(const fake_stream_t *stream, const fake_access_t *access) {
    return access->clock == stream->clock_index || stream->clock[access->clock] >= access->position;
}

static void check(fake_call_t *call, const fake_access_t *old, const fake_access_t *now,
                  const fake_stream_t *stream, const fake_region_t *region, const char *what) {
    if (old->end <= now->begin || now->end <= old->begin || (!old->writes && !now->writes) ||
        is_behind(stream, old))
        return;
    gantry__fake_violate(
        call,
        "%s %s bytes %llu to %llu of region 0x%llx, which another stream %s: nothing orders the two",
        what, now->writes ? "writes" : "reads", (unsigned long long)now->begin,
        (unsigned long long)now->end, (unsigned long long)region->object.number,
        old->writes ? "writes" : "reads");
}

/* True when the new access replaces the old one, because all work after the new access is also
 * after the old one. */
static bool is_replaced(const fake_access_t *old, const fake_access_t *now,
                        const fake_stream_t *stream) {
    if (gantry__fake.host_clock[old->clock] >= old->position) return true;
    if (old->begin < now->begin || old->end > now->end || !is_behind(stream, old)) return false;
    return now->writes || !old->writes;
}

static void remember(fake_region_t *region, const fake_access_t *access) {
    if (region->access_count == region->access_capacity) {
        uint32_t capacity = region->access_capacity ? region->access_capacity * 2 : 16;
        fake_access_t *grown =
            capacity <= MOST_ACCESSES ? realloc(region->accesses, capacity * sizeof *grown) : NULL;
        if (!grown) return; /* not tracked: a violation may go unnoticed */
        region->accesses = grown;
        region->access_capacity = capacity;
    }
    region->accesses[region->access_count++] = *access;
}

void gantry__fake_order_access(fake_call_t *call, const fake_stream_t *stream,
                               const fake_operand_t *operand, const char *what) {
    fake_region_t *region = operand->region;
    if (!region || stream->clock_index < 0) return;
    fake_access_t now = {operand->offset, operand->offset + operand->size_bytes,
                         stream->clock[stream->clock_index], stream->clock_index, operand->writes};
    uint32_t kept = 0;
    for (uint32_t i = 0; i < region->access_count; ++i) {
        check(call, &region->accesses[i], &now, stream, region, what);
        if (!is_replaced(&region->accesses[i], &now, stream))
            region->accesses[kept++] = region->accesses[i];
    }
    region->access_count = kept;
    remember(region, &now);
}
