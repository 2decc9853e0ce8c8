/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/clock.h"

#include <time.h>
#include <windows.h>

/* Counts of the performance counter per second are a constant of the machine: ten million, as a
 * rule, so the product must be split. */
uint64_t gantry__now_ns(void) {
    LARGE_INTEGER count, rate;
    (void)QueryPerformanceCounter(&count);
    (void)QueryPerformanceFrequency(&rate);
    const uint64_t at = (uint64_t)count.QuadPart, second = (uint64_t)rate.QuadPart;
    return at / second * UINT64_C(1000000000) + at % second * UINT64_C(1000000000) / second;
}

double gantry__now_seconds(void) { return 1e-9 * (double)gantry__now_ns(); }

/* The counter goes on while the machine sleeps. */
uint64_t gantry__os_boot_ns(void) { return gantry__now_ns(); }

static uint64_t used_ns(const FILETIME *kernel, const FILETIME *user) {
    const uint64_t system = (uint64_t)kernel->dwHighDateTime << 32 | kernel->dwLowDateTime;
    const uint64_t program = (uint64_t)user->dwHighDateTime << 32 | user->dwLowDateTime;
    return 100 * (system + program);
}

uint64_t gantry__os_process_ns(void) {
    FILETIME begun, ended, kernel, user;
    return GetProcessTimes(GetCurrentProcess(), &begun, &ended, &kernel, &user)
               ? used_ns(&kernel, &user)
               : 0;
}

uint64_t gantry__os_thread_ns(void) {
    FILETIME begun, ended, kernel, user;
    return GetThreadTimes(GetCurrentThread(), &begun, &ended, &kernel, &user)
               ? used_ns(&kernel, &user)
               : 0;
}

/* Rounds up to milliseconds, because a caller that waits for a time must not wake before it. */
void gantry__os_sleep_ns(uint64_t ns) {
    const uint64_t most = INFINITE - 1;
    const uint64_t ms = ns / 1000000 + (ns % 1000000 > 0);
    Sleep((DWORD)(ms < most ? ms : most));
}

void gantry__os_utc_text(int64_t seconds, char out_text[GANTRY__OS_DATE_BYTES]) {
    const __time64_t time = seconds;
    struct tm parts;
    out_text[0] = '\0';
    if (_gmtime64_s(&parts, &time) == 0)
        (void)strftime(out_text, GANTRY__OS_DATE_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
}

void gantry__os_local_text(int64_t seconds, char out_text[GANTRY__OS_DATE_BYTES]) {
    const __time64_t time = seconds;
    struct tm parts;
    out_text[0] = '\0';
    if (_localtime64_s(&parts, &time) == 0)
        (void)strftime(out_text, GANTRY__OS_DATE_BYTES, "%H:%M:%S", &parts);
}

/* The performance counter has another rate. */
bool gantry__os_clock_is_counter(void) { return false; }
