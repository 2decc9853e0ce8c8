/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: A file or a folder passes if only root and the process's user may write it, its folders
 * and the links on the way to it; a refusal names the path, its owner or mode, and the remedy.
 * Promise: A missing folder is made, with mode 0700, only in a folder that passes the check of its
 * writers: never in another user's folder, nor through another user's link.
 * Promise: An access control list that lets others write refuses a file, a folder and what is in
 * it, also where the group is the user's own.
 * Promise: No symbolic link, pipe, socket, device or folder of a trusted folder is opened as one of
 * its files. */
#define _GNU_SOURCE

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/failure.h"
#include "base/files.h"
#include "base/new_file.h"
#include "base/trust.h"
#include "test.h"

#define NOBODY 65534
#define NEED_ROOT                                                  \
    if (geteuid() != 0) {                                          \
        print_message("skipped: only root can be another user\n"); \
        skip();                                                    \
    }

static char home[64];

static const char *in_home(const char *name) {
    static char paths[8][160];
    static unsigned next;
    char *path = paths[next++ % 8];
    (void)snprintf(path, sizeof paths[0], "%s/%s", home, name);
    return path;
}

static void make_folder(const char *name, mode_t mode) {
    assert_int_equal(mkdir(in_home(name), 0700), 0);
    assert_int_equal(chmod(in_home(name), mode), 0);
}

static void make_file(const char *name, mode_t mode) {
    const gantry__file_piece_t piece = {"text", 4};
    assert_int_equal(gantry__file_write(in_home(name), &piece, 1, 0), GANTRY_OK);
    assert_int_equal(chmod(in_home(name), mode), 0);
}

static void give_away(const char *name) {
    assert_int_equal(lchown(in_home(name), NOBODY, NOBODY), 0);
}

static void expect_passes(const char *path) {
    const gantry_status_t status = gantry__trust_check(path);
    if (status != GANTRY_OK) fail_msg("%s: %s", path, gantry__message());
}

static void expect_refused(const char *path, const char *reason) {
    const gantry_status_t status = gantry__trust_check(path);
    if (status != GANTRY_FAILED_PRECONDITION || !strstr(gantry__message(), reason) ||
        !strstr(gantry__message(), path))
        fail_msg("%s: status %d, \"%s\", not \"%s\"", path, (int)status, gantry__message(), reason);
}

TEST(own_files_and_folders_pass) {
    make_folder("own", 0700);
    make_folder("seen", 0755);
    make_file("own/file", 0600);
    make_file("seen/file", 0644);
    assert_int_equal(symlink("seen/../own", in_home("link")), 0);
    expect_passes("/");
    expect_passes(in_home("own"));
    expect_passes(in_home("seen/"));
    expect_passes(in_home("seen/./file"));
    expect_passes(in_home("link/file"));
    expect_passes(in_home("own/missing/folder"));
    assert_int_equal(chdir(home), 0);
    expect_passes("own/file");
    assert_int_equal(chdir("/"), 0);
}

TEST(what_everybody_may_write_is_refused) {
    make_folder("open", 0777);
    make_folder("open/own", 0700);
    make_folder("sticky", 01777);
    make_folder("sticky/own", 0700);
    make_file("own/open", 0666);
    make_file("sticky/file", 0644);
    expect_refused(in_home("open"), "has mode 0777; accepted is what only root and user");
    expect_refused(in_home("open/own"), "/open' has mode 0777");
    expect_refused(in_home("open/missing"), "(chmod go-w '");
    expect_refused(in_home("sticky"), "has mode 1777");
    expect_refused(in_home("own/open"), "has mode 0666");
    expect_passes(in_home("sticky/own")); /* nobody else can rename it */
    expect_passes(in_home("sticky/file"));
    assert_int_equal(symlink(in_home("open/own"), in_home("to_open")), 0);
    expect_refused(in_home("to_open"), "/open' has mode 0777");
}

TEST(what_another_user_owns_is_refused) {
    NEED_ROOT
    make_folder("his", 0755);
    make_folder("his/mine", 0700);
    make_file("own/his", 0644);
    give_away("his");
    give_away("own/his");
    expect_refused(in_home("his"), "belongs to user 65534; accepted is what only root and user 0");
    expect_refused(in_home("his/mine"), "/his' belongs to user 65534");
    expect_refused(in_home("own/his"), "belongs to user 65534");
    assert_int_equal(symlink(in_home("own"), in_home("sticky/link")), 0);
    expect_passes(in_home("sticky/link"));
    give_away("sticky/link");
    expect_refused(in_home("sticky/link"), "/sticky/link' belongs to user 65534");
}

TEST(group_counts_as_others_unless_it_is_the_users_own) {
    NEED_ROOT
    make_folder("group", 0775);
    make_folder("group/own", 0700);
    expect_passes(in_home("group")); /* root's group */
    assert_int_equal(chown(in_home("group"), 0, 100), 0);
    expect_refused(in_home("group"), "has mode 0775 and group 100; accepted is what only root");
    expect_refused(in_home("group/own"), "(chmod g-w '");
    assert_int_equal(chown(in_home("group"), NOBODY, NOBODY), 0);
    assert_int_equal(setegid(NOBODY), 0);
    assert_int_equal(seteuid(NOBODY), 0);
    expect_passes(in_home("group")); /* its number is the user's */
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(setegid(0), 0);
}

TEST(roots_folder_passes_for_another_user) {
    NEED_ROOT
    assert_int_equal(seteuid(NOBODY), 0);
    expect_passes(in_home("seen/file"));
    expect_refused(in_home("sticky"), "accepted is what only root and user 65534 may write");
    assert_int_equal(seteuid(0), 0);
}

TEST(writers_of_the_library_may_be_trusted) {
    NEED_ROOT
    const gantry__os_writers_t writers = {
        .has_user = true, .user = NOBODY, .has_group = true, .group = 100};
    gantry__os_writers_t found;
    assert_int_equal(chown(in_home("group"), 0, 100), 0);
    char path[GANTRY__OS_PATH_BYTES];
    int file;
    assert_int_equal(gantry__trust_open_folder(in_home("his"), &writers, &file), GANTRY_OK);
    gantry__file_close(file);
    assert_int_equal(gantry__trust_open_folder(in_home("group"), &writers, &file), GANTRY_OK);
    gantry__file_close(file);
    assert_int_equal(gantry__trust_open_file(in_home("link/his"), &writers, path, &file),
                     GANTRY_OK);
    gantry__file_close(file);
    assert_string_equal(path, in_home("own/his"));
    assert_int_equal(gantry__trust_open_folder(in_home("open"), &writers, &file),
                     GANTRY_FAILED_PRECONDITION);
    assert_true(gantry__trust_of_library(&found, path));
    assert_true(found.has_user);
}

static void expect_made(const char *path) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_true(S_ISDIR(info.st_mode));
    assert_int_equal(info.st_mode & 07777, 0700);
}

TEST(missing_folders_are_made_where_it_is_safe) {
    int folder;
    const mode_t before = umask(0);
    assert_int_equal(gantry__trust_make_folder(in_home("seen/a//b/./c/"), &folder), GANTRY_OK);
    assert_true(folder >= 0);
    gantry__file_close(folder);
    expect_made(in_home("seen/a"));
    expect_made(in_home("seen/a/b"));
    expect_made(in_home("seen/a/b/c"));
    assert_int_equal(gantry__trust_make_folder(in_home("seen/a/b/c"), NULL), GANTRY_OK);
    assert_int_equal(gantry__trust_make_folder(in_home("link/d"), NULL), GANTRY_OK);
    expect_made(in_home("own/d"));
    assert_int_equal(gantry__trust_make_folder(in_home("sticky/e/f"), NULL), GANTRY_OK);
    expect_made(in_home("sticky/e/f"));
    assert_int_equal(gantry__trust_make_folder(in_home("sticky"), NULL), GANTRY_OK);
    assert_int_equal(gantry__trust_make_folder(in_home("sticky"), &folder),
                     GANTRY_FAILED_PRECONDITION);
    assert_int_equal(folder, -1);
    assert_int_equal(gantry__trust_make_folder(in_home("seen/file/below"), NULL),
                     GANTRY_INVALID_ARGUMENT);
    (void)umask(before);
}

static void expect_nothing_made(const char *path, const char *reason, const char *made) {
    int folder;
    if (gantry__trust_make_folder(path, &folder) != GANTRY_FAILED_PRECONDITION ||
        !strstr(gantry__message(), reason))
        fail_msg("%s: \"%s\", not \"%s\"", path, gantry__message(), reason);
    assert_int_equal(folder, -1);
    assert_int_equal(gantry__trust_make_folder(path, NULL), GANTRY_FAILED_PRECONDITION);
    assert_int_not_equal(access(made, F_OK), 0);
}

TEST(nothing_is_made_where_others_may_write) {
    expect_nothing_made(in_home("open/new/folder"), "/open' has mode 0777", in_home("open/new"));
    NEED_ROOT
    make_folder("target", 0700);
    assert_int_equal(symlink(in_home("target"), in_home("his/link")), 0);
    assert_int_equal(symlink(in_home("target/new"), in_home("sticky/dangling")), 0);
    give_away("sticky/dangling");
    give_away("his/link");
    expect_nothing_made(in_home("his/new/folder"), "/his' belongs to user 65534",
                        in_home("his/new"));
    expect_nothing_made(in_home("his/mine/new"), "/his' belongs to user 65534",
                        in_home("his/mine/new"));
    expect_nothing_made(in_home("his/link/new"), "/his' belongs to user 65534",
                        in_home("target/new"));
    expect_nothing_made(in_home("sticky/link/new"), "/sticky/link' belongs to user 65534",
                        in_home("own/new"));
    expect_nothing_made(in_home("sticky/dangling/new"), "/dangling' belongs to user 65534",
                        in_home("target/new"));
}

TEST(only_plain_files_are_opened) {
    static const struct {
        const char *name, *kind;
    } entries[] = {{"pipe", "it is a pipe"},
                   {"socket", "it is a socket"},
                   {"folder", "it is a directory"},
                   {"link", "it is a symbolic link"}};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int folder, file, listener = socket(AF_UNIX, SOCK_STREAM, 0);
    make_folder("kinds", 0700);
    make_folder("kinds/folder", 0700);
    make_file("kinds/file", 0600);
    assert_int_equal(mkfifo(in_home("kinds/pipe"), 0600), 0);
    assert_int_equal(symlink("file", in_home("kinds/link")), 0);
    (void)snprintf(address.sun_path, sizeof address.sun_path, "%s", in_home("kinds/socket"));
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    (void)close(listener);
    assert_int_equal(gantry__trust_open_folder(in_home("kinds"), NULL, &folder), GANTRY_OK);
    for (size_t i = 0; i < sizeof entries / sizeof entries[0]; ++i) {
        assert_int_equal(gantry__trust_open_entry(folder, in_home("kinds"), entries[i].name, &file),
                         GANTRY_INVALID_ARGUMENT);
        assert_non_null(strstr(gantry__message(), entries[i].kind));
    }
    assert_int_equal(gantry__trust_open_file(in_home("kinds/pipe"), NULL, NULL, &file),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry__trust_open_file("/dev/null", NULL, NULL, &file),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry__trust_open_entry(folder, in_home("kinds"), "file", &file), GANTRY_OK);
    gantry__file_close(file);
    gantry__file_close(folder);
}

TEST(bad_paths_are_refused) {
    char longest[6000];
    const size_t home_bytes = strlen(in_home(""));
    int file;
    memset(longest, 'a', sizeof longest);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(symlink("loop", in_home("loop")), 0);
    assert_int_equal(gantry__trust_open_folder(in_home("loop"), NULL, &file),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry__trust_open_folder(longest, NULL, &file), GANTRY_INVALID_ARGUMENT);
    memcpy(longest, in_home(""), home_bytes); /* one name of 300 bytes */
    longest[home_bytes + 300] = '\0';
    assert_int_equal(gantry__trust_open_folder(longest, NULL, &file), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry__trust_open_folder("", NULL, &file), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry__trust_open_folder(NULL, NULL, &file), GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry__trust_open_folder(in_home("own/file"), NULL, &file),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry__trust_open_file(in_home("own"), NULL, NULL, &file),
                     GANTRY_INVALID_ARGUMENT);
    assert_int_equal(gantry__trust_open_file(in_home("own/none"), NULL, NULL, &file),
                     GANTRY_NOT_FOUND);
}

static int open_home(void **state) {
    (void)state;
    (void)snprintf(home, sizeof home, "/tmp/gantry_trust_XXXXXX");
    return mkdtemp(home) ? chmod(home, 0755) : 1;
}

static int remove_home(void **state) {
    (void)state;
    char line[96];
    (void)snprintf(line, sizeof line, "rm -rf %s", home);
    return system(line);
}

/* Gives one user, or one group, these rights by a list. False where there are no lists. */
static bool set_list(const char *path, unsigned char tag, unsigned id, unsigned char rights) {
    const unsigned char none = 0xff;
    const unsigned char list[] = {2,
                                  0,
                                  0,
                                  0, /* the version; then what its owner may do */
                                  1,
                                  0,
                                  7,
                                  0,
                                  none,
                                  none,
                                  none,
                                  none,
                                  tag,
                                  0,
                                  rights,
                                  0,
                                  (unsigned char)id,
                                  (unsigned char)(id >> 8),
                                  0,
                                  0,
                                  4,
                                  0,
                                  0,
                                  0,
                                  none,
                                  none,
                                  none,
                                  none, /* its group */
                                  0x10,
                                  0,
                                  7,
                                  0,
                                  none,
                                  none,
                                  none,
                                  none, /* at most */
                                  0x20,
                                  0,
                                  0,
                                  0,
                                  none,
                                  none,
                                  none,
                                  none};
    /* a group's entry follows the owning group's */
    unsigned char sorted[sizeof list];
    memcpy(sorted, list, sizeof list);
    if (tag == 8) {
        memcpy(sorted + 12, list + 20, 8);
        memcpy(sorted + 20, list + 12, 8);
    }
    return setxattr(path, "system.posix_acl_access", sorted, sizeof sorted, 0) == 0;
}

TEST(lists_that_let_others_write_are_refused) {
    enum { USER = 2, GROUP = 8, READ = 5, ALL = 7 };
    make_folder("list", 0700);
    make_file("list/file", 0600);
    assert_int_equal(lchown(in_home("list"), geteuid(), getegid()), 0);
    if (!set_list(in_home("list"), USER, NOBODY, ALL)) {
        print_message("skipped: no access control lists here\n");
        skip();
    }
    expect_refused(in_home("list"), "has mode 0770 and ");
    expect_refused(in_home("list/file"), "has mode 0770 and ");
    if (geteuid() == 0) expect_refused(in_home("list"), "0770 and an access control list;");
    assert_true(set_list(in_home("list"), GROUP, NOBODY, ALL));
    expect_refused(in_home("list"), "has mode 0770 and ");
    if (geteuid() != getegid()) return; /* its group has other members */
    assert_true(set_list(in_home("list"), USER, NOBODY, READ));
    expect_passes(in_home("list"));
    assert_true(set_list(in_home("list"), USER, geteuid(), ALL));
    expect_passes(in_home("list/file"));
    assert_true(set_list(in_home("list/file"), USER, NOBODY, ALL));
    expect_refused(in_home("list/file"), "/file' has mode 0770 and an access control list");
    assert_int_equal(chmod(in_home("list/file"), 0700), 0); /* as the text says: g-w */
    expect_passes(in_home("list/file"));
}

int main(void) { return test_main_with(open_home, remove_home, NULL, NULL); }
