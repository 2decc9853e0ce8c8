/* SPDX-License-Identifier: Apache-2.0 */
/* Regions are private anonymous mappings. They are page-aligned, and freeing one unmaps it. Linux
 * overcommits: it grants mappings without having the pages, and later kills the process that
 * touches them. So region_alloc must first compare the size with the free memory, and then touch
 * every page. A region that can hold a huge page starts on a huge page's boundary and requests huge
 * pages, which saves most page faults and TLB misses of a large tensor. */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <string.h>

#include "base/os/pages.h"
#include "cpu/cpu_backend.h"

#define HUGE_BYTES ((size_t)2 << 20)
/* the smallest page size of all machines; where pages are larger, the system rounds up */
#define PAGE_BYTES ((size_t)4096)

static uint64_t cpu_memory_round_up(uint64_t value, uint64_t unit) {
    return (value + unit - 1) / unit * unit;
}

/* ---- touching pages ---- */

/* One thread touches so many bytes at a time: enough to pay for the hand-over, and few enough to
 * keep all threads busy. */
#define BACK_GRAIN (INT64_C(8) << 20)

static void touch_pages(char *from, size_t bytes) {
    for (size_t at = 0; at < bytes; at += PAGE_BYTES) *(volatile char *)(from + at) = 0;
}

static void back_part(void *pages, int64_t begin, int64_t end) {
    char *from = (char *)pages + begin;
    size_t bytes = (size_t)(end - begin);
    if (gantry__os_pages_populate(from, bytes)) return;
    touch_pages(from, bytes); /* kernels before 5.14 */
}

static bool is_free(uint64_t bytes) {
    if (bytes < (uint64_t)BACK_GRAIN) return true; /* too small to pay for reading /proc */
    uint64_t free_bytes = 0, total_bytes = 0;
    gantry__cpu_machine_memory("", &free_bytes, &total_bytes);
    return total_bytes == 0 || bytes <= free_bytes;
}

static int32_t cpu_memory_region_alloc(gantry_backend_device_t *device, uint64_t size_bytes,
                                       gantry_region_t *out_region) {
    uint64_t bytes =
        cpu_memory_round_up(size_bytes, size_bytes >= HUGE_BYTES ? HUGE_BYTES : PAGE_BYTES);
    char *pages = NULL;
    *out_region = 0;
    errno = 0;
    if (size_bytes == 0) {
        return gantry__cpu_fail(device->host, GANTRY_INVALID_ARGUMENT, 0,
                                "A region of host memory must have at least 1 byte");
    }
    if (bytes >= size_bytes && bytes <= (uint64_t)PTRDIFF_MAX - HUGE_BYTES && is_free(bytes))
        pages = gantry__os_pages_new((size_t)bytes, bytes >= HUGE_BYTES ? HUGE_BYTES : 0);
    if (!pages) {
        return gantry__cpu_fail(device->host, GANTRY_RESOURCE_EXHAUSTED, errno,
                                "The system has no %" PRIu64 " bytes of host memory: %s",
                                size_bytes, errno != 0 ? strerror(errno) : "less is free");
    }
    if (bytes >= HUGE_BYTES) gantry__os_pages_wish_huge(pages, (size_t)bytes);
    gantry__cpu_parallel_for(device, (int64_t)bytes, BACK_GRAIN, back_part, pages);
    *out_region = (gantry_region_t)(uintptr_t)pages;
    return GANTRY_OK;
}

static void cpu_memory_region_free(gantry_backend_device_t *device, gantry_region_t region,
                                   uint64_t size_bytes) {
    (void)device;
    if (region != 0) {
        gantry__os_pages_free((void *)(uintptr_t)region,
                              (size_t)cpu_memory_round_up(
                                  size_bytes, size_bytes >= HUGE_BYTES ? HUGE_BYTES : PAGE_BYTES));
    }
}

static int32_t cpu_memory_info(gantry_backend_device_t *device, uint64_t *out_free_bytes,
                               uint64_t *out_total_bytes) {
    gantry__cpu_machine_memory("", out_free_bytes, out_total_bytes);
    if (*out_total_bytes == 0) {
        return gantry__cpu_fail(device->host, GANTRY_UNIMPLEMENTED, 0,
                                "/proc/meminfo does not say how much memory is free");
    }
    return GANTRY_OK;
}

const gantry_memory_ops_t gantry__cpu_memory_ops = {
    .struct_size = sizeof gantry__cpu_memory_ops,
    .region_alloc = cpu_memory_region_alloc,
    .region_free = cpu_memory_region_free,
    .host_alloc = NULL,
    .host_free = NULL,
    .memory_info = cpu_memory_info,
};
