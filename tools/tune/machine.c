/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the load by other processes, because figures of a busy machine mislead. */
#define _POSIX_C_SOURCE 200809L

#include <stdio.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "tune/tune.h"

/* /proc/stat's first line, in ticks of all cores: user nice system idle iowait irq softirq
 * steal. */
static bool read_ticks(double *out_busy, double *out_all) {
    double ticks[8] = {0};
    FILE *file = fopen("/proc/stat", "r");
    if (!file) return false;
    int count = fscanf(file, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &ticks[0], &ticks[1], &ticks[2],
                       &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]);
    (void)fclose(file);
    *out_all = *out_busy = 0;
    for (int i = 0; i < 8; ++i) {
        *out_all += ticks[i];
        if (i != 3 && i != 4) *out_busy += ticks[i];
    }
    return count == 8;
}

static double own_seconds(void) { return 1e-9 * (double)gantry__os_process_ns(); }

void tune_machine_begin(tune_machine_t *self) {
    self->is_known = read_ticks(&self->busy, &self->all);
    self->own_seconds = own_seconds();
}

double tune_machine_others(const tune_machine_t *self) {
    double busy, all;
    long per_second = sysconf(_SC_CLK_TCK);
    if (!self->is_known || per_second <= 0 || !read_ticks(&busy, &all) || !(all - self->all > 0))
        return 0;
    double own = (own_seconds() - self->own_seconds) * (double)per_second;
    double others = (busy - self->busy - own) / (all - self->all);
    return others > 0 ? others : 0;
}
