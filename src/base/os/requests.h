/* SPDX-License-Identifier: Apache-2.0 */
/* Requests to end the program: Control-C, the closing of its terminal, and what a process sends.
 *
 * Only programs may call this, because it is for the whole process. Owner: the program. Threads:
 * init-only, but for gantry__os_is_asked_to_end, which is thread-safe. */
#ifndef GANTRY_BASE_OS_REQUESTS_H
#define GANTRY_BASE_OS_REQUESTS_H

#include <stdbool.h>

/* From here on, the first request by Control-C or by a process is only noted; a second one ends the
 * program at once. */
void gantry__os_note_requests(void);
/* Whether there was one. */
bool gantry__os_is_asked_to_end(void);

/* Until it is called with NULL, a request that ends the program first removes the file with this
 * path, unless the path is empty by then. The path must stay where it is. A request that the
 * program ignores, as after nohup, stays ignored. Not together with gantry__os_note_requests. */
void gantry__os_remove_when_ended(const char *path);

#endif
