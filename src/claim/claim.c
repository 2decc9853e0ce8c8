/* SPDX-License-Identifier: Apache-2.0 */
/* Claims by locks of bytes (open file description locks). The kernel drops a lock with the last
 * descriptor of its open file, so a process that dies leaves no claim, a machine that starts again
 * has none, and a reused process id means nothing.
 *
 *     <device>.claim   byte 0: the claim; the text says who holds it
 *     queue            byte 0: the turn; byte n: a place in the queue, lower before higher
 *
 *     byte     0   1   2   3   4   5
 *     locked   T       A       B       A is the head, B has one before it; 6 is the next place
 *
 * Invariants: only who has the turn takes a place, the one above the highest locked place, so that
 * nobody comes before a waiting claimant. Who has no place may choose only while no place is
 * locked. A device is exclusive by its own lock, whatever the queue says. Nothing is stored:
 * counting queries the locks of the kernel. Any user may lock any bytes of a file here, so a range
 * counts once, and the number of queries is bounded. */
#include "claim/claim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/failure.h"
#include "base/files.h"
#include "base/os/clock.h"
#include "base/os/locks.h"
#include "base/os/process.h"
#include "claim/claim_record.h"

enum { TURN = 0, FIRST_PLACE = 1 };

#define PLACES_END ((int64_t)1 << 30) /* any off_t; places begin again when nobody waits */
#define QUEUE "queue"
#define TURN_PATIENCE_NS UINT64_C(10000000000)
#define LONGEST_PAUSE_NS 1000000
#define MOST_QUESTIONS 1024 /* about the locks of a file */
#define TAKE_ATTEMPTS 8     /* each fails because the file was removed meanwhile */

/* ---- the claimant ---- */

gantry_status_t gantry__claim_open(const char *folder, const char *command,
                                   gantry__claim_t *out_claim) {
    out_claim->queue = -1;
    out_claim->has_turn = false;
    out_claim->place = 0;
    out_claim->command = command;
    out_claim->count = 0;
    out_claim->is_inherited = false;
    out_claim->process = 0;
    GANTRY__TRY(gantry__claim_folder_open(folder, true, &out_claim->folder));
    gantry_status_t status = gantry__claim_file_open(&out_claim->folder, QUEUE, &out_claim->queue);
    if (status != GANTRY_OK) gantry__claim_folder_close(&out_claim->folder);
    return status; /* a failed claim is closed already, and may be closed again */
}

/* Unlocks and closes: closing unlocks, too, but a child of fork may have the queue's descriptor. */
void gantry__claim_close(gantry__claim_t *claim) {
    if (claim->queue >= 0) {
        (void)gantry__claim_end_turn(claim, false);
        gantry__file_close(claim->queue);
    }
    claim->queue = -1;
    gantry__claim_give_back(claim);
    gantry__claim_folder_close(&claim->folder);
}

/* ---- turn and queue ---- */

/* The lowest range in [from, end) that another open file locks. The kernel reports any one of
 * them, and anybody may lock what he likes: each question takes one of *left. */
static bool lowest_lock(int file, int64_t from, int64_t end, unsigned *left,
                        gantry__os_range_t *out_range) {
    bool is_found = false;
    while (*left > 0 && gantry__os_locked_range(file, from, end, out_range)) {
        --*left;
        is_found = true;
        end = out_range->begin;
    }
    return is_found;
}

/* Claimants with a place in [from, end): at least so many, if there are very many. */
static size_t count_locks(int file, int64_t from, int64_t end) {
    unsigned left = MOST_QUESTIONS;
    size_t count = 0;
    for (gantry__os_range_t range; lowest_lock(file, from, end, &left, &range); ++count)
        from = range.end;
    return count;
}

/* The next place; PLACES_END if the last place is taken, or nothing is known. */
static int64_t next_place(int file) {
    int64_t place = FIRST_PLACE;
    gantry__os_range_t range;
    for (unsigned asked = 0; gantry__os_locked_range(file, place, PLACES_END, &range); ++asked) {
        if (asked == MOST_QUESTIONS) return PLACES_END;
        place = range.end;
    }
    return place;
}

static gantry_status_t wait_for_turn(gantry__claim_t *claim) {
    const uint64_t start = gantry__now_ns();
    uint64_t pause_ns = 100000;
    for (;;) {
        int error = gantry__os_lock_byte(claim->queue, TURN);
        claim->has_turn = error == 0;
        if (!error) return GANTRY_OK;
        if (error != EAGAIN) return gantry__claim_fail(&claim->folder, QUEUE, "lock", error);
        if (gantry__now_ns() - start > TURN_PATIENCE_NS)
            return gantry__fail(
                GANTRY_DEADLINE_EXCEEDED,
                "'%s/%s': another claimant has had its turn for more than 10 s; is it stopped? fuser -v names it",
                claim->folder.path, QUEUE);
        gantry__os_sleep_ns(pause_ns);
        if (pause_ns < LONGEST_PAUSE_NS) pause_ns *= 2;
    }
}

static gantry_status_t take_place(gantry__claim_t *claim) {
    const int64_t place = next_place(claim->queue);
    if (place >= PLACES_END)
        return gantry__fail(
            GANTRY_RESOURCE_EXHAUSTED,
            "'%s/%s' has no place left: a process locks its last one; fuser -v names it",
            claim->folder.path, QUEUE);
    int error = gantry__os_lock_byte(claim->queue, place);
    if (error) return gantry__claim_fail(&claim->folder, QUEUE, "lock", error);
    claim->place = place;
    return GANTRY_OK;
}

static void drop_turn(gantry__claim_t *claim) {
    if (claim->has_turn) gantry__os_unlock_byte(claim->queue, TURN);
    claim->has_turn = false;
}

/* With a place, the queue is read before the turn, which only its head then takes. */
gantry_status_t gantry__claim_begin_turn(gantry__claim_t *claim, bool queue, size_t *out_before) {
    size_t before = 0;
    if (claim->place) before = count_locks(claim->queue, FIRST_PLACE, claim->place);
    if (before == 0) {
        GANTRY__TRY(wait_for_turn(claim));
        if (!claim->place) before = count_locks(claim->queue, FIRST_PLACE, PLACES_END);
    }
    if (out_before) *out_before = before;
    if (before == 0) return GANTRY_OK;
    gantry_status_t status = queue && !claim->place ? take_place(claim) : GANTRY_OK;
    drop_turn(claim);
    GANTRY__TRY(status);
    return gantry__fail(GANTRY_UNAVAILABLE, "%zu claimant%s in '%s/%s'", before,
                        before == 1 ? " is before this one" : "s are before this one",
                        claim->folder.path, QUEUE);
}

gantry_status_t gantry__claim_end_turn(gantry__claim_t *claim, bool keep_place) {
    gantry_status_t status = GANTRY_OK;
    if (keep_place && !claim->place && claim->has_turn) status = take_place(claim);
    if (!keep_place && claim->place) {
        gantry__os_unlock_byte(claim->queue, claim->place);
        claim->place = 0;
    }
    drop_turn(claim);
    return status;
}

/* ---- devices ---- */

static gantry_status_t refuse_held(const char *name, int file) {
    gantry_claim_info_t info;
    char holder[512];
    gantry__claim_record_read(file, &info);
    gantry__claim_record_describe(&info, holder, sizeof holder);
    return gantry__fail(GANTRY_UNAVAILABLE, "device %s is claimed by %s", name, holder);
}

static gantry_status_t lock_device(const gantry__claim_t *claim, const char *name,
                                   const char *file_name, int *out_file, bool *out_done) {
    GANTRY__TRY(gantry__claim_file_open(&claim->folder, file_name, out_file));
    int error = gantry__os_lock_byte(*out_file, 0);
    if (!error) {
        *out_done = gantry__claim_file_is_current(&claim->folder, file_name, *out_file);
        if (*out_done) return GANTRY_OK;
    }
    gantry_status_t status = error == EAGAIN ? refuse_held(name, *out_file)
                             : error ? gantry__claim_fail(&claim->folder, file_name, "lock", error)
                                     : GANTRY_OK;
    gantry__file_close(*out_file);
    return status;
}

static void claim_file_name(const char *name, char out[GANTRY__CLAIM_NAME_BYTES + 8]) {
    (void)snprintf(out, GANTRY__CLAIM_NAME_BYTES + 8, "%.*s.claim", GANTRY__CLAIM_NAME_BYTES - 1,
                   name);
}

gantry_status_t gantry__claim_take(gantry__claim_t *claim, const char *name) {
    char file_name[GANTRY__CLAIM_NAME_BYTES + 8];
    bool is_done = false;
    int file = -1;
    if (claim->count == GANTRY__CLAIM_MOST)
        return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "a claimant holds at most %d devices",
                            GANTRY__CLAIM_MOST);
    claim_file_name(name, file_name);
    for (int i = 0; i < TAKE_ATTEMPTS && !is_done; ++i)
        GANTRY__TRY(lock_device(claim, name, file_name, &file, &is_done));
    if (!is_done)
        return gantry__fail(GANTRY_UNAVAILABLE, "'%s/%s' is removed again and again",
                            claim->folder.path, file_name);
    gantry__claim_record_write(file, claim->command);
    claim->process = gantry__os_process();
    claim->files[claim->count++] = file;
    return GANTRY_OK;
}

/* A lock ends when it is unlocked, or with the last descriptor of its open file. A child of fork
 * has the descriptors, too, so closing them would not be enough; but programs that inherited the
 * claim keep it. */
void gantry__claim_give_back(gantry__claim_t *claim) {
    const bool unlocks = !claim->is_inherited && claim->process == gantry__os_process();
    for (size_t i = 0; i < claim->count; ++i) {
        if (unlocks) gantry__os_unlock_byte(claim->files[i], 0);
        gantry__file_close(claim->files[i]);
    }
    claim->count = 0;
    claim->is_inherited = false;
}

gantry_status_t gantry__claim_inherit(gantry__claim_t *claim) {
    int error = gantry__os_hand_on(claim->folder.directory);
    claim->is_inherited = true;
    for (size_t i = 0; i < claim->count; ++i) {
        const int failed = gantry__os_hand_on(claim->files[i]);
        if (failed) error = failed;
    }
    if (!error) return GANTRY_OK;
    return gantry__claim_fail(&claim->folder, "", "hand on the claims in", error);
}

/* ---- looking ---- */

void gantry__claim_look(const gantry__claim_folder_t *folder, const char *name,
                        gantry_claim_info_t *out_info) {
    char file_name[GANTRY__CLAIM_NAME_BYTES + 8];
    int file;
    gantry__os_range_t range;
    *out_info = (gantry_claim_info_t){.struct_size = sizeof *out_info, .user = -1};
    (void)snprintf(out_info->device, sizeof out_info->device, "%s", name);
    claim_file_name(name, file_name);
    if (!gantry__claim_file_look(folder, file_name, &file)) return;
    out_info->held = gantry__os_locked_range(file, 0, 1, &range);
    if (out_info->held) gantry__claim_record_read(file, out_info);
    gantry__file_close(file);
}

size_t gantry__claim_count_waiting(const gantry__claim_folder_t *folder) {
    int file;
    if (!gantry__claim_file_look(folder, QUEUE, &file)) return 0;
    size_t count = count_locks(file, FIRST_PLACE, PLACES_END);
    gantry__file_close(file);
    return count;
}
