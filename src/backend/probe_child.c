/* SPDX-License-Identifier: Apache-2.0 */
/* The child reports by a pipe, because a driver may end it with any exit code:
 *
 *     nothing             the command did not begin: the loader, or another program in its place
 *     begun, ended well   the device works, or its driver reported the error
 *     begun, unknown      there is no such device
 *     begun               the driver ended the process */
#define _GNU_SOURCE /* environ, pipe2 */
#include "backend/probe_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/files.h"
#include "base/trust.h"
#include "base/os/thread.h"

#define MOST_SECONDS 65 /* the command ends itself by an alarm after 60 */
#define POLL_NS 2000000L
#define REPORT_FILE 3 /* the child's */
#define REPORT_TEXT "3"
#define WHY_BYTES 640

/* The command's path, relative to the library or to the program that it is linked into. */
static const char *const places[] = {"/../bin/gantry", "/../../bin/gantry", "/gantry",
                                     "/../gantry"};

/* ---- the command ---- */

typedef struct child_command_t {
    char library[GANTRY__TRUST_PATH_BYTES], path[GANTRY__TRUST_PATH_BYTES];
    bool is_unsafe; /* others may write the one that was found */
    char why[WHY_BYTES];
} child_command_t;

/* The first of the places that has a program. One that others may write is not started: the
 * library's own writers may, because they can write the library, too. */
static bool find_command(child_command_t *command) {
    gantry__trust_t writers;
    char place[GANTRY__TRUST_PATH_BYTES + 32];
    if (!gantry__trust_of_library(&writers, command->library)) {
        (void)snprintf(command->why, sizeof command->why, "the library's own folder is unknown");
        return false;
    }
    (void)snprintf(
        command->why, sizeof command->why,
        "the gantry command is not next to '%.300s' (../bin, ../../bin, the same folder, or the one above)",
        command->library);
    *strrchr(command->library, '/') = '\0';
    for (size_t i = 0; i < sizeof places / sizeof places[0]; ++i) {
        const uint32_t before = gantry__failures();
        int program;
        (void)snprintf(place, sizeof place, "%s%s", command->library, places[i]);
        if (access(place, X_OK) != 0) continue;
        const gantry_status_t status =
            gantry__trust_open_file(place, &writers, command->path, &program);
        gantry__file_close(program);
        if (status == GANTRY_OK) return true;
        if (status == GANTRY_FAILED_PRECONDITION) {
            command->is_unsafe = true;
            (void)snprintf(command->why, sizeof command->why, "%s", gantry__message());
        }
        gantry__forget_since(before);
    }
    return false;
}

bool gantry__probe_child_is_there(const gantry__heap_t *heap, char *why, size_t why_bytes) {
    child_command_t *command = gantry__heap_zalloc(heap, sizeof *command);
    const bool is_there = command && find_command(command);
    (void)snprintf(why, why_bytes, "%s",
                   is_there  ? ""
                   : command ? command->why
                             : "host memory is out");
    gantry__heap_free(heap, command, sizeof *command);
    return is_there;
}

/* ---- environment ---- */

#define OWN_VARIABLES 5

/* The child's environment, on the heap because it is too large for a caller's stack. */
typedef struct child_environment_t {
    child_command_t command;
    char texts[OWN_VARIABLES][PATH_MAX + 32];
    size_t own;
    char **all; /* count + 1 entries, heap memory */
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
                        int report, pid_t *out_child) {
    child_command_t *command = &environment->command;
    char name[64];
    if (!find_command(command)) {
        if (command->is_unsafe)
            gantry__log(call->log, GANTRY_LEVEL_WARNING,
                        "Drivers are not tried in a process of their own: %s", command->why);
        return false;
    }
    (void)snprintf(name, sizeof name, "%s", call->alias);
    char word[] = "probe", file[] = REPORT_TEXT;
    char *arguments[] = {command->path, word, name, file, NULL};
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions) != 0) return false;
    posix_spawnattr_t attributes;
    if (posix_spawnattr_init(&attributes) != 0) {
        (void)posix_spawn_file_actions_destroy(&actions);
        return false;
    }
    /* a process group of its own: Ctrl-C and Ctrl-Z concern the program, not the trial */
    bool is_started = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP) == 0 &&
                      posix_spawn_file_actions_adddup2(&actions, report, REPORT_FILE) == 0 &&
                      posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0) == 0 &&
                      posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1, 0) == 0 &&
                      posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", 1, 0) == 0 &&
                      posix_spawn(out_child, command->path, &actions, &attributes, arguments,
                                  environment->all) == 0;
    (void)posix_spawnattr_destroy(&attributes);
    (void)posix_spawn_file_actions_destroy(&actions);
    return is_started;
}

typedef enum child_wait_t { CHILD_ENDED, CHILD_LATE, CHILD_COLLECTED } child_wait_t;

/* COLLECTED: other code, such as a program's handler of SIGCHLD, took the child's end. */
static child_wait_t wait_for_child(pid_t child, int *out_state) {
    const uint64_t until_ns = gantry__now_ns() + MOST_SECONDS * UINT64_C(1000000000);
    do {
        pid_t ended = waitpid(child, out_state, WNOHANG);
        if (ended == child) return CHILD_ENDED;
        if (ended < 0 && errno != EINTR) return CHILD_COLLECTED;
        gantry__os_sleep_ns(POLL_NS);
    } while (gantry__now_ns() < until_ns);
    return CHILD_LATE;
}

/* Signals that the process caused itself. All others are sent: by a terminal, a user, a service
 * manager, or a kernel that lacks memory. */
static bool is_own_signal(int number) {
    return number == SIGSEGV || number == SIGABRT || number == SIGBUS || number == SIGILL ||
           number == SIGFPE || number == SIGSYS || number == SIGTRAP;
}

/* The last byte of the report; 0: there is none. */
static char read_report(int file) {
    char bytes[8];
    const ssize_t got = read(file, bytes, sizeof bytes); /* does not wait */
    return got > 0 ? bytes[got - 1] : '\0';
}

static gantry__child_end_t probe_child_judge(bool is_late, int state, char report, char *why,
                                             size_t why_bytes) {
    if (is_late || (WIFSIGNALED(state) && WTERMSIG(state) == SIGALRM)) {
        (void)snprintf(why, why_bytes, "it did not answer for a minute");
    } else if (WIFSIGNALED(state)) {
        if (!is_own_signal(WTERMSIG(state))) return GANTRY__CHILD_NONE;
        (void)snprintf(why, why_bytes, "it ended by signal %d", WTERMSIG(state));
    } else if (report != 'b') {
        return report == 'w' ? GANTRY__CHILD_WELL : GANTRY__CHILD_NONE;
    } else {
        (void)snprintf(why, why_bytes, "a driver ended it with exit code %d", WEXITSTATUS(state));
    }
    return GANTRY__CHILD_CRASHED;
}

gantry__child_end_t gantry__probe_child_run(const gantry__child_call_t *call, char *why,
                                            size_t why_bytes) {
    child_environment_t *environment = gantry__heap_zalloc(call->heap, sizeof *environment);
    pid_t child;
    int state = 0, ends[2] = {-1, -1};
    why[0] = '\0';
    if (!environment) return GANTRY__CHILD_NONE;
    const bool is_started = make_environment(call, environment) &&
                            pipe2(ends, O_CLOEXEC | O_NONBLOCK) == 0 &&
                            start_child(call, environment, ends[1], &child);
    if (environment->all)
        gantry__heap_free(call->heap, environment->all, (environment->count + 1) * sizeof(char *));
    gantry__heap_free(call->heap, environment, sizeof *environment);
    gantry__file_close(ends[1]);
    const child_wait_t end = is_started ? wait_for_child(child, &state) : CHILD_COLLECTED;
    const char report = end == CHILD_COLLECTED ? '\0' : read_report(ends[0]);
    gantry__file_close(ends[0]);
    return end == CHILD_COLLECTED
               ? GANTRY__CHILD_NONE
               : probe_child_judge(end == CHILD_LATE, state, report, why, why_bytes);
}
