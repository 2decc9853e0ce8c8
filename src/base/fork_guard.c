/* SPDX-License-Identifier: Apache-2.0 */
#include "base/fork_guard.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/os/pages.h"
#include "base/os/process.h"

#define MARK 1

gantry_status_t gantry__fork_guard_init(gantry__fork_guard_t *guard, const char *what) {
    *guard = (gantry__fork_guard_t){.page_bytes = gantry__os_page_bytes(),
                                    .process = gantry__os_process()};
    void *page = gantry__os_pages_new(guard->page_bytes, 0);
    if (!page) {
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED,
                            "no page of %zu bytes for the mark that identifies a child of fork",
                            guard->page_bytes);
    }
    guard->mark = page;
    guard->wipes = gantry__os_pages_wipe_in_child(page, guard->page_bytes);
    *guard->mark = MARK;
    (void)snprintf(guard->text, sizeof guard->text,
                   "the %s was created in process %" PRId64 "; a child of fork must create its own",
                   what, guard->process);
    return GANTRY_OK;
}

void gantry__fork_guard_deinit(gantry__fork_guard_t *guard) {
    void *page = (void *)(uintptr_t)guard->mark;
    if (page) gantry__os_pages_free(page, guard->page_bytes);
    guard->mark = NULL;
}

bool gantry__fork_guard_ask(const gantry__fork_guard_t *guard) {
    if (guard->wipes || !gantry__fork_guard_holds(guard)) return gantry__fork_guard_holds(guard);
    if (gantry__os_process() == guard->process) return true;
    *guard->mark = 0; /* the child's own copy: the next check is a load */
    return false;
}

gantry_status_t gantry__fork_guard_fail(const gantry__fork_guard_t *guard) {
    return gantry__fail(GANTRY_FAILED_PRECONDITION, "%s", guard->text);
}
