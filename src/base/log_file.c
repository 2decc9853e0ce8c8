/* SPDX-License-Identifier: Apache-2.0 */
/* A full disk and a limit of sizes (ulimit -f) cut a line in two. The part is taken back, unless
 * something was written after it or the file is not ours (standard error): then the next line
 * begins on a line of its own. Lines that are lost leave a note in their place:
 *
 *     gantry[4711] warning: 12 lines are missing here: No space left on device
 *
 * The lock keeps the file's position between a write and the look at it. A child of fork has a copy
 * of it, which another thread may have held, and has one thread; it does not take it. */
#include "base/log_file.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/files.h"
#include "base/os/process.h"
#include "base/os/thread.h"

#define NOTE_BYTES 256
#define STANDARD_ERROR 2

struct gantry__log_file_t {
    const gantry__heap_t *heap;
    gantry__mutex_t lock;
    int64_t process; /* whose threads share the lock */
    int descriptor;
    bool is_own;   /* a plain file that this runtime opened */
    bool is_cut;   /* it ends in a part of a line */
    bool was_told; /* the caller knows that a line was lost */
    unsigned long lost;
    int error; /* why the last one was lost */
};

/* ---- opening ---- */

/* Returns -1 with errno. A pipe is refused: without a reader it would stop the program. */
static int open_path(const char *path, bool *out_is_plain) {
    const int file = gantry__os_open(
        path, GANTRY__OS_APPEND | GANTRY__OS_CREATE | GANTRY__OS_NO_LINK | GANTRY__OS_NO_WAIT,
        0644);
    gantry__os_info_t about;
    if (file < 0) return -1;
    int error = gantry__os_file_info(file, &about);
    *out_is_plain = error == 0 && about.kind == GANTRY__OS_PLAIN;
    if (*out_is_plain && about.names > 1) error = EMLINK;
    if (error == 0 && !*out_is_plain && about.kind != GANTRY__OS_CHARACTERS) error = EINVAL;
    if (error == 0) error = gantry__os_wait_again(file);
    if (error == 0) return file;
    gantry__file_close(file);
    errno = error;
    return -1;
}

static const char *log_refusal(int error) {
    if (error == ELOOP) return "it is a symbolic link, which is not followed";
    if (error == EMLINK) return "it has several names (hard links)";
    if (error == EINVAL || error == ENXIO) return "it is neither a plain file nor a terminal";
    return strerror(error);
}

gantry_status_t gantry__log_file_open(const gantry__heap_t *heap, const char *name,
                                      gantry__log_file_t **out_file, const char **out_why) {
    *out_file = NULL;
    *out_why = NULL;
    gantry__log_file_t *file = gantry__heap_zalloc(heap, sizeof *file);
    if (!file) return GANTRY_RESOURCE_EXHAUSTED;
    file->heap = heap;
    file->process = gantry__os_process();
    /* a copy: the program may close its standard error and open a file of its own in its place */
    file->descriptor = strcmp(name, "stderr") == 0
                           ? gantry__os_copy(STANDARD_ERROR, STANDARD_ERROR + 1)
                           : open_path(name, &file->is_own);
    if (file->descriptor >= 0) errno = gantry__mutex_init(&file->lock);
    if (file->descriptor >= 0 && errno == 0) {
        *out_file = file;
        return GANTRY_OK;
    }
    *out_why = log_refusal(errno);
    gantry__file_close(file->descriptor);
    gantry__heap_free(heap, file, sizeof *file);
    return GANTRY_OK;
}

/* ---- writing ---- */

/* Returns 0 or an errno. */
static int log_put_all(const gantry__log_file_t *file, const char *text, size_t size,
                       size_t *out_done) {
    *out_done = 0;
    while (*out_done < size) {
        const int64_t done =
            gantry__os_write(file->descriptor, text + *out_done, size - *out_done, GANTRY__OS_NEXT);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) return done < 0 ? errno : EIO;
        *out_done += (size_t)done;
    }
    return 0;
}

/* Removes the first bytes of a line, unless another process has written after them. */
static bool take_back(const gantry__log_file_t *file, size_t part) {
    gantry__os_info_t about;
    const int64_t end = file->is_own ? gantry__os_position(file->descriptor) : -1;
    return end >= (int64_t)part && gantry__os_file_info(file->descriptor, &about) == 0 &&
           about.size == (uint64_t)end &&
           gantry__os_truncate(file->descriptor, (uint64_t)end - part) == 0;
}

static int put_line(gantry__log_file_t *file, const char *line, size_t size) {
    size_t done;
    int error = file->is_cut ? log_put_all(file, "\n", 1, &done) : 0;
    if (error) return error;
    error = log_put_all(file, line, size, &done);
    file->is_cut = error && done > 0 && !take_back(file, done);
    return error;
}

static int put_note(gantry__log_file_t *file) {
    char note[NOTE_BYTES];
    if (file->lost == 0) return 0;
    const int length =
        snprintf(note, sizeof note, "gantry[%ld] warning: %lu line%s missing here: %.128s\n",
                 (long)gantry__os_process(), file->lost, file->lost == 1 ? " is" : "s are",
                 strerror(file->error));
    const int error = length > 0 ? put_line(file, note, (size_t)length) : 0;
    if (!error) file->lost = 0;
    return error;
}

int gantry__log_file_put(gantry__log_file_t *file, const char *line, size_t size) {
    const bool has_lock = file->process == gantry__os_process();
    if (has_lock) gantry__mutex_lock(&file->lock);
    int error = put_note(file);
    if (!error) error = put_line(file, line, size);
    const bool is_first = error && !file->was_told;
    if (error) {
        ++file->lost;
        file->error = error;
        file->was_told = true;
    }
    if (has_lock) gantry__mutex_unlock(&file->lock);
    return is_first ? error : 0;
}

void gantry__log_file_close(gantry__log_file_t *file) {
    if (!file) return;
    if (file->process == gantry__os_process()) (void)put_note(file);
    gantry__file_close(file->descriptor);
    gantry__mutex_deinit(&file->lock);
    gantry__heap_free(file->heap, file, sizeof *file);
}
