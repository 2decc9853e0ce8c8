/* SPDX-License-Identifier: Apache-2.0 */
/* The examples share this: a log to standard error, and a check that ends the program at the first
 * error. It uses only the public API. Threads: externally synchronised. */
#ifndef GANTRY_EXAMPLES_EXAMPLE_H
#define GANTRY_EXAMPLES_EXAMPLE_H

#include <gantry/gantry.h>
#include <stdio.h>
#include <stdlib.h>

static inline void example_log(void *user, gantry_log_level_t level, const char *text) {
    (void)user;
    static const char letters[] = "?DIWE";
    (void)fflush(stdout); /* keeps both streams in order on one terminal */
    (void)fprintf(stderr, "%c %s\n",
                  letters[(unsigned)level < sizeof letters - 1 ? (unsigned)level : 0], text);
}

/* Ends the program after an error. The library itself never exits. */
static inline void example_check(gantry_status_t status, const char *what) {
    if (status == GANTRY_OK) return;
    (void)fprintf(stderr, "%s: %s: %s\n", what, gantry_status_name(status), gantry_last_message());
    exit(1);
}

/* Prints a tensor as Python does: its elements, shape and type. */
static inline void example_print(const gantry_tensor_t *tensor) {
    char text[4096], shape[128];
    if (gantry_tensor_format(tensor, NULL, text, sizeof text, NULL) != GANTRY_OK) {
        (void)printf("%s\n", gantry_last_message());
        return;
    }
    (void)gantry_shape_format(gantry_tensor_shape(tensor), shape, sizeof shape);
    (void)printf("gantry.Tensor(\n%s, shape=%s, dtype=%s)\n", text, shape,
                 gantry_dtype_name(gantry_tensor_dtype(tensor)));
}

/* Prints the profile, which must have been started. */
static inline void example_print_profile(gantry_runtime_t *runtime) {
    size_t length = 0;
    example_check(gantry_profile_format(runtime, GANTRY_REPORT_TEXT, NULL, 0, &length),
                  "gantry_profile_format");
    char *text = malloc(length + 1);
    if (text &&
        gantry_profile_format(runtime, GANTRY_REPORT_TEXT, text, length + 1, NULL) == GANTRY_OK)
        (void)printf("\n%s", text);
    free(text);
}

#endif
