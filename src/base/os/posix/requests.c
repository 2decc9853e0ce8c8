/* SPDX-License-Identifier: Apache-2.0 */
#define _XOPEN_SOURCE 700
#include "base/os/requests.h"

#include <signal.h>
#include <stddef.h>
#include <unistd.h>

static volatile sig_atomic_t was_asked;
static const char *volatile path_to_remove;

/* ---- a mark ---- */

static void note_request(int number) {
    was_asked = 1;
    (void)signal(number, SIG_DFL);
}

void gantry__os_note_requests(void) {
    struct sigaction action = {.sa_handler = note_request};
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
}

bool gantry__os_is_asked_to_end(void) { return was_asked; }

/* ---- a file ---- */

static void remove_and_end(int number) {
    const char *path = path_to_remove;
    if (path && path[0]) (void)unlink(path);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

void gantry__os_remove_when_ended(const char *path) {
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct sigaction action = {.sa_handler = path ? remove_and_end : SIG_DFL}, before;
    if (path) path_to_remove = path;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; ++i) {
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(numbers[i], &action, NULL);
    }
    if (!path) path_to_remove = NULL;
}
