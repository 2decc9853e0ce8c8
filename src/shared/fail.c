/* SPDX-License-Identifier: Apache-2.0 */
#include "shared/fail.h"

#include <stdarg.h>

#include "shared/c_locale.h"

gantry_status_t(gantry__fail)(gantry_status_t code, const char *format, ...) {
    char text[GANTRY__MESSAGE_BYTES]; /* the arguments may point into the old message */
    va_list args;
    va_start(args, format);
    (void)gantry__format(text, sizeof text, format, args);
    va_end(args);
    return gantry_fail(code, text);
}
