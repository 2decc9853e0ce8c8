/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700
#define _DEFAULT_SOURCE /* TIOCGWINSZ */
#include "base/os/terminal.h"

#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool gantry__os_is_terminal(FILE *file) { return isatty(fileno(file)) == 1; }

const char *gantry__os_terminal_kind(FILE *file) {
    (void)file;
    return getenv("TERM");
}

void gantry__os_terminal_size(FILE *file, size_t *out_columns, size_t *out_lines) {
    struct winsize size = {0};
    const bool is_known = ioctl(fileno(file), TIOCGWINSZ, &size) == 0;
    *out_columns = is_known ? size.ws_col : 0;
    *out_lines = is_known ? size.ws_row : 0;
}
