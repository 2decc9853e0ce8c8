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
#include "base/os/trust.h"

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

#include "base/os/posix/examine.h"
#include "host/try.h"

#if !defined(O_PATH)
#define O_PATH O_RDONLY
#endif

#define MOST_LINKS 40

typedef struct walk_t {
    gantry__os_refusal_t *refusal;
    const gantry__os_writers_t *others;
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

/* ---- failures ---- */

static int fail_call(gantry__os_refusal_t *refusal, const char *doing, const char *path,
                     int error) {
    refusal->doing = doing;
    (void)snprintf(refusal->text, sizeof refusal->text, "%s", path);
    return error;
}

/* ---- who is trusted ---- */

static bool is_trusted_user(const gantry__os_writers_t *others, uid_t user) {
    return user == 0 || user == geteuid() || (others && others->has_user && others->user == user);
}

static bool is_trusted_group(const gantry__os_writers_t *others, gid_t group) {
    return group == 0 || (group == getegid() && group == (gid_t)geteuid()) ||
           (others && others->has_group && others->group == group);
}

/* Where an access control list names users or groups, the group's bits of the mode are the most
 * that the list allows. The list is read by /proc, because file may be open as a path only. It is
 * taken for one that lets others write if it cannot be read. */
static bool list_lets_others_write(const gantry__os_writers_t *others, int file) {
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

static bool others_may_write(const gantry__os_writers_t *others, int file,
                             const struct stat *info) {
    if (!(info->st_mode & (S_IWGRP | S_IWOTH))) return false;
    return (info->st_mode & S_IWOTH) || !is_trusted_group(others, info->st_gid) ||
           list_lets_others_write(others, file);
}

static int fail_owner(gantry__os_refusal_t *refusal, const char *asked, const char *what,
                      const struct stat *info) {
    (void)snprintf(
        refusal->text, sizeof refusal->text,
        "others may write '%s': '%s' belongs to user %lu; accepted is what only root and user %lu may write",
        asked, what, (unsigned long)info->st_uid, (unsigned long)geteuid());
    return GANTRY__OS_OTHERS_MAY_WRITE;
}

/* Folders that every user may write, which keep their mode. */
static bool is_for_all(const char *folder) {
    return strcmp(folder, "/tmp") == 0 || strcmp(folder, "/var/tmp") == 0 ||
           strcmp(folder, "/dev/shm") == 0;
}

static int fail_mode(const walk_t *walk, const char *what, const struct stat *info) {
    const bool is_group = !(info->st_mode & S_IWOTH);
    char group[32] = "";
    if (is_group && is_trusted_group(walk->others, info->st_gid))
        (void)snprintf(group, sizeof group, " and an access control list");
    else if (is_group)
        (void)snprintf(group, sizeof group, " and group %lu", (unsigned long)info->st_gid);
    const int length = snprintf(
        walk->refusal->text, sizeof walk->refusal->text,
        "others may write '%s': '%s' has mode %04o%s; accepted is what only root and user %lu may write",
        walk->asked, what, (unsigned)(info->st_mode & 07777), group, (unsigned long)geteuid());
    if (!is_for_all(what) && length > 0 && (size_t)length < sizeof walk->refusal->text)
        (void)snprintf(walk->refusal->text + length, sizeof walk->refusal->text - (size_t)length,
                       " (chmod %s '%s')", is_group ? "g-w" : "go-w", what);
    return GANTRY__OS_OTHERS_MAY_WRITE;
}

/* Checks the file or folder that the caller named. */
static int trust_check_last(const walk_t *walk, const char *what, int file,
                            const struct stat *info) {
    if (!is_trusted_user(walk->others, info->st_uid))
        return fail_owner(walk->refusal, walk->asked, what, info);
    return others_may_write(walk->others, file, info) ? fail_mode(walk, what, info) : 0;
}

/* ---- the walk ---- */

/* Enters a folder on the way. Takes the descriptor. */
static int walk_enter(walk_t *walk, int folder, const struct stat *info) {
    if (walk->at >= 0) (void)close(walk->at);
    walk->at = folder;
    walk->info = *info;
    walk->is_shared = others_may_write(walk->others, folder, info);
    if (walk->is_shared && !(info->st_mode & S_ISVTX))
        return fail_mode(walk, *walk->done ? walk->done : "/", info);
    return 0;
}

/* Makes a folder in the one that was reached, which passed the checks. */
static int walk_make(const walk_t *walk, const char *name) {
    char path[PATH_MAX + NAME_MAX + 2];
    /* another process may have made it just now; the walk then examines what it made */
    if (mkdirat(walk->at, name, 0700) == 0 || errno == EEXIST) return 0;
    const int error = errno;
    (void)snprintf(path, sizeof path, "%s/%s", walk->done, name);
    return fail_call(walk->refusal, "make directory", path, error);
}

static int walk_open(walk_t *walk, const char *name, int *out_next, struct stat *out_info) {
    *out_next = openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (*out_next < 0 && errno == ENOENT && walk->makes) {
        GANTRY__TRY(walk_make(walk, name));
        *out_next = openat(walk->at, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    }
    if (*out_next >= 0 && fstat(*out_next, out_info) == 0) return 0;
    const int error = errno;
    if (*out_next >= 0) (void)close(*out_next);
    *out_next = -1;
    return fail_call(walk->refusal, "open", walk->asked, error);
}

static int walk_to_root(walk_t *walk) {
    struct stat info;
    int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
    walk->done[0] = '\0';
    if (root < 0) return fail_call(walk->refusal, "open", "/", errno);
    if (fstat(root, &info) != 0) {
        (void)close(root);
        return fail_call(walk->refusal, "examine", "/", errno);
    }
    walk->root = info.st_uid;
    return walk_enter(walk, root, &info);
}

static int walk_begin(walk_t *walk, const char *path) {
    size_t used = 0;
    if (*path != '/') {
        if (!getcwd(walk->rest, sizeof walk->rest))
            return fail_call(walk->refusal, "find the working directory of", path, errno);
        used = strlen(walk->rest);
    }
    const int length =
        snprintf(walk->rest + used, sizeof walk->rest - used, "%s%s", used ? "/" : "", path);
    if (length < 0 || (size_t)length >= sizeof walk->rest - used)
        return fail_call(walk->refusal, "open", path, ENAMETOOLONG);
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
static int walk_follow(walk_t *walk, int link) {
    char whole[PATH_MAX];
    const ssize_t length = readlinkat(link, "", whole, sizeof whole - 1);
    const int error = errno;
    const size_t rest = strlen(walk->rest);
    (void)close(link);
    if (length < 0) return fail_call(walk->refusal, "open", walk->asked, error);
    if (++walk->links > MOST_LINKS) return fail_call(walk->refusal, "open", walk->asked, ELOOP);
    if ((size_t)length + rest + 2 > sizeof whole)
        return fail_call(walk->refusal, "open", walk->asked, ENAMETOOLONG);
    whole[length] = '/';
    memcpy(whole + length + 1, walk->rest, rest + 1);
    memcpy(walk->rest, whole, (size_t)length + rest + 2);
    if (*whole == '/') return walk_to_root(walk);
    cut_name(walk->done);
    return 0;
}

static int trust_walk_up(walk_t *walk) {
    struct stat info = {0};
    int next;
    GANTRY__TRY(walk_open(walk, "..", &next, &info));
    cut_name(walk->done);
    return walk_enter(walk, next, &info);
}

static int check_owner(const walk_t *walk, const struct stat *info) {
    if (is_trusted_user(walk->is_shared ? NULL : walk->others, info->st_uid) ||
        (!walk->is_shared && info->st_uid == walk->root))
        return 0;
    return fail_owner(walk->refusal, walk->asked, walk->done, info);
}

/* Walks to a folder, or to the folder of a file, whose name is then in out_name. */
static int walk_to(walk_t *walk, bool is_folder, char out_name[NAME_MAX + 2]) {
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
        int status = length < 0 || (size_t)length >= sizeof walk->done - used
                         ? fail_call(walk->refusal, "open", walk->asked, ENAMETOOLONG)
                         : check_owner(walk, &info);
        if (status == 0 && S_ISLNK(info.st_mode)) {
            GANTRY__TRY(walk_follow(walk, next));
        } else if (status == 0 && is_last && !is_folder) {
            (void)close(next);
            return 0;
        } else if (status == 0 && S_ISDIR(info.st_mode)) {
            GANTRY__TRY(walk_enter(walk, next, &info));
        } else {
            (void)close(next);
            return status != 0 ? status : fail_call(walk->refusal, "open", walk->asked, ENOTDIR);
        }
    }
    return is_folder ? 0 : fail_call(walk->refusal, "open", walk->asked, EISDIR);
}

/* ---- opening ---- */

/* Examines a file before it is opened, because opening a device may have an effect, and after
 * that. */
static int open_plain(const walk_t *walk, int folder, const char *what, const char *name,
                      int *out_file) {
    struct stat info;
    gantry__os_info_t known;
    *out_file = -1;
    if (fstatat(folder, name, &info, AT_SYMLINK_NOFOLLOW) != 0)
        return fail_call(walk->refusal, "open", walk->asked, errno);
    gantry__os_examine(&info, &known);
    walk->refusal->kind = known.kind;
    if (known.kind != GANTRY__OS_PLAIN) return GANTRY__OS_NO_PLAIN_FILE;
    const int file =
        openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (file < 0) return fail_call(walk->refusal, "open", walk->asked, errno);
    int error = fstat(file, &info) == 0 ? 0 : fail_call(walk->refusal, "open", walk->asked, errno);
    if (error == 0) {
        gantry__os_examine(&info, &known);
        walk->refusal->kind = known.kind;
        error = known.kind == GANTRY__OS_PLAIN ? trust_check_last(walk, what, file, &info)
                                               : GANTRY__OS_NO_PLAIN_FILE;
    }
    if (error == 0) *out_file = file;
    if (error != 0) (void)close(file);
    return error;
}

/* Checks and opens the folder that was reached. */
static int open_reached(const walk_t *walk, int *out_folder) {
    GANTRY__TRY(trust_check_last(walk, *walk->done ? walk->done : "/", walk->at, &walk->info));
    *out_folder = openat(walk->at, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return *out_folder >= 0 ? 0 : fail_call(walk->refusal, "open", walk->asked, errno);
}

int gantry__os_trust_open(const char *path, unsigned flags, const gantry__os_writers_t *others,
                          char out_path[GANTRY__OS_PATH_BYTES], int *out_file,
                          gantry__os_refusal_t *out_refusal) {
    const bool is_folder = flags & GANTRY__OS_TRUST_FOLDER;
    walk_t walk = {.refusal = out_refusal,
                   .others = others,
                   .asked = path,
                   .at = -1,
                   .makes = (flags & GANTRY__OS_TRUST_MAKE) != 0};
    char name[NAME_MAX + 2];
    if (out_file) *out_file = -1;
    int error = walk_begin(&walk, path);
    if (error == 0) error = walk_to(&walk, is_folder, name);
    if (error == 0 && out_file)
        error = is_folder ? open_reached(&walk, out_file)
                          : open_plain(&walk, walk.at, walk.done, name, out_file);
    if (error == 0 && out_path) (void)snprintf(out_path, GANTRY__OS_PATH_BYTES, "%s", walk.done);
    if (walk.at >= 0) (void)close(walk.at);
    return error;
}

int gantry__os_trust_open_in(int folder, const char *path, const char *name, int *out_file,
                             gantry__os_refusal_t *out_refusal) {
    const walk_t walk = {.refusal = out_refusal, .asked = path, .at = -1};
    return open_plain(&walk, folder, path, name, out_file);
}

bool gantry__os_writers_of(const char *path, gantry__os_writers_t *out_writers) {
    char folder[PATH_MAX];
    struct stat file, above;
    const char *slash = strrchr(path, '/');
    if (!slash || stat(path, &file) != 0) return false;
    (void)snprintf(folder, sizeof folder, "%.*s", slash == path ? 1 : (int)(slash - path), path);
    if (stat(folder, &above) != 0) return false;
    *out_writers = (gantry__os_writers_t){.has_user = true,
                                          .user = file.st_uid,
                                          .has_group = (above.st_mode & S_IWGRP) != 0,
                                          .group = above.st_gid};
    return true;
}
