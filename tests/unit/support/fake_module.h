/* SPDX-License-Identifier: Apache-2.0 */
/* The fake backend's modules as built, and their controls. Header only. */
#ifndef TESTS_FAKE_MODULE_H
#define TESTS_FAKE_MODULE_H

#include <dlfcn.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "fake_backend.h"

/* The folder of a variant: GANTRY_TEST_MODULES/fake, .../other, ... */
#define FAKE_FOLDER(variant) GANTRY_TEST_MODULES "/" variant
#define FAKE_FILE(variant, name) FAKE_FOLDER(variant) "/libgantry_backend_" name ".so"

/* The control of a module file, which stays loaded. The library opens the same module by that
 * path. */
static inline const gantry_fake_control_t *fake_module_control(const char *file) {
    void *module = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (!module) fail_msg("%s", dlerror());
    void *symbol = dlsym(module, GANTRY_FAKE_CONTROL_SYMBOL);
    assert_non_null(symbol);
    gantry_fake_control_fn control;
    memcpy(&control, &symbol, sizeof control);
    return control();
}

/* Fails with the first violation's text. */
static inline void fake_expect_clean(const gantry_fake_control_t *control) {
    char text[256];
    control->first_violation(text, sizeof text);
    if (control->violations() != 0)
        fail_msg("the fake backend counted %d violations: %s", (int)control->violations(), text);
}

static inline void fake_expect_nothing_lives(const gantry_fake_control_t *control) {
    fake_expect_clean(control);
    for (int kind = 0; kind < GANTRY_FAKE_KINDS; ++kind)
        assert_int_equal(control->live((gantry_fake_kind_t)kind), 0);
    for (uint32_t device = 0; device < GANTRY_FAKE_DEVICES; ++device) {
        assert_int_equal(control->live_bytes(device), 0);
        assert_int_equal(control->waiting(device), 0);
    }
}

#endif
