/* SPDX-License-Identifier: Apache-2.0 */
/* A path is walked from "/", one name at a time, by descriptors that follow no symbolic link; the
 * walk follows the links itself. At each name:
 *
 *     the folder that holds it       who may add a name to it    the name's owner must be
 *     mode without o+w, g+w          its owner                   root, the user, the owner of "/"
 *     o+w or g+w, with sticky bit    everybody, or the group     root or the user
 *     o+w or g+w, without it         everybody, and may replace  refused
 *
 * A group counts as its members, but for root's group and for the user's own, whose number is the
 * user's. An access control list that lets others write counts as their group. The last folder may
 * not even have the sticky bit: others could add files to it. The owner of "/" may replace all; in
 * a container it need not be root. */
#define _GNU_SOURCE /* O_PATH */
#include "base/trust.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/xattr.h>
#endif

#include "base/failure.h"
#include "base/files.h"
#include "base/os/library.h"

#if !defined(O_PATH)
#define O_PATH O_RDONLY
#endif

#define MOST_LINKS 40

_Static_assert(GANTRY__TRUST_PATH_BYTES >= PATH_MAX, "realpath may write that much");

typedef struct walk_t {
    const gantry__trust_t *others;
    const char *asked; /* the caller's path, for messages */
    int at;            /* the folder that was reached */
    struct stat info;  /* what stat says of it */
    bool is_shared;    /* others may write it; it has the sticky bit */
    uid_t root;        /* the owner of "/" */
    unsigned links;
    bool makes;          /* the folders that are missing */
    char done[PATH_MAX]; /* the path of the last name, without links */
    char rest[PATH_MAX]; /* the path that follows */
} walk_t;

/* ---- who is trusted ---- */

static bool is_trusted_user(const gantry__trust_t *others, uid_t user) {
    return user == 0 || user == geteuid() || (others && others->has_user && others->user == user);
}

static bool is_trusted_group(const gantry__trust_t *others, gid_t group) {
    return group == 0 || (group == getegid() && group == (gid_t)geteuid()) ||
           (others && others->has_group && others->group == group);
}

/* Where an access control list names users or groups, the group's bits of the mode are the most
 * that the list allows. The list is read by /proc, because file may be open as a path only. It is
 * taken for one that lets others write if it cannot be read. */
static bool list_lets_others_write(const gantry__trust_t *others, int file) {
#if defined(__linux__)
    enum { HEAD = 4, ENTRY = 8, USER = 2, GROUP = 8, WRITE = 2 }; /* of acl(5), little-endian */
    unsigned char list[HEAD + 64 * ENTRY];
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    const ssize_t size = getxattr(path, "system.posix_acl_access", list, sizeof list);
    if (size < 0) return errno != ENODATA && errno != ENOTSUP;
    for (const unsigned char *at = list + HEAD; at + ENTRY <= list + size; at += ENTRY) {
        const unsigned tag = at[0] | (unsigned)at[1] << 8;
        const uint32_t id =
            at[4] | (uint32_t)at[5] << 8 | (uint32_t)at[6] << 16 | (uint32_t)at[7] << 24;
        if ((at[2] & WRITE) && ((tag == USER && !is_trusted_user(others, id)) ||
                                (tag == GROUP && !is_trusted_group(others, id))))
            return true;
    }
#else
    (void)others;
    (void)file;
#endif
    return false;
}

static bool others_may_write(const gantry__trust_t *others, int file, const struct stat *info) {
    if (!(info->st_mode & (S_IWGRP | S_IWOTH))) return false;
    return (info->st_mode & S_IWOTH) || !is_trusted_group(others, info->st_gid) ||
           list_lets_others_write(others, file);
}

static gantry_status_t fail_owner(const char *asked, const char *what, const struct stat *info) {
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "others may write '%s': '%s' belongs to user %lu; accepted is what only root and user %lu may write",
        asked, what, (unsigned long)info->st_uid, (unsigned long)geteuid());
}

/* Folders that every user may write, which keep their mode. */
static bool is_for_all(const char *folder) {
    return strcmp(folder, "/tmp") == 0 || strcmp(folder, "/var/tmp") == 0 ||
           strcmp(folder, "/dev/shm") == 0;
}

static gantry_status_t fail_mode(const gantry__trust_t *others, const char *asked, const char *what,
                                 const struct stat *info) {
    const bool is_group = !(info->st_mode & S_IWOTH);
    const unsigned mode = (unsigned)(info->st_mode & 07777);
    const unsigned long user = (unsigned long)geteuid();
    char group[32] = "";
    if (is_group && is_trusted_group(others, info->st_gid))
        (void)snprintf(group, sizeof group, " and an access control list");
    else if (is_group)
        (void)snprintf(group, sizeof group, " and group %lu", (unsigned long)info->st_gid);
    if (is_for_all(what))
        return gantry__fail(
            GANTRY_FAILED_PRECONDITION,
            "others may write '%s': '%s' has mode %04o%s; accepted is what only root and user %lu may write",
            asked, what, mode, group, user);
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "others may write '%s': '%s' has mode %04o%s; accepted is what only root and user %lu may write (chmod %s '%s')",
        asked, what, mode, group, user, is_group ? "g-w" : "go-w", what);
}

/* Checks the file or folder that the caller named. */
static gantry_status_t trust_check_last(const gantry__trust_t *others, const char *asked,
                                        const char *what, int file, const struct stat *info) {
    if (!is_trusted_user(others, info->st_uid)) return fail_owner(asked, what, info);
    if (others_may_write(others, file, info)) return fail_mode(others, asked, what, info);
    return GANTRY_OK;
}

/* ---- the walk ---- */

/* Enters a folder on the way. Takes the descriptor. */
static gantry_status_t walk_enter(walk_t *walk, int folder, const struct stat *info) {
    if (walk->at >= 0) (void)close(walk->at);
    walk->at = folder;
    walk->info = *info;
    walk->is_shared = others_may_write(walk->others, folder, info);
    if (walk->is_shared && !(info->st_mode & S_ISVTX))
        return fail_mode(walk->others, walk->asked, *walk->done ? walk->done : "/", info);
    return GANTRY_OK;
}

/* Makes a folder in the one that was reached, which passed the checks. */
static gantry_status_t walk_make(const walk_t *walk, const char *name) {
    char path[PATH_MAX + NAME_MAX + 2];
    /* another process may have made it just now; the walk then examines what it made */
    if (mkdirat(walk->at, name, 0700) == 0 || errno == EEXIST) return GANTRY_OK;
    const int error = errno;
    (void)snprintf(path, sizeof path, "%s/%s", walk->done, name);
    return gantry__file_fail("make directory", path, error);
}

static gantry_status_t walk_open(walk_t *walk, const char *name, int *out_next,
                                 struct stat *out_info) {
    *out_next = openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (*out_next < 0 && errno == ENOENT && walk->makes) {
        GANTRY__TRY(walk_make(walk, name));
        *out_next = openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    }
    if (*out_next >= 0 && fstat(*out_next, out_info) == 0) return GANTRY_OK;
    const int error = errno;
    if (*out_next >= 0) (void)close(*out_next);
    *out_next = -1;
    return gantry__file_fail("open", walk->asked, error);
}

static gantry_status_t walk_to_root(walk_t *walk) {
    struct stat info;
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    walk->done[0] = '\0';
    if (root < 0) return gantry__file_fail("open", "/", errno);
    if (fstat(root, &info) != 0) {
        (void)close(root);
        return gantry__file_fail("examine", "/", errno);
    }
    walk->root = info.st_uid;
    return walk_enter(walk, root, &info);
}

static gantry_status_t walk_begin(walk_t *walk, const char *path) {
    size_t used = 0;
    if (!path || !*path) return gantry__refuse("the path is empty");
    if (*path != '/') {
        if (!getcwd(walk->rest, sizeof walk->rest))
            return gantry__file_fail("find the working directory of", path, errno);
        used = strlen(walk->rest);
    }
    const int length =
        snprintf(walk->rest + used, sizeof walk->rest - used, "%s%s", used ? "/" : "", path);
    if (length < 0 || (size_t)length >= sizeof walk->rest - used)
        return gantry__file_fail("open", path, ENAMETOOLONG);
    return walk_to_root(walk);
}

/* The next name of the rest, too long if it is cut; false at its end. *out_is_last: no name
 * follows. */
static bool walk_next(walk_t *walk, char name[NAME_MAX + 2], bool *out_is_last) {
    char *at = walk->rest + strspn(walk->rest, "/");
    const size_t length = strcspn(at, "/"), kept = length <= NAME_MAX ? length : NAME_MAX + 1;
    memcpy(name, at, kept);
    name[kept] = '\0';
    memmove(walk->rest, at + length, strlen(at + length) + 1);
    *out_is_last = walk->rest[strspn(walk->rest, "/")] == '\0';
    return length > 0;
}

static void cut_name(char *path) {
    char *slash = strrchr(path, '/');
    if (slash) *slash = '\0';
}

/* Puts the link's target before the rest. Closes the link. */
static gantry_status_t walk_follow(walk_t *walk, int link) {
    char whole[PATH_MAX];
    const ssize_t length = readlinkat(link, "", whole, sizeof whole - 1);
    const int error = errno;
    const size_t rest = strlen(walk->rest);
    (void)close(link);
    if (length < 0) return gantry__file_fail("open", walk->asked, error);
    if (++walk->links > MOST_LINKS) return gantry__file_fail("open", walk->asked, ELOOP);
    if ((size_t)length + rest + 2 > sizeof whole)
        return gantry__file_fail("open", walk->asked, ENAMETOOLONG);
    whole[length] = '/';
    memcpy(whole + length + 1, walk->rest, rest + 1);
    memcpy(walk->rest, whole, (size_t)length + rest + 2);
    if (*whole == '/') return walk_to_root(walk);
    cut_name(walk->done);
    return GANTRY_OK;
}

static gantry_status_t trust_walk_up(walk_t *walk) {
    struct stat info = {0};
    int next;
    GANTRY__TRY(walk_open(walk, "..", &next, &info));
    cut_name(walk->done);
    return walk_enter(walk, next, &info);
}

static gantry_status_t check_owner(const walk_t *walk, const struct stat *info) {
    if (is_trusted_user(walk->is_shared ? NULL : walk->others, info->st_uid) ||
        (!walk->is_shared && info->st_uid == walk->root))
        return GANTRY_OK;
    return fail_owner(walk->asked, walk->done, info);
}

/* Walks to a folder, or to the folder of a file, whose name is then in out_name. */
static gantry_status_t walk_to(walk_t *walk, bool is_folder, char out_name[NAME_MAX + 2]) {
    struct stat info = {0};
    bool is_last;
    int next;
    while (walk_next(walk, out_name, &is_last)) {
        const size_t used = strlen(walk->done);
        if (strcmp(out_name, ".") == 0) continue;
        if (strcmp(out_name, "..") == 0) {
            GANTRY__TRY(trust_walk_up(walk));
            continue;
        }
        GANTRY__TRY(walk_open(walk, out_name, &next, &info));
        const int length = snprintf(walk->done + used, sizeof walk->done - used, "/%s", out_name);
        gantry_status_t status = length < 0 || (size_t)length >= sizeof walk->done - used
                                     ? gantry__file_fail("open", walk->asked, ENAMETOOLONG)
                                     : check_owner(walk, &info);
        if (status == GANTRY_OK && S_ISLNK(info.st_mode)) {
            GANTRY__TRY(walk_follow(walk, next));
        } else if (status == GANTRY_OK && is_last && !is_folder) {
            (void)close(next);
            return GANTRY_OK;
        } else if (status == GANTRY_OK && S_ISDIR(info.st_mode)) {
            GANTRY__TRY(walk_enter(walk, next, &info));
        } else {
            (void)close(next);
            return status != GANTRY_OK ? status : gantry__file_fail("open", walk->asked, ENOTDIR);
        }
    }
    return is_folder ? GANTRY_OK : gantry__file_fail("open", walk->asked, EISDIR);
}

static void walk_end(walk_t *walk) {
    if (walk->at >= 0) (void)close(walk->at);
    walk->at = -1;
}

/* ---- opening ---- */

static gantry_status_t open_plain(int folder, const char *asked, const char *what, const char *name,
                                  const gantry__trust_t *others, int *out_file) {
    struct stat info;
    *out_file = -1;
    /* before it is opened, because opening a device may have an effect */
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return gantry__file_fail("open", asked, errno);
    GANTRY__TRY(gantry__file_check_kind(asked, &info));
    int file = openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) return gantry__file_fail("open", asked, errno);
    gantry_status_t status = fstat(file, &info) == 0 ? gantry__file_check_kind(asked, &info)
                                                     : gantry__file_fail("open", asked, errno);
    if (status == GANTRY_OK) status = trust_check_last(others, asked, what, file, &info);
    if (status == GANTRY_OK) *out_file = file;
    if (status != GANTRY_OK) (void)close(file);
    return status;
}

/* Checks and opens the folder that was reached. */
static gantry_status_t open_reached(const walk_t *walk, int *out_folder) {
    GANTRY__TRY(trust_check_last(walk->others, walk->asked, *walk->done ? walk->done : "/",
                                 walk->at, &walk->info));
    *out_folder = openat(walk->at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *out_folder >= 0 ? GANTRY_OK : gantry__file_fail("open", walk->asked, errno);
}

/* Walks the path, opens what it reached, and ends the walk. out_folder may be NULL. */
static gantry_status_t trust_open_walked(walk_t *walk, int *out_folder) {
    char name[NAME_MAX + 2];
    if (out_folder) *out_folder = -1;
    gantry_status_t status = walk_begin(walk, walk->asked);
    if (status == GANTRY_OK) status = walk_to(walk, true, name);
    if (status == GANTRY_OK && out_folder) status = open_reached(walk, out_folder);
    walk_end(walk);
    return status;
}

gantry_status_t gantry__trust_open_folder(const char *path, const gantry__trust_t *others,
                                          int *out_folder) {
    walk_t walk = {.others = others, .asked = path, .at = -1};
    return trust_open_walked(&walk, out_folder);
}

gantry_status_t gantry__trust_make_folder(const char *path, int *out_folder) {
    walk_t walk = {.asked = path, .at = -1, .makes = true};
    return trust_open_walked(&walk, out_folder);
}

gantry_status_t gantry__trust_open_file(const char *path, const gantry__trust_t *others,
                                        char out_path[GANTRY__TRUST_PATH_BYTES], int *out_file) {
    walk_t walk = {.others = others, .asked = path, .at = -1};
    char name[NAME_MAX + 2];
    *out_file = -1;
    gantry_status_t status = walk_begin(&walk, path);
    if (status == GANTRY_OK) status = walk_to(&walk, false, name);
    if (status == GANTRY_OK) status = open_plain(walk.at, path, walk.done, name, others, out_file);
    if (status == GANTRY_OK && out_path)
        (void)snprintf(out_path, GANTRY__TRUST_PATH_BYTES, "%s", walk.done);
    walk_end(&walk);
    return status;
}

gantry_status_t gantry__trust_open_entry(int folder, const char *path, const char *name,
                                         int *out_file) {
    char whole[PATH_MAX];
    (void)snprintf(whole, sizeof whole, "%s/%s", path, name);
    return open_plain(folder, whole, whole, name, NULL, out_file);
}

gantry_status_t gantry__trust_check(const char *path) {
    const uint32_t before = gantry__failures();
    struct stat info;
    int file;
    const bool is_file = path && stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
    const gantry_status_t status = is_file ? gantry__trust_open_file(path, NULL, NULL, &file)
                                           : gantry__trust_open_folder(path, NULL, &file);
    gantry__file_close(file);
    if (status != GANTRY_OK && status != GANTRY_NOT_FOUND) return status;
    gantry__forget_since(before);
    return GANTRY_OK;
}

bool gantry__trust_of_library(gantry__trust_t *out_others,
                              char out_path[GANTRY__TRUST_PATH_BYTES]) {
    static const char here = 0;
    struct stat file, folder;
    const char *path = gantry__os_library_own_file(&here);
    if (!path || !realpath(path, out_path) || stat(out_path, &file) != 0) return false;
    char *slash = strrchr(out_path, '/');
    *slash = '\0';
    const bool is_known = stat(slash == out_path ? "/" : out_path, &folder) == 0;
    *slash = '/';
    *out_others = (gantry__trust_t){.has_user = true,
                                    .user = file.st_uid,
                                    .has_group = is_known && (folder.st_mode & S_IWGRP),
                                    .group = folder.st_gid};
    return is_known;
}
