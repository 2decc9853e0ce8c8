/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "driver/process_limit.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* The bytes of address space and of writable private memory that RLIMIT_AS and RLIMIT_DATA count.
 * Returns false if the system does not say. */
static bool in_use(uint64_t *out_space, uint64_t *out_data) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long long space = 0;
    unsigned long long data = 0;
    bool is_known = file && fscanf(file, "%llu %*u %*u %*u %*u %llu", &space, &data) == 2;
    if (file) fclose(file);
    *out_space = space * page;
    *out_data = data * page;
    return is_known;
}

typedef struct {
    const char *name; /* NULL: none */
    uint64_t bytes;
    uint64_t left;
} limit_t;

static void tighten(limit_t *limit, const char *name, uint64_t bytes, uint64_t used) {
    const uint64_t left = bytes > used ? bytes - used : 0;
    if (left < limit->left) {
        *limit = (limit_t){name, bytes, left};
    }
}

/* The limit that leaves the fewest bytes. */
static limit_t tightest(void) {
    limit_t limit = {NULL, 0, UINT64_MAX};
    uint64_t space;
    uint64_t data;
    if (!in_use(&space, &data)) return limit;
    struct rlimit set;
    if (getrlimit(RLIMIT_AS, &set) == 0 && set.rlim_cur != RLIM_INFINITY)
        tighten(&limit, "the address space (ulimit -v)", set.rlim_cur, space);
    if (getrlimit(RLIMIT_DATA, &set) == 0 && set.rlim_cur != RLIM_INFINITY)
        tighten(&limit, "the memory (ulimit -d)", set.rlim_cur, data);
    return limit;
}

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

void gantry__process_limit_text(char *out, size_t out_bytes) {
    limit_t limit = tightest();
    out[0] = '\0';
    if (limit.name) {
        (void)snprintf(out, out_bytes,
                       "; %s of this process is limited to %llu MiB, of which %llu MiB are left",
                       limit.name, mib(limit.bytes), mib(limit.left));
    }
}
