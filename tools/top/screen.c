/* SPDX-License-Identifier: Apache-2.0 */
/* The live view. Frames go to the terminal's second screen with the cursor hidden; a frame starts
 * at home, each line clears its end, and the last one clears what is below. So nothing flickers: a
 * cell that stays is written over with itself.
 *
 * A signal only writes its number into a pipe, which the loop waits for together with the keyboard.
 * So no signal is lost between a check and a wait, whatever thread of a driver received it. However
 * the loop ends, it first gives the terminal back; then a signal takes its usual effect:
 *
 *     q, SIGINT      end, exit code 0: a live view has no other end
 *     SIGTSTP        stop; SIGCONT takes the terminal again
 *     SIGWINCH       a frame of the new size
 *     SIGTERM, SIGHUP, SIGQUIT       the process ends by that signal */
#define _GNU_SOURCE /* pipe2 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "top/top.h"
#include "base/os/thread.h"

#define ENTER "\x1b[?1049h\x1b[?25l"
#define LEAVE "\x1b[?25h\x1b[?1049l"
#define OUT_BYTES (GANTRY_TOP_LINES * (GANTRY_TOP_COLUMNS + 32))

typedef struct screen_t {
    gantry_top_t *top;
    double interval_seconds;
    struct termios kept; /* the terminal's state before */
    int signals;         /* the pipe's end that is read */
    char *out;           /* a frame's bytes */
    size_t out_length;
    gantry_top_frame_t *frame;
} screen_t;

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

/* ---- the terminal ---- */

void gantry_top_screen_size(size_t *out_columns, size_t *out_lines) {
    struct winsize size = {.ws_row = 0};
    const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
    *out_columns = is_known ? size.ws_col : 80;
    *out_lines = is_known && size.ws_row > 0 ? size.ws_row : 24;
}

static bool top_screen_write_all(const char *bytes, size_t count) {
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

static bool screen_enter(screen_t *screen) {
    struct termios raw = screen->kept;
    raw.c_lflag &= (tcflag_t) ~(ICANON | ECHO);
    raw.c_cc[VMIN] = 0;
    raw.c_cc[VTIME] = 0;
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &raw);
    return top_screen_write_all(ENTER, strlen(ENTER));
}

static void screen_leave(const screen_t *screen) {
    (void)top_screen_write_all(LEAVE, strlen(LEAVE));
    (void)tcsetattr(STDIN_FILENO, TCSADRAIN, &screen->kept);
}

/* ---- drawing ---- */

static void screen_put(screen_t *screen, const char *text) {
    const size_t length = strlen(text);
    if (screen->out_length + length > OUT_BYTES) return;
    memcpy(screen->out + screen->out_length, text, length);
    screen->out_length += length;
}

static bool screen_draw(screen_t *screen) {
    static const char *const styles[] = {"", "\x1b[1m", "\x1b[7m", "\x1b[33m"};
    size_t columns, lines;
    gantry_top_screen_size(&columns, &lines);
    gantry_top_frame_t *frame = screen->frame;
    gantry_top_compose(screen->top, screen->interval_seconds, columns, frame);
    screen->out_length = 0;
    screen_put(screen, "\x1b[H");
    const size_t shown = frame->count < lines ? frame->count : lines;
    for (size_t i = 0; i < shown; ++i) {
        screen_put(screen, styles[frame->style[i]]);
        screen_put(screen, frame->text[i]);
        screen_put(screen, frame->style[i] == GANTRY_TOP_PLAIN ? "\x1b[K" : "\x1b[m\x1b[K");
        if (i + 1 < shown) screen_put(screen, "\r\n");
    }
    if (shown < lines) screen_put(screen, "\r\n\x1b[J");
    return top_screen_write_all(screen->out, screen->out_length);
}

/* ---- the loop ---- */

typedef enum screen_event_t {
    SCREEN_TICK,
    SCREEN_REDRAW,
    SCREEN_END,
    SCREEN_LOST,
    SCREEN_KILLED
} screen_event_t;

static uint64_t now_ms(void) { return gantry__now_ns() / 1000000; }

/* The process stops inside raise, and goes on after SIGCONT. */
static void screen_stop(const screen_t *screen) {
    screen_leave(screen);
    (void)signal(SIGTSTP, SIG_DFL);
    (void)raise(SIGTSTP);
    watch_signal(SIGTSTP);
}

static screen_event_t take_signal(screen_t *screen, int *out_signal) {
    unsigned char number = 0;
    if (read(screen->signals, &number, 1) != 1) return SCREEN_TICK;
    *out_signal = number;
    switch (number) {
        case SIGINT: return SCREEN_END;
        case SIGWINCH: return SCREEN_REDRAW;
        case SIGTSTP: screen_stop(screen); /* fall through */
        case SIGCONT: return screen_enter(screen) ? SCREEN_REDRAW : SCREEN_LOST;
        default: return SCREEN_KILLED;
    }
}

static screen_event_t take_key(void) {
    char keys[32];
    const ssize_t count = read(STDIN_FILENO, keys, sizeof keys);
    if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) return SCREEN_LOST;
    for (ssize_t i = 0; i < count; ++i)
        if (keys[i] == 'q' || keys[i] == 'Q') return SCREEN_END;
    return SCREEN_REDRAW;
}

static screen_event_t screen_wait(screen_t *screen, uint64_t deadline_ms, int *out_signal) {
    struct pollfd files[] = {{.fd = screen->signals, .events = POLLIN},
                             {.fd = STDIN_FILENO, .events = POLLIN}};
    const uint64_t now = now_ms();
    const int timeout_ms = deadline_ms > now ? (int)(deadline_ms - now) : 0;
    const int ready = poll(files, 2, timeout_ms);
    if (ready < 0 && errno != EINTR) return SCREEN_LOST;
    if (ready <= 0) return now_ms() >= deadline_ms ? SCREEN_TICK : SCREEN_REDRAW;
    if (files[0].revents) return take_signal(screen, out_signal);
    return take_key();
}

static screen_event_t screen_loop(screen_t *screen, int *out_signal) {
    const uint64_t period_ms = (uint64_t)(screen->interval_seconds * 1e3);
    for (;;) {
        const uint64_t deadline = now_ms() + period_ms;
        if (!gantry_top_collect(screen->top)) return SCREEN_LOST;
        screen_event_t event;
        do {
            if (!screen_draw(screen)) return SCREEN_LOST;
            event = screen_wait(screen, deadline, out_signal);
        } while (event == SCREEN_REDRAW);
        if (event != SCREEN_TICK) return event;
    }
}

static int screen_run(screen_t *screen) {
    int number = 0;
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; ++i) watch_signal(watched[i]);
    screen_event_t event = screen_enter(screen) ? screen_loop(screen, &number) : SCREEN_LOST;
    screen_leave(screen);
    for (size_t i = 0; i < sizeof watched / sizeof watched[0]; ++i)
        (void)signal(watched[i], SIG_DFL);
    if (event == SCREEN_KILLED) (void)raise(number);
    return event == SCREEN_END ? 0 : 1;
}

int gantry_top_watch(gantry_top_t *top, double interval_seconds) {
    screen_t screen = {.top = top, .interval_seconds = interval_seconds};
    int ends[2];
    if (tcgetattr(STDIN_FILENO, &screen.kept) != 0 || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        (void)fprintf(stderr, "gantry: the terminal cannot be used: %s\n", strerror(errno));
        return 1;
    }
    screen.signals = ends[0];
    signal_pipe = ends[1];
    screen.out = malloc(OUT_BYTES);
    screen.frame = malloc(sizeof *screen.frame);
    const int code = screen.out && screen.frame ? screen_run(&screen) : 1;
    free(screen.out);
    free(screen.frame);
    (void)close(ends[0]);
    (void)close(ends[1]);
    return code;
}
