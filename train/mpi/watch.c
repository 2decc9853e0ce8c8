/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* accept4, pipe2 */
#include "train/mpi/watch.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/os/thread.h"
#include "train/base/fail.h"
#include "shared/memory.h"

enum { CONNECT_SECONDS = 20 };

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

static gantry_status_t fail_with(const char *what) {
    return gantry__train_fail(GANTRY_UNAVAILABLE, "the watch of processes: %s: %s", what,
                              strerror(errno));
}

static void close_at(int *file) {
    if (*file >= 0) (void)close(*file);
    *file = -1;
}

gantry_status_t gantry__watch_init(gantry__watch_t *watch, size_t rank, size_t size,
                                   double timeout) {
    const size_t count = rank == 0 ? size : 1;
    *watch = (gantry__watch_t){
        .rank = rank, .size = size, .timeout = timeout, .listener = -1, .wakes = {-1, -1}};
    watch->sockets = gantry__alloc(count, sizeof *watch->sockets);
    watch->has_left = gantry__alloc(count, sizeof *watch->has_left);
    watch->peers = gantry__alloc(count, sizeof *watch->peers);
    if (!watch->sockets || !watch->has_left || !watch->peers) return GANTRY_RESOURCE_EXHAUSTED;
    for (size_t i = 0; i < count; ++i) watch->sockets[i] = -1;
    if (pipe2(watch->wakes, O_CLOEXEC) != 0) return fail_with("pipe");
    return GANTRY_OK;
}

/* ---- rank 0's place ---- */

static void add_address(gantry__watch_place_t *place, const struct sockaddr *address) {
    const socklen_t bytes =
        address->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);
    if (place->count == GANTRY__WATCH_ADDRESSES) return;
    if (getnameinfo(address, bytes, place->addresses[place->count], GANTRY__WATCH_ADDRESS_BYTES,
                    NULL, 0, NI_NUMERICHOST) == 0)
        ++place->count;
}

/* This machine's addresses that others may reach. */
static gantry_status_t list_addresses(gantry__watch_place_t *place) {
    struct ifaddrs *list;
    if (getifaddrs(&list) != 0) return fail_with("getifaddrs");
    for (struct ifaddrs *one = list; one; one = one->ifa_next) {
        if (!one->ifa_addr || one->ifa_flags & IFF_LOOPBACK || !(one->ifa_flags & IFF_UP)) continue;
        if (one->ifa_addr->sa_family == AF_INET || one->ifa_addr->sa_family == AF_INET6)
            add_address(place, one->ifa_addr);
    }
    freeifaddrs(list);
    if (place->count > 0) return GANTRY_OK;
    return gantry__train_fail(GANTRY_UNAVAILABLE,
                              "the watch of processes: this machine has no network address");
}

static gantry_status_t open_local(gantry__watch_t *watch) {
    const struct sockaddr_in address = {.sin_family = AF_INET,
                                        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    watch->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (watch->listener < 0) return fail_with("socket");
    if (bind(watch->listener, (const struct sockaddr *)&address, sizeof address) != 0)
        return fail_with("bind");
    return GANTRY_OK;
}

/* Of IPv6 and IPv4 alike, or of IPv4 on a machine without IPv6. */
static gantry_status_t open_wide(gantry__watch_t *watch) {
    const struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    const struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    const int off = 0;
    watch->listener = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (watch->listener >= 0 &&
        setsockopt(watch->listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0 &&
        bind(watch->listener, (const struct sockaddr *)&six, sizeof six) == 0)
        return GANTRY_OK;
    close_at(&watch->listener);
    watch->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (watch->listener < 0) return fail_with("socket");
    if (bind(watch->listener, (const struct sockaddr *)&four, sizeof four) != 0)
        return fail_with("bind");
    return GANTRY_OK;
}

gantry_status_t gantry__watch_open(gantry__watch_t *watch, bool local,
                                   gantry__watch_place_t *out_place) {
    struct sockaddr_storage bound = {0};
    socklen_t bytes = sizeof bound;
    memset(out_place, 0, sizeof *out_place);
    if (local) {
        GANTRY__TRY(open_local(watch));
        (void)snprintf(out_place->addresses[0], GANTRY__WATCH_ADDRESS_BYTES, "127.0.0.1");
        out_place->count = 1;
    } else {
        GANTRY__TRY(open_wide(watch));
        GANTRY__TRY(list_addresses(out_place));
    }
    if (listen(watch->listener, 128) != 0) return fail_with("listen");
    if (getsockname(watch->listener, (struct sockaddr *)&bound, &bytes) != 0)
        return fail_with("getsockname");
    /* getsockname has set it. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
    out_place->port = ntohs(bound.ss_family == AF_INET
                                ? ((const struct sockaddr_in *)(const void *)&bound)->sin_port
                                : ((const struct sockaddr_in6 *)(const void *)&bound)->sin6_port);
    if (getrandom(out_place->secret, sizeof out_place->secret, 0) !=
        (ssize_t)sizeof out_place->secret)
        return fail_with("getrandom");
    return GANTRY_OK;
}

/* ---- connections ---- */

/* Whether all bytes go or come within the time. */
static bool move_bytes(int file, void *data, size_t bytes, bool writes, double until) {
    unsigned char *at = data;
    while (bytes > 0) {
        struct pollfd one = {.fd = file, .events = writes ? POLLOUT : POLLIN};
        const double left = until - gantry__now_seconds();
        if (left <= 0 || poll(&one, 1, (int)(left * 1000) + 1) < 0) return false;
        const ssize_t moved = writes ? send(file, at, bytes, MSG_NOSIGNAL | MSG_DONTWAIT)
                                     : recv(file, at, bytes, MSG_DONTWAIT);
        if (moved == 0 || (moved < 0 && errno != EAGAIN && errno != EINTR)) return false;
        if (moved > 0) at += moved, bytes -= (size_t)moved;
    }
    return true;
}

static void set_options(int file) {
    const int on = 1, idle = 4, between = 2, count = 3;
    (void)setsockopt(file, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(file, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(file, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
    (void)setsockopt(file, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    (void)setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int connect_to(const char *address, uint32_t port, double until) {
    struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM},
                    *found;
    char service[16];
    int error = 0;
    socklen_t bytes = sizeof error;
    (void)snprintf(service, sizeof service, "%u", (unsigned)port);
    if (getaddrinfo(address, service, &hints, &found) != 0) return -1;
    int file = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    struct pollfd one = {.fd = file, .events = POLLOUT};
    if (file >= 0 && connect(file, found->ai_addr, found->ai_addrlen) != 0 &&
        (errno != EINPROGRESS ||
         poll(&one, 1, (int)((until - gantry__now_seconds()) * 1000)) != 1 ||
         getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error != 0))
        close_at(&file);
    freeaddrinfo(found);
    return file;
}

static gantry_status_t connect_out(gantry__watch_t *watch, const gantry__watch_place_t *place) {
    greeting_t greeting = {.rank = watch->rank};
    const double until = gantry__now_seconds() + CONNECT_SECONDS;
    memcpy(greeting.secret, place->secret, sizeof greeting.secret);
    for (uint32_t i = 0; i < place->count && i < GANTRY__WATCH_ADDRESSES; ++i) {
        const double part = gantry__now_seconds() + CONNECT_SECONDS / (double)place->count;
        watch->sockets[0] = connect_to(place->addresses[i], place->port, part);
        if (watch->sockets[0] < 0) continue;
        set_options(watch->sockets[0]);
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
    int file = accept4(watch->listener, NULL, NULL, SOCK_CLOEXEC);
    if (file < 0) return false;
    const double soon = gantry__now_seconds() + 2;
    if (move_bytes(file, &greeting, sizeof greeting, false, soon < until ? soon : until) &&
        memcmp(greeting.secret, place->secret, sizeof greeting.secret) == 0 && greeting.rank > 0 &&
        greeting.rank < watch->size && watch->sockets[greeting.rank] < 0) {
        set_options(file);
        watch->sockets[greeting.rank] = file;
        return true;
    }
    close_at(&file);
    return false;
}

static gantry_status_t accept_all(gantry__watch_t *watch, const gantry__watch_place_t *place) {
    const double until = gantry__now_seconds() + CONNECT_SECONDS + 2;
    for (size_t come = 1; come < watch->size;) {
        struct pollfd one = {.fd = watch->listener, .events = POLLIN};
        const double left = until - gantry__now_seconds();
        if (left <= 0)
            return gantry__train_fail(
                GANTRY_UNAVAILABLE,
                "the watch of processes: %zu of %zu processes have connected in %d seconds", come,
                watch->size, CONNECT_SECONDS);
        if (poll(&one, 1, (int)(left * 1000) + 1) == 1 && accept_one(watch, place, until)) ++come;
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

static void *watch_others(void *user) {
    gantry__watch_t *watch = user;
    for (size_t i = 0; i < count_sockets(watch); ++i) watch->peers[i].heard = gantry__now_seconds();
    for (;;) {
        struct pollfd wake = {.fd = watch->wakes[0], .events = POLLIN};
        for (size_t i = 0; i < count_sockets(watch); ++i) {
            struct pollfd one = {.fd = watch->sockets[i], .events = POLLIN};
            if (one.fd >= 0 && poll(&one, 1, 0) > 0) read_from(watch, i);
        }
        watch_report(watch);
        if (poll(&wake, 1, 100) > 0) return NULL;
    }
}

gantry_status_t gantry__watch_connect(gantry__watch_t *watch, const gantry__watch_place_t *place) {
    GANTRY__TRY(watch->rank == 0 ? accept_all(watch, place) : connect_out(watch, place));
    const int error = gantry__thread_start(&watch->thread, 0, watch_others, watch);
    if (error != 0)
        return gantry__train_fail(GANTRY_RESOURCE_EXHAUSTED,
                                  "the watch of processes: its thread does not start: %s",
                                  strerror(error));
    watch->has_thread = true;
    return GANTRY_OK;
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
    if (watch->has_thread) {
        (void)!write(watch->wakes[1], "", 1);
        gantry__thread_join(watch->thread);
    }
    for (size_t i = 0; watch->sockets && i < count_sockets(watch); ++i) {
        send_notice(watch->sockets[i], last_notice(watch));
        close_at(&watch->sockets[i]);
    }
    close_at(&watch->listener);
    close_at(&watch->wakes[0]);
    close_at(&watch->wakes[1]);
    gantry__free(watch->sockets);
    gantry__free(watch->has_left);
    gantry__free(watch->peers);
    watch->sockets = NULL;
    watch->has_left = NULL;
    watch->peers = NULL;
}
