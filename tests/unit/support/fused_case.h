/* SPDX-License-Identifier: Apache-2.0 */
/* Random fused programs: each runs as one _FusedElementwise or _FusedRows and as ops one by one,
 * and the bits of the outputs are compared; one NaN is as good as another. Header only; owner: the
 * test's program, one thread. */
#ifndef TESTS_FUSED_CASE_H
#define TESTS_FUSED_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <gantry/gantry.h>

#include "op/fused_program.h"
#include "ops/type_rows.h"

#include "kernels/common/dialect.cl"
#include "kernels/common/half.cl"

#define FUSED_MOST_VALUES (GANTRY__FUSED_MOST_INPUTS + GANTRY__FUSED_MOST_INSTRUCTIONS)

#define FUSED_ALL_TYPES                                                                            \
    (UINT64_C(1) << GANTRY_FLOAT32 | UINT64_C(1) << GANTRY_FLOAT64 |                               \
     UINT64_C(1) << GANTRY_FLOAT16 | UINT64_C(1) << GANTRY_BFLOAT16 | UINT64_C(1) << GANTRY_INT8 | \
     UINT64_C(1) << GANTRY_INT16 | UINT64_C(1) << GANTRY_INT32 | UINT64_C(1) << GANTRY_INT64 |     \
     UINT64_C(1) << GANTRY_UINT8 | UINT64_C(1) << GANTRY_UINT16 | UINT64_C(1) << GANTRY_UINT32 |   \
     UINT64_C(1) << GANTRY_UINT64 | UINT64_C(1) << GANTRY_BOOL)

typedef struct fused_case_t {
    const char *op; /* NULL: _FusedElementwise */
    bool is_tame;   /* inputs have no NaN and nothing huge, which would hide how sums add */
    uint64_t random;
    uint64_t types; /* of which inputs and casts may be */
    gantry_shape_t whole;
    uint32_t input_count, instruction_count, output_count;
    gantry_dtype_t input_types[GANTRY__FUSED_MOST_INPUTS];
    gantry_shape_t input_shapes[GANTRY__FUSED_MOST_INPUTS];
    void *data[GANTRY__FUSED_MOST_INPUTS];
    int64_t program[GANTRY__FUSED_MOST_INSTRUCTIONS * GANTRY__FUSED_WORDS];
    gantry_shape_t shapes[GANTRY__FUSED_MOST_INSTRUCTIONS]; /* of results */
    int64_t outputs[GANTRY__FUSED_MOST_OUTPUTS];
} fused_case_t;

static inline uint64_t fused_random(fused_case_t *c, uint64_t below) {
    c->random = c->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (c->random >> 33) % below;
}

/* ---- inputs ---- */

static inline double fused_number(fused_case_t *c) {
    static const double special[] = {0.0,   -0.0, 1.0,      -1.0,      0.5,
                                     1e-30, 3e38, INFINITY, -INFINITY, NAN};
    if (c->is_tame) return ((double)fused_random(c, 8000) - 4000.0) / 1000.0;
    const uint64_t kind = fused_random(c, 24);
    if (kind < sizeof special / sizeof special[0]) return special[kind];
    return ((double)fused_random(c, 8000) - 4000.0) / (kind < 18 ? 1000.0 : 64.0);
}

static inline void fused_fill(fused_case_t *c, void *data, gantry_dtype_t dtype, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
        const double x = fused_number(c);
        const uint64_t bits = fused_random(c, 1u << 30) << 40 ^ fused_random(c, 1u << 30) << 15 ^
                              fused_random(c, 1u << 30);
        switch (dtype) {
            case GANTRY_FLOAT32: ((float *)data)[i] = (float)x; break;
            case GANTRY_FLOAT64: ((double *)data)[i] = x; break;
            case GANTRY_FLOAT16: ((uint16_t *)data)[i] = gantry__f32_to_f16((float)x); break;
            case GANTRY_BFLOAT16: ((uint16_t *)data)[i] = gantry__f32_to_bf16((float)x); break;
            case GANTRY_BOOL: ((uint8_t *)data)[i] = bits & 1; break;
            default:
                memcpy((char *)data + (size_t)i * gantry_dtype_size(dtype), &bits,
                       gantry_dtype_size(dtype));
        }
    }
}

/* A shape that broadcasts to the whole one. */
static inline gantry_shape_t fused_smaller(fused_case_t *c) {
    gantry_shape_t shape = c->whole;
    const uint64_t kind = fused_random(c, 6);
    if (kind < 2) return shape;
    if (kind == 2) return (gantry_shape_t){.rank = 0};
    const int32_t drop = (int32_t)fused_random(c, (uint64_t)shape.rank + 1);
    shape.rank -= drop;
    memmove(shape.dims, shape.dims + drop, (size_t)shape.rank * sizeof *shape.dims);
    for (int32_t d = 0; kind > 3 && d < shape.rank; ++d) {
        if (fused_random(c, 2) == 0) shape.dims[d] = 1;
    }
    return shape;
}

static inline uint32_t fused_add_input(fused_case_t *c, gantry_dtype_t dtype,
                                       gantry_shape_t shape) {
    const uint32_t i = c->input_count++;
    const int64_t count = gantry_shape_elements(&shape);
    c->input_types[i] = dtype;
    c->input_shapes[i] = shape;
    c->data[i] = malloc((size_t)count * 8 + 8);
    assert_non_null(c->data[i]);
    fused_fill(c, c->data[i], dtype, count);
    return i;
}

static inline gantry_dtype_t fused_type(fused_case_t *c) {
    for (;;) {
        const uint64_t dtype = fused_random(c, 64);
        if (c->types >> dtype & 1) return (gantry_dtype_t)dtype;
    }
}

static inline gantry_shape_t fused_any_shape(fused_case_t *c) {
    gantry_shape_t shape = {.rank = (int32_t)fused_random(c, 5)};
    for (int32_t d = 0; d < shape.rank; ++d)
        shape.dims[d] = 1 + (int64_t)fused_random(c, shape.rank > 2 ? 7 : 40);
    if (shape.rank > 0 && fused_random(c, 3) == 0)
        shape.dims[shape.rank - 1] = 1 + (int64_t)fused_random(c, 5000);
    if (shape.rank > 0 && fused_random(c, 4) == 0)
        shape.dims[0] = 1 + (int64_t)fused_random(c, 900);
    return shape;
}

/* Few elements, most often: some blocks, or one. */
static inline gantry_shape_t fused_whole(fused_case_t *c) {
    const int64_t most = fused_random(c, 20) == 0 ? 200000 : 10000;
    for (;;) {
        const gantry_shape_t shape = fused_any_shape(c);
        if (gantry_shape_elements(&shape) <= most) return shape;
    }
}

/* ---- programs ---- */

static inline gantry_dtype_t fused_type_of(const fused_case_t *c, int64_t operand) {
    return operand >= 0 ? c->input_types[operand]
                        : gantry__fused_result(c->program + (-1 - operand) * GANTRY__FUSED_WORDS);
}

/* An input or a result of the type, most often a late one; there is one. */
static inline int64_t fused_operand(fused_case_t *c, gantry_dtype_t dtype) {
    int64_t found[FUSED_MOST_VALUES];
    uint64_t count = 0;
    for (int64_t i = -(int64_t)c->instruction_count; i < (int64_t)c->input_count; ++i) {
        if (fused_type_of(c, i) == dtype) found[count++] = i;
    }
    if (count == 0) return fused_add_input(c, dtype, fused_smaller(c));
    return found[fused_random(c, fused_random(c, 2) == 0 && count > 3 ? 3 : count)];
}

/* Whether the second operand stands for attributes; its number, exact in every type. */
static inline bool fused_takes_alpha(gantry__fused_id_t id) {
    return id == GANTRY__FUSED_LeakyRelu || id == GANTRY__FUSED_ReducePrecision;
}

static inline int64_t fused_alpha(fused_case_t *c, gantry__fused_id_t id, gantry_dtype_t dtype) {
    const uint32_t i = fused_add_input(c, dtype, (gantry_shape_t){.rank = 0});
    const float single =
        id == GANTRY__FUSED_LeakyRelu ? 0.25f : (float)gantry__precision_code((int32_t)dtype, 5, 3);
    const double wide = (double)single;
    const uint16_t half =
        dtype == GANTRY_FLOAT16 ? gantry__f32_to_f16(single) : gantry__f32_to_bf16(single);
    if (dtype == GANTRY_FLOAT32) memcpy(c->data[i], &single, sizeof single);
    if (dtype == GANTRY_FLOAT64) memcpy(c->data[i], &wide, sizeof wide);
    if (gantry_dtype_size(dtype) == 2) memcpy(c->data[i], &half, sizeof half);
    return i;
}

static inline gantry_shape_t fused_shape_of(const fused_case_t *c, int64_t operand) {
    return operand >= 0 ? c->input_shapes[operand] : c->shapes[-1 - operand];
}

/* The shape of an instruction's result, by NumPy's rule: dimensions are compared from the last one
 * on. */
static inline gantry_shape_t fused_result_shape(const fused_case_t *c, const int64_t *in) {
    gantry_shape_t shape = {.rank = 0};
    for (uint32_t i = 0; i < gantry__fused_operands((gantry__fused_id_t)in[0]); ++i) {
        const gantry_shape_t other = fused_shape_of(c, in[2 + i]);
        const gantry_shape_t *more = shape.rank >= other.rank ? &shape : &other;
        const gantry_shape_t *less = shape.rank >= other.rank ? &other : &shape;
        gantry_shape_t both = *more;
        for (int32_t d = 0; d < less->rank; ++d) {
            int64_t *dim = &both.dims[d + more->rank - less->rank];
            if (*dim == 1) *dim = less->dims[d];
        }
        shape = both;
    }
    return shape;
}

static inline bool fused_add_instruction(fused_case_t *c, bool may_be_costly) {
    const bool is_result = c->instruction_count > 0 && fused_random(c, 4) != 0;
    const int64_t first = is_result ? -1 - (int64_t)fused_random(c, c->instruction_count)
                                    : (int64_t)fused_random(c, c->input_count);
    const gantry_dtype_t dtype = fused_type_of(c, first);
    const gantry__fused_id_t id =
        (gantry__fused_id_t)(fused_random(c, 5) == 0 ? GANTRY__FUSED_Cast + fused_random(c, 3)
                                                     : fused_random(c, GANTRY__FUSED_COUNT));
    int64_t *in = c->program + c->instruction_count * GANTRY__FUSED_WORDS;
    int64_t words[GANTRY__FUSED_WORDS] = {id, (int64_t)dtype, first, 0, 0};
    if (!gantry__fused_takes(id, dtype) || c->input_count + 3 > GANTRY__FUSED_MOST_INPUTS)
        return false;
    if (gantry__fused_is_costly(id) && !may_be_costly) return false;
    if (id == GANTRY__FUSED_Cast) {
        words[3] = (int64_t)fused_type(c);
        words[4] = (int64_t)fused_random(c, 2);
    } else if (fused_takes_alpha(id)) {
        words[3] = fused_alpha(c, id, dtype);
    } else if (id == GANTRY__FUSED_Select) {
        words[2] = fused_operand(c, GANTRY_BOOL);
        words[3] = first;
        words[4] = fused_operand(c, dtype);
    } else {
        for (uint32_t i = 1; i < gantry__fused_operands(id); ++i)
            words[2 + i] = fused_operand(c, dtype);
    }
    memcpy(in, words, sizeof words);
    c->shapes[c->instruction_count++] = fused_result_shape(c, words);
    /* bounds that are larger than the tensor are no ClipByValue */
    const gantry_shape_t own = fused_shape_of(c, first),
                         all = fused_shape_of(c, -(int64_t)c->instruction_count);
    if (id != GANTRY__FUSED_ClipByValue || gantry_shape_equal(&own, &all)) return true;
    --c->instruction_count;
    return false;
}

static inline void fused_free(fused_case_t *c) {
    for (uint32_t i = 0; i < c->input_count; ++i) free(c->data[i]);
}

/* Results of the whole shape; of one output, the last of them. False: there is none. */
static inline bool fused_choose_outputs(fused_case_t *c) {
    gantry_shape_t whole = {.rank = 0};
    int64_t candidates[GANTRY__FUSED_MOST_INSTRUCTIONS];
    uint64_t count = 0;
    /* shapes of inputs that no instruction reads count as well */
    for (uint32_t i = 0; i < c->input_count; ++i) {
        if (c->input_shapes[i].rank > whole.rank) whole.rank = c->input_shapes[i].rank;
    }
    for (int32_t d = 0; d < whole.rank; ++d) {
        whole.dims[whole.rank - 1 - d] = 1;
        for (uint32_t i = 0; i < c->input_count; ++i) {
            const gantry_shape_t *shape = &c->input_shapes[i];
            const int64_t dim = d < shape->rank ? shape->dims[shape->rank - 1 - d] : 1;
            if (dim != 1) whole.dims[whole.rank - 1 - d] = dim;
        }
    }
    for (int64_t k = (int64_t)c->instruction_count - 1; k >= 0; --k) {
        const gantry_shape_t shape = fused_shape_of(c, -1 - k);
        if (gantry_shape_equal(&shape, &whole)) candidates[count++] = k;
    }
    c->output_count =
        1 + (uint32_t)fused_random(c, fused_random(c, 3) == 0 ? GANTRY__FUSED_MOST_OUTPUTS : 1);
    for (uint32_t i = 0; count > 0 && i < c->output_count; ++i)
        c->outputs[i] = candidates[i == 0 && c->output_count == 1 ? 0 : fused_random(c, count)];
    return count > 0;
}

/* `length` instructions, of which `costly` may be expensive. */
static inline void fused_draw(fused_case_t *c, uint64_t seed, uint64_t types, uint32_t length,
                              uint32_t costly) {
    c->random = seed * 2 + 1;
    c->types = types;
    c->input_count = 0;
    for (;;) {
        fused_free(c);
        c->input_count = c->instruction_count = 0;
        c->whole = fused_whole(c);
        (void)fused_add_input(c, fused_type(c), c->whole);
        while (c->input_count < 1 + seed % 5)
            (void)fused_add_input(c, fused_type(c), fused_smaller(c));
        uint32_t used = 0;
        for (uint32_t tries = 0; tries < 40 * length && c->instruction_count < length; ++tries) {
            if (!fused_add_instruction(c, used < costly)) continue;
            used += gantry__fused_is_costly(
                (gantry__fused_id_t)c->program[(c->instruction_count - 1) * GANTRY__FUSED_WORDS]);
        }
        if (c->instruction_count > 0 && fused_choose_outputs(c)) return;
    }
}

/* ---- running ---- */

static const char *const fused_names[GANTRY__FUSED_ROWS_COUNT] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
#name,
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
#define GANTRY_FUSED_OTHER(name) #name,
#include "ops/fused.def"
#undef GANTRY_FUSED_OTHER
    NULL,
#define GANTRY_FUSED_REDUCTION(name) #name,
#include "ops/fused.def"
#undef GANTRY_FUSED_REDUCTION
};

static inline void fused_print(const fused_case_t *c) {
    for (uint32_t i = 0; i < c->input_count; ++i) {
        char text[128] = "";
        (void)gantry_shape_format(&c->input_shapes[i], text, sizeof text);
        print_message("input %u: %s %s\n", i, gantry_dtype_name(c->input_types[i]), text);
    }
    for (uint32_t k = 0; k < c->instruction_count; ++k) {
        const int64_t *in = c->program + k * GANTRY__FUSED_WORDS;
        print_message("%u: %s of %s: %d %d %d\n", k, fused_names[in[0]],
                      gantry_dtype_name((gantry_dtype_t)in[1]), (int)in[2], (int)in[3], (int)in[4]);
    }
    for (uint32_t i = 0; i < c->output_count; ++i)
        print_message("output %u: instruction %d\n", i, (int)c->outputs[i]);
}

/* The row that an instruction is a variant of, or its own row. */
static inline gantry__fused_id_t fused_base(gantry__fused_id_t id) {
    while (id < GANTRY__FUSED_COUNT && !gantry__op_find(fused_names[id])) --id;
    return id;
}

/* The attributes that choose the variant; returns how many. */
static inline size_t fused_choose(gantry__fused_id_t base, gantry__fused_id_t variant,
                                  gantry_dtype_t dtype, gantry_attr_value_t attrs[2]) {
    const gantry__op_def_t *op = gantry__op_find(fused_names[base]);
    for (uint32_t i = 1; i < op->attr_count; ++i) {
        const bool is_type = op->attrs[i].kind == GANTRY_ATTR_TYPE;
        attrs[i - 1].name = op->attrs[i].name;
        attrs[i - 1].kind = op->attrs[i].kind;
        attrs[i - 1].i = is_type ? (int64_t)dtype : (variant - base) >> (i - 1) & 1;
    }
    return op->attr_count - 1u;
}

static inline const gantry_tensor_t *fused_run_one(gantry_scope_t *scope, const int64_t *in,
                                                   const gantry_tensor_t *const *inputs,
                                                   const gantry_tensor_t *const *results) {
    const gantry__fused_id_t id = (gantry__fused_id_t)in[0];
    uint32_t operands = fused_takes_alpha(id) ? 1 : gantry__fused_operands(id);
    const gantry_tensor_t *taken[3], *out = NULL;
    gantry_attr_value_t attrs[2] = {{.name = NULL}};
    size_t attr_count = 0, count = 1;
    for (uint32_t i = 0; i < operands; ++i)
        taken[i] = in[2 + i] >= 0 ? inputs[in[2 + i]] : results[-1 - in[2 + i]];
    if (id == GANTRY__FUSED_Cast) {
        attrs[0].name = "DstT", attrs[0].kind = GANTRY_ATTR_TYPE, attrs[0].i = in[3];
        attrs[1].name = "Truncate", attrs[1].kind = GANTRY_ATTR_BOOL, attrs[1].i = in[4];
        attr_count = 2;
    } else if (id == GANTRY__FUSED_LeakyRelu) {
        attrs[0].name = "alpha", attrs[0].kind = GANTRY_ATTR_FLOAT, attrs[0].f = 0.25;
        attr_count = 1;
    } else if (id == GANTRY__FUSED_ReducePrecision) {
        attrs[0].name = "exponent_bits", attrs[0].kind = GANTRY_ATTR_INT, attrs[0].i = 5;
        attrs[1].name = "mantissa_bits", attrs[1].kind = GANTRY_ATTR_INT, attrs[1].i = 3;
        attr_count = 2;
    } else if (id > GANTRY__FUSED_COUNT) {
        taken[operands++] = gantry_scalar_i32(scope, -1);
        attrs[0].name = "keep_dims", attrs[0].kind = GANTRY_ATTR_BOOL, attrs[0].i = in[3];
        attr_count = 1;
    }
    const gantry__fused_id_t base = fused_base(id);
    if (id != base) attr_count = fused_choose(base, id, (gantry_dtype_t)in[1], attrs);
    (void)gantry_op_call(scope, fused_names[base], taken, operands, attrs, attr_count, &out,
                         &count);
    return out;
}

static inline void fused_inputs(gantry_scope_t *scope, const fused_case_t *c,
                                const gantry_tensor_t **inputs) {
    for (uint32_t i = 0; i < c->input_count; ++i) {
        inputs[i] = gantry_constant(scope, c->input_types[i], c->input_shapes[i], c->data[i],
                                    (size_t)gantry_shape_elements(&c->input_shapes[i]) *
                                        gantry_dtype_size(c->input_types[i]));
    }
}

static inline void fused_call(gantry_scope_t *scope, const fused_case_t *c,
                              const gantry_tensor_t *const *inputs,
                              const gantry_tensor_t **outputs) {
    const gantry_attr_value_t attrs[] = {
        {.kind = GANTRY_ATTR_INTS,
         .name = "program",
         .i = (int64_t)c->instruction_count * GANTRY__FUSED_WORDS,
         .list = c->program},
        {.kind = GANTRY_ATTR_INTS, .name = "outputs", .i = c->output_count, .list = c->outputs}};
    size_t count = c->output_count;
    (void)gantry_op_call(scope, c->op ? c->op : "_FusedElementwise", inputs, c->input_count, attrs,
                         2, outputs, &count);
}

static inline bool fused_is_nan(gantry_dtype_t dtype, const void *data, int64_t i) {
    switch (dtype) {
        case GANTRY_FLOAT32: return ((const float *)data)[i] != ((const float *)data)[i];
        case GANTRY_FLOAT64: return ((const double *)data)[i] != ((const double *)data)[i];
        case GANTRY_FLOAT16: return (((const uint16_t *)data)[i] & 0x7fff) > 0x7c00;
        case GANTRY_BFLOAT16: return (((const uint16_t *)data)[i] & 0x7fff) > 0x7f80;
        default: return false;
    }
}

static inline void *fused_read(const gantry_tensor_t *tensor) {
    const size_t bytes = gantry_tensor_bytes(tensor);
    void *data = malloc(bytes + 1);
    assert_non_null(data);
    if (gantry_tensor_read(tensor, data, bytes) != GANTRY_OK) fail_msg("%s", gantry_last_message());
    return data;
}

static inline void fused_compare(const fused_case_t *c, uint64_t seed, const gantry_tensor_t *fused,
                                 const gantry_tensor_t *apart) {
    const gantry_dtype_t dtype = gantry_tensor_dtype(fused);
    const size_t size = gantry_dtype_size(dtype);
    assert_int_equal(dtype, gantry_tensor_dtype(apart));
    assert_int_equal(gantry_tensor_bytes(fused), gantry_tensor_bytes(apart));
    char *a = fused_read(fused), *b = fused_read(apart);
    const int64_t count = (int64_t)(gantry_tensor_bytes(fused) / size);
    for (int64_t i = 0; i < count; ++i) {
        if (memcmp(a + (size_t)i * size, b + (size_t)i * size, size) == 0) continue;
        if (fused_is_nan(dtype, a, i) && fused_is_nan(dtype, b, i)) continue;
        uint64_t x = 0, y = 0;
        memcpy(&x, a + (size_t)i * size, size);
        memcpy(&y, b + (size_t)i * size, size);
        fused_print(c);
        fail_msg("seed %u: element %d of %d, %s: %llx fused, %llx one by one", (unsigned)seed,
                 (int)i, (int)count, gantry_dtype_name(dtype), (unsigned long long)x,
                 (unsigned long long)y);
    }
    free(a);
    free(b);
}

/* Runs the case as one op on a device, and as ops one by one on the device of `apart`; the second
 * time the op may write over inputs. */
static inline void fused_check_against(gantry_scope_t *scope, gantry_scope_t *apart,
                                       const fused_case_t *c, uint64_t seed) {
    const gantry_tensor_t *inputs[GANTRY__FUSED_MOST_INPUTS],
        *results[GANTRY__FUSED_MOST_INSTRUCTIONS];
    const gantry_tensor_t *fused[GANTRY__FUSED_MOST_OUTPUTS];
    fused_inputs(apart, c, inputs);
    for (uint32_t k = 0; k < c->instruction_count; ++k)
        results[k] = fused_run_one(apart, c->program + k * GANTRY__FUSED_WORDS, inputs, results);
    for (int donates = 0; donates < 2; ++donates) {
        fused_inputs(scope, c, inputs);
        for (uint32_t i = 0; donates && i < c->input_count; ++i)
            (void)gantry_tensor_donate(scope, inputs[i]);
        fused_call(scope, c, inputs, fused);
        if (!fused[0] || !results[c->instruction_count - 1]) {
            fused_print(c);
            fail_msg("seed %u: %s", (unsigned)seed, gantry_last_message());
        }
        for (uint32_t i = 0; i < c->output_count; ++i)
            fused_compare(c, seed, fused[i], results[c->outputs[i]]);
    }
}

static inline void fused_check(gantry_scope_t *scope, const fused_case_t *c, uint64_t seed) {
    fused_check_against(scope, scope, c, seed);
}

/* One instruction of this type over [6, 300], with its operands in one of the forms: all dense; the
 * last, or the first, a scalar; the last a vector along rows; the last a column. */
enum { FUSED_FORMS = 5 };
static inline void fused_single(fused_case_t *c, gantry__fused_id_t id, gantry_dtype_t dtype,
                                gantry_dtype_t result, int form) {
    const uint32_t operands = gantry__fused_operands(id);
    const gantry_shape_t whole = {.rank = 2, .dims = {6, 300}};
    const gantry_shape_t forms[] = {
        whole, {.rank = 0}, {.rank = 0}, {.rank = 1, .dims = {300}}, {.rank = 2, .dims = {6, 1}}};
    *c = (fused_case_t){.random = (uint64_t)id * 64 + (uint64_t)dtype,
                        .whole = whole,
                        .instruction_count = 1,
                        .output_count = 1};
    for (uint32_t i = 0; i < operands; ++i) {
        const bool is_other = form > 0 && operands > 1 && i == (form == 2 ? 0 : operands - 1);
        /* a ClipByValue keeps the shape of its first operand */
        const bool may = id != GANTRY__FUSED_ClipByValue || i > 0;
        const bool is_condition = id == GANTRY__FUSED_Select && i == 0;
        (void)fused_add_input(c, is_condition ? GANTRY_BOOL : dtype,
                              is_other && may ? forms[form] : whole);
        c->program[2 + i] = i;
    }
    c->program[0] = id;
    c->program[1] = (int64_t)dtype;
    if (id == GANTRY__FUSED_Cast) c->program[3] = (int64_t)result;
    if (fused_takes_alpha(id)) {
        fused_free(c);
        c->input_count = 0;
        (void)fused_add_input(c, dtype, whole);
        c->program[3] = fused_alpha(c, id, dtype);
    }
}

#endif
