/* SPDX-License-Identifier: Apache-2.0 */
/* The record of a device. Every driver's backend writes these texts in the same form, so that the
 * core finds the same card in the lists of two drivers.
 *
 * Owner: a backend's record, in which an info points to the texts, and which must therefore not
 * move without gantry__record_point. Threads: externally synchronised. */
#ifndef GANTRY_DRIVER_DRIVER_RECORD_H
#define GANTRY_DRIVER_DRIVER_RECORD_H

#include "driver/native_error.h"

typedef struct gantry__record_texts_t {
    char pci_address[24]; /* such as "0000:65:00.0", "12345678:65:00.0" */
    char uuid[48];        /* "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6" */
    char compute_capability[16];
    char build_hash[20];
} gantry__record_texts_t;

void gantry__record_set_pci(gantry__record_texts_t *texts, unsigned domain, unsigned bus,
                            unsigned device, unsigned function);
void gantry__record_set_uuid(gantry__record_texts_t *texts, const unsigned char bytes[16]);
/* FNV-1a of 64 bits over all texts with their terminators, so that "ab", "c" differs from
 * "a", "bc". */
uint64_t gantry__record_hash(const char *const *texts, size_t count);
/* Sets the hash of all parts that a binary depends on; their order counts. */
void gantry__record_set_hash(gantry__record_texts_t *texts, const char *const *parts, size_t count);
/* Points info to the texts and sets its struct_size. It must be called again after the record
 * moved. */
void gantry__record_point(gantry_device_info_t *info, const gantry__record_texts_t *texts);

/* The slot device_info: copies as much as the caller's struct holds. */
int32_t gantry__record_info(const gantry_device_info_t *own, gantry_device_info_t *out_info);
/* Returns InvalidArgument if there is no device of that index. */
int32_t gantry__record_check_index(const gantry_host_t *host, const gantry__native_errors_t *errors,
                                   uint32_t index, uint32_t count);

#endif
