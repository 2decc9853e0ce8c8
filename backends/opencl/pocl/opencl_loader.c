/* SPDX-License-Identifier: Apache-2.0 */
/* Whether the loader would end the process, and the queries that it makes (opencl_loader.h). */
#include "opencl/pocl/opencl_loader.h"

#include <stdlib.h>
#include <string.h>

#include "base/os/library.h"
#include "base/os/library_inside.h"
#include "opencl/pocl/opencl_pocl.h"
#include "opencl/opencl_status.h"

#define SORT_VARIABLE "OCL_ICD_PLATFORM_SORT"
#define MOST_PLATFORMS 16 /* most platforms of one driver */

/* ---- the loader ---- */

/* Whether the loader is ocl-icd; others do not query the drivers. ocl-icd returns its name only in
 * a call that starts it, so its name is not queried: it is the loader that has the variable's name
 * in it. */
static bool sorts_by_devices(const gantry__opencl_symbols_t *cl) {
    const char *sort = getenv(SORT_VARIABLE);
    const void *address;
    memcpy(&address, &cl->clGetPlatformIDs, sizeof address);
    if (sort && strcmp(sort, "none") == 0) return false;
    return gantry__os_library_has_text(address, SORT_VARIABLE);
}

/* ---- the platforms ---- */

typedef struct platforms_t {
    cl_uint count;
    bool has_pocl;
} platforms_t;

/* Finds the driver's own function. If the driver is linked with the loader, a search finds the
 * loader's functions, and a call of one starts the loader. */
static void *find_exported(const gantry__opencl_symbols_t *cl, void *library, const char *name) {
    void *function = gantry__os_library_find(library, name);
    return function == gantry__os_library_find(cl->library, name) ? NULL : function;
}

/* Finds a function that the driver returns, or else one that it exports, as ocl-icd does. */
static void *find_of_driver(const gantry__opencl_symbols_t *cl, void *library, const char *name) {
    void *(*get)(const char *name);
    void *function = find_exported(cl, library, "clGetExtensionFunctionAddress");
    memcpy(&get, &function, sizeof get);
    function = get ? get(name) : NULL;
    return function ? function : find_exported(cl, library, name);
}

/* Makes the queries that ocl-icd makes before it sorts; they start no device. */
static void opencl_loader_add_platforms(const gantry__opencl_symbols_t *cl, void *library,
                                        platforms_t *platforms) {
    cl_int (*get_platforms)(cl_uint most, cl_platform_id * out_platforms, cl_uint * out_count);
    __typeof__(&clGetPlatformInfo) get_info;
    void *functions[] = {find_of_driver(cl, library, "clIcdGetPlatformIDsKHR"),
                         find_of_driver(cl, library, "clGetPlatformInfo")};
    cl_platform_id found[MOST_PLATFORMS];
    cl_uint count = 0;
    memcpy(&get_platforms, &functions[0], sizeof get_platforms);
    memcpy(&get_info, &functions[1], sizeof get_info);
    if (!get_platforms || !get_info || get_platforms(MOST_PLATFORMS, found, &count) != CL_SUCCESS) {
        return;
    }
    platforms->count += count;
    for (cl_uint i = 0; i < count && i < MOST_PLATFORMS; ++i) {
        char name[64] = "";
        if (get_info(found[i], CL_PLATFORM_NAME, sizeof name, name, NULL) == CL_SUCCESS)
            platforms->has_pocl = platforms->has_pocl || gantry__pocl_is(name);
    }
}

int32_t gantry__opencl_loader_check(const gantry_host_t *host, const gantry__opencl_symbols_t *cl,
                                    const gantry__opencl_drivers_t *drivers, bool *out_has_asked) {
    char reason[GANTRY__POCL_REASON_BYTES];
    platforms_t platforms = {0};
    *out_has_asked = false;
    if (drivers->count < 2 || !sorts_by_devices(cl)) return GANTRY_OK;
    for (uint32_t i = 0; i < drivers->count; ++i)
        opencl_loader_add_platforms(cl, drivers->libraries[i], &platforms);
    *out_has_asked = platforms.count > 0;
    if (platforms.count < 2 || !platforms.has_pocl ||
        gantry__pocl_can_be_asked(reason, sizeof reason)) {
        return GANTRY_OK;
    }
    return gantry__driver_fail(
        host, GANTRY_UNAVAILABLE, 0,
        "%.200s asks each of %u OpenCL platforms for its devices to sort them, and PoCL, one of them, would end the process: %s; to use only the other platforms, set " SORT_VARIABLE
        "=none, or leave PoCL out of OCL_ICD_VENDORS",
        cl->name, platforms.count, reason);
}
