/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL driver beside PoCL: one platform without devices, so that a loader has two platforms.
 * Never writes anything. Thread-safe. */
#define CL_TARGET_OPENCL_VERSION 300
#include <CL/cl_icd.h>
#include <string.h>

#define EXPORT __attribute__((visibility("default")))

struct _cl_platform_id {
    const struct _cl_icd_dispatch *dispatch; /* first, as the loader requires */
};

static cl_int CL_API_CALL list_devices(cl_platform_id platform, cl_device_type type, cl_uint most,
                                       cl_device_id *devices, cl_uint *count) {
    (void)platform;
    (void)type;
    (void)most;
    (void)devices;
    if (count) *count = 0;
    return CL_DEVICE_NOT_FOUND;
}

static const char *text_of(cl_platform_info name) {
    switch (name) {
        case CL_PLATFORM_PROFILE: return "FULL_PROFILE";
        case CL_PLATFORM_VERSION: return "OpenCL 1.2 stand-in";
        case CL_PLATFORM_NAME: return "Other driver";
        case CL_PLATFORM_VENDOR: return "Gantry's tests";
        case CL_PLATFORM_EXTENSIONS: return "cl_khr_icd";
        case CL_PLATFORM_ICD_SUFFIX_KHR: return "OTHER";
        default: return NULL;
    }
}

EXPORT CL_API_ENTRY cl_int CL_API_CALL clGetPlatformInfo(cl_platform_id platform,
                                                         cl_platform_info name, size_t size,
                                                         void *value, size_t *needed) {
    const char *text = text_of(name);
    size_t bytes = text ? strlen(text) + 1 : 0;
    (void)platform;
    if (!text || (value && size < bytes)) return CL_INVALID_VALUE;
    if (value) memcpy(value, text, bytes);
    if (needed) *needed = bytes;
    return CL_SUCCESS;
}

static const struct _cl_icd_dispatch table = {
    .clGetPlatformInfo = clGetPlatformInfo,
    .clGetDeviceIDs = list_devices,
};
static struct _cl_platform_id only = {&table};

static cl_int CL_API_CALL list_platforms(cl_uint most, cl_platform_id *platforms, cl_uint *count) {
    if (platforms && most > 0) *platforms = &only;
    if (count) *count = 1;
    return CL_SUCCESS;
}

EXPORT CL_API_ENTRY void *CL_API_CALL clGetExtensionFunctionAddress(const char *name) {
    cl_int (*list)(cl_uint most, cl_platform_id * platforms, cl_uint * count) = list_platforms;
    void *address = NULL;
    if (strcmp(name, "clIcdGetPlatformIDsKHR") == 0) memcpy(&address, &list, sizeof address);
    return address;
}
