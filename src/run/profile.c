/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a profile, in this order: init and restart, adding a closed frame to its row, the
 * row as programs see it, and snapshots.
 *
 * Rows are linked in the order of first use, and per subject: a look-up walks the few rows of one
 * op. */
#include "base/text.h"
#include "device/logical_device.h"
#include "run/profile.h"

#include <string.h>

gantry_status_t gantry__profile_init(gantry__profile_t *profile, const gantry__heap_t *heap,
                                     const gantry__device_table_t *devices) {
    *profile = (gantry__profile_t){.heap = heap, .devices = devices};
    if (gantry__mutex_init(&profile->lock) == 0) return GANTRY_OK;
    return gantry__fail(GANTRY_RESOURCE_EXHAUSTED, "cannot make a mutex");
}

static void forget_rows(gantry__profile_t *profile) {
    gantry__profile_row_t *row = profile->first;
    while (row) {
        gantry__profile_row_t *next = row->next;
        if (row != &profile->others) gantry__heap_free(profile->heap, row, sizeof *row);
        row = next;
    }
    profile->first = profile->last = NULL;
    profile->count = 0;
    memset(profile->of_subject, 0, sizeof profile->of_subject);
}

void gantry__profile_deinit(gantry__profile_t *profile) {
    forget_rows(profile);
    gantry__mutex_deinit(&profile->lock);
}

void gantry__profile_restart(gantry__profile_t *profile, gantry_profile_mode_t mode) {
    gantry__mutex_lock(&profile->lock);
    forget_rows(profile);
    profile->mode = mode;
    profile->started_ns = gantry__now_ns();
    profile->stopped_ns = 0;
    gantry__mutex_unlock(&profile->lock);
}

void gantry__profile_end(gantry__profile_t *profile) {
    gantry__mutex_lock(&profile->lock);
    profile->stopped_ns = gantry__now_ns();
    gantry__mutex_unlock(&profile->lock);
}

/* ---- adding ---- */

static bool is_same(const gantry__profile_key_t *a, const gantry__profile_key_t *b) {
    return a->part_of == b->part_of && a->device == b->device;
}

static void link_row(gantry__profile_t *profile, gantry__profile_row_t *row,
                     const gantry__profile_key_t *key) {
    *row =
        (gantry__profile_row_t){.key = *key, .next_of_subject = profile->of_subject[key->subject]};
    profile->of_subject[key->subject] = row;
    if (profile->last) {
        profile->last->next = row;
    } else {
        profile->first = row;
    }
    profile->last = row;
    ++profile->count;
}

/* The caller must hold the lock. */
static gantry__profile_row_t *profile_row_of(gantry__profile_t *profile,
                                             const gantry__profile_key_t *key) {
    gantry__profile_row_t *row = profile->of_subject[key->subject];
    while (row && !is_same(&row->key, key)) row = row->next_of_subject;
    if (row) return row;
    row = gantry__heap_alloc(profile->heap, sizeof *row);
    if (row) {
        link_row(profile, row, key);
        return row;
    }
    if (!profile->of_subject[GANTRY__PROFILE_OTHERS])
        link_row(profile, &profile->others,
                 &(gantry__profile_key_t){.subject = GANTRY__PROFILE_OTHERS,
                                          .part_of = GANTRY__PROFILE_NONE});
    return &profile->others;
}

void gantry__profile_keep(gantry__profile_t *profile, gantry__profile_frame_t *frame,
                          const gantry__profile_key_t *key) {
    gantry__profile_close(frame);
    if (frame->has_phases) {
        gantry__mutex_lock(&profile->lock);
        gantry__profile_add(&profile_row_of(profile, key)->numbers, &frame->numbers);
        gantry__mutex_unlock(&profile->lock);
    }
    gantry__timeline_t *timeline = gantry__device_timeline(profile->devices);
    if (timeline) gantry__host_times_write(timeline, profile->devices, frame, key);
}

gantry__profile_frame_t *gantry__recorded_begin(gantry__recorded_t *recorded,
                                                gantry__profile_t *profile, uint32_t subject,
                                                const gantry_logical_device_t *device) {
    recorded->device = device;
    recorded->profile = profile;
    recorded->subject = subject;
    gantry__profile_open(&recorded->room,
                         gantry__device_profile_mode(profile->devices) != GANTRY_PROFILE_DEFAULT);
    return &recorded->room;
}

void gantry__recorded_keep(gantry__recorded_t *recorded) {
    const gantry__profile_key_t key = {
        .subject = recorded->subject, .part_of = GANTRY__PROFILE_NONE, .device = recorded->device};
    gantry__profile_keep(recorded->profile, recorded->frame, &key);
}

/* ---- reading ---- */

const char *gantry__profile_subject_name(uint32_t subject) {
    static const char *const others[] = {"(read)", "(wait)", "(synchronize)", "(scope)",
                                         "(others)"};
    if (subject == GANTRY__PROFILE_NONE) return "";
    return subject < GANTRY__OP_COUNT ? gantry__op_get((gantry__op_id_t)subject)->name
                                      : others[subject - GANTRY__OP_COUNT];
}

static gantry_profile_row_t public_row(const gantry__profile_numbers_t *numbers) {
    gantry_profile_row_t row = {.struct_size = sizeof row,
                                .calls = numbers->calls,
                                .launches = numbers->launches,
                                .bytes_moved = numbers->bytes_moved,
                                .argument_bytes = numbers->argument_bytes,
                                .allocations = numbers->allocations,
                                .allocated_bytes = numbers->allocated_bytes,
                                .driver_allocations = numbers->driver_allocations,
                                .scope_ns = numbers->ns[GANTRY__PHASE_SCOPE],
                                .placement_ns = numbers->ns[GANTRY__PHASE_PLACEMENT],
                                .copy_ns = numbers->ns[GANTRY__PHASE_COPY],
                                .allocation_ns = numbers->ns[GANTRY__PHASE_ALLOCATION],
                                .program_ns = numbers->ns[GANTRY__PHASE_PROGRAM],
                                .launch_ns = numbers->ns[GANTRY__PHASE_LAUNCH],
                                .kernel_ns = numbers->ns[GANTRY__PHASE_KERNEL],
                                .wait_ns = numbers->ns[GANTRY__PHASE_WAIT]};
    for (int i = 0; i < GANTRY__PHASES; ++i) row.total_ns += numbers->ns[i];
    return row;
}

static gantry_profile_row_t named_row(const gantry__profile_row_t *row) {
    gantry_profile_row_t out = public_row(&row->numbers);
    gantry__text_copy(out.op, sizeof out.op, gantry__profile_subject_name(row->key.subject));
    gantry__text_copy(out.part_of, sizeof out.part_of,
                      gantry__profile_subject_name(row->key.part_of));
    gantry__text_copy(out.device, sizeof out.device, row->key.device ? row->key.device->name : "");
    return out;
}

/* The caller must hold the lock. */
static gantry_profile_row_t sum_row(const gantry__profile_t *profile) {
    gantry__profile_numbers_t sum = {0};
    for (const gantry__profile_row_t *row = profile->first; row; row = row->next)
        gantry__profile_add(&sum, &row->numbers);
    gantry_profile_row_t out = public_row(&sum);
    out.elapsed_ns =
        (profile->stopped_ns ? profile->stopped_ns : gantry__now_ns()) - profile->started_ns;
    return out;
}

static gantry_status_t check_started(const gantry__profile_t *profile) {
    if (profile->mode != GANTRY_PROFILE_DEFAULT) return GANTRY_OK;
    return gantry__fail(
        GANTRY_FAILED_PRECONDITION,
        "no profile was recorded: gantry_profile_start, the option profile or GANTRY_PROFILE=on begins one");
}

size_t gantry__profile_count(gantry__profile_t *profile) {
    gantry__mutex_lock(&profile->lock);
    size_t count = profile->count;
    gantry__mutex_unlock(&profile->lock);
    return count;
}

/* The caller must hold the lock. */
static gantry_status_t profile_find_row(const gantry__profile_t *profile, size_t index,
                                        gantry_profile_row_t *out_row) {
    GANTRY__TRY(check_started(profile));
    if (index == GANTRY_PROFILE_TOTAL) {
        *out_row = sum_row(profile);
        return GANTRY_OK;
    }
    if (index >= profile->count)
        return gantry__fail(GANTRY_OUT_OF_RANGE,
                            "row %zu of the profile is requested; there are %zu", index,
                            profile->count);
    const gantry__profile_row_t *row = profile->first;
    while (index-- > 0) row = row->next;
    *out_row = named_row(row);
    return GANTRY_OK;
}

gantry_status_t gantry__profile_row(gantry__profile_t *profile, size_t index,
                                    gantry_profile_row_t *out_row) {
    gantry__mutex_lock(&profile->lock);
    gantry_status_t status = profile_find_row(profile, index, out_row);
    gantry__mutex_unlock(&profile->lock);
    return status;
}

/* The lock is held. */
static gantry_status_t take_snapshot(const gantry__profile_t *profile,
                                     gantry__profile_snapshot_t *snapshot) {
    GANTRY__TRY(check_started(profile));
    snapshot->rows =
        gantry__heap_alloc(snapshot->heap, (profile->count + 1) * sizeof *snapshot->rows);
    if (!snapshot->rows) return GANTRY_RESOURCE_EXHAUSTED;
    snapshot->mode = profile->mode;
    for (const gantry__profile_row_t *row = profile->first; row; row = row->next)
        snapshot->rows[snapshot->count++] = named_row(row);
    snapshot->rows[snapshot->count] = sum_row(profile);
    return GANTRY_OK;
}

gantry_status_t gantry__profile_snapshot(gantry__profile_t *profile,
                                         gantry__profile_snapshot_t *out_snapshot) {
    *out_snapshot = (gantry__profile_snapshot_t){.heap = profile->heap};
    gantry__mutex_lock(&profile->lock);
    gantry_status_t status = take_snapshot(profile, out_snapshot);
    gantry__mutex_unlock(&profile->lock);
    return status;
}

void gantry__profile_snapshot_deinit(gantry__profile_snapshot_t *snapshot) {
    gantry__heap_free(snapshot->heap, snapshot->rows,
                      (snapshot->count + 1) * sizeof *snapshot->rows);
}
