/* SPDX-License-Identifier: Apache-2.0 */
/* gantry probe ALIAS: opens a device that another process does not know yet. If its driver ends
 * this process, that one is warned. Users do not call it. */
#define _XOPEN_SOURCE 700
#include <sys/resource.h>

#include "gantry_tool.h"

#define UNKNOWN 3 /* this is not the device that was meant, or not the library */

int gantry_tool_probe(const char *alias) {
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
    const gantry_runtime_options_t options = {.struct_size = sizeof options};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) return UNKNOWN;
    int code = UNKNOWN;
    const float one = 1;
    gantry_scope_t *scope = gantry_scope_begin(runtime, alias);
    if (scope) {
        /* a failure that is told is no crash */
        (void)gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SCALAR, &one, sizeof one);
        (void)gantry_scope_end(scope);
        code = 0;
    }
    gantry_runtime_release(runtime);
    return code;
}
