/* SPDX-License-Identifier: Apache-2.0 */
/* The console gives keys and its size as events; Control-C comes as a key while keys come at
 * once. */
#include "base/os/live.h"

#include <errno.h>
#include <stdlib.h>
#include <windows.h>

#include "base/os/clock.h"

struct gantry__os_live_t {
    HANDLE input, output;
    DWORD kept_input, kept_output; /* the console's ways before */
};

int gantry__os_live_open(gantry__os_live_t **out_live) {
    gantry__os_live_t *live = calloc(1, sizeof *live);
    *out_live = NULL;
    if (!live) return ENOMEM;
    live->input = GetStdHandle(STD_INPUT_HANDLE);
    live->output = GetStdHandle(STD_OUTPUT_HANDLE);
    if (!GetConsoleMode(live->input, &live->kept_input) ||
        !GetConsoleMode(live->output, &live->kept_output)) {
        free(live);
        return ENOTTY;
    }
    *out_live = live;
    return 0;
}

void gantry__os_live_begin(gantry__os_live_t *live) {
    const DWORD lines = ENABLE_LINE_INPUT | ENABLE_ECHO_INPUT | ENABLE_PROCESSED_INPUT;
    (void)SetConsoleMode(live->input, (live->kept_input & ~lines) | ENABLE_WINDOW_INPUT);
    (void)SetConsoleMode(live->output, live->kept_output | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}

void gantry__os_live_end(gantry__os_live_t *live) {
    (void)SetConsoleMode(live->input, live->kept_input);
    (void)SetConsoleMode(live->output, live->kept_output);
}

bool gantry__os_live_write(const char *bytes, size_t count) {
    const HANDLE output = GetStdHandle(STD_OUTPUT_HANDLE);
    while (count > 0) {
        DWORD done = 0;
        if (!WriteFile(output, bytes, (DWORD)(count < 1u << 30 ? count : 1u << 30), &done, NULL))
            return false;
        bytes += done;
        count -= done;
    }
    return true;
}

void gantry__os_live_stop(gantry__os_live_t *live) { (void)live; }

/* A key of one sign; arrows are the sequences that terminals send. */
static size_t live_write_key(const KEY_EVENT_RECORD *key, char *out) {
    const char sign = (char)key->uChar.AsciiChar;
    char arrow = 0;
    if (!key->bKeyDown) return 0;
    switch (key->wVirtualKeyCode) {
        case VK_UP: arrow = 'A'; break;
        case VK_DOWN: arrow = 'B'; break;
        case VK_RIGHT: arrow = 'C'; break;
        case VK_LEFT: arrow = 'D'; break;
        default: break;
    }
    if (arrow) {
        out[0] = '\033';
        out[1] = '[';
        out[2] = arrow;
        return 3;
    }
    out[0] = sign;
    return sign ? 1 : 0;
}

static gantry__os_live_event_t live_take_event(const gantry__os_live_t *live,
                                               char keys[GANTRY__OS_LIVE_KEYS]) {
    enum { CONTROL_C = 3 };
    INPUT_RECORD event;
    DWORD count = 0;
    if (!ReadConsoleInputA(live->input, &event, 1, &count)) return GANTRY__OS_LIVE_LOST;
    if (count == 0) return GANTRY__OS_LIVE_NOTHING;
    if (event.EventType == WINDOW_BUFFER_SIZE_EVENT) return GANTRY__OS_LIVE_SIZE;
    if (event.EventType != KEY_EVENT) return GANTRY__OS_LIVE_NOTHING;
    const size_t length = live_write_key(&event.Event.KeyEvent, keys);
    keys[length] = '\0';
    if (length == 1 && keys[0] == CONTROL_C) return GANTRY__OS_LIVE_INTERRUPT;
    return length > 0 ? GANTRY__OS_LIVE_KEYS_CAME : GANTRY__OS_LIVE_NOTHING;
}

gantry__os_live_event_t gantry__os_live_wait(gantry__os_live_t *live, uint64_t deadline_ns,
                                             char keys[GANTRY__OS_LIVE_KEYS]) {
    const uint64_t now = gantry__now_ns(), most = INFINITE - 1;
    const uint64_t ms = deadline_ns > now ? (deadline_ns - now + 999999) / 1000000 : 0;
    keys[0] = '\0';
    switch (WaitForSingleObject(live->input, (DWORD)(ms < most ? ms : most))) {
        case WAIT_OBJECT_0: return live_take_event(live, keys);
        case WAIT_TIMEOUT: return GANTRY__OS_LIVE_TIME;
        default: return GANTRY__OS_LIVE_LOST;
    }
}

void gantry__os_live_close(gantry__os_live_t *live) { free(live); }
