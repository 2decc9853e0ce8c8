/* The module's one exported symbol, and the instance. */
#include "cuda/cuda_backend.h"

#include <stdio.h>
#include <string.h>

/* ---- options ---- */

/* One of two words; the default is the first. */
static int32_t read_choice(const gantry_host_t *host, const char *name, const char *first, const char *second,
                           int *out_is_second) {
    const char *text = gantry__cuda_option(host, name);

    *out_is_second = text != NULL && strcmp(text, second) == 0;
    if (text == NULL || *out_is_second || strcmp(text, first) == 0) {
        return GANTRY_K_OK;
    }
    return gantry__cuda_fail(host, GANTRY_K_INVALID_ARGUMENT, 0, "%s is \"%.40s\"; %s and %s are accepted", name, text,
                             first, second);
}

static int32_t read_precision(const gantry_host_t *host, unsigned int *out_compute) {
    static const struct {
        const char *word;
        unsigned int compute;
    } rows[] = {{"float32", GANTRY__CUBLAS_COMPUTE_32F},
                {"tf32", GANTRY__CUBLAS_COMPUTE_32F_FAST_TF32},
                {"bfloat16", GANTRY__CUBLAS_COMPUTE_32F_FAST_16BF},
                {"float16", GANTRY__CUBLAS_COMPUTE_32F_FAST_16F}};
    const char *text = gantry__cuda_option(host, "GANTRY_CUDA_MATMUL_PRECISION");

    *out_compute = rows[0].compute;
    if (text == NULL) {
        return GANTRY_K_OK;
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(text, rows[i].word) == 0) {
            *out_compute = rows[i].compute;
            return GANTRY_K_OK;
        }
    }
    return gantry__cuda_fail(
        host, GANTRY_K_INVALID_ARGUMENT, 0,
        "GANTRY_CUDA_MATMUL_PRECISION is \"%.40s\"; float32, tf32, bfloat16 and float16 are accepted", text);
}

static int32_t read_options(gantry_backend_instance_t *instance) {
    int32_t status =
        read_choice(instance->host, "GANTRY_CUDA_CONTEXT", "primary", "private", &instance->has_private_contexts);

    return status != GANTRY_K_OK ? status : read_precision(instance->host, &instance->float32_products);
}

/* ---- instance ---- */

static void close_instance(gantry_backend_instance_t *instance) {
    gantry__cuda_devices_forget(instance);
    gantry__nvml_close(&instance->nvml);
    pthread_mutex_destroy(&instance->lock);
    gantry__cuda_free(instance->host, instance, sizeof *instance);
}

static void open_nvrtc(gantry_backend_instance_t *instance) {
    gantry__nvrtc_open(instance->host, instance->cu.version, &instance->nvrtc);
    if (!instance->nvrtc.is_usable) {
        gantry__cuda_log(instance->host, GANTRY_LOG_WARNING, "CUDA devices run no programs: %s",
                         instance->nvrtc.reason);
    }
}

/* NVRTC comes last but one: it takes time, and without a driver it is of no use. */
static int32_t fill_instance(gantry_backend_instance_t *instance) {
    int32_t status = read_options(instance);

    if (status == GANTRY_K_OK) {
        status = gantry__cuda_symbols_open(instance->host, &instance->cu);
    }
    if (status != GANTRY_K_OK) {
        return status;
    }
    snprintf(instance->version, sizeof instance->version, "CUDA %d.%d", instance->cu.version / 1000,
             instance->cu.version % 1000 / 10);
    open_nvrtc(instance);
    return gantry__cuda_devices_find(instance);
}

static int32_t open_instance(const gantry_host_t *host, gantry_backend_instance_t **out_instance) {
    gantry_backend_instance_t *instance = gantry__cuda_alloc(host, sizeof *instance);
    int32_t status;

    *out_instance = NULL;
    if (instance == NULL) {
        return GANTRY_K_RESOURCE_EXHAUSTED;
    }
    instance->host = host;
    if (pthread_mutex_init(&instance->lock, NULL) != 0) {
        gantry__cuda_free(host, instance, sizeof *instance);
        return gantry__cuda_fail(host, GANTRY_K_RESOURCE_EXHAUSTED, 0, "no mutex for the CUDA backend");
    }
    status = fill_instance(instance);
    if (status != GANTRY_K_OK) {
        close_instance(instance);
        return status;
    }
    *out_instance = instance;
    return GANTRY_K_OK;
}

static uint32_t device_count(gantry_backend_instance_t *instance) { return instance->record_count; }

/* The same list for every device: supports() of each kernel looks at the device. */
static uint32_t list_kernels(gantry_backend_instance_t *instance, uint32_t index,
                             const gantry_kernel_def_t *const **out_kernels) {
    static const gantry_kernel_def_t *const kernels[] = {&gantry__cublas_kernels[0], &gantry__cublas_kernels[1]};

    if (index >= instance->record_count) {
        return 0;
    }
    *out_kernels = kernels;
    return sizeof kernels / sizeof kernels[0];
}

/* ---- libraries ---- */

const gantry__nvml_t *gantry__cuda_nvml(gantry_backend_instance_t *instance) {
    pthread_mutex_lock(&instance->lock);
    if (!instance->nvml.is_tried) {
        gantry__nvml_open(instance->host, &instance->nvml);
    }
    pthread_mutex_unlock(&instance->lock);
    return &instance->nvml;
}

/* Writes at *at, which moves on, and never beyond the end. */
static void add(gantry_backend_instance_t *instance, size_t *at, const char *name, int is_usable, const char *found,
                const char *reason) {
    int length = snprintf(instance->libraries + *at, sizeof instance->libraries - *at,
                          is_usable ? ", %s%s found" : ", %s missing (%s)", name, is_usable ? found : reason);

    *at += length < 0 ? 0 : (size_t)length;
    *at = *at < sizeof instance->libraries ? *at : sizeof instance->libraries - 1;
}

/* How busy each card is now, as far as NVML tells. */
static void add_use(gantry_backend_instance_t *instance, size_t at) {
    for (uint32_t i = 0; i < instance->record_count; i++) {
        const gantry__cuda_record_t *record = &instance->records[i];
        gantry__nvml_utilization_t use;
        size_t room = sizeof instance->libraries - at;
        int length = 0;

        if (gantry__nvml_utilization(&instance->nvml, record->uuid, record->pci_address, &use)) {
            length = snprintf(instance->libraries + at, room, "; %s is %u %% busy", record->uuid, use.gpu);
        }
        if (length < 0 || (size_t)length >= room) {
            return;
        }
        at += (size_t)length;
    }
}

static void write_line(gantry_backend_instance_t *instance) {
    const gantry__nvml_t *nvml = &instance->nvml;
    size_t at;
    int length = snprintf(instance->libraries, sizeof instance->libraries, "%.200s (%s) found", instance->cu.name,
                          instance->version);

    at = length < 0 ? 0 : (size_t)length;
    add(instance, &at, instance->nvrtc.is_usable ? "" : "NVRTC", instance->nvrtc.is_usable, instance->nvrtc.name,
        instance->nvrtc.reason);
    add(instance, &at, instance->cublas.is_usable ? "" : "cuBLASLt", instance->cublas.is_usable, instance->cublas.name,
        instance->cublas.reason);
    add(instance, &at, nvml->is_usable ? "" : "NVML", nvml->is_usable, nvml->name, nvml->reason);
    if (nvml->is_usable) {
        add_use(instance, at);
    }
}

static const char *list_libraries(gantry_backend_instance_t *instance) {
    char reason[8];

    gantry__cublas_load(instance, reason, sizeof reason);
    gantry__cuda_nvml(instance);
    pthread_mutex_lock(&instance->lock);
    if (instance->libraries[0] == '\0') {
        write_line(instance);
    }
    pthread_mutex_unlock(&instance->lock);
    return instance->libraries;
}

static const gantry_backend_t table = {
    .struct_size = sizeof table,
    .abi_version = 1,
    .name = "cuda",
    .description = "NVIDIA cards through CUDA 12 or newer",
    .rank = 20,
    .open = open_instance,
    .close = close_instance,
    .device_count = device_count,
    .device_info = gantry__cuda_device_info,
    .device_open = gantry__cuda_device_open,
    .device_close = gantry__cuda_device_close,
    .kernels = list_kernels,
    .libraries = list_libraries,
    .memory = &gantry__cuda_memory_ops,
    .stream = &gantry__cuda_stream_ops,
    .event = &gantry__cuda_event_ops,
    .transfer = &gantry__cuda_transfer_ops,
    .program = &gantry__cuda_program_ops,
    .get_extension = NULL,
};

#if defined(GANTRY_BACKEND_STATIC)
#define QUERY gantry_backend_query_cuda
#else
#define QUERY gantry_backend_query
#endif

GANTRY_BACKEND_EXPORT int32_t QUERY(uint32_t max_abi, const gantry_backend_t **out_backend);

GANTRY_BACKEND_EXPORT int32_t QUERY(uint32_t max_abi, const gantry_backend_t **out_backend) {
    *out_backend = NULL;
    if (max_abi < table.abi_version) {
        return GANTRY_K_FAILED_PRECONDITION;
    }
    *out_backend = &table;
    return GANTRY_K_OK;
}
