/* SPDX-License-Identifier: Apache-2.0 */
/* The control of the module "fake", a backend whose devices, memory, speed and failures a test
 * sets.
 *
 * The module keeps device memory in host memory under numbers that are not addresses, runs every
 * stream on its own thread, and watches its caller. The module counts these violations and keeps
 * the first as a text: a handle used after its end, a span outside a live region, memory freed
 * before the host knew that its users had ended, a source written during its transfer, and
 * unordered accesses of two streams to the same bytes. The settings belong to the module's file,
 * not to an instance: a test finds them with dlsym(module, "gantry_fake_control"), or by linking
 * the stand-in with GANTRY_BACKEND_STATIC. The module reads settings marked "before open" when it
 * opens an instance, and the others at any time. Thread-safe. */
#ifndef TESTS_STAND_INS_FAKE_BACKEND_H
#define TESTS_STAND_INS_FAKE_BACKEND_H

#include <gantry/backend_abi.h>

#define GANTRY_FAKE_DEVICES 8

/* The program kind of the fake's compiler. It differs from all real kinds, so that no pack of
 * kernels offers kernels to the fake. */
#define GANTRY_FAKE_PROGRAMS (1u << 7)

/* Sets one device; before open. reset() makes each a discrete GPU of 64 MiB without PCI address and
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
    int32_t wait_policy; /* as the core set it; 0: it did not */
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
    GANTRY_FAKE_GRAPH = 8, /* counted from the start of its capture */
    GANTRY_FAKE_KINDS = 9
} gantry_fake_kind_t;

typedef int32_t (*gantry_fake_watch_fn)(const char *slot);

typedef struct gantry_fake_control_t {
    uint32_t struct_size;
    /* Restores the state at load, counters and violations included, and opens gates. No object of
     * the module should live. */
    void (*reset)(void);

    /* ---- before open ---- */
    void (*set_device_count)(uint32_t count); /* 1 at reset; at most GANTRY_FAKE_DEVICES */
    void (*get_device)(uint32_t device, gantry_fake_device_t *out_settings);
    void (*set_device)(uint32_t device, const gantry_fake_device_t *settings);
    void (*set_kernels)(int32_t enabled); /* 0: no kernels of its own */
    void (*set_rank)(int32_t rank);       /* before query */
    void (*set_abi_version)(uint32_t version);
    /* The result of open; text NULL: open fails without a message. */
    void (*set_open_result)(int32_t status, const char *text);

    /* ---- at any time ---- */
    /* the memory that the driver really gives; UINT64_MAX: total_bytes */
    void (*set_capacity)(uint32_t device, uint64_t bytes);
    void (*set_delay)(uint32_t device, uint32_t delay_ms); /* before each piece of work */
    /* Work of the streams of these purposes (bits 1 << GANTRY_STREAM_...) is held back until the
     * gate is opened. */
    void (*close_gate)(uint32_t device, uint32_t purposes);
    void (*open_gate)(uint32_t device, uint32_t purposes);
    /* lets this many pieces of work pass closed gates */
    void (*let_pass)(uint32_t device, uint32_t pieces);
    /* 1: every slot that can fail, and all further work, fails as Unavailable with the cause; held
     * work ends. 0: the device is back. */
    void (*set_lost)(uint32_t device, int32_t lost);
    /* 1: "fill_words" and "gantry_probe" write the complement of the right values and report no
     * error. */
    void (*set_wrong)(uint32_t device, int32_t wrong);
    /* The calls first to first + count - 1 of the slot from now on (1: the next) fail with status
     * and text. slot NULL: calls of any slot that can fail. "work" fails when it runs, not when it
     * is submitted. Returns 0 when the slot is unknown or 16 plans are pending. */
    int32_t (*fail_calls)(const char *slot, uint64_t first, uint64_t count, int32_t status,
                          const char *text);

    /* ---- counters ---- */
    uint32_t (*slot_count)(void);
    /* "region_alloc"; "work" counts the work that streams ran */
    const char *(*slot_name)(uint32_t slot);
    int32_t (*slot_can_fail)(uint32_t slot);
    /* UINT64_MAX when the slot is unknown; NULL: of all slots */
    uint64_t (*calls)(const char *slot);
    uint64_t (*live)(gantry_fake_kind_t kind);
    uint64_t (*live_bytes)(uint32_t device);
    /* finished pieces of work on that device, failed ones included */
    uint64_t (*finished)(uint32_t device);
    uint64_t (*waiting)(uint32_t device); /* submitted and not ended */
    /* 1 when finished(device) reaches that number in time. */
    int32_t (*wait_finished)(uint32_t device, uint64_t pieces, uint32_t timeout_ms);
    uint64_t (*violations)(void);
    void (*first_violation)(char *out_text, uint64_t text_bytes); /* "" when none */
    /* All streams made on the device with that priority; streams made without a priority do not
     * count. */
    uint64_t (*streams_with_priority)(uint32_t device, int32_t priority);
    /* Spans of transfers and kernels that do not begin at a multiple of alignment_bytes. */
    uint64_t (*misaligned)(void);

    /* Called at each call of a slot that can fail, and before each piece of work, with the module's
     * lock held. A result other than 0 is the failure's status, with the text "injected here".
     * NULL: no callback. reset() keeps the callback. */
    void (*set_watch)(gantry_fake_watch_fn watch);
} gantry_fake_control_t;

typedef const gantry_fake_control_t *(*gantry_fake_control_fn)(void);
#define GANTRY_FAKE_CONTROL_SYMBOL "gantry_fake_control"

const gantry_fake_control_t *gantry_fake_control(void);

/* Statically linked only; a module exports gantry_backend_query. */
int32_t gantry_backend_query_fake(uint32_t max_abi, const gantry_backend_t **out_backend);

#endif
