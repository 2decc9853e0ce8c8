/* SPDX-License-Identifier: Apache-2.0 */
/* Scatters whose body joins updates to the elements that indices name: ((x o u0) o u1) o ..., in
 * the order of the updates, as the library's own scatters have it. So the body need be neither
 * associative nor commutative.
 *
 * Operands become [places][width], updates [updates][width], and indices the number of a place for
 * each update. Sorted by their places, stably, the updates of a place are neighbours:
 *
 *       place    3 1 3 0 3            sorted   0 1 3 3 3        size   1 1 0 3   of each place
 *       update   a b c d e            order    d b a c e        first  0 1 2 2
 *
 * A loop then joins, in step k, the k-th update of each place that has so many. Its lanes are the
 * places or, where these are more, the sorted updates, of which only the first of each place is
 * used. A lane that has no k-th update repeats the join of the lane that has the most, so that the
 * body only sees elements that are joined, and drops the result.
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
    tensor *end;          /* how many places there are, a scalar */
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

/* -1 if a size is open. */
static int64_t scatter_product(const gantry_shape_t *shape, int64_t first, int64_t last) {
    int64_t product = 1;
    for (int64_t d = first; d < last; ++d) {
        product = shape->dims[d] < 0 || product < 0 ? -1 : product * shape->dims[d];
    }
    for (int64_t d = first; d < last; ++d)
        if (shape->dims[d] == 0) return 0;
    return product;
}

/* A scalar of the type of places. */
static tensor *scatter_scalar(const join_scatter_t *scatter, int64_t value) {
    gantry_scope_t *scope = scatter->join.scope;
    return scatter->dtype == GANTRY_INT32 ? gantry_scalar_i32(scope, (int32_t)value)
                                          : gantry_scalar_i64(scope, value);
}

/* Size d of x, or the product of the sizes first to last - 1, as such a scalar. */
static tensor *scatter_size(const join_scatter_t *scatter, tensor *x, int64_t first, int64_t last) {
    gantry_scope_t *scope = scatter->join.scope;
    const int64_t known = scatter_product(&x->shape, first, last), count = last - first;
    if (known >= 0) return scatter_scalar(scatter, known);
    tensor *sizes = gantry_slice(scope, gantry_shape(scope, x, scatter->dtype), &first, &count);
    return gantry_prod(scope, sizes, NULL);
}

/* 0, 1, ... below size d of x, or below the product of the sizes first to last - 1. */
static tensor *scatter_numbers(const join_scatter_t *scatter, tensor *x, int64_t first,
                               int64_t last) {
    gantry_scope_t *scope = scatter->join.scope;
    const int64_t known = scatter_product(&x->shape, first, last);
    gantry__extras_t extras = {.count = 0};
    tensor *inputs[3];
    for (uint32_t i = 0; i < 3; ++i) {
        const int64_t number = i == 1 ? known : i / 2;
        inputs[i] = scatter->dtype == GANTRY_INT32
                        ? gantry__add_host_i32(&extras, scope, (int32_t)number)
                        : gantry__add_host_i64(&extras, scope, number);
    }
    if (known < 0) inputs[1] = scatter_size(scatter, x, first, last);
    return gantry__call_op(scope, GANTRY__OP_ID_Range, inputs, 3, NULL, 0, &extras);
}

/* Coordinate d of what each update names, in a shape that broadcasts with the others'. A bad index
 * of an element fails here; one of a row does where updates are counted. */
static tensor *scatter_coordinate(const join_scatter_t *scatter, tensor *operand, int64_t d) {
    gantry_scope_t *scope = scatter->join.scope;
    tensor *indices = scatter->indices;
    if (!scatter->names_elements && scatter->depth == 1)
        return gantry_reshape(scope, indices, GANTRY_SHAPE(-1));
    if (!scatter->names_elements)
        return gantry_gather(scope, indices, gantry_scalar_i32(scope, (int32_t)d),
                             indices->shape.rank - 1);
    if (d == scatter->axis) {
        if (scatter->drops) return indices;
        return gantry_gather(scope, scatter_numbers(scatter, operand, d, d + 1), indices, 0);
    }
    tensor *numbers = scatter_numbers(scatter, indices, d, d + 1);
    if (operand->shape.dims[d] < 0 || indices->shape.dims[d] < 0) /* more than operands: fails */
        numbers = gantry_gather(scope, scatter_numbers(scatter, operand, d, d + 1), numbers, 0);
    gantry_shape_t column = {.rank = indices->shape.rank};
    for (int32_t k = 0; k < column.rank; ++k) column.dims[k] = k == d ? -1 : 1;
    return gantry_reshape(scope, numbers, column);
}

/* The number of the place that each update names: [updates]. A bad index that is dropped gets the
 * number of places. */
static tensor *scatter_places(const join_scatter_t *scatter, tensor *operand, int64_t split) {
    gantry_scope_t *scope = scatter->join.scope;
    tensor *places = NULL, *good = NULL;
    for (int64_t d = 0; d < split; ++d) {
        tensor *size = scatter_size(scatter, operand, d, d + 1);
        tensor *at = scatter_coordinate(scatter, operand, d);
        places = places ? gantry_add(scope, gantry_mul(scope, places, size), at) : at;
        if (!scatter->drops || (scatter->names_elements && d != scatter->axis)) continue;
        tensor *is_good =
            gantry_logical_and(scope, gantry_greater_equal(scope, at, scatter_scalar(scatter, 0)),
                               gantry_less(scope, at, size));
        good = good ? gantry_logical_and(scope, good, is_good) : is_good;
    }
    const gantry_reduce_options_t last = {
        .struct_size = sizeof last, .axes = (const int32_t[]){-1}, .axis_count = 1};
    if (!places) places = gantry_sum(scope, scatter->indices, &last); /* rows of no number: 0 */
    if (good) places = gantry_select(scope, good, places, scatter_size(scatter, operand, 0, split));
    return gantry_reshape(scope, places, GANTRY_SHAPE(-1));
}

/* x in the shape that a tensor has, or its first `rank` dimensions. */
static tensor *scatter_shaped_as(const join_scatter_t *scatter, tensor *x, tensor *like,
                                 int32_t rank) {
    gantry_scope_t *scope = scatter->join.scope;
    gantry_shape_t shape = {.rank = rank};
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

/* How many updates each place has: int32 [places]. Rows that fail for a bad index name places
 * themselves, so that it fails here. */
static tensor *scatter_counts(const join_scatter_t *scatter, tensor *operand, tensor *places,
                              int64_t split) {
    gantry_scope_t *scope = scatter->join.scope;
    const bool names = !scatter->names_elements && !scatter->drops && split > 0;
    const gantry_attr_value_t policy =
        gantry__attr_text("bad_indices_policy", names ? scatter->policy : "IGNORE");
    tensor *none =
        scatter->places >= 0
            ? gantry_zeros(scope, GANTRY_INT32, GANTRY_SHAPE(scatter->places))
            : gantry_cast(scope,
                          gantry_zeros_like(scope, scatter_numbers(scatter, operand, 0, split)),
                          GANTRY_INT32);
    tensor *ones = gantry_cast(scope, gantry_ones_like(scope, places), GANTRY_INT32);
    tensor *inputs[] = {names ? scatter_shaped_as(scatter, none, operand, (int32_t)split) : none,
                        names ? gantry_reshape(scope, scatter->indices, GANTRY_SHAPE(-1, split))
                              : gantry_expand_dims(scope, places, 1),
                        ones};
    tensor *made =
        gantry__call_op(scope, GANTRY__OP_ID_TensorScatterAdd, inputs, 3, &policy, 1, NULL);
    return gantry_reshape(scope, made, GANTRY_SHAPE(-1));
}

/* Places, of which those of dropped updates become the last one. */
static tensor *scatter_good(const join_scatter_t *scatter, tensor *places) {
    gantry_scope_t *scope = scatter->join.scope;
    if (!scatter->drops) return places;
    return gantry_minimum(scope, places,
                          gantry_sub(scope, scatter->end, scatter_scalar(scatter, 1)));
}

/* Sets the counters of the loop, whose lanes are places, or else updates. */
static void scatter_count(const join_scatter_t *scatter, tensor *counts, tensor *sorted,
                          bool by_place, tensor **values) {
    gantry_scope_t *scope = scatter->join.scope;
    tensor *none = gantry_scalar_i32(scope, 0), *one = gantry_scalar_i32(scope, 1);
    const gantry_scan_options_t before = {.struct_size = sizeof before, .exclusive = true};
    tensor *like = by_place ? counts : sorted;
    values[LANE] = gantry_cast(scope, scatter_numbers(scatter, like, 0, 1), GANTRY_INT32);
    values[STEP] = none;
    if (by_place) {
        values[FIRST] = gantry_cumsum(scope, counts, 0, &before);
        values[SIZE] = counts;
    } else {
        tensor *left = gantry_maximum(scope, gantry_sub(scope, values[LANE], one), none);
        tensor *is_first = gantry_logical_or(
            scope, gantry_equal(scope, values[LANE], none),
            gantry_not_equal(scope, sorted, gantry_gather(scope, sorted, left, 0)));
        tensor *size = gantry_gather(scope, counts, scatter_good(scatter, sorted), 0);
        if (scatter->drops)
            is_first =
                gantry_logical_and(scope, is_first, gantry_less(scope, sorted, scatter->end));
        values[FIRST] = values[LANE];
        values[SIZE] = gantry_select(scope, is_first, size, none);
    }
    values[MOST] = gantry_max(scope, values[SIZE], NULL);
    tensor *has_most = gantry_equal(scope, values[SIZE], values[MOST]);
    values[FULLEST] = gantry_max(scope, gantry_select(scope, has_most, values[LANE], none), NULL);
}

/* ---- checks ---- */

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

/* Sizes of updates that are open, or are compared with open ones, are compared in each call. */
static gantry_status_t scatter_wait_for_updates(const join_scatter_t *scatter, tensor *operand,
                                                tensor *const *updates) {
    gantry_scope_t *scope = scatter->join.scope;
    tensor *indices = scatter->indices;
    const int64_t starts[] = {0, scatter->depth}, outer = indices->shape.rank - 1, rest = -1;
    for (uint32_t i = 0; i < scatter->join.count; ++i) {
        if (updates[i]->elements >= 0 && indices->elements >= 0 &&
            (scatter->names_elements || operand->elements >= 0))
            continue;
        tensor *sizes = gantry_shape(scope, indices, GANTRY_INT64);
        if (!scatter->names_elements) {
            tensor *named = gantry_shape(scope, operand, GANTRY_INT64);
            sizes = gantry_concat(scope,
                                  (tensor *[]){gantry_slice(scope, sizes, &starts[0], &outer),
                                               gantry_slice(scope, named, &starts[1], &rest)},
                                  2, 0);
        }
        GANTRY__TRY(gantry__join_wait_for_sizes(&scatter->join, "update", i, updates[i], sizes));
    }
    return GANTRY_OK;
}

static gantry_status_t scatter_check_policy(const char *policy) {
    static const char *const accepted[] = {"", "DEFAULT", "ERROR", "IGNORE"};
    for (size_t i = 0; i < sizeof accepted / sizeof accepted[0]; ++i)
        if (strcmp(policy, accepted[i]) == 0) return GANTRY_OK;
    return gantry__refuse(
        "Bad indices policy '%s' is unknown; DEFAULT, ERROR and IGNORE are accepted", policy);
}

static gantry_status_t scatter_check_elements(join_scatter_t *scatter, const gantry_shape_t *x) {
    const gantry_shape_t *indices = &scatter->indices->shape;
    const int32_t rank = x->rank, axis = scatter->axis;
    char text[GANTRY_MAX_RANK * 21 + 3], accepted[GANTRY_MAX_RANK * 21 + 3];
    GANTRY__TRY(gantry__join_check_axis(axis, -1, rank));
    scatter->axis = axis < 0 ? axis + rank : axis;
    bool fits = indices->rank == rank;
    for (int32_t d = 0; fits && d < rank; ++d)
        fits = d == scatter->axis || indices->dims[d] <= x->dims[d] || x->dims[d] < 0;
    if (fits) return GANTRY_OK;
    (void)gantry_shape_format(indices, text, sizeof text);
    (void)gantry_shape_format(x, accepted, sizeof accepted);
    return gantry__refuse(
        "indices have shape %s; the rank of the operands' shape %s, and along "
        "axes other than %d at most its sizes, are accepted",
        text, accepted, scatter->axis);
}

static gantry_status_t scatter_check_indices(join_scatter_t *scatter, const gantry_shape_t *x) {
    tensor *indices = scatter->indices;
    GANTRY__TRY(gantry__join_check_tensor(&scatter->join, "indices", 0, indices));
    const gantry_shape_t *shape = &indices->shape;
    if (indices->dtype != GANTRY_INT32 && indices->dtype != GANTRY_INT64)
        return gantry__refuse("indices are %s; int32 and int64 are accepted",
                              gantry_dtype_name(indices->dtype));
    if (scatter->names_elements) return scatter_check_elements(scatter, x);
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

static void scatter_measure(join_scatter_t *scatter, const gantry_shape_t *x) {
    const gantry_shape_t *indices = &scatter->indices->shape;
    const int64_t split = scatter->names_elements ? x->rank : scatter->depth;
    scatter->places = scatter_product(x, 0, split);
    scatter->width = scatter_product(x, split, x->rank);
    scatter->updates =
        scatter_product(indices, 0, scatter->names_elements ? indices->rank : indices->rank - 1);
    const bool is_long = scatter->places < 0 || scatter->places >= INT32_MAX;
    scatter->dtype = is_long ? GANTRY_INT64 : scatter->indices->dtype;
}

/* ---- the call ---- */

/* x as [rows][width]: the first `split` sizes, and the others. */
static tensor *scatter_rows(const join_scatter_t *scatter, tensor *x, int64_t rows, int64_t split) {
    gantry_scope_t *scope = scatter->join.scope;
    const bool is_known = rows >= 0 && scatter->width >= 0;
    if (is_known || rows > 0 || scatter->width > 0)
        return gantry_reshape(scope, x, GANTRY_SHAPE(rows, scatter->width));
    tensor *const sizes[] = {scatter_size(scatter, x, 0, split),
                             scatter_size(scatter, x, split, x->shape.rank)};
    tensor *made = NULL;
    size_t count = 1;
    (void)gantry_op_call(scope, "Reshape", (tensor *[]){x, gantry_pack(scope, sizes, 2, 0)}, 2,
                         NULL, 0, &made, &count);
    return made;
}

/* Lanes of updates, the first of each place, take their places in x. */
static tensor *scatter_write(const join_scatter_t *scatter, tensor *x, tensor *sorted,
                             tensor *const *values, tensor *lanes) {
    gantry_scope_t *scope = scatter->join.scope;
    const gantry_attr_value_t ignore = gantry__attr_text("bad_indices_policy", "IGNORE");
    tensor *is_used = gantry_greater(scope, values[SIZE], gantry_scalar_i32(scope, 0));
    tensor *rows = gantry_select(scope, is_used, sorted, scatter_scalar(scatter, -1));
    tensor *inputs[] = {x, gantry_expand_dims(scope, rows, 1), lanes};
    return gantry__call_op(scope, GANTRY__OP_ID_TensorScatterUpdate, inputs, 3, &ignore, 1, NULL);
}

/* The places of the updates: as they are, and their order. */
static tensor *scatter_sort(join_scatter_t *scatter, tensor *operand, tensor **out_counts,
                            tensor **out_order) {
    gantry_scope_t *scope = scatter->join.scope;
    const int64_t split = scatter->names_elements ? operand->shape.rank : scatter->depth;
    tensor *places = scatter_places(scatter, operand, split);
    *out_counts = scatter_counts(scatter, operand, places, split);
    if (scatter->places >= 0 && scatter->places < INT32_MAX) {
        scatter->dtype = GANTRY_INT32; /* a shorter sort */
        places = gantry_cast(scope, places, GANTRY_INT32);
    }
    scatter->end = scatter_size(scatter, operand, 0, split);
    *out_order = gantry_argsort(scope, places, 0, false);
    return gantry_gather(scope, places, *out_order, 0);
}

static gantry_status_t scatter_all(join_scatter_t *scatter, tensor *const *operands,
                                   tensor *const *updates, tensor **out) {
    gantry_scope_t *scope = scatter->join.scope;
    const uint32_t count = scatter->join.count;
    const int64_t split = scatter->names_elements ? operands[0]->shape.rank : scatter->depth,
                  outer = updates[0]->shape.rank - (operands[0]->shape.rank - split);
    const bool by_place =
        scatter->places >= 0 && (scatter->updates < 0 || scatter->places <= scatter->updates);
    tensor *values[COUNTERS + 2 * GANTRY_MAX_JOINED], **x = values + COUNTERS, *counts, *order;
    scatter->indices = gantry_cast(scope, scatter->indices, scatter->dtype);
    GANTRY__TRY(gantry__join_status(&scatter->join));
    tensor *sorted = scatter_sort(scatter, operands[0], &counts, &order);
    GANTRY__TRY(gantry__join_status(&scatter->join));
    scatter_count(scatter, counts, sorted, by_place, values);
    for (uint32_t i = 0; i < count; ++i) {
        out[i] = scatter_rows(scatter, operands[i], scatter->places, split);
        x[i] = by_place ? out[i] : gantry_gather(scope, out[i], scatter_good(scatter, sorted), 0);
        tensor *rows = scatter_rows(scatter, updates[i], scatter->updates, outer);
        x[count + i] = gantry_gather(scope, rows, order, 0);
    }
    GANTRY__TRY(gantry__join_status(&scatter->join));
    GANTRY__TRY(scatter_run_loop(scatter, values));
    for (uint32_t i = 0; i < count; ++i) {
        tensor *made = by_place ? x[i] : scatter_write(scatter, out[i], sorted, values, x[i]);
        out[i] = scatter_shaped_as(scatter, made, operands[i], operands[i]->shape.rank);
    }
    return gantry__join_status(&scatter->join);
}

static gantry_status_t scatter_joined_by(join_scatter_t *scatter, tensor *const *operands,
                                         tensor *const *updates,
                                         const gantry_scatter_body_options_t *given, tensor **out) {
    gantry_scatter_body_options_t options;
    GANTRY__TRY(gantry__struct_read(given, 0, &options, sizeof options, "options"));
    GANTRY__TRY(gantry__join_begin(&scatter->join, operands));
    if (!updates) return gantry__refuse("the array of updates is NULL");
    GANTRY__TRY(scatter_check_indices(scatter, &operands[0]->shape));
    GANTRY__TRY(scatter_check_updates(scatter, operands, updates));
    scatter->policy = options.bad_indices_policy ? options.bad_indices_policy : "";
    GANTRY__TRY(scatter_check_policy(scatter->policy));
    scatter_measure(scatter, &operands[0]->shape);
    scatter->drops = strcmp(scatter->policy, "IGNORE") == 0;
    GANTRY__TRY(scatter_wait_for_updates(scatter, operands[0], updates));
    gantry__join_copy(&scatter->join, operands, out);
    if (scatter->updates == 0 || scatter->width == 0 || (scatter->drops && scatter->places == 0))
        return GANTRY_OK;
    return scatter_all(scatter, operands, updates, out);
}

static gantry_status_t scatter_call(join_scatter_t *scatter, tensor *const *operands,
                                    tensor *const *updates,
                                    const gantry_scatter_body_options_t *options) {
    gantry__joined_t x;
    const gantry_status_t status = scatter_joined_by(scatter, operands, updates, options, x);
    return gantry__join_end(&scatter->join, status, x);
}

gantry_status_t gantry_scatter_with_body(gantry_scope_t *scope, tensor *const *operands,
                                         tensor *indices, tensor *const *updates, size_t count,
                                         gantry_function_body_fn body, void *user,
                                         const gantry_scatter_body_options_t *options,
                                         tensor **outputs) {
    GANTRY__OWN_FP_MODE(fp);
    join_scatter_t scatter = {
        .join = gantry__join_of("gantry_scatter_with_body", scope, body, user, count, outputs),
        .indices = indices};
    return scatter_call(&scatter, operands, updates, options);
}

gantry_status_t gantry_scatter_elements_with_body(gantry_scope_t *scope, tensor *const *operands,
                                                  tensor *indices, tensor *const *updates,
                                                  size_t count, int32_t axis,
                                                  gantry_function_body_fn body, void *user,
                                                  const gantry_scatter_body_options_t *options,
                                                  tensor **outputs) {
    GANTRY__OWN_FP_MODE(fp);
    join_scatter_t scatter = {.join = gantry__join_of("gantry_scatter_elements_with_body", scope,
                                                      body, user, count, outputs),
                              .indices = indices,
                              .names_elements = true,
                              .axis = axis};
    return scatter_call(&scatter, operands, updates, options);
}
