/* SPDX-License-Identifier: Apache-2.0 */
/* The floating-point mode of a thread: rounding, treatment of denormals, exceptions that trap.
 *
 * A program may choose it: start-up code of -Ofast flushes denormals, audio hosts and games set
 * their own, and a new thread inherits its creator's. Results have equal bits in one mode only, so
 * Gantry computes in its own: round to nearest, denormals kept, no traps. A call of the library
 * takes it at its beginning, and gives the caller's back at its end. In between the library starts
 * its threads and calls drivers and libraries, whose threads inherit the mode. A callback of the
 * program runs in the program's mode.
 *
 *     program   -- own mode --[ call: Gantry's mode --[ callback: program's mode ]-- ]-- own mode
 *
 * The mode is always read, and written only if it differs: to read it takes some instructions, and
 * to write it empties the pipeline. Flags of exceptions are no part of the mode and stay.
 *
 * This header includes nothing of Gantry: the core and the training library both include it, and
 * keep the program's mode for callbacks in one slot of the thread, which the core owns. So a
 * callback of the core (log, placements, heap, device functions, observers) has the program's mode
 * within a call of the training library, too. Bodies and observers of the training library, which
 * the core calls, count as the program's: those that compute take Gantry's mode again.
 * Thread-safe. */
#ifndef GANTRY_HOST_FP_MODE_H
#define GANTRY_HOST_FP_MODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__) || (defined(__i386__) && defined(__SSE2__))

/* The words of SSE and AVX, and of the x87 unit: long double, and the C library's printf and
 * strtod. */
typedef struct gantry__fp_mode_t {
    uint32_t sse;
    uint16_t x87;
} gantry__fp_mode_t;

#define GANTRY__FP_OWN ((gantry__fp_mode_t){0x1f80, 0x037f})
#define GANTRY__FP_SSE_FLAGS 0x003fu
#define GANTRY__FP_SSE_MODE 0xffc0u
#define GANTRY__FP_X87_MASKS 0x003fu
#define GANTRY__FP_X87_MODE 0x0f3fu /* without bits that are reserved */

static inline gantry__fp_mode_t gantry__fp_read(void) {
    gantry__fp_mode_t mode;
    mode.sse = __builtin_ia32_stmxcsr();
    __asm__ volatile("fnstcw %0" : "=m"(mode.x87));
    return mode;
}

static inline bool gantry__fp_equal(gantry__fp_mode_t a, gantry__fp_mode_t b) {
    return (((a.sse ^ b.sse) & GANTRY__FP_SSE_MODE) |
            ((uint32_t)(a.x87 ^ b.x87) & GANTRY__FP_X87_MODE)) == 0;
}

/* A flag of the x87 unit whose exception traps from now on would trap at its next instruction. */
static inline void gantry__fp_write(gantry__fp_mode_t mode) {
    const uint32_t flags = __builtin_ia32_stmxcsr() & GANTRY__FP_SSE_FLAGS;
    __builtin_ia32_ldmxcsr((mode.sse & ~GANTRY__FP_SSE_FLAGS) | flags);
    if (~mode.x87 & GANTRY__FP_X87_MASKS) __asm__ volatile("fnclex" ::: "memory");
    __asm__ volatile("fldcw %0" ::"m"(mode.x87) : "memory");
}

#elif defined(__aarch64__)

typedef struct gantry__fp_mode_t {
    uint64_t fpcr;
} gantry__fp_mode_t;

#define GANTRY__FP_OWN ((gantry__fp_mode_t){0})
/* FIZ, AH, NEP; the traps with EBF; FZ16; rounding, FZ, DN, AHP */
#define GANTRY__FP_FPCR_MODE UINT64_C(0x07c8bf07)

static inline gantry__fp_mode_t gantry__fp_read(void) {
    gantry__fp_mode_t mode;
    __asm__ volatile("mrs %0, fpcr" : "=r"(mode.fpcr));
    return mode;
}

static inline bool gantry__fp_equal(gantry__fp_mode_t a, gantry__fp_mode_t b) {
    return ((a.fpcr ^ b.fpcr) & GANTRY__FP_FPCR_MODE) == 0;
}

static inline void gantry__fp_write(gantry__fp_mode_t mode) {
    __asm__ volatile("msr fpcr, %0" ::"r"(mode.fpcr) : "memory");
}

#else

#include <fenv.h>

/* What C can say: the rounding. */
typedef struct gantry__fp_mode_t {
    int rounding;
} gantry__fp_mode_t;

#define GANTRY__FP_OWN ((gantry__fp_mode_t){FE_TONEAREST})

static inline gantry__fp_mode_t gantry__fp_read(void) { return (gantry__fp_mode_t){fegetround()}; }

static inline bool gantry__fp_equal(gantry__fp_mode_t a, gantry__fp_mode_t b) {
    return a.rounding == b.rounding;
}

static inline void gantry__fp_write(gantry__fp_mode_t mode) { (void)fesetround(mode.rounding); }

#endif

/* ---- a few lines that call nothing of the program ---- */

/* Returns the mode before, for gantry__fp_restore. */
static inline gantry__fp_mode_t gantry__fp_set_own(void) {
    const gantry__fp_mode_t before = gantry__fp_read();
    if (!gantry__fp_equal(before, GANTRY__FP_OWN)) gantry__fp_write(GANTRY__FP_OWN);
    return before;
}

static inline void gantry__fp_restore(gantry__fp_mode_t mode) {
    if (!gantry__fp_equal(gantry__fp_read(), mode)) gantry__fp_write(mode);
}

/* ---- calls and callbacks ---- */

/* The mode of the program whose call this thread is in; NULL: Gantry's own. */
typedef const gantry__fp_mode_t *gantry__fp_program_t;
/* Where the library keeps it for the calling thread. */
typedef gantry__fp_program_t *(*gantry__fp_slot_fn)(void);

/* A call of the library: in its caller's frame until it ends. */
typedef struct gantry__fp_call_t {
    gantry__fp_mode_t mode; /* its caller's */
    bool differs;           /* from Gantry's own */
    gantry__fp_program_t outer;
} gantry__fp_call_t;

static __attribute__((cold, noinline, unused)) void gantry__fp_take(gantry__fp_call_t *call,
                                                                    gantry__fp_program_t *slot) {
    call->outer = *slot;
    *slot = &call->mode;
    gantry__fp_write(GANTRY__FP_OWN);
}

static __attribute__((cold, noinline, unused)) void gantry__fp_give_back(
    const gantry__fp_call_t *call, gantry__fp_program_t *slot) {
    *slot = call->outer;
    gantry__fp_write(call->mode);
}

static inline void gantry__fp_call_begin(gantry__fp_call_t *call, gantry__fp_slot_fn slot) {
    call->mode = gantry__fp_read();
    call->differs = !gantry__fp_equal(call->mode, GANTRY__FP_OWN);
    if (call->differs) gantry__fp_take(call, slot());
}

static inline void gantry__fp_call_end(const gantry__fp_call_t *call, gantry__fp_slot_fn slot) {
    if (call->differs) gantry__fp_give_back(call, slot());
}

/* A callback of the program. */
typedef struct gantry__fp_callback_t {
    gantry__fp_mode_t before; /* the callback */
    gantry__fp_program_t program;
} gantry__fp_callback_t;

static inline gantry__fp_callback_t gantry__fp_callback_begin(gantry__fp_program_t *slot) {
    const gantry__fp_callback_t callback = {gantry__fp_read(), *slot};
    *slot = NULL;
    if (callback.program) gantry__fp_write(*callback.program);
    return callback;
}

/* A change of mode that the callback leaves ends with it. */
static inline void gantry__fp_callback_end(const gantry__fp_callback_t *callback,
                                           gantry__fp_program_t *slot) {
    gantry__fp_restore(callback->before);
    *slot = callback->program;
}

#endif
