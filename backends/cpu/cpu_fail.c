/* SPDX-License-Identifier: Apache-2.0 */
#include "cpu/cpu_fail.h"

#include <stdarg.h>
#include <stdio.h>

int32_t gantry__cpu_fail(const gantry_host_t *host, int32_t code, int64_t native_code,
                         const char *format, ...) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return host->set_error(host->self, code, native_code != 0 ? "errno" : "CPU", native_code, text);
}
