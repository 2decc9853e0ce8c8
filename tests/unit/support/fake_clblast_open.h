/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the CLBlast that computes nothing as this process's CLBlast. Header only. */
#ifndef TESTS_FAKE_CLBLAST_OPEN_H
#define TESTS_FAKE_CLBLAST_OPEN_H

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "opencl/fake_clblast.h"

static fake_clblast_t *fake;

static inline void fake_clblast_open(void) {
    void *library = dlopen(GANTRY_TEST_MODULES "/clblast/libclblast.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library) fail_msg("%s", dlerror());
    void *symbol = dlsym(library, "fake_clblast");
    assert_non_null(symbol);
    fake_clblast_fn state_of;
    memcpy(&state_of, &symbol, sizeof state_of);
    fake = state_of();
}

/* A test's set-up: no calls so far, and no failure. */
static inline int fake_clblast_reset(void **state) {
    (void)state;
    if (!fake) fake_clblast_open();
    memset(fake, 0, sizeof *fake);
    return 0;
}

#endif
