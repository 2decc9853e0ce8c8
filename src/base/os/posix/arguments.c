/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/arguments.h"

char **gantry__os_arguments(int *count, char **given) {
    (void)count;
    return given;
}
