/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/thread.h"

#include <errno.h>
#include <process.h>
#include <stdlib.h>
#include <windows.h>

#include "base/os/windows/wide.h"

_Static_assert(sizeof(gantry__mutex_t) == sizeof(SRWLOCK), "a mutex is a lock of this system");
_Static_assert(sizeof(gantry__condition_t) == sizeof(CONDITION_VARIABLE), "so is a condition");

static SRWLOCK *lock_of(gantry__mutex_t *mutex) { return (SRWLOCK *)(void *)mutex; }

static CONDITION_VARIABLE *variable_of(gantry__condition_t *condition) {
    return (CONDITION_VARIABLE *)(void *)condition;
}

/* ---- locks ---- */

int gantry__mutex_init(gantry__mutex_t *mutex) {
    InitializeSRWLock(lock_of(mutex));
    return 0;
}

void gantry__mutex_deinit(gantry__mutex_t *mutex) { (void)mutex; }

void gantry__mutex_lock(gantry__mutex_t *mutex) { AcquireSRWLockExclusive(lock_of(mutex)); }

bool gantry__mutex_try_lock(gantry__mutex_t *mutex) {
    return TryAcquireSRWLockExclusive(lock_of(mutex));
}

void gantry__mutex_unlock(gantry__mutex_t *mutex) { ReleaseSRWLockExclusive(lock_of(mutex)); }

/* ---- conditions ---- */

int gantry__condition_init(gantry__condition_t *condition) {
    InitializeConditionVariable(variable_of(condition));
    return 0;
}

void gantry__condition_deinit(gantry__condition_t *condition) { (void)condition; }

void gantry__condition_wake_all(gantry__condition_t *condition) {
    WakeAllConditionVariable(variable_of(condition));
}

void gantry__condition_wake_one(gantry__condition_t *condition) {
    WakeConditionVariable(variable_of(condition));
}

void gantry__condition_wait(gantry__condition_t *condition, gantry__mutex_t *mutex,
                            uint64_t deadline_ns) {
    const uint64_t now = gantry__now_ns(), left = deadline_ns > now ? deadline_ns - now : 0;
    const uint64_t ms = left / 1000000 + (left % 1000000 > 0), most = INFINITE - 1;
    (void)SleepConditionVariableSRW(variable_of(condition), lock_of(mutex),
                                    (DWORD)(ms < most ? ms : most), 0);
}

void gantry__condition_await(gantry__condition_t *condition, gantry__mutex_t *mutex) {
    (void)SleepConditionVariableSRW(variable_of(condition), lock_of(mutex), INFINITE, 0);
}

/* ---- threads ---- */

typedef struct thread_start_t {
    void *(*body)(void *);
    void *argument;
} thread_start_t;

static unsigned __stdcall run_thread(void *argument) {
    const thread_start_t start = *(const thread_start_t *)argument;
    free(argument);
    (void)start.body(start.argument);
    return 0;
}

/* A stack's size is that of the addresses, as on other systems; the system gives it memory when it
 * is used. */
int gantry__thread_start(gantry__thread_t *out_thread, size_t stack_bytes, void *(*body)(void *),
                         void *argument) {
    thread_start_t *start = malloc(sizeof *start);
    unsigned number = 0;
    if (!start) return ENOMEM;
    *start = (thread_start_t){.body = body, .argument = argument};
    if (stack_bytes > UINT32_MAX) stack_bytes = UINT32_MAX;
    const uintptr_t handle = _beginthreadex(NULL, (unsigned)stack_bytes, run_thread, start,
                                            STACK_SIZE_PARAM_IS_A_RESERVATION, &number);
    if (handle == 0) {
        free(start);
        return EAGAIN;
    }
    *out_thread = (gantry__thread_t){.handle = (void *)handle, .number = number};
    return 0;
}

void gantry__thread_join(gantry__thread_t thread) {
    (void)WaitForSingleObject(thread.handle, INFINITE);
    (void)CloseHandle(thread.handle);
}

gantry__thread_t gantry__thread_self(void) {
    return (gantry__thread_t){.number = GetCurrentThreadId()};
}

bool gantry__thread_is_self(gantry__thread_t thread) {
    return thread.number == GetCurrentThreadId();
}

/* Windows 10 added the function; older systems have no names of threads. */
void gantry__thread_name(gantry__thread_t thread, const char *name) {
    typedef HRESULT(WINAPI * describe_fn)(HANDLE thread, PCWSTR text);
    const HMODULE kernel = GetModuleHandleW(L"kernel32.dll");
    wchar_t wide[GANTRY__OS_WIDE];
    const FARPROC function = kernel ? GetProcAddress(kernel, "SetThreadDescription") : NULL;
    if (function && gantry__os_wide(name, wide))
        (void)((describe_fn)(void (*)(void))function)(thread.handle, wide);
}

void gantry__thread_yield(void) { (void)SwitchToThread(); }

/* Cores of this process's group: at most 64. */
uint32_t gantry__os_usable_cores(void) {
    DWORD_PTR own = 0, all = 0;
    uint32_t count = 0;
    if (GetProcessAffinityMask(GetCurrentProcess(), &own, &all)) {
        for (; own; own &= own - 1) ++count;
    }
    return count > 0 ? count : 1;
}
