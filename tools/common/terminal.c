/* SPDX-License-Identifier: Apache-2.0 */
/* Colours, width and line breaks of terminals. */
#include <stdlib.h>
#include <string.h>

#include "base/os/terminal.h"
#include "common/tool.h"

#define DEFAULT_WIDTH 80
#define LEAST_WIDTH 40

bool gantry_tool_has_colours(FILE *file) {
    const char *refused = getenv("NO_COLOR"), *terminal = gantry__os_terminal_kind(file);
    if (refused && *refused) return false;
    if (!terminal || !*terminal || strcmp(terminal, "dumb") == 0) return false;
    return gantry__os_is_terminal(file);
}

const char *gantry_tool_style(FILE *file, gantry_tool_style_t style) {
    static const char *const sequences[] = {"\033[0m",  "\033[1m",  "\033[2m",
                                            "\033[32m", "\033[33m", "\033[31m"};
    return gantry_tool_has_colours(file) ? sequences[style] : "";
}

int gantry_tool_width(FILE *file) {
    size_t columns, lines;
    gantry__os_terminal_size(file, &columns, &lines);
    if (columns == 0) return DEFAULT_WIDTH;
    return columns < LEAST_WIDTH ? LEAST_WIDTH : (int)columns;
}

void gantry_tool_print_wrapped(FILE *file, const char *text, int column, int indent, int width) {
    bool is_first = true;
    for (text += strspn(text, " \n"); *text; text += strspn(text, " \n")) {
        int length = (int)strcspn(text, " \n");
        if (!is_first && column + 1 + length >= width) {
            (void)fprintf(file, "\n%*s", indent, "");
            column = indent;
        } else if (!is_first) {
            (void)fputc(' ', file);
            ++column;
        }
        (void)fprintf(file, "%.*s", length, text);
        column += length;
        text += length;
        is_first = false;
    }
    (void)fputc('\n', file);
}
