/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "shared/process_limit.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIB (UINT64_C(1) << 20)

/* Bytes of address space and of writable private memory, as RLIMIT_AS and RLIMIT_DATA count them. 0 when the system does not tell. */
static int in_use(uint64_t *out_space, uint64_t *out_data) {
    const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    unsigned long long space = 0;
    unsigned long long data = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    int is_known = file != NULL && fscanf(file, "%llu %*u %*u %*u %*u %llu", &space, &data) == 2;

    if (file != NULL) {
        fclose(file);
    }
    *out_space = space * page;
    *out_data = data * page;
    return is_known;
}

static int has_left(int resource, const char *what, uint64_t used, uint64_t bytes, char *reason, size_t reason_bytes) {
    struct rlimit limit;
    uint64_t left;

    if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return 1;
    }
    left = limit.rlim_cur > used ? limit.rlim_cur - used : 0;
    if (left >= bytes) {
        return 1;
    }
    snprintf(reason, reason_bytes,
             "%s of this process is limited to %llu MiB, of which %llu MiB are left and %llu MiB are needed", what,
             (unsigned long long)(limit.rlim_cur / MIB), (unsigned long long)(left / MIB),
             (unsigned long long)(bytes / MIB));
    return 0;
}

int gantry__process_has_room(uint64_t bytes, char *reason, size_t reason_bytes) {
    uint64_t space;
    uint64_t data;

    return !in_use(&space, &data) ||
           (has_left(RLIMIT_AS, "the address space (ulimit -v)", space, bytes, reason, reason_bytes) &&
            has_left(RLIMIT_DATA, "the memory (ulimit -d)", data, bytes, reason, reason_bytes));
}
