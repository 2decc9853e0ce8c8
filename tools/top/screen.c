/* SPDX-License-Identifier: Apache-2.0 */
/* The live view. Frames go to the terminal's second screen with the cursor hidden; a frame starts
 * at home, each line clears its end, and the last one clears what is below. So nothing flickers: a
 * cell that stays is written over with itself.
 *
 * However the loop ends, it first gives the terminal back; then a signal takes its usual effect:
 *
 *     q, Control-C   end, exit code 0: a live view has no other end
 *     Control-Z      stop; SIGCONT takes the terminal again
 *     SIGWINCH       a frame of the new size
 *     SIGTERM, SIGHUP, SIGQUIT       the process ends by that signal */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "top/top.h"
#include "base/os/clock.h"
#include "base/os/live.h"
#include "base/os/terminal.h"

#define ENTER "\x1b[?1049h\x1b[?25l"
#define LEAVE "\x1b[?25h\x1b[?1049l"
#define OUT_BYTES (GANTRY_TOP_LINES * (GANTRY_TOP_COLUMNS + 32))

typedef struct screen_t {
    gantry_top_t *top;
    double interval_seconds;
    gantry__os_live_t *live;
    char *out; /* a frame's bytes */
    size_t out_length;
    gantry_top_frame_t *frame;
} screen_t;

/* ---- the terminal ---- */

void gantry_top_screen_size(size_t *out_columns, size_t *out_lines) {
    gantry__os_terminal_size(stdout, out_columns, out_lines);
    const bool is_known = *out_columns > 0;
    if (!is_known) *out_columns = 80;
    if (!is_known || *out_lines == 0) *out_lines = 24;
}

static bool screen_enter(const screen_t *screen) {
    gantry__os_live_begin(screen->live);
    return gantry__os_live_write(ENTER, strlen(ENTER));
}

static void screen_leave(const screen_t *screen) {
    (void)gantry__os_live_write(LEAVE, strlen(LEAVE));
    gantry__os_live_end(screen->live);
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
    return gantry__os_live_write(screen->out, screen->out_length);
}

/* ---- the loop ---- */

typedef enum screen_event_t {
    SCREEN_TICK,
    SCREEN_REDRAW,
    SCREEN_END,
    SCREEN_LOST,
    SCREEN_KILLED
} screen_event_t;

static screen_event_t screen_resume(const screen_t *screen) {
    return screen_enter(screen) ? SCREEN_REDRAW : SCREEN_LOST;
}

static screen_event_t screen_wait(const screen_t *screen, uint64_t deadline_ns) {
    char keys[GANTRY__OS_LIVE_KEYS];
    switch (gantry__os_live_wait(screen->live, deadline_ns, keys)) {
        case GANTRY__OS_LIVE_TIME: return SCREEN_TICK;
        case GANTRY__OS_LIVE_KEYS_CAME: return strpbrk(keys, "qQ") ? SCREEN_END : SCREEN_REDRAW;
        case GANTRY__OS_LIVE_INTERRUPT: return SCREEN_END;
        case GANTRY__OS_LIVE_STOP:
            screen_leave(screen);
            gantry__os_live_stop(screen->live);
            return screen_resume(screen);
        case GANTRY__OS_LIVE_CONTINUE: return screen_resume(screen);
        case GANTRY__OS_LIVE_KILLED: return SCREEN_KILLED;
        case GANTRY__OS_LIVE_LOST: return SCREEN_LOST;
        default: return SCREEN_REDRAW; /* another size, or a wait that ended early */
    }
}

static screen_event_t screen_loop(screen_t *screen) {
    const uint64_t period_ns = (uint64_t)(screen->interval_seconds * 1e9);
    for (;;) {
        const uint64_t deadline = gantry__now_ns() + period_ns;
        if (!gantry_top_collect(screen->top)) return SCREEN_LOST;
        screen_event_t event;
        do {
            if (!screen_draw(screen)) return SCREEN_LOST;
            event = screen_wait(screen, deadline);
        } while (event == SCREEN_REDRAW);
        if (event != SCREEN_TICK) return event;
    }
}

static int screen_run(screen_t *screen) {
    const screen_event_t event = screen_enter(screen) ? screen_loop(screen) : SCREEN_LOST;
    screen_leave(screen);
    return event == SCREEN_END ? 0 : 1;
}

int gantry_top_watch(gantry_top_t *top, double interval_seconds) {
    screen_t screen = {.top = top, .interval_seconds = interval_seconds};
    const int error = gantry__os_live_open(&screen.live);
    if (error) return gantry_tool_fail("the terminal cannot be used: %s", strerror(error));
    screen.out = malloc(OUT_BYTES);
    screen.frame = malloc(sizeof *screen.frame);
    const int code = screen.out && screen.frame ? screen_run(&screen) : 1;
    free(screen.out);
    free(screen.frame);
    gantry__os_live_close(screen.live);
    return code;
}
