/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduce over copies between devices, in two steps: each device adds its part of all gradients,
 * which lie one behind another, then every device gets every part. Each byte crosses to a device
 * twice at most, whatever the number of replicas. The order of the additions is that of the
 * replicas. */
#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "train/base/memory.h"
#include "train/model/step.h"

typedef const gantry_tensor_t tensor;

/* The op Concat takes this many at most. */
#define MOST_JOINED 64

/* A scope on a replica's device for few ops, one result of which is kept. */
static gantry_scope_t *begin_on(gantry__step_call_t *c, size_t replica) {
    gantry_scope_t *scope = gantry__model_scope(c->model, c->scope, replica);
    if (!scope) (void)gantry__train_hand_on(c->scope, GANTRY_RESOURCE_EXHAUSTED);
    return scope;
}

static tensor *end_with(gantry__step_call_t *c, gantry_scope_t *scope, tensor *result) {
    return gantry__train_end(c->scope, scope, result);
}

/* ---- flat gradients ---- */

const gantry_tensor_t *gantry__step_join(gantry_scope_t *scope, const gantry_tensor_t **list,
                                         size_t count) {
    while (count > 1) {
        size_t made = 0;
        for (size_t i = 0; i < count; i += MOST_JOINED) {
            const size_t some = count - i < MOST_JOINED ? count - i : MOST_JOINED;
            list[made++] = some > 1 ? gantry_concat(scope, list + i, some, 0) : list[i];
        }
        count = made;
    }
    return list[0];
}

static int64_t size_of(const gantry__step_call_t *c, size_t trained) {
    tensor *gradient = c->replicas[0].gradients[trained];
    return gradient ? gantry_tensor_elements(gradient) : 0;
}

static tensor *flatten(gantry__step_call_t *c, size_t replica) {
    gantry_scope_t *scope = begin_on(c, replica);
    size_t count = 0;
    if (!scope) return NULL;
    for (size_t i = 0; i < c->trained_count; ++i) {
        tensor *gradient = c->replicas[replica].gradients[i];
        if (gradient)
            c->list[count++] = gantry_reshape(scope, gradient, GANTRY_SHAPE(size_of(c, i)));
    }
    return end_with(c, scope, gantry_identity(scope, gantry__step_join(scope, c->list, count)));
}

/* ---- parts ---- */

/* The first element of a part. */
static int64_t part_begin(int64_t elements, size_t part, size_t parts) {
    return elements / (int64_t)parts * (int64_t)part +
           (part == parts ? elements % (int64_t)parts : 0);
}

static tensor *add_part(gantry__step_call_t *c, tensor *const *flat, size_t part,
                        int64_t elements) {
    const int64_t begin = part_begin(elements, part, c->replica_count);
    const int64_t size = part_begin(elements, part + 1, c->replica_count) - begin;
    gantry_scope_t *scope = begin_on(c, part);
    tensor *sum = NULL;
    if (!scope) return NULL;
    for (size_t r = 0; r < c->replica_count; ++r) {
        tensor *piece = gantry_slice(scope, flat[r], &begin, &size);
        sum = sum ? gantry_add(scope, sum, piece) : piece;
    }
    return end_with(c, scope, sum);
}

/* ---- back to the variables ---- */

static void split(gantry__step_call_t *c, size_t replica, tensor *const *parts) {
    gantry_scope_t *scope = begin_on(c, replica);
    int64_t begin = 0;
    if (!scope) return;
    for (size_t p = 0; p < c->replica_count; ++p) c->list[p] = parts[p];
    tensor *flat = gantry__step_join(scope, c->list, c->replica_count);
    for (size_t i = 0; i < c->trained_count; ++i) {
        tensor *like = c->replicas[0].gradients[i];
        if (!like) continue;
        const int64_t size = size_of(c, i);
        c->reduced[replica * c->trained_count + i] =
            gantry_scope_keep(scope, gantry_reshape(scope, gantry_slice(scope, flat, &begin, &size),
                                                    *gantry_tensor_shape(like)));
        begin += size;
    }
    gantry_status_t status = gantry_scope_end(scope);
    if (status != GANTRY_OK) (void)gantry__train_hand_on(c->scope, status);
}

static void reduce_all(gantry__step_call_t *c, tensor **flat, tensor **parts) {
    int64_t elements = 0;
    for (size_t i = 0; i < c->trained_count; ++i) elements += size_of(c, i);
    if (elements == 0) return;
    for (size_t r = 0; r < c->replica_count; ++r) flat[r] = flatten(c, r);
    for (size_t p = 0; p < c->replica_count && flat[c->replica_count - 1]; ++p)
        parts[p] = add_part(c, flat, p, elements);
    for (size_t r = 0; r < c->model->replica_count && parts[c->replica_count - 1]; ++r)
        split(c, r, parts);
}

void gantry__step_reduce(gantry__step_call_t *c) {
    if (c->model->replica_count == 1) {
        for (size_t i = 0; i < c->trained_count; ++i) c->reduced[i] = c->replicas[0].gradients[i];
        return;
    }
    tensor **room = gantry__train_alloc(2 * c->replica_count, sizeof *room);
    if (room)
        reduce_all(c, room, room + c->replica_count);
    else
        (void)gantry__train_hand_on(c->scope, GANTRY_RESOURCE_EXHAUSTED);
    gantry__train_free((void *)room);
}

/* ---- variables that are not trained ---- */

const gantry_tensor_t *gantry__step_mean_update(gantry__step_call_t *c, size_t variable) {
    gantry_scope_t *scope = begin_on(c, 0);
    tensor *mean = NULL;
    if (!scope) return NULL;
    if (c->replica_count == 1)
        return end_with(c, scope, gantry_identity(scope, c->replicas[0].run.updates[variable]));
    for (size_t r = 0; r < c->replica_count; ++r) {
        tensor *update = c->replicas[r].run.updates[variable];
        tensor *share =
            gantry_mul(scope, update,
                       gantry__train_constant(scope, c->model->dtype,
                                              (double)c->replicas[r].rows / (double)c->rows));
        mean = mean ? gantry_add(scope, mean, share) : share;
    }
    return end_with(c, scope, mean);
}
