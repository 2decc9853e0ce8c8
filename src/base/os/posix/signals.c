/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700 /* SIGTRAP */
#include "base/os/signals.h"

#include <signal.h>
#include <stddef.h>

_Static_assert(sizeof(sigset_t) <= sizeof(uint64_t[16]), "a set of signals has room");

gantry__os_signals_t gantry__os_signals_defer(void) {
    static const int own[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
    gantry__os_signals_t signals;
    sigset_t waiting;
    (void)sigfillset(&waiting);
    for (size_t i = 0; i < sizeof own / sizeof own[0]; ++i) (void)sigdelset(&waiting, own[i]);
    signals.is_deferred =
        pthread_sigmask(SIG_BLOCK, &waiting, (sigset_t *)(void *)signals.before) == 0;
    return signals;
}

void gantry__os_signals_end(const gantry__os_signals_t *signals) {
    if (signals->is_deferred)
        (void)pthread_sigmask(SIG_SETMASK, (const sigset_t *)(const void *)signals->before, NULL);
}
