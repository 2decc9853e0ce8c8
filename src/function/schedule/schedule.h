/* SPDX-License-Identifier: Apache-2.0 */
/* A schedule: a graph placed on the devices of a runtime, ready to run any number of times.
 *
 *     nodes    each has a device, kernels and one reason
 *     slots    a value on a device: where its elements are found
 *     actions     kernel calls, copies, reads and assignments, in order
 *     arenas   the bytes of each device that all intermediate values of a call share
 *
 * Owner: the schedule owns what its arrays point to; the graph is the caller's, and must outlive
 * it. Threads: made by one thread, constant afterwards, so that any number of frames
 * (function/frame/frame.h) may run it at the same time. */
#ifndef GANTRY_FUNCTION_SCHEDULE_H
#define GANTRY_FUNCTION_SCHEDULE_H

#include "function/place/place_graph.h"
#include "run/runtime_state.h"

#define GANTRY__NO_SLOT UINT32_MAX
#define GANTRY__NO_LANE UINT32_MAX
#define GANTRY__NO_ARGUMENT UINT32_MAX
#define GANTRY__MOST_LANES 16u
#define GANTRY__MOST_QUEUED 8u

typedef enum gantry__slot_kind_t {
    GANTRY__SLOT_ARENA = 0,    /* at an offset of its device's arena */
    GANTRY__SLOT_TENSOR = 1,   /* a tensor that each call makes or is given */
    GANTRY__SLOT_CONSTANT = 2, /* a tensor that is the same in each call */
    GANTRY__SLOT_ALIAS = 3,    /* inside another slot */
    GANTRY__SLOT_HOST = 4      /* a copy of another slot in host memory, for host inputs */
} gantry__slot_kind_t;

typedef struct gantry__slot_t {
    gantry__slot_kind_t kind;
    uint32_t value;
    gantry_logical_device_t *device;
    uint32_t root;       /* for ALIAS and HOST, the slot with the memory; else the slot itself */
    uint32_t next_alias; /* the next alias of the same root; GANTRY__NO_SLOT ends the list */
    uint32_t arena;      /* the arena of an ARENA slot */
    uint64_t offset;     /* the place of an ARENA slot in the arena, of an ALIAS in its root */
    uint32_t made_by;    /* for a root, the action that makes it; UINT32_MAX: none */
    uint32_t last_step;  /* for a root, the last action that uses it or one of its aliases */
    /* for a root, the lane of all actions that use it; GANTRY__NO_LANE: several lanes use it */
    uint32_t lane;
    uint32_t alignment;        /* for a root, the largest element of a Bitcast of it; 0: none */
    bool is_ended;             /* the block of an ARENA slot was given back, for the planner */
    bool is_used;              /* whether a root is used, for the lanes */
    gantry_tensor_t *constant; /* the tensor of CONSTANT; a reference of the schedule's own */
    uint32_t next_of_value;    /* the value's next slot */
} gantry__slot_t;

typedef enum gantry__action_kind_t {
    GANTRY__ACTION_CALL = 0,     /* a kernel: inputs to outputs */
    GANTRY__ACTION_COPY = 1,     /* to another device: input 0 to output 0 */
    GANTRY__ACTION_HOST = 2,     /* to host memory: input 0 to output 0 */
    GANTRY__ACTION_READ = 3,     /* a variable's present value to output 0 */
    GANTRY__ACTION_ASSIGN = 4,   /* input 0 to a variable; with an update, by a kernel */
    GANTRY__ACTION_ARGUMENT = 5, /* argument number `call` of the function to output 0 */
    GANTRY__ACTION_DRAW = 7,     /* key and counter to outputs 0 and 1 */
    GANTRY__ACTION_BLOCK = 6,    /* the bodies of a branch or a loop: block number `call` */
    GANTRY__ACTION_EAGER = 8     /* an op by the eager path: inputs to outputs */
} gantry__action_kind_t;

/* An action of another lane that comes first. */
typedef struct gantry__lane_wait_t {
    uint32_t lane;
    uint32_t count; /* actions of that lane that have ended by then */
} gantry__lane_wait_t;

/* A kernel's output may take the memory of a variable's value that it reads, and is assigned to
 * that variable next; or that of an argument, or of a tensor that the call has made. */
typedef struct gantry__overwrite_t {
    uint32_t input, output;      /* positions among those of the action */
    uint32_t number;             /* among those of the schedule */
    gantry_variable_t *variable; /* NULL: none */
    uint32_t argument;           /* its position; GANTRY__NO_ARGUMENT: none */
} gantry__overwrite_t;

typedef struct gantry__action_t {
    gantry__action_kind_t kind;
    uint32_t lane, position; /* position: in the lane, from 0 */
    const gantry__lane_wait_t *waits;
    uint32_t wait_count;
    /* all slots are in arenas or constants of a synchronous device: nothing but the call */
    bool is_plain;
    bool is_empty; /* no output has an element */
    uint32_t node;
    uint32_t call; /* position among the calls, the blocks or the arguments */
    gantry_logical_device_t *device;
    const gantry__wish_t *wish;       /* the request of an EAGER action's op, or NULL */
    const uint32_t *inputs, *outputs; /* slots */
    uint32_t input_count, output_count;
    const gantry__overwrite_t *overwrites;
    uint32_t overwrite_count;
    uint32_t ended_first, ended_count; /* a part of gantry__schedule_t.ended: tensors to release */
} gantry__action_t;

typedef struct gantry__schedule_arena_t {
    gantry_logical_device_t *device;
    uint64_t bytes;
    uint64_t unplanned_bytes; /* bytes that the values would take without the plan */
} gantry__schedule_arena_t;

/* The bodies of a branch or a loop. */
typedef struct gantry__block_t {
    uint32_t node;
    struct gantry__schedule_t *bodies; /* one for each body of the node */
    uint32_t body_count;               /* the number of bodies that are made */
} gantry__block_t;

struct gantry__replay_notes_t;

typedef struct gantry__schedule_t {
    const gantry__graph_t *graph;
    gantry_runtime_t *runtime;
    gantry__arena_t memory;       /* what the arrays below point to */
    gantry__node_place_t *places; /* one for each of graph->node_count nodes */
    uint32_t *first_slots; /* one for each of graph->value_count values; GANTRY__NO_SLOT: none */
    gantry__slot_t *slots;
    gantry__action_t *actions;
    uint32_t *ended;
    uint32_t *outputs; /* slots of the graph's outputs */
    gantry__schedule_arena_t *arenas;
    uint32_t lane_count;     /* threads that run a call; 1: only the caller's */
    uint32_t *lane_sizes;    /* the number of actions of each lane */
    uint32_t **lanes;        /* for each lane its actions, in order */
    gantry__block_t *blocks; /* in the order of their nodes */
    size_t block_count, block_capacity;
    size_t slot_count, slot_capacity, action_count, action_capacity, ended_count, ended_capacity;
    size_t arena_count, arena_capacity;
    uint32_t call_count, overwrite_count;
    uint32_t most_inputs;      /* the most that an action has */
    bool has_faulty_constants; /* some that may fail, when a kernel has met bad data */
    uint64_t copied_bytes;     /* bytes copied between devices in each call */
    /* the devices of the actions that have a queue of their own; more are left out */
    gantry_logical_device_t *queued[GANTRY__MOST_QUEUED];
    uint32_t queued_count;
    /* the notes on graphs of devices (replay.h); NULL: no device of the schedule makes any */
    struct gantry__replay_notes_t *notes;
} gantry__schedule_t;

/* Places the graph, which must outlive the schedule, and plans its memory. threads is
 * gantry_function_options_t.inter_op_threads. */
gantry_status_t gantry__schedule_init(gantry__schedule_t *schedule, gantry_runtime_t *runtime,
                                      const gantry__graph_t *graph, int32_t threads);
void gantry__schedule_deinit(gantry__schedule_t *schedule);

/* Bytes of a call on a device; constants: of all calls. */
typedef struct gantry__device_bytes_t {
    const gantry_logical_device_t *device; /* NULL: the schedule does not use it */
    uint64_t planned_bytes, unplanned_bytes, constant_bytes, result_bytes;
} gantry__device_bytes_t;

/* Adds the schedule's bytes; all: of each device of the runtime, by position, 0 at first. */
void gantry__schedule_sum_bytes(const gantry__schedule_t *schedule, gantry__device_bytes_t *all);
/* The most bytes that a call takes on a device: planned ones and results. *out_device: that one;
 * NULL: none takes any. */
gantry_status_t gantry__schedule_most_bytes(const gantry__schedule_t *schedule, uint64_t *out_bytes,
                                            const gantry_logical_device_t **out_device);

/* ---- its parts ---- */

/* Places every node, records the placements and logs them: schedule_place.c. */
gantry_status_t gantry__schedule_place(gantry__schedule_t *schedule);
/* Spreads the actions over lanes that run at the same time: lanes.c. */
gantry_status_t gantry__schedule_spread(gantry__schedule_t *schedule, int32_t threads);
/* Makes tensors of the values that a kernel changes in part for a result that is a tensor, so that
 * it may do so in place: schedule_overwrite.c. */
void gantry__schedule_pass_memory_on(const gantry__schedule_t *schedule);
/* Finds the actions that may overwrite variables, arguments and tensors of the call:
 * schedule_overwrite.c. */
gantry_status_t gantry__schedule_find_overwrites(gantry__schedule_t *schedule);
/* Whether an action after this one takes the argument. */
bool gantry__schedule_takes_after(const gantry__schedule_t *schedule, uint32_t action,
                                  uint32_t argument);
/* The first of the action's inputs over which its kernel may not write output 0. */
uint32_t gantry__schedule_donor_end(const gantry__schedule_t *schedule,
                                    const gantry__action_t *action);
/* Whether another input of the action is a part of this one, or has elements of another size, as an
 * alias: a kernel that writes over the whole would change it. */
bool gantry__schedule_is_read_in_part(const gantry__schedule_t *schedule,
                                      const gantry__action_t *action, uint32_t input);
/* Whether an output of the action's kernel may take the memory of this input, which must end there
 * and have its size. For several parts (_FusedParts) that is so only for an input that no other
 * part reads. */
bool gantry__schedule_may_lie_over(const gantry__schedule_t *schedule,
                                   const gantry__action_t *action, uint32_t output, uint32_t input);
/* Gives offsets to the slots in arenas: plan_memory.c. */
gantry_status_t gantry__schedule_plan_memory(gantry__schedule_t *schedule);
/* Makes the notes of graphs of devices, if a device makes graphs: replay.c. */
gantry_status_t gantry__schedule_make_notes(gantry__schedule_t *schedule);
/* Moves copies to directly after the action that makes their source: schedule_copies.c. */
gantry_status_t gantry__schedule_move_copies(gantry__schedule_t *schedule);

#endif
