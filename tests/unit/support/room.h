/* SPDX-License-Identifier: Apache-2.0 */
/* The main of a room's program: it runs each test file of the room, whose own main the build
 * renames to <file>_main. The build writes the list and links a name for each file:
 *
 *     bin/tests/test_stream            runs test_stream.c
 *     bin/tests/room_device test_stream
 * Fewer programs link in a tenth of the time. */
#ifndef GANTRY_TEST_ROOM_H
#define GANTRY_TEST_ROOM_H

#include <stdio.h>
#include <string.h>

typedef struct room_file_t {
    const char *name;
    int (*run)(int count, char **arguments);
} room_file_t;

static const room_file_t *room_find(const room_file_t *files, const char *text) {
    const char *slash = strrchr(text, '/');
    for (; files->name; ++files) {
        if (strcmp(files->name, slash ? slash + 1 : text) == 0) return files;
    }
    return NULL;
}

static int room_main(const room_file_t *files, int count, char **arguments) {
    const room_file_t *file = room_find(files, count > 0 ? arguments[0] : "");
    if (file) return file->run(count, arguments);
    file = count > 1 ? room_find(files, arguments[1]) : NULL;
    if (file) return file->run(count - 1, arguments + 1);
    (void)fprintf(stderr, "the first argument, or the program's name, is one of:\n");
    for (file = files; file->name; ++file) (void)fprintf(stderr, "    %s\n", file->name);
    return 2;
}

#endif
