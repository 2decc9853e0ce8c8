/* SPDX-License-Identifier: Apache-2.0 */
/* Marks in the queue of each device, which the host waits for (pace.h). */
#include "pace.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "device.h"

/* The calls between two marks. At most between one and two times as many are in flight. */
#define PACE_CALLS 512

/* A scalar that is read after the calls before it. */
typedef struct pace_mark_t {
    float zero;
    gantry_read_t *read;
} pace_mark_t;

/* A device's calls, and the newest mark among them. */
typedef struct pace_t {
    atomic_uint_fast64_t calls;
    _Atomic(pace_mark_t *) mark;
} pace_t;

static pace_t paces[DEVICE_MOST];

/* Makes a mark. It is a read, because a read has an event from its beginning on; a wait for just a
 * tensor would wait for all that came after it, too. Returns NULL where no memory is left: the next
 * mark then counts for both. */
static pace_mark_t *make_mark(uint32_t device) {
    pace_mark_t *mark = calloc(1, sizeof *mark);
    gantry_scope_t *scope =
        mark ? gantry_scope_begin_on(device_runtime(), device_logical(device)) : NULL;
    const gantry_tensor_t *zero = scope ? gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SCALAR) : NULL;
    if (zero) (void)gantry_tensor_read_async(zero, &mark->zero, sizeof mark->zero, &mark->read);
    if (scope) (void)gantry_scope_end(scope);
    return mark;
}

/* Releases a mark. An error of a call before the mark is reported by that call's own result. */
static void release_mark(pace_mark_t *mark) {
    if (!mark) return;
    gantry_read_release(mark->read);
    free(mark);
}

void pace_count(uint32_t device) {
    pace_t *pace = &paces[device];
    const uint64_t before = atomic_fetch_add_explicit(&pace->calls, 1, memory_order_relaxed);
    if ((before + 1) % PACE_CALLS) return; /* a short program has no mark that would take memory */
    release_mark(atomic_exchange(&pace->mark, make_mark(device)));
}
