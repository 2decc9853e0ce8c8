/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel of a program over rows: loops over the elements of a row, with reductions between
 * them. For softmax:
 *
 *     loop 0     r0 = max of a0
 *     fold       v0 = r0
 *     loop 1     v1 = a0 - v0, v2 = exp(v1), kept in s2; r3 = sum of v2
 *     fold       v3 = r3
 *     loop 2     v2 = s2, v4 = v2 / v3; an output
 *
 * An instruction is in the first loop in which all its operands are known. A later loop that needs
 * its result computes it again if that takes few instructions; else an array keeps it. Wide outputs
 * are written only in the last loop, because they may have the memory of an input. */
#include "kernels/elementwise/fused_text.h"

#define PUT gantry__k_fused_put
#define FORMAT gantry__k_fused_format

enum { MOST_AGAIN = 4 }; /* the most instructions that are computed again */

typedef struct rows_writer_t {
    gantry__k_fused_writer_t *w;
    const gantry__k_fused_key_t *key;
    uint32_t last;                                          /* the last loop */
    uint8_t level[GANTRY_K_FUSED_MOST_DEVICE_INSTRUCTIONS]; /* the first loop that can have it */
    uint8_t again[GANTRY_K_FUSED_MOST_DEVICE_INSTRUCTIONS]; /* instructions that make it again */
    bool is_wide[GANTRY_K_FUSED_MOST_DEVICE_INSTRUCTIONS];
    bool is_kept[GANTRY_K_FUSED_MOST_DEVICE_INSTRUCTIONS];
    bool is_needed[GANTRY_K_FUSED_MOST_DEVICE_INSTRUCTIONS]; /* whether the loop needs it */
    bool needs_input[GANTRY_K_FUSED_MOST_INPUTS];
} rows_writer_t;

static bool reduces(const rows_writer_t *r, uint32_t k) {
    return r->key->words[k].id > GANTRY_K_FUSED_COUNT;
}

static uint32_t operands_of(const rows_writer_t *r, uint32_t k) {
    return gantry__k_fused_rows[r->key->words[k].id].operands;
}

static const char *row_type_of(const rows_writer_t *r, uint32_t k) {
    return gantry__k_short_name(gantry__k_fused_word_result(&r->key->words[k]));
}

/* ---- loops ---- */

static void find_levels(rows_writer_t *r) {
    for (uint32_t k = 0; k < r->key->instruction_count; ++k) {
        uint32_t level = 0, again = 1;
        bool is_wide = false;
        for (uint32_t i = 0; i < operands_of(r, k); ++i) {
            const int32_t operand = r->key->words[k].operands[i];
            const uint32_t made = (uint32_t)(-1 - operand);
            if (operand >= 0) {
                is_wide = is_wide || r->key->is_wide[operand];
                continue;
            }
            is_wide = is_wide || r->is_wide[made];
            if (r->level[made] > level) level = r->level[made];
            if (r->is_wide[made]) again += r->again[made];
        }
        if (gantry__k_fused_rows[r->key->words[k].id].costly) again = MOST_AGAIN + 1;
        r->is_wide[k] = is_wide && !reduces(r, k);
        r->level[k] = (uint8_t)(level + reduces(r, k));
        r->again[k] = (uint8_t)(again > MOST_AGAIN ? MOST_AGAIN + 1 : again);
        if (r->is_wide[k] && level > r->last) r->last = level;
    }
}

static void need(rows_writer_t *r, int32_t operand) {
    if (operand >= 0) {
        r->needs_input[operand] = true;
    } else {
        r->is_needed[-1 - operand] = true;
    }
}

/* Whether the loop takes a needed result from an array. */
static bool is_read(const rows_writer_t *r, uint32_t k, uint32_t loop) {
    return r->level[k] < loop && r->again[k] > MOST_AGAIN;
}

/* Sets what the loop needs, and is_kept of what it reads. Later loops must come first. */
static void find_needs(rows_writer_t *r, uint32_t loop) {
    memset(r->is_needed, 0, sizeof r->is_needed);
    memset(r->needs_input, 0, sizeof r->needs_input);
    for (uint32_t k = r->key->instruction_count; k-- > 0;) {
        if (reduces(r, k) && r->level[k] == loop + 1) need(r, r->key->words[k].operands[0]);
        if (r->is_kept[k] && r->level[k] == loop) r->is_needed[k] = true;
        for (uint32_t i = 0; loop == r->last && i < r->key->output_count; ++i) {
            if (r->key->outputs[i] == k && r->is_wide[k]) r->is_needed[k] = true;
        }
        if (!r->is_needed[k] || !r->is_wide[k]) continue;
        if (is_read(r, k, loop)) {
            r->is_kept[k] = true;
            continue;
        }
        for (uint32_t i = 0; i < operands_of(r, k); ++i) need(r, r->key->words[k].operands[i]);
    }
}

/* ---- reductions ---- */

static const struct {
    const char *op, *identity; /* identity: the type's name follows it */
} trees[] = {
    [GANTRY_K_FUSED_Sum - GANTRY_K_FUSED_COUNT] = {"ROWS_SUM", "ROWS_ZERO_"},
    [GANTRY_K_FUSED_Mean - GANTRY_K_FUSED_COUNT] = {"ROWS_SUM", "ROWS_ZERO_"},
    [GANTRY_K_FUSED_Max - GANTRY_K_FUSED_COUNT] = {"ROWS_MAX", "-ROWS_MOST_"},
    [GANTRY_K_FUSED_Min - GANTRY_K_FUSED_COUNT] = {"ROWS_MIN", "ROWS_MOST_"},
};

static const char *acc_of(const rows_writer_t *r, uint32_t k) {
    return r->key->words[k].dtype == GANTRY_FLOAT64 ? "double" : "float";
}

static const char *tree_of(const rows_writer_t *r, uint32_t k) {
    return trees[r->key->words[k].id - GANTRY_K_FUSED_COUNT].op;
}

static void put_start(const rows_writer_t *r, uint32_t k) {
    FORMAT(r->w, "        ROWS_START(%s, r%u, %s%s)\n", acc_of(r, k), k,
           trees[r->key->words[k].id - GANTRY_K_FUSED_COUNT].identity, acc_of(r, k));
}

static void put_term(const rows_writer_t *r, uint32_t k) {
    const int32_t x = r->key->words[k].operands[0];
    FORMAT(r->w, "ROWS_LANE(r%u) = %s(ROWS_LANE(r%u), gantry__widen_%s(%c%d)); ", k, tree_of(r, k),
           k, gantry__k_short_name(r->key->words[k].dtype), x >= 0 ? 'a' : 'v',
           (int)(x >= 0 ? x : -1 - x));
}

static void put_fold(const rows_writer_t *r, uint32_t k) {
    FORMAT(
        r->w,
        "        ROWS_FOLD(%s, %s, r%u)\n        const gantry__type_%s v%u = gantry__narrow_%s(r%u_all",
        tree_of(r, k), acc_of(r, k), k, row_type_of(r, k), k,
        gantry__k_short_name(r->key->words[k].dtype), k);
    if (r->key->words[k].id == GANTRY_K_FUSED_Mean) FORMAT(r->w, " / (%s)q.length", acc_of(r, k));
    PUT(r->w, ");\n");
}

/* ---- text ---- */

static void put_row_result(const rows_writer_t *r, uint32_t k) {
    FORMAT(r->w, "const gantry__type_%s v%u = ", row_type_of(r, k), k);
    gantry__k_fused_put_instruction(r->w, &r->key->words[k]);
    PUT(r->w, "; ");
}

static void rows_put_outputs(const rows_writer_t *r, bool is_wide) {
    for (uint32_t i = 0; i < r->key->output_count; ++i) {
        const uint32_t k = r->key->outputs[i];
        if (r->is_wide[k] != is_wide) continue;
        if (is_wide) {
            FORMAT(r->w, "z%u[e] = v%u; ", i, k);
        } else {
            FORMAT(r->w, "        ROWS_ONCE z%u[0] = v%u;\n", i, k);
        }
    }
}

static void put_body(const rows_writer_t *r, uint32_t loop) {
    for (uint32_t i = 0; i < r->key->input_count; ++i) {
        if (r->needs_input[i] && r->key->is_wide[i])
            FORMAT(r->w, "const gantry__type_%s a%u = e%u[e]; ",
                   gantry__k_short_name(r->key->input_types[i]), i, i);
    }
    for (uint32_t k = 0; k < r->key->instruction_count; ++k) {
        if (reduces(r, k) && r->level[k] == loop + 1) put_term(r, k);
        if (!r->is_needed[k] || !r->is_wide[k]) continue;
        if (is_read(r, k, loop)) {
            FORMAT(r->w, "const gantry__type_%s v%u = ROWS_AT(s%u); ", row_type_of(r, k), k, k);
            continue;
        }
        put_row_result(r, k);
        if (r->is_kept[k] && r->level[k] == loop) FORMAT(r->w, "ROWS_AT(s%u) = v%u; ", k, k);
    }
    if (loop == r->last) rows_put_outputs(r, true);
}

/* Writes narrow results whose operands are known after the loop. */
static void put_narrow(const rows_writer_t *r, uint32_t level) {
    for (uint32_t k = 0; k < r->key->instruction_count; ++k) {
        if (r->is_wide[k] || r->level[k] != level) continue;
        if (reduces(r, k)) {
            put_fold(r, k);
            continue;
        }
        PUT(r->w, "        ");
        put_row_result(r, k);
        PUT(r->w, "\n");
    }
}

static void put_loop(rows_writer_t *r, uint32_t loop) {
    find_needs(r, loop);
    for (uint32_t k = 0; k < r->key->instruction_count; ++k) {
        if (reduces(r, k) && r->level[k] == loop + 1) put_start(r, k);
    }
    PUT(r->w, "        ROWS_LOOP\n");
    put_body(r, loop);
    PUT(r->w, "\n#if GANTRY_SERIAL\n        ROWS_REST\n");
    put_body(r, loop);
    PUT(r->w, "\n#endif\n        ROWS_LOOP_END\n");
    put_narrow(r, loop + 1);
}

/* Writes the addresses of the row, narrow inputs, and arrays. */
static void put_row(const rows_writer_t *r) {
    for (uint32_t i = 0; i < r->key->input_count; ++i) {
        const char *type = gantry__k_short_name(r->key->input_types[i]);
        FORMAT(r->w, "        GANTRY_GLOBAL const gantry__type_%s *e%u = x%u", type, i, i);
        if (r->key->varies[i] != 0) PUT(r->w, r->key->is_wide[i] ? " + row * q.length" : " + row");
        PUT(r->w, ";\n");
        if (!r->key->is_wide[i])
            FORMAT(r->w, "        const gantry__type_%s a%u = e%u[0];\n", type, i, i);
    }
    for (uint32_t i = 0; i < r->key->output_count; ++i) {
        const uint32_t k = r->key->outputs[i];
        FORMAT(r->w, "        GANTRY_GLOBAL gantry__type_%s *z%u = y%u + row%s;\n",
               row_type_of(r, k), i, i, r->is_wide[k] ? " * q.length" : "");
    }
    for (uint32_t k = 0; k < r->key->instruction_count; ++k) {
        if (r->is_kept[k])
            FORMAT(r->w, "        ROWS_STORE(gantry__type_%s, s%u, %u)\n", row_type_of(r, k), k,
                   1u << r->key->row_bits);
    }
}

static void put_shared(const rows_writer_t *r) {
    bool has[2] = {false, false}; /* float, double */
    for (uint32_t k = 0; k < r->key->instruction_count; ++k) {
        if (reduces(r, k)) has[r->key->words[k].dtype == GANTRY_FLOAT64] = true;
    }
    PUT(r->w, "#if !GANTRY_SERIAL\n");
    if (has[0]) PUT(r->w, "    GANTRY_LOCAL_ARRAY(float, shared_float, ROWS_ITEMS);\n");
    if (has[1]) PUT(r->w, "    GANTRY_LOCAL_ARRAY(double, shared_double, ROWS_ITEMS);\n");
    PUT(r->w, "#endif\n");
}

void gantry__k_fused_put_rows(gantry__k_fused_writer_t *w) {
    rows_writer_t r = {.w = w, .key = w->key};
    uint32_t loops;

    find_levels(&r);
    for (uint32_t k = 0; k < w->key->instruction_count; ++k) {
        if (reduces(&r, k) && r.level[k] - 1u > r.last) r.last = r.level[k] - 1u;
    }
    loops = r.last + 1;
    for (uint32_t loop = loops; loop-- > 0;) find_needs(&r, loop);
    put_shared(&r);
    PUT(w, "    ROWS_BEGIN(q)\n");
    put_row(&r);
    put_narrow(&r, 0);
    for (uint32_t loop = 0; loop < loops; ++loop) put_loop(&r, loop);
    rows_put_outputs(&r, false);
    PUT(w, "    ROWS_END\n");
}
