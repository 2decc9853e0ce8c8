/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of a fused program around gantry__apply: parameters, addresses, loops.
 *
 *                   processors (GANTRY_SERIAL)               other devices
 *     no rows       one run of elements, streaming stores    16 bytes at a time, then the rest
 *     rows          row by row: adjacent elements, or one    the same, by coordinates of each word
 *
 *     parts         one of the above over the part of the work-group
 *
 * Rows are for programs of which some input is neither dense nor a scalar. Names: x and y are
 * addresses of inputs and outputs, e and z those of a row; i is the position in the output, s a
 * result. */
#include <stdio.h>

#include "kernels/common/launch.h"
#include "kernels/elementwise/fused_text.h"

#define PUT gantry__k_fused_put
#define FORMAT gantry__k_fused_format

typedef gantry__k_fused_writer_t writer_t;

enum { MOST_WIDE_WEIGHT = 64 }; /* most of a program that is unrolled, in cheap instructions */

static bool fused_text_is_dense(const gantry__k_fused_key_t *key, uint32_t i) {
    return key->varies[i] == (1u << key->rank) - 1;
}

/* Whether the input's elements are adjacent along the last dimension. */
static bool is_along_row(const gantry__k_fused_key_t *key, uint32_t i) {
    return (key->varies[i] >> (key->rank - 1) & 1) != 0;
}

static int32_t type_of_output(const gantry__k_fused_key_t *key, uint32_t i) {
    return gantry__k_fused_word_result(&key->words[key->outputs[i]]);
}

static const char *input_type(const writer_t *w, uint32_t i) {
    return gantry__k_short_name(w->key->input_types[i]);
}

static const char *output_type_name(const writer_t *w, uint32_t i) {
    return gantry__k_short_name(type_of_output(w->key, i));
}

int64_t gantry__k_fused_width(const gantry__k_fused_key_t *key) {
    uint32_t weight = 0, widest = 1;

    for (uint32_t k = 0; k < key->instruction_count; ++k) {
        weight += gantry__k_fused_rows[key->words[k].id].costly ? 8 : 1;
    }
    if (weight > MOST_WIDE_WEIGHT) return 1;
    for (uint32_t i = 0; i < key->input_count; ++i) {
        const uint32_t bytes = gantry__k_size(key->input_types[i]);

        if (is_along_row(key, i) && bytes > widest) widest = bytes;
    }
    for (uint32_t i = 0; i < key->output_count; ++i) {
        const uint32_t bytes = gantry__k_size(type_of_output(key, i));

        if (bytes > widest) widest = bytes;
    }
    return 16 / (int64_t)widest;
}

/* The bytes of an element that the program computes with, because halves are computed in
 * float32. */
static uint32_t computed_bytes(int32_t dtype) {
    return gantry__k_is_half(dtype) ? 4 : gantry__k_size(dtype);
}

uint32_t gantry__k_fused_lanes(const gantry__k_fused_key_t *key, const gantry_device_info_t *info) {
    uint32_t widest = 1;

    if (!gantry__k_is_serial_device(info) || info->native_vector_width != 16) return 0;
    for (uint32_t k = 0; k < key->instruction_count; ++k) {
        const uint32_t bytes = computed_bytes(key->words[k].dtype);
        const uint32_t made = computed_bytes(gantry__k_fused_word_result(&key->words[k]));

        widest = bytes > widest ? bytes : widest;
        widest = made > widest ? made : widest;
    }
    return widest >= 4 ? 64 / widest : 0;
}

/* ---- the call of gantry__apply ---- */

/* Where an element of the loop is. */
typedef enum place_t { IN_RUN, IN_ROW, AT_POSITION, IN_WORD } place_t;

static void put_argument(writer_t *w, uint32_t i, place_t place) {
    const bool along = is_along_row(w->key, i);

    if (w->key->varies[i] == 0) {
        FORMAT(w, "x%u[0]", i);
    } else if (place == IN_ROW) {
        FORMAT(w, "e%u[%s]", i, along ? "e" : "0");
    } else if (place == IN_WORD && along) {
        FORMAT(w, "w%u.e[e]", i);
    } else if (fused_text_is_dense(w->key, i)) {
        FORMAT(w, "x%u[i]", i);
    } else {
        FORMAT(w, "x%u[at%u]", i, i);
    }
}

static void put_call(writer_t *w, place_t place) {
    PUT(w, "gantry__apply(");
    for (uint32_t i = 0; i < w->key->input_count; ++i) {
        if (i > 0) PUT(w, ", ");
        put_argument(w, i, place);
    }
    for (uint32_t i = 1; i < w->key->output_count; ++i) FORMAT(w, ", &s%u", i);
    PUT(w, ")");
}

static const char *stored(const writer_t *w, uint32_t i) {
    return type_of_output(w->key, i) == GANTRY_BOOL ? "GANTRY_FUSED_STORED_BOOL" : "";
}

/* Computes and stores one element; the statements are a block of their own. */
static void put_element(writer_t *w, place_t place) {
    for (uint32_t i = 1; i < w->key->output_count; ++i) {
        FORMAT(w, "gantry__type_%s s%u; ", output_type_name(w, i), i);
    }
    FORMAT(w, "const gantry__type_%s s0 = ", output_type_name(w, 0));
    put_call(w, place);
    PUT(w, "; ");
    for (uint32_t i = 0; i < w->key->output_count; ++i) {
        char target[16];

        (void)snprintf(target, sizeof target, "%c%u[%s]", place == IN_ROW ? 'z' : 'y', i,
                       place == IN_ROW ? "e" : "i");
        if (place == IN_WORD) (void)snprintf(target, sizeof target, "r%u.e[e]", i);
        FORMAT(w, "%s = %s(s%u); ", target, stored(w, i), i);
    }
}

/* ---- rows ---- */

/* Declares row and within of position i, and the row's coordinates c0, c1, ... */
static void put_coordinates(writer_t *w) {
    const int inner = w->key->rank - 1;

    FORMAT(w,
           "        const GANTRY_LONG row = gantry__divide_position(i, q.d%d);\n"
           "        const GANTRY_LONG within = i - row * q.d%d;\n",
           inner, inner);
    for (int d = inner - 1; d > 0; --d) {
        char rest[8] = "row";

        if (d < inner - 1) (void)snprintf(rest, sizeof rest, "n%d", d + 1);
        FORMAT(w,
               "        const GANTRY_LONG n%d = gantry__divide_position(%s, q.d%d);\n"
               "        const GANTRY_LONG c%d = %s - n%d * q.d%d;\n",
               d, rest, d, d, rest, d, d);
    }
    FORMAT(w, "        const GANTRY_LONG c0 = %s;\n", inner > 1 ? "n1" : "row");
}

/* Writes the position in input i of the coordinates above. */
static void put_position(writer_t *w, uint32_t i) {
    const int inner = w->key->rank - 1;
    char text[200] = "", longer[200];

    for (int d = 0; d <= inner; ++d) {
        char coordinate[12] = "within";

        if (!(w->key->varies[i] >> d & 1)) continue;
        if (d < inner) (void)snprintf(coordinate, sizeof coordinate, "c%d", d);
        if (text[0] == '\0') {
            (void)snprintf(text, sizeof text, "%s", coordinate);
            continue;
        }
        (void)snprintf(longer, sizeof longer, "(%.160s) * q.d%d + %s", text, d, coordinate);
        memcpy(text, longer, sizeof text);
    }
    PUT(w, text);
}

static void put_row_addresses(writer_t *w) {
    for (uint32_t i = 0; i < w->key->input_count; ++i) {
        if (w->key->varies[i] == 0) continue;
        FORMAT(w, "        GANTRY_GLOBAL const gantry__type_%s *e%u = x%u + (", input_type(w, i), i,
               i);
        if (fused_text_is_dense(w->key, i)) {
            PUT(w, "i");
        } else {
            put_position(w, i);
        }
        PUT(w, ");\n");
    }
    for (uint32_t i = 0; i < w->key->output_count; ++i) {
        FORMAT(w, "        GANTRY_GLOBAL gantry__type_%s *z%u = y%u + i;\n", output_type_name(w, i),
               i, i);
    }
}

static void put_serial_rows(writer_t *w) {
    const int inner = w->key->rank - 1;

    PUT(w,
        "    const GANTRY_LONG end = GANTRY_END(p);\n"
        "    GANTRY_LONG i = GANTRY_FIRST(p);\n"
        "    GANTRY_HIDE_TRUE(p)\n"
        "    while (i < end) {\n");
    put_coordinates(w);
    FORMAT(w,
           "        const GANTRY_LONG left = q.d%d - within;\n"
           "        const GANTRY_LONG length = left < end - i ? left : end - i;\n",
           inner);
    put_row_addresses(w);
    PUT(w,
        "        GANTRY_FUSED_LOOP\n"
        "        for (GANTRY_LONG e = 0; e < length; ++e) { ");
    put_element(w, IN_ROW);
    PUT(w, "}\n        i += length;\n    }\n");
}

/* Declares at0, at1, ...: positions in inputs that are neither dense nor scalars. */
static void put_positions(writer_t *w) {
    for (uint32_t i = 0; i < w->key->input_count; ++i) {
        if (w->key->varies[i] == 0 || fused_text_is_dense(w->key, i)) continue;
        FORMAT(w, "        const GANTRY_LONG at%u = ", i);
        put_position(w, i);
        PUT(w, ";\n");
    }
}

/* ---- dense inputs and scalars ---- */

static void put_serial_run(writer_t *w) {
    PUT(w, "    GANTRY_HIDE_TRUE(p)\n");
    if (w->key->output_count > 1) {
        PUT(w,
            "    const GANTRY_LONG end = GANTRY_END(p);\n"
            "    GANTRY_FUSED_LOOP\n"
            "    for (GANTRY_LONG i = GANTRY_FIRST(p); i < end; ++i) { ");
        put_element(w, IN_RUN);
        PUT(w, "}\n");
        return;
    }
    FORMAT(w, "    GANTRY_STORE_ALL(gantry__type_%s, y0, p, ", output_type_name(w, 0));
    for (uint32_t i = 0; i < w->key->input_count; ++i) {
        if (w->key->varies[i] != 0) FORMAT(w, "GANTRY_PREFETCH((ulong)(x%u + i)); ", i);
    }
    FORMAT(w, ", %s(", stored(w, 0));
    put_call(w, IN_RUN);
    PUT(w, "))\n");
}

/* Writes the types of words, once for each element type. */
static void put_word_types(writer_t *w, int64_t width) {
    uint64_t types = 0;

    for (uint32_t i = 0; i < w->key->input_count; ++i) {
        if (is_along_row(w->key, i)) types |= GANTRY_DTYPE_BIT(w->key->input_types[i]);
    }
    for (uint32_t i = 0; i < w->key->output_count; ++i) {
        types |= GANTRY_DTYPE_BIT(type_of_output(w->key, i));
    }
    for (int32_t dtype = 0; dtype < 64; ++dtype) {
        if (!(types >> dtype & 1)) continue;
        const char *name = gantry__k_short_name(dtype);
        FORMAT(w, "GANTRY_WIDE_TYPE(gantry__wide_%s, gantry__type_%s, %d);\n", name, name,
               (int)width);
    }
}

/* Declares wide, the number of words, which is 0 if one would not be aligned, or would end in
 * another row. */
static void put_word_count(writer_t *w, int64_t width) {
    PUT(w, "    const int aligned = ");
    if (w->key->rank > 1) {
        FORMAT(w, "q.d%d %% %d == 0", w->key->rank - 1, (int)width);
    } else {
        PUT(w, "1");
    }
    for (uint32_t i = 0; i < w->key->input_count; ++i) {
        if (is_along_row(w->key, i))
            FORMAT(w, " && GANTRY_IS_ALIGNED(x%u, gantry__wide_%s)", i, input_type(w, i));
    }
    for (uint32_t i = 0; i < w->key->output_count; ++i) {
        FORMAT(w, " && GANTRY_IS_ALIGNED(y%u, gantry__wide_%s)", i, output_type_name(w, i));
    }
    FORMAT(w, ";\n    const GANTRY_LONG wide = aligned ? p.count / %d : 0;\n", (int)width);
}

static void put_word_loads(writer_t *w, int64_t width) {
    for (uint32_t i = 0; i < w->key->input_count; ++i) {
        const char *type = input_type(w, i);

        if (!is_along_row(w->key, i)) continue;
        FORMAT(w,
               "        gantry__wide_%s w%u;\n"
               "        GANTRY_WIDE_LOAD(gantry__wide_%s, x%u, ",
               type, i, type, i);
        if (fused_text_is_dense(w->key, i)) {
            FORMAT(w, "g, w%u)\n", i);
        } else {
            FORMAT(w, "at%u / %d, w%u)\n", i, (int)width, i);
        }
    }
}

static void put_wide_loop(writer_t *w, int64_t width) {
    put_word_count(w, width);
    PUT(w,
        "    GANTRY_ROLLED for (GANTRY_LONG g = GANTRY_FIRST(p); g < wide; g += GANTRY_STEP) {\n");
    if (w->key->rank > 1) {
        FORMAT(w, "        const GANTRY_LONG i = g * %d;\n", (int)width);
        put_coordinates(w);
        put_positions(w);
    }
    put_word_loads(w, width);
    for (uint32_t i = 0; i < w->key->output_count; ++i) {
        FORMAT(w, "        gantry__wide_%s r%u;\n", output_type_name(w, i), i);
    }
    FORMAT(w, "        GANTRY_UNROLLED for (int e = 0; e < %d; ++e) { ", (int)width);
    put_element(w, IN_WORD);
    PUT(w, "}\n");
    for (uint32_t i = 0; i < w->key->output_count; ++i) {
        FORMAT(w, "        GANTRY_WIDE_STORE(gantry__wide_%s, y%u, g, r%u)\n",
               output_type_name(w, i), i, i);
    }
    PUT(w, "    }\n");
}

/* Writes the loop over words and the one over the elements after them; or only a loop over
 * elements. */
static void put_words(writer_t *w, int64_t width) {
    if (width > 1) put_wide_loop(w, width);
    FORMAT(
        w,
        "    GANTRY_ROLLED for (GANTRY_LONG i = %s * %d + GANTRY_FIRST(p); i < p.count; i += GANTRY_STEP) {\n",
        width > 1 ? "wide" : "0", (int)width);
    if (w->key->rank > 1) {
        put_coordinates(w);
        put_positions(w);
    }
    PUT(w, "        ");
    put_element(w, AT_POSITION);
    PUT(w, "\n    }\n");
}

/* ---- the kernel ---- */

/* The number of inputs and outputs of the op, which are more than the program's if there are
 * several parts. */
static uint32_t count_inputs(const gantry__k_fused_key_t *key) {
    return key->parts == 0 ? key->input_count
                           : key->shared + key->parts * (uint32_t)(key->input_count - key->shared);
}

static uint32_t count_outputs(const gantry__k_fused_key_t *key) {
    return key->parts == 0 ? key->output_count : key->parts * (uint32_t)key->output_count;
}

static void put_parameters(writer_t *w) {
    PUT(w, "typedef struct gantry__fused_t {\n");
    PUT(w, w->key->row_bits > 0 ? "    GANTRY_LONG rows, length, each;\n"
                                : "    gantry__work_t work;\n");
    for (uint32_t i = 0; i < w->key->parts; ++i)
        FORMAT(w, "    GANTRY_LONG count%u, end%u;\n", i, i);
    for (int d = 1; w->key->row_bits == 0 && d < w->key->rank; ++d)
        FORMAT(w, "    GANTRY_LONG d%d;\n", d);
    for (uint32_t i = 0; i < count_inputs(w->key); ++i) FORMAT(w, "    ulong i%u;\n", i);
    for (uint32_t i = 0; i < count_outputs(w->key); ++i) FORMAT(w, "    ulong o%u;\n", i);
    PUT(w, "} gantry__fused_t;\n");
}

/* Writes the address of input i of the program, which is input `from` of the op. */
static void put_input_address(writer_t *w, uint32_t i, uint32_t from) {
    FORMAT(w, "x%u = (GANTRY_GLOBAL const gantry__type_%s *)(i%u_base + q.i%u);\n", i,
           input_type(w, i), from, from);
}

static void put_output_address(writer_t *w, uint32_t i, uint32_t from) {
    FORMAT(w, "y%u = (GANTRY_GLOBAL gantry__type_%s *)(o%u_base + q.o%u);\n", i,
           output_type_name(w, i), from, from);
}

static void put_addresses(writer_t *w) {
    for (uint32_t i = 0; i < w->key->input_count; ++i) {
        FORMAT(w, "    GANTRY_GLOBAL const gantry__type_%s *", input_type(w, i));
        put_input_address(w, i, i);
    }
    for (uint32_t i = 0; i < w->key->output_count; ++i) {
        FORMAT(w, "    GANTRY_GLOBAL gantry__type_%s *", output_type_name(w, i));
        put_output_address(w, i, i);
    }
}

/* Replaces the first part's values, whose work-groups are the first, by those of the work-group's
 * own part: addresses, elements, and which of them a work-item does. */
static void put_part(writer_t *w) {
    const uint32_t shared = w->key->shared, own = w->key->input_count - shared;

    PUT(w,
        "    GANTRY_LONG begin = 0, end_group = q.end0;\n"
        "    p.count = q.count0;\n");
    for (uint32_t part = 1; part < w->key->parts; ++part) {
        FORMAT(w,
               "    if (GANTRY_GROUP_ID(0) >= q.end%u) {\n"
               "        begin = q.end%u;\n        end_group = q.end%u;\n"
               "        p.count = q.count%u;\n",
               part - 1, part - 1, part, part);
        for (uint32_t i = shared; i < w->key->input_count; ++i) {
            PUT(w, "        ");
            put_input_address(w, i, i + part * own);
        }
        for (uint32_t i = 0; i < w->key->output_count; ++i) {
            PUT(w, "        ");
            put_output_address(w, i, i + part * w->key->output_count);
        }
        PUT(w, "    }\n");
    }
    PUT(w,
        "    const GANTRY_LONG group = GANTRY_GROUP_ID(0) - begin;\n"
        "    const GANTRY_LONG groups = end_group - begin;\n"
        "#undef GANTRY_FIRST\n#undef GANTRY_STEP\n"
        "#if GANTRY_SERIAL\n#define GANTRY_FIRST(p) (group * (p).run)\n#define GANTRY_STEP 1\n"
        "    (void)groups;\n#else\n"
        "#define GANTRY_FIRST(p) (group * GANTRY_LOCAL_SIZE(0) + GANTRY_LOCAL_ID(0))\n"
        "#define GANTRY_STEP (groups * GANTRY_LOCAL_SIZE(0))\n#endif\n");
}

static void put_elements(writer_t *w, int64_t width) {
    PUT(w, "#if GANTRY_SERIAL\n");
    PUT(w, "    GANTRY_FULL_WIDTH\n");
    if (w->key->rank > 1) {
        put_serial_rows(w);
    } else {
        put_serial_run(w);
    }
    PUT(w, "#else\n");
    put_words(w, width);
    PUT(w, "#endif\n");
}

void gantry__k_fused_put_kernel(writer_t *w) {
    const bool has_rows = w->key->row_bits > 0;
    const int64_t width = has_rows ? 1 : gantry__k_fused_width(w->key);

    if (width > 1) {
        PUT(w, "#if !GANTRY_SERIAL\n");
        put_word_types(w, width);
        PUT(w, "#endif\n");
    }
    put_parameters(w);
    PUT(w, "GANTRY_KERNEL fused(");
    for (uint32_t i = 0; i < count_inputs(w->key); ++i) FORMAT(w, "GANTRY_BASE_IN(i%u), ", i);
    for (uint32_t i = 0; i < count_outputs(w->key); ++i) FORMAT(w, "GANTRY_BASE_OUT(o%u), ", i);
    PUT(w, "const gantry__fused_t q) {\n");
    if (!has_rows) PUT(w, "    gantry__work_t p = q.work;\n");
    put_addresses(w);
    if (w->key->parts > 0) put_part(w);
    if (has_rows) {
        gantry__k_fused_put_rows(w);
    } else {
        put_elements(w, width);
    }
    PUT(w, "}\n");
}
