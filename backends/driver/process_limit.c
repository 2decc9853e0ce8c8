/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the limits of the process with what /proc says is in use (process_limit.h). */
#define _GNU_SOURCE
#include "driver/process_limit.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

/* Reads the bytes of address space and of writable private memory that RLIMIT_AS and RLIMIT_DATA
 * count. Returns false if the system does not say. */
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
    uint64_t used;
    uint64_t left;
} limit_t;

static bool has_limit(int resource, struct rlimit *out_set) {
    return getrlimit(resource, out_set) == 0 && out_set->rlim_cur != RLIM_INFINITY;
}

bool gantry__process_is_limited(void) {
    struct rlimit set;
    return has_limit(RLIMIT_AS, &set) || has_limit(RLIMIT_DATA, &set);
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
    struct rlimit set;
    if (!gantry__process_is_limited() || !in_use(&space, &data)) return limit;
    if (has_limit(RLIMIT_AS, &set))
        tighten(&limit, "the address space (ulimit -v)", set.rlim_cur, space);
    if (has_limit(RLIMIT_DATA, &set)) tighten(&limit, "the memory (ulimit -d)", set.rlim_cur, data);
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
    struct rlimit set;
    if (!has_limit(RLIMIT_FSIZE, &set) || set.rlim_cur >= bytes) return true;
    (void)snprintf(
        reason, reason_bytes,
        "a file of this process is limited to %llu KiB (ulimit -f) and may take %llu KiB",
        (unsigned long long)(set.rlim_cur / 1024), (unsigned long long)(bytes / 1024));
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
