/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/load.h"

#include <windows.h>

static double seconds_of(const FILETIME *time) {
    return 1e-7 * (double)((unsigned long long)time->dwHighDateTime << 32 | time->dwLowDateTime);
}

/* The time of the kernel holds that in which cores had nothing to do. */
bool gantry__os_load(double *out_busy, double *out_all) {
    FILETIME idle, kernel, user;
    *out_busy = *out_all = 0;
    if (!GetSystemTimes(&idle, &kernel, &user)) return false;
    *out_all = seconds_of(&kernel) + seconds_of(&user);
    *out_busy = *out_all - seconds_of(&idle);
    return true;
}
