/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time of a call goes: one frame for each call in progress, on its thread's stack, whose
 * clock always runs for one phase.
 *
 *   calls     LayerNorm ..........................
 *                 Mean ......  Sub ......
 *   steps         scope|placement|copy|allocation|kernel|scope
 *
 * Frames nest: while an inner frame is open, the clock of the outer one is stopped. The code that
 * does the work must enter its phase, and must afterwards return to the previous phase.
 *
 * Knows no device and keeps nothing: the numbers go to the code that closes the frame
 * (run/profile.h). The innermost frame is a thread variable, because waits, copies and allocations
 * happen far below the call that is charged for them. NULL while nothing is recorded. A frame
 * belongs to its thread. */
#ifndef GANTRY_BASE_PROFILE_FRAME_H
#define GANTRY_BASE_PROFILE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* For functions that run only while a profile is recorded: keeps them apart from hot code. */
#define GANTRY__RECORDING __attribute__((noinline))

typedef enum gantry__phase_t {
    GANTRY__PHASE_SCOPE = 0,
    GANTRY__PHASE_PLACEMENT,
    GANTRY__PHASE_COPY,
    GANTRY__PHASE_ALLOCATION,
    GANTRY__PHASE_PROGRAM,
    GANTRY__PHASE_LAUNCH,
    GANTRY__PHASE_KERNEL,
    GANTRY__PHASE_WAIT,
    GANTRY__PHASES
} gantry__phase_t;

typedef struct gantry__profile_numbers_t {
    uint64_t calls, launches, bytes_moved, argument_bytes, allocations, allocated_bytes,
        driver_allocations;
    uint64_t ns[GANTRY__PHASES];
} gantry__profile_numbers_t;

typedef struct gantry__profile_frame_t {
    struct gantry__profile_frame_t *outer; /* the call that this one is a part of, or NULL */
    gantry__phase_t phase;
    bool has_phases;     /* false: a timeline needs only its beginning and end */
    bool times_launches; /* the timeline needs launched_ns */
    uint64_t since_ns;
    uint64_t begun_ns;
    uint64_t launched_ns; /* its first launch; 0: none, or not needed */
    gantry__profile_numbers_t numbers;
} gantry__profile_frame_t;

/* The thread's innermost frame; NULL: none. */
gantry__profile_frame_t *gantry__profile_current(void);

void gantry__profile_open(gantry__profile_frame_t *frame, bool has_phases);
/* The frame is the innermost one. */
void gantry__profile_close(gantry__profile_frame_t *frame);

/* Counts a kernel that is about to be submitted. */
void gantry__profile_count_launch(gantry__profile_frame_t *frame) GANTRY__RECORDING;

/* Returns the previous phase of a frame with steps. Waits for a timed kernel, and for new memory to
 * be committed, do not change the phase. */
gantry__phase_t gantry__profile_switch(gantry__profile_frame_t *frame, gantry__phase_t phase);

/* Returns the previous phase, to be entered again. Does nothing if frame is NULL or has no
 * phases. */
static inline gantry__phase_t gantry__profile_enter(gantry__profile_frame_t *frame,
                                                    gantry__phase_t phase) {
    return frame && frame->has_phases ? gantry__profile_switch(frame, phase) : phase;
}

/* ---- a phase for a block ---- */

typedef struct gantry__phase_block_t {
    gantry__profile_frame_t *frame; /* NULL: nothing is recorded */
    gantry__phase_t before;
} gantry__phase_block_t;

static inline gantry__phase_block_t gantry__phase_begin(gantry__profile_frame_t *frame,
                                                        gantry__phase_t phase) {
    return (gantry__phase_block_t){frame, gantry__profile_enter(frame, phase)};
}
static inline void gantry__phase_end(const gantry__phase_block_t *block) {
    (void)gantry__profile_enter(block->frame, block->before);
}

/* GANTRY__PHASE(frame, COPY); runs the clock of the frame for that phase until the block ends in
 * any way, and then for the previous phase. frame may be NULL, which costs one comparison. */
#define GANTRY__PHASE(frame, phase)                      \
    __attribute__((cleanup(gantry__phase_end), unused))  \
    const gantry__phase_block_t gantry__phase_of_block = \
        gantry__phase_begin(frame, GANTRY__PHASE_##phase)

void gantry__profile_add(gantry__profile_numbers_t *sum, const gantry__profile_numbers_t *numbers);

#endif
