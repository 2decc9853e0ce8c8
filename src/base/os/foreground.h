/* SPDX-License-Identifier: Apache-2.0 */
/* A program that runs in place of this one, which waits for it. Only programs may call this,
 * because signals are the whole process's. Owner: nothing is kept. Threads: init-only. */
#ifndef GANTRY_BASE_OS_FOREGROUND_H
#define GANTRY_BASE_OS_FOREGROUND_H

#include "base/os/files.h"

/* Finds the program that a command names: its path, or a name in the folders of PATH. Returns 0,
 * ENOENT or ENOTDIR if there is none, or why the system may not run what is there. */
int gantry__os_find_program(const char *command, char out_path[GANTRY__OS_PATH_BYTES]);

typedef enum gantry__os_run_t {
    GANTRY__OS_RUN_ENDED,      /* with an exit code; that of a program that a signal ended is 128
                                * more than the signal */
    GANTRY__OS_RUN_NO_PROCESS, /* no process could be started: an errno value */
    GANTRY__OS_RUN_REFUSED,    /* the system did not run the program: an errno value */
    GANTRY__OS_RUN_LOST        /* its end is unknown: an errno value */
} gantry__os_run_t;

/* Runs the program with this process's streams, its environment and the files that it shares, and
 * waits. The program gets what a terminal sends, and what other processes send to this one. It
 * ends with this process on systems whose locks no child shares. */
gantry__os_run_t gantry__os_run(const char *path, char *const *arguments, int *out_code);

#endif
