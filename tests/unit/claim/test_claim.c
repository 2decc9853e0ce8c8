/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Claims between processes are exclusive, wait in a fair queue, end with their holders and
 * pass to children; folders that others prepared badly are refused.
 * Promise: No lock of another user hangs a claimant or a list of claims, and a lock of the whole
 * queue is refused by name.
 * Promise: A device whose claim was given back is free, even while a child of fork is alive.
 * Promise: No text in another process's claim brings control characters or controls of direction
 * into a message. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/failure.h"
#include "claim/claim.h"
#include "test.h"

enum { NOBODY = 65534 };

static char home[64];
static char path[160];

static const char *in_home(const char *name) {
    (void)snprintf(path, sizeof path, "%s/%s", home, name);
    return path;
}

static gantry__claim_t open_claim(const char *folder, const char *command) {
    gantry__claim_t claim;
    if (gantry__claim_open(folder, command, &claim) != GANTRY_OK) fail_msg("%s", gantry__message());
    return claim;
}

static void expect_status(gantry_status_t status, gantry_status_t wanted, const char *text) {
    if (status != wanted || !strstr(gantry__message(), text))
        fail_msg("status %d, not %d; \"%s\" is not in \"%s\"", (int)status, (int)wanted, text,
                 gantry__message());
}

/* A process that runs `work` and answers with its result. */
static int in_process(int (*work)(void)) {
    int status;
    pid_t child = fork();
    if (child == 0) _exit(work());
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- devices ---- */

TEST(a_device_has_one_holder_and_the_message_names_it) {
    gantry__claim_t a = open_claim(home, "python train.py\n\033[31mforged"),
                    b = open_claim(home, "b");
    char text[64];
    assert_int_equal(gantry__claim_take(&a, "card"), GANTRY_OK);
    expect_status(gantry__claim_take(&b, "card"), GANTRY_UNAVAILABLE,
                  "device card is claimed by process ");
    (void)snprintf(text, sizeof text, "process %d (user %d, ", (int)getpid(), (int)getuid());
    assert_non_null(strstr(gantry__message(), text));
    assert_non_null(strstr(gantry__message(), "python train.py??[31mforged, since 2"));
    expect_status(gantry__claim_take(&a, "card"), GANTRY_UNAVAILABLE, "is claimed by"); /* twice */
    assert_int_equal(gantry__claim_take(&b, "other"), GANTRY_OK);
    gantry__claim_give_back(&a);
    assert_int_equal(gantry__claim_take(&b, "card"), GANTRY_OK);
    gantry__claim_close(&a);
    gantry__claim_close(&b);
}

TEST(looking_tells_who_holds_and_takes_nothing) {
    gantry_claim_info_t info;
    gantry__claim_t a = open_claim(home, NULL);
    gantry__claim_look(&a.folder, "never-claimed", &info);
    assert_false(info.held);
    assert_int_equal(gantry__claim_take(&a, "card"), GANTRY_OK);
    for (int i = 0; i < 2; ++i) {
        gantry__claim_folder_t folder;
        assert_int_equal(gantry__claim_folder_open(home, false, &folder), GANTRY_OK);
        gantry__claim_look(&folder, "card", &info);
        gantry__claim_folder_close(&folder);
        assert_true(info.held);
    }
    assert_int_equal(info.process, getpid());
    assert_int_equal(info.user, getuid());
    assert_non_null(strstr(info.command, "test_claim")); /* its own command line */
    assert_int_equal(strlen(info.since), strlen("2026-11-26T12:00:00Z"));
    gantry__claim_close(&a);
    gantry__claim_t b = open_claim(home, NULL);
    gantry__claim_look(&b.folder, "card", &info); /* the text is there, the lock is not */
    assert_false(info.held);
    assert_int_equal(info.process, 0);
    gantry__claim_close(&b);
}

TEST(a_claimant_holds_at_most_64_devices) {
    char name[16];
    gantry__claim_t a = open_claim(home, "a");
    for (int i = 0; i < GANTRY__CLAIM_MOST; ++i) {
        (void)snprintf(name, sizeof name, "many-%d", i);
        assert_int_equal(gantry__claim_take(&a, name), GANTRY_OK);
    }
    expect_status(gantry__claim_take(&a, "one more"), GANTRY_RESOURCE_EXHAUSTED, "at most 64");
    gantry__claim_close(&a);
}

/* ---- who holds, ends ---- */

static int take_and_wait_for_the_kill(void) {
    gantry__claim_t claim;
    size_t before;
    if (gantry__claim_open(home, "killed", &claim) != GANTRY_OK ||
        gantry__claim_begin_turn(&claim, true, &before) != GANTRY_OK ||
        gantry__claim_take(&claim, "card") != GANTRY_OK)
        return 1;
    (void)kill(getpid(), SIGKILL); /* with turn and device */
    return 1;
}

TEST(a_killed_holder_leaves_neither_device_nor_turn) {
    size_t before = 7;
    assert_int_equal(in_process(take_and_wait_for_the_kill), 128 + SIGKILL);
    gantry__claim_t a = open_claim(home, "a");
    assert_int_equal(gantry__claim_begin_turn(&a, false, &before), GANTRY_OK);
    assert_int_equal(before, 0);
    assert_int_equal(gantry__claim_take(&a, "card"), GANTRY_OK);
    gantry__claim_close(&a);
}

static int child_of(gantry__claim_t *claim, const char *program, int *ends) {
    pid_t child = fork();
    if (child != 0) return child;
    (void)dup2(ends[0], STDIN_FILENO);
    (void)close(ends[1]);
    (void)claim;
    (void)execl("/bin/sh", "sh", "-c", program, (char *)NULL);
    _exit(127);
}

static void expect_child_keeps(bool is_inherited) {
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    gantry__claim_t a = open_claim(home, "parent"), b = open_claim(home, "b");
    assert_int_equal(gantry__claim_take(&a, "card"), GANTRY_OK);
    assert_true(a.files[0] >= 100); /* above what scripts use */
    if (is_inherited) assert_int_equal(gantry__claim_inherit(&a), GANTRY_OK);
    char byte;
    int told[2];
    assert_int_equal(pipe(told), 0); /* closed by exec's end: the child's copy ends with it */
    assert_int_equal(fcntl(told[1], F_SETFD, FD_CLOEXEC), 0);
    pid_t child = child_of(&a, "read line", ends);
    (void)close(told[1]);
    assert_int_equal(read(told[0], &byte, 1), 0); /* the program runs */
    (void)close(told[0]);
    gantry__claim_close(&a); /* as a killed parent would */
    assert_int_equal(gantry__claim_take(&b, "card"), is_inherited ? GANTRY_UNAVAILABLE : GANTRY_OK);
    (void)close(ends[1]);
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    if (is_inherited) assert_int_equal(gantry__claim_take(&b, "card"), GANTRY_OK);
    gantry__claim_close(&b);
}

TEST(a_program_that_inherits_the_claim_holds_it_to_its_end) {
    expect_child_keeps(true);
    expect_child_keeps(false);
}

/* ---- the queue ---- */

TEST(claimants_come_in_the_order_of_their_places) {
    size_t before = 9;
    gantry__claim_t head = open_claim(home, "head"), second = open_claim(home, "second"),
                    third = open_claim(home, "third"), hasty = open_claim(home, "hasty");
    assert_int_equal(gantry__claim_begin_turn(&head, true, &before), GANTRY_OK);
    assert_int_equal(gantry__claim_end_turn(&head, true), GANTRY_OK); /* it found no device */
    assert_int_equal(gantry__claim_begin_turn(&second, true, &before), GANTRY_UNAVAILABLE);
    assert_int_equal(before, 1);
    assert_int_equal(gantry__claim_begin_turn(&third, true, &before), GANTRY_UNAVAILABLE);
    assert_int_equal(before, 2);
    expect_status(gantry__claim_begin_turn(&hasty, false, &before), GANTRY_UNAVAILABLE,
                  "3 claimants are before this one");
    assert_int_equal(gantry__claim_count_waiting(&hasty.folder), 3); /* it took no place */
    gantry__claim_close(&second);                                    /* gives up */
    assert_int_equal(gantry__claim_begin_turn(&third, true, &before), GANTRY_UNAVAILABLE);
    assert_int_equal(before, 1);
    assert_int_equal(gantry__claim_begin_turn(&head, true, &before), GANTRY_OK);
    assert_int_equal(gantry__claim_end_turn(&head, false), GANTRY_OK);
    assert_int_equal(gantry__claim_begin_turn(&hasty, false, &before), GANTRY_UNAVAILABLE);
    assert_int_equal(gantry__claim_begin_turn(&third, true, &before), GANTRY_OK);
    assert_int_equal(gantry__claim_end_turn(&third, false), GANTRY_OK);
    assert_int_equal(gantry__claim_begin_turn(&hasty, false, &before), GANTRY_OK);
    gantry__claim_close(&head);
    gantry__claim_close(&third);
    gantry__claim_close(&hasty);
}

static int queue_and_die(void) {
    gantry__claim_t claim;
    if (gantry__claim_open(home, "dies", &claim) != GANTRY_OK ||
        gantry__claim_begin_turn(&claim, true, NULL) != GANTRY_UNAVAILABLE)
        return 1;
    (void)kill(getpid(), SIGKILL);
    return 1;
}

TEST(a_waiter_that_dies_leaves_the_queue) {
    size_t before;
    gantry__claim_t head = open_claim(home, "head"), last = open_claim(home, "last");
    assert_int_equal(gantry__claim_begin_turn(&head, true, &before), GANTRY_OK);
    assert_int_equal(gantry__claim_end_turn(&head, true), GANTRY_OK);
    assert_int_equal(in_process(queue_and_die), 128 + SIGKILL);
    assert_int_equal(gantry__claim_begin_turn(&last, true, &before), GANTRY_UNAVAILABLE);
    assert_int_equal(before, 1);
    gantry__claim_close(&head);
    assert_int_equal(gantry__claim_begin_turn(&last, true, &before), GANTRY_OK);
    gantry__claim_close(&last);
}

/* ---- bad folders and files ---- */

static void write_text(const char *name, const char *text) {
    FILE *file = fopen(in_home(name), "w");
    assert_non_null(file);
    (void)fputs(text, file);
    (void)fclose(file);
}

TEST(links_and_other_kinds_of_files_are_refused_by_name) {
    gantry__claim_t a = open_claim(home, "a");
    write_text("precious", "text");
    assert_int_equal(symlink("precious", in_home("link.claim")), 0);
    expect_status(gantry__claim_take(&a, "link"), GANTRY_FAILED_PRECONDITION,
                  "/link.claim': it is a symbolic link");
    char other[160];
    (void)snprintf(other, sizeof other, "%s", in_home("precious"));
    assert_int_equal(link(other, in_home("hard.claim")), 0);
    expect_status(gantry__claim_take(&a, "hard"), GANTRY_FAILED_PRECONDITION,
                  "/hard.claim' is no plain file with one name; remove it");
    assert_int_equal(mkfifo(in_home("pipe.claim"), 0600), 0);
    expect_status(gantry__claim_take(&a, "pipe"), GANTRY_FAILED_PRECONDITION, "is no plain file");
    assert_int_equal(mkdir(in_home("folder.claim"), 0700), 0);
    expect_status(gantry__claim_take(&a, "folder"), GANTRY_FAILED_PRECONDITION, "/folder.claim'");
    assert_int_equal(rmdir(in_home("folder.claim")), 0);
    FILE *file = fopen(in_home("precious"), "r");
    char text[16];
    assert_non_null(fgets(text, sizeof text, file));
    (void)fclose(file);
    assert_string_equal(text, "text");
    gantry__claim_close(&a);
}

TEST(folders_that_cannot_keep_claims_are_refused_by_name) {
    gantry__claim_t a;
    char folder[160];
    (void)snprintf(folder, sizeof folder, "%s", in_home("open"));
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0777), 0);
    expect_status(gantry__claim_open(folder, NULL, &a), GANTRY_FAILED_PRECONDITION,
                  "has mode 0777: every user may remove another's claim; mode 1777 is accepted");
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(symlink("/tmp", folder), 0);
    expect_status(gantry__claim_open(folder, NULL, &a), GANTRY_FAILED_PRECONDITION, folder);
    assert_int_equal(unlink(folder), 0);
    write_text("open", "");
    expect_status(gantry__claim_open(folder, NULL, &a), GANTRY_FAILED_PRECONDITION, folder);
    assert_int_equal(unlink(folder), 0);
    (void)snprintf(folder, sizeof folder, "%s", in_home("no/such/parent"));
    expect_status(gantry__claim_open(folder, NULL, &a), GANTRY_FAILED_PRECONDITION,
                  "GANTRY_CLAIMS_DIR names another folder");
    expect_status(gantry__claim_open("/proc/1/none", NULL, &a), GANTRY_FAILED_PRECONDITION,
                  "cannot open or make '/proc/1/none'");
    char longest[600];
    memset(longest, 'x', sizeof longest - 1);
    longest[0] = '/';
    longest[sizeof longest - 1] = '\0';
    expect_status(gantry__claim_open(longest, NULL, &a), GANTRY_FAILED_PRECONDITION, "too long");
}

TEST(a_new_folder_is_for_every_user) {
    struct stat info;
    char folder[160];
    (void)snprintf(folder, sizeof folder, "%s", in_home("new"));
    mode_t mask = umask(077);
    gantry__claim_t a = open_claim(folder, "a");
    assert_int_equal(gantry__claim_take(&a, "card"), GANTRY_OK);
    (void)umask(mask);
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_mode & 07777, 01777);
    assert_int_equal(stat(in_home("new/card.claim"), &info), 0);
    assert_int_equal(info.st_mode & 07777, 0666);
    gantry__claim_close(&a);
}

static char others_folder[160];

static int claim_as_nobody(void) {
    gantry__claim_t claim;
    if (setgid(NOBODY) != 0 || setuid(NOBODY) != 0) return 9;
    gantry_status_t status = gantry__claim_open(others_folder, "nobody", &claim);
    if (status != GANTRY_OK) return strstr(gantry__message(), others_folder) ? 10 + (int)status : 1;
    return gantry__claim_take(&claim, "card") == GANTRY_OK ? 0 : 2;
}

TEST(users_share_a_folder_and_a_private_one_is_named) {
    if (geteuid() != 0) {
        print_message("skipped: only root can try another user\n");
        skip();
    }
    (void)snprintf(others_folder, sizeof others_folder, "%s", in_home("new"));
    assert_int_equal(chmod(home, 0755), 0);
    gantry__claim_t a = open_claim(others_folder, "root");
    assert_int_equal(gantry__claim_take(&a, "card"), GANTRY_OK);
    assert_int_equal(in_process(claim_as_nobody), 2); /* root has it */
    gantry__claim_close(&a);
    assert_int_equal(in_process(claim_as_nobody), 0); /* root's file, nobody's lock */
    assert_int_equal(chmod(others_folder, 0755), 0);
    assert_int_equal(unlink(in_home("new/card.claim")), 0);
    assert_int_equal(unlink(in_home("new/queue")), 0);
    assert_int_equal(in_process(claim_as_nobody), 10 + GANTRY_PERMISSION_DENIED);
    assert_int_equal(chmod(others_folder, 01777), 0);
}

static int claim_on_a_full_disk(void) {
    const struct rlimit none = {0, 0};
    gantry_claim_info_t info;
    gantry__claim_t claim;
    if (setrlimit(RLIMIT_FSIZE, &none) != 0) return 9;
    if (gantry__claim_open(home, "full", &claim) != GANTRY_OK) return 1;
    if (gantry__claim_take(&claim, "card") != GANTRY_OK) return 2;
    gantry__claim_t other = open_claim(home, "other");
    gantry__claim_look(&other.folder, "card", &info);
    if (!info.held || info.process != 0 || *info.command) return 3;
    if (gantry__claim_take(&other, "card") != GANTRY_UNAVAILABLE) return 4;
    return strstr(gantry__message(), "a process that left no name") ? 0 : 5;
}

TEST(a_full_disk_costs_the_name_but_not_the_claim) {
    assert_int_equal(in_process(claim_on_a_full_disk), 0);
}

TEST(a_removed_file_is_not_the_claim) {
    gantry__claim_t a = open_claim(home, "a"), b = open_claim(home, "b");
    int file;
    assert_int_equal(gantry__claim_file_open(&a.folder, "card.claim", &file), GANTRY_OK);
    assert_true(gantry__claim_file_is_current(&a.folder, "card.claim", file));
    assert_int_equal(unlink(in_home("card.claim")), 0);
    assert_false(gantry__claim_file_is_current(&a.folder, "card.claim", file));
    assert_int_equal(gantry__claim_take(&b, "card"), GANTRY_OK);
    assert_false(gantry__claim_file_is_current(&a.folder, "card.claim", file));
    (void)close(file);
    gantry__claim_close(&a);
    gantry__claim_close(&b);
}

TEST(a_hostile_text_stays_one_line_of_plain_characters) {
    gantry__claim_t a = open_claim(home, "a");
    gantry_claim_info_t info;
    assert_int_equal(gantry__claim_take(&a, "card"), GANTRY_OK);
    static const char *const texts[] = {
        "process -5\nuser x\nboot 99999999999999\ncommand \033]0;title\007\n",
        "process 12 13\nprocess 4\n",
        "command",
        "",
        "\n\n\nhost \n",
        "command \xc2\x9b"
        "2J\xe2\x80\xae\xe2\x81\xa6\x9b\nhost \xc2\x85\xff\n"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; ++i) {
        write_text("card.claim", texts[i]);
        gantry__claim_t b = open_claim(home, "b");
        gantry__claim_look(&b.folder, "card", &info);
        gantry__claim_close(&b);
        assert_true(info.held);
        assert_int_equal(info.process, 0);
        assert_int_equal(info.user, -1);
        assert_int_equal(info.held_seconds, 0); /* from the future */
        assert_null(strpbrk(info.command, "\033\007\n\xc2\xe2\x9b"));
        assert_null(strpbrk(info.host, "\xc2\xff"));
    }
    gantry__claim_close(&a);
}

/* ---- locks of any user ---- */

/* As lockall of an attacker: one lock of all bytes after the turn, or of the turn, too. */
static int lock_range(const char *file, int64_t begin, int64_t length) {
    struct flock range = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = (off_t)begin, .l_len = (off_t)length};
    int descriptor = open(in_home(file), O_RDWR | O_CLOEXEC);
    assert_true(descriptor >= 0);
    assert_int_equal(fcntl(descriptor, F_OFD_SETLK, &range), 0);
    return descriptor;
}

TEST(a_lock_of_all_places_counts_once_and_hangs_nobody) {
    gantry__claim_t a = open_claim(home, "a");
    size_t before = 0;
    int lock = lock_range("queue", 1, 0);
    assert_int_equal(gantry__claim_count_waiting(&a.folder), 1);
    expect_status(gantry__claim_begin_turn(&a, false, &before), GANTRY_UNAVAILABLE, "1 claimant");
    assert_int_equal(before, 1);
    expect_status(gantry__claim_begin_turn(&a, true, &before), GANTRY_RESOURCE_EXHAUSTED,
                  "has no place left");
    (void)close(lock);
    assert_int_equal(gantry__claim_begin_turn(&a, true, &before), GANTRY_OK);
    assert_int_equal(gantry__claim_end_turn(&a, false), GANTRY_OK);
    gantry__claim_close(&a);
}

TEST(many_locks_are_counted_within_bounds) {
    gantry__claim_t a = open_claim(home, "a");
    int locks[300];
    for (int i = 0; i < 300; ++i) locks[i] = lock_range("queue", 2 * (300 - i), 1);
    assert_in_range(gantry__claim_count_waiting(&a.folder), 1, 300); /* the worst order */
    for (int i = 0; i < 300; ++i) (void)close(locks[i]);
    for (int i = 0; i < 300; ++i) locks[i] = lock_range("queue", 2 * (i + 1), 1);
    assert_int_equal(gantry__claim_count_waiting(&a.folder), 300); /* as claimants come */
    for (int i = 1; i < 300; ++i) (void)close(locks[i]);
    for (int i = 0; i < 5000; ++i) {
        struct flock range = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 5 + 2 * i, .l_len = 1};
        assert_int_equal(fcntl(locks[0], F_OFD_SETLK, &range), 0);
    }
    assert_in_range(gantry__claim_count_waiting(&a.folder), 500, 5001);
    (void)close(locks[0]);
    assert_int_equal(gantry__claim_count_waiting(&a.folder), 0);
    gantry__claim_close(&a);
}

/* ---- fork ---- */

TEST(a_child_of_fork_does_not_keep_what_its_parent_gives_back) {
    gantry__claim_t a = open_claim(home, "a"), b = open_claim(home, "b");
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(gantry__claim_take(&a, "card"), GANTRY_OK);
    pid_t child = fork();
    if (child == 0) {
        (void)close(ends[1]);
        _exit((int)read(ends[0], &byte, 1));
    }
    gantry__claim_give_back(&a);
    assert_int_equal(gantry__claim_take(&b, "card"), GANTRY_OK);
    assert_int_equal(write(ends[1], "", 1), 1);
    assert_int_equal(waitpid(child, NULL, 0), child);
    (void)close(ends[0]);
    (void)close(ends[1]);
    child = fork(); /* which closes its own copy, and gives nothing back */
    if (child == 0) {
        gantry__claim_close(&b);
        _exit(0);
    }
    assert_int_equal(waitpid(child, NULL, 0), child);
    expect_status(gantry__claim_take(&a, "card"), GANTRY_UNAVAILABLE, "is claimed by");
    gantry__claim_close(&a);
    gantry__claim_close(&b);
}

static int remove_home(void **state) {
    (void)state;
    char command[96];
    (void)snprintf(command, sizeof command, "rm -r %s", home);
    return system(command) == 0 ? 0 : 1;
}

int main(void) {
    (void)snprintf(home, sizeof home, "/tmp/gantry_claim_XXXXXX");
    if (!mkdtemp(home)) return 1;
    return test_main_with(NULL, remove_home, NULL, NULL);
}
