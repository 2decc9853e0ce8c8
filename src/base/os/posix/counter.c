/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* O_CLOEXEC */
#include "base/os/clock.h"

#if defined(__x86_64__) && defined(__linux__)
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

bool gantry__os_clock_is_counter(void) {
    char name[8] = "";
    int mode = 0;
    const int file = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
                          O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    const ssize_t bytes = read(file, name, sizeof name - 1);
    (void)close(file);
    return bytes == 4 && strcmp(name, "tsc\n") == 0 && prctl(PR_GET_TSC, &mode) == 0 &&
           mode == PR_TSC_ENABLE;
}
#else
bool gantry__os_clock_is_counter(void) { return false; }
#endif
