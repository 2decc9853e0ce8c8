/* SPDX-License-Identifier: Apache-2.0 */
/* Connections by TCP between processes.
 *
 * A socket is a number, and -1 is none; no program that this process starts inherits it. A function
 * that returns a socket returns -1 with errno after a failure. Owner: the caller must close the
 * sockets. Threads: thread-safe for different sockets. */
#ifndef GANTRY_BASE_OS_SOCKETS_H
#define GANTRY_BASE_OS_SOCKETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GANTRY__OS_ADDRESS_BYTES 48

/* Waits for connections to a port that the system chooses: of this machine's processes only, or of
 * all machines, by IPv6 and IPv4 where there are both. *out_call: what failed. */
int gantry__os_socket_listen(bool is_local, uint32_t *out_port, const char **out_call);
/* Takes a connection that has come. */
int gantry__os_socket_accept(int listener);
/* Connects to an address in numbers within so many seconds; -1 without a reason. */
int gantry__os_socket_connect(const char *address, uint32_t port, double seconds);
/* Sends at once, and notices within ten seconds when the other machine is gone. */
void gantry__os_socket_set_up(int socket);

/* Waits at most so many milliseconds until the socket can be read (a connection can be taken), or
 * written. Returns 1, 0 if it cannot, or -1 after a failure. */
int gantry__os_socket_wait(int socket, bool writes, int milliseconds);
/* Sends or receives what goes at once. Returns the count, 0 if nothing goes now, or -1 if the
 * connection has ended; no signal comes. */
int64_t gantry__os_socket_send(int socket, const void *bytes, size_t size);
int64_t gantry__os_socket_receive(int socket, void *bytes, size_t size);
void gantry__os_socket_close(int socket);

/* Writes this machine's addresses in numbers that others may reach, and returns their count; 0 with
 * errno, which is 0 if there are none. */
size_t gantry__os_addresses(char (*out_addresses)[GANTRY__OS_ADDRESS_BYTES], size_t most);

#endif
