/* SPDX-License-Identifier: Apache-2.0 */
/* A signal only writes its number into a pipe, which the wait reads together with the keyboard. So
 * no signal is lost between a check and a wait, whatever thread of a driver received it. */
#define _GNU_SOURCE /* pipe2 */
#include "base/os/live.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/os/clock.h"
#include "base/os/posix/pipes.h"

struct gantry__os_live_t {
    struct termios kept; /* the terminal's state before */
    int signals;         /* the pipe's end that is read */
    int killed_by;       /* 0: no signal */
};

static const int watched[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGTSTP, SIGCONT, SIGWINCH};
static int signal_pipe = -1; /* written by the handler */

static void on_signal(int number) {
    const int kept = errno;
    const unsigned char byte = (unsigned char)number;
    (void)!write(signal_pipe, &byte, 1);
    errno = kept;
}

static void watch_signal(int number) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

int gantry__os_live_open(gantry__os_live_t **out_live) {
    gantry__os_live_t *live = calloc(1, sizeof *live);
    int ends[2];
    *out_live = NULL;
    if (!live) return ENOMEM;
    int error = tcgetattr(STDIN_FILENO, &live->kept) == 0 ? 0 : errno;
    if (error == 0) error = gantry__os_pipe_ends(ends, false);
    if (error != 0) {
        free(live);
        return error;
    }
    live->signals = ends[0];
    signal_pipe = ends[1];
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; ++i) watch_signal(watched[i]);
    *out_live = live;
    return 0;
}

void gantry__os_live_begin(gantry__os_live_t *live) {
    struct termios raw = live->kept;
    raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
}

void gantry__os_live_end(gantry__os_live_t *live) {
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &live->kept);
}

bool gantry__os_live_write(const char *bytes, size_t count) {
    while (count > 0) {
        const ssize_t done = write(STDOUT_FILENO, bytes, count);
        if (done < 0 && errno != EINTR && errno != EAGAIN) return false;
        if (done > 0) {
            bytes += done;
            count -= (size_t)done;
        }
    }
    return true;
}

/* The process stops inside raise, and goes on after SIGCONT. */
void gantry__os_live_stop(gantry__os_live_t *live) {
    (void)live;
    (void)signal(SIGTSTP, SIG_DFL);
    (void)raise(SIGTSTP);
    watch_signal(SIGTSTP);
}

static gantry__os_live_event_t live_take_signal(gantry__os_live_t *live) {
    unsigned char number = 0;
    if (read(live->signals, &number, 1) != 1) return GANTRY__OS_LIVE_NOTHING;
    switch (number) {
        case SIGINT: return GANTRY__OS_LIVE_INTERRUPT;
        case SIGWINCH: return GANTRY__OS_LIVE_SIZE;
        case SIGTSTP: return GANTRY__OS_LIVE_STOP;
        case SIGCONT: return GANTRY__OS_LIVE_CONTINUE;
        default: break;
    }
    live->killed_by = number;
    return GANTRY__OS_LIVE_KILLED;
}

static gantry__os_live_event_t live_take_keys(char keys[GANTRY__OS_LIVE_KEYS]) {
    const ssize_t count = read(STDIN_FILENO, keys, GANTRY__OS_LIVE_KEYS - 1);
    keys[count > 0 ? count : 0] = '\0';
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) return GANTRY__OS_LIVE_LOST;
    return count > 0 ? GANTRY__OS_LIVE_KEYS_CAME : GANTRY__OS_LIVE_NOTHING;
}

gantry__os_live_event_t gantry__os_live_wait(gantry__os_live_t *live, uint64_t deadline_ns,
                                             char keys[GANTRY__OS_LIVE_KEYS]) {
    struct pollfd files[] = {{.fd = live->signals, .events = POLLIN},
                             {.fd = STDIN_FILENO, .events = POLLIN}};
    const uint64_t now = gantry__now_ns();
    const int timeout_ms = deadline_ns > now ? (int)((deadline_ns - now + 999999) / 1000000) : 0;
    keys[0] = '\0';
    const int ready = poll(files, 2, timeout_ms);
    if (ready < 0 && errno != EINTR) return GANTRY__OS_LIVE_LOST;
    if (ready <= 0)
        return gantry__now_ns() >= deadline_ns ? GANTRY__OS_LIVE_TIME : GANTRY__OS_LIVE_NOTHING;
    return files[0].revents ? live_take_signal(live) : live_take_keys(keys);
}

void gantry__os_live_close(gantry__os_live_t *live) {
    if (!live) return;
    const int killed_by = live->killed_by;
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; ++i)
        (void)signal(watched[i], SIG_DFL);
    (void)close(live->signals);
    (void)close(signal_pipe);
    signal_pipe = -1;
    free(live);
    if (killed_by) (void)raise(killed_by);
}
