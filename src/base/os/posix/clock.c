/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* CLOCK_BOOTTIME */
#include "base/os/clock.h"

#include <time.h>

#if !defined(CLOCK_BOOTTIME)
#define CLOCK_BOOTTIME CLOCK_MONOTONIC
#endif

static uint64_t clock_ns(clockid_t clock) {
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

uint64_t gantry__now_ns(void) { return clock_ns(CLOCK_MONOTONIC); }

double gantry__now_seconds(void) { return 1e-9 * (double)gantry__now_ns(); }

uint64_t gantry__os_boot_ns(void) { return clock_ns(CLOCK_BOOTTIME); }

uint64_t gantry__os_process_ns(void) { return clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

uint64_t gantry__os_thread_ns(void) { return clock_ns(CLOCK_THREAD_CPUTIME_ID); }

void gantry__os_sleep_ns(uint64_t ns) {
    const struct timespec time = {.tv_sec = (time_t)(ns / UINT64_C(1000000000)),
                                  .tv_nsec = (long)(ns % UINT64_C(1000000000))};
    (void)nanosleep(&time, NULL);
}

void gantry__os_utc_text(int64_t seconds, char out_text[GANTRY__OS_DATE_BYTES]) {
    const time_t time = (time_t)seconds;
    struct tm parts;
    out_text[0] = '\0';
    if (gmtime_r(&time, &parts))
        (void)strftime(out_text, GANTRY__OS_DATE_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

void gantry__os_local_text(int64_t seconds, char out_text[GANTRY__OS_DATE_BYTES]) {
    const time_t time = (time_t)seconds;
    struct tm parts;
    out_text[0] = '\0';
    if (localtime_r(&time, &parts))
        (void)strftime(out_text, GANTRY__OS_DATE_BYTES, "%H:%M:%S", &parts);
}
