/* SPDX-License-Identifier: Apache-2.0 */
#include "driver/driver_record.h"

#include <stdio.h>
#include <string.h>

void gantry__record_set_pci(gantry__record_texts_t *texts, unsigned domain, unsigned bus,
                            unsigned device, unsigned function) {
    (void)snprintf(texts->pci_address, sizeof texts->pci_address, "%04x:%02x:%02x.%x", domain,
                   bus & 0xffu, device & 0x1fu, function & 0x7u);
}

void gantry__record_set_uuid(gantry__record_texts_t *texts, const unsigned char bytes[16]) {
    const unsigned char *b = bytes;
    (void)snprintf(texts->uuid, sizeof texts->uuid,
                   "GPU-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x", b[0],
                   b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13],
                   b[14], b[15]);
}

static uint64_t add_to_hash(uint64_t hash, const char *text) {
    do {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    } while (*text++ != '\0');
    return hash;
}

uint64_t gantry__record_hash(const char *const *texts, size_t count) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < count; ++i) hash = add_to_hash(hash, texts[i]);
    return hash;
}

void gantry__record_set_hash(gantry__record_texts_t *texts, const char *const *parts,
                             size_t count) {
    (void)snprintf(texts->build_hash, sizeof texts->build_hash, "%016llx",
                   (unsigned long long)gantry__record_hash(parts, count));
}

void gantry__record_point(gantry_device_info_t *info, const gantry__record_texts_t *texts) {
    info->struct_size = sizeof *info;
    info->pci_address = texts->pci_address;
    info->uuid = texts->uuid;
    info->compute_capability = texts->compute_capability;
    info->build_hash = texts->build_hash;
}

/* A newer caller has more members, which stay unchanged. */
int32_t gantry__record_info(const gantry_device_info_t *own, gantry_device_info_t *out_info) {
    uint32_t bytes =
        out_info->struct_size < sizeof *own ? out_info->struct_size : (uint32_t)sizeof *own;
    memcpy(out_info, own, bytes);
    out_info->struct_size = bytes;
    return GANTRY_OK;
}

int32_t gantry__record_check_index(const gantry_host_t *host, const gantry__native_errors_t *errors,
                                   uint32_t index, uint32_t count) {
    if (index < count) return GANTRY_OK;
    return gantry__native_fail(host, errors, GANTRY_INVALID_ARGUMENT, 0,
                               "%s device %u does not exist; there are %u, from 0", errors->domain,
                               index, count);
}
