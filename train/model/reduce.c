/* SPDX-License-Identifier: Apache-2.0 */
/* Replicas of a training step, and the all-reduce of their gradients in buckets of some MiB, filled
 * in the order in which the backward pass completes them:
 *
 *     replica 0   forward   backward: bucket 0   backward: bucket 1   backward: bucket 2
 *     replica 1   forward   backward: bucket 0   backward: bucket 1   backward: bucket 2
 *     all                                        reduce bucket 0      reduce bucket 1     bucket 2
 *
 * A bucket is reduced after the backward pass of the next one, so that a replica that is late holds
 * up nobody at once. A gradient that fills half a bucket is a bucket of its own, because it then
 * need not be copied. Gradients begin at multiples of UNIT elements in a bucket, where their parts
 * of the sum are views. With one bucket, a replica's work is recorded in one piece, which keeps
 * what the forward pass computed in the cache.
 *
 * A device that is no CPU has a queue. Where there are CPUs, too, such replicas come first and at
 * once, because the queue works while the thread computes for the CPUs. Only the order of work
 * depends on all this, the order of additions does not. */
#include <string.h>

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"
#include "train/model/step.h"
#include "train/strategy/all_reduce.h"
#include "train/strategy/strategy_state.h"

typedef const gantry_tensor_t tensor;

#define BUCKET_BYTES ((int64_t)4 << 20)
#define UNIT 64

/* A scope on a replica's device for few ops, one result of which is kept. */
static gantry_scope_t *reduce_begin_on(gantry__step_call_t *c, size_t replica) {
    return gantry__model_scope(c->model, c->scope, replica);
}

static tensor *end_with(gantry__step_call_t *c, gantry_scope_t *scope, tensor *result) {
    return gantry__train_end(c->scope, scope, result);
}

/* ---- buckets ---- */

static const gantry_shape_t *reduce_shape_of(const gantry__step_call_t *c, size_t trained) {
    return gantry_variable_shape(c->replicas[0].sources[trained].variable);
}

static int64_t size_of(const gantry__step_call_t *c, size_t trained) {
    return gantry_shape_elements(reduce_shape_of(c, trained));
}

/* Fills bucket_ends from order, in which large gradients move before the open bucket. */
static void plan_buckets(gantry__step_call_t *c) {
    const int64_t item = (int64_t)gantry_dtype_size(c->model->dtype);
    size_t *order = c->order, open = 0;
    int64_t bytes = 0;
    for (size_t i = 0; i < c->trained_count; ++i) {
        const size_t variable = order[i];
        const int64_t size = size_of(c, variable) * item;
        if (size >= BUCKET_BYTES / 2) {
            memmove(order + open + 1, order + open, (i - open) * sizeof *order);
            order[open++] = variable;
            c->bucket_ends[c->bucket_count++] = open;
            continue;
        }
        bytes += size;
        if (bytes < BUCKET_BYTES) continue;
        bytes = 0;
        open = i + 1;
        c->bucket_ends[c->bucket_count++] = open;
    }
    if (open < c->trained_count) c->bucket_ends[c->bucket_count++] = c->trained_count;
}

/* A walk over the gradients of a bucket that are there. */
typedef struct walk_t {
    tensor *const *gradients; /* by variable; NULL: none */
    size_t at, end;           /* in order */
    size_t variable;          /* the present one */
    int64_t begin;            /* of its elements in the bucket */
    int64_t next;             /* of the next one's */
    bool is_joined;           /* more than one */
} walk_t;

static bool walk_on(const gantry__step_call_t *c, walk_t *walk) {
    while (walk->at < walk->end) {
        walk->variable = c->order[walk->at++];
        if (!walk->gradients[walk->variable]) continue;
        walk->begin = walk->next;
        walk->next += (size_of(c, walk->variable) + UNIT - 1) / UNIT * UNIT;
        return true;
    }
    return false;
}

static walk_t walk_over(const gantry__step_call_t *c, const gantry__replica_t *replica,
                        size_t bucket) {
    walk_t walk = {.gradients = replica->gradients,
                   .at = bucket ? c->bucket_ends[bucket - 1] : 0,
                   .end = c->bucket_ends[bucket]};
    walk_t counted = walk;
    size_t count = 0;
    while (walk_on(c, &counted)) ++count;
    walk.is_joined = count > 1;
    return walk;
}

/* ---- backward ---- */

static void reduce_begin_backward(gantry__step_call_t *c, gantry__replica_t *replica) {
    if (!replica->tape || !replica->loss || gantry_scope_status(replica->scope) != GANTRY_OK)
        return;
    gantry__step_note(c, gantry__backprop_begin(replica->tape, replica->loss, replica->sources,
                                                c->trained_count, &replica->backprop));
    if (!replica->backprop || c->bucket_count > 0) return;
    gantry__backprop_order(replica->backprop, c->order);
    plan_buckets(c);
}

/* Returns the gradients of a bucket, one after another; NULL if there is none. */
static tensor *join_bucket(gantry__step_call_t *c, gantry__replica_t *replica, size_t bucket) {
    walk_t walk = walk_over(c, replica, bucket);
    gantry_scope_t *scope = reduce_begin_on(c, replica->run.replica);
    size_t count = 0;
    if (!scope) return NULL;
    while (walk_on(c, &walk)) {
        const int64_t size = size_of(c, walk.variable), room = walk.next - walk.begin;
        c->list[count++] =
            gantry_reshape(scope, replica->gradients[walk.variable], GANTRY_SHAPE(size));
        if (walk.is_joined && room > size)
            c->list[count++] = gantry_zeros(scope, c->model->dtype, GANTRY_SHAPE(room - size));
    }
    return end_with(c, scope, count > 0 ? gantry__join_vectors(scope, c->list, count) : NULL);
}

/* The backward pass as far as a bucket. */
static void reduce_run_backward(gantry__step_call_t *c, gantry__replica_t *replica, size_t bucket) {
    if (!replica->backprop) return;
    gantry__numerics_set_tape(c->model->state.numerics, replica->tape);
    for (size_t i = bucket ? c->bucket_ends[bucket - 1] : 0; i < c->bucket_ends[bucket]; ++i) {
        const size_t variable = c->order[i];
        gantry__step_note(
            c, gantry__backprop_until(replica->backprop, variable, &replica->gradients[variable]));
        if (gantry__step_has_failed(c)) return;
    }
    gantry__numerics_set_tape(c->model->state.numerics, NULL);
    replica->joined[bucket] = join_bucket(c, replica, bucket);
}

/* ---- all-reduce ---- */

static void reduce_split(gantry__step_call_t *c, size_t replica, size_t bucket, tensor *sum) {
    walk_t walk = walk_over(c, &c->replicas[0], bucket);
    gantry_scope_t *scope = reduce_begin_on(c, replica);
    if (!scope) return;
    while (walk_on(c, &walk)) {
        const int64_t size = size_of(c, walk.variable);
        tensor *part = walk.is_joined ? gantry_slice(scope, sum, &walk.begin, &size) : sum;
        c->reduced[replica * c->trained_count + walk.variable] = gantry_scope_keep(
            scope, gantry_reshape(scope, part, *reduce_shape_of(c, walk.variable)));
    }
    gantry__step_note(c, gantry_scope_end(scope));
}

static void reduce_bucket(gantry__step_call_t *c, size_t bucket) {
    const gantry__all_reduce_t call = {.scope = c->scope,
                                       .devices = c->model->replicas.devices,
                                       .value_count = c->replica_count,
                                       .sum_count = c->model->replicas.count,
                                       .has_nccl = c->model->replicas.has_nccl};
    tensor **sums = gantry__alloc(call.sum_count, sizeof *sums);
    if (!sums) {
        gantry__step_note(c, GANTRY_RESOURCE_EXHAUSTED);
        return;
    }
    for (size_t r = 0; r < c->replica_count; ++r) c->list[r] = c->replicas[r].joined[bucket];
    if (c->list[0]) gantry__all_reduce(&call, c->list, sums);
    for (size_t r = 0; r < call.sum_count && sums[r]; ++r) reduce_split(c, r, bucket, sums[r]);
    gantry__free((void *)sums);
}

/* ---- all replicas ---- */

static bool is_cpu(const gantry__step_call_t *c, size_t replica) {
    const char *device = c->model->replicas.devices[replica];
    return device && strstr(device, "CPU:");
}

/* Replicas whose devices have queues come first. */
static gantry__replica_t *replica_at(const gantry__step_call_t *c, size_t turn) {
    size_t queues = 0;
    for (size_t r = 0; r < c->replica_count; ++r) queues += !is_cpu(c, r);
    const bool wants_cpu = turn >= queues;
    if (wants_cpu) turn -= queues;
    for (size_t r = 0; r < c->replica_count; ++r) {
        if (is_cpu(c, r) == wants_cpu && turn-- == 0) return &c->replicas[r];
    }
    return NULL;
}

static bool has_unlike_devices(const gantry__step_call_t *c) {
    for (size_t r = 1; r < c->replica_count; ++r) {
        if (is_cpu(c, r) != is_cpu(c, 0)) return true;
    }
    return false;
}

static void run_in_one_piece(gantry__step_call_t *c, gantry__replica_t *replica) {
    for (size_t b = 0; b < c->bucket_count && !gantry__step_has_failed(c); ++b)
        reduce_run_backward(c, replica, b);
    gantry__step_end_replica(c, replica);
}

void gantry__step_train_replicas(gantry__step_call_t *c) {
    const size_t count = c->replica_count;
    const bool is_mixed = has_unlike_devices(c);
    for (size_t t = 0; t < count && !gantry__step_has_failed(c); ++t) {
        gantry__step_begin_replica(c, replica_at(c, t));
        reduce_begin_backward(c, replica_at(c, t));
        if (c->bucket_count <= 1 || is_mixed) run_in_one_piece(c, replica_at(c, t));
    }
    for (size_t b = 0; b < c->bucket_count && !gantry__step_has_failed(c); ++b) {
        for (size_t t = 0; t < count && !gantry__step_has_failed(c); ++t)
            reduce_run_backward(c, replica_at(c, t), b);
        if (b > 0 && !gantry__step_has_failed(c)) reduce_bucket(c, b - 1);
    }
    if (c->bucket_count > 0 && !gantry__step_has_failed(c)) reduce_bucket(c, c->bucket_count - 1);
    for (size_t t = 0; t < count; ++t) gantry__step_end_replica(c, &c->replicas[t]);
    if (!c->model->program.runs_eagerly)
        gantry__strategy_log_reduction(c->model->runtime, c->model->replicas.has_nccl,
                                       c->trained_count, c->bucket_count);
}

/* ---- variables that are not trained ---- */

const gantry_tensor_t *gantry__step_mean_update(gantry__step_call_t *c, size_t variable) {
    gantry_scope_t *scope = reduce_begin_on(c, 0);
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
