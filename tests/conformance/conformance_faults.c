/* SPDX-License-Identifier: Apache-2.0 */
/* A kernel that finds bad data fails the reads of dependent results, and nothing else. */
#include <stdio.h>
#include <string.h>

#include "conformance.h"

/* Divides [6, 5] by [3, 0] on the device; NULL when the call itself failed, as a synchronous device
 * may. */
static const gantry_tensor_t *divide_by_zero(gantry_scope_t *scope) {
    const int32_t x[] = {6, 5}, y[] = {3, 0};
    return gantry_div(scope, gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(2), x, sizeof x),
                      gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(2), y, sizeof y));
}

static void check_poisoned(conformance_t *c, const char *what, const gantry_tensor_t *tensor,
                           const char *part) {
    golden_tensor_t got;
    if (!tensor) {
        conformance_fail(c, "%s: no tensor, though the op before it succeeded", what);
        return;
    }
    gantry_status_t status = conformance_read(tensor, &got);
    conformance_free_outputs(&got, 1);
    conformance_check_status(c, what, status, GANTRY_INVALID_ARGUMENT, gantry_last_message(), part);
}

static void dependants_of_a_fault_fail_too(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *bad = divide_by_zero(scope);
    if (!bad) {
        conformance_check_status(c, "the call", gantry_scope_status(scope), GANTRY_INVALID_ARGUMENT,
                                 gantry_scope_message(scope), "division by zero");
    } else {
        const gantry_tensor_t *sum = gantry_add(scope, bad, bad),
                              *alias = gantry_identity(scope, sum);
        const gantry_tensor_t *cast = gantry_cast(scope, alias, GANTRY_FLOAT32);
        check_poisoned(c, "a result of a cast of an alias of a sum", cast, "division by zero");
        check_poisoned(c, "the result itself", bad, "Div");
        check_poisoned(c, "the result once more", bad, "Div");
        gantry_status_t status = gantry_tensor_wait(sum);
        CHECK(c, status == GANTRY_INVALID_ARGUMENT, "waiting for a dependant gave %s",
              gantry_status_name(status));
    }
    gantry_scope_end(scope);
}

static void others_are_not_touched_by_a_fault(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *good = conformance_iota(scope, 3);
    (void)divide_by_zero(scope);
    gantry_scope_clear(scope);
    const gantry_tensor_t *after = gantry_add(scope, good, good);
    conformance_check_floats(c, "an op after the fault", after, (const float[]){0, 2, 4}, 3);
    gantry_scope_end(scope);
    (void)gantry_runtime_synchronize(c->runtime); /* may report the fault, once */
    CHECK(c, gantry_runtime_synchronize(c->runtime) == GANTRY_OK, "the fault is reported twice: %s",
          gantry_last_message());
}

/* The fault is also reported once after the result is freed, and never when the call itself
 * reported it. */
static void synchronize_tells_of_a_fault_once(conformance_t *c) {
    for (int drops = 0; drops < 2; ++drops) {
        gantry_scope_t *scope = conformance_scope(c);
        const gantry_tensor_t *bad = divide_by_zero(scope);
        bool is_late = bad != NULL;
        if (drops) {
            gantry_scope_end(scope);
        }
        gantry_status_t status = gantry_runtime_synchronize(c->runtime);
        if (is_late) {
            conformance_check_status(c, "synchronize", status, GANTRY_INVALID_ARGUMENT,
                                     gantry_last_message(),
                                     "Integer division by zero: op Div (number ");
        } else {
            CHECK(c, status == GANTRY_OK,
                  "synchronize reports the fault that the call reported: %s",
                  gantry_last_message());
        }
        status = gantry_runtime_synchronize(c->runtime);
        CHECK(c, status == GANTRY_OK, "the fault is reported twice: %s", gantry_last_message());
        if (!drops) {
            if (is_late) check_poisoned(c, "the result after synchronize", bad, "Div");
            gantry_scope_end(scope);
        }
    }
}

enum { MANY = 150000, FIRST_BAD = 70001, OTHERS = 97 };

typedef struct many_case_t {
    const char *op;
    int32_t good, bad; /* numbers; good COUNTS: each number is its own place */
    uint32_t input;    /* where they go */
    const char *told;  /* text before the place; a text that only devices print begins with '*' */
    const char *place; /* of the first bad one */
} many_case_t;

#define COUNTS (-1000)

/* Good numbers, except every 97th from FIRST_BAD on. */
static const gantry_tensor_t *make_numbers(gantry_scope_t *scope, const many_case_t *item) {
    static int32_t numbers[MANY];
    for (int32_t i = 0; i < MANY; ++i) {
        bool is_bad = i >= FIRST_BAD && (i - FIRST_BAD) % OTHERS == 0;
        numbers[i] = is_bad ? item->bad : item->good == COUNTS ? i : item->good;
    }
    return gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(MANY), numbers, sizeof numbers);
}

/* Returns how many inputs the op takes. */
static size_t make_many(gantry_scope_t *scope, const many_case_t *item,
                        const gantry_tensor_t **inputs) {
    const gantry_tensor_t *numbers = make_numbers(scope, item);
    size_t count = 2;
    inputs[0] = numbers;
    if (strcmp(item->op, "Gather") == 0) {
        inputs[0] = conformance_iota(scope, 8);
        inputs[2] = gantry_scalar_i32(scope, 0);
        count = 3;
    } else if (strcmp(item->op, "GatherNd") == 0) {
        inputs[0] = conformance_iota(scope, 8);
        numbers = gantry_reshape(scope, numbers, GANTRY_SHAPE(MANY, 1));
    } else if (strcmp(item->op, "UnsortedSegmentSum") == 0) {
        inputs[0] = conformance_iota(scope, MANY);
        inputs[2] = gantry_scalar_i32(scope, 4);
        count = 3;
    } else if (strcmp(item->op, "SparseSoftmaxCrossEntropyWithLogits") == 0) {
        inputs[0] = gantry_zeros(scope, GANTRY_FLOAT32, GANTRY_SHAPE(MANY, 3));
    } else if (strcmp(item->op, "InvertPermutation") == 0) {
        count = 1;
    }
    inputs[item->input] = numbers;
    return count;
}

static void check_many(conformance_t *c, const many_case_t *item) {
    gantry_scope_t *scope = conformance_scope(c);
    const gantry_tensor_t *inputs[3], *outputs[2] = {NULL, NULL};
    size_t input_count = make_many(scope, item, inputs), count = 2;
    gantry_status_t status =
        gantry_op_call(scope, item->op, inputs, input_count, NULL, 0, outputs, &count);
    const char *text = gantry_scope_message(scope);
    bool is_late = status == GANTRY_OK, is_told = *item->told != '*' || is_late;
    char wanted[64];
    if (is_late) {
        status = gantry_tensor_wait(outputs[0]);
        text = gantry_last_message();
    }
    (void)snprintf(wanted, sizeof wanted, "%s%s", item->told + (*item->told == '*'), item->place);
    CHECK(c, status == GANTRY_INVALID_ARGUMENT, "%s gave %s", item->op, gantry_status_name(status));
    if (is_told) CHECK(c, strstr(text, wanted), "%s: \"%s\" lacks \"%s\"", item->op, text, wanted);
    gantry_scope_end(scope);
}

/* Work-items on the whole device find bad data at the same time. */
static void first_of_many_bad_elements_is_told(conformance_t *c) {
    static const many_case_t cases[] = {
        {"Gather", 3, 8, 1, "indices", "[70001]"},
        {"GatherNd", 3, -1, 1, "indices", "[70001]"},
        {"UnsortedSegmentSum", 3, 4, 1, "segment_ids", "[70001]"},
        {"SparseSoftmaxCrossEntropyWithLogits", 1, 3, 1, "*labels", "[70001]"},
        {"InvertPermutation", COUNTS, -5, 0, "*x", "[70001]"},
        {"InvertPermutation", COUNTS, 12, 0, "*x", "[12]"}, /* the first of equals */
        {"FloorDiv", 3, 0, 1, "*, element ", "70001"},
        {"Pow", 1, -1, 1, "*, element ", "70001"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        for (int k = 0; k < CONFORMANCE_TIMES(3, 1); ++k) check_many(c, &cases[i]);
    }
}

/* Makes more faults than any table of slots holds. */
static void dropped_faults_need_no_room(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    const int32_t bad_index[] = {0, 9};
    const gantry_tensor_t *params = conformance_iota(scope, 4);
    const gantry_tensor_t *indices =
        gantry_constant(scope, GANTRY_INT32, GANTRY_SHAPE(2), bad_index, sizeof bad_index);
    for (int i = 0; i < CONFORMANCE_TIMES(3000, 300) && c->reasons == 0; ++i) {
        const gantry_tensor_t *row = gantry_gather(scope, params, indices, 0);
        gantry_status_t status = gantry_scope_status(scope);
        CHECK(c, row || status == GANTRY_INVALID_ARGUMENT, "gather %d: %s", i,
              gantry_scope_message(scope));
        gantry_tensor_drop(scope, row);
        gantry_scope_clear(scope);
    }
    conformance_check_floats(c, "a good gather after them",
                             gantry_gather(scope, params, gantry_scalar_i32(scope, 3), 0),
                             (const float[]){3}, 1);
    conformance_end_scope(c, scope, GANTRY_OK);
    /* reports the first fault that no call reported */
    (void)gantry_runtime_synchronize(c->runtime);
    CHECK(c, gantry_runtime_synchronize(c->runtime) == GANTRY_OK,
          "the faults are reported twice: %s", gantry_last_message());
}

static void bad_positions_give_defined_values_only(conformance_t *c) {
    gantry_scope_t *scope = conformance_scope(c);
    conformance_sentinels_t sentinels;
    const int64_t wild[] = {INT64_MAX, INT64_MIN, -1, 4};
    const gantry_tensor_t *params = conformance_iota(scope, 4);
    const gantry_tensor_t *indices =
        gantry_constant(scope, GANTRY_INT64, GANTRY_SHAPE(4), wild, sizeof wild);
    conformance_sentinels_place(c, scope, 16, &sentinels);
    const gantry_tensor_t *row = gantry_gather(scope, params, indices, 0);
    if (row) check_poisoned(c, "gather with wild indices", row, "indices[");
    gantry_scope_clear(scope);
    conformance_sentinels_check(c, scope, &sentinels);
    conformance_end_scope(c, scope, GANTRY_OK);
}

void conformance_run_faults(conformance_t *c) {
    static const conformance_check_t checks[] = {
        {"dependants_of_a_fault_fail_too", dependants_of_a_fault_fail_too},
        {"others_are_not_touched_by_a_fault", others_are_not_touched_by_a_fault},
        {"synchronize_tells_of_a_fault_once", synchronize_tells_of_a_fault_once},
        {"first_of_many_bad_elements_is_told", first_of_many_bad_elements_is_told},
        {"dropped_faults_need_no_room", dropped_faults_need_no_room},
        {"bad_positions_give_defined_values_only", bad_positions_give_defined_values_only},
    };
    conformance_run_checks(c, "fault", checks, sizeof checks / sizeof checks[0]);
}
