/* SPDX-License-Identifier: Apache-2.0 */
/* An OpenCL layer that shows a program only some of the machine's devices, as CUDA_VISIBLE_DEVICES
 * does for CUDA. `gantry run` names it in OPENCL_LAYERS for its child; the loader puts it between
 * the program and the drivers:
 *
 *     program -> loader -> this layer -> other layers -> drivers
 *
 * GANTRY_OPENCL_LAYER_DEVICES lists the shown devices, separated by semicolons. A device that has
 * none of the listed names is hidden, and so is a platform without a shown device:
 *
 *     pci=0000:17:00.0           its PCI address
 *     uuid=GPU-...               its UUID, as cl_khr_device_uuid tells it
 *     name=PLATFORM/DEVICE/N     number N among the devices of that name, from 0; a semicolon
 *                                within a name is an underscore here
 *     cpu                        all devices of type CPU
 *
 * Without the variable, the layer changes nothing. Gantry's own backend numbers and hides devices
 * by GANTRY_VISIBLE_DEVICES, so it sees all of them: it finds gantry_opencl_layer_show_all here. A
 * device that a program holds already must never be refused. Threads: thread-safe, because after
 * clInitLayer only a thread's own mark changes. */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl_layer.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <gantry/export.h>

#include "opencl_layer/opencl_layer.h"

#if !defined(CL_LAYER_NAME) /* headers of 2022 */
#define CL_LAYER_NAME 0x4241
#endif

#define MOST_PLATFORMS 64
#define MOST_DEVICES 256
#define TEXT_BYTES 512

/* cl_khr_pci_bus_info, cl_khr_device_uuid, cl_nv_device_attribute_query,
 * cl_amd_device_attribute_query */
#define DEVICE_PCI_BUS_INFO 0x410F
#define DEVICE_UUID 0x106A
#define DEVICE_PCI_BUS_NV 0x4008
#define DEVICE_PCI_SLOT_NV 0x4009
#define DEVICE_PCI_DOMAIN_NV 0x400A
#define DEVICE_TOPOLOGY_AMD 0x4037

static struct _cl_icd_dispatch table;         /* what the program calls */
static const struct _cl_icd_dispatch *target; /* what is below */
static char *shown_names;                     /* NULL: all devices are shown */
static _Thread_local bool shows_all;

GANTRY_API void gantry_opencl_layer_show_all(int is_on) { shows_all = is_on != 0; }

/* ---- the names of a device ---- */

/* Whether ";names;" has ";name;". */
static bool layer_is_listed(const char *name) {
    const size_t length = strlen(name);
    for (const char *at = shown_names; at; at = strchr(at, ';') ? strchr(at, ';') + 1 : NULL) {
        if (strncmp(at, name, length) == 0 && (at[length] == ';' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* A copy without blanks at its ends, as Gantry shows names. */
static void tidy(char *text) {
    const size_t start = strspn(text, " \t\n");
    size_t length = strlen(text);
    while (length > start && strchr(" \t\n", text[length - 1])) --length;
    memmove(text, text + start, length - start);
    text[length - start] = '\0';
    for (char *c = text; *c != '\0'; ++c) *c = *c == ';' ? '_' : *c;
}

static void platform_name(cl_platform_id platform, char out[TEXT_BYTES]) {
    out[0] = '\0';
    (void)target->clGetPlatformInfo(platform, CL_PLATFORM_NAME, TEXT_BYTES - 1, out, NULL);
    out[TEXT_BYTES - 1] = '\0';
    tidy(out);
}

static void device_name(cl_device_id device, char out[TEXT_BYTES]) {
    out[0] = '\0';
    (void)target->clGetDeviceInfo(device, CL_DEVICE_NAME, TEXT_BYTES - 1, out, NULL);
    out[TEXT_BYTES - 1] = '\0';
    tidy(out);
}

static cl_uint devices_of(cl_platform_id platform, cl_device_type type,
                          cl_device_id out[MOST_DEVICES]) {
    cl_uint count = 0;
    if (target->clGetDeviceIDs(platform, type, MOST_DEVICES, out, &count) != CL_SUCCESS) return 0;
    return count < MOST_DEVICES ? count : MOST_DEVICES;
}

static cl_uint all_platforms(cl_platform_id out[MOST_PLATFORMS]) {
    cl_uint count = 0;
    if (target->clGetPlatformIDs(MOST_PLATFORMS, out, &count) != CL_SUCCESS) return 0;
    return count < MOST_PLATFORMS ? count : MOST_PLATFORMS;
}

/* The number of the device among those with its name, on platforms with its platform's name. */
static unsigned layer_number_of(cl_device_id device, const char *platform, const char *name) {
    cl_platform_id platforms[MOST_PLATFORMS];
    cl_device_id devices[MOST_DEVICES];
    unsigned number = 0;
    const cl_uint count = all_platforms(platforms);
    for (cl_uint p = 0; p < count; ++p) {
        char text[TEXT_BYTES];
        platform_name(platforms[p], text);
        if (strcmp(text, platform) != 0) continue;
        const cl_uint device_count = devices_of(platforms[p], CL_DEVICE_TYPE_ALL, devices);
        for (cl_uint d = 0; d < device_count; ++d) {
            if (devices[d] == device) return number;
            device_name(devices[d], text);
            number += strcmp(text, name) == 0;
        }
    }
    return number;
}

static bool is_listed_by_name(cl_platform_id platform, cl_device_id device) {
    char name[TEXT_BYTES], of_platform[TEXT_BYTES], text[2 * TEXT_BYTES + 32];
    if (!strstr(shown_names, "name=")) return false;
    device_name(device, name);
    platform_name(platform, of_platform);
    (void)snprintf(text, sizeof text, "name=%s/%s/%u", of_platform, name,
                   layer_number_of(device, of_platform, name));
    return layer_is_listed(text);
}

static bool is_listed_by_uuid(cl_device_id device) {
    unsigned char b[16];
    char text[64] = "uuid=GPU-";
    if (target->clGetDeviceInfo(device, DEVICE_UUID, sizeof b, b, NULL) != CL_SUCCESS) return false;
    for (size_t i = 0; i < sizeof b; ++i)
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s%02x",
                       i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
    return layer_is_listed(text);
}

/* ---- PCI addresses ---- */

typedef struct place_t {
    cl_uint domain, bus, device, function;
} place_t;

/* AMD's topology: 24 bytes, a type of 1 for PCIe, and the address at the end. */
static bool has_place_of_amd(cl_device_id device, place_t *out) {
    unsigned char topology[24];
    cl_uint type;
    if (target->clGetDeviceInfo(device, DEVICE_TOPOLOGY_AMD, sizeof topology, topology, NULL) !=
        CL_SUCCESS)
        return false;
    memcpy(&type, topology, sizeof type);
    *out = (place_t){0, topology[21], topology[22], topology[23]};
    return type == 1;
}

static bool layer_has_number(cl_device_id device, cl_device_info what, cl_uint *out) {
    return target->clGetDeviceInfo(device, what, sizeof *out, out, NULL) == CL_SUCCESS;
}

static bool has_place(cl_device_id device, place_t *out) {
    *out = (place_t){0};
    if (target->clGetDeviceInfo(device, DEVICE_PCI_BUS_INFO, sizeof *out, out, NULL) == CL_SUCCESS)
        return true;
    if (layer_has_number(device, DEVICE_PCI_BUS_NV, &out->bus) &&
        layer_has_number(device, DEVICE_PCI_SLOT_NV, &out->device)) {
        (void)layer_has_number(device, DEVICE_PCI_DOMAIN_NV, &out->domain);
        return true;
    }
    return has_place_of_amd(device, out);
}

static bool is_listed_by_place(cl_device_id device) {
    place_t place;
    char text[32];
    if (!strstr(shown_names, "pci=") || !has_place(device, &place)) return false;
    (void)snprintf(text, sizeof text, "pci=%04x:%02x:%02x.%x", place.domain & 0xffffu,
                   place.bus & 0xffu, place.device & 0x1fu, place.function & 0x7u);
    return layer_is_listed(text);
}

/* ---- what is shown ---- */

static bool layer_is_shown(cl_platform_id platform, cl_device_id device) {
    cl_device_type type = 0;
    (void)target->clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    return ((type & CL_DEVICE_TYPE_CPU) && layer_is_listed("cpu")) || is_listed_by_place(device) ||
           is_listed_by_uuid(device) || is_listed_by_name(platform, device);
}

static cl_uint shown_devices_of(cl_platform_id platform, cl_device_type type,
                                cl_device_id out[MOST_DEVICES]) {
    const cl_uint count = devices_of(platform, type, out);
    cl_uint shown = 0;
    for (cl_uint i = 0; i < count; ++i)
        if (layer_is_shown(platform, out[i])) out[shown++] = out[i];
    return shown;
}

/* The default device of a platform is its first shown one, if the driver's is hidden. */
static cl_uint choose_devices(cl_platform_id platform, cl_device_type type,
                              cl_device_id out[MOST_DEVICES]) {
    cl_uint count = shown_devices_of(platform, type, out);
    if (count == 0 && (type & CL_DEVICE_TYPE_DEFAULT))
        count = shown_devices_of(platform, CL_DEVICE_TYPE_ALL, out) > 0;
    return count;
}

static cl_uint shown_platforms(cl_platform_id out[MOST_PLATFORMS]) {
    cl_device_id devices[MOST_DEVICES];
    const cl_uint count = all_platforms(out);
    cl_uint shown = 0;
    for (cl_uint i = 0; i < count; ++i)
        if (shown_devices_of(out[i], CL_DEVICE_TYPE_ALL, devices) > 0) out[shown++] = out[i];
    return shown;
}

/* Returns the first shown platform; NULL if none is shown. */
static cl_platform_id default_platform(void) {
    cl_platform_id platforms[MOST_PLATFORMS];
    return shown_platforms(platforms) > 0 ? platforms[0] : NULL;
}

/* ---- the functions that the program calls ---- */

static CL_API_ENTRY cl_int CL_API_CALL layer_clGetPlatformIDs(cl_uint entries,
                                                              cl_platform_id *platforms,
                                                              cl_uint *found) {
    cl_platform_id shown[MOST_PLATFORMS];
    if (shows_all || !shown_names) return target->clGetPlatformIDs(entries, platforms, found);
    if ((!platforms && !found) || (platforms && entries == 0)) return CL_INVALID_VALUE;
    const cl_uint count = shown_platforms(shown);
    for (cl_uint i = 0; platforms && i < entries && i < count; ++i) platforms[i] = shown[i];
    if (found) *found = count;
    return count > 0 ? CL_SUCCESS : CL_PLATFORM_NOT_FOUND_KHR;
}

static CL_API_ENTRY cl_int CL_API_CALL layer_clGetDeviceIDs(cl_platform_id platform,
                                                            cl_device_type type, cl_uint entries,
                                                            cl_device_id *devices, cl_uint *found) {
    cl_device_id shown[MOST_DEVICES];
    if (shows_all || !shown_names)
        return target->clGetDeviceIDs(platform, type, entries, devices, found);
    if ((!devices && !found) || (devices && entries == 0)) return CL_INVALID_VALUE;
    if (!platform) platform = default_platform();
    const cl_uint count = platform ? choose_devices(platform, type, shown) : 0;
    if (found) *found = count;
    if (count == 0) { /* the driver refuses a wrong platform or type */
        const cl_int error =
            platform ? target->clGetDeviceIDs(platform, type, MOST_DEVICES, shown, &(cl_uint){0})
                     : CL_DEVICE_NOT_FOUND;
        return error == CL_SUCCESS ? CL_DEVICE_NOT_FOUND : error;
    }
    for (cl_uint i = 0; devices && i < entries && i < count; ++i) devices[i] = shown[i];
    return CL_SUCCESS;
}

static cl_platform_id platform_of(const cl_context_properties *properties) {
    for (const cl_context_properties *at = properties; at && at[0] != 0; at += 2) {
        cl_platform_id platform;
        memcpy(&platform, &at[1], sizeof platform);
        if (at[0] == CL_CONTEXT_PLATFORM) return platform;
    }
    return NULL;
}

/* The driver would put hidden devices into the context. */
static CL_API_ENTRY cl_context CL_API_CALL
layer_clCreateContextFromType(const cl_context_properties *properties, cl_device_type type,
                              void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
                              void *user, cl_int *code) {
    cl_device_id shown[MOST_DEVICES];
    if (shows_all || !shown_names)
        return target->clCreateContextFromType(properties, type, notify, user, code);
    cl_platform_id platform = platform_of(properties);
    if (!platform) platform = default_platform();
    const cl_uint count = platform ? choose_devices(platform, type, shown) : 0;
    if (count > 0) return target->clCreateContext(properties, count, shown, notify, user, code);
    if (code) *code = CL_DEVICE_NOT_FOUND;
    return NULL;
}

/* ---- the loader's calls ---- */

static cl_int give(const void *answer, size_t bytes, size_t size, void *value, size_t *needed) {
    if (value && size < bytes) return CL_INVALID_VALUE;
    if (value) memcpy(value, answer, bytes);
    if (needed) *needed = bytes;
    return CL_SUCCESS;
}

GANTRY_API CL_API_ENTRY cl_int CL_API_CALL clGetLayerInfo(cl_layer_info name, size_t size,
                                                          void *value, size_t *needed) {
    static const cl_layer_api_version version = CL_LAYER_API_VERSION_100;
    static const char own_name[] = "Gantry: shows the devices of GANTRY_OPENCL_LAYER_DEVICES";
    if (name == CL_LAYER_API_VERSION) return give(&version, sizeof version, size, value, needed);
    if (name == CL_LAYER_NAME) return give(own_name, sizeof own_name, size, value, needed);
    return CL_INVALID_VALUE;
}

/* A loader may know fewer functions than this file was built with, but never fewer than those that
 * are replaced: they are of OpenCL 1.0. */
GANTRY_API CL_API_ENTRY cl_int CL_API_CALL clInitLayer(cl_uint entries,
                                                       const cl_icd_dispatch *below,
                                                       cl_uint *entries_made,
                                                       const cl_icd_dispatch **made) {
    const cl_uint known = (cl_uint)(sizeof table / sizeof(void *));
    const char *names = getenv("GANTRY_OPENCL_LAYER_DEVICES");
    if (!below || !entries_made || !made) return CL_INVALID_VALUE;
    const cl_uint count = entries < known ? entries : known;
    if (count * sizeof(void *) <= offsetof(struct _cl_icd_dispatch, clCreateContextFromType))
        return CL_INVALID_VALUE;
    shown_names = names && *names ? malloc(strlen(names) + 1) : NULL;
    if (names && *names && !shown_names) return CL_OUT_OF_HOST_MEMORY;
    if (shown_names) memcpy(shown_names, names, strlen(names) + 1);
    target = below;
    memcpy(&table, below, count * sizeof(void *));
    table.clGetPlatformIDs = layer_clGetPlatformIDs;
    table.clGetDeviceIDs = layer_clGetDeviceIDs;
    table.clCreateContextFromType = layer_clCreateContextFromType;
    *entries_made = count;
    *made = &table;
    return CL_SUCCESS;
}
