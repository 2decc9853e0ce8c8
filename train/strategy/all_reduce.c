/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduce. Cards of NVIDIA's, each a replica, leave it to NCCL, if it is there: an op for each
 * card, recorded one after another. Otherwise it is made by copies between devices, in one of two
 * ways:
 *
 *     whole   each replica adds all vectors. One step, no cutting and no joining: for two replicas,
 *             where it also moves the fewest bytes, and for short vectors
 *     parts   each replica adds a part of all vectors, then gets the sums of the others:
 *
 *                 replica 0   a0 b0 c0       a0 + a1 + a2                     all three sums
 *                 replica 1   a1 b1 c1  ->                 b0 + b1 + b2   ->  all three sums
 *                 replica 2   a2 b2 c2                       c0 + c1 + c2     all three sums
 *
 *             Of n replicas each receives 2 (n - 1) / n of the vector; of whole vectors it would
 *             be n - 1.
 *             Parts are cut into chunks, so that the copies of one run while another is added
 *
 * Both add element by element, in the order of the replicas, so they have the same bits. */
#include "train/strategy/all_reduce.h"

#include "train/base/fail.h"
#include "train/base/inner_scope.h"
#include "shared/memory.h"

typedef const gantry_tensor_t tensor;

/* Where two steps cost more than the bytes that they save. */
#define MOST_WHOLE_BYTES ((int64_t)64 << 10)
#define CHUNK_BYTES ((int64_t)4 << 20)
/* Elements from which a chunk begins: pieces that begin at such bytes are views. */
#define CHUNK_UNIT 64

static gantry_scope_t *begin_on(const gantry__all_reduce_t *call, size_t replica) {
    return gantry__train_begin_on(call->scope, call->devices[replica]);
}

/* ---- whole vectors ---- */

static tensor *all_reduce_add(gantry_scope_t *scope, tensor *const *values, size_t count) {
    tensor *sum = values[0];
    for (size_t r = 1; r < count; ++r) {
        (void)gantry_scope_name_next(scope, "all_reduce");
        sum = gantry_add(scope, sum, values[r]);
    }
    return count == 1 ? gantry_identity(scope, sum) : sum;
}

static void reduce_whole(const gantry__all_reduce_t *call, tensor *const *values, tensor **sums) {
    for (size_t r = 0; r < call->sum_count; ++r) {
        gantry_scope_t *scope = begin_on(call, r);
        if (!scope) return;
        sums[r] =
            gantry__train_end(call->scope, scope, all_reduce_add(scope, values, call->value_count));
    }
}

/* ---- parts ---- */

typedef struct pieces_t {
    const gantry__all_reduce_t *call;
    int64_t elements, step; /* of the vector, of a chunk */
    size_t count;           /* chunks; chunk p is added by replica p % value_count */
    tensor **cut;           /* of replica r chunk p: cut[p * value_count + r] */
    tensor **added;         /* of each chunk */
    tensor **list;          /* room to join */
} pieces_t;

static void pieces_deinit(pieces_t *pieces) { gantry__free((void *)pieces->cut); }

static bool pieces_init(pieces_t *pieces, const gantry__all_reduce_t *call, tensor *value) {
    const int64_t replicas = (int64_t)call->value_count, elements = gantry_tensor_elements(value),
                  part = (elements + replicas - 1) / replicas,
                  most = CHUNK_BYTES / (int64_t)gantry_dtype_size(gantry_tensor_dtype(value)),
                  chunks = (part + most - 1) / most;
    int64_t step = (part + chunks - 1) / chunks;
    step = (step + CHUNK_UNIT - 1) / CHUNK_UNIT * CHUNK_UNIT;
    *pieces = (pieces_t){.call = call,
                         .elements = elements,
                         .step = step,
                         .count = (size_t)((elements + step - 1) / step)};
    pieces->cut = gantry__alloc(pieces->count * (call->value_count + 2), sizeof *pieces->cut);
    if (!pieces->cut) return false;
    pieces->added = pieces->cut + pieces->count * call->value_count;
    pieces->list = pieces->added + pieces->count;
    return true;
}

static void cut_value(const pieces_t *pieces, size_t replica, tensor *value) {
    const gantry__all_reduce_t *call = pieces->call;
    gantry_scope_t *scope = begin_on(call, replica);
    if (!scope) return;
    for (size_t p = 0; p < pieces->count; ++p) {
        const int64_t begin = (int64_t)p * pieces->step, left = pieces->elements - begin,
                      size = left < pieces->step ? left : pieces->step;
        pieces->cut[p * call->value_count + replica] =
            gantry_scope_keep(scope, gantry_slice(scope, value, &begin, &size));
    }
    (void)gantry__train_end(call->scope, scope, NULL);
}

static void add_chunk(const pieces_t *pieces, size_t chunk) {
    const gantry__all_reduce_t *call = pieces->call;
    gantry_scope_t *scope = begin_on(call, chunk % call->value_count);
    if (!scope) return;
    tensor *sum = all_reduce_add(scope, pieces->cut + chunk * call->value_count, call->value_count);
    pieces->added[chunk] = gantry__train_end(call->scope, scope, sum);
}

static void join_chunks(const pieces_t *pieces, size_t replica, tensor **sum) {
    const gantry__all_reduce_t *call = pieces->call;
    gantry_scope_t *scope = begin_on(call, replica);
    if (!scope) return;
    for (size_t p = 0; p < pieces->count; ++p) pieces->list[p] = pieces->added[p];
    *sum = gantry__train_end(
        call->scope, scope,
        gantry_identity(scope, gantry__join_vectors(scope, pieces->list, pieces->count)));
}

static bool all_reduce_has_failed(const gantry__all_reduce_t *call) {
    return gantry_scope_status(call->scope) != GANTRY_OK;
}

static void reduce_parts(const gantry__all_reduce_t *call, tensor *const *values, tensor **sums) {
    pieces_t pieces;
    if (!pieces_init(&pieces, call, values[0])) {
        (void)gantry__train_hand_on(call->scope, GANTRY_RESOURCE_EXHAUSTED);
        return;
    }
    for (size_t r = 0; r < call->value_count && !all_reduce_has_failed(call); ++r)
        cut_value(&pieces, r, values[r]);
    for (size_t p = 0; p < pieces.count && !all_reduce_has_failed(call); ++p) add_chunk(&pieces, p);
    for (size_t r = 0; r < call->sum_count && !all_reduce_has_failed(call); ++r)
        join_chunks(&pieces, r, &sums[r]);
    pieces_deinit(&pieces);
}

/* ---- NCCL ---- */

/* What uses a result must come after the ops of all cards, because the op of each card needs those
 * of the others. */
static void hold_together(const gantry__all_reduce_t *call, tensor **sums) {
    gantry_scope_t *scope = gantry_scope_begin_after(call->scope, sums, call->sum_count);
    if (!scope) {
        (void)gantry__train_no_inner(call->scope);
        return;
    }
    for (size_t r = 0; r < call->sum_count; ++r)
        sums[r] = gantry_scope_keep(scope, gantry_identity(scope, sums[r]));
    (void)gantry__train_end(call->scope, scope, NULL);
}

static void reduce_by_nccl(const gantry__all_reduce_t *call, tensor *const *values, tensor **sums) {
    const gantry_attr_value_t attrs[] = {
        {.name = "reduction", .kind = GANTRY_ATTR_STRING, .s = "sum"},
        {.name = "num_devices", .kind = GANTRY_ATTR_INT, .i = (int64_t)call->sum_count},
        {.name = "shared_name", .kind = GANTRY_ATTR_STRING, .s = "all_reduce"}};
    for (size_t r = 0; r < call->sum_count; ++r) {
        size_t count = 1;
        tensor *sum = NULL;
        gantry_scope_t *scope = begin_on(call, r);
        if (!scope) return;
        (void)gantry_scope_name_next(scope, "all_reduce");
        (void)gantry_op_call(scope, "NcclAllReduce", &values[r], 1, attrs, 3, &sum, &count);
        sums[r] = gantry__train_end(call->scope, scope, sum);
        if (!sums[r]) return;
    }
    hold_together(call, sums);
}

/* ---- the choice ---- */

void gantry__all_reduce(const gantry__all_reduce_t *call, tensor *const *values, tensor **sums) {
    for (size_t r = 0; r < call->sum_count; ++r) sums[r] = NULL;
    for (size_t r = 0; r < call->value_count; ++r) {
        if (!values[r]) return;
    }
    const int64_t bytes = gantry_tensor_elements(values[0]) *
                          (int64_t)gantry_dtype_size(gantry_tensor_dtype(values[0]));
    if (call->has_nccl && call->value_count == call->sum_count &&
        gantry__train_is_float(gantry_tensor_dtype(values[0])))
        reduce_by_nccl(call, values, sums);
    else if (call->value_count <= 2 || bytes <= MOST_WHOLE_BYTES)
        reduce_whole(call, values, sums);
    else
        reduce_parts(call, values, sums);
    if (!all_reduce_has_failed(call)) return;
    for (size_t r = 0; r < call->sum_count; ++r) sums[r] = NULL;
}
