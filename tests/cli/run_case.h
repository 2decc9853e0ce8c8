/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of gantry run share: two PoCL devices as cards, and claims in the test's own folder.
 * Header only. */
#ifndef TESTS_CLI_RUN_CASE_H
#define TESTS_CLI_RUN_CASE_H

#include "cli_case.h"

static bool has_opencl;

#define RUN "$BIN/gantry run --quiet "

#define NEED_OPENCL \
    if (!has_opencl) SKIP_BECAUSE("no OpenCL device here")

/* Test programs call this first; 1 if they cannot go on. */
static inline int open_run_folder(void) {
    char claims[96];
    (void)setenv("POCL_DEVICES", "pthread pthread", 1);
    (void)setenv("GANTRY_OPENCL_CPU", "gpu", 1);
    if (open_folder() != 0) return 1;
    (void)snprintf(claims, sizeof claims, "%s/claims", folder);
    (void)setenv("GANTRY_CLAIMS_DIR", claims, 1);
    (void)unsetenv("GANTRY_RUN_DEVICES");
    return find_opencl(2, &has_opencl) ? 0 : 1;
}

#endif
