/* SPDX-License-Identifier: Apache-2.0 */
/* gantry probe ALIAS: opens a device for another process, before that process opens it for the
 * first time. An alias without a number is a backend, which is opened without a device. If the
 * driver ends this process or hangs, the other one leaves it out. Only the library calls this
 * command. */
#define _GNU_SOURCE /* prctl */
#include <signal.h>
#include <string.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif
#include <sys/resource.h>
#include <unistd.h>

#include "gantry_tool.h"

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

static int probe_run(const gantry_command_values_t *values) {
    const char *alias = values->operands[0];
    const struct rlimit none = {0, 0};
    (void)setrlimit(RLIMIT_CORE, &none);
#if defined(__linux__)
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* nobody waits for the result of an orphan */
#endif
    (void)alarm(MOST_SECONDS); /* its signal ends a process that a driver holds */
    const gantry_runtime_options_t options = {.struct_size = sizeof options};
    gantry_runtime_t *runtime;
    if (gantry_runtime_create(&options, &runtime) != GANTRY_OK) return UNKNOWN;
    const int code = strchr(alias, ':') ? probe_device(runtime, alias) : 0;
    gantry_runtime_release(runtime);
    _exit(code); /* a driver's exit handlers prove nothing */
}

const gantry_command_t gantry_command_probe = {.name = "probe",
                                               .summary = "opens a device for the library",
                                               .operands = "ALIAS",
                                               .operand_least = 1,
                                               .operand_most = 1,
                                               .is_hidden = true,
                                               .exit_codes = {{UNKNOWN, "the device is unknown"}},
                                               .run = probe_run};
