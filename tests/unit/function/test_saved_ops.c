/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Each op, in a function that is saved and loaded again, gives the bits of its call, with
 * known sizes and with open ones.
 *
 * Cases are a sample of the golden ones of each op: the first, the last, and some between them. */
#define _POSIX_C_SOURCE 200809L
#include "function_fixture.h"
#include "saved_file.h"
#include "test.h"

#include "golden_cases.h"
#include "op/op_def.h"

#define MOST_CASES 3       /* of an op */
#define MOST_BYTES 4096    /* of an input */
#define MOST_ELEMENTS 4096 /* of a result */

typedef const gantry_tensor_t tensor;

typedef struct saving_t {
    runtime_fixture_t f;
    saved_file_t file;
    const golden_case_t *item;
    const gantry__op_def_t *op;
    gantry_attr_value_t attrs[GOLDEN_MOST_ATTRS];
    size_t attr_count, output_count;
    size_t calls, refused;
    bool is_subject[GANTRY__OP_COUNT], is_called[GANTRY__OP_COUNT];
} saving_t;

/* Numbers of the host, such as axes, are constants of the body. */
static bool is_constant(const saving_t *s, size_t i) {
    const gantry__op_arg_t *arg =
        gantry__op_input_arg(s->op, (uint32_t)s->item->input_count, (uint32_t)i);
    return arg && (arg->flags & GANTRY__ARG_HOST);
}

static tensor *constant_of(gantry_scope_t *scope, const saving_t *s, size_t i) {
    const golden_tensor_t *given = &s->item->inputs[i];
    return gantry_constant(scope, given->dtype, given->shape, given->data, given->bytes);
}

static size_t run_op(gantry_scope_t *scope, const saving_t *s, tensor *const *arguments,
                     tensor **outputs) {
    tensor *inputs[GANTRY_MAX_OP_INPUTS];
    size_t count = GANTRY_MAX_OP_OUTPUTS, used = 0;
    for (size_t i = 0; i < s->item->input_count; ++i)
        inputs[i] = is_constant(s, i) ? constant_of(scope, s, i) : arguments[used++];
    const gantry_status_t status = gantry_op_call(scope, s->item->op, inputs, s->item->input_count,
                                                  s->attrs, s->attr_count, outputs, &count);
    return status == GANTRY_OK ? count : 0;
}

static void op_body(gantry_scope_t *scope, tensor *const *inputs, tensor **outputs, void *user) {
    tensor *made[GANTRY_MAX_OP_OUTPUTS];
    const size_t count = run_op(scope, user, inputs, made);
    for (size_t k = 0; k < count; ++k) outputs[k] = made[k];
}

static size_t arguments_of(gantry_scope_t *scope, const saving_t *s, tensor **out) {
    size_t count = 0;
    for (size_t i = 0; i < s->item->input_count; ++i)
        if (!is_constant(s, i)) out[count++] = constant_of(scope, s, i);
    return count;
}

static void expect_same(const saving_t *s, tensor *got, tensor *wanted) {
    static char bytes[2][MOST_ELEMENTS * 16];
    const size_t count = gantry_tensor_bytes(wanted);
    assert_int_equal(gantry_tensor_dtype(got), gantry_tensor_dtype(wanted));
    assert_true(gantry_shape_equal(gantry_tensor_shape(got), gantry_tensor_shape(wanted)));
    assert_int_equal(gantry_tensor_read(got, bytes[0], count), GANTRY_OK);
    assert_int_equal(gantry_tensor_read(wanted, bytes[1], count), GANTRY_OK);
    if (memcmp(bytes[0], bytes[1], count) != 0)
        fail_msg("%s: other elements than by itself", s->item->name);
}

/* How many results the call has; 0 where it fails or is large. */
static size_t call_by_itself(gantry_scope_t *scope, const saving_t *s, tensor *const *arguments,
                             tensor **outputs) {
    const size_t count = run_op(scope, s, arguments, outputs);
    for (size_t k = 0; k < count; ++k) {
        if (gantry_tensor_wait(outputs[k]) != GANTRY_OK ||
            gantry_tensor_elements(outputs[k]) > MOST_ELEMENTS)
            return 0;
    }
    return count;
}

static void check_loaded(saving_t *s, gantry_scope_t *scope, tensor *const *arguments,
                         size_t argument_count, tensor *const *wanted) {
    tensor *got[GANTRY_MAX_OP_OUTPUTS];
    gantry_function_t *loaded = saved_file_load(s->f.runtime, &s->file, NULL);
    function_fixture_call(scope, loaded, arguments, argument_count, got, s->output_count);
    for (size_t k = 0; k < s->output_count; ++k) expect_same(s, got[k], wanted[k]);
    gantry_function_release(loaded);
    ++s->calls;
    s->is_called[s->op->id] = true;
}

static bool is_refused_by_rule(void) {
    const char *text = gantry_last_message();
    return strstr(text, "depends on data") != NULL;
}

static void check_case(saving_t *s, bool is_open) {
    gantry_input_spec_t specs[GANTRY_MAX_OP_INPUTS];
    tensor *arguments[GANTRY_MAX_OP_INPUTS], *wanted[GANTRY_MAX_OP_OUTPUTS];
    gantry_function_t *function = NULL;
    gantry_scope_t *scope = runtime_fixture_scope(&s->f, NULL);
    const size_t count = arguments_of(scope, s, arguments);
    for (size_t i = 0; i < count; ++i) {
        specs[i] = (gantry_input_spec_t){NULL, gantry_tensor_dtype(arguments[i]),
                                         *gantry_tensor_shape(arguments[i])};
        for (int32_t d = 0; is_open && d < specs[i].shape.rank; ++d)
            specs[i].shape.dims[d] = GANTRY_OPEN_SIZE;
    }
    s->output_count = call_by_itself(scope, s, arguments, wanted);
    gantry_status_t status = GANTRY_OK;
    if (s->output_count > 0)
        status = gantry_function_trace(s->f.runtime, "f", op_body, s, specs, count, s->output_count,
                                       NULL, &function);
    if (function && (status = gantry_function_save(function, s->file.path, NULL)) == GANTRY_OK)
        check_loaded(s, scope, arguments, count, wanted);
    if (status != GANTRY_OK && !(status == GANTRY_UNIMPLEMENTED && is_refused_by_rule()))
        fail_msg("%s: %s", s->item->name, gantry_last_message());
    s->refused += status != GANTRY_OK;
    gantry_function_release(function);
    gantry_scope_clear(scope);
    (void)gantry_scope_end(scope);
}

/* Ops that draw from the runtime's random state have other numbers each time. */
static bool is_subject(const saving_t *s) {
    bool is_small = true;
    for (size_t i = 0; i < s->item->input_count; ++i)
        is_small = is_small && s->item->inputs[i].bytes <= MOST_BYTES;
    return s->op && is_small && s->item->error_status == GANTRY_OK && s->item->output_count > 0 &&
           s->item->input_count <= GANTRY_MAX_OP_INPUTS && !golden_find_attr(s->item, "seed2");
}

static void check_file(const golden_file_t *file, void *user) {
    saving_t *s = user;
    const size_t step = file->case_count > MOST_CASES ? (file->case_count - 1) / MOST_CASES : 1;
    size_t checked = 0;
    for (size_t i = 0; i < file->case_count && checked <= MOST_CASES; ++i) {
        s->item = &file->cases[i];
        s->op = gantry__op_find(s->item->op);
        if (i < checked * step || !is_subject(s)) continue;
        s->is_subject[s->op->id] = true;
        s->attr_count = golden_attr_values(s->item, s->attrs);
        check_case(s, false);
        check_case(s, true);
        ++checked;
    }
}

TEST(an_op_of_a_loaded_function_gives_the_bits_of_its_call) {
    static saving_t s; /* large */
    runtime_fixture_open(&s.f, 0);
    saved_file_init(&s.file);
    assert_true(golden_each_file(check_file, &s) > 200);
    saved_file_deinit(&s.file);
    runtime_fixture_close(&s.f);
    printf("%zu calls; %zu cases refused\n", s.calls, s.refused);
    for (int id = 0; id < GANTRY__OP_COUNT; ++id) {
        if (s.is_subject[id] && !s.is_called[id])
            fail_msg("%s: no golden case is saved", gantry__op_get((gantry__op_id_t)id)->name);
    }
}

int main(void) { return test_main_each(runtime_fixture_set_up, runtime_fixture_tear_down); }
