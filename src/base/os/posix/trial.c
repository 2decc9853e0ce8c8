/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700
#include "base/os/trial.h"

#include <signal.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <unistd.h>

void gantry__os_crash_quietly(void) {
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
}

void gantry__os_end_with_parent(void) {
#if defined(__linux__)
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

void gantry__os_end_after(unsigned seconds) { (void)alarm(seconds); }
