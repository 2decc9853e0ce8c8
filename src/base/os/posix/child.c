/* SPDX-License-Identifier: Apache-2.0 */
/* A child has a process group of its own, so that a terminal's signals concern only this process,
 * and so that all that the child started can be ended with it. */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/environment.h"
#include "base/os/posix/pipes.h"
#include "base/os/process.h"

/* ---- its environment ---- */

typedef struct child_variables_t {
    const char *const *changes;
    char **all; /* NULL: they are only counted */
    size_t count;
} child_variables_t;

static bool is_changed(const char *const *changes, const char *assignment) {
    for (; *changes; ++changes) {
        const size_t length = strcspn(*changes, "=") + 1;
        if (strncmp(*changes, assignment, length) == 0) return true;
    }
    return false;
}

static bool child_add_variable(void *user, const char *assignment) {
    child_variables_t *variables = user;
    if (is_changed(variables->changes, assignment)) return true;
    if (variables->all) variables->all[variables->count] = (char *)(uintptr_t)assignment;
    ++variables->count;
    return true;
}

/* NULL with errno. */
static char **child_make_variables(const char *const *changes) {
    child_variables_t variables = {.changes = changes};
    size_t changed = 0;
    while (changes[changed]) ++changed;
    gantry__os_variables_visit(child_add_variable, &variables);
    variables.all = malloc((variables.count + changed + 1) * sizeof(char *));
    if (!variables.all) return NULL;
    variables.count = 0;
    gantry__os_variables_visit(child_add_variable, &variables);
    memcpy(variables.all + variables.count, changes, changed * sizeof(char *));
    variables.all[variables.count + changed] = NULL;
    return variables.all;
}

/* ---- its start ---- */

static int set_up(const gantry__os_start_t *start, posix_spawn_file_actions_t *actions,
                  posix_spawnattr_t *attributes) {
    int error = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP);
    if (error == 0 && start->report >= 0)
        error = posix_spawn_file_actions_adddup2(actions, start->report, GANTRY__OS_CHILD_REPORT);
    for (int file = 0; file <= STDERR_FILENO && error == 0; ++file)
        error = posix_spawn_file_actions_addopen(actions, file, "/dev/null",
                                                 file == 0 ? O_RDONLY : O_WRONLY, 0);
    return error;
}

static int child_spawn(const gantry__os_start_t *start, char **variables, pid_t *out_child) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int error = posix_spawn_file_actions_init(&actions);
    if (error != 0) return error;
    error = posix_spawnattr_init(&attributes);
    if (error == 0) {
        error = set_up(start, &actions, &attributes);
        if (error == 0)
            error = posix_spawn(out_child, start->program, &actions, &attributes,
                                (char *const *)(uintptr_t)start->arguments, variables);
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return error;
}

int gantry__os_child_start(const gantry__os_start_t *start, gantry__os_child_t *out_child) {
    static const char *const none[] = {NULL};
    pid_t child = -1;
    *out_child = (gantry__os_child_t){.process = -1};
    char **variables = child_make_variables(start->variables ? start->variables : none);
    if (!variables) return ENOMEM;
    const int error = child_spawn(start, variables, &child);
    free(variables);
    if (error == 0) out_child->process = child;
    return error;
}

/* ---- its end ---- */

static gantry__os_end_t judge_end(int state, int *out_code) {
    if (!WIFSIGNALED(state)) {
        *out_code = WEXITSTATUS(state);
        return GANTRY__OS_EXITED;
    }
    *out_code = WTERMSIG(state);
    switch (WTERMSIG(state)) {
        case SIGSEGV:
        case SIGABRT:
        case SIGBUS:
        case SIGILL:
        case SIGFPE:
        case SIGSYS:
        case SIGTRAP: return GANTRY__OS_CRASHED;
        case SIGALRM: return GANTRY__OS_ALARMED;
        default: return GANTRY__OS_KILLED;
    }
}

gantry__os_end_t gantry__os_child_wait(gantry__os_child_t *child, uint64_t timeout_ns,
                                       uint64_t pause_ns, int *out_code) {
    const uint64_t begin = gantry__now_ns();
    int state;
    do {
        const pid_t ended = waitpid((pid_t)child->process, &state, WNOHANG);
        if (ended > 0) return judge_end(state, out_code);
        if (ended < 0 && errno != EINTR) return GANTRY__OS_LOST;
        gantry__os_sleep_ns(pause_ns);
    } while (gantry__now_ns() - begin < timeout_ns);
    return GANTRY__OS_RUNS;
}

void gantry__os_child_kill(gantry__os_child_t *child) {
    (void)killpg((pid_t)child->process, SIGKILL);
    (void)waitpid((pid_t)child->process, NULL, 0);
}

void gantry__os_child_leave(gantry__os_child_t *child) { child->process = -1; }

bool gantry__os_child_can_wait(void) {
    struct sigaction action;
    return sigaction(SIGCHLD, NULL, &action) != 0 ||
           (action.sa_handler != SIG_IGN && !(action.sa_flags & SA_NOCLDWAIT));
}

int gantry__os_pipe(int *out_reading, int *out_writing) {
    int ends[2] = {-1, -1};
    const int error = gantry__os_pipe_ends(ends, false);
    *out_reading = ends[0];
    *out_writing = ends[1];
    return error;
}
