/* SPDX-License-Identifier: Apache-2.0 */
/* Devices and sessions. Each of Gantry's GPUs is a device that the provider describes itself,
 * because ONNX Runtime does not list all cards; its metadata have Gantry's name for it.
 *
 * The end of a registration releases a factory while sessions live, each of which calls it once
 * more, and SessionOptions that hold a device of it may call it at any time, with metadata that
 * are freed. So what a factory has is released with its last session, and the factory itself, some
 * hundred bytes for each registration, is kept until the process ends and refuses sessions. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "provider.h"

#define DEVICE_KEY "gantry_device"

/* The provider in a process. */
typedef struct provider_factory_t {
    ort_factory_t base; /* must be first */
    const ort_api_t *api;
    ort_provider_t *provider;
    atomic_size_t uses; /* the registration and the sessions */
    atomic_bool is_over;
    struct provider_factory_t *next;               /* of those that are over */
    ort_hardware_t *hardware[ORT_MOST_DEVICES];    /* those that it described */
    ort_memory_info_t *memories[ORT_MOST_DEVICES]; /* theirs */
    size_t hardware_count;
} provider_factory_t;

static const char *factory_name(const ort_factory_t *self) {
    (void)self;
    return ORT_PROVIDER_NAME;
}

static const char *factory_vendor(const ort_factory_t *self) {
    (void)self;
    return "Gantry";
}

static uint32_t factory_vendor_id(const ort_factory_t *self) {
    (void)self;
    return ORT_VENDOR_ID;
}

static const char *factory_version(const ort_factory_t *self) {
    (void)self;
    return gantry_version();
}

/* ---- devices ---- */

/* Describes a card and its memory, which sessions use until they end. */
static ort_status_t *describe_card(provider_factory_t *factory, const ort_pairs_t *metadata,
                                   ort_hardware_t **out_hardware) {
    const ort_provider_t *provider = factory->provider;
    const size_t number = factory->hardware_count;
    ORT_TRY(provider->ep_api->CreateHardwareDevice(ORT_DEVICE_GPU, ORT_VENDOR_ID, (uint32_t)number,
                                                   "Gantry", metadata, out_hardware));
    factory->hardware[factory->hardware_count++] = *out_hardware;
    return ort_memory_info_create(provider, (uint32_t)number, &factory->memories[number]);
}

/* Gives a device the memory of the card that was described last. */
static ort_status_t *add_card_memory(const provider_factory_t *factory, ort_ep_device_t *device) {
    const ort_ep_api_t *api = factory->provider->ep_api;
    ort_status_t *failed =
        api->EpDevice_AddAllocatorInfo(device, factory->memories[factory->hardware_count - 1]);
    if (failed) api->ReleaseEpDevice(device);
    return failed;
}

static ort_status_t *make_ort_device(provider_factory_t *factory, const ort_hardware_t *hardware,
                                     const char *name, const char *hardware_name,
                                     ort_ep_device_t **out_device) {
    const ort_provider_t *provider = factory->provider;
    ort_hardware_t *made = NULL;
    ort_pairs_t *metadata = NULL;
    ort_status_t *failed = NULL;
    provider->api->CreateKeyValuePairs(&metadata);
    provider->api->AddKeyValuePair(metadata, DEVICE_KEY, name);
    provider->api->AddKeyValuePair(metadata, "name", hardware_name);
    if (!hardware) failed = describe_card(factory, metadata, &made);
    if (!failed)
        failed = provider->ep_api->CreateEpDevice(&factory->base, hardware ? hardware : made,
                                                  metadata, NULL, out_device);
    if (!failed && made) failed = add_card_memory(factory, *out_device);
    provider->api->ReleaseKeyValuePairs(metadata);
    return failed;
}

static ort_status_t *add_gpus(provider_factory_t *factory, ort_ep_device_t **out_devices,
                              size_t room, size_t *count) {
    const gantry_logical_device_t *devices[ORT_MOST_DEVICES];
    size_t found = 0;
    char name[32];
    const gantry_status_t status = gantry_list_logical_devices(factory->provider->runtime, "GPU",
                                                               ORT_MOST_DEVICES, devices, &found);
    if (status != GANTRY_OK) return ort_fail_as(factory->provider, status, gantry_last_message());
    for (size_t i = 0; i < found && i < ORT_MOST_DEVICES && *count < room; ++i) {
        gantry_device_details_t details = {.struct_size = sizeof details};
        if (factory->hardware_count == ORT_MOST_DEVICES) break;
        (void)snprintf(name, sizeof name, "/GPU:%zu", i);
        (void)gantry_get_device_details(factory->provider->runtime,
                                        gantry_logical_device_physical(devices[i]), &details);
        ORT_TRY(make_ort_device(factory, NULL, name,
                                details.hardware_name ? details.hardware_name : "",
                                &out_devices[*count]));
        ++*count;
    }
    return NULL;
}

static ort_status_t *factory_devices(ort_factory_t *self, const ort_hardware_t *const *hardware,
                                     size_t hardware_count, ort_ep_device_t **out_devices,
                                     size_t room, size_t *out_count) {
    provider_factory_t *factory = (provider_factory_t *)self;
    const ort_provider_t *provider = factory->provider;
    *out_count = 0;
    ORT_TRY(add_gpus(factory, out_devices, room, out_count));
    for (size_t i = 0; i < hardware_count && provider->offers_cpu && *out_count < room; ++i) {
        if (provider->api->HardwareDevice_Type(hardware[i]) != ORT_DEVICE_CPU) continue;
        ORT_TRY(make_ort_device(factory, hardware[i], "/CPU:0", "CPU", &out_devices[*out_count]));
        ++*out_count;
        break;
    }
    return NULL;
}

/* ---- sessions ---- */

static ort_status_t *refuse_ended(const provider_factory_t *factory) {
    return factory->api->CreateStatus(
        ORT_INVALID_ARGUMENT,
        "Gantry: the registration that this device is from has ended; "
        "devices of a new registration are accepted");
}

static void drop_factory(provider_factory_t *factory) {
    if (atomic_fetch_sub(&factory->uses, 1) != 1) return;
    for (size_t i = 0; i < factory->hardware_count; ++i) {
        factory->provider->ep_api->ReleaseHardwareDevice(factory->hardware[i]);
        if (factory->memories[i]) factory->api->ReleaseMemoryInfo(factory->memories[i]);
    }
    ort_provider_release(factory->provider);
}

static ort_status_t *factory_begin(ort_factory_t *self, const ort_hardware_t *const *hardware,
                                   const ort_pairs_t *const *metadata, size_t count,
                                   const ort_session_options_t *options, const ort_logger_t *logger,
                                   ort_ep_t **out_ep) {
    provider_factory_t *factory = (provider_factory_t *)self;
    (void)hardware;
    *out_ep = NULL;
    if (atomic_load(&factory->is_over)) return refuse_ended(factory);
    const char *device =
        count > 0 && metadata[0] ? factory->api->GetKeyValue(metadata[0], DEVICE_KEY) : NULL;
    ORT_TRY(ort_ep_create(factory->provider, device ? device : "/GPU:0", options, logger, out_ep));
    (void)atomic_fetch_add(&factory->uses, 1);
    return NULL;
}

static void factory_end(ort_factory_t *self, ort_ep_t *ep) {
    ort_ep_release(ep);
    drop_factory((provider_factory_t *)self);
}

/* ---- memory ---- */

static ort_status_t *factory_allocator(ort_factory_t *self, const ort_memory_info_t *memory,
                                       const ort_pairs_t *options,
                                       ort_allocator_t **out_allocator) {
    const provider_factory_t *factory = (const provider_factory_t *)self;
    (void)options;
    *out_allocator = NULL;
    if (atomic_load(&factory->is_over)) return refuse_ended(factory);
    return ort_allocator_create(factory->provider, NULL, memory, out_allocator);
}

static void factory_forget_allocator(ort_factory_t *self, ort_allocator_t *allocator) {
    (void)self;
    ort_allocator_release(allocator);
}

static ort_status_t *factory_transfer(ort_factory_t *self, ort_transfer_t **out_transfer) {
    provider_factory_t *factory = (provider_factory_t *)self;
    return ort_transfer_create(factory->provider, out_transfer);
}

static bool factory_has_streams(const ort_factory_t *self) {
    (void)self;
    return true;
}

static ort_status_t *factory_stream(ort_factory_t *self, const ort_memory_device_t *memory,
                                    const ort_pairs_t *options, ort_stream_impl_t **out_stream) {
    const provider_factory_t *factory = (const provider_factory_t *)self;
    const gantry_logical_device_t *device;
    (void)options;
    *out_stream = NULL;
    if (atomic_load(&factory->is_over)) return refuse_ended(factory);
    ORT_TRY(ort_find_gpu(factory->provider, memory, &device));
    ORT_TRY(ort_check_device(factory->provider, device));
    return ort_stream_create(factory->provider, device, false, out_stream);
}

ort_factory_t *ort_factory_create(ort_provider_t *provider) {
    provider_factory_t *factory = calloc(1, sizeof *factory);
    if (!factory) return NULL;
    factory->base = (ort_factory_t){.version = ORT_VERSION,
                                    .GetName = factory_name,
                                    .GetVendor = factory_vendor,
                                    .GetSupportedDevices = factory_devices,
                                    .CreateEp = factory_begin,
                                    .ReleaseEp = factory_end,
                                    .GetVendorId = factory_vendor_id,
                                    .GetVersion = factory_version,
                                    .CreateAllocator = factory_allocator,
                                    .ReleaseAllocator = factory_forget_allocator,
                                    .CreateDataTransfer = factory_transfer,
                                    .IsStreamAware = factory_has_streams,
                                    .CreateSyncStreamForDevice = factory_stream};
    factory->api = provider->api;
    factory->provider = ort_provider_retain(provider);
    atomic_init(&factory->uses, 1);
    atomic_init(&factory->is_over, false);
    return &factory->base;
}

/* Factories that are over, so that they stay reachable. */
static _Atomic(provider_factory_t *) ended_factories;

void ort_factory_release(ort_factory_t *base) {
    provider_factory_t *factory = (provider_factory_t *)base;
    if (!factory) return;
    atomic_store(&factory->is_over, true);
    factory->next = atomic_load(&ended_factories);
    while (!atomic_compare_exchange_weak(&ended_factories, &factory->next, factory)) continue;
    drop_factory(factory);
}
