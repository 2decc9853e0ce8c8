/* SPDX-License-Identifier: Apache-2.0 */
/* with_opencl device|pocl PROGRAM ARGUMENTS...: runs the program where OpenCL has a device, or
 * PoCL has one; elsewhere it is skipped or fails, as need_opencl.h says. */
#define _XOPEN_SOURCE 700

#include "need_opencl.h"

int main(int count, char **arguments) {
    const bool needs_pocl = count > 2 && strcmp(arguments[1], "pocl") == 0;
    if (count < 3 || (!needs_pocl && strcmp(arguments[1], "device") != 0)) {
        (void)fprintf(stderr, "usage: with_opencl device|pocl PROGRAM ARGUMENTS...\n");
        return 2;
    }
    const int code = needs_pocl ? skip_without_pocl() : skip_without_opencl();
    if (code != 0) return code;
    (void)execvp(arguments[2], arguments + 2);
    perror(arguments[2]);
    return 1;
}
