/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700
#include "base/os/load.h"

#include <stdio.h>
#include <unistd.h>

/* /proc/stat's first line, in ticks of all cores: user nice system idle iowait irq softirq
 * steal. */
bool gantry__os_load(double *out_busy, double *out_all) {
    double ticks[8] = {0};
    const long per_second = sysconf(_SC_CLK_TCK);
    FILE *file = per_second > 0 ? fopen("/proc/stat", "r") : NULL;
    *out_all = *out_busy = 0;
    if (!file) return false;
    const int count = fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0], &ticks[1],
                             &ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]);
    (void)fclose(file);
    for (int i = 0; i < 8; ++i) {
        const double seconds = ticks[i] / (double)per_second;
        *out_all += seconds;
        if (i != 3 && i != 4) *out_busy += seconds;
    }
    return count == 8;
}
