/* SPDX-License-Identifier: Apache-2.0 */
/* Promise: With open sizes and unknown numbers, each op infers a size that its call has, or -1.
 *
 * The golden cases of all ops are inferred with their sizes and numbers, then again with some of
 * them hidden. */
#define _POSIX_C_SOURCE 200809L
#include "infer_case.h"
#include "test.h"

#include "golden_cases.h"
#include "op/op_infer.h"

#define MASKS 40 /* hidden parts of each case, from one seed */

typedef struct hiding_t {
    infer_call_t whole, hidden;
    const golden_case_t *item;
    gantry_attr_value_t attrs[GOLDEN_MOST_ATTRS];
    size_t attr_count;
    uint64_t random;
    size_t calls, refused;
    bool is_inferred[GANTRY__OP_COUNT]; /* with its numbers hidden */
} hiding_t;

static uint32_t draw(hiding_t *h, uint32_t below) {
    h->random = h->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)(h->random >> 33) % below;
}

static const void *golden_host_value(void *caller, uint32_t input) {
    const hiding_t *h = caller;
    return h->item->inputs[input].data;
}

/* A hidden number is not to be read. */
static const void *visible_host_value(void *caller, uint32_t input) {
    const hiding_t *h = caller;
    if (!(h->hidden.call.symbolic >> input & 1)) return h->item->inputs[input].data;
    (void)gantry__fail(GANTRY_FAILED_PRECONDITION, "it is hidden");
    return NULL;
}

static gantry_status_t infer_with(hiding_t *h, infer_call_t *it, const gantry__op_def_t *op,
                                  const void *(*host_value)(void *caller, uint32_t input)) {
    infer_call_give_arrays(it);
    it->call.op = op;
    it->call.input_count = (uint32_t)h->item->input_count;
    it->call.host_value = host_value;
    it->call.caller = h;
    for (uint32_t i = 0; i < it->call.input_count; ++i) {
        it->call.dtypes[i] = h->item->inputs[i].dtype;
        it->call.shapes[i] = &it->shapes[i];
    }
    return gantry__op_infer(&it->call, h->attrs, h->attr_count);
}

static bool is_host(const infer_call_t *it, uint32_t i) {
    const gantry__op_arg_t *arg = gantry__op_input_arg(it->call.op, it->call.input_count, i);
    return arg && (arg->flags & GANTRY__ARG_HOST);
}

/* Hides numbers of host inputs, and sizes of the others: mask 0 all numbers, 1 all sizes, 2 all of
 * both, then any. */
static void hide(hiding_t *h, uint32_t mask) {
    infer_call_t *it = &h->hidden;
    it->call.symbolic = 0;
    it->call.is_open = false;
    for (uint32_t i = 0; i < h->item->input_count; ++i) {
        const bool number = is_host(&h->whole, i);
        it->shapes[i] = h->whole.shapes[i];
        if (number && (mask == 0 || mask == 2 || (mask > 2 && draw(h, 2))))
            it->call.symbolic |= UINT64_C(1) << i;
        if (!number) it->call.symbolic |= UINT64_C(1) << i;
        for (int32_t d = 0; d < it->shapes[i].rank; ++d) {
            const bool may_hide = !number || (it->call.symbolic >> i & 1 && draw(h, 8) == 0);
            if (mask != 0 && may_hide && (mask < 3 || draw(h, 2))) it->shapes[i].dims[d] = -1;
        }
        it->call.is_open |= gantry_shape_elements(&it->shapes[i]) < 0;
    }
}

static void check_hidden(hiding_t *h, uint32_t mask, bool is_good) {
    const gantry_status_t status = infer_with(h, &h->hidden, h->whole.call.op, visible_host_value);
    if (!is_good) return; /* a call that fails has no sizes */
    const infer_call_t *all = &h->whole, *it = &h->hidden;
    ++h->calls;
    if (status == GANTRY_UNIMPLEMENTED &&
        strstr(gantry__message(), "the number or the rank of its results depends on data")) {
        ++h->refused;
        return;
    }
    if (status != GANTRY_OK) fail_msg("%s, mask %u: %s", h->item->name, mask, gantry__message());
    if (it->call.output_count != all->call.output_count) fail_msg("%s: outputs", h->item->name);
    for (uint32_t k = 0; k < all->call.output_count; ++k) {
        const gantry_shape_t *is = &all->out_shapes[k], *inferred = &it->out_shapes[k];
        bool holds = is->rank == inferred->rank;
        for (int32_t d = 0; holds && d < is->rank; ++d)
            holds = inferred->dims[d] == -1 || inferred->dims[d] == is->dims[d] || is->dims[d] < 0;
        if (!holds)
            fail_msg("%s, mask %u: output %u is %s, inferred as %s", h->item->name, mask, k,
                     gantry__shape_text(is).text, gantry__shape_text(inferred).text);
    }
    if (mask == 0) h->is_inferred[all->call.op->id] = true;
}

static void check_file(const golden_file_t *file, void *user) {
    hiding_t *h = user;
    for (size_t n = 0; n < file->case_count; ++n) {
        h->item = &file->cases[n];
        const gantry__op_def_t *op = gantry__op_find(h->item->op);
        if (!op) continue;
        h->attr_count = golden_attr_values(h->item, h->attrs);
        for (size_t i = 0; i < h->item->input_count; ++i)
            h->whole.shapes[i] = h->item->inputs[i].shape;
        h->whole.call.symbolic = 0;
        h->whole.call.is_open = false;
        const bool is_good = infer_with(h, &h->whole, op, golden_host_value) == GANTRY_OK;
        for (uint32_t mask = 0; mask < MASKS; ++mask) {
            hide(h, mask);
            check_hidden(h, mask, is_good);
        }
    }
}

TEST(hidden_sizes_are_open_or_those_of_the_call) {
    static hiding_t h; /* large */
    h.random = 7;
    assert_true(golden_each_file(check_file, &h) > 200);
    assert_true(h.calls > 100000);
    printf("%zu of %zu calls: the rank depends on what is hidden\n", h.refused, h.calls);
    for (int id = 0; id < GANTRY__OP_COUNT; ++id) {
        const gantry__op_def_t *op = gantry__op_get((gantry__op_id_t)id);
        bool has_numbers = false;
        for (uint32_t i = 0; i < op->input_count; ++i)
            has_numbers |= (op->inputs[i].flags & GANTRY__ARG_HOST) != 0;
        if (has_numbers && op->name[0] != '_' && !h.is_inferred[id])
            fail_msg("%s: no golden case is inferred without its numbers", op->name);
    }
}

int main(void) { return test_main(); }
