/* SPDX-License-Identifier: Apache-2.0 */
/* Files and folders.
 *
 * A path is UTF-8, and "/" separates its names on every system (base/os/paths.h). A file is a
 * descriptor of the C runtime, and -1 is no file; no program that this process starts inherits it.
 * A function that returns a file or a count returns -1 with errno after a failure; another one that
 * returns an int returns 0, or the errno value of the failure. A call that a signal interrupts is
 * repeated. Owner: the caller must close the files that it opened. Threads: thread-safe. */
#ifndef GANTRY_BASE_OS_FILES_H
#define GANTRY_BASE_OS_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* The longest path, with its end, that a function here writes. */
#define GANTRY__OS_PATH_BYTES 4096
/* The longest name of one file or folder, with its end. */
#define GANTRY__OS_NAME_BYTES 256

/* ---- what a file is ---- */

typedef enum gantry__os_kind_t {
    GANTRY__OS_PLAIN,
    GANTRY__OS_FOLDER,
    GANTRY__OS_LINK, /* a symbolic link */
    GANTRY__OS_PIPE,
    GANTRY__OS_SOCKET,
    GANTRY__OS_DEVICE,
    GANTRY__OS_CHARACTERS, /* a device that is read and written as a stream, as a terminal is */
    GANTRY__OS_OTHER
} gantry__os_kind_t;

typedef struct gantry__os_info_t {
    gantry__os_kind_t kind;
    unsigned mode;           /* of POSIX: 07777. A system without such bits has those for the
                               * owner, and never the right of others to write */
    uint64_t size;           /* 0 for what has none */
    uint64_t volume, number; /* together, what no other file of the machine has */
    uint64_t names;          /* hard links */
    uint64_t user, group;    /* the owners' numbers; 0 on a system without such numbers */
    int64_t modified_s;      /* when the content changed: seconds since 1970 ... */
    int64_t changed_s;       /* when content, name or rights changed */
    int32_t modified_ns, changed_ns; /* ... and their nanoseconds */
} gantry__os_info_t;

/* Examines an open file; a path, whose symbolic links are followed; a path whose last name is not
 * followed; a name in an open folder, which is not followed. */
int gantry__os_file_info(int file, gantry__os_info_t *out_info);
int gantry__os_path_info(const char *path, gantry__os_info_t *out_info);
int gantry__os_link_info(const char *path, gantry__os_info_t *out_info);
int gantry__os_info_in(int folder, const char *name, gantry__os_info_t *out_info);
/* Whether the file belongs to the user whose rights this process has. */
bool gantry__os_is_mine(const gantry__os_info_t *info);
/* Whether both describe one file. */
static inline bool gantry__os_is_same(const gantry__os_info_t *a, const gantry__os_info_t *b) {
    return a->volume == b->volume && a->number == b->number;
}

/* ---- opening ---- */

enum {
    GANTRY__OS_READ = 1 << 0,
    GANTRY__OS_WRITE = 1 << 1,
    GANTRY__OS_APPEND = 1 << 2,   /* each write goes to the end */
    GANTRY__OS_CREATE = 1 << 3,   /* makes a missing file */
    GANTRY__OS_NEW = 1 << 4,      /* makes the file; EEXIST if the name is taken */
    GANTRY__OS_NO_LINK = 1 << 5,  /* ELOOP if the last name is a symbolic link */
    GANTRY__OS_NO_WAIT = 1 << 6,  /* opens a pipe without waiting, and takes no terminal */
    GANTRY__OS_IS_FOLDER = 1 << 7 /* opens a folder; ENOTDIR for anything else */
};

/* Opens a file of a path, or of a name in an open folder. mode: the rights of a new file, of which
 * the process's mask takes away; a system without such bits gives a new file the rights that its
 * folder hands on. A file that others have open may be renamed and removed on every system. */
int gantry__os_open(const char *path, unsigned flags, unsigned mode);
int gantry__os_open_in(int folder, const char *name, unsigned flags, unsigned mode);
/* Makes reading and writing wait again after GANTRY__OS_NO_WAIT. */
int gantry__os_wait_again(int file);
/* Lets the programs that this process starts, or becomes, have the file under its number. */
int gantry__os_hand_on(int file);
/* Another number of the same open file, at least as high as least; it is closed separately. */
int gantry__os_copy(int file, int least);
/* An open file as a stream for reading, which then owns it; NULL with errno. */
FILE *gantry__os_stream(int file);
/* What closing reports of earlier writes; the file stays open. */
int gantry__os_settle(int file);
int gantry__os_close(int file);

/* ---- content ---- */

/* Reads at most size bytes: at the position, which moves, or at a place of a plain file. Returns
 * their count, 0 at the end. */
int64_t gantry__os_read(int file, void *bytes, size_t size);
int64_t gantry__os_read_at(int file, void *bytes, size_t size, uint64_t place);

typedef struct gantry__os_part_t {
    void *data;
    size_t size;
} gantry__os_part_t;

/* Reads at a place into at most 1024 parts, one after another. */
int64_t gantry__os_read_parts(int file, const gantry__os_part_t *parts, size_t count,
                              uint64_t place);

#define GANTRY__OS_NEXT (-1)

/* One write at this place, or at the position for GANTRY__OS_NEXT; it may write a part. A file
 * beyond the process's limit of sizes is EFBIG, and a pipe without a reader is EPIPE: no signal
 * comes. EINTR is returned. */
int64_t gantry__os_write(int file, const void *bytes, size_t size, int64_t place);
/* The position; -1 if the file has none. */
int64_t gantry__os_position(int file);
int gantry__os_truncate(int file, uint64_t size);
/* Writes what the system has not yet written to the disk. */
int gantry__os_flush(int file);

/* ---- names ---- */

/* Makes an empty file that has its mode when it gets its name. Does nothing if the name is taken,
 * or where the file system cannot do that. */
void gantry__os_make_whole(int folder, const char *name, unsigned mode);

/* Gives a file another name, in one step: it replaces what has that name. */
int gantry__os_rename(const char *from, const char *to);
int gantry__os_remove(const char *path);
int gantry__os_remove_folder(const char *path);
int gantry__os_make_folder(const char *path, unsigned mode);
/* Makes a folder, or a file for reading and writing, whose name no other has and which only its
 * user may use: path must end in XXXXXX, which is replaced. */
int gantry__os_make_own_folder(char *path);
int gantry__os_make_own_file(char *path);
int gantry__os_set_mode(int file, unsigned mode);
/* Writes the path without symbolic links, "." and "..". */
int gantry__os_real_path(const char *path, char out_path[GANTRY__OS_PATH_BYTES]);
/* Writes what a symbolic link names. */
int gantry__os_read_link(const char *path, char out_target[GANTRY__OS_PATH_BYTES]);

enum { GANTRY__OS_MAY_RUN = 1, GANTRY__OS_MAY_WRITE = 2, GANTRY__OS_MAY_READ = 4 };

/* Returns 0 if the process has all these rights. */
int gantry__os_may(const char *path, unsigned rights);

/* ---- folders ---- */

/* Gets a name, or a path; false ends the visits. */
typedef bool (*gantry__os_visit_fn)(void *user, const char *name);

/* Visits the names in a folder in any order, without "." and "..". */
int gantry__os_list(const char *path, gantry__os_visit_fn visit, void *user);
/* Visits the paths that match a pattern of "*", "?" and "[...]", the last of their order first. "\"
 * takes away a sign's meaning. */
void gantry__os_match(const char *pattern, gantry__os_visit_fn visit, void *user);

/* The free bytes, for this user, of the file system that has the open file, and whether programs in
 * it run. */
int gantry__os_room(int file, uint64_t *out_bytes, bool *out_runs);

#endif
