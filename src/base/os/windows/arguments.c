/* SPDX-License-Identifier: Apache-2.0 */
/* main gets its arguments in the code page of the machine, in which most names cannot be written. */
#include "base/os/arguments.h"

#include <fcntl.h>
#include <io.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <windows.h>

#include <shellapi.h>

static char *utf8_of(const wchar_t *wide) {
    const int bytes = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    char *text = bytes > 0 ? malloc((size_t)bytes) : NULL;
    if (text) (void)WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, bytes, NULL, NULL);
    return text;
}

/* The texts stay until the program ends. */
char **gantry__os_arguments(int *count, char **given) {
    int wide_count = 0;
    (void)_setmode(_fileno(stdout), _O_BINARY);
    (void)_setmode(_fileno(stderr), _O_BINARY);
    (void)SetConsoleOutputCP(CP_UTF8);
    wchar_t **wide = CommandLineToArgvW(GetCommandLineW(), &wide_count);
    char **texts = wide ? calloc((size_t)wide_count + 1, sizeof *texts) : NULL;
    bool is_whole = texts != NULL;
    for (int i = 0; i < wide_count && is_whole; ++i) {
        texts[i] = utf8_of(wide[i]);
        is_whole = texts[i] != NULL;
    }
    (void)LocalFree(wide);
    if (!is_whole) return given;
    *count = wide_count;
    return texts;
}
