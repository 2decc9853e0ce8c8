/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/process_mark.h"

#include "base/os/pages.h"
#include "base/os/process.h"

/* Makes a page that the kernel clears in a child of fork. Returns NULL if the kernel cannot do
 * that. */
static volatile unsigned char *make_page(void) {
    const size_t bytes = gantry__os_page_bytes();
    void *page = gantry__os_pages_new(bytes, 0);

    if (!page) return NULL;
    if (!gantry__os_pages_wipe_in_child(page, bytes)) {
        gantry__os_pages_free(page, bytes);
        return NULL;
    }
    *(volatile unsigned char *)page = 1;
    return page;
}

void gantry__process_mark_set(gantry__process_mark_t *mark) {
    volatile unsigned char *page = atomic_load(&mark->page);
    volatile unsigned char *none = NULL;
    if (!page) {
        page = make_page();
        if (page && !atomic_compare_exchange_strong(&mark->page, &none, page)) {
            /* another thread set it first */
            gantry__os_pages_free((void *)(uintptr_t)page, gantry__os_page_bytes());
        }
    } else if (*page == 0) {
        *page = 1; /* an instance of the parent that found no driver left it */
    }
    atomic_store(&mark->process, (long long)gantry__os_process());
    atomic_fetch_add(&mark->uses, 1);
}

void gantry__process_mark_unset(gantry__process_mark_t *mark) { atomic_fetch_sub(&mark->uses, 1); }

/* Whether the mark was set before a fork. A process number may be reused, in a namespace of its own
 * even at once; the page is always right. */
bool gantry__process_mark_is_inherited(const gantry__process_mark_t *mark) {
    const volatile unsigned char *page = atomic_load(&mark->page);
    return atomic_load(&mark->uses) != 0 &&
           (atomic_load(&mark->process) != (long long)gantry__os_process() || (page && *page == 0));
}

int32_t gantry__process_mark_check(const gantry__process_mark_t *mark, const gantry_host_t *host,
                                   const gantry__native_errors_t *errors, const char *why) {
    if (!gantry__process_mark_is_inherited(mark)) return GANTRY_OK;
    return gantry__native_fail(
        host, errors, GANTRY_UNAVAILABLE, 0,
        "this process is a child of fork, and its parent had %s open%s; call exec in the child, or fork before the first runtime is created",
        errors->domain, why);
}
