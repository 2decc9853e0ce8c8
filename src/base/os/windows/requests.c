/* SPDX-License-Identifier: Apache-2.0 */
/* Requests come on a thread of the system's. */
#include "base/os/requests.h"

#include <stddef.h>
#include <windows.h>

#include "base/os/files.h"

static volatile LONG was_asked;
static const char *volatile path_to_remove;

static BOOL WINAPI on_first_request(DWORD kind) {
    (void)kind;
    return InterlockedExchange(&was_asked, 1) == 0;
}

void gantry__os_note_requests(void) { (void)SetConsoleCtrlHandler(on_first_request, TRUE); }

bool gantry__os_is_asked_to_end(void) { return was_asked != 0; }

static BOOL WINAPI on_last_request(DWORD kind) {
    const char *path = path_to_remove;
    (void)kind;
    if (path && path[0]) (void)gantry__os_remove(path);
    return FALSE; /* the usual handler ends the process */
}

void gantry__os_remove_when_ended(const char *path) {
    if (path) path_to_remove = path;
    (void)SetConsoleCtrlHandler(on_last_request, path != NULL);
    if (!path) path_to_remove = NULL;
}
