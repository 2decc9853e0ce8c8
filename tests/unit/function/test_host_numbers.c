/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Axes, shapes, limits and the like may be arguments of a function: Shape, Size, a sum of
 * ones and the elements of the result are those of the op run by itself.
 * Promise: Where single numbers of a vector are constants and the others are arguments of a
 * function, the results are right too, and a constant among them gives the result a known size.
 *
 * All ops that take such numbers, from their golden cases: with the case's own numbers, and with
 * others near them. */
#define _POSIX_C_SOURCE 200809L
#include "function_fixture.h"
#include "test.h"

#include "golden_cases.h"
#include "op/op_def.h"

#define VARIANTS 8         /* of the numbers of a case */
#define MIXTURES 3         /* of constants and arguments, of a variant */
#define MOST_CASES 24      /* of an op */
#define MOST_BYTES 4096    /* of an input */
#define MOST_ELEMENTS 4096 /* of a result */

typedef const gantry_tensor_t tensor;

typedef struct numbers_t {
    runtime_fixture_t f;
    const golden_case_t *item;
    const gantry__op_def_t *op;
    gantry_attr_value_t attrs[GOLDEN_MOST_ATTRS];
    size_t attr_count;
    gantry_function_t *about, *itself; /* what is known of the result; the result */
    void *const *data;  /* of inputs, of which single numbers are constants of the body; or NULL */
    uint32_t constants; /* bit k: number k of each */
    bool mixes;
    uint64_t random;
    size_t calls, refused;
    bool is_called[GANTRY__OP_COUNT];
} numbers_t;

static uint32_t draw(numbers_t *n, uint32_t below) {
    n->random = n->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(n->random >> 33) % below;
}

static bool is_number(const numbers_t *n, size_t i) {
    const gantry__op_arg_t *arg =
        gantry__op_input_arg(n->op, (uint32_t)n->item->input_count, (uint32_t)i);
    return arg && (arg->flags & GANTRY__ARG_HOST);
}

/* ---- the functions ---- */

static tensor *number_of(gantry_scope_t *s, const numbers_t *n, size_t i, tensor *flat, int64_t k) {
    const bool is_narrow = n->item->inputs[i].dtype == GANTRY_INT32;
    const size_t bytes = is_narrow ? 4 : 8;
    if (n->constants >> (k % 32) & 1)
        return gantry_constant(s, n->item->inputs[i].dtype, GANTRY_SHAPE(1),
                               (const char *)n->data[i] + (size_t)k * bytes, bytes);
    return gantry_slice(s, flat, &k, (int64_t[]){1});
}

/* The same numbers, single ones of which are constants. */
static tensor *mix(gantry_scope_t *s, const numbers_t *n, size_t i, tensor *given) {
    const golden_tensor_t *x = &n->item->inputs[i];
    const int64_t count = gantry_shape_elements(&x->shape);
    tensor *parts[GANTRY_MAX_OP_INPUTS];
    if (!n->data || !is_number(n, i) || count < 2 || count > 2 * GANTRY_MAX_RANK ||
        (x->dtype != GANTRY_INT32 && x->dtype != GANTRY_INT64))
        return given;
    tensor *flat = gantry_reshape(s, given, GANTRY_SHAPE(-1));
    for (int64_t k = 0; k < count; ++k) parts[k] = number_of(s, n, i, flat, k);
    tensor *joined;
    if (n->constants & 1) {
        for (int64_t k = 0; k < count; ++k) parts[k] = gantry_reshape(s, parts[k], GANTRY_SCALAR);
        joined = gantry_pack(s, parts, (size_t)count, 0);
    } else {
        joined = gantry_concat(s, parts, (size_t)count, 0);
    }
    return gantry_reshape(s, joined, x->shape);
}

static size_t run_op(gantry_scope_t *scope, const numbers_t *n, tensor *const *inputs,
                     tensor **outputs) {
    size_t count = GANTRY_MAX_OP_OUTPUTS;
    tensor *given[GANTRY_MAX_OP_INPUTS];
    for (size_t i = 0; i < n->item->input_count; ++i) given[i] = mix(scope, n, i, inputs[i]);
    const gantry_status_t status = gantry_op_call(scope, n->item->op, given, n->item->input_count,
                                                  n->attrs, n->attr_count, outputs, &count);
    return status == GANTRY_OK ? count : 0;
}

/* Of the last result: the others of an op may have a shape that is always known. */
static void about_body(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    const numbers_t *n = user;
    tensor *made[GANTRY_MAX_OP_OUTPUTS];
    size_t count = run_op(scope, n, inputs, made), one = 1;
    const gantry_attr_value_t wide = {
        .name = "out_type", .kind = GANTRY_ATTR_TYPE, .i = GANTRY_INT64};
    outputs[0] = outputs[1] = outputs[2] = NULL;
    if (count == 0) return;
    tensor *of = made[count - 1];
    (void)gantry_op_call(scope, "Shape", &of, 1, &wide, 1, &outputs[0], &one);
    outputs[1] = gantry_size(scope, of, GANTRY_INT64);
    if (GANTRY_DTYPE_BIT(gantry_tensor_dtype(of)) &
        GANTRY_DTYPES_COMPLEXES) { /* Cast does not take it */
        outputs[2] = outputs[1];
    } else {
        tensor *ones = gantry_cast(scope, gantry_ones_like(scope, of), GANTRY_INT64);
        outputs[2] = gantry_sum(scope, ones, NULL);
    }
}

static void itself_body(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs,
                        void *user) {
    tensor *made[GANTRY_MAX_OP_OUTPUTS];
    const size_t count = run_op(scope, user, inputs, made);
    if (count > 0) outputs[0] = made[count - 1];
}

/* ---- one call ---- */

static void make_inputs(gantry_scope_t *scope, const numbers_t *n, void *const *data,
                        tensor **out) {
    for (size_t i = 0; i < n->item->input_count; ++i) {
        const golden_tensor_t *given = &n->item->inputs[i];
        out[i] = gantry_constant(scope, given->dtype, given->shape, data[i], given->bytes);
    }
}

static void check_about(gantry_scope_t *scope, const numbers_t *n, tensor *const *inputs,
                        tensor *expected) {
    const gantry_shape_t *shape = gantry_tensor_shape(expected);
    int64_t dims[GANTRY_MAX_RANK], size, ones;
    tensor *got[3];
    function_fixture_call(scope, n->about, inputs, n->item->input_count, got, 3);
    assert_int_equal(gantry_tensor_elements(got[0]), shape->rank);
    assert_int_equal(gantry_tensor_read(got[0], dims, (size_t)shape->rank * 8), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(got[1], &size, 8), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(got[2], &ones, 8), GANTRY_OK);
    bool is_right = memcmp(dims, shape->dims, (size_t)shape->rank * 8) == 0;
    is_right = is_right && size == gantry_tensor_elements(expected) && ones == size;
    if (!is_right)
        fail_msg("%s: Size is %lld, ones %lld, of %lld elements", n->item->name, (long long)size,
                 (long long)ones, (long long)gantry_tensor_elements(expected));
}

static void check_itself(gantry_scope_t *scope, const numbers_t *n, tensor *const *inputs,
                         tensor *expected) {
    static char bytes[2][MOST_ELEMENTS * 8];
    const size_t count = gantry_tensor_bytes(expected);
    tensor *got;
    function_fixture_call(scope, n->itself, inputs, n->item->input_count, &got, 1);
    assert_true(gantry_shape_equal(gantry_tensor_shape(got), gantry_tensor_shape(expected)));
    assert_int_equal(gantry_tensor_read(got, bytes[0], count), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(expected, bytes[1], count), GANTRY_OK);
    if (memcmp(bytes[0], bytes[1], count) != 0)
        fail_msg("%s: other elements than by itself", n->item->name);
}

/* Numbers that the op refuses by itself are no subject here. */
static void check_call(numbers_t *n, void *const *data) {
    tensor *inputs[GANTRY_MAX_OP_INPUTS], *made[GANTRY_MAX_OP_OUTPUTS];
    gantry_scope_t *scope = runtime_fixture_scope(&n->f, NULL);
    make_inputs(scope, n, data, inputs);
    const size_t count = run_op(scope, n, inputs, made);
    tensor *expected = count > 0 ? made[count - 1] : NULL;
    if (expected && gantry_tensor_wait(expected) == GANTRY_OK &&
        gantry_tensor_elements(expected) <= MOST_ELEMENTS) {
        ++n->calls;
        n->is_called[n->op->id] = true;
        check_about(scope, n, inputs, expected);
        check_itself(scope, n, inputs, expected);
    }
    gantry_scope_clear(scope);
    (void)gantry_scope_end(scope);
}

/* ---- the numbers ---- */

static void vary(numbers_t *n, const golden_tensor_t *given, void *out) {
    for (size_t k = 0; k < given->bytes; k += gantry_dtype_size(given->dtype)) {
        const int64_t more = (int64_t)draw(n, 4) - 1;
        char *at = (char *)out + k;
        uint64_t wide;
        uint32_t narrow;
        float real;
        switch ((int)given->dtype) { /* integers wrap around */
            case GANTRY_INT32:
                memcpy(&narrow, at, sizeof narrow);
                narrow += (uint32_t)more;
                memcpy(at, &narrow, sizeof narrow);
                break;
            case GANTRY_INT64:
                memcpy(&wide, at, sizeof wide);
                wide += (uint64_t)more;
                memcpy(at, &wide, sizeof wide);
                break;
            case GANTRY_FLOAT32:
                memcpy(&real, at, sizeof real);
                real += (float)more;
                memcpy(at, &real, sizeof real);
                break;
            default: break;
        }
    }
}

static void check_variants(numbers_t *n) {
    static int64_t room[GANTRY_MAX_OP_INPUTS][MOST_BYTES / 8];
    void *data[GANTRY_MAX_OP_INPUTS];
    for (int k = 0; k < VARIANTS; ++k) {
        for (size_t i = 0; i < n->item->input_count; ++i) {
            const golden_tensor_t *given = &n->item->inputs[i];
            data[i] = room[i];
            memcpy(room[i], given->data, given->bytes);
            if (k > 0 && is_number(n, i)) vary(n, given, room[i]);
        }
        check_call(n, data);
    }
}

/* ---- all cases ---- */

static bool is_refused_by_rule(void) {
    const char *text = gantry_last_message();
    return strstr(text, "the number or the rank of its results depends on data") ||
           strstr(text, "how many numbers it draws depends on data");
}

static gantry_status_t trace_both(numbers_t *n) {
    gantry_input_spec_t specs[GANTRY_MAX_OP_INPUTS];
    const size_t count = n->item->input_count;
    for (size_t i = 0; i < count; ++i)
        specs[i] = (gantry_input_spec_t){NULL, n->item->inputs[i].dtype, n->item->inputs[i].shape};
    n->itself = NULL;
    GANTRY__TRY(
        gantry_function_trace(n->f.runtime, "f", about_body, n, specs, count, 3, NULL, &n->about));
    return gantry_function_trace(n->f.runtime, "f", itself_body, n, specs, count, 1, NULL,
                                 &n->itself);
}

static void check_case(numbers_t *n) {
    const gantry_status_t status = trace_both(n);
    if (status == GANTRY_OK) {
        check_variants(n);
    } else if (status == GANTRY_UNIMPLEMENTED && is_refused_by_rule()) {
        ++n->refused;
    } else {
        fail_msg("%s: %s", n->item->name, gantry_last_message());
    }
    gantry_function_release(n->about);
    gantry_function_release(n->itself);
}

/* Ops that draw from the runtime's random state have no numbers of their own. */
static bool is_subject(numbers_t *n) {
    bool has_numbers = false, is_small = true;
    for (size_t i = 0; n->op && i < n->item->input_count; ++i) {
        has_numbers |= is_number(n, i);
        is_small = is_small && n->item->inputs[i].bytes <= MOST_BYTES;
    }
    return has_numbers && is_small && n->item->error_status == GANTRY_OK &&
           n->item->input_count <= GANTRY_MAX_OP_INPUTS && !golden_find_attr(n->item, "seed2");
}

/* ---- single numbers ---- */

static bool runs_by_itself(numbers_t *n, void *const *data) {
    tensor *inputs[GANTRY_MAX_OP_INPUTS], *made[GANTRY_MAX_OP_OUTPUTS];
    gantry_scope_t *scope = runtime_fixture_scope(&n->f, NULL);
    make_inputs(scope, n, data, inputs);
    const size_t count = run_op(scope, n, inputs, made);
    const bool runs = count > 0 && gantry_tensor_wait(made[count - 1]) == GANTRY_OK;
    gantry_scope_clear(scope);
    (void)gantry_scope_end(scope);
    return runs;
}

static void check_mixed(numbers_t *n, void *const *data) {
    n->data = NULL;
    if (!runs_by_itself(n, data)) return;
    n->data = data;
    for (int k = 0; k < MIXTURES; ++k) {
        n->constants = draw(n, UINT32_C(1) << 16);
        const gantry_status_t status = trace_both(n);
        if (status == GANTRY_OK)
            check_call(n, data);
        else if (status != GANTRY_UNIMPLEMENTED || !is_refused_by_rule())
            fail_msg("%s, constants %x: %s", n->item->name, n->constants, gantry_last_message());
        gantry_function_release(n->about);
        gantry_function_release(n->itself);
    }
}

static void check_mixtures(numbers_t *n) {
    static int64_t room[GANTRY_MAX_OP_INPUTS][MOST_BYTES / 8];
    void *data[GANTRY_MAX_OP_INPUTS];
    for (int k = 0; k < 3; ++k) {
        for (size_t i = 0; i < n->item->input_count; ++i) {
            const golden_tensor_t *given = &n->item->inputs[i];
            data[i] = room[i];
            memcpy(room[i], given->data, given->bytes);
            if (k > 0 && is_number(n, i)) vary(n, given, room[i]);
        }
        check_mixed(n, data);
    }
    n->data = NULL;
}

static void check_file(const golden_file_t *file, void *user) {
    numbers_t *n = user;
    size_t checked = 0;
    for (size_t i = 0; i < file->case_count && checked < MOST_CASES; ++i) {
        n->item = &file->cases[i];
        n->op = gantry__op_find(n->item->op);
        if (!is_subject(n)) continue;
        n->attr_count = golden_attr_values(n->item, n->attrs);
        n->mixes ? check_mixtures(n) : check_case(n);
        ++checked;
    }
}

TEST(numbers_may_be_arguments_of_a_function) {
    static numbers_t n; /* large */
    n.random = 5;
    runtime_fixture_open(&n.f, 0);
    assert_true(golden_each_file(check_file, &n) > 200);
    runtime_fixture_close(&n.f);
    printf("%zu calls; %zu cases refused\n", n.calls, n.refused);
    for (int id = 0; id < GANTRY__OP_COUNT; ++id) {
        const gantry__op_def_t *op = gantry__op_get((gantry__op_id_t)id);
        bool has_numbers = false, draws = false;
        for (uint32_t i = 0; i < op->input_count; ++i)
            has_numbers |= (op->inputs[i].flags & GANTRY__ARG_HOST) != 0;
        for (uint32_t i = 0; i < op->attr_count; ++i)
            draws |= strcmp(op->attrs[i].name, "seed2") == 0;
        if (has_numbers && !draws && op->name[0] != '_' && !n.is_called[id])
            fail_msg("%s: no golden case runs with its numbers as arguments", op->name);
    }
}

TEST(single_numbers_may_be_constants) {
    static numbers_t n; /* large */
    n.random = 7;
    n.mixes = true;
    runtime_fixture_open(&n.f, 0);
    assert_true(golden_each_file(check_file, &n) > 200);
    runtime_fixture_close(&n.f);
    assert_true(n.calls > 1000);
}

/* ---- sizes that constants among the numbers make known ---- */

static tensor *pair(gantry_scope_t *s, tensor *first, int32_t second) {
    return gantry_pack(s, (tensor *[]){first, gantry_scalar_i32(s, second)}, 2, 0);
}

static tensor *call(gantry_scope_t *s, const char *op, tensor *a, tensor *b, tensor *c, tensor *d) {
    tensor *inputs[] = {a, b, c, d}, *made = NULL;
    size_t count = 1, input_count = 0;
    while (input_count < 4 && inputs[input_count]) ++input_count;
    (void)gantry_op_call(s, op, inputs, input_count, NULL, 0, &made, &count);
    return made;
}

static void expect_shape(tensor *given, int64_t first, int64_t second) {
    char text[64] = "NULL";
    if (given && gantry_shape_equal(gantry_tensor_shape(given), &GANTRY_SHAPE(first, second)))
        return;
    if (given) (void)gantry_shape_format(gantry_tensor_shape(given), text, sizeof text);
    fail_msg("%s, not [%lld,%lld]: %s", text, (long long)first, (long long)second,
             gantry_last_message());
}

static void in_a_branch(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    out[0] = call(s, "Fill", user, gantry_scalar_f32(s, 2), NULL, NULL);
    expect_shape(out[0], -1, 3);
    (void)in;
}

/* x: float32[4,5]; n: int32, which is 2 */
static void sizing(gantry_scope_t *s, tensor *const *in, tensor **out, void *user) {
    tensor *x = in[0], *n = in[1], *zero = gantry_scalar_i32(s, 0);
    tensor *begin = pair(s, n, 1), *size = pair(s, n, 3), *one = gantry_scalar_f32(s, 1);
    (void)user;
    out[0] = call(s, "Slice", x, pair(s, zero, 1), size, NULL);
    expect_shape(out[0], -1, 3);
    out[1] = call(s, "Slice", x, begin, pair(s, n, -1), NULL);
    expect_shape(out[1], -1, 4);
    out[2] = call(s, "Tile", x, size, NULL, NULL);
    expect_shape(out[2], -1, 15);
    out[3] = call(s, "Fill", size, one, NULL, NULL);
    expect_shape(out[3], -1, 3);
    out[4] = call(s, "BroadcastTo", one, gantry_cast(s, size, GANTRY_INT64), NULL, NULL);
    expect_shape(out[4], -1, 3);
    out[5] = call(s, "Reshape", x, pair(s, n, 10), NULL, NULL);
    expect_shape(out[5], 2, 10); /* 20 elements */
    out[6] = call(s, "StridedSlice", x, begin, pair(s, gantry_scalar_i32(s, 4), 4),
                  pair(s, gantry_scalar_i32(s, 1), 1));
    expect_shape(out[6], -1, 3);
    tensor *paddings[] = {pair(s, n, 1), pair(s, gantry_scalar_i32(s, 2), 1)};
    out[7] = call(s, "Pad", x, gantry_pack(s, paddings, 2, 0), NULL, NULL);
    expect_shape(out[7], -1, 8);
    /* the sizes of what has an open and a known one, cut and joined again */
    tensor *sizes = gantry_shape(s, out[0], GANTRY_INT32);
    tensor *last = gantry_slice(s, sizes, (int64_t[]){1}, (int64_t[]){1});
    tensor *again =
        gantry_concat(s, (tensor *[]){gantry_reshape(s, n, GANTRY_SHAPE(1)), last}, 2, 0);
    out[8] = call(s, "Fill", again, one, NULL, NULL);
    expect_shape(out[8], -1, 3);
    tensor *is_two = gantry_equal(s, n, gantry_scalar_i32(s, 2));
    (void)gantry_cond(s, is_two, in_a_branch, in_a_branch, (void *)again, NULL, 0, &out[9], 1);
    expect_shape(out[9], -1, 3);
}

TEST(constants_among_the_numbers_give_known_sizes) {
    static const int64_t sizes[][2] = {{2, 3},  {2, 4}, {8, 15}, {2, 3}, {2, 3},
                                       {2, 10}, {2, 3}, {7, 8},  {2, 3}, {2, 3}};
    const gantry_input_spec_t specs[] = {SPEC_F32(4, 5), {NULL, GANTRY_INT32, {.rank = 0}}};
    runtime_fixture_t f;
    tensor *got[10];
    runtime_fixture_open(&f, 0);
    gantry_function_t *function =
        function_fixture_trace(f.runtime, sizing, NULL, specs, 2, 10, NULL);
    gantry_scope_t *s = runtime_fixture_scope(&f, NULL);
    tensor *inputs[] = {gantry_ones(s, GANTRY_FLOAT32, GANTRY_SHAPE(4, 5)),
                        gantry_scalar_i32(s, 2)};
    function_fixture_call(s, function, inputs, 2, got, 10);
    for (int i = 0; i < 10; ++i) expect_shape(got[i], sizes[i][0], sizes[i][1]);
    gantry_function_release(function);
    expect_ended_well(s);
    runtime_fixture_close(&f);
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
