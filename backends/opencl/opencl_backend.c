/* SPDX-License-Identifier: Apache-2.0 */
/* The module's one exported symbol, and the instance. */
#include "opencl/opencl_backend.h"

#include <stdio.h>
#include <string.h>

#include "opencl/matmul/opencl_clblast_parameters.h"
#include "opencl/matmul/opencl_matmul.h"
#include "opencl/pocl/opencl_loader.h"
#include "driver/backend_query.h"
#include "driver/library_open.h"
#include "driver/process_mark.h"

/* Drivers stay loaded when every instance is closed, so the mark must remain, too. */
static gantry__process_mark_t used;

/* ---- options ---- */

static int32_t read_matmul(const gantry_host_t *host, int32_t *out_choice) {
    static const char *const names[] = {
        [GANTRY__OPENCL_MATMUL_AUTO] = "auto",
        [GANTRY__OPENCL_MATMUL_CLBLAST] = "clblast",
        [GANTRY__OPENCL_MATMUL_CPU] = "cpu",
        [GANTRY__OPENCL_MATMUL_PORTABLE] = "portable",
        [GANTRY__OPENCL_MATMUL_TENSOR] = "tensor",
        [GANTRY__OPENCL_MATMUL_EMULATED] = "tensor_emulated",
    };

    return gantry__driver_choice(host, "GANTRY_OPENCL_MATMUL", names,
                                 sizeof names / sizeof names[0], out_choice);
}

/* ---- instance ---- */

/* Fails in a child of fork: PoCL's threads do not exist there, and work given to them never ends;
 * other drivers hold locks and files. */
static int32_t opencl_backend_check_process(const gantry_host_t *host) {
    return gantry__process_mark_check(&used, host, &GANTRY__DRIVER_ERRORS,
                                      ": drivers' threads and locks do not survive fork");
}

static int32_t opencl_backend_find_devices(gantry_backend_instance_t *instance) {
    GANTRY__TRY(opencl_backend_check_process(instance->host));
    GANTRY__TRY(gantry__opencl_library_bind(instance->host));
    GANTRY__TRY(gantry__opencl_symbols_open(instance->host, &instance->cl));
    gantry__opencl_drivers_t drivers;
    GANTRY__TRY(gantry__opencl_drivers_open(instance->host, &instance->notes, &drivers));
    gantry__process_mark_set(&used);
    int32_t status = gantry__opencl_loader_check(instance->host, &instance->cl, &drivers,
                                                 &instance->has_platforms);
    if (status == GANTRY_OK) status = gantry__opencl_devices_find(instance);
    if (!instance->has_platforms) gantry__process_mark_unset(&used);
    return status;
}

static void opencl_backend_close_instance(gantry_backend_instance_t *instance) {
    gantry__opencl_devices_forget(instance);
    gantry__clblast_rows_close(instance->host, instance->clblast_rows);
    gantry__mutex_deinit(&instance->compiler.lock);
    gantry__mutex_deinit(&instance->lock);
    gantry__host_free(instance->host, instance, sizeof *instance);
}

static int32_t opencl_backend_make_locks(const gantry_host_t *host,
                                         gantry_backend_instance_t *instance) {
    GANTRY__TRY(gantry__driver_mutex_init(host, &instance->lock, "the OpenCL backend"));
    int32_t status = gantry__driver_mutex_init(host, &instance->compiler.lock, "OpenCL's compiler");
    if (status != GANTRY_OK) gantry__mutex_deinit(&instance->lock);
    return status;
}

static int32_t opencl_backend_open_instance(const gantry_host_t *host,
                                            gantry_backend_instance_t **out_instance) {
    gantry_backend_instance_t *instance = gantry__driver_alloc(host, sizeof *instance);
    *out_instance = NULL;
    if (!instance) return GANTRY_RESOURCE_EXHAUSTED;
    instance->host = host;
    int32_t status = opencl_backend_make_locks(host, instance);
    if (status != GANTRY_OK) {
        gantry__host_free(host, instance, sizeof *instance);
        return status;
    }
    status = read_matmul(host, &instance->matmul);
    if (status == GANTRY_OK) status = gantry__clblast_rows_open(host, &instance->clblast_rows);
    if (status == GANTRY_OK) status = opencl_backend_find_devices(instance);
    if (status != GANTRY_OK) {
        opencl_backend_close_instance(instance);
        return status;
    }
    *out_instance = instance;
    return GANTRY_OK;
}

static uint32_t opencl_backend_device_count(gantry_backend_instance_t *instance) {
    return instance->record_count;
}

/* The list is the same for every device, because supports() of each kernel tests with what the
 * device was opened. */
static uint32_t opencl_backend_list_kernels(gantry_backend_instance_t *instance, uint32_t index,
                                            const gantry_kernel_def_t *const **out_kernels) {
    static const gantry_kernel_def_t *const kernels[] = {
        &gantry__opencl_clblast_kernels[0],    &gantry__opencl_clblast_kernels[1],
        &gantry__opencl_cpu_matmul_kernels[0], &gantry__opencl_cpu_matmul_kernels[1],
        &gantry__opencl_tensor_kernels[0],     &gantry__opencl_tensor_kernels[1],
        &gantry__opencl_cpu_conv_kernel,       &gantry__opencl_cpu_filter_kernel,
        &gantry__opencl_cpu_fused_kernel,      &gantry__opencl_cpu_fused_conv_kernel,
        &gantry__opencl_cpu_grouped_kernel,    &gantry__opencl_cpu_fused_grouped_kernel,
    };

    if (index >= instance->record_count) return 0;
    *out_kernels = kernels;
    return sizeof kernels / sizeof kernels[0];
}

/* Writes each line once, because callers keep it. The lock must be held. */
static const char *add_failure(gantry_backend_instance_t *instance) {
    const char *failure = instance->clblast.failure;
    char *line = instance->libraries_failed;
    if (failure[0] == '\0') return instance->libraries;
    if (line[0] == '\0')
        (void)snprintf(line, sizeof instance->libraries_failed,
                       "%s; CLBlast failed at a %s: the portable kernels compute such products",
                       instance->libraries, failure);
    return line;
}

bool gantry__opencl_has_clblast(gantry_backend_instance_t *instance, char *reason,
                                size_t reason_bytes) {
    gantry__opencl_clblast_t *clblast = &instance->clblast;
    gantry__mutex_lock(&instance->lock);
    bool is_usable = gantry__opencl_clblast_load(clblast, &instance->cl);
    gantry__mutex_unlock(&instance->lock);
    (void)snprintf(reason, reason_bytes, "%s", is_usable ? "" : clblast->reason);
    return is_usable;
}

static const char *opencl_backend_list_libraries(gantry_backend_instance_t *instance) {
    char reason[256];
    bool has_clblast = gantry__opencl_has_clblast(instance, reason, sizeof reason);
    const char *notes = instance->notes.text;
    const char *before = notes[0] != '\0' ? "; " : "";

    gantry__mutex_lock(&instance->lock);
    if (instance->libraries[0] == '\0') {
        char *line = instance->libraries;
        (void)snprintf(line, sizeof instance->libraries, "%.200s found", instance->cl.name);
        gantry__library_line_add(line, sizeof instance->libraries, ", ", "CLBlast",
                                 has_clblast ? instance->clblast.name : NULL, reason);
        size_t length = strlen(line);
        (void)snprintf(line + length, sizeof instance->libraries - length, "%s%s", before, notes);
    }
    const char *line = add_failure(instance);
    gantry__mutex_unlock(&instance->lock);
    return line;
}

static const gantry_backend_t table = {
    .struct_size = sizeof table,
    .abi_version = 2,
    .name = "opencl",
    .description = "OpenCL 1.2 devices of all platforms",
    .rank = 10,
    .open = opencl_backend_open_instance,
    .close = opencl_backend_close_instance,
    .device_count = opencl_backend_device_count,
    .device_info = gantry__opencl_device_info,
    .device_open = gantry__opencl_device_open,
    .device_close = gantry__opencl_device_close,
    .kernels = opencl_backend_list_kernels,
    .libraries = opencl_backend_list_libraries,
    .memory = &gantry__opencl_memory_ops,
    .stream = &gantry__opencl_stream_ops,
    .event = &gantry__opencl_event_ops,
    .transfer = &gantry__opencl_transfer_ops,
    .program = &gantry__opencl_program_ops,
    .interop = &gantry__opencl_interop_ops,
    .set_wait_policy = gantry__opencl_set_wait_policy,
    .graph = NULL, /* docs/functions.md, "Graphs of devices", says why */
    .driver_files = gantry__opencl_driver_files,
};

GANTRY__BACKEND_QUERY(opencl, table)
