/* SPDX-License-Identifier: Apache-2.0 */
/* State of an op on the eager path (run/eager.c), which its steps share.
 *
 * Owner: it is on the stack of the calling thread. Threads: it belongs to that thread. */
#ifndef GANTRY_RUN_EAGER_STATE_H
#define GANTRY_RUN_EAGER_STATE_H

#include "kernel/call.h"
#include "run/op_request.h"
#include "run/scope_state.h"

/* A host copy of an input that is on a device. */
typedef struct gantry__owned_t {
    void *bytes;
    size_t size;
    uint32_t input;
} gantry__owned_t;

typedef struct gantry__eager_t {
    gantry_scope_t *scope;
    gantry_runtime_t *runtime;
    const gantry__op_request_t *request;
    /* those of the request; in a trace some inputs are replaced by the constants that they are */
    const gantry__op_def_t *op;
    const gantry_tensor_t *const *inputs;
    uint32_t input_count;
    gantry__profile_frame_t *frame; /* NULL: nothing is recorded */
    const gantry__repeat_t *repeat; /* what an earlier call found; NULL: nothing */
    gantry__repeat_t *record;       /* is filled for later calls, or NULL */
    const gantry_attr_t *attrs;     /* those of infer, or of repeat */
    gantry__kept_plan_t *kept;
    gantry_logical_device_t *device;
    const gantry_logical_device_t *exhausted; /* the device where memory ran out before, or NULL */
    uint32_t choice;                          /* the number of the plan's kernel that is tried */
    /* output 0 takes the memory of an input that ends here */
    bool in_place;
    bool has_faults; /* an input whose work may still fail */
    uint64_t bytes_copied;
    gantry_status_t host_status; /* the reason when gantry__eager_host_value returns NULL */
    uint32_t copy_count;         /* entries of copies */
    uint32_t owned_count;        /* entries of owned */
    uint32_t made_count;         /* entries of made */
    uint32_t point_count;        /* entries of points */
    gantry__infer_t infer;
    gantry__call_t call;
    const gantry_attr_t *attr_args[GANTRY__MAX_ATTRS];
    /* arrays in the frame that runs the call, as those that infer points to: USE_ROOM in eager.c */
    gantry_tensor_t **copies; /* inputs brought to the device */
    gantry__owned_t *owned;   /* host copies of device tensors */
    /* inputs that the kernel reads on the device; NULL for host inputs */
    const gantry_tensor_t **used;
    gantry__point_t *points;
    gantry_arg_t *args; /* one for each input */
    const gantry_arg_t **input_args;
    gantry_tensor_t **made; /* NULL: the kernel makes it */
    gantry_arg_t *results;  /* one for each output */
    gantry_arg_t **output_args;
} gantry__eager_t;

/* ---- the steps after inference, each in its file ---- */

/* Describes the call in eager->call.abi, and chooses device and kernel: eager_plan.c. After a
 * failure eager->kept is the refused plan or NULL. */
gantry_status_t gantry__eager_plan(gantry__eager_t *eager);

/* Makes the results that need no kernel, or gathers the inputs of the kernel and allocates its
 * results: eager_memory.c. *out_computes: a kernel computes them. */
gantry_status_t gantry__eager_make_results(gantry__eager_t *eager, bool *out_computes);
/* The elements of an input on the host; waits if it is on a device. NULL after a failure. */
const void *gantry__eager_host_value(void *eager, uint32_t input);
/* Allocates an output of known shape, or puts it into the memory of an input. */
gantry_status_t gantry__eager_allocate_output(gantry__eager_t *eager, uint32_t i);
/* Makes the results depend on the faults of inputs, and on the call's own; NULL: it has none. */
gantry_status_t gantry__eager_inherit_faults(gantry__eager_t *eager, struct gantry__fault_t *fault);

/* Calls the kernel, and submits its work after that of the inputs: eager_compute.c. */
gantry_status_t gantry__eager_compute(gantry__eager_t *eager);

static inline gantry_status_t gantry__eager_call(gantry__eager_t *eager) {
    if (eager->repeat && eager->repeat->launch.kernel)
        return (gantry_status_t)gantry__call_repeat(&eager->call, &eager->repeat->launch);
    return (gantry_status_t)eager->call.abi.kernel->compute(&eager->call.abi);
}

/* ---- calls that repeat: eager_repeat.c ---- */

/* Sets eager->repeat, and all that infer finds; false: there is none, and eager->record may be one
 * to fill. */
bool gantry__eager_find_repeat(gantry__eager_t *eager);
/* Fills the record after the call has ended well, and shares it if later calls may use it. */
void gantry__eager_share_record(gantry__eager_t *eager);
/* Frees a record that is not shared. */
void gantry__eager_drop_record(gantry__eager_t *eager);

/* ---- in place: eager_in_place.c ---- */

/* An input whose memory no other object can reach, and into which output i fits; NULL: none. */
const gantry_tensor_t *gantry__eager_find_donor(const gantry__eager_t *eager, uint32_t i);

/* ---- in a function that runs op by op: eager_place.c ---- */

/* Writes the place of the op, at most GANTRY__FAULT_PLACE_BYTES. The scope must have a place. */
void gantry__eager_print_place(const gantry__eager_t *eager, char *out);
/* Puts op, types, shapes and device in front of the failure of a function's op that has no node. */
gantry_status_t gantry__eager_fail_in_place(const gantry__eager_t *eager, gantry_status_t status);

/* ---- in a trace: eager_trace.c ---- */

gantry_status_t gantry__eager_infer_in_trace(gantry__eager_t *eager);
/* Whether the op is recorded as one node although it may have parts. */
bool gantry__eager_is_whole(const gantry__eager_t *eager);
/* Records the op, or runs the function of a composed one, which records its parts. */
gantry_status_t gantry__eager_record(gantry__eager_t *eager);

/* ---- for a call whose frame is recorded ---- */

/* Waits, in a profile that times kernels, for the inputs before the kernel begins, ignoring
 * failures. On an asynchronous device the rest of the step is submission, including the order of
 * streams. */
GANTRY__RECORDING void gantry__eager_settle_points(const gantry__eager_t *eager);
/* Calls the kernel, and records its launches and the bytes of its arguments. */
GANTRY__RECORDING gantry_status_t gantry__eager_call_recorded(gantry__eager_t *eager);
/* Waits, in a profile that times kernels, for the kernel before the op continues. A failure stays
 * with the point. */
GANTRY__RECORDING void gantry__eager_settle_kernel(const gantry__eager_t *eager,
                                                   gantry__point_t point);
/* Adds the frame to its own row, or to the row of the composed op that the program called. */
GANTRY__RECORDING void gantry__eager_keep_profile(const gantry__eager_t *eager);

/* The request of the op, which a device function may choose. */
static inline gantry_status_t gantry__eager_wish(const gantry__eager_t *eager,
                                                 const gantry__wish_t **out_wish) {
    *out_wish = eager->scope->wish;
    if (!eager->scope->chooser || eager->request->pinned || eager->exhausted) return GANTRY_OK;
    return gantry__scope_choose_op(eager->scope, eager->op->name, eager->infer.out_dtypes[0],
                                   eager->infer.output_count, out_wish);
}

#endif
