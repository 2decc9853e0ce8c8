/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Two openings of a file exclude each other by its lock, shared locks excepted, and the
 * lock ends when it is given back, when its file is closed, and when its process dies.
 * Promise: A locked byte is found by others with its place; locks of bytes, of the file, and what
 * is read of it concern each other in nothing. */
#include <errno.h>

#include "base/os/clock.h"
#include "base/os/paths.h"
#include "base/os/library.h"
#include "base/os/locks.h"
#include "base/os/process.h"
#include "own_folder.h"
#include "test.h"

static int one, two; /* two openings of a file */

static int open_both(void **state) {
    (void)state;
    const unsigned flags = GANTRY__OS_READ | GANTRY__OS_WRITE | GANTRY__OS_CREATE;
    one = gantry__os_open(in_own_folder("lock"), flags, 0600);
    two = gantry__os_open(in_own_folder("lock"), flags, 0600);
    return one < 0 || two < 0;
}

static int close_both(void **state) {
    (void)state;
    if (one >= 0) (void)gantry__os_close(one);
    (void)gantry__os_close(two);
    return 0;
}

TEST(one_opening_has_the_lock) {
    assert_int_equal(gantry__os_lock(one, false), 0);
    assert_int_equal(gantry__os_lock(two, false), EAGAIN);
    assert_int_equal(gantry__os_lock(two, true), EAGAIN);
    gantry__os_unlock(one);
    assert_int_equal(gantry__os_lock(two, false), 0);
}

TEST(shared_locks_exist_together) {
    assert_int_equal(gantry__os_lock(one, true), 0);
    assert_int_equal(gantry__os_lock(two, true), 0);
    gantry__os_unlock(two);
    assert_int_equal(gantry__os_lock(two, false), EAGAIN);
}

TEST(a_lock_ends_with_its_file) {
    assert_int_equal(gantry__os_lock(one, false), 0);
    assert_int_equal(gantry__os_lock_byte(one, 5), 0);
    assert_int_equal(gantry__os_close(one), 0);
    one = -1;
    assert_int_equal(gantry__os_lock(two, false), 0);
    assert_int_equal(gantry__os_lock_byte(two, 5), 0);
}

TEST(bytes_are_locked_one_by_one) {
    gantry__os_range_t range;
    assert_int_equal(gantry__os_lock_byte(one, 7), 0);
    assert_int_equal(gantry__os_lock_byte(two, 7), EAGAIN);
    assert_int_equal(gantry__os_lock_byte(two, 8), 0);
    assert_true(gantry__os_locked_range(two, 0, 100, &range));
    assert_int_equal(range.begin, 7);
    assert_int_equal(range.end, 8);
    assert_false(gantry__os_locked_range(two, 0, 7, &range));
    if (strcmp(gantry__os_library_ending, ".dll") != 0) /* Windows counts its own lock, too */
        assert_false(gantry__os_locked_range(two, 8, 100, &range));
    assert_true(gantry__os_locked_range(one, 8, 9, &range));
    gantry__os_unlock_byte(one, 7);
    assert_false(gantry__os_locked_range(two, 0, 8, &range));
    assert_int_equal(gantry__os_lock_byte(two, 7), 0);
}

TEST(locks_concern_only_their_kind) {
    char got;
    assert_int_equal(gantry__os_lock_byte(one, 0), 0);
    assert_int_equal(gantry__os_lock(two, false), 0);
    assert_int_equal(gantry__os_write(two, "x", 1, 0), 1);
    assert_int_equal(gantry__os_read_at(one, &got, 1, 0), 1);
    assert_int_equal(got, 'x');
}

TEST(a_lock_ends_with_its_process) {
    static const char here = 0;
    const char *const arguments[] = {"room_base", "test_os_locks", "hold", in_own_folder("lock"),
                                     NULL};
    gantry__os_start_t start = {.program = gantry__os_library_own_file(&here),
                                .arguments = arguments};
    gantry__os_child_t child;
    int reading;
    char got = 0;
    assert_int_equal(gantry__os_pipe(&reading, &start.report), 0);
    assert_int_equal(gantry__os_child_start(&start, &child), 0);
    assert_int_equal(gantry__os_close(start.report), 0);
    assert_int_equal(gantry__os_wait_again(reading), 0);
    assert_int_equal(gantry__os_read(reading, &got, 1), 1);
    assert_int_equal(got, 'l');
    assert_int_equal(gantry__os_lock(one, false), EAGAIN);
    gantry__os_child_kill(&child);
    assert_int_equal(gantry__os_lock(one, false), 0);
    assert_int_equal(gantry__os_close(reading), 0);
}

/* The child: holds the lock until it is killed. */
static int hold(const char *path) {
    const int file = gantry__os_open(path, GANTRY__OS_READ | GANTRY__OS_WRITE, 0);
    const char report = gantry__os_lock(file, false) == 0 ? 'l' : 'n';
    (void)gantry__os_write(GANTRY__OS_CHILD_REPORT, &report, 1, GANTRY__OS_NEXT);
    for (int i = 0; i < 60; ++i) gantry__os_sleep_ns(UINT64_C(1000000000));
    return 0;
}

int main(int count, char **arguments) {
    if (count == 3 && strcmp(arguments[1], "hold") == 0) return hold(arguments[2]);
    return test_main_with(make_own_folder, remove_own_folder, open_both, close_both);
}
