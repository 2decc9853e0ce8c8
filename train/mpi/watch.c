/* SPDX-License-Identifier: Apache-2.0 */
#include "train/mpi/watch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/os/entropy.h"
#include "base/os/sockets.h"
#include "shared/memory.h"
#include "train/base/fail.h"

enum { CONNECT_SECONDS = 20 };

#define PERIOD_NS UINT64_C(100000000) /* of the looks at the connections */

/* What a connection begins with. */
typedef struct greeting_t {
    uint64_t secret[2], rank;
} greeting_t;

/* The messages that follow: a rank is gone, for a gantry__watch_reason_t; or a report of the
 * sender. */
enum { REPORT = 100 };

typedef struct notice_t {
    uint32_t what, rank;
    uint64_t calls;
    double waits;
} notice_t;

static gantry_status_t fail_with(const char *what, int error) {
    return gantry__train_fail(GANTRY_UNAVAILABLE, "the watch of processes: %s: %s", what,
                              strerror(error));
}

static void close_at(int *socket) {
    if (*socket >= 0) gantry__os_socket_close(*socket);
    *socket = -1;
}

gantry_status_t gantry__watch_init(gantry__watch_t *watch, size_t rank, size_t size,
                                   double timeout) {
    const size_t count = rank == 0 ? size : 1;
    *watch = (gantry__watch_t){.rank = rank, .size = size, .timeout = timeout, .listener = -1};
    watch->sockets = gantry__alloc(count, sizeof *watch->sockets);
    watch->has_left = gantry__alloc(count, sizeof *watch->has_left);
    watch->peers = gantry__alloc(count, sizeof *watch->peers);
    if (!watch->sockets || !watch->has_left || !watch->peers) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i) watch->sockets[i] = -1;
    return GANTRY_OK;
}

gantry_status_t gantry__watch_open(gantry__watch_t *watch, bool local,
                                   gantry__watch_place_t *out_place) {
    const char *call;
    memset(out_place, 0, sizeof *out_place);
    watch->listener = gantry__os_socket_listen(local, &out_place->port, &call);
    if (watch->listener < 0) return fail_with(call, errno);
    if (local) {
        (void)snprintf(out_place->addresses[0], GANTRY__OS_ADDRESS_BYTES, "127.0.0.1");
        out_place->count = 1;
    } else {
        out_place->count =
            (uint32_t)gantry__os_addresses(out_place->addresses, GANTRY__WATCH_ADDRESSES);
        if (out_place->count == 0 && errno != 0) return fail_with("getifaddrs", errno);
        if (out_place->count == 0)
            return gantry__train_fail(
                GANTRY_UNAVAILABLE, "the watch of processes: this machine has no network address");
    }
    const int error = gantry__os_entropy(out_place->secret, sizeof out_place->secret);
    return error ? fail_with("getentropy", error) : GANTRY_OK;
}

/* ---- connections ---- */

/* Whether all bytes go or come within the time. */
static bool move_bytes(int socket, void *data, size_t bytes, bool writes, double until) {
    unsigned char *at = data;
    while (bytes > 0) {
        const double left = until - gantry__now_seconds();
        if (left <= 0 || gantry__os_socket_wait(socket, writes, (int)(left * 1000) + 1) < 0)
            return false;
        const int64_t moved = writes ? gantry__os_socket_send(socket, at, bytes)
                                     : gantry__os_socket_receive(socket, at, bytes);
        if (moved < 0) return false;
        at += moved;
        bytes -= (size_t)moved;
    }
    return true;
}

static gantry_status_t connect_out(gantry__watch_t *watch, const gantry__watch_place_t *place) {
    greeting_t greeting = {.rank = watch->rank};
    const double until = gantry__now_seconds() + CONNECT_SECONDS;
    memcpy(greeting.secret, place->secret, sizeof greeting.secret);
    for (uint32_t i = 0; i < place->count && i < GANTRY__WATCH_ADDRESSES; ++i) {
        watch->sockets[0] = gantry__os_socket_connect(place->addresses[i], place->port,
                                                      CONNECT_SECONDS / (double)place->count);
        if (watch->sockets[0] < 0) continue;
        gantry__os_socket_set_up(watch->sockets[0]);
        if (move_bytes(watch->sockets[0], &greeting, sizeof greeting, true, until))
            return GANTRY_OK;
        close_at(&watch->sockets[0]);
    }
    return gantry__train_fail(
        GANTRY_UNAVAILABLE,
        "the watch of processes: rank 0 cannot be reached at %s, port %u; processes that reach it by TCP are accepted, or the option is_unwatched",
        place->addresses[0], (unsigned)place->port);
}

/* Takes one connection, unless a stranger made it. */
static bool accept_one(gantry__watch_t *watch, const gantry__watch_place_t *place, double until) {
    greeting_t greeting;
    int file = gantry__os_socket_accept(watch->listener);
    if (file < 0) return false;
    const double soon = gantry__now_seconds() + 2;
    if (move_bytes(file, &greeting, sizeof greeting, false, soon < until ? soon : until) &&
        memcmp(greeting.secret, place->secret, sizeof greeting.secret) == 0 && greeting.rank > 0 &&
        greeting.rank < watch->size && watch->sockets[greeting.rank] < 0) {
        gantry__os_socket_set_up(file);
        watch->sockets[greeting.rank] = file;
        return true;
    }
    close_at(&file);
    return false;
}

static gantry_status_t accept_all(gantry__watch_t *watch, const gantry__watch_place_t *place) {
    const double until = gantry__now_seconds() + CONNECT_SECONDS + 2;
    for (size_t come = 1; come < watch->size;) {
        const double left = until - gantry__now_seconds();
        if (left <= 0)
            return gantry__train_fail(
                GANTRY_UNAVAILABLE,
                "the watch of processes: %zu of %zu processes have connected in %d seconds", come,
                watch->size, CONNECT_SECONDS);
        if (gantry__os_socket_wait(watch->listener, false, (int)(left * 1000) + 1) == 1 &&
            accept_one(watch, place, until))
            ++come;
    }
    close_at(&watch->listener);
    return GANTRY_OK;
}

/* ---- the thread ---- */

static size_t count_sockets(const gantry__watch_t *watch) {
    return watch->rank == 0 ? watch->size : 1;
}

static void send_notice(int file, notice_t notice) {
    if (file >= 0) (void)move_bytes(file, &notice, sizeof notice, true, gantry__now_seconds() + 1);
}

/* Notes that a rank is gone. Only the first one counts, because others end because of it. Rank 0
 * reports it to the others. */
static void note_gone(gantry__watch_t *watch, size_t rank, uint32_t reason) {
    if (atomic_load(&watch->gone) != 0) return;
    atomic_store(&watch->reason, reason);
    atomic_store(&watch->gone, rank + 1);
    for (size_t i = 1; watch->rank == 0 && i < watch->size; ++i) {
        if (i != rank || reason >= GANTRY__WATCH_SILENT) /* a late one may go on */
            send_notice(watch->sockets[i], (notice_t){.what = reason, .rank = (uint32_t)rank});
    }
}

static void note_report(gantry__watch_t *watch, size_t i, const notice_t *notice) {
    watch->peers[i] = (gantry__watch_peer_t){
        .calls = notice->calls, .waits = notice->waits, .heard = gantry__now_seconds()};
}

static void read_from(gantry__watch_t *watch, size_t i) {
    notice_t notice;
    if (move_bytes(watch->sockets[i], &notice, sizeof notice, false, gantry__now_seconds() + 1)) {
        if (notice.what == REPORT) {
            note_report(watch, i, &notice);
            return;
        }
        if (notice.rank == (watch->rank == 0 ? i : 0)) watch->has_left[i] = true;
        note_gone(watch, notice.rank, notice.what);
        return;
    }
    close_at(&watch->sockets[i]);
    if (!watch->has_left[i]) note_gone(watch, watch->rank == 0 ? i : 0, GANTRY__WATCH_LOST);
}

/* ---- late processes ---- */

#define LONGEST_PERIOD 5.0
#define LATENESS_OF_REPORTS 2.0

static double report_period(const gantry__watch_t *watch) {
    const double part = watch->timeout / 4;
    return part < LONGEST_PERIOD ? part : LONGEST_PERIOD;
}

void gantry__watch_begin_call(gantry__watch_t *watch) {
    const uint64_t calls = atomic_load_explicit(&watch->calls, memory_order_relaxed);
    atomic_store_explicit(&watch->calls, calls + 1, memory_order_relaxed);
}

void gantry__watch_wait(gantry__watch_t *watch, double seconds) {
    atomic_store_explicit(&watch->waits_ms, (uint64_t)(seconds * 1000), memory_order_relaxed);
}

void gantry__watch_doubt_root(gantry__watch_t *watch, double waited) {
    const double answer = 2 * report_period(watch) + 2 * LATENESS_OF_REPORTS;
    if (watch->timeout > 0 && watch->rank != 0 && waited > watch->timeout + answer)
        note_gone(watch, 0, GANTRY__WATCH_SILENT);
}

static bool is_silent(const gantry__watch_t *watch, size_t rank) {
    const double most = report_period(watch) + LATENESS_OF_REPORTS;
    return rank != 0 && gantry__now_seconds() - watch->peers[rank].heard > most;
}

/* Whether rank `a` is more likely than `b` to be the one for which the others wait. */
static bool is_later(const gantry__watch_t *watch, size_t a, size_t b) {
    const gantry__watch_peer_t *x = &watch->peers[a], *y = &watch->peers[b];
    if (is_silent(watch, a) != is_silent(watch, b)) return is_silent(watch, a);
    if (x->calls != y->calls) return x->calls < y->calls;
    return x->waits < y->waits;
}

/* Of rank 0: whether a process has waited for too long, and for whom. */
static void name_late(gantry__watch_t *watch) {
    /* so long that a process that stopped with the call has missed reports */
    const double most = watch->timeout + report_period(watch) + LATENESS_OF_REPORTS;
    size_t latest = 0;
    bool is_late = false;
    for (size_t i = 0; i < watch->size; ++i) {
        is_late |= watch->peers[i].waits > most && !is_silent(watch, i);
        if (is_later(watch, i, latest)) latest = i;
    }
    if (is_late)
        note_gone(watch, latest,
                  is_silent(watch, latest) ? GANTRY__WATCH_SILENT : GANTRY__WATCH_LATE);
}

/* Sends a report to rank 0, which looks at all of them. */
static void watch_report(gantry__watch_t *watch) {
    const notice_t notice = {.what = REPORT,
                             .rank = (uint32_t)watch->rank,
                             .calls = atomic_load(&watch->calls),
                             .waits = (double)atomic_load(&watch->waits_ms) / 1000};
    if (watch->timeout <= 0 || gantry__now_seconds() - watch->reported < report_period(watch))
        return;
    watch->reported = gantry__now_seconds();
    if (watch->rank == 0) {
        note_report(watch, 0, &notice);
        name_late(watch);
    } else {
        send_notice(watch->sockets[0], notice);
    }
}

/* Whether the thread must end, which it waits for a while. */
static bool has_ended(gantry__watch_t *watch) {
    const uint64_t until = gantry__now_ns() + PERIOD_NS;
    gantry__mutex_lock(&watch->lock);
    while (!watch->ends && gantry__now_ns() < until)
        gantry__condition_wait(&watch->changed, &watch->lock, until);
    const bool ends = watch->ends;
    gantry__mutex_unlock(&watch->lock);
    return ends;
}

static void *watch_others(void *user) {
    gantry__watch_t *watch = user;
    for (size_t i = 0; i < count_sockets(watch); ++i) watch->peers[i].heard = gantry__now_seconds();
    do {
        for (size_t i = 0; i < count_sockets(watch); ++i) {
            const int socket = watch->sockets[i];
            if (socket >= 0 && gantry__os_socket_wait(socket, false, 0) > 0) read_from(watch, i);
        }
        watch_report(watch);
    } while (!has_ended(watch));
    return NULL;
}

static gantry_status_t start_thread(gantry__watch_t *watch) {
    int error = gantry__mutex_init(&watch->lock);
    if (error == 0) {
        error = gantry__condition_init(&watch->changed);
        if (error == 0) {
            error = gantry__thread_start(&watch->thread, 0, watch_others, watch);
            if (error != 0) gantry__condition_deinit(&watch->changed);
        }
        if (error != 0) gantry__mutex_deinit(&watch->lock);
    }
    watch->has_thread = error == 0;
    if (error == 0) return GANTRY_OK;
    return gantry__train_fail(GANTRY_RESOURCE_EXHAUSTED,
                              "the watch of processes: its thread does not start: %s",
                              strerror(error));
}

static void end_thread(gantry__watch_t *watch) {
    gantry__mutex_lock(&watch->lock);
    watch->ends = true;
    gantry__condition_wake_all(&watch->changed);
    gantry__mutex_unlock(&watch->lock);
    gantry__thread_join(watch->thread);
    gantry__condition_deinit(&watch->changed);
    gantry__mutex_deinit(&watch->lock);
    watch->has_thread = false;
}

gantry_status_t gantry__watch_connect(gantry__watch_t *watch, const gantry__watch_place_t *place) {
    GANTRY__TRY(watch->rank == 0 ? accept_all(watch, place) : connect_out(watch, place));
    return start_thread(watch);
}

/* Returns the notice that the others get at the end: who is late, if this process ends for that. */
static notice_t last_notice(gantry__watch_t *watch) {
    const size_t gone = atomic_load(&watch->gone);
    const uint32_t reason = atomic_load(&watch->reason);
    if (gone > 0 && reason >= GANTRY__WATCH_SILENT)
        return (notice_t){.what = reason, .rank = (uint32_t)(gone - 1)};
    return (notice_t){.what = GANTRY__WATCH_LEAVES, .rank = (uint32_t)watch->rank};
}

void gantry__watch_deinit(gantry__watch_t *watch) {
    if (watch->has_thread) end_thread(watch);
    for (size_t i = 0; watch->sockets && i < count_sockets(watch); ++i) {
        send_notice(watch->sockets[i], last_notice(watch));
        close_at(&watch->sockets[i]);
    }
    close_at(&watch->listener);
    gantry__free(watch->sockets);
    gantry__free(watch->has_left);
    gantry__free(watch->peers);
    watch->sockets = NULL;
    watch->has_left = NULL;
    watch->peers = NULL;
}
