/* SPDX-License-Identifier: Apache-2.0 */
/* The device text of a fused program: one kernel, made of the expressions of ops/elementwise.def.
 *
 * Not here: the launch (fused_device.c). Owner: values of the caller. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_FUSED_TEXT_H
#define GANTRY_KERNELS_FUSED_TEXT_H

#include "kernels/elementwise/fused_shape.h"

typedef struct gantry__k_fused_word_t {
    uint8_t id, dtype;
    int8_t operands[3];
} gantry__k_fused_word_t;

/* All that the text depends on, which is the key of its program. It must have no padding, because
 * keys are compared as bytes. */
typedef struct gantry__k_fused_key_t {
    uint8_t instruction_count, input_count, output_count, rank;
    /* for rows: the least power of two that holds the length, from 64 on; 0: an elementwise one */
    uint8_t row_bits;
    uint8_t parts, shared; /* as in gantry__k_parts_t; parts 0: not _FusedParts */
    uint8_t is_wide[GANTRY_K_FUSED_MOST_INPUTS]; /* for rows: 1: it has all elements of a row */
    uint8_t input_types[GANTRY_K_FUSED_MOST_INPUTS];
    uint8_t varies[GANTRY_K_FUSED_MOST_INPUTS]; /* as in gantry__k_fused_plan_t */
    uint8_t outputs[GANTRY_K_FUSED_MOST_OUTPUTS];
    gantry__k_fused_word_t words[GANTRY_K_FUSED_MOST_DEVICE_INSTRUCTIONS];
} gantry__k_fused_key_t;

static inline uint64_t gantry__k_fused_key_bytes(const gantry__k_fused_key_t *key) {
    return offsetof(gantry__k_fused_key_t, words) + key->instruction_count * sizeof key->words[0];
}

static inline int32_t gantry__k_fused_word_result(const gantry__k_fused_word_t *word) {
    if (word->id == GANTRY_K_FUSED_Cast) return word->operands[1];
    const uint8_t result = gantry__k_fused_rows[word->id].result;
    return result != 0 ? result : word->dtype;
}

/* The number of elements that a work-item of a GPU takes at once: 16 bytes of the widest operand or
 * output; 1 where the unrolled code would be long. */
int64_t gantry__k_fused_width(const gantry__k_fused_key_t *key);

/* The lanes of a loop on a processor with vectors of 512 bits (GANTRY_LOOP_LANES): those of the
 * widest type. 0 leaves them to the compiler, on other devices and for small integers, which it may
 * compute in more lanes. */
uint32_t gantry__k_fused_lanes(const gantry__k_fused_key_t *key, const gantry_device_info_t *info);

/* Makes the program's text, as `make` of gantry_program_source_t: the texts of all fused programs,
 * then the kernel `fused`. The kernel takes the bases of inputs and outputs, and a structure of
 * 64-bit numbers, which must be: gantry__work_t, all dimensions of the plan but the first, the
 * offsets of inputs and outputs. With parts, the structure has for each part, after gantry__work_t,
 * its elements and the work-group that ends it. The kernel of rows has the numbers of rows, of
 * elements in a row, and of rows of a work-group on processors, in place of work and dimensions. */
uint64_t gantry__k_fused_make(const void *key, char *text, uint64_t capacity);

/* ---- shared by the files fused_text*.c ---- */

typedef struct gantry__k_fused_writer_t {
    const gantry__k_fused_key_t *key;
    char *text;
    uint64_t capacity, length; /* length: that of the whole text, whether it fits or not */
} gantry__k_fused_writer_t;

void gantry__k_fused_put(gantry__k_fused_writer_t *writer, const char *text);
void gantry__k_fused_put_packed(gantry__k_fused_writer_t *writer, const void *text);
/* Appends at most 399 characters. */
void gantry__k_fused_format(gantry__k_fused_writer_t *writer, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;
/* Writes the structure of parameters, and the kernel. */
void gantry__k_fused_put_kernel(gantry__k_fused_writer_t *writer);
/* Writes the body of a kernel over rows. */
void gantry__k_fused_put_rows(gantry__k_fused_writer_t *writer);
/* Writes an instruction as an expression of its operands: inputs are a0, a1, ..., results v0, v1,
 * ... */
void gantry__k_fused_put_instruction(gantry__k_fused_writer_t *writer,
                                     const gantry__k_fused_word_t *word);

#endif
