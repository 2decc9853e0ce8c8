/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a file of tests/golden in a test. Header only. */
#ifndef TESTS_GOLDEN_FILE_H
#define TESTS_GOLDEN_FILE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "../../conformance/golden.h"

/* name: the path in tests/golden. The caller frees the file (golden_free). */
static inline void golden_file_open(const char *name, golden_file_t *file) {
    char path[512], why[512];
    (void)snprintf(path, sizeof path, GANTRY_TEST_SOURCE_DIR "/tests/golden/%s", name);
    if (golden_load(path, file, why, sizeof why) != 0) fail_msg("%s", why);
}

#endif
