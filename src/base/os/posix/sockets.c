/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* accept4, SOCK_CLOEXEC */
#include "base/os/sockets.h"

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
#include <sys/socket.h>
#include <unistd.h>

#if defined(__APPLE__)
#define SOCK_CLOEXEC 0
#if !defined(MSG_NOSIGNAL)
#define MSG_NOSIGNAL 0
#endif
#define TCP_KEEPIDLE TCP_KEEPALIVE
#define accept4(listener, address, bytes, flags) accept(listener, address, bytes)
#endif

/* ---- listening ---- */

static int close_failed(int socket) {
    const int error = errno;
    if (socket >= 0) (void)close(socket);
    errno = error;
    return -1;
}

static int bind_to(int family, const void *address, socklen_t bytes, const char **out_call) {
    const int off = 0, file = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *out_call = "socket";
    if (file < 0) return -1;
    *out_call = "bind";
    if ((family != AF_INET6 ||
         setsockopt(file, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0) &&
        bind(file, address, bytes) == 0)
        return file;
    return close_failed(file);
}

/* Of IPv6 and IPv4 alike, or of IPv4 on a machine without IPv6. */
static int bind_widely(const char **out_call) {
    const struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_ANY_INIT};
    const struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_ANY)};
    const int file = bind_to(AF_INET6, &six, sizeof six, out_call);
    return file >= 0 ? file : bind_to(AF_INET, &four, sizeof four, out_call);
}

int gantry__os_socket_listen(bool is_local, uint32_t *out_port, const char **out_call) {
    const struct sockaddr_in here = {.sin_family = AF_INET,
                                     .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_storage bound = {0};
    socklen_t bytes = sizeof bound;
    const int file =
        is_local ? bind_to(AF_INET, &here, sizeof here, out_call) : bind_widely(out_call);
    if (file < 0) return -1;
    *out_call = "listen";
    if (listen(file, 128) != 0) return close_failed(file);
    *out_call = "getsockname";
    if (getsockname(file, (struct sockaddr *)&bound, &bytes) != 0) return close_failed(file);
    /* getsockname has set it. NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage) */
    *out_port = ntohs(bound.ss_family == AF_INET
                          ? ((const struct sockaddr_in *)(const void *)&bound)->sin_port
                          : ((const struct sockaddr_in6 *)(const void *)&bound)->sin6_port);
    return file;
}

int gantry__os_socket_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_CLOEXEC); }

/* ---- connecting ---- */

static bool has_connected(int file, double seconds) {
    struct pollfd one = {.fd = file, .events = POLLOUT};
    int error = 0;
    socklen_t bytes = sizeof error;
    return errno == EINPROGRESS && poll(&one, 1, (int)(seconds * 1000)) == 1 &&
           getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 && error == 0;
}

int gantry__os_socket_connect(const char *address, uint32_t port, double seconds) {
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    char service[16];
    (void)snprintf(service, sizeof service, "%u", (unsigned)port);
    if (getaddrinfo(address, service, &hints, &found) != 0) return -1;
    int file = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (file >= 0 &&
        (fcntl(file, F_SETFL, O_NONBLOCK) != 0 ||
         (connect(file, found->ai_addr, found->ai_addrlen) != 0 && !has_connected(file, seconds))))
        file = close_failed(file);
    freeaddrinfo(found);
    return file;
}

void gantry__os_socket_set_up(int socket) {
    const int on = 1, idle = 4, between = 2, count = 3;
    (void)setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    (void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
    (void)setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
#if defined(__APPLE__)
    (void)setsockopt(socket, SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
}

/* ---- bytes ---- */

int gantry__os_socket_wait(int socket, bool writes, int milliseconds) {
    struct pollfd one = {.fd = socket, .events = writes ? POLLOUT : POLLIN};
    return poll(&one, 1, milliseconds);
}

/* What a call that does not wait has moved. */
static int64_t moved_bytes(ssize_t moved) {
    if (moved > 0) return moved;
    return moved < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

int64_t gantry__os_socket_send(int socket, const void *bytes, size_t size) {
    return moved_bytes(send(socket, bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT));
}

int64_t gantry__os_socket_receive(int socket, void *bytes, size_t size) {
    return moved_bytes(recv(socket, bytes, size, MSG_DONTWAIT));
}

void gantry__os_socket_close(int socket) { (void)close(socket); }

/* ---- addresses ---- */

static bool is_address(const struct ifaddrs *one) {
    return one->ifa_addr && !(one->ifa_flags & IFF_LOOPBACK) && (one->ifa_flags & IFF_UP) &&
           (one->ifa_addr->sa_family == AF_INET || one->ifa_addr->sa_family == AF_INET6);
}

size_t gantry__os_addresses(char (*out_addresses)[GANTRY__OS_ADDRESS_BYTES], size_t most) {
    struct ifaddrs *list;
    size_t count = 0;
    if (getifaddrs(&list) != 0) return 0;
    for (const struct ifaddrs *one = list; one && count < most; one = one->ifa_next) {
        if (!is_address(one)) continue;
        const socklen_t bytes = one->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
                                                                    : sizeof(struct sockaddr_in6);
        if (getnameinfo(one->ifa_addr, bytes, out_addresses[count], GANTRY__OS_ADDRESS_BYTES, NULL,
                        0, NI_NUMERICHOST) == 0)
            ++count;
    }
    freeifaddrs(list);
    if (count == 0) errno = 0;
    return count;
}
