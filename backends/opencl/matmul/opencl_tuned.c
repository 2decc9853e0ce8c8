/* SPDX-License-Identifier: Apache-2.0 */
#include "opencl/matmul/opencl_tuned.h"

#include <string.h>

#include "driver/native_error.h"

bool gantry__opencl_tuned(const gantry_host_t *host, const gantry_device_info_t *info,
                          const char *what, gantry_tuning_t *out_record) {
    memset(out_record, 0, sizeof *out_record);
    out_record->struct_size = sizeof *out_record;
    return GANTRY_ABI_HAS(host, tuning) && host->tuning &&
           host->tuning(host->self, info, what, out_record);
}

void gantry__opencl_tuned_refuse(const gantry_host_t *host, const char *what,
                                 const gantry_tuning_t *record, const char *reason) {
    gantry__host_log(host, GANTRY_LEVEL_WARNING, "Tuning file %.200s, line %u: %s is not used: %s",
                     record->file, record->line, what, reason);
}
