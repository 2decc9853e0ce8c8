/* SPDX-License-Identifier: Apache-2.0 */
/* The three functions that TensorFlow calls when it loads the plug-in, and the platform. */
#include <string.h>
#include <tensorflow/c/experimental/stream_executor/stream_executor.h>
#include "tf_kernels.h"

#include "admission.h"
#include "admission_versions.h"
#include "device.h"
#include "graph.h"
#include "log.h"
#include "python_hook.h"
#include "register.h"
#include "report.h"
#include "status.h"
#include "stream.h"

/* TensorFlow declares the two without visibility. */
#define PLUGIN_EXPORT __attribute__((visibility("default")))

/* Writes the number of devices. A machine without a usable device has 0, and the log says why.
 * TensorFlow then uses its CPU. */
static void get_count(const SP_Platform *platform, int *out_count, TF_Status *status) {
    const bool is_gantry = !strcmp(platform->type, REGISTER_DEVICE_TYPE);
    if (is_gantry) (void)device_open();
    *out_count = is_gantry ? (int)device_count() : 0;
    status_set(status, GANTRY_OK, NULL);
}

static void create_device(const SP_Platform *platform, SE_CreateDeviceParams *params,
                          TF_Status *status) {
    (void)platform;
    const device_t *device = device_at((uint32_t)params->ordinal);
    params->device->struct_size = SP_DEVICE_STRUCT_SIZE;
    params->device->ordinal = params->ordinal;
    params->device->hardware_name = device->hardware;
    params->device->device_vendor = device->vendor;
    params->device->pci_bus_id = device->pci_address;
    status_set(status, GANTRY_OK, NULL);
}

static void destroy_device(const SP_Platform *platform, SP_Device *device) {
    (void)platform;
    (void)device;
}

static int32_t get_numa_node(const SP_Device *device) {
    (void)device;
    return 0; /* -1 makes TensorFlow log a guess for every device */
}

static void create_device_functions(const SP_Platform *platform, SE_CreateDeviceFnsParams *params,
                                    TF_Status *status) {
    (void)platform;
    params->device_fns->struct_size = SP_DEVICE_FNS_STRUCT_SIZE;
    params->device_fns->get_numa_node = get_numa_node;
    status_set(status, GANTRY_OK, NULL);
}

static void destroy_device_functions(const SP_Platform *platform, SP_DeviceFns *functions) {
    (void)platform;
    (void)functions;
}

static void create_executor(const SP_Platform *platform, SE_CreateStreamExecutorParams *params,
                            TF_Status *status) {
    (void)platform;
    stream_fill_executor(params->stream_executor);
    status_set(status, GANTRY_OK, NULL);
}

static void destroy_executor(const SP_Platform *platform, SP_StreamExecutor *executor) {
    (void)platform;
    (void)executor;
}

static void create_timer_functions(const SP_Platform *platform, SP_TimerFns *functions,
                                   TF_Status *status) {
    (void)platform;
    stream_fill_timer(functions);
    status_set(status, GANTRY_OK, NULL);
}

static void destroy_timer_functions(const SP_Platform *platform, SP_TimerFns *functions) {
    (void)platform;
    (void)functions;
}

static void destroy_platform(SP_Platform *platform) { (void)platform; }

static void destroy_platform_functions(SP_PlatformFns *functions) { (void)functions; }

static void fill_functions(SP_PlatformFns *functions) {
    functions->struct_size = SP_PLATFORM_FNS_STRUCT_SIZE;
    functions->get_device_count = get_count;
    functions->create_device = create_device;
    functions->destroy_device = destroy_device;
    functions->create_device_fns = create_device_functions;
    functions->destroy_device_fns = destroy_device_functions;
    functions->create_stream_executor = create_executor;
    functions->destroy_stream_executor = destroy_executor;
    functions->create_timer_fns = create_timer_functions;
    functions->destroy_timer_fns = destroy_timer_functions;
}

/* ---- loads: TensorFlow loads one file again for each folder that has it ---- */

/* The most loads with a name of their own. */
#define PLUGIN_LOADS 64

static uint32_t load_count;

/* Whether this load offers its devices: only the first load does. */
static bool is_offered(void) { return load_count == 1 && !admission_refusal()[0]; }

/* A name and type that no other plug-in and no other load has, of the letters that TensorFlow
 * accepts, because TensorFlow ends the process when two have one type. It keeps the pointer, so the
 * text must live as long as the process. */
static const char *unique_name(void) {
    static char names[PLUGIN_LOADS][sizeof "GANTRY_OFF_AAAAAAAAAAAAAAAA"];
    char *name = names[load_count < PLUGIN_LOADS ? load_count : PLUGIN_LOADS - 1];
    const uintptr_t address = (uintptr_t)name;
    strcpy(name, "GANTRY_OFF_AAAAAAAAAAAAAAAA");
    for (size_t i = 0; i < 16; ++i) {
        name[sizeof "GANTRY_OFF_" - 1 + i] = (char)('A' + (address >> 4 * i & 15));
    }
    return name;
}

static void count_load(void) {
    ++load_count;
    if (load_count != 2 || admission_refusal()[0]) return;
    log_line(GANTRY_LEVEL_WARNING,
             "TensorFlow loads gantry-tensorflow twice, and the first one serves. Unset "
             "TF_PLUGGABLE_DEVICE_LIBRARY_PATH, or remove one of the files in the folders "
             "tensorflow-plugins.");
}

PLUGIN_EXPORT void SE_InitPlugin(SE_PlatformRegistrationParams *params, TF_Status *status) {
    if (params->major_version != SE_MAJOR) {
        status_set(status, GANTRY_FAILED_PRECONDITION,
                   "gantry-tensorflow knows version 0 of TensorFlow's StreamExecutor API, "
                   "and this TensorFlow has another one; install a TensorFlow of " ADMISSION_FIRST
                   " to " ADMISSION_LAST ", or a newer gantry-tensorflow.");
        return;
    }
    count_load();
    const bool is_first = is_offered();
    /* Gantry's own allocator serves every tensor, so TensorFlow's BFC must be off. */
    params->platform->struct_size = SP_PLATFORM_STRUCT_SIZE;
    params->platform->name = is_first ? "GANTRY" : unique_name();
    params->platform->type = is_first ? REGISTER_DEVICE_TYPE : unique_name();
    params->platform->supports_unified_memory = 0;
    params->platform->use_bfc_allocator = 0;
    params->platform->force_memory_growth = 1;
    fill_functions(params->platform_fns);
    params->destroy_platform = destroy_platform;
    params->destroy_platform_fns = destroy_platform_functions;
    status_set(status, GANTRY_OK, NULL);
}

PLUGIN_EXPORT void TF_InitGraph(TP_OptimizerRegistrationParams *params, TF_Status *status) {
    graph_fill(params, is_offered() ? REGISTER_DEVICE_TYPE : unique_name());
    status_set(status, GANTRY_OK, NULL);
}

/* TensorFlow's declaration is no prototype. */
PLUGIN_EXPORT void TF_InitKernel(void);

void TF_InitKernel(void) {
    if (!is_offered()) return;
    register_all(report_wrap);
    python_hook_attach();
}
