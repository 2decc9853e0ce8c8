/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL program that knows nothing of Gantry, for test_run_opencl. Prints the devices that it
 * sees, by their places among all devices of the machine, which it lists through the layer's mark:
 *
 *     2 platforms: 0 1; context: 0; default: 0 */
#define _GNU_SOURCE /* RTLD_NOLOAD */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#define MOST 16

static void *loader;
static cl_device_id everything[MOST];
static cl_uint every_count;

#define CALL(name) ((__typeof__(&name))find(#name))

static void (*find(const char *name))(void) {
    void (*function)(void);
    void *address = dlsym(loader, name);
    memcpy(&function, &address, sizeof function);
    return function;
}

static cl_uint list(cl_device_id out[MOST], cl_uint *out_platforms) {
    cl_platform_id platforms[MOST];
    cl_uint count = 0, found = 0;
    *out_platforms = 0;
    if (CALL(clGetPlatformIDs)(MOST, platforms, out_platforms) != CL_SUCCESS) return 0;
    for (cl_uint p = 0; p < *out_platforms; ++p) {
        if (CALL(clGetDeviceIDs)(platforms[p], CL_DEVICE_TYPE_ALL, MOST - count, out + count,
                                 &found) == CL_SUCCESS)
            count += found;
    }
    return count;
}

static void list_everything(void) {
    cl_uint platforms;
    void (*show_all)(int is_on) = NULL;
    (void)CALL(clGetPlatformIDs)(0, NULL, NULL);
    void *layer = dlopen("libgantry_opencl_layer.so", RTLD_LAZY | RTLD_NOLOAD);
    void *address = layer ? dlsym(layer, "gantry_opencl_layer_show_all") : NULL;
    memcpy(&show_all, &address, sizeof show_all);
    if (show_all) show_all(1);
    every_count = list(everything, &platforms);
    if (show_all) show_all(0);
}

static void print_devices(const cl_device_id *devices, cl_uint count) {
    for (cl_uint i = 0; i < count; ++i)
        for (cl_uint k = 0; k < every_count; ++k)
            if (everything[k] == devices[i]) (void)printf(" %u", k);
}

int main(void) {
    cl_device_id devices[MOST];
    cl_uint platforms = 0;
    cl_int error = 0;
    loader = dlopen("libOpenCL.so.1", RTLD_LAZY);
    if (!loader) return 77;
    list_everything();
    cl_uint count = list(devices, &platforms);
    (void)printf("%u platforms:", platforms);
    print_devices(devices, count);
    cl_context context =
        CALL(clCreateContextFromType)(NULL, CL_DEVICE_TYPE_ALL, NULL, NULL, &error);
    size_t bytes = 0;
    if (context)
        (void)CALL(clGetContextInfo)(context, CL_CONTEXT_DEVICES, sizeof devices, devices, &bytes);
    (void)printf("; context:");
    print_devices(devices, (cl_uint)(bytes / sizeof devices[0]));
    if (context) (void)CALL(clReleaseContext)(context);
    error = CALL(clGetDeviceIDs)(NULL, CL_DEVICE_TYPE_DEFAULT, 1, devices, NULL);
    (void)printf("; default:");
    print_devices(devices, error == CL_SUCCESS);
    const cl_int refused = CALL(clGetDeviceIDs)(NULL, CL_DEVICE_TYPE_ALL, 0, devices, NULL);
    (void)printf("; no entries: %d\n", (int)refused);
    return 0;
}
