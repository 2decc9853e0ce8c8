/* SPDX-License-Identifier: Apache-2.0 */
/* The common part of the tests of device names: names and references that must parse, and their
 * canonical form. Header only. */
#ifndef TESTS_DEVICE_NAME_CASE_H
#define TESTS_DEVICE_NAME_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/failure.h"
#include "device/device_name.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static const char *const backends[] = {"cpu", "opencl", "cuda", "fake"};

typedef char line_t[GANTRY__DEVICE_NAME_BYTES];

static inline gantry__device_reference_t user(const char *text) {
    gantry__device_reference_t reference;
    if (gantry__device_reference_parse(text, backends, COUNT(backends), &reference) != GANTRY_OK)
        fail_msg("'%s': %s", text, gantry__message());
    return reference;
}

static inline gantry__device_name_t full(const char *text) {
    const gantry__device_reference_t reference = user(text);
    assert_int_equal(reference.kind, GANTRY__DEVICE_LOGICAL);
    return reference.name;
}

static inline void assert_name(const gantry__device_name_t *name, const char *expected,
                               const char *row) {
    line_t text;
    assert_true(gantry__device_name_format(name, text, sizeof text) < sizeof text);
    if (strcmp(text, expected) != 0) fail_msg("row '%s': got '%s', want '%s'", row, text, expected);
}

#endif
