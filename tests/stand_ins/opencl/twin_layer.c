/* SPDX-License-Identifier: Apache-2.0 */
/* Imitates one card behind two OpenCL drivers: an OpenCL layer between the loader and PoCL. PoCL's
 * platform has its first device, and a second platform, "Twin", has the other one
 * (POCL_DEVICES="pthread pthread"). Both compute. The loader loads the layer through OPENCL_LAYERS.
 * Thread-safe.
 *
 * The variables TWIN_0 and TWIN_1 give each device's properties as words separated by single
 * blanks, "-" for none: PCI address, first byte of the UUID, memory in MiB, vendor of the platform.
 * Both devices are GPUs of the vendor "Acme Corporation". TWIN_NAME is the devices' name, by
 * default "Acme 3000". With TWIN_BOARD the devices have AMD's attributes, with that name of the
 * board.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl_layer.h"

#define PCI_BUS_INFO_KHR 0x410F
#define UUID_KHR 0x106A
#define BOARD_NAME_AMD 0x4038

typedef struct twin_t {
    char pci[32];
    char uuid[16];
    char memory[16];
    char vendor[32];
} twin_t;

static char second_platform; /* the address is the platform's handle */

static cl_platform_id twin_platform(void) { return (cl_platform_id)(void *)&second_platform; }

static cl_platform_id first_platform(void) {
    cl_platform_id platform = NULL;
    (void)target->clGetPlatformIDs(1, &platform, NULL);
    return platform;
}

/* PoCL's devices; NULL when PoCL has fewer. */
static void find_devices(cl_device_id out_devices[2]) {
    out_devices[0] = out_devices[1] = NULL;
    (void)target->clGetDeviceIDs(first_platform(), CL_DEVICE_TYPE_ALL, 2, out_devices, NULL);
}

static twin_t read_twin(int number) {
    twin_t twin = {"-", "-", "-", "-"};
    const char *text = getenv(number == 0 ? "TWIN_0" : "TWIN_1");
    if (text)
        (void)sscanf(text, "%31s %15s %15s %31s", twin.pci, twin.uuid, twin.memory, twin.vendor);
    return twin;
}

static int is_given(const char *word) { return strcmp(word, "-") != 0; }

static cl_int give_text(const char *text, size_t size, void *value, size_t *needed) {
    return give(text, strlen(text) + 1, size, value, needed);
}

static const char *name_or(const char *variable, const char *other) {
    const char *text = getenv(variable);
    return text ? text : other;
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clGetPlatformIDs(cl_uint entries,
                                                              cl_platform_id *platforms,
                                                              cl_uint *found) {
    const cl_platform_id both[] = {first_platform(), twin_platform()};
    for (cl_uint i = 0; platforms && i < entries && i < 2; ++i) platforms[i] = both[i];
    if (found) *found = 2;
    return CL_SUCCESS;
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clGetPlatformInfo(cl_platform_id platform,
                                                               cl_platform_info name, size_t size,
                                                               void *value, size_t *needed) {
    int number = platform == twin_platform();
    if (name == CL_PLATFORM_VENDOR) {
        twin_t twin = read_twin(number);
        return give_text(twin.vendor, size, value, needed);
    }
    if (number == 1 && name == CL_PLATFORM_NAME) return give_text("Twin", size, value, needed);
    return target->clGetPlatformInfo(first_platform(), name, size, value, needed);
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clGetDeviceIDs(cl_platform_id platform,
                                                            cl_device_type type, cl_uint entries,
                                                            cl_device_id *devices, cl_uint *found) {
    cl_device_id both[2];
    int number = platform == twin_platform();
    find_devices(both);
    if (!both[number] || !(type & CL_DEVICE_TYPE_GPU)) return CL_DEVICE_NOT_FOUND;
    if (devices && entries > 0) devices[0] = both[number];
    if (found) *found = 1;
    return CL_SUCCESS;
}

static cl_int give_extensions(cl_device_id device, const twin_t *twin, size_t size, void *value,
                              size_t *needed) {
    char text[4096] = "";
    cl_int error =
        target->clGetDeviceInfo(device, CL_DEVICE_EXTENSIONS, sizeof text - 128, text, NULL);
    size_t length = strlen(text);
    if (error != CL_SUCCESS) return error;
    (void)snprintf(text + length, sizeof text - length, "%s%s%s",
                   getenv("TWIN_BOARD") ? " cl_amd_device_attribute_query" : "",
                   is_given(twin->pci) ? " cl_khr_pci_bus_info" : "",
                   is_given(twin->uuid) ? " cl_khr_device_uuid" : "");
    return give_text(text, size, value, needed);
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clGetDeviceInfo(cl_device_id device,
                                                             cl_device_info name, size_t size,
                                                             void *value, size_t *needed) {
    static const cl_ulong gpu = CL_DEVICE_TYPE_GPU;
    static const cl_uint no = CL_FALSE;
    cl_device_id both[2];
    find_devices(both);
    const twin_t twin = read_twin(device == both[1]);
    unsigned pci[4] = {0}; /* domain, bus, device, function */
    unsigned char uuid[16] = {0};
    cl_ulong memory = strtoull(twin.memory, NULL, 10) << 20;
    (void)sscanf(twin.pci, "%x:%x:%x.%x", &pci[0], &pci[1], &pci[2], &pci[3]);
    uuid[0] = (unsigned char)strtoul(twin.uuid, NULL, 16);
    switch (name) {
        case CL_DEVICE_TYPE: return give(&gpu, sizeof gpu, size, value, needed);
        case CL_DEVICE_NAME:
            return give_text(name_or("TWIN_NAME", "Acme 3000"), size, value, needed);
        case BOARD_NAME_AMD: return give_text(name_or("TWIN_BOARD", ""), size, value, needed);
        case CL_DEVICE_VENDOR: return give_text("Acme Corporation", size, value, needed);
        case CL_DEVICE_HOST_UNIFIED_MEMORY: return give(&no, sizeof no, size, value, needed);
        case CL_DEVICE_EXTENSIONS: return give_extensions(device, &twin, size, value, needed);
        case PCI_BUS_INFO_KHR: return give(pci, sizeof pci, size, value, needed);
        case UUID_KHR: return give(uuid, sizeof uuid, size, value, needed);
        case CL_DEVICE_GLOBAL_MEM_SIZE:
            if (is_given(twin.memory)) return give(&memory, sizeof memory, size, value, needed);
            break;
        default: break;
    }
    return target->clGetDeviceInfo(device, name, size, value, needed);
}

static CL_API_ENTRY cl_context CL_API_CALL layer_clCreateContext(
    const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
    void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *), void *user,
    cl_int *code) {
    (void)properties; /* the platform alone; PoCL takes it from the device */
    return target->clCreateContext(NULL, count, devices, notify, user, code);
}

LAYER("one card behind two OpenCL drivers, for Gantry's tests",
      TAKE(clGetPlatformIDs) TAKE(clGetPlatformInfo) TAKE(clGetDeviceIDs) TAKE(clGetDeviceInfo)
          TAKE(clCreateContext))
