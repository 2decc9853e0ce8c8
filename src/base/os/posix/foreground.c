/* SPDX-License-Identifier: Apache-2.0 */
/* Child and parent are in one process group, so a terminal's Ctrl-C reaches both. Only signals that
 * a process sent may be forwarded. */
#define _GNU_SOURCE /* pipe2 */
#include "base/os/foreground.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/os/posix/pipes.h"

#define NOT_EXECUTABLE 126 /* the child's own code, which nobody sees */

static const int forwarded[] = {SIGHUP,  SIGINT,  SIGQUIT,  SIGTERM, SIGUSR1,
                                SIGUSR2, SIGALRM, SIGWINCH, SIGCONT};
#define FORWARDED (sizeof forwarded / sizeof forwarded[0])

static volatile sig_atomic_t child_process; /* 0: not started */
static volatile sig_atomic_t early_signal;  /* came before the start; 0: none */

typedef struct signals_t {
    struct sigaction before[FORWARDED], child_before;
    sigset_t mask;
} signals_t;

/* ---- the program ---- */

/* 0 or an errno. */
static int why_not_executable(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) return errno;
    if (S_ISDIR(info.st_mode)) return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

/* A file that cannot be run does not end the search, but is the reason if nothing better comes. */
static int search_path(const char *command, char out_path[GANTRY__OS_PATH_BYTES]) {
    const char *folders = getenv("PATH");
    int error = ENOENT;
    if (!folders) folders = "/usr/local/bin:/usr/bin:/bin";
    for (const char *at = folders;; ++at) {
        const int length = (int)strcspn(at, ":");
        (void)snprintf(out_path, GANTRY__OS_PATH_BYTES, "%.*s%s%s", length, at, length ? "/" : "./",
                       command);
        const int why = why_not_executable(out_path);
        if (why == 0) return 0;
        if (why != ENOENT && why != ENOTDIR) error = why;
        at += length;
        if (*at == '\0') return error;
    }
}

int gantry__os_find_program(const char *command, char out_path[GANTRY__OS_PATH_BYTES]) {
    if (*command == '\0') return ENOENT;
    if (!strchr(command, '/')) return search_path(command, out_path);
    (void)snprintf(out_path, GANTRY__OS_PATH_BYTES, "%s", command);
    return why_not_executable(out_path);
}

/* ---- signals ---- */

/* Threads of drivers may run this, too. */
static void forward(int number, siginfo_t *info, void *context) {
    const int error = errno;
    const bool is_from_terminal = info->si_code > 0; /* the kernel's: the whole group got it */
    (void)context;
    if (child_process == 0) early_signal = number;
    if (!is_from_terminal && child_process > 0) (void)kill((pid_t)child_process, number);
    errno = error;
}

/* A signal that this program ignores, such as SIGHUP after nohup, stays ignored. SIGCHLD must not
 * be ignored, or the child's end is lost. */
static void take_signals(signals_t *signals) {
    struct sigaction action = {.sa_sigaction = forward, .sa_flags = SA_SIGINFO | SA_RESTART};
    const struct sigaction plain = {.sa_handler = SIG_DFL};
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigfillset(&action.sa_mask);
    (void)pthread_sigmask(SIG_SETMASK, &all, &signals->mask);
    (void)sigaction(SIGCHLD, &plain, &signals->child_before);
    for (size_t i = 0; i < FORWARDED; ++i) {
        if (sigaction(forwarded[i], NULL, &signals->before[i]) == 0 &&
            signals->before[i].sa_handler != SIG_IGN)
            (void)sigaction(forwarded[i], &action, NULL);
    }
}

/* ---- the child ---- */

static void become(const char *path, char *const *arguments, const signals_t *signals, int report) {
    for (size_t i = 0; i < FORWARDED; ++i) (void)sigaction(forwarded[i], &signals->before[i], NULL);
    (void)sigaction(SIGCHLD, &signals->child_before, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &signals->mask, NULL);
    (void)execvp(path, arguments);
    const int error = errno;
    (void)!write(report, &error, sizeof error);
    _exit(NOT_EXECUTABLE);
}

static gantry__os_run_t wait_for_program(pid_t child, int *out_code) {
    int status;
    while (waitpid(child, &status, 0) != child) {
        *out_code = errno;
        if (errno != EINTR) return GANTRY__OS_RUN_LOST;
    }
    child_process = 0; /* its number may be used again */
    *out_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return GANTRY__OS_RUN_ENDED;
}

gantry__os_run_t gantry__os_run(const char *path, char *const *arguments, int *out_code) {
    signals_t signals;
    int ends[2], error = 0;
    *out_code = gantry__os_pipe_ends(ends, true);
    if (*out_code != 0) return GANTRY__OS_RUN_NO_PROCESS;
    take_signals(&signals);
    const pid_t child = fork();
    if (child == 0) become(path, arguments, &signals, ends[1]);
    if (child < 0) *out_code = errno;
    child_process = child > 0 ? child : 0;
    if (child > 0 && early_signal) (void)kill(child, early_signal);
    (void)pthread_sigmask(SIG_SETMASK, &signals.mask, NULL);
    (void)close(ends[1]);
    if (child < 0) {
        (void)close(ends[0]);
        return GANTRY__OS_RUN_NO_PROCESS;
    }
    const ssize_t length = read(ends[0], &error, sizeof error); /* ends when the program starts */
    (void)close(ends[0]);
    const gantry__os_run_t result = wait_for_program(child, out_code);
    if (length != (ssize_t)sizeof error) return result;
    *out_code = error;
    return GANTRY__OS_RUN_REFUSED;
}
