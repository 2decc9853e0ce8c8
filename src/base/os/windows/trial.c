/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/trial.h"

#include <stdint.h>
#include <windows.h>

#include "base/os/windows/alarm.h"

void gantry__os_crash_quietly(void) {
    (void)SetErrorMode(SEM_FAILCRITICALERRORS | SEM_NOGPFAULTERRORBOX | SEM_NOOPENFILEERRORBOX);
}

/* A child is in a job of its parent, which base/os/windows/child.c makes so that it ends then. */
void gantry__os_end_with_parent(void) {}

static DWORD WINAPI end_later(void *ms) {
    Sleep((DWORD)(uintptr_t)ms);
    (void)TerminateProcess(GetCurrentProcess(), GANTRY__OS_ALARM_CODE);
    return 0;
}

void gantry__os_end_after(unsigned seconds) {
    const uintptr_t most = INFINITE - 1, ms = (uintptr_t)seconds * 1000;
    const HANDLE thread =
        CreateThread(NULL, 0, end_later, (void *)(ms < most ? ms : most), 0, NULL);
    if (thread) (void)CloseHandle(thread);
}
