/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "machine.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

void bench_machine_processor(char *out, size_t out_bytes) {
    (void)snprintf(out, out_bytes, "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file) return;
    char line[256];
    while (fgets(line, sizeof line, file)) {
        char *value = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || !value) continue;
        value[strcspn(value, "\n")] = '\0';
        (void)snprintf(out, out_bytes, "%s", value + 1 + strspn(value + 1, " "));
        break;
    }
    (void)fclose(file);
}

void bench_machine_system(char *out, size_t out_bytes) {
    struct utsname system;
    if (uname(&system) != 0) {
        (void)snprintf(out, out_bytes, "unknown");
    } else {
        (void)snprintf(out, out_bytes, "%s %s %s", system.sysname, system.release, system.machine);
    }
}

const char *bench_machine_compiler(void) {
#if defined(__clang__)
    return "clang " __clang_version__;
#elif defined(__GNUC__)
    return "gcc " __VERSION__;
#else
    return "unknown";
#endif
}

int bench_machine_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (int)cores : 1;
}

double bench_machine_load(void) {
    double load = 0;
    return getloadavg(&load, 1) == 1 ? load : 0;
}

double bench_machine_busy_seconds(void) {
    unsigned long long user = 0, nice = 0, system = 0;
    FILE *file = fopen("/proc/stat", "r");
    if (!file) return 0;
    if (fscanf(file, "cpu %llu %llu %llu", &user, &nice, &system) != 3) user = nice = system = 0;
    (void)fclose(file);
    return (double)(user + nice + system) / (double)sysconf(_SC_CLK_TCK);
}

static double seconds_of(int who) {
    struct rusage usage;
    if (getrusage(who, &usage) != 0) return 0;
    return (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

double bench_machine_own_seconds(void) {
    return seconds_of(RUSAGE_SELF) + seconds_of(RUSAGE_CHILDREN);
}
