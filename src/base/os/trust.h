/* SPDX-License-Identifier: Apache-2.0 */
/* Files and folders that only trusted users may write: the system's own, the user whose rights this
 * process has, and those whom the caller names. It holds for the file itself, its folder, and every
 * folder and symbolic link on the way to it.
 *
 * A file is opened by the descriptors that were examined, so that nobody exchanges it between the
 * check and its use. Functions that return an int return 0, an errno value, or one of the results
 * below, with a refusal that says the rest. Owner: the caller must close the files. Threads:
 * thread-safe. */
#ifndef GANTRY_BASE_OS_TRUST_H
#define GANTRY_BASE_OS_TRUST_H

#include "base/os/files.h"

/* Users to be trusted as well: those who may write a file that runs already. */
typedef struct gantry__os_writers_t {
    bool has_user, has_group;
    uint64_t user, group; /* numbers of the system's */
} gantry__os_writers_t;

enum {
    GANTRY__OS_OTHERS_MAY_WRITE = -1, /* the refusal's text is a sentence that says who, and what
                                       * would be accepted */
    GANTRY__OS_NO_PLAIN_FILE = -2     /* the refusal has the kind */
};

typedef struct gantry__os_refusal_t {
    const char *doing; /* of an errno value: what failed, as "open" ... */
    char text[2048];   /* ... and with which path, cut */
    gantry__os_kind_t kind;
} gantry__os_refusal_t;

enum {
    GANTRY__OS_TRUST_FOLDER = 1 << 0, /* the path is one of a folder, else of a plain file */
    GANTRY__OS_TRUST_MAKE = 1 << 1    /* makes the folder and its missing parents, for this user,
                                       * each only in a folder that passed */
};

/* Opens a path for reading. others may be NULL. out_path (may be NULL): the path without symbolic
 * links. out_file may be NULL for a folder: then others may add files to it, as to /tmp, if they
 * cannot replace those of this user. */
int gantry__os_trust_open(const char *path, unsigned flags, const gantry__os_writers_t *others,
                          char out_path[GANTRY__OS_PATH_BYTES], int *out_file,
                          gantry__os_refusal_t *out_refusal);
/* Opens a plain file in an open folder; follows no symbolic link. path: its whole one, for
 * texts. */
int gantry__os_trust_open_in(int folder, const char *path, const char *name, int *out_file,
                             gantry__os_refusal_t *out_refusal);
/* Finds those who may write a file, of a path without symbolic links. */
bool gantry__os_writers_of(const char *path, gantry__os_writers_t *out_writers);

#endif
