/* SPDX-License-Identifier: Apache-2.0 */
#include "base/os/terminal.h"

#include <io.h>
#include <stdlib.h>
#include <windows.h>

#include "base/os/windows/handles.h"

bool gantry__os_is_terminal(FILE *file) {
    DWORD mode;
    return GetConsoleMode(gantry__os_handle(_fileno(file)), &mode);
}

const char *gantry__os_terminal_kind(FILE *file) {
    const HANDLE handle = gantry__os_handle(_fileno(file));
    const char *kind = getenv("TERM");
    DWORD mode;
    if (!GetConsoleMode(handle, &mode)) return kind;
    if (!SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING)) return "dumb";
    return kind ? kind : "console";
}

void gantry__os_terminal_size(FILE *file, size_t *out_columns, size_t *out_lines) {
    CONSOLE_SCREEN_BUFFER_INFO info;
    const bool is_known = GetConsoleScreenBufferInfo(gantry__os_handle(_fileno(file)), &info);
    *out_columns = is_known ? (size_t)(info.srWindow.Right - info.srWindow.Left + 1) : 0;
    *out_lines = is_known ? (size_t)(info.srWindow.Bottom - info.srWindow.Top + 1) : 0;
}
