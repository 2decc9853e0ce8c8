/* SPDX-License-Identifier: Apache-2.0 */
/* Device names: how two of them relate, and how they combine.
 *
 * A name is six optional fields. Each relation is one loop over them, so that no relation can
 * forget a field:
 *
 *     job  replica  task | type  index  backend
 *     the task part      | the device part
 *
 * Index and backend have a meaning only with their type. TensorFlow treats them as independent, so
 * that CPU inside GPU:1 becomes CPU:1; here a field of the device part is taken from another name
 * only if the types agree. */
#include "device/device_name.h"

#include <stdio.h>
#include <string.h>

#include "base/failure.h"

typedef enum field_t { JOB, REPLICA, TASK, TYPE, INDEX, BACKEND, FIELD_COUNT } field_t;

static bool has(const gantry__device_name_t *name, field_t field) {
    switch (field) {
        case JOB: return name->has_job;
        case REPLICA: return name->has_replica;
        case TASK: return name->has_task;
        case TYPE: return name->has_type;
        case INDEX: return name->has_index;
        default: return name->has_backend;
    }
}

static int compare_numbers(int32_t a, int32_t b) { return (a > b) - (a < b); }

/* Compares a field that is set on both sides. */
static int compare_field(const gantry__device_name_t *a, const gantry__device_name_t *b,
                         field_t field) {
    switch (field) {
        case JOB: return strcmp(a->job, b->job);
        case REPLICA: return compare_numbers(a->replica, b->replica);
        case TASK: return compare_numbers(a->task, b->task);
        case TYPE: return strcmp(a->type, b->type);
        case INDEX: return compare_numbers(a->index, b->index);
        default: return strcmp(a->backend, b->backend);
    }
}

static bool conflicts(const gantry__device_name_t *a, const gantry__device_name_t *b,
                      field_t field) {
    return has(a, field) && has(b, field) && compare_field(a, b, field) != 0;
}

/* Copies value and whether it is set. */
static void copy_field(gantry__device_name_t *to, const gantry__device_name_t *from,
                       field_t field) {
    switch (field) {
        case JOB:
            to->has_job = from->has_job;
            memcpy(to->job, from->job, sizeof to->job);
            break;
        case REPLICA:
            to->has_replica = from->has_replica;
            to->replica = from->replica;
            break;
        case TASK:
            to->has_task = from->has_task;
            to->task = from->task;
            break;
        case TYPE:
            to->has_type = from->has_type;
            memcpy(to->type, from->type, sizeof to->type);
            break;
        case INDEX:
            to->has_index = from->has_index;
            to->index = from->index;
            break;
        default:
            to->has_backend = from->has_backend;
            memcpy(to->backend, from->backend, sizeof to->backend);
            break;
    }
}

static void clear_field(gantry__device_name_t *name, field_t field) {
    static const gantry__device_name_t empty;
    copy_field(name, &empty, field);
}

static void copy_set_fields(gantry__device_name_t *to, const gantry__device_name_t *from,
                            field_t first, field_t end) {
    for (field_t f = first; f < end; ++f)
        if (has(from, f)) copy_field(to, from, f);
}

static void fill_unset_fields(gantry__device_name_t *to, const gantry__device_name_t *from,
                              field_t first, field_t end) {
    for (field_t f = first; f < end; ++f)
        if (!has(to, f)) copy_field(to, from, f);
}

/* Must be called before another type replaces the one in name. */
static void clear_for_new_type(gantry__device_name_t *name, const gantry__device_name_t *over) {
    if (!over->has_type || (name->has_type && !conflicts(name, over, TYPE))) return;
    clear_field(name, INDEX);
    clear_field(name, BACKEND);
}

/* ---- Relations. */

bool gantry__device_name_is_equal(const gantry__device_name_t *a, const gantry__device_name_t *b) {
    return gantry__device_name_compare(a, b) == 0;
}

int gantry__device_name_compare(const gantry__device_name_t *a, const gantry__device_name_t *b) {
    for (field_t f = JOB; f < FIELD_COUNT; ++f) {
        if (has(a, f) != has(b, f)) return has(a, f) ? 1 : -1;
        int order = has(a, f) ? compare_field(a, b, f) : 0;
        if (order != 0) return order;
    }
    return 0;
}

/* ---- Merging. */

static gantry_status_t fail_conflict(const gantry__device_name_t *a, const gantry__device_name_t *b,
                                     field_t field) {
    static const char *const plurals[FIELD_COUNT] = {"jobs",  "replicas", "tasks",
                                                     "types", "ids",      "backends"};
    char text_a[GANTRY__DEVICE_NAME_BYTES], text_b[GANTRY__DEVICE_NAME_BYTES];
    gantry__device_name_format(a, text_a, sizeof text_a);
    gantry__device_name_format(b, text_b, sizeof text_b);
    return gantry__refuse("Cannot merge devices with incompatible %s: '%s' and '%s'",
                          plurals[field], text_a, text_b);
}

static gantry_status_t check_conflicts(const gantry__device_name_t *a,
                                       const gantry__device_name_t *b, field_t end) {
    for (field_t f = JOB; f < end; ++f)
        if (conflicts(a, b, f)) return fail_conflict(a, b, f);
    return GANTRY_OK;
}

static void merge_device_soft(gantry__device_name_t *name, const gantry__device_name_t *other) {
    if (conflicts(name, other, TYPE)) {
        for (field_t f = TYPE; f < FIELD_COUNT; ++f) clear_field(name, f);
        return;
    }
    for (field_t f = TYPE; f < FIELD_COUNT; ++f) {
        if (conflicts(name, other, f))
            clear_field(name, f);
        else if (has(other, f))
            copy_field(name, other, f);
    }
}

gantry_status_t gantry__device_name_merge(const gantry__device_name_t *a,
                                          const gantry__device_name_t *b, bool soft,
                                          gantry__device_name_t *out_name) {
    GANTRY__TRY(check_conflicts(a, b, soft ? TYPE : FIELD_COUNT));
    gantry__device_name_t merged = *a;
    copy_set_fields(&merged, b, JOB, TYPE);
    merge_device_soft(&merged, b);
    *out_name = merged;
    return GANTRY_OK;
}

void gantry__device_name_merge_unset(const gantry__device_name_t *a, const gantry__device_name_t *b,
                                     gantry__device_name_t *out_name) {
    gantry__device_name_t merged = *a;
    bool is_other_type = conflicts(a, b, TYPE);
    fill_unset_fields(&merged, b, JOB, is_other_type ? TYPE : FIELD_COUNT);
    *out_name = merged;
}

void gantry__device_name_merge_scope(const gantry__device_name_t *outer,
                                     const gantry__device_name_t *inner,
                                     gantry__device_name_t *out_name) {
    gantry__device_name_t merged = *outer;
    clear_for_new_type(&merged, inner);
    copy_set_fields(&merged, inner, JOB, FIELD_COUNT);
    *out_name = merged;
}

void gantry__device_reference_merge_scope(const gantry__device_reference_t *outer,
                                          const gantry__device_reference_t *inner,
                                          gantry__device_reference_t *out_reference) {
    gantry__device_reference_t merged = *inner;
    bool is_inner_logical = inner->kind == GANTRY__DEVICE_LOGICAL;
    if (is_inner_logical && outer->kind == GANTRY__DEVICE_LOGICAL) {
        gantry__device_name_merge_scope(&outer->name, &inner->name, &merged.name);
    } else if (is_inner_logical && !inner->name.has_type) {
        merged = *outer;
        copy_set_fields(&merged.name, &inner->name, JOB, TYPE);
    } else {
        fill_unset_fields(&merged.name, &outer->name, JOB, TYPE);
    }
    *out_reference = merged;
}
