/* SPDX-License-Identifier: Apache-2.0 */
/* A backend whose devices, memory, speed and failures are what a test sets: control of the module
 * "fake".
 *
 * The module keeps device memory in host memory under numbers that are no addresses, runs every
 * stream on a thread of its own, and watches its caller: a handle used after its end, a span
 * outside a live region, memory freed before the host knew that its users had ended, a source
 * written to while its transfer is pending, or two streams touching the same bytes with nothing to
 * order them is counted as a violation, and the first one kept as a text. The settings belong to
 * the module's file, not to an instance: a test finds them with dlsym(module,
 * "gantry_fake_control"), or by linking the stand-in with GANTRY_BACKEND_STATIC. What says "before
 * open" is read when an instance is opened, the rest at any time.
 * Thread-safe. */
#ifndef TESTS_STAND_INS_FAKE_BACKEND_H
#define TESTS_STAND_INS_FAKE_BACKEND_H

#include <gantry/backend_abi.h>

#define GANTRY_FAKE_DEVICES 8

/* The program kind that the fake's compiler takes: none of the real ones, so that no pack of
 * kernels is offered there. */
#define GANTRY_FAKE_PROGRAMS (1u << 7)

/* One device; before open. reset() makes each a discrete GPU of 64 MiB without PCI address and
 * UUID. */
typedef struct gantry_fake_device_t {
    int32_t type; /* GANTRY_DEVICE_TYPE_... */
    /* GANTRY_DEVICE_...: SYNCHRONOUS runs work in the submitting slot, HOST_ADDRESSABLE makes
     * numbers addresses */
    uint32_t flags;
    uint64_t total_bytes;
    uint64_t largest_allocation_bytes; /* 0: total_bytes */
    uint64_t alignment_bytes;
    uint64_t dtype_mask;
    uint32_t program_kinds;
    uint32_t compute_units;
    uint32_t driver;
    int32_t info_status;                       /* not 0: device_info fails with it */
    int32_t least_priority, greatest_priority; /* 1 and -1 at reset */
    char hardware_name[64];
    char vendor[64];
    char platform_name[64];
    char pci_address[32];
    char uuid[64];
    char no_programs[64];
} gantry_fake_device_t;

/* Things counted while they live. */
typedef enum gantry_fake_kind_t {
    GANTRY_FAKE_INSTANCE = 0,
    GANTRY_FAKE_DEVICE = 1, /* opened ones */
    GANTRY_FAKE_REGION = 2,
    GANTRY_FAKE_STREAM = 3,
    GANTRY_FAKE_EVENT = 4,
    GANTRY_FAKE_PROGRAM = 5,
    GANTRY_FAKE_KERNEL = 6,
    GANTRY_FAKE_HOST_BLOCK = 7,
    GANTRY_FAKE_GRAPH = 8, /* from the beginning of its capture */
    GANTRY_FAKE_KINDS = 9
} gantry_fake_kind_t;

typedef int32_t (*gantry_fake_watch_fn)(const char *slot);

typedef struct gantry_fake_control_t {
    uint32_t struct_size;
    /* Everything as it was at load, counters and violations included; opens gates. Nothing of the
     * module should live. */
    void (*reset)(void);

    /* ---- before open ---- */
    void (*set_device_count)(uint32_t count); /* 1 at reset; at most GANTRY_FAKE_DEVICES */
    void (*get_device)(uint32_t device, gantry_fake_device_t *out_settings);
    void (*set_device)(uint32_t device, const gantry_fake_device_t *settings);
    void (*set_kernels)(int32_t enabled); /* 0: no kernels of its own */
    void (*set_rank)(int32_t rank);       /* before query */
    void (*set_abi_version)(uint32_t version);
    /* What open returns; text NULL: it fails without a word. */
    void (*set_open_result)(int32_t status, const char *text);

    /* ---- at any time ---- */
    /* what the driver really gives, UINT64_MAX: total_bytes */
    void (*set_capacity)(uint32_t device, uint64_t bytes);
    void (*set_delay)(uint32_t device, uint32_t delay_ms); /* before each piece of work */
    /* Work of the streams of these purposes (bits 1 << GANTRY_STREAM_...) is held back until the
     * gate is opened. */
    void (*close_gate)(uint32_t device, uint32_t purposes);
    void (*open_gate)(uint32_t device, uint32_t purposes);
    /* so many pieces of work pass closed gates */
    void (*let_pass)(uint32_t device, uint32_t pieces);
    /* 1: every slot that can fail, and all work from now on, is Unavailable with the cause; held
     * work ends. 0: found again. */
    void (*set_lost)(uint32_t device, int32_t lost);
    /* 1: "fill_words" and "gantry_probe" write the complement of what they should, and say
     * nothing. */
    void (*set_wrong)(uint32_t device, int32_t wrong);
    /* The calls first to first + count - 1 of the slot from now on (1: the next) fail with status
     * and text. slot NULL: calls of any slot that can fail. "work" fails when it runs, not when it
     * is submitted. Returns 0 when the slot is unknown or 16 plans are pending. */
    int32_t (*fail_calls)(const char *slot, uint64_t first, uint64_t count, int32_t status,
                          const char *text);

    /* ---- what happened ---- */
    uint32_t (*slot_count)(void);
    const char *(*slot_name)(uint32_t slot); /* "region_alloc"; "work" counts what streams ran */
    int32_t (*slot_can_fail)(uint32_t slot);
    /* UINT64_MAX when the slot is unknown; NULL: of all slots */
    uint64_t (*calls)(const char *slot);
    uint64_t (*live)(gantry_fake_kind_t kind);
    uint64_t (*live_bytes)(uint32_t device);
    /* pieces of work ended on that device, failed ones included */
    uint64_t (*finished)(uint32_t device);
    uint64_t (*waiting)(uint32_t device); /* submitted and not ended */
    /* 1 when finished(device) reaches that number in time. */
    int32_t (*wait_finished)(uint32_t device, uint64_t pieces, uint32_t timeout_ms);
    uint64_t (*violations)(void);
    void (*first_violation)(char *out_text, uint64_t text_bytes); /* "" when none */
    /* Streams ever made on the device with that priority; one made without has none. */
    uint64_t (*streams_with_priority)(uint32_t device, int32_t priority);
    /* Spans of transfers and kernels that do not begin at a multiple of alignment_bytes. */
    uint64_t (*misaligned)(void);

    /* Asked at each call of a slot that can fail, and before each piece of work, with the module's
     * lock held: not 0 is the status that it fails with, "injected here" its text. NULL: nobody
     * is asked. Not undone by reset. */
    void (*set_watch)(gantry_fake_watch_fn watch);
} gantry_fake_control_t;

typedef const gantry_fake_control_t *(*gantry_fake_control_fn)(void);
#define GANTRY_FAKE_CONTROL_SYMBOL "gantry_fake_control"

const gantry_fake_control_t *gantry_fake_control(void);

/* Statically linked only; a module exports gantry_backend_query. */
int32_t gantry_backend_query_fake(uint32_t max_abi, const gantry_backend_t **out_backend);

#endif
