/* SPDX-License-Identifier: Apache-2.0 */
/* Scatters whose body joins updates to the elements that indices name: ((x o u0) o u1) o ..., in
 * the order of the updates, as the library's own scatters have it. So the body need be neither
 * associative nor commutative.
 *
 * Operands become [places][width], updates [updates][width], and indices the number of a place for
 * each update, by a gather from the numbers of all places, which refuses or drops bad ones. Sorted
 * by their places, stably, the updates of a place are neighbours:
 *
 *       place    3 1 3 0 3            sorted   0 1 3 3 3        first  0 1 - 2    by place
 *       update   a b c d e            order    d b a c e        size   1 1 0 3
 *
 * A loop then joins, in step k, the k-th update of each place that has so many. Its lanes are the
 * places or, where these are more, the updates, of which only the first one of each place is used.
 * A lane that has no k-th update repeats the join of the lane that has the most, so that the body
 * only sees elements that are joined, and drops the result.
 *
 * Cost: a sort, and steps on all lanes as many as the most updates of one place. */
#include <gantry/ops.h>

#include <string.h>

#include "base/fp_mode.h"
#include "function/join/join.h"
#include "run/call_op.h"
#include "run/trace_hooks.h"
#include "shared/struct_size.h"

typedef const gantry_tensor_t tensor;

/* The variables of the loop, all of one number for each lane but for the first three: the step, the
 * most updates of a lane, the lane that has them, the first update of each lane, the number of
 * updates, and the lane itself. After them come operands and updates. */
enum { STEP, MOST, FULLEST, FIRST, SIZE, LANE, COUNTERS };

/* What the loop's bodies get; an observer of the trace may run them again. */
typedef struct scatter_loop_t {
    gantry__trace_kept_t kept;
    const gantry__heap_t *heap; /* of the object; NULL: it is on the stack */
    gantry__join_t join;
} scatter_loop_t;

typedef struct join_scatter_t {
    gantry__join_t join;
    tensor *indices;
    bool names_elements; /* along axis; else rows of indices */
    int32_t axis;
    int64_t depth;                  /* of rows */
    int64_t places, width, updates; /* -1: depends on data */
    const char *policy;
    bool drops;           /* bad indices */
    gantry_dtype_t dtype; /* of the numbers of places */
} join_scatter_t;

/* ---- the loop ---- */

static void scatter_goes_on(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                            void *user) {
    (void)user;
    outputs[0] = gantry_less(scope, inputs[STEP], inputs[MOST]);
}

static void scatter_step(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                         void *user) {
    gantry__join_t join = ((const scatter_loop_t *)user)->join;
    const uint32_t count = join.count;
    tensor *const *x = inputs + COUNTERS, *const *updates = x + count;
    tensor *is_used = gantry_less(scope, inputs[STEP], inputs[SIZE]);
    tensor *first = gantry_select(scope, is_used, inputs[FIRST],
                                  gantry_gather(scope, inputs[FIRST], inputs[FULLEST], 0));
    tensor *at = gantry_add(scope, first, inputs[STEP]);
    tensor *lane = gantry_select(scope, is_used, inputs[LANE], inputs[FULLEST]);
    tensor *mask = gantry_expand_dims(scope, is_used, 1);
    gantry__joined_t left, right, made;
    for (uint32_t i = 0; i < count; ++i) {
        left[i] = gantry_gather(scope, x[i], lane, 0);
        right[i] = gantry_gather(scope, updates[i], at, 0);
    }
    memcpy(outputs, inputs, (COUNTERS + 2 * (size_t)count) * sizeof *outputs);
    outputs[STEP] = gantry_add(scope, inputs[STEP], gantry_scalar_i32(scope, 1));
    if (gantry_scope_status(scope) != GANTRY_OK) return;
    join.outer = join.scope = scope;
    const gantry_status_t status = gantry__join_call(&join, left, right, made);
    if (status != GANTRY_OK) (void)gantry__scope_fail(scope, status);
    for (uint32_t i = 0; status == GANTRY_OK && i < count; ++i)
        outputs[COUNTERS + i] = gantry_select(scope, mask, made[i], x[i]);
}

static void scatter_release_loop(gantry__trace_kept_t *kept) {
    scatter_loop_t *loop = (scatter_loop_t *)kept;
    gantry__heap_free(loop->heap, loop, sizeof *loop);
}

/* Runs the loop on its variables, which become those of its end. */
static gantry_status_t scatter_run_loop(const join_scatter_t *scatter, tensor **values) {
    gantry_scope_t *scope = scatter->join.scope;
    const gantry__heap_t *heap = &scope->runtime->heap;
    scatter_loop_t here = {.join = scatter->join}, *loop = &here;
    if (scope->trace) {
        loop = gantry__heap_zalloc(heap, sizeof *loop);
        if (!loop) return GANTRY_RESOURCE_EXHAUSTED;
        *loop = (scatter_loop_t){
            .kept = {.release = scatter_release_loop}, .heap = heap, .join = scatter->join};
        gantry__trace_keep(scope, &loop->kept);
    }
    return gantry_while(scope, scatter_goes_on, scatter_step, loop, values,
                        COUNTERS + 2 * (size_t)scatter->join.count, NULL, values);
}

/* ---- places ---- */

/* 0, 1, ... below count or, where that is not known, below limit, a scalar of this type. */
static tensor *scatter_numbers(gantry_scope_t *scope, int64_t count, tensor *limit,
                               gantry_dtype_t dtype) {
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[3];
    for (uint32_t i = 0; i < 3; ++i) {
        const int64_t number = i == 1 ? count : i / 2;
        inputs[i] = dtype == GANTRY_INT32 ? gantry__add_host_i32(&extras, scope, (int32_t)number)
                                          : gantry__add_host_i64(&extras, scope, number);
    }
    if (count < 0) inputs[1] = limit;
    return gantry__call_op(scope, GANTRY__OP_ID_Range, inputs, 3, NULL, 0, &extras);
}

static tensor *scatter_all_places(const join_scatter_t *scatter, tensor *operand) {
    gantry_scope_t *scope = scatter->join.scope;
    const int64_t begin = 0, size = scatter->names_elements ? operand->shape.rank : scatter->depth;
    if (scatter->places >= 0) return scatter_numbers(scope, scatter->places, NULL, scatter->dtype);
    tensor *sizes =
        gantry_slice(scope, gantry_shape(scope, operand, scatter->dtype), &begin, &size);
    return scatter_numbers(scope, -1, gantry_prod(scope, sizes, NULL), scatter->dtype);
}

/* x in the shape that a tensor has, or its first `rank` dimensions. */
static tensor *scatter_shaped_as(const join_scatter_t *scatter, tensor *x, tensor *like,
                                 int32_t rank) {
    gantry_scope_t *scope = scatter->join.scope;
    gantry_shape_t shape = {.rank = rank > 0 ? rank : 1, .dims = {1}};
    bool is_open = false;
    for (int32_t d = 0; d < rank; ++d) {
        shape.dims[d] = like->shape.dims[d];
        is_open |= shape.dims[d] < 0;
    }
    if (!is_open) return gantry_reshape(scope, x, shape);
    const int64_t begin = 0, size = rank;
    size_t count = 1;
    tensor *sizes = gantry_slice(scope, gantry_shape(scope, like, GANTRY_INT64), &begin, &size),
           *made = NULL;
    (void)gantry_op_call(scope, "Reshape", (tensor *[]){x, sizes}, 2, NULL, 0, &made, &count);
    return made;
}

/* The number of the place that each update names: [updates]. -1: a bad index that is dropped. */
static tensor *scatter_places(const join_scatter_t *scatter, tensor *operand, tensor *numbers) {
    gantry_scope_t *scope = scatter->join.scope;
    const gantry_attr_value_t attrs[] = {gantry__attr_text("bad_indices_policy", scatter->policy),
                                         gantry__attr_int("axis", scatter->axis)};
    tensor *one = gantry_cast(scope, gantry_scalar_i32(scope, 1), scatter->dtype);
    if (scatter->drops) numbers = gantry_add(scope, numbers, one); /* a bad index gives 0 */
    tensor *inputs[] = {
        scatter_shaped_as(scatter, numbers, operand,
                          scatter->names_elements ? operand->shape.rank : (int32_t)scatter->depth),
        scatter->indices};
    tensor *places =
        scatter->names_elements
            ? gantry__call_op(scope, GANTRY__OP_ID_GatherElements, inputs, 2, attrs, 2, NULL)
            : gantry__call_op(scope, GANTRY__OP_ID_GatherNd, inputs, 2, attrs, 1, NULL);
    places = gantry_reshape(scope, places, GANTRY_SHAPE(-1));
    return scatter->drops ? gantry_sub(scope, places, one) : places;
}

static tensor *scatter_bound(gantry_scope_t *scope, tensor *sorted, tensor *values, bool is_upper) {
    tensor *row = gantry_expand_dims(scope, sorted, 0),
           *wanted = gantry_expand_dims(scope, values, 0);
    tensor *found =
        is_upper ? gantry_upper_bound(scope, row, wanted) : gantry_lower_bound(scope, row, wanted);
    return gantry_squeeze(scope, found, (const int32_t[]){0}, 1);
}

/* Sets the counters of the loop. numbers: of the places; NULL: lanes are updates. */
static void scatter_count(const join_scatter_t *scatter, tensor *sorted, tensor *numbers,
                          tensor **values) {
    gantry_scope_t *scope = scatter->join.scope;
    tensor *wanted = numbers ? numbers : sorted, *none = gantry_scalar_i32(scope, 0);
    values[FIRST] = scatter_bound(scope, sorted, wanted, false);
    values[SIZE] = gantry_sub(scope, scatter_bound(scope, sorted, wanted, true), values[FIRST]);
    const int64_t lanes = numbers ? scatter->places : scatter->updates;
    values[LANE] = scatter_numbers(
        scope, lanes, lanes < 0 ? gantry_size(scope, wanted, GANTRY_INT32) : NULL, GANTRY_INT32);
    if (!numbers) {
        tensor *is_first = gantry_equal(scope, values[FIRST], values[LANE]);
        tensor *zero = gantry_cast(scope, none, scatter->dtype);
        if (scatter->drops)
            is_first =
                gantry_logical_and(scope, is_first, gantry_greater_equal(scope, sorted, zero));
        values[SIZE] = gantry_select(scope, is_first, values[SIZE], none);
    }
    values[STEP] = none;
    values[MOST] = gantry_max(scope, values[SIZE], NULL);
    tensor *has_most = gantry_equal(scope, values[SIZE], values[MOST]);
    values[FULLEST] = gantry_max(scope, gantry_select(scope, has_most, values[LANE], none), NULL);
}

/* ---- checks ---- */

static int64_t scatter_product(const gantry_shape_t *shape, int64_t first, int64_t last) {
    int64_t product = 1;
    for (int64_t d = first; d < last; ++d) {
        product = shape->dims[d] < 0 || product < 0 ? -1 : product * shape->dims[d];
    }
    for (int64_t d = first; d < last; ++d)
        if (shape->dims[d] == 0) return 0;
    return product;
}

/* The shape of updates: that of indices, or of its rows with what each of them names. */
static gantry_status_t scatter_find_shape(const join_scatter_t *scatter, const gantry_shape_t *x,
                                          gantry_shape_t *out) {
    const gantry_shape_t *indices = &scatter->indices->shape;
    const int64_t outer = (int64_t)indices->rank - 1, rank = outer + x->rank - scatter->depth;
    *out = *indices;
    if (scatter->names_elements) return GANTRY_OK;
    if (rank > GANTRY_MAX_RANK)
        return gantry__refuse(
            "updates for indices of rank %d and operands of rank %d have rank "
            "%d; at most %d is accepted",
            indices->rank, x->rank, (int)rank, GANTRY_MAX_RANK);
    out->rank = (int32_t)rank;
    for (int64_t d = outer; d < rank; ++d) out->dims[d] = x->dims[d - outer + scatter->depth];
    return GANTRY_OK;
}

static gantry_status_t scatter_check_updates(const join_scatter_t *scatter, tensor *const *operands,
                                             tensor *const *updates) {
    gantry_shape_t shape;
    if (!updates) return gantry__refuse("the array of updates is NULL");
    GANTRY__TRY(scatter_find_shape(scatter, &operands[0]->shape, &shape));
    for (uint32_t i = 0; i < scatter->join.count; ++i) {
        GANTRY__TRY(gantry__join_check_tensor(&scatter->join, "update", i, updates[i]));
        bool fits = updates[i]->dtype == operands[i]->dtype && updates[i]->shape.rank == shape.rank;
        for (int32_t d = 0; fits && d < shape.rank; ++d)
            fits = updates[i]->shape.dims[d] == shape.dims[d] || shape.dims[d] < 0 ||
                   updates[i]->shape.dims[d] < 0;
        if (fits) continue;
        char got[GANTRY_MAX_RANK * 21 + 3], accepted[GANTRY_MAX_RANK * 21 + 3];
        (void)gantry_shape_format(&updates[i]->shape, got, sizeof got);
        (void)gantry_shape_format(&shape, accepted, sizeof accepted);
        return gantry__refuse("update %u is %s%s; %s%s is accepted, as indices and operand %u want",
                              i, gantry_dtype_name(updates[i]->dtype), got,
                              gantry_dtype_name(operands[i]->dtype), accepted, i);
    }
    return GANTRY_OK;
}

static gantry_status_t scatter_check_indices(join_scatter_t *scatter, const gantry_shape_t *x) {
    tensor *indices = scatter->indices;
    GANTRY__TRY(gantry__join_check_tensor(&scatter->join, "indices", 0, indices));
    const gantry_shape_t *shape = &indices->shape;
    if (indices->dtype != GANTRY_INT32 && indices->dtype != GANTRY_INT64)
        return gantry__refuse("indices are %s; int32 and int64 are accepted",
                              gantry_dtype_name(indices->dtype));
    if (scatter->names_elements) return GANTRY_OK; /* GatherElements checks the others */
    if (shape->rank < 1)
        return gantry__refuse(
            "indices have rank 0; a rank of at least 1 is accepted, whose last "
            "dimension is a row");
    scatter->depth = shape->dims[shape->rank - 1];
    if (scatter->depth < 0 || scatter->depth > x->rank)
        return gantry__refuse(
            "indices have rows of %lld numbers; 0 to %d are accepted, the rank "
            "of the operands",
            (long long)scatter->depth, x->rank);
    return GANTRY_OK;
}

static gantry_status_t scatter_measure(join_scatter_t *scatter, const gantry_shape_t *x) {
    const gantry_shape_t *indices = &scatter->indices->shape;
    const int64_t split = scatter->names_elements ? x->rank : scatter->depth;
    scatter->places = scatter_product(x, 0, split);
    scatter->width = scatter_product(x, split, x->rank);
    scatter->updates =
        scatter_product(indices, 0, scatter->names_elements ? indices->rank : indices->rank - 1);
    scatter->dtype =
        scatter->places >= 0 && scatter->places < INT32_MAX ? GANTRY_INT32 : GANTRY_INT64;
    if (scatter->width >= 0 || (scatter->places >= 0 && scatter->updates >= 0)) return GANTRY_OK;
    return gantry__fail(GANTRY_UNIMPLEMENTED,
                        "sizes of places or updates, and of what a row of indices names, depend on "
                        "data; only one of these kinds is accepted");
}

/* ---- the call ---- */

/* Lanes of updates, as their places: the first of each place is written, in x. */
static tensor *scatter_write(const join_scatter_t *scatter, tensor *x, tensor *sorted,
                             tensor *const *values, tensor *lanes) {
    gantry_scope_t *scope = scatter->join.scope;
    const gantry_attr_value_t ignore = gantry__attr_text("bad_indices_policy", "IGNORE");
    tensor *is_used = gantry_greater(scope, values[SIZE], gantry_scalar_i32(scope, 0));
    tensor *none = gantry_cast(scope, gantry_scalar_i32(scope, -1), scatter->dtype);
    tensor *rows = gantry_expand_dims(scope, gantry_select(scope, is_used, sorted, none), 1);
    return gantry__call_op(scope, GANTRY__OP_ID_TensorScatterUpdate, (tensor *[]){x, rows, lanes},
                           3, &ignore, 1, NULL);
}

static gantry_status_t scatter_all(const join_scatter_t *scatter, tensor *const *operands,
                                   tensor *const *updates, tensor **out) {
    gantry_scope_t *scope = scatter->join.scope;
    const uint32_t count = scatter->join.count;
    const bool by_place =
        scatter->places >= 0 && (scatter->updates < 0 || scatter->places <= scatter->updates);
    tensor *values[COUNTERS + 2 * GANTRY_MAX_JOINED], **x = values + COUNTERS;
    tensor *numbers = scatter_all_places(scatter, operands[0]);
    tensor *places = scatter_places(scatter, operands[0], numbers);
    tensor *order = gantry_argsort(scope, places, 0, false);
    tensor *sorted = gantry_gather(scope, places, order, 0);
    tensor *from =
        by_place || !scatter->drops
            ? sorted
            : gantry_maximum(scope, sorted,
                             gantry_cast(scope, gantry_scalar_i32(scope, 0), scatter->dtype));
    scatter_count(scatter, sorted, by_place ? numbers : NULL, values);
    for (uint32_t i = 0; i < count; ++i) {
        out[i] = gantry_reshape(scope, operands[i], GANTRY_SHAPE(scatter->places, scatter->width));
        x[i] = by_place ? out[i] : gantry_gather(scope, out[i], from, 0);
        tensor *rows =
            gantry_reshape(scope, updates[i], GANTRY_SHAPE(scatter->updates, scatter->width));
        x[count + i] = gantry_gather(scope, rows, order, 0);
        gantry_tensor_drop(scope, rows);
    }
    GANTRY__TRY(gantry__join_status(&scatter->join));
    GANTRY__TRY(scatter_run_loop(scatter, values));
    for (uint32_t i = 0; i < count; ++i) {
        tensor *made = by_place ? x[i] : scatter_write(scatter, out[i], sorted, values, x[i]);
        out[i] =
            made ? scatter_shaped_as(scatter, made, operands[i], operands[i]->shape.rank) : NULL;
    }
    return gantry__join_status(&scatter->join);
}

static gantry_status_t scatter_joined_by(join_scatter_t *scatter, tensor *const *operands,
                                         tensor *const *updates,
                                         const gantry_scatter_body_options_t *given, tensor **out) {
    gantry_scatter_body_options_t options;
    GANTRY__TRY(gantry__struct_read(given, 0, &options, sizeof options, "options"));
    GANTRY__TRY(gantry__join_begin(&scatter->join, operands));
    GANTRY__TRY(scatter_check_indices(scatter, &operands[0]->shape));
    GANTRY__TRY(scatter_check_updates(scatter, operands, updates));
    GANTRY__TRY(scatter_measure(scatter, &operands[0]->shape));
    scatter->policy = options.bad_indices_policy ? options.bad_indices_policy : "";
    scatter->drops = strcmp(scatter->policy, "IGNORE") == 0;
    memcpy(out, operands, scatter->join.count * sizeof *out);
    if (scatter->updates == 0 || scatter->width == 0 || (scatter->drops && scatter->places == 0))
        return GANTRY_OK;
    return scatter_all(scatter, operands, updates, out);
}

static gantry_status_t scatter_call(join_scatter_t *scatter, size_t count, tensor *const *operands,
                                    tensor *const *updates,
                                    const gantry_scatter_body_options_t *options,
                                    tensor **outputs) {
    gantry__joined_t x;
    scatter->join.count = count < UINT32_MAX ? (uint32_t)count : UINT32_MAX;
    const gantry_status_t status = scatter_joined_by(scatter, operands, updates, options, x);
    return gantry__join_end(&scatter->join, status, x, outputs);
}

gantry_status_t gantry_scatter_with_body(gantry_scope_t *scope, tensor *const *operands,
                                         tensor *indices, tensor *const *updates, size_t count,
                                         gantry_function_body_fn body, void *user,
                                         const gantry_scatter_body_options_t *options,
                                         tensor **outputs) {
    GANTRY__OWN_FP_MODE(fp);
    join_scatter_t scatter = {
        .join = {.name = "gantry_scatter_with_body", .outer = scope, .body = body, .user = user},
        .indices = indices};
    return scatter_call(&scatter, count, operands, updates, options, outputs);
}

gantry_status_t gantry_scatter_elements_with_body(gantry_scope_t *scope, tensor *const *operands,
                                                  tensor *indices, tensor *const *updates,
                                                  size_t count, int32_t axis,
                                                  gantry_function_body_fn body, void *user,
                                                  const gantry_scatter_body_options_t *options,
                                                  tensor **outputs) {
    GANTRY__OWN_FP_MODE(fp);
    join_scatter_t scatter = {.join = {.name = "gantry_scatter_elements_with_body",
                                       .outer = scope,
                                       .body = body,
                                       .user = user},
                              .indices = indices,
                              .names_elements = true,
                              .axis = axis};
    return scatter_call(&scatter, count, operands, updates, options, outputs);
}
