/* SPDX-License-Identifier: Apache-2.0 */
/* Jacobians, a gradient for each element of the target:
 *
 *     target [2]      [1, 0] ── backward pass ── row 0 ─┐
 *                     [0, 1] ── backward pass ── row 1 ─┴─ joined, in target's and source's shape
 *
 * Of a batch, whose samples do not mix, a pass serves all samples at once: it begins with 1 at the
 * same element of each. The passes run in a scope of their own, which frees what they leave. */
#include "train/base/fail.h"
#include "train/base/fp_mode.h"
#include "train/base/inner_scope.h"
#include "train/base/join_vectors.h"
#include "shared/memory.h"
#include "train/tape/tape_state.h"

typedef const gantry_tensor_t tensor;

typedef struct jacobian_t {
    gantry_tape_t *tape;
    gantry_scope_t *scope, *outer; /* of the passes; the tape's */
    tensor *target;
    const gantry_source_t *sources;
    size_t source_count;
    const gantry_gradient_options_t *options;
    const char *call;
    int64_t samples, passes; /* samples 0: no batch */
    tensor **rows;           /* of each source, passes of them */
    tensor **gradients;      /* of one pass, by source */
    bool was_persistent;
} jacobian_t;

/* ---- one pass ---- */

/* 1 at element `at`, of each sample in a batch. */
static tensor *seed_of(const jacobian_t *j, int64_t at) {
    gantry_scope_t *s = j->scope;
    const gantry_dtype_t dtype = gantry_tensor_dtype(j->target);
    gantry_shape_t shape = *gantry_tensor_shape(j->target), one = shape;
    tensor *seed = gantry_one_hot(s, gantry_scalar_i32(s, (int32_t)at), (int32_t)j->passes,
                                  gantry__train_constant(s, dtype, 1),
                                  gantry__train_constant(s, dtype, 0), -1);
    if (j->samples == 0) return gantry_reshape(s, seed, shape);
    one.dims[0] = 1;
    return gantry_broadcast_to(s, gantry_reshape(s, seed, one), shape);
}

/* A row is a vector; of a batch [samples, elements of a sample]. */
static tensor *row_of(const jacobian_t *j, tensor *gradient) {
    return gantry_reshape(j->scope, gradient,
                          j->samples == 0 ? GANTRY_SHAPE(-1) : GANTRY_SHAPE(j->samples, 1, -1));
}

static gantry_status_t jacobian_run_pass(jacobian_t *j, int64_t at) {
    GANTRY__TRY(gantry__tape_gradient_as(j->tape, j->target, seed_of(j, at), j->sources,
                                         j->source_count, j->options, j->gradients, j->call));
    for (size_t i = 0; i < j->source_count; ++i)
        j->rows[i * (size_t)j->passes + (size_t)at] =
            j->gradients[i] ? row_of(j, j->gradients[i]) : NULL;
    return gantry_scope_status(j->scope);
}

/* ---- results ---- */

static bool add_dims(gantry_shape_t *shape, const gantry_shape_t *more, int32_t from) {
    for (int32_t d = from; d < more->rank; ++d) {
        if (shape->rank == GANTRY_MAX_RANK) return false;
        shape->dims[shape->rank++] = more->dims[d];
    }
    return true;
}

static const gantry_shape_t *shape_of_source(const gantry_source_t *source) {
    return source->tensor ? gantry_tensor_shape(source->tensor)
                          : gantry_variable_shape(source->variable);
}

static gantry_shape_t shape_of_result(const jacobian_t *j, size_t i) {
    gantry_shape_t shape = *gantry_tensor_shape(j->target);
    (void)add_dims(&shape, shape_of_source(&j->sources[i]), j->samples > 0);
    return shape;
}

/* Joins the rows of a batch after the samples: pieces of at most as many inputs as an op takes,
 * then the pieces. */
static tensor *join_samples(gantry_scope_t *scope, tensor **list, size_t count) {
    const size_t most = GANTRY_MAX_OP_INPUTS - 1; /* the axis is an input, too */
    while (count > 1) {
        size_t made = 0;
        for (size_t i = 0; i < count; i += most) {
            const size_t some = count - i < most ? count - i : most;
            list[made++] = some > 1 ? gantry_concat(scope, list + i, some, 1) : list[i];
        }
        count = made;
    }
    return list[0];
}

/* NULL: the target does not depend on the source. */
static tensor *join_rows(const jacobian_t *j, size_t i) {
    tensor **rows = j->rows + i * (size_t)j->passes;
    gantry_scope_t *s = j->scope;
    const gantry_shape_t shape = shape_of_result(j, i);
    if (j->passes > 0 && !rows[0]) return NULL;
    if (j->passes == 0) return gantry_zeros(s, gantry_tensor_dtype(j->target), shape);
    tensor *joined = j->samples == 0 ? gantry__join_vectors(s, rows, (size_t)j->passes)
                                     : join_samples(s, rows, (size_t)j->passes);
    return gantry_reshape(s, joined, shape);
}

static gantry_status_t run_passes(jacobian_t *j, tensor **out_jacobians) {
    for (int64_t at = 0; at < j->passes; ++at) GANTRY__TRY(jacobian_run_pass(j, at));
    for (size_t i = 0; i < j->source_count; ++i) {
        tensor *joined = join_rows(j, i);
        if (joined) out_jacobians[i] = gantry_scope_keep(j->scope, joined);
    }
    return gantry_scope_status(j->scope);
}

/* ---- checks ---- */

static gantry_status_t jacobian_check_result(const jacobian_t *j, size_t i) {
    gantry_shape_t shape = *gantry_tensor_shape(j->target);
    const gantry_shape_t *source = shape_of_source(&j->sources[i]);
    char text[256], wanted[256];
    (void)gantry_shape_format(source, text, sizeof text);
    (void)gantry_shape_format(&shape, wanted, sizeof wanted);
    if (gantry_shape_elements(source) < 0)
        return gantry__train_fail(
            GANTRY_UNIMPLEMENTED,
            "%s: source %zu has shape %s; sizes that do not depend on data are accepted", j->call,
            i, text);
    if (j->samples > 0 && (source->rank == 0 || source->dims[0] != j->samples))
        return gantry__train_refuse(
            NULL,
            "%s: the source has shape %s, the target %s; the same first dimension is accepted",
            j->call, text, wanted);
    if (add_dims(&shape, source, j->samples > 0)) return GANTRY_OK;
    return gantry__train_refuse(
        NULL,
        "%s: the target has shape %s, source %zu %s; %d dimensions of both together are accepted",
        j->call, wanted, i, text, GANTRY_MAX_RANK);
}

static gantry_status_t jacobian_check_target(jacobian_t *j, bool is_batch) {
    const gantry_shape_t *shape = gantry_tensor_shape(j->target);
    const int64_t elements = gantry_shape_elements(shape);
    char text[256];
    (void)gantry_shape_format(shape, text, sizeof text);
    if (elements < 0)
        return gantry__train_fail(
            GANTRY_UNIMPLEMENTED,
            "%s: the target has shape %s; sizes that do not depend on data are accepted", j->call,
            text);
    if (is_batch && (shape->rank == 0 || shape->dims[0] == 0))
        return gantry__train_refuse(
            NULL,
            "%s: the target has shape %s; a first dimension of samples, 1 and more, is accepted",
            j->call, text);
    if (elements > INT32_MAX)
        return gantry__train_refuse(
            NULL, "%s: the target has shape %s; fewer than 2^31 elements are accepted", j->call,
            text);
    j->samples = is_batch ? shape->dims[0] : 0;
    j->passes = is_batch ? elements / j->samples : elements;
    return GANTRY_OK;
}

static gantry_status_t jacobian_check_sources(const jacobian_t *j) {
    for (size_t i = 0; i < j->source_count; ++i) {
        const gantry_source_t *source = &j->sources[i];
        if (!source->tensor == !source->variable)
            return gantry__train_refuse(
                NULL, "%s: source %zu has %s; a tensor or a variable is accepted", j->call, i,
                source->tensor ? "both a tensor and a variable" : "neither tensor nor variable");
        GANTRY__TRY(jacobian_check_result(j, i));
    }
    return GANTRY_OK;
}

/* ---- the public calls ---- */

static gantry_status_t allocate_rows(jacobian_t *j) {
    j->rows = gantry__alloc(j->source_count * (size_t)j->passes + 1, sizeof *j->rows);
    j->gradients = gantry__alloc(j->source_count + 1, sizeof *j->gradients);
    j->scope = gantry__train_begin(j->outer, j->call);
    if (!j->scope) return gantry_scope_status(j->outer);
    return j->rows && j->gradients ? GANTRY_OK : GANTRY_RESOURCE_EXHAUSTED;
}

/* The tape lends its scope, and what it recorded to several gradients. */
static gantry_status_t jacobian_compute(jacobian_t *j, tensor **out_jacobians) {
    gantry_tape_t *tape = j->tape;
    gantry_status_t status = allocate_rows(j);
    gantry__tape_enter(tape);
    if (status == GANTRY_OK) {
        tape->scope = j->scope;
        tape->is_persistent = true;
        status = gantry__train_hand_on(j->scope, run_passes(j, out_jacobians));
        tape->scope = j->outer;
        tape->is_persistent = j->was_persistent;
        if (!tape->is_persistent) gantry__tape_spend(tape);
    }
    gantry__tape_leave(tape);
    if (j->scope) (void)gantry__train_end(j->outer, j->scope, NULL);
    gantry__free((void *)j->rows);
    gantry__free((void *)j->gradients);
    for (size_t i = 0; i < j->source_count && status != GANTRY_OK; ++i) out_jacobians[i] = NULL;
    return gantry__train_hand_on(j->outer, status);
}

static gantry_status_t jacobian_check_call(jacobian_t *j, bool is_batch, tensor **out_jacobians) {
    static const char what[] = "a tensor is accepted";
    GANTRY__TRY(gantry__tape_check(j->tape, j->call));
    j->outer = j->tape->scope;
    j->was_persistent = j->tape->is_persistent;
    gantry_status_t status = GANTRY_OK;
    if (!j->target)
        status = gantry__train_refuse(NULL, "%s: the target is NULL; %s", j->call, what);
    else if (j->source_count > 0 && (!j->sources || !out_jacobians))
        status = gantry__train_refuse(NULL, "%s: %s is NULL; an array of %zu is accepted", j->call,
                                      j->sources ? "out_jacobians" : "sources", j->source_count);
    if (status == GANTRY_OK) status = jacobian_check_target(j, is_batch);
    if (status == GANTRY_OK) status = jacobian_check_sources(j);
    return gantry__train_hand_on(j->outer, status);
}

gantry_status_t gantry_tape_jacobian(gantry_tape_t *tape, tensor *target,
                                     const gantry_source_t *sources, size_t source_count,
                                     const gantry_gradient_options_t *options,
                                     tensor **out_jacobians) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    jacobian_t j = {.tape = tape,
                    .target = target,
                    .sources = sources,
                    .source_count = source_count,
                    .options = options,
                    .call = "gantry_tape_jacobian"};
    for (size_t i = 0; out_jacobians && i < source_count; ++i) out_jacobians[i] = NULL;
    GANTRY__TRY(jacobian_check_call(&j, false, out_jacobians));
    return jacobian_compute(&j, out_jacobians);
}

tensor *gantry_tape_batch_jacobian(gantry_tape_t *tape, tensor *target, tensor *source) {
    GANTRY__TRAIN_OWN_FP_MODE(fp);
    static const gantry_gradient_options_t zeros = {.zeros_where_unconnected = true};
    const gantry_source_t sources = {.tensor = source};
    tensor *out = NULL;
    if (tape && !source)
        return gantry__train_refuse_pointer(
            tape->scope, "gantry_tape_batch_jacobian: the source is NULL; a tensor is accepted");
    jacobian_t j = {.tape = tape,
                    .target = target,
                    .sources = &sources,
                    .source_count = 1,
                    .options = &zeros,
                    .call = "gantry_tape_batch_jacobian"};
    if (jacobian_check_call(&j, true, &out) == GANTRY_OK) (void)jacobian_compute(&j, &out);
    return out;
}
