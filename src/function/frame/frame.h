/* SPDX-License-Identifier: Apache-2.0 */
/* A frame: the memory of one call of a function at a time, with every kernel call made ready.
 *
 * Its arenas are allocated and its arguments point into them when it is made, so that a call only
 * binds the tensors that differ from call to call.
 *
 * Owner: the function keeps its frames between calls; a call owns the frame that it runs. Threads:
 * only one call at a time may run a frame. The lanes of that call are threads that share it, and
 * must take the frame's locks (gantry__frame_locks_t) for what they share. */
#ifndef GANTRY_FUNCTION_FRAME_H
#define GANTRY_FUNCTION_FRAME_H

#include "function/schedule/schedule.h"
#include "kernel/call.h"
#include "run/scope_state.h"

typedef struct gantry__replay_t gantry__replay_t;

/* The variables of a loop, or the inputs of a branch, which a body may overwrite: the loop's own
 * references. */
typedef struct gantry__loop_values_t {
    gantry_tensor_t **values; /* NULL where the body took one */
    const uint32_t *sources;  /* for each argument of the body, its position among them */
    uint32_t count;           /* positions from here on are no variables of the loop */
    bool is_branch;
} gantry__loop_values_t;

/* Locks for what the lanes of a call share. The locks of a variable's updates come between the two:
 * an op of the scope takes them, and who has them keeps faults. */
typedef struct gantry__frame_locks_t {
    gantry__mutex_t scope;  /* a scope belongs to one thread at a time */
    gantry__mutex_t faults; /* lists of faults and the first failure; nothing is locked inside */
} gantry__frame_locks_t;

typedef struct gantry__frame_t {
    struct gantry__frame_t *next; /* the next frame in its function's list */
    const gantry__schedule_t *schedule;
    const char *owner;      /* the function's name */
    gantry_scope_t *scope;  /* the call's scope */
    gantry__arena_t memory; /* what the arrays below point to */
    gantry__buffer_t **arenas;
    gantry_arg_t *args;        /* one for each slot */
    gantry_tensor_t **tensors; /* one for each slot that is TENSOR; the call's references */
    void **host_copies; /* one for each slot that is HOST: heap memory of the call, or NULL */
    gantry__call_t *calls;
    char **places; /* for each call whose kernel made a fault, the text in front; else NULL */
    gantry__point_t *points[GANTRY__MOST_LANES]; /* room for those of one action */
    gantry__frame_locks_t locks;
    gantry__frame_locks_t *shared; /* the outermost frame's */
    /* for a body, the frame and the action of its branch or loop, and which body it is; else
     * NULL */
    const struct gantry__frame_t *outer;
    const gantry__action_t *outer_action;
    uint32_t outer_body;
    bool has_failed; /* a body failed in the run of its branch or loop that goes on */
    struct gantry__frame_t ***blocks;        /* one for each block and each of its bodies */
    gantry_tensor_t **block_inputs;          /* room for those of one block */
    const gantry_tensor_t **block_arguments; /* for a body, room for those that its block gives */
    gantry_tensor_t **block_results;         /* room for those that its block or its call gets */
    gantry__replay_t *replay;                /* graphs of devices: frame_replay.c; NULL: none */
    /* the variables of the loop while its body runs; else NULL */
    const gantry__loop_values_t *loop;
    /* for each overwrite of the schedule: frame_overwrite.c withdrew the value */
    bool *overwritten;
    struct gantry__fault_t **faults; /* faults that kernels of the call may still find */
    size_t fault_count, fault_capacity;
} gantry__frame_t;

/* owner: the function's name, for memory reports and errors. */
gantry_status_t gantry__frame_create(const gantry__schedule_t *schedule, const char *owner,
                                     gantry__frame_t **out_frame);
void gantry__frame_destroy(gantry__frame_t *frame);
/* The bytes of its blocks of memory of the device, and of those of its bodies; NULL: of all
 * devices. */
uint64_t gantry__frame_bytes(const gantry__frame_t *frame, const gantry_logical_device_t *device);

/* Releases the frame's forms of constants (device/form.h), which the next run finds or makes again,
 * on the device; NULL: on all. Returns the bytes that came free. No call may run the frame. */
uint64_t gantry__frame_drop_forms(gantry__frame_t *frame, const gantry_logical_device_t *device);

/* Runs the schedule. arguments: the call's, one for each input of the graph. Writes one tensor for
 * each output, which belongs to the caller; NULLs after a failure, which names the node. */
gantry_status_t gantry__frame_run(gantry__frame_t *frame, gantry_scope_t *scope,
                                  const gantry_tensor_t *const *arguments,
                                  gantry_tensor_t **outputs);

/* ---- for the files of this room ---- */

/* Runs one action of a call: frame_action.c. Different actions may run on several threads at a
 * time. */
gantry_status_t gantry__frame_do(gantry__frame_t *frame, const gantry__action_t *action,
                                 const gantry_tensor_t *const *arguments);
/* Runs one action without a record in a profile, and without the node's name in front of an
 * error. */
gantry_status_t gantry__frame_do_silently(gantry__frame_t *frame, const gantry__action_t *action,
                                          const gantry_tensor_t *const *arguments);
/* Runs one action with a record in a profile: frame_profile.c. */
gantry_status_t gantry__frame_do_recorded(gantry__frame_t *frame, const gantry__action_t *action,
                                          const gantry_tensor_t *const *arguments)
    GANTRY__RECORDING;
/* Runs all actions on as many threads as the schedule has lanes. False, and nothing runs, if there
 * are not as many. */
bool gantry__frame_run_lanes(gantry__frame_t *frame, const gantry_tensor_t *const *arguments,
                             gantry_status_t *out_status);

/* Runs all actions, with graphs of devices in place of kernels where it can. The schedule must have
 * notes. */
gantry_status_t gantry__frame_run_replaying(gantry__frame_t *frame,
                                            const gantry_tensor_t *const *arguments);
/* Waits for launches of the frame's graphs and destroys them. */
void gantry__frame_drop_replay(gantry__frame_t *frame);

/* The parts of a kernel's action: tensors for its results, the wait of its device for its inputs,
 * and both that wait and the kernel. */
gantry_status_t gantry__frame_make_results(gantry__frame_t *frame, const gantry__action_t *action);
gantry_status_t gantry__frame_wait_for_inputs(gantry__frame_t *frame,
                                              const gantry__action_t *action);
gantry_status_t gantry__frame_compute(gantry__frame_t *frame, const gantry__action_t *action);
/* Makes an output in the memory of the value that the action's kernel overwrites, if it can. A
 * variable has no value until the end, after the kernel or a failure. */
gantry_status_t gantry__frame_overwrite(gantry__frame_t *frame, const gantry__action_t *action,
                                        uint32_t output, bool *out_done);
/* If the slot holds an argument that no action after its last user takes, the block around the
 * frame releases its own reference. */
void gantry__frame_give_up_argument(const gantry__frame_t *frame, uint32_t slot,
                                    const gantry__action_t *user);
gantry_status_t gantry__frame_end_overwrite(gantry__frame_t *frame, const gantry__action_t *action,
                                            gantry_status_t status);
/* The tensor in whose memory the slot is; NULL: the slot is in an arena. */
static inline gantry_tensor_t *gantry__frame_tensor_of(const gantry__frame_t *frame,
                                                       uint32_t slot) {
    const uint32_t root = frame->schedule->slots[slot].root;
    gantry_tensor_t *constant = frame->schedule->slots[root].constant;
    return constant ? constant : frame->tensors[root];
}
/* Keeps what a kernel of the call, or of an earlier op, may still fail with. Takes over the
 * reference; NULL does nothing. */
gantry_status_t gantry__frame_keep_fault(gantry__frame_t *frame, struct gantry__fault_t *fault);
/* Gives the tensor what the call's kernels may still fail with. */
gantry_status_t gantry__frame_inherit_faults(gantry__frame_t *frame, gantry_tensor_t *tensor);
/* Puts function and node in front of the fault's text, because its error is reported after the
 * call, and keeps the values that the text names, if they outlive the call. The fault must not be
 * submitted yet. */
void gantry__frame_name_fault(gantry__frame_t *frame, const gantry__action_t *action,
                              struct gantry__fault_t *fault);
void gantry__frame_drop_places(gantry__frame_t *frame);
/* Writes "function f: node a (Gather) of float32[3], int32[2] on /device:GPU:0: ", with the
 * branches and loops between. */
void gantry__frame_print_place(const gantry__frame_t *frame, const gantry__action_t *action,
                               char *out, size_t out_bytes);
/* Releases the tensors that the action is the last to use. */
void gantry__frame_end_action(gantry__frame_t *frame, const gantry__action_t *action);
/* Puts the action's node, op, types, shapes and device in front of the failure, unless a fault
 * names the place: of a kernel in a body of the action, which the action found when it read a
 * value. */
gantry_status_t gantry__frame_fail_at(const gantry__frame_t *frame, const gantry__action_t *action,
                                      gantry_status_t status);

/* Must be called after a failure of the call. Bad data that a kernel of the call, or of an earlier
 * op, has found comes first, because it may be what led to the failure. Returns its error, or
 * status with its message. */
gantry_status_t gantry__frame_find_cause(const gantry__frame_t *frame, gantry_status_t status);
/* Whether the failure begins with the function's name, as a fault of it that its node found. */
bool gantry__frame_is_placed(const gantry__frame_t *frame);

/* Makes a tensor of the caller's own over the slot's elements. The slot must be TENSOR, CONSTANT or
 * an alias of one. */
gantry_status_t gantry__frame_view(const gantry__frame_t *frame, uint32_t slot,
                                   gantry_tensor_t **out_tensor);
/* Makes the tensor the slot's, and takes over the reference. */
gantry_status_t gantry__frame_put(gantry__frame_t *frame, uint32_t slot, gantry_tensor_t *tensor);
/* Runs a branch or a loop. */
gantry_status_t gantry__frame_do_block(gantry__frame_t *frame, const gantry__action_t *action);
/* Whether the action is a branch or a loop whose present run failed in a body. */
bool gantry__frame_failed_inside(const gantry__frame_t *frame, const gantry__action_t *action);
/* Runs an op by the eager path: frame_eager.c. */
gantry_status_t gantry__frame_do_eager(gantry__frame_t *frame, const gantry__action_t *action);
/* Makes a result the slot's, on the action's device. Takes over the reference. */
gantry_status_t gantry__frame_put_on(gantry__frame_t *frame, const gantry__action_t *action,
                                     uint32_t i, gantry_tensor_t *result);

#endif
