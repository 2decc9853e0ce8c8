/* SPDX-License-Identifier: Apache-2.0 */
/* gantry run: the child. This process stays its parent, forwards signals, and ends as it does.
 *
 * Child and parent are in one process group, so a terminal's Ctrl-C reaches both. Only signals that
 * a process sent may be forwarded. Both hold the claims, so a card stays claimed when either is
 * killed. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/run.h"

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

static int refuse_program(const char *command, int error) {
    const bool is_missing = error == ENOENT || error == ENOTDIR;
    if (is_missing && strchr(command, '/') && access(command, X_OK) == 0) {
        (void)gantry_tool_fail(
            "run: \"%s\" cannot be run: the interpreter that it names, or its loader, is not found",
            command);
        return GANTRY_RUN_NOT_FOUND;
    }
    (void)gantry_tool_fail(
        "run: \"%s\" %s%s%s", command,
        is_missing ? "is not found" : "cannot be run: ", is_missing ? "" : strerror(error),
        is_missing && !strchr(command, '/') ? " in the folders of PATH" : "");
    return is_missing ? GANTRY_RUN_NOT_FOUND : GANTRY_RUN_NOT_EXECUTABLE;
}

/* 0 or an errno. */
static int why_not_executable(const char *path) {
    struct stat info;
    if (stat(path, &info) != 0) return errno;
    if (S_ISDIR(info.st_mode)) return EISDIR;
    return access(path, X_OK) == 0 ? 0 : errno;
}

/* A file that cannot be run does not end the search, but is the reason if nothing better comes. */
static int search_path(const char *command, char *out_path, size_t out_bytes) {
    const char *folders = getenv("PATH");
    int error = ENOENT;
    if (!folders) folders = "/usr/local/bin:/usr/bin:/bin";
    for (const char *at = folders;; ++at) {
        const int length = (int)strcspn(at, ":");
        (void)snprintf(out_path, out_bytes, "%.*s%s%s", length, at, length ? "/" : "./", command);
        const int why = why_not_executable(out_path);
        if (why == 0) return 0;
        if (why != ENOENT && why != ENOTDIR) error = why;
        at += length;
        if (*at == '\0') return error;
    }
}

int gantry_run_find_program(const char *command, char *out_path, size_t out_bytes) {
    int error;
    if (*command == '\0') {
        error = ENOENT;
    } else if (strchr(command, '/')) {
        (void)snprintf(out_path, out_bytes, "%s", command);
        error = why_not_executable(out_path);
    } else {
        error = search_path(command, out_path, out_bytes);
    }
    return error ? refuse_program(command, error) : 0;
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

/* A signal that this program ignores, such as
 * SIGHUP after nohup, stays ignored. SIGCHLD must not be ignored, or the child's end is lost. */
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

static void become(const char *path, char **arguments, const signals_t *signals, int report) {
    for (size_t i = 0; i < FORWARDED; ++i) (void)sigaction(forwarded[i], &signals->before[i], NULL);
    (void)sigaction(SIGCHLD, &signals->child_before, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &signals->mask, NULL);
    (void)execvp(path, arguments);
    const int error = errno;
    (void)!write(report, &error, sizeof error);
    _exit(GANTRY_RUN_NOT_EXECUTABLE);
}

static int run_child_wait_for(pid_t child) {
    int status;
    while (waitpid(child, &status, 0) != child) {
        if (errno != EINTR)
            return gantry_tool_fail("run: the program is lost: %s", strerror(errno));
    }
    child_process = 0; /* its number may be used again */
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int gantry_run_child(const char *path, char **arguments) {
    signals_t signals;
    int ends[2], error = 0;
    if (pipe2(ends, O_CLOEXEC) != 0)
        return gantry_tool_fail("run: no pipe for \"%s\": %s", path, strerror(errno));
    take_signals(&signals);
    const pid_t child = fork();
    if (child == 0) become(path, arguments, &signals, ends[1]);
    child_process = child > 0 ? child : 0;
    if (child > 0 && early_signal) (void)kill(child, early_signal);
    (void)pthread_sigmask(SIG_SETMASK, &signals.mask, NULL);
    (void)close(ends[1]);
    if (child < 0) {
        (void)close(ends[0]);
        return gantry_tool_fail("run: no process for \"%s\": %s", path, strerror(errno));
    }
    const ssize_t length = read(ends[0], &error, sizeof error); /* ends when the program starts */
    (void)close(ends[0]);
    const int code = run_child_wait_for(child);
    return length == (ssize_t)sizeof error ? refuse_program(path, error) : code;
}
