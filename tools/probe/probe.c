/* SPDX-License-Identifier: Apache-2.0 */
/* gantry probe ALIAS [REPORT]: opens a device for another process, before that process opens it for
 * the first time. An alias without a number is a backend, which is opened without a device. If the
 * driver ends this process or hangs, the other one leaves it out.
 *
 * A driver may end the process with any exit code, also with 0. So the library names the descriptor
 * of a pipe, REPORT, which gets a byte before the driver is opened and one at the end. */
#include <stdlib.h>
#include <string.h>

#include "base/os/files.h"
#include "base/os/trial.h"
#include "command/command.h"
#include "common/tool.h"

#define MOST_SECONDS 60 /* a first build on a busy machine takes a few seconds */
#define UNKNOWN 3       /* the exit code if the device or the library is not the expected one */

static int probe_device(gantry_runtime_t *runtime, const char *alias) {
    const gantry_logical_device_t *device;
    const float one = 1;
    if (gantry_find_logical_device(runtime, alias, &device) != GANTRY_OK) return UNKNOWN;
    /* a reported failure is not a crash */
    gantry_scope_t *scope = gantry_scope_begin(runtime, alias);
    (void)gantry_constant(scope, GANTRY_FLOAT32, GANTRY_SCALAR, &one, sizeof one);
    (void)gantry_scope_end(scope);
    return 0;
}

static void probe_report(const gantry_command_values_t *values, char byte) {
    const int file = values->operand_count > 1 ? atoi(values->operands[1]) : -1;
    if (file > 2) (void)gantry__os_write(file, &byte, 1, GANTRY__OS_NEXT);
}

static int probe_run(const gantry_command_values_t *values) {
    const char *alias = values->operands[0];
    gantry__os_crash_quietly();
    gantry__os_end_with_parent();
    gantry__os_end_after(MOST_SECONDS); /* also if a driver holds it */
    const gantry_runtime_options_t options = {.struct_size = sizeof options};
    gantry_runtime_t *runtime;
    probe_report(values, 'b');
    const bool is_open = gantry_runtime_create(&options, &runtime) == GANTRY_OK;
    const int code = !is_open ? UNKNOWN : strchr(alias, ':') ? probe_device(runtime, alias) : 0;
    if (!is_open) (void)gantry_tool_fail_last();
    gantry_runtime_release(runtime);
    probe_report(values, code == 0 ? 'w' : 'u');
    _Exit(code); /* a driver's exit handlers prove nothing */
}

const gantry_command_t gantry_command_probe = {.name = "probe",
                                               .summary = "opens a device for the library",
                                               .operands = "ALIAS [REPORT]",
                                               .operand_least = 1,
                                               .operand_most = 2,
                                               .is_hidden = true,
                                               .exit_codes = {{UNKNOWN, "the device is unknown"}},
                                               .run = probe_run};
