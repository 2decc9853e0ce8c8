/* SPDX-License-Identifier: Apache-2.0 */
/* What a program is started with. Only programs may call this, at the beginning of main. Owner: the
 * texts stay until the process ends. Threads: init-only. */
#ifndef GANTRY_BASE_OS_ARGUMENTS_H
#define GANTRY_BASE_OS_ARGUMENTS_H

/* Returns the arguments of main as UTF-8, ended by NULL, where the system gives others; else those
 * that it got. From here on, standard output and standard error take bytes as they are. */
char **gantry__os_arguments(int *count, char **given);

#endif
