/* SPDX-License-Identifier: Apache-2.0 */
/* Errors that kernels find while they run: slots in device memory, checked when a result that
 * depends on them is read, or when the runtime is synchronised.
 *
 * A kernel that may meet bad data gets a slot, which is zero before it starts. It writes {code,
 * input, position}, or the number of positions between the first bad one and the end of its block
 * of 2^31, as a 32-bit maximum (kernels/common/launch.cl). The creator of the slot holds a fault,
 * and so does every tensor that depends on the result. From its submission on the table holds one,
 * too, until a thread has fetched the slot and settled the fault, which frees the slot: so errors
 * of unread results are not lost. Owner: faults are counted. Threads: thread-safe. */
#ifndef GANTRY_DEVICE_FAULT_H
#define GANTRY_DEVICE_FAULT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include <gantry/backend_abi.h>

#include "base/failure.h"
#include "base/heap.h"
#include "device/point.h"
#include "base/os/thread.h"

#define GANTRY__FAULT_BLOCKS 12 /* of 2^31 positions each, for the search of the first bad one */
#define GANTRY__FAULT_BYTES (16 + 4 * GANTRY__FAULT_BLOCKS)
#define GANTRY__FAULT_SLOTS 1024
/* With this many unsettled faults, the older half is settled: every result of a chain of ops
 * carries all of them. The ops of the younger half keep the device busy while slots are read. */
#define GANTRY__FAULT_MOST_KEPT 32

#define GANTRY__FAULT_PLACE_BYTES 640 /* of the text in front of an error's words, with its end */
#define GANTRY__FAULT_NUMBERS 8       /* the interface's limit for ranks and counts */

struct gantry_logical_device_t;

/* The place of an op that has more than its number. */
typedef struct gantry__fault_place_t {
    /* writes the text in front of an error's words, at most GANTRY__FAULT_PLACE_BYTES */
    void (*print)(const struct gantry__fault_place_t *place, char *out);
    bool names_op; /* else it names only the function */
} gantry__fault_place_t;

typedef struct gantry__fault_t {
    atomic_uint references;
    struct gantry_logical_device_t *device;
    uint32_t slot;         /* GANTRY__FAULT_SLOTS: freed */
    gantry__point_t point; /* the launch that may write the slot */
    const char *op;        /* constant text */
    const char *part_of;   /* constant text: the composed op that ran it; NULL: none */
    uint64_t sequence;     /* the op's number in its runtime */
    uint64_t order;        /* among all faults of the runtime: ops of functions have no number */
    atomic_int settled;    /* 0: not yet; 1: good; 2: bad */
    atomic_bool told;      /* a call has reported the text */
    /* the fault is in the table's list; under its lock, as are the links and the slot */
    bool is_kept;
    struct gantry__fault_t *next, *previous;
    gantry_fault_words_t words; /* the kernel's; without a text: there are none */
    /* the elements of words.value_input; NULL: not needed, or no longer needed */
    struct gantry__buffer_t *values;
    uint64_t values_offset;
    int32_t values_dtype;
    /* at first "" or the place of the op, such as "function f: node a (Gather) of float32[3],
     * int32[2] on /device:GPU:0: "; when the fault is bad, the whole text */
    char text[GANTRY__FAULT_PLACE_BYTES + 512];
} gantry__fault_t;

/* The slots of one logical device, in one chunk of its memory taken at first use. */
typedef struct gantry__fault_table_t {
    gantry__mutex_t lock;
    bool is_ready;
    void *buffer; /* gantry__buffer_t */
    gantry_span_t span;
    uint32_t free_slots[GANTRY__FAULT_SLOTS];
    uint32_t free_count;
    uint32_t kept_count;
    gantry__fault_t *oldest, *newest; /* submitted and not yet settled */
    /* of the settled faults that no call reported, that of the earliest op; NULL: there is none */
    gantry__fault_t *first_bad;
} gantry__fault_table_t;

gantry_status_t gantry__fault_table_init(struct gantry_logical_device_t *device);
void gantry__fault_table_deinit(struct gantry_logical_device_t *device);

/* Creates a fault with a zeroed slot; *out_span is the slot. The zeroing is submitted to the
 * compute stream. */
gantry_status_t gantry__fault_create(struct gantry_logical_device_t *device, const char *op,
                                     uint64_t sequence, gantry__fault_t **out_fault,
                                     gantry_span_t *out_span);
gantry__fault_t *gantry__fault_retain(gantry__fault_t *fault);
/* Whether its op is known to have met good data, so that no result needs it. */
static inline bool gantry__fault_is_good(const gantry__fault_t *fault) {
    return atomic_load_explicit(&fault->settled, memory_order_acquire) == 1;
}
void gantry__fault_release(gantry__fault_t *fault);
/* Sets the words for a written slot; words that exceed their limits are ignored. */
void gantry__fault_set_words(gantry__fault_t *fault, const gantry_fault_words_t *words);
/* Keeps the input whose value the words name, until the data is known to be good, or no tensor
 * depends on it. Called before submit. */
void gantry__fault_keep_values(gantry__fault_t *fault, struct gantry__buffer_t *buffer,
                               uint64_t offset_bytes, int32_t dtype);
/* The launch that may write the slot is submitted: from now on synchronising the runtime checks
 * it. */
void gantry__fault_submit(gantry__fault_t *fault, gantry__point_t point);
/* Settles all submitted faults. *out_first: the bad one of the earliest op that no call reported,
 * which goes to the caller; NULL: there is none. */
gantry_status_t gantry__fault_settle_all(struct gantry_logical_device_t *device,
                                         gantry__fault_t **out_first);
/* Waits for the launch and reads its slot, unless a thread has read it. InvalidArgument with op,
 * sequence and position if the data was bad. */
gantry_status_t gantry__fault_settle(gantry__fault_t *fault);

/* ---- fault_text.c: the text of bad data, in the words that the CPU backend would use at the call,
 * with the op's name and number, because the error is reported later ---- */

/* The values at a place. */
typedef struct gantry__fault_values_t {
    int64_t numbers[GANTRY__FAULT_NUMBERS];
    int32_t count;   /* 0: unknown */
    char cause[160]; /* why they cannot be fetched; "" if none were kept */
} gantry__fault_values_t;

/* Reads the values at the position. The launch must have ended. */
gantry__fault_values_t gantry__fault_fetch_values(const gantry__fault_t *fault, int64_t position);
/* Completes fault->text, which has a place in front, or the op's number in it. */
void gantry__fault_describe(gantry__fault_t *fault, uint32_t code, uint32_t input, int64_t position,
                            const gantry__fault_values_t *values);

#endif
