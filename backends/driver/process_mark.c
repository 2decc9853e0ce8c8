/* SPDX-License-Identifier: Apache-2.0 */
#define _DEFAULT_SOURCE /* madvise, MAP_ANONYMOUS */
#include "driver/process_mark.h"

#include <sys/mman.h>
#include <unistd.h>

/* The value is the same on all of Linux (4.14); older headers lack it. */
#if defined(__linux__) && !defined(MADV_WIPEONFORK)
#define MADV_WIPEONFORK 18
#endif

#define PAGE_BYTES 4096

/* Makes a page that the kernel clears in a child of fork. Returns NULL if the kernel cannot do
 * that. */
static volatile unsigned char *make_page(void) {
#if defined(MADV_WIPEONFORK)
    void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (page == MAP_FAILED) return NULL;
    if (madvise(page, PAGE_BYTES, MADV_WIPEONFORK) != 0) {
        munmap(page, PAGE_BYTES);
        return NULL;
    }
    *(volatile unsigned char *)page = 1;
    return page;
#else
    return NULL;
#endif
}

void gantry__process_mark_set(gantry__process_mark_t *mark) {
    volatile unsigned char *page = atomic_load(&mark->page);
    volatile unsigned char *none = NULL;
    if (!page) {
        page = make_page();
        if (page && !atomic_compare_exchange_strong(&mark->page, &none, page)) {
            munmap((void *)(uintptr_t)page, PAGE_BYTES); /* another thread set it first */
        }
    } else if (*page == 0) {
        *page = 1; /* an instance of the parent that found no driver left it */
    }
    atomic_store(&mark->process, (long long)getpid());
    atomic_fetch_add(&mark->uses, 1);
}

void gantry__process_mark_unset(gantry__process_mark_t *mark) { atomic_fetch_sub(&mark->uses, 1); }

/* Whether the mark was set before a fork. A process number may be reused, in a namespace of its own
 * even at once; the page is always right. */
bool gantry__process_mark_is_inherited(const gantry__process_mark_t *mark) {
    const volatile unsigned char *page = atomic_load(&mark->page);
    return atomic_load(&mark->uses) != 0 &&
           (atomic_load(&mark->process) != (long long)getpid() || (page && *page == 0));
}

int32_t gantry__process_mark_check(const gantry__process_mark_t *mark, const gantry_host_t *host,
                                   const gantry__native_errors_t *errors, const char *why) {
    if (!gantry__process_mark_is_inherited(mark)) return GANTRY_OK;
    return gantry__native_fail(
        host, errors, GANTRY_UNAVAILABLE, 0,
        "this process is a child of fork, and its parent had %s open%s; call exec in the child, or fork before the first runtime is created",
        errors->domain, why);
}
