/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations shared by the files of the fake backend: the module's one state, its objects, and
 * the begin and end of a slot.
 *
 * One lock guards everything; the module releases it only while work runs and while a stream is
 * joined. Handles are numbers that are never used twice, so that a handle past its end is detected.
 * Objects come from the host's allocator. */
#ifndef TESTS_STAND_INS_FAKE_INTERNAL_H
#define TESTS_STAND_INS_FAKE_INTERNAL_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "fake_backend.h"

#define FAKE_BUCKETS 256u
#define FAKE_PLANS 16u
#define FAKE_CLOCKS 96 /* streams whose order is tracked; further streams are not checked */
#define FAKE_TEXT_BYTES 256
#define FAKE_PURPOSES 3
#define FAKE_PRIORITIES 9

/* X(name, can fail) */
/* clang-format off */
#define FAKE_SLOT_LIST(X)                                                                         \
    X(open, 1) X(close, 0) X(device_count, 0) X(device_info, 1) X(device_open, 1)                 \
    X(device_close, 0) X(kernels, 0) X(libraries, 0) X(card_memory, 1)        \
    X(set_wait_policy, 0)                                                                         \
    X(region_alloc, 1) X(region_free, 0) X(host_alloc, 1) X(host_free, 0) X(memory_info, 1)       \
    X(stream_create, 1) X(stream_create_with_priority, 1) X(stream_destroy, 0) X(stream_flush, 1) \
    X(stream_synchronize, 1) X(stream_wait_event, 1) X(event_create, 1) X(event_destroy, 0)       \
    X(event_record, 1) X(event_query, 1) X(event_synchronize, 1) X(to_device, 1) X(to_host, 1)    \
    X(copy, 1) X(fill, 1) X(copy_peer, 1) X(build, 1) X(program_destroy, 0) X(binary, 1)          \
    X(load_binary, 1) X(kernel_find, 1) X(kernel_info, 1) X(launch, 1) X(begin_capture, 1)        \
    X(end_capture, 1) X(graph_launch, 1) X(graph_destroy, 0) X(compute, 1) X(work, 1)
/* clang-format on */

typedef enum fake_slot_t {
#define FAKE_SLOT_ENUM(name, fails) FAKE_SLOT_##name,
    FAKE_SLOT_LIST(FAKE_SLOT_ENUM)
#undef FAKE_SLOT_ENUM
        FAKE_SLOTS
} fake_slot_t;

/* ---- objects ---- */

typedef struct fake_object_t {
    struct fake_object_t *next; /* in its bucket */
    uint64_t number;            /* the handle */
    gantry_fake_kind_t kind;
    uint32_t bytes; /* of the whole struct, for the host's allocator */
    struct fake_instance_t *instance;
} fake_object_t;

typedef struct fake_instance_t {
    fake_object_t object;
    const gantry_host_t *host;
    uint32_t device_count;
    bool with_kernels;
    gantry_fake_device_t devices[GANTRY_FAKE_DEVICES]; /* as set when it was opened */
} fake_instance_t;

typedef struct fake_device_t {
    fake_object_t object;
    uint32_t index;
    uint32_t live_objects; /* regions, streams, events and programs made on it */
    const gantry_fake_device_t *settings;
} fake_device_t;

/* An access to bytes of a region, and its time (position of that stream). */
typedef struct fake_access_t {
    uint64_t begin, end;
    uint64_t position;
    int32_t clock;
    bool writes;
} fake_access_t;

typedef struct fake_region_t {
    fake_object_t object;
    fake_device_t *device;
    uint32_t device_index;
    uint64_t size_bytes;
    unsigned char *bytes;
    uint32_t pending; /* operands of work not yet ended, and of pieces that graphs keep */
    uint32_t kept;    /* the latter */
    bool dead;        /* freed while work was pending: kept until the work has ended */
    fake_access_t *accesses;
    uint32_t access_count, access_capacity;
} fake_region_t;

typedef struct fake_error_t {
    int32_t code; /* 0: none */
    char text[FAKE_TEXT_BYTES];
} fake_error_t;

/* One record of an event. The count has the event, the record in the queue, and each waiter. */
typedef struct fake_mark_t {
    fake_instance_t *instance;
    uint32_t references;
    uint64_t graph; /* the number of the record's capture, which never completes; 0: none */
    bool done;
    fake_error_t error;
    uint64_t clock[FAKE_CLOCKS];
} fake_mark_t;

typedef struct fake_event_t {
    fake_object_t object;
    fake_device_t *device;
    fake_mark_t *mark; /* NULL: never recorded */
    uint32_t users;    /* threads inside its synchronize */
} fake_event_t;

typedef struct fake_stream_t {
    fake_object_t object;
    fake_device_t *device;
    int32_t purpose;
    bool synchronous;
    bool ending;
    bool busy; /* a slot of it is being served */
    pthread_t worker;
    pthread_cond_t arrived; /* the worker waits for work or the end; all other waits: `changed` */
    uint32_t waiters;       /* threads inside its synchronize */
    uint64_t submitted, ended;
    struct fake_work_t *first, *last;
    struct fake_graph_t *graph; /* being captured; NULL: none */
    fake_error_t error;         /* first failure since the last synchronize */
    int32_t clock_index;        /* -1: not tracked */
    uint64_t clock[FAKE_CLOCKS];
} fake_stream_t;

/* ---- work ---- */

typedef struct fake_work_t fake_work_t;

typedef struct fake_operand_t {
    fake_region_t *region; /* NULL: nothing, no bytes */
    unsigned char *bytes;
    uint64_t offset, size_bytes;
    bool writes;
} fake_operand_t;

/* Runs without the lock; returns 0 or a status, and writes the status's text to out_error. */
typedef int32_t (*fake_run_fn)(fake_work_t *work, fake_error_t *out_error);

typedef enum fake_work_kind_t { FAKE_WORK_RUN, FAKE_WORK_RECORD, FAKE_WORK_WAIT } fake_work_kind_t;

struct fake_work_t {
    fake_work_t *next;
    fake_work_kind_t kind;
    const char *what;
    size_t bytes; /* of the whole struct */
    fake_mark_t *mark;
    fake_run_fn run;
    void *host_target;
    const void *host_source;
    bool is_captured;  /* a copy of work that a graph keeps */
    uint64_t host_sum; /* of the source, when it was submitted */
    unsigned char pattern[8];
    uint32_t pattern_bytes;
    void *params; /* after the operands */
    uint32_t operand_count;
    fake_operand_t operands[];
};

/* ---- state ---- */

typedef struct fake_plan_t {
    int32_t slot; /* -1: any; FAKE_SLOTS: not in use */
    uint64_t first, count;
    int32_t status;
    char text[FAKE_TEXT_BYTES];
} fake_plan_t;

typedef struct fake_card_t {
    gantry_fake_device_t settings;
    uint64_t capacity_bytes;
    uint64_t used_bytes;
    uint32_t delay_ms;
    uint32_t closed_gates;
    uint32_t permits;
    bool lost;
    bool wrong;
    uint64_t submitted, finished;
    uint64_t prioritised[FAKE_PRIORITIES]; /* streams made, from priority -FAKE_PRIORITIES / 2 on */
} fake_card_t;

typedef struct fake_state_t {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool ready;
    uint32_t device_count;
    bool with_kernels;
    int32_t rank;
    uint32_t abi_version;
    int32_t open_status;
    char open_text[FAKE_TEXT_BYTES];
    fake_card_t cards[GANTRY_FAKE_DEVICES];
    fake_plan_t plans[FAKE_PLANS];
    gantry_fake_watch_fn watch;
    uint64_t calls[FAKE_SLOTS];
    uint64_t live[GANTRY_FAKE_KINDS];
    uint64_t violations;
    uint64_t misaligned;
    char violation[FAKE_TEXT_BYTES];
    uint64_t last_number;
    fake_object_t *buckets[FAKE_BUCKETS];
    /* order, see fake_order.c */
    bool clock_taken[FAKE_CLOCKS];
    uint64_t positions[FAKE_CLOCKS];
    uint64_t host_clock[FAKE_CLOCKS];
} fake_state_t;

extern fake_state_t gantry__fake;

/* ---- slots: begin locks; end unlocks and reports the failure ---- */

typedef struct fake_call_t {
    fake_slot_t slot;
    const gantry_host_t *host; /* set once an object of an instance is found */
    fake_error_t error;
} fake_call_t;

void gantry__fake_lock(void);
void gantry__fake_unlock(void);
/* Locks, counts, and applies the plans of fail_calls. */
void gantry__fake_begin(fake_call_t *call, fake_slot_t slot);
int32_t gantry__fake_end(fake_call_t *call);
/* Keeps only the first failure of a call. */
void gantry__fake_refuse(fake_call_t *call, int32_t code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Counts a violation; with a call, refuses it too. */
void gantry__fake_violate(fake_call_t *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* For slots that a module of the previous layout lacks: counts a violation when this is such a
 * module. */
void gantry__fake_check_layout(fake_call_t *call);
/* A planned failure of the slot, if this is its turn; the lock is held. */
bool gantry__fake_take_plan(fake_slot_t slot, fake_error_t *out_error);

/* NULL, with the call refused, when the number names no live object of that kind. The lock is
 * held. */
void *gantry__fake_find(fake_call_t *call, gantry_fake_kind_t kind, uint64_t number);
/* A zeroed object of that kind with that number (0: a new number); NULL with the call refused when
 * memory is out. */
void *gantry__fake_create(fake_call_t *call, fake_instance_t *instance, gantry_fake_kind_t kind,
                          uint64_t number, size_t bytes);
/* Takes the object out of the table; its handle is past its end from now on. */
void gantry__fake_forget(fake_object_t *object);
/* Gives a forgotten object's memory back. */
void gantry__fake_release(fake_object_t *object);
/* The number of live objects of the instance, without the instance itself. */
uint64_t gantry__fake_children(const fake_instance_t *instance);
/* The device, if found and not lost; else NULL with the call refused. */
fake_device_t *gantry__fake_find_device(fake_call_t *call, const gantry_backend_device_t *device);
bool gantry__fake_check_lost(fake_call_t *call, const fake_device_t *device);
/* Like find, and marks the stream as being served; call leave before end. NULL: do not call
 * leave. */
fake_stream_t *gantry__fake_enter_stream(fake_call_t *call, gantry_backend_stream_t *stream);
void gantry__fake_leave_stream(fake_stream_t *stream);

static inline uint64_t gantry__fake_number(const void *handle) {
    return (uint64_t)(uintptr_t)handle;
}

static inline fake_card_t *gantry__fake_card(const fake_device_t *device) {
    return &gantry__fake.cards[device->index];
}

/* ---- work: the lock is held ---- */

/* Zeroed, with room for operands and params; NULL with the call refused when memory is out. */
fake_work_t *gantry__fake_work_create(fake_call_t *call, const fake_stream_t *stream,
                                      const char *what, fake_run_fn run, uint32_t operands,
                                      size_t param_bytes);
/* Checks the span and makes it operand `index`; device is where it must lie. size_bytes may be
 * less than the span's. */
void gantry__fake_work_operand(fake_call_t *call, fake_work_t *work, uint32_t index,
                               const fake_device_t *device, const gantry_span_t *span,
                               uint64_t size_bytes, bool writes);
/* Passes ownership of the work to the stream, or to the stream's capture. Drops the work when the
 * call is already refused. work may be NULL. */
void gantry__fake_submit(fake_call_t *call, fake_stream_t *stream, fake_work_t *work);
void gantry__fake_work_drop(const fake_instance_t *instance, fake_work_t *work);
/* From now on the transfer owns its host memory. */
void gantry__fake_take_host_memory(fake_call_t *call, fake_work_t *work);
void gantry__fake_submit_wait(fake_call_t *call, fake_stream_t *stream, fake_mark_t *mark);
/* Releases *mark and replaces it with the new record's mark. */
void gantry__fake_submit_record(fake_call_t *call, fake_stream_t *stream, fake_mark_t **mark);

void gantry__fake_region_unuse(fake_region_t *region); /* one operand less */
void gantry__fake_mark_release(fake_mark_t *mark);     /* NULL is allowed */

/* ---- captures: the lock is held ---- */

typedef struct fake_graph_t fake_graph_t;
/* Keeps work of a captured stream; invalidates the capture when the call is already refused. work
 * may be NULL. */
void gantry__fake_keep(fake_call_t *call, fake_stream_t *stream, fake_work_t *work);
/* Refuses the call and invalidates the capture, if any. */
void gantry__fake_refuse_captured(fake_call_t *call, const fake_stream_t *stream, const char *what);
/* True when stream and mark belong to the same capture, or to none; otherwise refuses the call. */
bool gantry__fake_is_of_capture(fake_call_t *call, const fake_stream_t *stream,
                                const fake_mark_t *mark);
uint64_t gantry__fake_capture(const fake_stream_t *stream); /* its graph's number; 0: none */
void gantry__fake_abandon(fake_stream_t *stream);           /* ends its capture, if any */

/* ---- order ---- */

void gantry__fake_order_begin_stream(fake_stream_t *stream);
void gantry__fake_order_end_stream(const fake_stream_t *stream);
/* A new position of the stream, after all work that the host knows to have ended. */
void gantry__fake_order_submit(fake_stream_t *stream);
void gantry__fake_order_access(fake_call_t *call, const fake_stream_t *stream,
                               const fake_operand_t *operand, const char *what);
void gantry__fake_order_join(uint64_t *clock, const uint64_t *with);
/* True when the host has waited for all users of the region. */
bool gantry__fake_order_is_known(const fake_region_t *region);

/* ---- tables ---- */

/* True when the memory lies within one live block of host_alloc. The lock is held. */
bool gantry__fake_is_pinned(const void *memory, uint64_t size_bytes);
/* The card's memory that the driver can still give. The lock is held. */
uint64_t gantry__fake_free_bytes(const fake_card_t *card, uint64_t total_bytes);

extern const gantry_memory_ops_t gantry__fake_memory_ops;
extern const gantry_stream_ops_t gantry__fake_stream_ops;
extern const gantry_event_ops_t gantry__fake_event_ops;
extern const gantry_transfer_ops_t gantry__fake_transfer_ops;
extern const gantry_program_ops_t gantry__fake_program_ops;
extern const gantry_graph_ops_t gantry__fake_graph_ops;
extern const gantry_kernel_def_t *const gantry__fake_kernels[];
extern const uint32_t gantry__fake_kernel_count;

#endif
