/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that the drivers list without Gantry, one on each line. This shows the effect of
 * variables like CUDA_VISIBLE_DEVICES on each driver, and whether both drivers have the same names
 * for a card. */
#include "bench.h"

#include <string.h>

#include "cuda_vendor.h"
#include "vendor.h"

#define MOST 16
#define DEVICE_UUID 0x106A    /* cl_khr_device_uuid */
#define NVIDIA_PCI_BUS 0x4008 /* cl_nv_device_attribute_query; also PoCL's, which knows none */
#define NVIDIA_PCI_SLOT 0x4009
#define NVIDIA_PCI_DOMAIN 0x400A

static void list_cuda(void) {
    bench_cuda_t cuda;
    int count = 0, device;
    if (!bench_cuda_open(&cuda) || cuda.cuDeviceGetCount(&count) != 0) {
        (void)printf("cuda: no driver, or none that starts\n");
        return;
    }
    (void)printf("cuda: driver of CUDA %d.%d, %d devices\n", cuda.driver_version / 1000,
                 cuda.driver_version % 1000 / 10, count);
    for (int i = 0; i < count; ++i) {
        char name[128] = "", uuid[BENCH_UUID_BYTES], pci[32];
        if (cuda.cuDeviceGet(&device, i) != 0) continue;
        (void)cuda.cuDeviceGetName(name, sizeof name, device);
        bench_cuda_uuid(&cuda, device, uuid);
        bench_cuda_pci(&cuda, device, pci);
        (void)printf("cuda %d: %s, %s, %s\n", i, name, uuid, pci);
    }
}

static void format_uuid(const unsigned char id[16], char out[BENCH_UUID_BYTES]) {
    for (size_t i = 0; i < 16; ++i) (void)snprintf(out + 2 * i, 3, "%02x", id[i]);
}

static void print_opencl_device(const bench_opencl_t *cl, uint32_t platform, uint32_t number,
                                void *device) {
    char name[256] = "", version[128] = "", uuid[BENCH_UUID_BYTES] = "no UUID",
         pci[32] = "no PCI address";
    unsigned char id[16];
    uint32_t domain = 0, bus = 0, slot = 0;
    (void)cl->clGetDeviceInfo(device, BENCH_CL_DEVICE_NAME, sizeof name - 1, name, NULL);
    (void)cl->clGetDeviceInfo(device, 0x102D /* driver version */, sizeof version - 1, version,
                              NULL);
    if (cl->clGetDeviceInfo(device, DEVICE_UUID, sizeof id, id, NULL) == 0) format_uuid(id, uuid);
    if (cl->clGetDeviceInfo(device, NVIDIA_PCI_BUS, sizeof bus, &bus, NULL) == 0 &&
        cl->clGetDeviceInfo(device, NVIDIA_PCI_SLOT, sizeof slot, &slot, NULL) == 0) {
        (void)cl->clGetDeviceInfo(device, NVIDIA_PCI_DOMAIN, sizeof domain, &domain, NULL);
        (void)snprintf(pci, sizeof pci, "%04x:%02x:%02x.0", domain, bus, slot);
    }
    (void)printf("opencl %u.%u: %s, driver %s, %s, %s\n", platform, number, name, version, uuid,
                 pci);
}

static void list_opencl(void) {
    bench_opencl_t cl;
    void *platforms[MOST], *devices[MOST];
    uint32_t platform_count = 0;
    if (!bench_opencl_open(&cl) || cl.clGetPlatformIDs(MOST, platforms, &platform_count) != 0) {
        (void)printf("opencl: no loader, or no platform behind it\n");
        return;
    }
    (void)printf("opencl: %u platforms\n", platform_count);
    for (uint32_t p = 0; p < platform_count && p < MOST; ++p) {
        uint32_t count = 0;
        if (cl.clGetDeviceIDs(platforms[p], BENCH_CL_ALL_DEVICES, MOST, devices, &count) != 0)
            count = 0;
        (void)printf("opencl platform %u: %u devices\n", p, count);
        for (uint32_t d = 0; d < count && d < MOST; ++d) print_opencl_device(&cl, p, d, devices[d]);
    }
}

int bench_drivers(void) {
    list_cuda();
    list_opencl();
    return fflush(stdout) == 0 ? 0 : 1;
}
