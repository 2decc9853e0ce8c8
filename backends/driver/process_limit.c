/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the limits of the process with what is in use (process_limit.h). */
#include "driver/process_limit.h"

#include <stdio.h>

#include "base/os/process.h"

typedef struct {
    const char *name; /* NULL: none */
    uint64_t bytes;
    uint64_t used;
    uint64_t left;
} limit_t;

bool gantry__process_is_limited(void) {
    uint64_t bytes;
    return gantry__os_limit(GANTRY__OS_LIMIT_SPACE, &bytes) ||
           gantry__os_limit(GANTRY__OS_LIMIT_DATA, &bytes);
}

static void tighten(limit_t *limit, const char *name, uint64_t bytes, uint64_t used) {
    const uint64_t left = bytes > used ? bytes - used : 0;
    if (left < limit->left) *limit = (limit_t){name, bytes, used, left};
}

/* The limit that leaves the fewest bytes. */
static limit_t tightest(void) {
    limit_t limit = {NULL, 0, 0, UINT64_MAX};
    uint64_t space;
    uint64_t data;
    uint64_t bytes;
    if (!gantry__process_is_limited() || !gantry__os_limited_use(&space, &data)) return limit;
    if (gantry__os_limit(GANTRY__OS_LIMIT_SPACE, &bytes))
        tighten(&limit, "the address space (ulimit -v)", bytes, space);
    if (gantry__os_limit(GANTRY__OS_LIMIT_DATA, &bytes))
        tighten(&limit, "the memory (ulimit -d)", bytes, data);
    return limit;
}

uint64_t gantry__process_counted_bytes(void) { return tightest().used; }

static unsigned long long mib(uint64_t bytes) { return bytes >> 20; }

bool gantry__process_has_room(uint64_t bytes, char *reason, size_t reason_bytes) {
    limit_t limit = tightest();
    if (limit.left >= bytes) return true;
    (void)snprintf(
        reason, reason_bytes,
        "%s of this process is limited to %llu MiB, of which %llu MiB are left and %llu MiB are needed",
        limit.name, mib(limit.bytes), mib(limit.left), mib(bytes));
    return false;
}

bool gantry__process_may_write(uint64_t bytes, char *reason, size_t reason_bytes) {
    uint64_t most;
    if (!gantry__os_limit(GANTRY__OS_LIMIT_FILE, &most) || most >= bytes) return true;
    (void)snprintf(
        reason, reason_bytes,
        "a file of this process is limited to %llu KiB (ulimit -f) and may take %llu KiB",
        (unsigned long long)(most / 1024), (unsigned long long)(bytes / 1024));
    return false;
}

void gantry__process_limit_text(char *out, size_t out_bytes) {
    limit_t limit = tightest();
    out[0] = '\0';
    if (limit.name) {
        (void)snprintf(out, out_bytes,
                       "; %s of this process is limited to %llu MiB, of which %llu MiB are left",
                       limit.name, mib(limit.bytes), mib(limit.left));
    }
}
