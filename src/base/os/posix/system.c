/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* _SC_PHYS_PAGES */
#include <stdio.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/os/pages.h"
#include "base/os/process.h"

void gantry__os_system_name(char *out_system, char *out_machine, size_t each_bytes) {
    struct utsname names;
    const bool is_known = uname(&names) == 0;
    if (out_system) (void)snprintf(out_system, each_bytes, "%s", is_known ? names.sysname : "");
    if (out_machine) (void)snprintf(out_machine, each_bytes, "%s", is_known ? names.machine : "");
}

uint64_t gantry__os_memory_bytes(void) {
    const long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes : 0;
}

bool gantry__os_limit(gantry__os_limit_t limit, uint64_t *out_bytes) {
    static const int resources[] = {RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE};
    struct rlimit set;
    if (getrlimit(resources[limit], &set) != 0 || set.rlim_cur == RLIM_INFINITY) return false;
    *out_bytes = set.rlim_cur;
    return true;
}

bool gantry__os_limited_use(uint64_t *out_space, uint64_t *out_data) {
    const uint64_t page = (uint64_t)gantry__os_page_bytes();
    FILE *file = fopen("/proc/self/statm", "r");
    unsigned long long space = 0, data = 0;
    const bool is_known = file && fscanf(file, "%llu %*u %*u %*u %*u %llu", &space, &data) == 2;
    if (file) (void)fclose(file);
    *out_space = space * page;
    *out_data = data * page;
    return is_known;
}
