/* SPDX-License-Identifier: Apache-2.0 */
/* --layers: the steps of a case's ops. Recording takes time, so the case runs once more for it, and
 * the figures of that run are dropped. */
#include "bench.h"

#include <stdlib.h>

static void print_profile(gantry_runtime_t *runtime, const char *name, const char *device) {
    size_t length = 0;
    if (!bench_is_ok(gantry_profile_format(runtime, GANTRY_REPORT_TEXT, NULL, 0, &length), device,
                     "gantry_profile_format"))
        return;
    char *text = malloc(length + 1);
    if (text &&
        gantry_profile_format(runtime, GANTRY_REPORT_TEXT, text, length + 1, NULL) == GANTRY_OK)
        (void)printf("%s on %s\n%s\n", name, device, text);
    free(text);
}

static void run_on(const bench_t *bench, const bench_device_t *device, const char *name,
                   void (*run)(bench_t *bench), gantry_profile_mode_t mode) {
    bench_t alone = *bench;
    alone.devices[0] = *device;
    alone.device_count = 1;
    alone.rounds = 1;
    alone.quick = true;
    bench_report_init(&alone.report);
    if (bench_is_ok(gantry_profile_start(bench->runtime, mode), device->alias,
                    "gantry_profile_start")) {
        run(&alone);
        (void)gantry_profile_stop(bench->runtime);
        size_t rows = gantry_profile_row_count(bench->runtime);
        if (rows > 0) print_profile(bench->runtime, name, device->alias);
        if (rows == 0)
            (void)printf("%s on %s: runs no op in this process\n\n", name, device->alias);
    }
    bench_report_deinit(&alone.report);
}

void bench_layers(bench_t *bench, const char *name, void (*run)(bench_t *bench),
                  gantry_profile_mode_t mode) {
    for (size_t i = 0; i < bench->device_count; ++i)
        run_on(bench, &bench->devices[i], name, run, mode);
}
