/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the load by other processes, because figures of a busy machine mislead. */
#include "base/os/clock.h"
#include "base/os/load.h"
#include "tune/tune.h"

static double own_seconds(void) { return 1e-9 * (double)gantry__os_process_ns(); }

void tune_machine_begin(tune_machine_t *self) {
    self->is_known = gantry__os_load(&self->busy, &self->all);
    self->own_seconds = own_seconds();
}

double tune_machine_others(const tune_machine_t *self) {
    double busy, all;
    if (!self->is_known || !gantry__os_load(&busy, &all) || !(all - self->all > 0)) return 0;
    double own = own_seconds() - self->own_seconds;
    double others = (busy - self->busy - own) / (all - self->all);
    return others > 0 ? others : 0;
}
