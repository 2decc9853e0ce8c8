/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the kernel of a fused program. For x * exp(x) + b over float32, b a vector along the last
 * dimension:
 *
 *     <texts of all fused programs>
 *     <math_float32.cl>
 *     #define GANTRY_T f32
 *     <element.cl>
 *     GANTRY_FUSED_SAME(gantry__Exp_f32, GANTRY_MATH(exp)(x)) ...
 *     GANTRY_FN gantry__type_f32 gantry__apply(const gantry__type_f32 a0,
 *                                              const gantry__type_f32 a1) {
 *         const gantry__type_f32 v0 = gantry__Exp_f32(a0, a0);
 *         const gantry__type_f32 v1 = gantry__Mul_f32(a0, v0);
 *         const gantry__type_f32 v2 = gantry__Add_f32(v1, a1);
 *         return v2;
 *     }
 *     GANTRY_KERNEL fused(...)         loops that load, apply and store: fused_text_loops.c
 *
 * A half is rounded after each instruction, as the single ops round it. The text is made twice: for
 * its length, and into memory of that length. */
#include "kernels/elementwise/fused_text.h"

#include <stdarg.h>
#include <stdio.h>

#include "kernels/common/device_text.h"

void gantry__k_fused_put(gantry__k_fused_writer_t *w, const char *text) {
    const size_t bytes = strlen(text);

    if (w->length + bytes < w->capacity) memcpy(w->text + w->length, text, bytes + 1);
    w->length += bytes;
}

void gantry__k_fused_put_packed(gantry__k_fused_writer_t *w, const void *text) {
    const uint64_t bytes = gantry__k_text_length(text);

    if (w->length + bytes < w->capacity) gantry__k_text_unpack(text, w->text + w->length);
    w->length += bytes;
}

void gantry__k_fused_format(gantry__k_fused_writer_t *w, const char *format, ...) {
    char line[400];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    gantry__k_fused_put(w, line);
}

#define PUT gantry__k_fused_put
#define PUT_PACKED gantry__k_fused_put_packed
#define FORMAT gantry__k_fused_format

/* ---- math texts, in the order in which they need each other ---- */

enum { OF_FLOAT32 = 1, OF_FLOAT64 = 2, OF_INTEGER = 4, OF_ANY = 7 };
enum {
    MATH_NONE = 0,
    MATH_ROUNDING = 1 << 0,
    MATH_MODULO = 1 << 1,
    MATH_FUNCTIONS = 1 << 2,
    MATH_TRIGONOMETRY = 1 << 3,
    MATH_HYPERBOLIC = 1 << 4,
    MATH_SPECIAL = 1 << 5,
    MATH_ERROR = 1 << 6,
    MATH_ACTIVATION = 1 << 7,
    MATH_GAMMA = 1 << 8,
    MATH_POWER = 1 << 9,
    MATH_ROOT = 1 << 10,
    MATH_BITS = 1 << 11,
    MATH_FLOATS = 0x3fc, /* all of them from FUNCTIONS to POWER */
    MATH_PAIRS = MATH_SPECIAL | MATH_ACTIVATION | MATH_GAMMA | MATH_POWER,
    MATH_LIBRARY = MATH_FLOATS & ~(MATH_FUNCTIONS | MATH_ERROR)
};

static const struct {
    const void *text;
    int of;   /* classes of types */
    int math; /* those of the rows that need it */
} math_texts[] = {
    {gantry__text_math_float32, OF_FLOAT32, MATH_FLOATS},
    {gantry__text_math_float32_pair, OF_FLOAT32, MATH_PAIRS},
    {gantry__text_math_float32_hyperbolic, OF_FLOAT32, MATH_HYPERBOLIC},
    {gantry__text_math_float32_trig, OF_FLOAT32, MATH_TRIGONOMETRY},
    {gantry__text_math_float32_special, OF_FLOAT32, MATH_PAIRS & ~MATH_GAMMA},
    {gantry__text_math_float32_activation, OF_FLOAT32, MATH_ACTIVATION},
    {gantry__text_math_float32_gamma, OF_FLOAT32, MATH_GAMMA},
    {gantry__text_math_float32_pow, OF_FLOAT32, MATH_POWER},
    {gantry__text_math_float64, OF_FLOAT64, MATH_FLOATS},
    {gantry__text_math_float64_library, OF_FLOAT64, MATH_LIBRARY | MATH_MODULO},
    {gantry__text_math_float64_trig, OF_FLOAT64, MATH_TRIGONOMETRY},
    {gantry__text_math_float64_special, OF_FLOAT64, MATH_ACTIVATION | MATH_GAMMA},
    {gantry__text_math_erf, OF_FLOAT32 | OF_FLOAT64, MATH_ERROR},
    {gantry__text_math_root, OF_FLOAT32 | OF_FLOAT64, MATH_ROOT},
    {gantry__text_math_bits, OF_ANY, MATH_BITS},
    {gantry__text_math_integer, OF_INTEGER, MATH_POWER},
    {gantry__text_math_modulo, OF_ANY, MATH_MODULO},
    {gantry__text_math_rounding, OF_ANY, MATH_ROUNDING},
};

/* ---- instructions ---- */

static const struct {
    const char *name, *expression;
    int math;
} rows[] = {
#define GANTRY_ELEMENTWISE(name, function, summary, form, types, result, check, math, expression) \
    {#name, #expression, MATH_##math},
#include "ops/elementwise.def"
#undef GANTRY_ELEMENTWISE
};

static bool is_row(const gantry__k_fused_word_t *word) { return word->id < GANTRY_K_ROWS; }

static int math_class(int32_t dtype) {
    if (dtype == GANTRY_FLOAT64) return OF_FLOAT64;
    return dtype == GANTRY_FLOAT32 || gantry__k_is_half(dtype) ? OF_FLOAT32 : OF_INTEGER;
}

static void put_math(gantry__k_fused_writer_t *w) {
    int math[OF_ANY] = {0};

    for (uint32_t k = 0; k < w->key->instruction_count; ++k) {
        const gantry__k_fused_word_t *word = &w->key->words[k];

        if (is_row(word)) math[math_class(word->dtype)] |= rows[word->id].math;
    }
    /* math_modulo.cl asks for float64, which needs another text */
    FORMAT(w, "#undef GANTRY_T\n#define GANTRY_T %s\n",
           math[OF_FLOAT64] & MATH_MODULO ? "f64" : "f32");
    for (size_t i = 0; i < GANTRY_K_COUNT_OF(math_texts); ++i) {
        const bool needed = ((math_texts[i].of & OF_FLOAT32 ? math[OF_FLOAT32] : 0) |
                             (math_texts[i].of & OF_FLOAT64 ? math[OF_FLOAT64] : 0) |
                             (math_texts[i].of & OF_INTEGER ? math[OF_INTEGER] : 0)) &
                            math_texts[i].math;
        if (needed) PUT_PACKED(w, math_texts[i].text);
    }
}

/* Whether no word before number k is the same but for its operands, because a function is made
 * once. */
static bool is_first(const gantry__k_fused_key_t *key, uint32_t k) {
    const gantry__k_fused_word_t *word = &key->words[k];
    const bool is_cast = word->id == GANTRY_K_FUSED_Cast;

    for (uint32_t i = 0; i < k; ++i) {
        const gantry__k_fused_word_t *other = &key->words[i];

        if (other->id == word->id && other->dtype == word->dtype &&
            (!is_cast ||
             (other->operands[1] == word->operands[1] && other->operands[2] == word->operands[2])))
            return false;
    }
    return true;
}

/* Writes the functions of the rows and clips of one type. */
static void put_type(gantry__k_fused_writer_t *w, int32_t dtype) {
    const char *type = gantry__k_short_name(dtype);
    bool has_words = false;

    for (uint32_t k = 0; k < w->key->instruction_count; ++k) {
        const gantry__k_fused_word_t *word = &w->key->words[k];
        const bool is_clip = word->id == GANTRY_K_FUSED_ClipByValue;

        if (word->dtype != dtype || (!is_row(word) && !is_clip) || !is_first(w->key, k)) continue;
        if (!has_words) {
            FORMAT(w, "#undef GANTRY_T\n#define GANTRY_T %s\n", type);
            PUT_PACKED(w, gantry__text_element);
            has_words = true;
        }
        if (is_clip) {
            FORMAT(w, "GANTRY_FUSED_CLIP(gantry__ClipByValue_%s)\n", type);
        } else {
            FORMAT(w, "GANTRY_FUSED_%s(gantry__%s_%s, %s)\n",
                   gantry__k_fused_rows[word->id].result != 0 ? "BYTE" : "SAME",
                   rows[word->id].name, type, rows[word->id].expression);
        }
    }
}

static void put_casts(gantry__k_fused_writer_t *w) {
    for (uint32_t k = 0; k < w->key->instruction_count; ++k) {
        const gantry__k_fused_word_t *word = &w->key->words[k];

        if (word->id != GANTRY_K_FUSED_Cast || word->dtype == word->operands[1] ||
            !is_first(w->key, k))
            continue;
        const char *from = gantry__k_short_name(word->dtype);
        const char *to = gantry__k_short_name(word->operands[1]);
        FORMAT(w, "#undef GANTRY_S\n#undef GANTRY_T\n#define GANTRY_S %s\n#define GANTRY_T %s\n%s",
               from, to, word->operands[2] ? "#define GANTRY_TRUNCATE\n" : "");
        PUT_PACKED(w, gantry__text_cast_value);
        FORMAT(w,
               "GANTRY_FN T gantry__Cast_%s_%s_%d(const S x) { return GANTRY_CONVERT(x); }\n"
               "#undef GANTRY_TRUNCATE\n",
               from, to, word->operands[2]);
    }
}

/* ---- the function of one element ---- */

typedef struct operand_text_t {
    char text[8];
} operand_text_t;

static operand_text_t operand_text(int32_t operand) {
    operand_text_t out;

    (void)snprintf(out.text, sizeof out.text, "%c%d", operand >= 0 ? 'a' : 'v',
                   (int)(operand >= 0 ? operand : -1 - operand));
    return out;
}

void gantry__k_fused_put_instruction(gantry__k_fused_writer_t *w,
                                     const gantry__k_fused_word_t *word) {
    const char *type = gantry__k_short_name(word->dtype);
    const operand_text_t x = operand_text(word->operands[0]), y = operand_text(word->operands[1]),
                         z = operand_text(word->operands[2]);

    if (is_row(word)) {
        const bool is_unary = gantry__k_fused_rows[word->id].operands == 1;

        FORMAT(w, "gantry__%s_%s(%s, %s)", rows[word->id].name, type, x.text,
               is_unary ? x.text : y.text);
    } else if (word->id == GANTRY_K_FUSED_Select) {
        FORMAT(w, "%s ? %s : %s", x.text, y.text, z.text);
    } else if (word->id == GANTRY_K_FUSED_ClipByValue) {
        FORMAT(w, "gantry__ClipByValue_%s(%s, %s, %s)", type, x.text, y.text, z.text);
    } else if (word->dtype == word->operands[1]) {
        PUT(w, x.text);
    } else {
        FORMAT(w, "gantry__Cast_%s_%s_%d(%s)", type, gantry__k_short_name(word->operands[1]),
               word->operands[2], x.text);
    }
}

static const char *output_type(const gantry__k_fused_key_t *key, uint32_t i) {
    return gantry__k_short_name(gantry__k_fused_word_result(&key->words[key->outputs[i]]));
}

/* The first output is returned, the others are written to s1, s2, ... */
static void put_apply(gantry__k_fused_writer_t *w) {
    const gantry__k_fused_key_t *key = w->key;

    FORMAT(w, "GANTRY_FN gantry__type_%s gantry__apply(", output_type(key, 0));
    for (uint32_t i = 0; i < key->input_count; ++i) {
        FORMAT(w, "%sconst gantry__type_%s a%u", i > 0 ? ", " : "",
               gantry__k_short_name(key->input_types[i]), i);
    }
    for (uint32_t i = 1; i < key->output_count; ++i) {
        FORMAT(w, ", gantry__type_%s *s%u", output_type(key, i), i);
    }
    PUT(w, ") {\n");
    for (uint32_t k = 0; k < key->instruction_count; ++k) {
        FORMAT(w, "    const gantry__type_%s v%u = ",
               gantry__k_short_name(gantry__k_fused_word_result(&key->words[k])), k);
        gantry__k_fused_put_instruction(w, &key->words[k]);
        PUT(w, ";\n");
    }
    for (uint32_t i = 1; i < key->output_count; ++i) {
        FORMAT(w, "    *s%u = v%u;\n", i, key->outputs[i]);
    }
    FORMAT(w, "    return v%u;\n}\n", key->outputs[0]);
}

static bool has_float64(const gantry__k_fused_key_t *key) {
    bool has = false;

    for (uint32_t k = 0; k < key->instruction_count; ++k) {
        has = has || key->words[k].dtype == GANTRY_FLOAT64 ||
              gantry__k_fused_word_result(&key->words[k]) == GANTRY_FLOAT64;
    }
    return has;
}

static const void *const common_texts[] = {
    gantry__text_constants, gantry__text_dialect,   gantry__text_launch, gantry__text_type_table,
    gantry__text_types,     gantry__text_convert,   gantry__text_half,   gantry__text_work,
    gantry__text_fused,     gantry__text_fused_rows};

uint64_t gantry__k_fused_make(const void *key, char *text, uint64_t capacity) {
    gantry__k_fused_writer_t writer = {.key = key, .text = text, .capacity = capacity};
    gantry__k_fused_writer_t *w = &writer;

    for (size_t i = 0; i < GANTRY_K_COUNT_OF(common_texts); ++i) PUT_PACKED(w, common_texts[i]);
    if (has_float64(key)) {
        PUT(w,
            "#if defined(__OPENCL_VERSION__) && defined(cl_khr_fp64)\n"
            "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n#endif\n");
    }
    put_math(w);
#define TYPE_FUNCTIONS(name) put_type(w, GANTRY_ID_##name);
    GANTRY_COMPUTED(TYPE_FUNCTIONS)
#undef TYPE_FUNCTIONS
    put_casts(w);
    if (w->key->row_bits == 0) put_apply(w);
    gantry__k_fused_put_kernel(w);
    return w->length;
}
