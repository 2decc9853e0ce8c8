/* SPDX-License-Identifier: Apache-2.0 */
/* The conformance program's main: options, files of rules, device, groups, summary. */
#include <stdio.h>
#include <stdlib.h>

#include "conformance.h"

static int load_rules(conformance_t *c) {
    char error[512];
    if (conformance_rules_load(c->options.expectations, 3, &c->expectations, error, sizeof error) ||
        (c->options.skip_file &&
         conformance_rules_load(c->options.skip_file, 2, &c->skips, error, sizeof error))) {
        printf("FAIL %s\n", error);
        return 1;
    }
    return 0;
}

/* Checks that need neither golden values nor a second device. */
static void run_subjects(conformance_t *c) {
    conformance_run_matmul(c);
    conformance_run_conv(c);
    conformance_run_tensors(c);
    conformance_run_transfers(c);
    conformance_run_large(c);
    conformance_run_calls(c);
    conformance_run_calls_shape(c);
    conformance_run_views(c);
    conformance_run_faults(c);
    conformance_run_fault_words(c);
    conformance_run_variables(c);
    conformance_run_draws(c);
    conformance_run_scopes(c);
    conformance_run_lacking(c);
    conformance_run_threads(c);
    conformance_run_memory(c);
    conformance_run_memory_control(c);
}

static int run(conformance_t *c) {
    int code = load_rules(c);
    if (code == 0 && !c->options.list) code = conformance_open(c);
    if (code) return code;
    conformance_run_golden(c);
    conformance_run_sweep(c);
    conformance_run_sweep_shape(c);
    conformance_run_sweep_index(c);
    if (!c->options.compare) {
        run_subjects(c);
        conformance_run_coverage(c);
    }
    return conformance_summary(c);
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* so that output before a driver's abort is visible */
    conformance_t *c = calloc(1, sizeof *c);
    if (!c) return 2;
    int parsed = conformance_options_parse(argc, argv, &c->options);
    int code = parsed == 0 ? run(c) : parsed > 0 ? 0 : 2;
    conformance_close(c);
    free(c);
    return code;
}
