/* SPDX-License-Identifier: Apache-2.0 */
/* Recognises a child of fork. Drivers, threads and locks do not survive fork, so a child must not
 * use objects that hold them.
 *
 * The check is one load: a page that the kernel zeroes in a child (MADV_WIPEONFORK, Linux 4.14)
 * carries a mark. If the kernel refuses that, gantry__fork_guard_ask compares process ids, and the
 * load sees only the result of earlier calls of it. Nothing is registered for the process. Owner:
 * the object with the guard. Thread-safe after init. */
#ifndef GANTRY_BASE_FORK_GUARD_H
#define GANTRY_BASE_FORK_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/failure.h"

typedef struct gantry__fork_guard_t {
    volatile unsigned char *mark; /* 0 in a child */
    size_t page_bytes;
    int64_t process;
    bool wipes; /* the kernel clears the mark in a child */
    char text[128];
} gantry__fork_guard_t;

/* what: the object's name in messages, "runtime". ResourceExhausted if there is no page. */
gantry_status_t gantry__fork_guard_init(gantry__fork_guard_t *guard, const char *what);
void gantry__fork_guard_deinit(gantry__fork_guard_t *guard);

/* Whether this is the process of the guard: false in a child of fork. It is cheap enough for every
 * call. */
static inline bool gantry__fork_guard_holds(const gantry__fork_guard_t *guard) {
    return *guard->mark != 0;
}

/* Whether the same holds even if the kernel does not clear the mark, then by a system call. It is
 * for calls that begin something or wait. */
bool gantry__fork_guard_ask(const gantry__fork_guard_t *guard);

/* Fails with FailedPrecondition "the runtime was created in process 123; a child of fork must
 * create its own". */
gantry_status_t gantry__fork_guard_fail(const gantry__fork_guard_t *guard);

#endif
