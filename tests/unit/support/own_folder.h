/* SPDX-License-Identifier: Apache-2.0 */
/* A folder of a test's own, by the services of base/os, so that it is there on every system. Owner:
 * each file has one. Threads: main's only. */
#ifndef GANTRY_TESTS_OWN_FOLDER_H
#define GANTRY_TESTS_OWN_FOLDER_H

#include <stdio.h>
#include <string.h>

#include "base/os/environment.h"
#include "base/os/files.h"
#include "test.h"

static char own_folder[GANTRY__OS_PATH_BYTES / 4];

/* A path in the folder; the last four stay. */
static inline const char *in_own_folder(const char *name) {
    static char paths[4][GANTRY__OS_PATH_BYTES];
    static unsigned turn;
    char *path = paths[turn++ % 4];
    (void)snprintf(path, GANTRY__OS_PATH_BYTES, "%s/%s", own_folder, name);
    return path;
}

static inline int make_own_folder(void **state) {
    char above[512] = "/tmp";
    (void)state;
    if (gantry__os_variable("TMPDIR", above, sizeof above) == 0)
        (void)gantry__os_variable("TEMP", above, sizeof above);
    for (char *at = above; *at; ++at)
        if (*at == '\\') *at = '/';
    (void)snprintf(own_folder, sizeof own_folder, "%s/gantry_os_XXXXXX", above);
    return gantry__os_make_own_folder(own_folder);
}

/* A name of an empty folder, or of a file. */
static inline bool remove_own_name(void *user, const char *name) {
    (void)user;
    const char *path = in_own_folder(name);
    if (gantry__os_remove(path) != 0) (void)gantry__os_remove_folder(path);
    return true;
}

static inline int remove_own_folder(void **state) {
    (void)state;
    (void)gantry__os_list(own_folder, remove_own_name, NULL);
    return gantry__os_remove_folder(own_folder);
}

/* Makes a file with this text. */
static inline void write_own_file(const char *name, const char *text) {
    const int file =
        gantry__os_open(in_own_folder(name), GANTRY__OS_WRITE | GANTRY__OS_CREATE, 0600);
    assert_true(file >= 0);
    assert_int_equal(gantry__os_write(file, text, strlen(text), GANTRY__OS_NEXT), strlen(text));
    assert_int_equal(gantry__os_close(file), 0);
}

#endif
