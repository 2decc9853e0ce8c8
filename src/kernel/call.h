/* SPDX-License-Identifier: Apache-2.0 */
/* One kernel call: the services that a kernel may use while it computes (gantry_call_services_t).
 *
 * Owner: it is on the dispatcher's stack. The stream's lock is taken for each submission, not for
 * the call, so that building a program or allocating scratch does not block other threads.
 * Externally synchronised. */
#ifndef GANTRY_KERNEL_CALL_H
#define GANTRY_KERNEL_CALL_H

#include <gantry/backend_abi.h>

#include "base/profile_frame.h"
#include "device/form.h"
#include "host/form.h"
#include "kernel/capture.h"
#include "kernel/kept_launch.h"
#include "kernel/program_cache.h"

#define GANTRY__MAX_SCRATCH 8

struct gantry__fault_t;

typedef struct gantry__call_t {
    gantry__form_fn find_form; /* first (host/form.h); set if the call has forms */
    gantry_op_call_t abi;      /* the part that the kernel sees */
    gantry_logical_device_t *device;
    gantry__program_cache_t *programs; /* NULL on a device without programs */
    gantry__kernel_memo_t *memo;       /* of calls like this one; or NULL */
    uint64_t sequence;
    gantry__buffer_t *scratch[GANTRY__MAX_SCRATCH];
    uint32_t scratch_count;
    const char *tag;                /* the scope's tag for its memory, or NULL */
    const char *part_of;            /* the composed op that runs this one, or NULL */
    gantry__profile_frame_t *frame; /* NULL: nothing is recorded */
    /* pieces of the device's temporary memory that the op holds in addition to scratch */
    uint32_t temporary_count;
    /* made at the kernel's request; belongs to the call until taken */
    struct gantry__fault_t *fault;
    gantry__capture_t *capture;   /* takes the work; NULL: the device's stream does */
    bool has_read;                /* the kernel waited for its device; the caller clears it */
    gantry__kept_launch_t *keeps; /* takes a launch that repeats, or NULL: none is kept */
    /* Makes output `index`; set by the dispatcher for ops whose shapes depend on data. */
    int32_t (*make_output)(struct gantry__call_t *call, uint32_t index, int32_t rank,
                           const int64_t *dims);
    void *caller;
    /* of a call with forms: its inputs, and which of them are constants, as bits */
    const gantry_arg_t *const *own_inputs;
    uint32_t constants;
    bool makes_form;      /* the kernel writes it now; the caller ends that */
    gantry__form_t *form; /* of one of the constants; a reference of the caller's */
} gantry__call_t;

/* Fills abi's device, stream, info, services; the dispatcher fills inputs, outputs, attributes,
 * op and kernel. */
void gantry__call_init(gantry__call_t *call, gantry_logical_device_t *device,
                       gantry__program_cache_t *programs, uint64_t sequence);
/* Lets the kernel keep forms of those inputs, as bits, which must be constants. abi's inputs are
 * set. Only on a synchronous device. */
void gantry__call_offer_forms(gantry__call_t *call, uint32_t constants);
/* Lets the kernel keep a launch that repeats. abi's flags are set. */
void gantry__call_keep_launch(gantry__call_t *call, gantry__kept_launch_t *kept);
/* Launches what a call of equal types, shapes and attributes kept, with this call's tensors in
 * place of its own. Takes the place of compute. */
int32_t gantry__call_repeat(gantry__call_t *call, const gantry__kept_launch_t *kept);
/* Must be called after compute, also if it failed. *out_point covers all submitted work. Scratch is
 * freed, in use up to that point. The fault, if any, is bound to that point and handed over. */
struct gantry__fault_t *gantry__call_finish(gantry__call_t *call, gantry__point_t *out_point);

#endif
