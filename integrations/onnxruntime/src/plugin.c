/* SPDX-License-Identifier: Apache-2.0 */
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

#define EXPORTED __attribute__((visibility("default")))

/* With its references. */
typedef struct counted_provider_t {
    ort_provider_t provider;
    atomic_size_t uses;
} counted_provider_t;

ort_provider_t *ort_provider_retain(ort_provider_t *provider) {
    (void)atomic_fetch_add(&((counted_provider_t *)provider)->uses, 1);
    return provider;
}

void ort_provider_release(ort_provider_t *provider) {
    counted_provider_t *counted = (counted_provider_t *)provider;
    if (atomic_fetch_sub(&counted->uses, 1) != 1) return;
    gantry_runtime_release(provider->runtime);
    (void)pthread_rwlock_destroy(&provider->work);
    free(counted);
}

ort_status_t *ort_fail(const ort_provider_t *provider, int code, const char *format, ...) {
    char text[ORT_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return provider->api->CreateStatus(code, text);
}

ort_status_t *ort_out_of_memory(const ort_provider_t *provider) {
    return provider->api->CreateStatus(ORT_FAIL, "Gantry: out of host memory");
}

ort_status_t *ort_fail_as(const ort_provider_t *provider, gantry_status_t status,
                          const char *text) {
    const int code = status == GANTRY_INVALID_ARGUMENT || status == GANTRY_NOT_FOUND
                         ? ORT_INVALID_ARGUMENT
                     : status == GANTRY_UNIMPLEMENTED ? ORT_NOT_IMPLEMENTED
                                                      : ORT_RUNTIME_EXCEPTION;
    return ort_fail(provider, code, "Gantry: %s: %s", gantry_status_name(status), text);
}

ort_status_t *ort_find_device(const ort_provider_t *provider, const char *name,
                              const gantry_logical_device_t **out_device) {
    const gantry_status_t status = gantry_find_logical_device(provider->runtime, name, out_device);
    return status == GANTRY_OK ? NULL : ort_fail_as(provider, status, gantry_last_message());
}

ort_status_t *ort_find_gpu(const ort_provider_t *provider, const ort_memory_device_t *memory,
                           const gantry_logical_device_t **out_device) {
    char name[32];
    (void)snprintf(name, sizeof name, "/GPU:%u",
                   provider->ep_api->MemoryDevice_GetDeviceId(memory));
    return ort_find_device(provider, name, out_device);
}

ort_status_t *ort_check_device(const ort_provider_t *provider,
                               const gantry_logical_device_t *device) {
    gantry_native_t native = {.struct_size = sizeof native};
    const gantry_status_t status = gantry_device_get_native(device, &native);
    return status == GANTRY_UNAVAILABLE ? ort_fail_as(provider, status, gantry_last_message())
                                        : NULL;
}

ort_status_t *ort_provider_create(const ort_api_t *api, uint32_t release, bool offers_cpu,
                                  const char *const *settings, ort_provider_t **out_provider) {
    const gantry_runtime_options_t options = {.struct_size = sizeof options, .extra = settings};
    counted_provider_t *counted = calloc(1, sizeof *counted);
    if (!counted) return api->CreateStatus(ORT_FAIL, "Gantry: out of host memory");
    counted->provider = (ort_provider_t){
        .api = api, .ep_api = api->GetEpApi(), .release = release, .offers_cpu = offers_cpu};
    atomic_init(&counted->uses, 1);
    (void)pthread_rwlock_init(&counted->provider.work, NULL); /* which cannot fail on Linux */
    *out_provider = &counted->provider;
    const gantry_status_t status = gantry_runtime_create(&options, &counted->provider.runtime);
    if (status == GANTRY_OK) return NULL;
    ort_status_t *failed = ort_fail_as(&counted->provider, status, gantry_last_message());
    ort_provider_release(&counted->provider);
    return failed;
}

/* An ONNX Runtime that is too old makes the status by its own table. */
static ort_status_t *refuse_version(const ort_api_base_t *base) {
    char text[256];
    const ort_api_t *old = NULL;
    for (uint32_t version = ORT_VERSION - 1; version > 0 && !old; --version)
        old = base->GetApi(version);
    (void)snprintf(text, sizeof text,
                   "Gantry's provider needs ONNX Runtime 1.%d or newer; this is %s", ORT_VERSION,
                   base->GetVersionString());
    return old ? old->CreateStatus(ORT_NOT_IMPLEMENTED, text) : NULL;
}

/* GetApi prints a line for a version that it lacks, so the release is read from "1.28.0". */
static uint32_t release_of(const ort_api_base_t *base) {
    unsigned major, minor;
    const int read = sscanf(base->GetVersionString(), "%u.%u", &major, &minor);
    if (read != 2) return ORT_VERSION;
    return major > 1 ? UINT32_MAX : minor;
}

/* The CPU is offered only on request: selection by a policy would prefer it to ONNX
 * Runtime's own provider, which nobody wants on a machine without a card. */
static bool wants_cpu(const char *name) {
    const char *variable = getenv("GANTRY_ORT_CPU");
    const size_t size = strlen(name);
    return (variable && strcmp(variable, "1") == 0) ||
           (size >= 4 && strcmp(name + size - 4, ".cpu") == 0);
}

EXPORTED ort_status_t *CreateEpFactories(const char *name, const ort_api_base_t *base,
                                         const ort_logger_t *logger, ort_factory_t **out_factories,
                                         size_t room, size_t *out_count);
EXPORTED ort_status_t *CreateEpFactories(const char *name, const ort_api_base_t *base,
                                         const ort_logger_t *logger, ort_factory_t **out_factories,
                                         size_t room, size_t *out_count) {
    const ort_api_t *api = base->GetApi(ORT_VERSION);
    (void)logger;
    *out_count = 0;
    if (!api) return refuse_version(base);
    if (room < 1)
        return api->CreateStatus(ORT_INVALID_ARGUMENT, "Gantry: there is no room for a factory");
    ort_provider_t *provider;
    ORT_TRY(ort_provider_create(api, release_of(base), wants_cpu(name), NULL, &provider));
    out_factories[0] = ort_factory_create(provider);
    ort_provider_release(provider);
    if (!out_factories[0]) return api->CreateStatus(ORT_FAIL, "Gantry: out of host memory");
    *out_count = 1;
    return NULL;
}

EXPORTED ort_status_t *ReleaseEpFactory(ort_factory_t *factory);
EXPORTED ort_status_t *ReleaseEpFactory(ort_factory_t *factory) {
    ort_factory_release(factory);
    return NULL;
}
