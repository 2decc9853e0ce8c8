/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* environ */
#include "backend/probe_child.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/files.h"
#include "base/trust.h"

#define MOST_SECONDS 65 /* the command ends itself by an alarm after 60 */
#define POLL_NS 2000000L

/* The command's path, relative to the library or to the program that it is linked into. */
static const char *const places[] = {"/../bin/gantry", "/../../bin/gantry", "/gantry",
                                     "/../gantry"};

/* The first of the places that has a program. One that others may write is not started: the
 * library's own writers may, because they can write the library, too. */
static bool find_command(const gantry__log_t *log, char file[GANTRY__TRUST_PATH_BYTES],
                         char out[GANTRY__TRUST_PATH_BYTES]) {
    gantry__trust_t writers;
    char place[GANTRY__TRUST_PATH_BYTES + 32];
    if (!gantry__trust_of_library(&writers, file)) return false;
    *strrchr(file, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
        const uint32_t before = gantry__failures();
        int program;
        (void)snprintf(place, sizeof place, "%s%s", file, places[i]);
        if (access(place, X_OK) != 0) continue;
        const gantry_status_t status = gantry__trust_open_file(place, &writers, out, &program);
        gantry__file_close(program);
        if (status == GANTRY_OK) return true;
        if (status == GANTRY_FAILED_PRECONDITION)
            gantry__log(log, GANTRY_LEVEL_WARNING,
                        "Drivers are not tried in a process of its own: %s", gantry__message());
        gantry__forget_since(before);
    }
    return false;
}

/* ---- environment ---- */

#define OWN_VARIABLES 5

/* On the heap, because it is too large for a caller's stack. */
typedef struct child_environment_t {
    char file[GANTRY__TRUST_PATH_BYTES]; /* of the library */
    char command[GANTRY__TRUST_PATH_BYTES];
    char texts[OWN_VARIABLES][PATH_MAX + 32];
    size_t own;
    char **all; /* of count + 1 entries, heap memory */
    size_t count;
} child_environment_t;

static void set_for_child(child_environment_t *environment, const char *name, const char *value) {
    if (value)
        (void)snprintf(environment->texts[environment->own++], sizeof environment->texts[0],
                       "%s=%s", name, value);
}

static bool is_replaced(const child_environment_t *environment, const char *entry) {
    for (size_t i = 0; i < environment->own; ++i) {
        size_t length = strcspn(environment->texts[i], "=") + 1;
        if (strncmp(environment->texts[i], entry, length) == 0) return true;
    }
    return false;
}

static bool make_environment(const gantry__child_call_t *call, child_environment_t *environment) {
    char backend[32];
    (void)snprintf(backend, sizeof backend, "cpu,%.*s", (int)strcspn(call->alias, ":"),
                   call->alias);
    environment->own = 0;
    set_for_child(environment, "GANTRY_DEVICE_PROBE", "inside");
    set_for_child(environment, "GANTRY_DRIVER_QUARANTINE", "0");
    set_for_child(environment, "GANTRY_KERNEL_CACHE", call->cache);
    set_for_child(environment, "GANTRY_BACKENDS", backend);
    if (strchr(call->module, '/')) set_for_child(environment, "GANTRY_BACKEND_PATH", call->module);
    size_t given = 0;
    while (environ && environ[given]) ++given;
    environment->count = given + OWN_VARIABLES;
    environment->all = gantry__heap_zalloc(call->heap, (environment->count + 1) * sizeof(char *));
    if (!environment->all) return false;
    size_t used = 0;
    for (size_t i = 0; i < given && environ[i]; ++i) {
        if (!is_replaced(environment, environ[i])) environment->all[used++] = environ[i];
    }
    for (size_t i = 0; i < environment->own; ++i) environment->all[used++] = environment->texts[i];
    return true;
}

/* ---- the process ---- */

/* Starts the child without output: a compiler that dies prints much. */
static bool start_child(const gantry__child_call_t *call, child_environment_t *environment,
                        pid_t *out_child) {
    char *command = environment->command, name[64];
    if (!find_command(call->log, environment->file, command)) return false;
    (void)snprintf(name, sizeof name, "%s", call->alias);
    char word[] = "probe", *arguments[] = {command, word, name, NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) return false;
    posix_spawnattr_t attributes;
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return false;
    }
    /* a process group of its own: Ctrl-C and Ctrl-Z concern the program, not the trial */
    bool is_started =
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP) == 0 &&
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0) == 0 &&
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0) == 0 &&
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0) == 0 &&
        posix_spawn(out_child, command, &actions, &attributes, arguments, environment->all) == 0;
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return is_started;
}

typedef enum child_wait_t { CHILD_ENDED, CHILD_LATE, CHILD_COLLECTED } child_wait_t;

/* COLLECTED: other code, such as a program's handler of SIGCHLD, took the child's end. */
static child_wait_t wait_for_child(pid_t child, int *out_state) {
    const struct timespec pause = {0, POLL_NS};
    struct timespec begin, now;
    (void)clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        pid_t ended = waitpid(child, out_state, WNOHANG);
        if (ended == child) return CHILD_ENDED;
        if (ended < 0 && errno != EINTR) return CHILD_COLLECTED;
        (void)nanosleep(&pause, NULL);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec < MOST_SECONDS);
    return CHILD_LATE;
}

/* Signals that the process caused itself. All others are sent: by a terminal, a user, a service
 * manager, or a kernel that lacks memory. */
static bool is_own_signal(int number) {
    return number == SIGSEGV || number == SIGABRT || number == SIGBUS || number == SIGILL ||
           number == SIGFPE || number == SIGSYS || number == SIGTRAP;
}

/* Exit codes of the command itself, and of a loader that could not start it. */
static bool is_own_exit(int code) { return code == 2 || code == 3 || code == 126 || code == 127; }

static gantry__child_end_t probe_child_judge(bool is_late, int state, char *why, size_t why_bytes) {
    if (is_late || (WIFSIGNALED(state) && WTERMSIG(state) == SIGALRM)) {
        (void)snprintf(why, why_bytes, "it did not answer for a minute");
    } else if (WIFSIGNALED(state)) {
        if (!is_own_signal(WTERMSIG(state))) return GANTRY__CHILD_NONE;
        (void)snprintf(why, why_bytes, "it ended by signal %d", WTERMSIG(state));
    } else if (WEXITSTATUS(state) == 0 || is_own_exit(WEXITSTATUS(state))) {
        return WEXITSTATUS(state) == 0 ? GANTRY__CHILD_WELL : GANTRY__CHILD_NONE;
    } else {
        (void)snprintf(why, why_bytes, "a driver ended it with exit code %d", WEXITSTATUS(state));
    }
    return GANTRY__CHILD_CRASHED;
}

gantry__child_end_t gantry__probe_child_run(const gantry__child_call_t *call, char *why,
                                            size_t why_bytes) {
    child_environment_t *environment = gantry__heap_zalloc(call->heap, sizeof *environment);
    pid_t child;
    int state = 0;
    why[0] = '\0';
    if (!environment) return GANTRY__CHILD_NONE;
    bool is_started = make_environment(call, environment) && start_child(call, environment, &child);
    if (environment->all)
        gantry__heap_free(call->heap, environment->all, (environment->count + 1) * sizeof(char *));
    gantry__heap_free(call->heap, environment, sizeof *environment);
    child_wait_t end = is_started ? wait_for_child(child, &state) : CHILD_COLLECTED;
    return end == CHILD_COLLECTED ? GANTRY__CHILD_NONE
                                  : probe_child_judge(end == CHILD_LATE, state, why, why_bytes);
}
