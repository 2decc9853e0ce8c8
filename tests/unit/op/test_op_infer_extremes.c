/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: Every op's inference survives shapes, numbers and attributes at the limits of their
 * types.
 * Promise: With open sizes and unknown numbers, too, the inference of any call ends, and every size
 * that it gives is -1 or more.
 *
 * It returns, and accepted results have valid dimensions and sizes. UndefinedBehaviorSanitizer
 * finds overflows on the way. */
#include <stdio.h>
#include <stdlib.h>

#include "infer_case.h"
#include "test.h"

#define CALLS 400 /* calls of each op, from one seed; GANTRY_TEST_INFER_CALLS overrides it */
#define HOST_ELEMENTS 8

typedef struct extreme_t {
    infer_call_t it;
    uint64_t random;
    int64_t host[GANTRY__MAX_INPUTS][HOST_ELEMENTS];
    int64_t lists[GANTRY__MAX_ATTRS][HOST_ELEMENTS];
} extreme_t;

static uint32_t draw(extreme_t *e, uint32_t below) {
    e->random = e->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(e->random >> 33) % below;
}

/* Mostly small numbers, so that some calls are accepted. */
static int64_t draw_number(extreme_t *e) {
    static const int64_t edges[] = {
        INT64_MAX,        INT64_MAX - 1, INT64_MIN,        INT64_MIN + 1, INT32_MAX,
        INT32_MIN,        UINT32_MAX,    INT64_C(1) << 32, INT64_MAX / 2, INT64_C(3) << 30,
        INT64_C(1) << 62, INT64_MAX / 3, -INT64_MAX / 2};
    return draw(e, 4) ? (int64_t)draw(e, 7) - 2 : edges[draw(e, (uint32_t)COUNT(edges))];
}

/* A tensor that can exist: if the product of its dimensions overflows, one of them becomes 0. */
static void draw_shape(extreme_t *e, gantry_shape_t *out) {
    *out = (gantry_shape_t){.rank = (int32_t)draw(e, 6)};
    for (int32_t i = 0; i < out->rank; ++i) {
        const int64_t number = draw_number(e);
        out->dims[i] = number < 0 ? -(number + 1) : number;
    }
    if (out->rank > 0 && gantry_shape_elements(out) < 0)
        out->dims[draw(e, (uint32_t)out->rank)] = 0;
}

static const void *host_value(void *caller, uint32_t input) {
    extreme_t *e = caller;
    if (gantry_shape_elements(e->it.call.shapes[input]) > HOST_ELEMENTS) {
        (void)gantry__fail(GANTRY_INVALID_ARGUMENT, "not that many");
        return NULL;
    }
    return e->host[input];
}

/* Half of the numbers that are hidden are known all the same. */
static bool known_number(void *caller, uint32_t input, int64_t position, int64_t *out) {
    extreme_t *e = caller;
    const gantry_shape_t *shape = e->it.call.shapes[input];
    const int64_t count = gantry_shape_elements(shape);
    assert_true(position >= 0 && (count < 0 || position < count));
    *out = draw_number(e);
    return draw(e, 2) != 0;
}

static void fill_host(extreme_t *e, uint32_t i) {
    const gantry_dtype_t dtype = e->it.call.dtypes[i];
    for (int k = 0; k < HOST_ELEMENTS; ++k) {
        const int64_t number = draw_number(e);
        const float single = (float)number;
        const double twice = (double)number;
        char *at = (char *)e->host[i];
        if (dtype == GANTRY_INT32)
            memcpy(at + k * 4, &(int32_t){(int32_t)(uint32_t)number}, 4);
        else if (dtype == GANTRY_FLOAT32)
            memcpy(at + k * 4, &single, 4);
        else if (dtype == GANTRY_FLOAT64)
            memcpy(at + k * 8, &twice, 8);
        else
            memcpy(at + k * 8, &number, 8);
    }
}

static gantry_dtype_t any_of(extreme_t *e, uint64_t mask) {
    for (int tries = 0; tries < 64; ++tries) {
        const uint32_t dtype = 1 + draw(e, 24);
        if (mask >> dtype & 1) return (gantry_dtype_t)dtype;
    }
    return GANTRY_FLOAT32;
}

static void draw_inputs(extreme_t *e, const gantry_dtype_t *types) {
    const gantry__op_def_t *op = e->it.call.op;
    uint32_t lists = 0;
    for (uint32_t i = 0; i < op->input_count; ++i)
        lists += (op->inputs[i].flags & GANTRY__ARG_LIST) != 0;
    e->it.call.input_count = op->input_count + (lists ? draw(e, 4) : 0);
    for (uint32_t i = 0; i < e->it.call.input_count; ++i) {
        const gantry__op_arg_t *arg = gantry__op_input_arg(op, e->it.call.input_count, i);
        e->it.call.dtypes[i] = arg->type >= 0 ? types[arg->type] : (gantry_dtype_t)-arg->type;
        draw_shape(e, &e->it.shapes[i]);
        if (arg->flags & GANTRY__ARG_HOST && draw(e, 8)) { /* a plausible host argument */
            e->it.shapes[i].rank = (int32_t)draw(e, 2);
            e->it.shapes[i].dims[0] = draw(e, HOST_ELEMENTS);
        } else if (i > 0 && draw(e, 3) == 0) {
            e->it.shapes[i] = e->it.shapes[i - 1];
        }
        e->it.call.shapes[i] = &e->it.shapes[i];
        fill_host(e, i);
    }
}

static void draw_attr(extreme_t *e, uint32_t i, gantry_dtype_t type) {
    static const char *const words[] = {
        "SAME", "VALID", "EXPLICIT",  "NHWC",      "NCHW",     "NWC",     "NCW",
        "",     "left",  "ij,jk->ik", "i...->...", "CONSTANT", "REFLECT", "SYMMETRIC"};
    const gantry__op_attr_t *attr = &e->it.call.op->attrs[i];
    gantry_attr_value_t *value = &e->it.attrs[e->it.attr_count++];
    *value = (gantry_attr_value_t){.name = attr->name, .kind = (gantry_attr_kind_t)attr->kind};
    const uint32_t count = draw(e, 3) ? 4 : draw(e, HOST_ELEMENTS + 1);
    for (uint32_t k = 0; k < HOST_ELEMENTS; ++k) e->lists[i][k] = draw(e, 2) ? 1 : draw_number(e);
    switch (attr->kind) {
        case GANTRY_ATTR_BOOL: value->i = draw(e, 2); break;
        case GANTRY_ATTR_TYPE: value->i = (int64_t)type; break;
        case GANTRY_ATTR_FLOAT: value->f = draw(e, 2) ? 0.5 : (double)draw_number(e); break;
        case GANTRY_ATTR_STRING:
            value->s = draw(e, 2) && attr->s ? attr->s : words[draw(e, (uint32_t)COUNT(words))];
            break;
        case GANTRY_ATTR_SHAPE:
        case GANTRY_ATTR_INTS: value->i = count, value->list = e->lists[i]; break;
        default: value->i = draw_number(e);
    }
}

static void draw_call(extreme_t *e, const gantry__op_def_t *op) {
    gantry_dtype_t types[GANTRY__MAX_ATTRS];
    memset(&e->it.call, 0x5a, sizeof e->it.call);
    infer_call_give_arrays(&e->it);
    e->it.call.op = op;
    e->it.call.host_value = host_value;
    e->it.call.known_number = known_number;
    e->it.call.caller = e;
    e->it.call.symbolic = 0;
    e->it.call.is_open = false;
    e->it.attr_count = 0;
    for (uint32_t i = 0; i < op->attr_count; ++i) {
        const gantry__op_attr_t *attr = &op->attrs[i];
        types[i] = any_of(e, attr->kind == GANTRY_ATTR_TYPE ? attr->dtype_mask : 0);
    }
    draw_inputs(e, types);
    for (uint32_t i = 0; i < op->attr_count; ++i) {
        if (op->attrs[i].required || draw(e, 2)) draw_attr(e, i, types[i]);
    }
}

/* As in a trace: some sizes are open, and some numbers not known. */
static void hide_some(extreme_t *e) {
    for (uint32_t i = 0; i < e->it.call.input_count; ++i) {
        if (draw(e, 2)) continue;
        e->it.call.symbolic |= UINT64_C(1) << i;
        for (int32_t d = 0; d < e->it.shapes[i].rank; ++d) {
            if (draw(e, 3) == 0) e->it.shapes[i].dims[d] = -1;
        }
        e->it.call.is_open |= gantry__shape_is_open(&e->it.shapes[i]);
    }
}

static void expect_results_that_exist(const extreme_t *e) {
    const gantry__infer_t *call = &e->it.call;
    const bool may_wait = call->is_open || (call->op->flags & GANTRY__OP_DATA_SHAPE) != 0;
    assert_in_range(call->output_count, 0, GANTRY__MAX_OUTPUTS);
    for (uint32_t i = 0; i < call->output_count; ++i) {
        const gantry_shape_t *shape = &call->out_shapes[i];
        bool exists = shape->rank >= 0 && shape->rank <= GANTRY_MAX_RANK &&
                      gantry_dtype_size(call->out_dtypes[i]) > 0;
        bool waits = false;
        for (int32_t k = 0; exists && k < shape->rank; ++k) {
            exists = shape->dims[k] >= (may_wait ? -1 : 0);
            waits |= shape->dims[k] == -1;
        }
        if (!exists || (!waits && gantry_shape_elements(shape) < 0)) {
            fail_msg("%s accepts a call whose output %u cannot exist", call->op->name, i);
        }
    }
}

TEST(inference_of_extreme_calls_answers) {
    static extreme_t e; /* large */
    const char *wanted = getenv("GANTRY_TEST_INFER_CALLS");
    const long calls = wanted ? strtol(wanted, NULL, 10) : CALLS;
    long accepted = 0;
    e.random = 11;
    for (int id = 0; id < GANTRY__OP_COUNT; ++id) {
        const gantry__op_def_t *op = gantry__op_get((gantry__op_id_t)id);
        for (long n = 0; n < calls; ++n) {
            draw_call(&e, op);
            if (n % 2) hide_some(&e);
            const gantry_status_t status = infer_call_run(&e.it);
            if (status == GANTRY_OK)
                expect_results_that_exist(&e);
            else
                assert_non_null(strstr(gantry__message(), op->name));
            accepted += status == GANTRY_OK;
        }
    }
    assert_true(accepted > 50 * calls); /* some calls pass the first checks */
}

int main(void) { return test_main(); }
