/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* madvise, MAP_ANONYMOUS */
#include "base/fork_guard.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* All of Linux has the same value. Older headers lack it, and older kernels refuse it. */
#if defined(__linux__) && !defined(MADV_WIPEONFORK)
#define MADV_WIPEONFORK 18
#endif

#define MARK 1

static bool make_wipe(void *page, size_t bytes) {
#if defined(MADV_WIPEONFORK)
    return madvise(page, bytes, MADV_WIPEONFORK) == 0;
#else
    (void)page;
    (void)bytes;
    return false;
#endif
}

gantry_status_t gantry__fork_guard_init(gantry__fork_guard_t *guard, const char *what) {
    long bytes = sysconf(_SC_PAGESIZE);
    *guard = (gantry__fork_guard_t){.page_bytes = bytes > 0 ? (size_t)bytes : 4096,
                                    .process = (int64_t)getpid()};
    void *page =
        mmap(NULL, guard->page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED,
                            "no page of %zu bytes for the mark that tells a child of fork",
                            guard->page_bytes);
    }
    guard->mark = page;
    guard->wipes = make_wipe(page, guard->page_bytes);
    *guard->mark = MARK;
    (void)snprintf(guard->text, sizeof guard->text,
                   "the %s was created in process %" PRId64 "; a child of fork must create its own",
                   what, guard->process);
    return GANTRY_OK;
}

void gantry__fork_guard_deinit(gantry__fork_guard_t *guard) {
    void *page = (void *)(uintptr_t)guard->mark;
    if (page) (void)munmap(page, guard->page_bytes);
    guard->mark = NULL;
}

bool gantry__fork_guard_ask(const gantry__fork_guard_t *guard) {
    if (guard->wipes || !gantry__fork_guard_holds(guard)) return gantry__fork_guard_holds(guard);
    if ((int64_t)getpid() == guard->process) return true;
    *guard->mark = 0; /* the child's own copy: the next check is a load */
    return false;
}

gantry_status_t gantry__fork_guard_fail(const gantry__fork_guard_t *guard) {
    return gantry__fail(GANTRY_FAILED_PRECONDITION, "%s", guard->text);
}
