/* SPDX-License-Identifier: Apache-2.0 */
/* The devices that TensorFlow sees: Gantry's logical devices of type GPU, in their order.
 *
 * TensorFlow's C API gives no pointer of ours to the functions that make kernels. One plug-in
 * therefore has one state, which lives as long as the process. Importing TensorFlow creates the
 * runtime, because it counts devices; contexts, and the memory that they take, come with the first
 * op.
 *
 * Owner: the process; nothing is released. Threads: thread-safe. */
#ifndef GANTRY_TENSORFLOW_DEVICE_H
#define GANTRY_TENSORFLOW_DEVICE_H

#include <gantry/gantry.h>

#include "memory.h"

/* The most devices that the plug-in presents. */
#define DEVICE_MOST 64

/* A device, as TensorFlow prints it. It is constant after device_open succeeded. */
typedef struct device_t {
    char name[24];           /* "/device:GPU:0", which its scopes request */
    char hardware[160];      /* "NVIDIA H200 (cuda:0)" */
    const char *card;        /* "/physical_device:GPU:0"; the parts of a split card have the same */
    const char *vendor;      /* as the driver names it */
    const char *pci_address; /* "0000:65:00.0"; "<none>" */
    const char *capability;  /* compute capability, "9.0"; "" where there is none */
    uint64_t total_bytes;    /* all memory of the card */
} device_t;

/* Creates the runtime and lists the devices, once. Later calls return the first one's status. */
gantry_status_t device_open(void);
/* The number of devices; 0 before device_open, and after it failed. */
uint32_t device_count(void);
/* The device with this number, which must be below device_count. */
const device_t *device_at(uint32_t ordinal);
/* The device as Gantry's scopes take it. NULL: Gantry could not open it, and gantry_last_message
 * says why. The first call opens the cards. */
const gantry_logical_device_t *device_logical(uint32_t ordinal);
/* Gantry's CPU, for what is on the host; NULL as in device_logical. */
const gantry_logical_device_t *device_host(void);
/* The runtime; NULL before device_open, and after it failed. */
gantry_runtime_t *device_runtime(void);
/* The memory of all devices; NULL as in device_runtime. */
memory_t *device_memory(void);
/* Whether this process is a child that was forked after device_open. Drivers, threads and locks do
 * not survive fork, so nothing of ours may be called in it. */
bool device_is_forked(void);
/* The error text for such a process. */
const char *device_fork_text(void);

#endif
