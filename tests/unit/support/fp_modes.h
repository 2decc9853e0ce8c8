/* SPDX-License-Identifier: Apache-2.0 */
/* Floating-point modes that programs choose, for tests of results and callbacks in them. Include it
 * after cmocka.h. */
#ifndef GANTRY_TEST_FP_MODES_H
#define GANTRY_TEST_FP_MODES_H

#include <fenv.h>
#include <stdint.h>

#include "host/fp_mode.h"

typedef struct fp_mode_case_t {
    const char *name;
    int rounding;
    bool flushes; /* denormals */
    bool traps;   /* divisions by zero, overflows, invalid operations */
} fp_mode_case_t;

static const fp_mode_case_t fp_modes[] = {
    {"denormals flushed", FE_TONEAREST, true, false},
    {"up", FE_UPWARD, false, false},
    {"down", FE_DOWNWARD, false, false},
    {"to zero", FE_TOWARDZERO, false, false},
    {"up, denormals flushed", FE_UPWARD, true, false},
    {"exceptions trap", FE_TONEAREST, false, true},
};
enum { FP_MODES = sizeof fp_modes / sizeof fp_modes[0] };

/* As the program says it. Returns the mode before. */
static inline gantry__fp_mode_t fp_mode_set(const fp_mode_case_t *wanted) {
    const gantry__fp_mode_t before = gantry__fp_read();
    (void)fesetround(wanted->rounding);
    gantry__fp_mode_t mode = gantry__fp_read();
#if defined(__x86_64__) || defined(__i386__)
    if (wanted->flushes) mode.sse |= 0x8040;
    if (wanted->traps) mode.sse &= ~0x0680u, mode.x87 = (uint16_t)(mode.x87 & ~0x000du);
    (void)feclearexcept(FE_ALL_EXCEPT);
#elif defined(__aarch64__)
    if (wanted->flushes) mode.fpcr |= 1u << 24;
    if (wanted->traps) mode.fpcr |= 0x0700; /* no effect on many processors */
#endif
    gantry__fp_write(mode);
    return before;
}

#define assert_same_mode(a, b) assert_true(gantry__fp_equal(a, b))

#endif
