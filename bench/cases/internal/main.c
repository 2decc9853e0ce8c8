/* SPDX-License-Identifier: Apache-2.0 */
/* gantry_bench_internal: the allocator, fused programs and the placer of functions by themselves.
 * It measures hits and refusals, compares the memory held over traces of programs with TensorFlow's
 * rules, and measures fused programs and the plans of functions. No public call does only this. So
 * the program is linked with the library's own objects, as unit tests are.
 *
 *   gantry_bench_internal [--quick] [--json FILE] [--only-placement] */
#include <stdio.h>
#include <string.h>

#include "internal.h"

#define ROUNDS 9
#define QUICK_ROUNDS 3

int main(int argc, char **argv) {
    int rounds = ROUNDS;
    const char *json = NULL;
    bool only_placement = false;
    for (int i = 1; i < argc; ++i) {
        if (strcmp(argv[i], "--quick") == 0) {
            rounds = QUICK_ROUNDS;
        } else if (strcmp(argv[i], "--only-placement") == 0) {
            only_placement = true;
        } else if (strcmp(argv[i], "--json") == 0 && i + 1 < argc) {
            json = argv[++i];
        } else {
            (void)fprintf(
                stderr,
                "usage: gantry_bench_internal [--quick] [--json FILE] [--only-placement]\n");
            return 2;
        }
    }
    bench_report_t report;
    bench_report_init(&report);
    bench_placing(&report, rounds);
    bench_traces_t *traces = NULL;
    if (!only_placement) {
        bench_pairs(&report, rounds);
        bench_ladder(&report, rounds);
        bench_fused(&report, rounds);
        traces = bench_traces_run(rounds);
    }
    bench_report_print(&report, NULL, 0);
    int code = only_placement ? 0 : 1;
    if (traces) {
        bench_traces_print(traces);
        bench_traces_report(traces, &report);
        code = 0;
    }
    if (json && !bench_report_write_json(&report, json, NULL, 0)) {
        (void)fprintf(stderr, "%s could not be written\n", json);
        code = 1;
    }
    bench_traces_release(traces);
    bench_report_deinit(&report);
    return code;
}
