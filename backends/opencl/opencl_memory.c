/* SPDX-License-Identifier: Apache-2.0 */
/* Device memory as whole buffers, and host memory that transfers reach fast.
 *
 * Drivers commit a buffer when it is first touched, so a success here promises nothing yet: the
 * core touches each region (GANTRY_DEVICE_LAZY_COMMIT). */
#include "base/os/pages.h"

#include "opencl/opencl_backend.h"

/* cl_amd_device_attribute_query: KiB free, KiB of the largest block */
#define DEVICE_GLOBAL_FREE_MEMORY_AMD 0x4039

/* ---- huge pages ----
 *
 * A CPU-type device keeps its buffers in memory of this process. Before a large region is touched,
 * huge pages are requested from the system, which saves most of its faults and TLB misses. What
 * fails there costs only speed. */

/* so large a region holds a huge page wherever it starts */
#define HUGE_PAGES_FROM (UINT64_C(4) << 20)

static void wish_huge_pages(char *ptr, uint64_t size_bytes) {
    const uint64_t page = (uint64_t)gantry__os_page_bytes();
    const uint64_t before = (page - (uint64_t)(uintptr_t)ptr % page) % page;

    gantry__os_pages_wish_huge(ptr + before, (size_t)((size_bytes - before) / page * page));
}

static void wish_huge_buffer(gantry_backend_device_t *device, cl_mem buffer, uint64_t size_bytes) {
    const gantry__opencl_symbols_t *cl = device->cl;
    cl_int native = CL_SUCCESS;
    cl_command_queue queue =
        cl->clCreateCommandQueue(device->context, device->record->device, 0, &native);
    if (native != CL_SUCCESS) return;
    void *ptr = cl->clEnqueueMapBuffer(queue, buffer, CL_TRUE, CL_MAP_WRITE_INVALIDATE_REGION, 0,
                                       (size_t)size_bytes, 0, NULL, NULL, &native);
    if (native == CL_SUCCESS) {
        wish_huge_pages(ptr, size_bytes);
        cl->clEnqueueUnmapMemObject(queue, buffer, ptr, 0, NULL, NULL);
        /* the region's first use comes from another queue, which does not wait for this one */
        cl->clFinish(queue);
    }
    cl->clReleaseCommandQueue(queue);
}

static int32_t opencl_memory_region_alloc(gantry_backend_device_t *device, uint64_t size_bytes,
                                          gantry_region_t *out_region) {
    const gantry_device_info_t *info = &device->record->info;
    *out_region = 0;
    if (size_bytes == 0 ||
        (info->largest_allocation_bytes != 0 && size_bytes > info->largest_allocation_bytes)) {
        return gantry__driver_fail(
            device->host, size_bytes == 0 ? GANTRY_INVALID_ARGUMENT : GANTRY_RESOURCE_EXHAUSTED,
            CL_INVALID_BUFFER_SIZE, "a region of %llu bytes on \"%.200s\": 1 to %llu are accepted",
            (unsigned long long)size_bytes, info->hardware_name,
            (unsigned long long)info->largest_allocation_bytes);
    }
    gantry__opencl_compiler_t *compiler = &device->instance->compiler;
    bool is_kept_out = device->is_pocl && gantry__opencl_compile_keep_out(compiler);
    cl_int native = CL_SUCCESS;
    cl_mem buffer = device->cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE,
                                               (size_t)size_bytes, NULL, &native);
    gantry__opencl_compile_let_in(compiler, is_kept_out);
    if (native != CL_SUCCESS) {
        return gantry__driver_check(device->host, native, "taking %llu bytes on \"%.200s\"",
                                    (unsigned long long)size_bytes, info->hardware_name);
    }
    if (info->type == GANTRY_DEVICE_TYPE_CPU && size_bytes >= HUGE_PAGES_FROM)
        wish_huge_buffer(device, buffer, size_bytes);
    *out_region = gantry__opencl_region(buffer);
    return GANTRY_OK;
}

static void opencl_memory_region_free(gantry_backend_device_t *device, gantry_region_t region,
                                      uint64_t size_bytes) {
    (void)size_bytes;
    atomic_fetch_add(&device->released_regions, 1);
    device->cl->clReleaseMemObject(gantry__opencl_buffer(region));
}

/* ---- pinned host memory ---- */

static int32_t map_pinned(gantry_backend_device_t *device, uint64_t size_bytes,
                          gantry__opencl_pinned_t *pinned) {
    const char *name = device->record->hardware_name;
    cl_int native = CL_SUCCESS;
    pinned->buffer =
        device->cl->clCreateBuffer(device->context, CL_MEM_READ_WRITE | CL_MEM_ALLOC_HOST_PTR,
                                   (size_t)size_bytes, NULL, &native);
    if (native != CL_SUCCESS) {
        return gantry__driver_check(device->host, native,
                                    "taking %llu bytes of pinned host memory for \"%.200s\"",
                                    (unsigned long long)size_bytes, name);
    }
    pinned->ptr = device->cl->clEnqueueMapBuffer(device->host_queue, pinned->buffer, CL_TRUE,
                                                 CL_MAP_READ | CL_MAP_WRITE, 0, (size_t)size_bytes,
                                                 0, NULL, NULL, &native);
    if (native != CL_SUCCESS) {
        device->cl->clReleaseMemObject(pinned->buffer);
        return gantry__driver_check(device->host, native,
                                    "mapping %llu bytes of pinned host memory of \"%.200s\"",
                                    (unsigned long long)size_bytes, name);
    }
    return GANTRY_OK;
}

static void unmap_pinned(gantry_backend_device_t *device, gantry__opencl_pinned_t *pinned) {
    if (device->cl->clEnqueueUnmapMemObject(device->host_queue, pinned->buffer, pinned->ptr, 0,
                                            NULL, NULL) == CL_SUCCESS) {
        device->cl->clFinish(device->host_queue);
    }
    device->cl->clReleaseMemObject(pinned->buffer);
    gantry__host_free(device->host, pinned, sizeof *pinned);
}

/* Takes plain memory. It is not zeroed, so that large pieces are committed only as they are
 * used. */
static int32_t plain_alloc(const gantry_host_t *host, uint64_t size_bytes, void **out_ptr) {
    *out_ptr = host->reallocate(host->self, NULL, 0, size_bytes);
    if (!*out_ptr) {
        return gantry__driver_fail(host, GANTRY_RESOURCE_EXHAUSTED, 0,
                                   "no host memory for %llu bytes", (unsigned long long)size_bytes);
    }
    return GANTRY_OK;
}

/* Takes pinned memory. On a CPU-type device all host memory is equally near. */
static int32_t opencl_memory_host_alloc(gantry_backend_device_t *device, uint64_t size_bytes,
                                        void **out_ptr) {
    *out_ptr = NULL;
    if (!device->host_queue) return plain_alloc(device->host, size_bytes, out_ptr);
    gantry__opencl_pinned_t *pinned = gantry__driver_alloc(device->host, sizeof *pinned);
    if (!pinned) return GANTRY_RESOURCE_EXHAUSTED;
    int32_t status = map_pinned(device, size_bytes, pinned);
    if (status != GANTRY_OK) {
        gantry__host_free(device->host, pinned, sizeof *pinned);
        return status;
    }
    gantry__mutex_lock(&device->lock);
    pinned->next = device->pinned;
    device->pinned = pinned;
    gantry__mutex_unlock(&device->lock);
    *out_ptr = pinned->ptr;
    return GANTRY_OK;
}

/* Takes the pinned piece that begins at ptr from the list; NULL when there is none. */
static gantry__opencl_pinned_t *take_pinned(gantry_backend_device_t *device, const void *ptr) {
    gantry__opencl_pinned_t *found = NULL;
    gantry__mutex_lock(&device->lock);
    for (gantry__opencl_pinned_t **link = &device->pinned; *link; link = &(*link)->next) {
        if ((*link)->ptr == ptr) {
            found = *link;
            *link = found->next;
            break;
        }
    }
    gantry__mutex_unlock(&device->lock);
    return found;
}

static void opencl_memory_host_free(gantry_backend_device_t *device, void *ptr,
                                    uint64_t size_bytes) {
    if (!device->host_queue) {
        gantry__host_free(device->host, ptr, (size_t)size_bytes);
        return;
    }
    gantry__opencl_pinned_t *pinned = take_pinned(device, ptr);
    if (pinned) unmap_pinned(device, pinned);
}

void gantry__opencl_pinned_release_all(gantry_backend_device_t *device) {
    while (device->pinned) unmap_pinned(device, take_pinned(device, device->pinned->ptr));
}

/* Reads the free memory. OpenCL itself has no such query; AMD's extension has. */
static int32_t opencl_memory_info(gantry_backend_device_t *device, uint64_t *out_free_bytes,
                                  uint64_t *out_total_bytes) {
    if (!device->record->has_amd_memory) {
        return gantry__driver_fail(
            device->host, GANTRY_UNIMPLEMENTED, 0,
            "the OpenCL driver of \"%.200s\" does not report its free memory",
            device->record->hardware_name);
    }
    size_t kibibytes[2] = {0, 0};
    cl_int native = device->cl->clGetDeviceInfo(
        device->record->device, DEVICE_GLOBAL_FREE_MEMORY_AMD, sizeof kibibytes, kibibytes, NULL);
    *out_free_bytes = (uint64_t)kibibytes[0] * 1024;
    *out_total_bytes = device->record->info.total_bytes;
    return gantry__driver_check(device->host, native, "asking \"%.200s\" for its free memory",
                                device->record->hardware_name);
}

const gantry_memory_ops_t gantry__opencl_memory_ops = {
    .struct_size = sizeof gantry__opencl_memory_ops,
    .region_alloc = opencl_memory_region_alloc,
    .region_free = opencl_memory_region_free,
    .host_alloc = opencl_memory_host_alloc,
    .host_free = opencl_memory_host_free,
    .memory_info = opencl_memory_info,
};
