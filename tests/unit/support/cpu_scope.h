/* SPDX-License-Identifier: Apache-2.0 */
/* A runtime and a scope on the CPU for each test of the ops' C functions. Static; include once. */
#ifndef GANTRY_TESTS_CPU_SCOPE_H
#define GANTRY_TESTS_CPU_SCOPE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <gantry/gantry.h>

typedef struct cpu_scope_t {
    gantry_runtime_t *runtime;
    gantry_scope_t *scope;
} cpu_scope_t;

static inline int cpu_scope_set_up(void **state) {
    static cpu_scope_t fixture;
    assert_int_equal(gantry_runtime_create(NULL, &fixture.runtime), GANTRY_OK);
    fixture.scope = gantry_scope_begin(fixture.runtime, "/CPU:0");
    assert_non_null(fixture.scope);
    *state = &fixture;
    return 0;
}

static inline int cpu_scope_tear_down(void **state) {
    cpu_scope_t *f = *state;
    (void)gantry_scope_end(f->scope);
    gantry_runtime_release(f->runtime);
    return 0;
}

#endif
