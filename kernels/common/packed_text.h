/* SPDX-License-Identifier: Apache-2.0 */
/* Device texts are packed in the library, because plain texts would be a sixth of it. The build
 * turns X.cl into `const unsigned char gantry__text_X[]`: a byte 1, the text's length in three
 * bytes, the lowest first, and the text, compressed by DEFLATE (cmake/embed_text.cmake). A text is
 * unpacked when a driver builds a program.
 *
 * A plain text, which must end with 0, may be given wherever a packed one may: it never begins with
 * a byte 1. Owner: constant data of the library. Threads: thread-safe. */
#ifndef GANTRY_KERNELS_PACKED_TEXT_H
#define GANTRY_KERNELS_PACKED_TEXT_H

#include <stdint.h>

/* Texts, packed or plain, which are joined without separators. This is the key of a program
 * source. */
typedef struct gantry__k_texts_t {
    const void *const *texts;
    uint64_t count;
} gantry__k_texts_t;

/* The text's length without the closing 0. */
uint64_t gantry__k_text_length(const void *text);
/* Writes the text and a closing 0, so `out` must have room for length + 1 bytes. */
void gantry__k_text_unpack(const void *text, char *out);
/* The `make` of a gantry_program_source_t whose key is a gantry__k_texts_t. */
uint64_t gantry__k_texts_make(const void *key, char *text, uint64_t capacity);

/* Defines variable_texts, the key of a source of these texts. */
#define GANTRY_K_TEXTS(variable, ...)                            \
    static const void *const variable##_parts[] = {__VA_ARGS__}; \
    static const gantry__k_texts_t variable##_texts = {          \
        variable##_parts, sizeof variable##_parts / sizeof variable##_parts[0]}

/* The initializers of a source whose text is variable_texts. */
#define GANTRY_K_TEXTS_SOURCE(variable) \
    .key = &variable##_texts, .key_bytes = sizeof(gantry__k_texts_t), .make = gantry__k_texts_make

#endif
