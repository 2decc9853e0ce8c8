/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks DEFLATE (RFC 1951). A stream is a sequence of blocks. A block has stored bytes, or
 * symbols of two prefix codes: literals with lengths of copies, and distances of copies.
 *
 * The lengths of its codes define a prefix code: codes of one length are consecutive numbers in the
 * order of their symbols, and follow all shorter ones. So a code is read bit by bit. A number below
 * the count of codes of its length is an index into the symbols of that length. From any other
 * number that count is subtracted, one more bit is read, and the next length is tried.
 *
 * The streams are the library's own constants, so nothing here checks them. */
#include "kernels/common/packed_text.h"

#include <stdbool.h>
#include <string.h>

#define LONGEST 15 /* bits of a code */
#define LITERALS 288
#define DISTANCES 30
#define LENGTHS 19 /* symbols of the code in which the other codes' lengths are written */
#define END 256    /* the literal code's symbol at the end of a block */

typedef struct bits_t {
    const unsigned char *next;
    uint32_t value, count; /* bits that were read, but not taken */
} bits_t;

typedef struct prefix_code_t {
    uint16_t counts[LONGEST + 1];
    uint16_t symbols[LITERALS];
} prefix_code_t;

static uint32_t take_bits(bits_t *bits, uint32_t count) {
    for (; bits->count < count; bits->count += 8) {
        bits->value |= (uint32_t)*bits->next++ << bits->count;
    }
    const uint32_t taken = bits->value & ((UINT32_C(1) << count) - 1);
    bits->value >>= count;
    bits->count -= count;
    return taken;
}

static void make_code(prefix_code_t *code, const uint8_t *lengths, uint32_t symbols) {
    uint16_t places[LONGEST + 2] = {0};

    memset(code->counts, 0, sizeof code->counts);
    for (uint32_t i = 0; i < symbols; ++i) ++code->counts[lengths[i]];
    code->counts[0] = 0;
    for (uint32_t i = 0; i <= LONGEST; ++i) {
        places[i + 1] = (uint16_t)(places[i] + code->counts[i]);
    }
    for (uint32_t i = 0; i < symbols; ++i) {
        if (lengths[i] > 0) code->symbols[places[lengths[i]]++] = (uint16_t)i;
    }
}

static uint32_t take_symbol(bits_t *bits, const prefix_code_t *code) {
    const uint16_t *symbols = code->symbols;
    uint32_t number = 0;

    for (uint32_t i = 1; i <= LONGEST; ++i) {
        number = number * 2 + take_bits(bits, 1);
        if (number < code->counts[i]) return symbols[number];
        number -= code->counts[i];
        symbols += code->counts[i];
    }
    return END;
}

/* The least value of a symbol doubles every 2^fine symbols; further bits choose between it and the
 * next symbol's. */
static uint32_t take_ranged(bits_t *bits, uint32_t symbol, uint32_t fine) {
    if (symbol < UINT32_C(2) << fine) return symbol;
    const uint32_t more = (symbol >> fine) - 1;
    const uint32_t least = (symbol - (more << fine)) << more;
    return least + take_bits(bits, more);
}

static char *unpack_symbols(bits_t *bits, const prefix_code_t *literals,
                            const prefix_code_t *distances, char *out) {
    for (;;) {
        const uint32_t symbol = take_symbol(bits, literals);

        if (symbol == END) return out;
        if (symbol < END) {
            *out++ = (char)symbol;
            continue;
        }
        const uint32_t number = symbol - END - 1;
        uint32_t length = number == 28 ? 258 : 3 + take_ranged(bits, number, 2);
        const uint32_t distance = 1 + take_ranged(bits, take_symbol(bits, distances), 1);
        for (; length > 0; --length, ++out) *out = *(out - distance); /* they may overlap */
    }
}

static char *unpack_stored(bits_t *bits, char *out) {
    const uint32_t length = bits->next[0] | (uint32_t)bits->next[1] << 8;

    memcpy(out, bits->next + 4, length); /* the length is there twice */
    *bits = (bits_t){.next = bits->next + 4 + length};
    return out + length;
}

static void make_fixed(prefix_code_t *literals, prefix_code_t *distances) {
    uint8_t lengths[LITERALS];

    memset(lengths, 8, sizeof lengths);
    memset(lengths + 144, 9, 112);
    memset(lengths + 256, 7, 24);
    make_code(literals, lengths, LITERALS);
    memset(lengths, 5, DISTANCES);
    make_code(distances, lengths, DISTANCES);
}

/* Reads the lengths of both codes, which are one sequence that is written in a third code. */
static void take_codes(bits_t *bits, prefix_code_t *literals, prefix_code_t *distances) {
    static const uint8_t order[LENGTHS] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                           11, 4,  12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[LITERALS + DISTANCES + 2] = {0};
    const uint32_t literal_count = take_bits(bits, 5) + 257;
    const uint32_t all = literal_count + take_bits(bits, 5) + 1;
    const uint32_t count = take_bits(bits, 4) + 4;

    for (uint32_t i = 0; i < count; ++i) lengths[order[i]] = (uint8_t)take_bits(bits, 3);
    make_code(literals, lengths, LENGTHS);
    for (uint32_t i = 0; i < all;) {
        const uint32_t symbol = take_symbol(bits, literals);
        uint32_t times = 1, length = symbol;

        if (symbol == 16) {
            length = lengths[i - 1];
            times = 3 + take_bits(bits, 2);
        } else if (symbol > 16) {
            length = 0;
            times = symbol == 17 ? 3 + take_bits(bits, 3) : 11 + take_bits(bits, 7);
        }
        for (; times > 0; --times) lengths[i++] = (uint8_t)length;
    }
    make_code(literals, lengths, literal_count);
    make_code(distances, lengths + literal_count, all - literal_count);
}

static bool is_packed(const void *text) { return *(const unsigned char *)text == 1; }

uint64_t gantry__k_text_length(const void *text) {
    const unsigned char *bytes = text;

    if (!is_packed(text)) return strlen(text);
    return bytes[1] | (uint32_t)bytes[2] << 8 | (uint32_t)bytes[3] << 16;
}

static char *unpack_blocks(const unsigned char *packed, char *out) {
    bits_t bits = {.next = packed};
    prefix_code_t literals, distances;
    bool is_last = false;

    while (!is_last) {
        is_last = take_bits(&bits, 1) != 0;
        const uint32_t kind = take_bits(&bits, 2);
        if (kind == 0) {
            out = unpack_stored(&bits, out);
            continue;
        }
        if (kind == 1) {
            make_fixed(&literals, &distances);
        } else {
            take_codes(&bits, &literals, &distances);
        }
        out = unpack_symbols(&bits, &literals, &distances, out);
    }
    return out;
}

void gantry__k_text_unpack(const void *text, char *out) {
    if (is_packed(text)) {
        *unpack_blocks((const unsigned char *)text + 4, out) = '\0';
    } else {
        memcpy(out, text, strlen(text) + 1);
    }
}

uint64_t gantry__k_texts_make(const void *key, char *text, uint64_t capacity) {
    const gantry__k_texts_t *texts = key;
    uint64_t length = 0;

    for (uint64_t i = 0; i < texts->count; ++i) {
        const uint64_t bytes = gantry__k_text_length(texts->texts[i]);

        if (length + bytes < capacity) gantry__k_text_unpack(texts->texts[i], text + length);
        length += bytes;
    }
    return length;
}
