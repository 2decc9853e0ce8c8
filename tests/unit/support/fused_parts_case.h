/* SPDX-License-Identifier: Apache-2.0 */
/* Random programs over several parts of unlike shapes: one call of _FusedParts and a call of
 * _FusedElementwise for each part have the same bits. Header only; owner: the test's program, one
 * thread. */
#ifndef TESTS_FUSED_PARTS_CASE_H
#define TESTS_FUSED_PARTS_CASE_H

#include "fused_case.h"

enum { FUSED_PARTS_MOST = 7 };

/* The program's case, whose input_shapes say which inputs are single; the first `shared` are the
 * same for all parts. */
typedef struct fused_parts_t {
    fused_case_t program;
    uint32_t parts, shared;
    gantry_shape_t shapes[FUSED_PARTS_MOST];
} fused_parts_t;

static inline gantry_shape_t fused_parts_shape(fused_case_t *c) {
    switch (fused_random(c, 5)) {
        case 0: return (gantry_shape_t){.rank = 1, .dims = {1}};
        case 1: return (gantry_shape_t){.rank = 2, .dims = {3, 1 + (int64_t)fused_random(c, 90)}};
        case 2: return (gantry_shape_t){.rank = 1, .dims = {(int64_t)fused_random(c, 3) * 1024}};
        default: return (gantry_shape_t){.rank = 1, .dims = {(int64_t)fused_random(c, 30000)}};
    }
}

/* Draws programs until one has whole and single inputs only, and not too many. */
static inline void fused_parts_draw(fused_parts_t *p, uint64_t *seed, uint64_t types,
                                    uint32_t length, uint32_t costly) {
    fused_case_t *c = &p->program;
    for (bool fits = false; !fits; ++*seed) {
        fused_draw(c, *seed, types, length, costly);
        fits = true;
        for (uint32_t i = 0; i < c->input_count; ++i) {
            const int64_t own = gantry_shape_elements(&c->input_shapes[i]);
            fits = fits && (own == 1 || own == gantry_shape_elements(&c->whole));
        }
        fits = fits && gantry_shape_elements(&c->whole) > 1 && c->input_count <= 8;
        if (!fits) fused_free(c);
    }
    p->parts = 1 + (uint32_t)fused_random(c, FUSED_PARTS_MOST);
    for (uint32_t part = 0; part < p->parts; ++part) p->shapes[part] = fused_parts_shape(c);
    p->shared = 0;
    while (p->shared < c->input_count && gantry_shape_elements(&c->input_shapes[p->shared]) == 1 &&
           fused_random(c, 3) > 0)
        ++p->shared;
    /* the addresses, offsets and sizes fit in OpenCL's least parameters, 1024 bytes */
    while (3 + 2 * p->parts +
               2 * (p->shared + p->parts * (c->input_count - p->shared + c->output_count)) >
           128)
        --p->parts;
}

static inline const gantry_tensor_t *fused_parts_input(gantry_scope_t *scope, fused_parts_t *p,
                                                       uint32_t part, uint32_t i) {
    static double data[30000];
    fused_case_t *c = &p->program;
    const bool is_single = gantry_shape_elements(&c->input_shapes[i]) == 1;
    const gantry_shape_t shape = is_single ? GANTRY_SCALAR : p->shapes[part];
    const int64_t count = gantry_shape_elements(&shape);
    fused_fill(c, data, c->input_types[i], count);
    return gantry_constant(scope, c->input_types[i], shape, data,
                           (size_t)count * gantry_dtype_size(c->input_types[i]));
}

static inline void fused_parts_call(gantry_scope_t *scope, const fused_parts_t *p,
                                    const gantry_tensor_t *const *inputs, uint32_t count,
                                    const gantry_tensor_t **outputs) {
    const fused_case_t *c = &p->program;
    int64_t list[FUSED_PARTS_MOST * GANTRY__FUSED_MOST_OUTPUTS];
    size_t made = (size_t)p->parts * c->output_count;
    for (size_t i = 0; i < made; ++i) list[i] = c->outputs[i % c->output_count];
    const gantry_attr_value_t attrs[] = {
        {.kind = GANTRY_ATTR_INTS,
         .name = "program",
         .i = (int64_t)c->instruction_count * GANTRY__FUSED_WORDS,
         .list = c->program},
        {.kind = GANTRY_ATTR_INTS, .name = "outputs", .i = (int64_t)made, .list = list},
        {.kind = GANTRY_ATTR_INT, .name = "parts", .i = p->parts},
        {.kind = GANTRY_ATTR_INT, .name = "shared", .i = p->shared}};
    if (gantry_op_call(scope, "_FusedParts", inputs, count, attrs, 4, outputs, &made) != GANTRY_OK)
        fail_msg("%s", gantry_last_message());
}

/* One call on a device, and a call for each part on the device of `apart`. */
static inline void fused_parts_check(gantry_scope_t *scope, gantry_scope_t *apart, fused_parts_t *p,
                                     uint64_t seed) {
    const fused_case_t *c = &p->program;
    const uint32_t own = c->input_count - p->shared;
    const gantry_tensor_t *all[GANTRY_MAX_OP_INPUTS], *joined[GANTRY_MAX_OP_OUTPUTS];
    for (uint32_t i = 0; i < p->shared; ++i) all[i] = fused_parts_input(scope, p, 0, i);
    for (uint32_t at = 0; at < p->parts * own; ++at)
        all[p->shared + at] = fused_parts_input(scope, p, at / own, p->shared + at % own);
    fused_parts_call(scope, p, all, p->shared + p->parts * own, joined);
    for (uint32_t part = 0; part < p->parts; ++part) {
        const gantry_tensor_t *inputs[GANTRY__FUSED_MOST_INPUTS],
            *single[GANTRY__FUSED_MOST_OUTPUTS];
        for (uint32_t i = 0; i < c->input_count; ++i)
            inputs[i] = all[i < p->shared ? i : i + part * own];
        fused_call(apart, c, inputs, single);
        for (uint32_t i = 0; i < c->output_count; ++i)
            fused_compare(c, seed, joined[part * c->output_count + i], single[i]);
    }
}

/* Runs `count` random cases. */
static inline void fused_parts_run(gantry_scope_t *scope, gantry_scope_t *apart, uint64_t first,
                                   uint64_t count, uint64_t types, uint32_t costly) {
    static fused_parts_t p; /* large */
    uint64_t seed = first;
    for (uint64_t n = 0; n < count; ++n) {
        fused_parts_draw(&p, &seed, types, 1 + (uint32_t)(n * 7 % 24), costly);
        fused_parts_check(scope, apart, &p, seed);
        fused_free(&p.program);
    }
}

#endif
