/* SPDX-License-Identifier: Apache-2.0 */
/* DEFLATE, the compression of .zip files (RFC 1951), and CRC-32.
 *
 *     block    stored | fixed code | code of its own
 *     symbol   0..255 a byte | 256 the end | 257..285 a length, followed by a distance
 *
 * A table has an entry for each text of as many bits as the longest code has: the symbol and the
 * length of its code. Codes begin with their highest bit and the stream with its lowest, so the
 * entries' numbers are codes with their bits reversed. A length of 0 marks a text that begins no
 * code. Every read must be checked against the end of the input, and every write against that of
 * the output, because the stream is not trusted. */
#include <string.h>

#include "gantry_convert.h"

#define MOST_CODE_BITS 15
#define LITERALS 288
#define DISTANCES 32

static uint32_t crc_of_byte(uint32_t value) {
    for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
    return value;
}

uint32_t convert_crc32(uint32_t crc, const void *bytes, size_t size) {
    static uint32_t table[256];
    const unsigned char *at = bytes;
    for (uint32_t i = 255; table[1] == 0 && i > 0; --i) table[i] = crc_of_byte(i);
    crc = ~crc;
    for (size_t i = 0; i < size; ++i) crc = crc >> 8 ^ table[(crc ^ at[i]) & 0xff];
    return ~crc;
}

/* ---- the input ---- */

typedef struct bits_t {
    const unsigned char *at, *end;
    uint64_t value; /* the next bits, the lowest first */
    unsigned count;
    bool is_over; /* more bits were requested than the input has */
} bits_t;

static void convert_inflate_refill(bits_t *bits) {
    for (; bits->count <= 56 && bits->at < bits->end; bits->count += 8)
        bits->value |= (uint64_t)*bits->at++ << bits->count;
}

static void convert_inflate_drop(bits_t *bits, unsigned count) {
    bits->is_over |= count > bits->count;
    if (bits->is_over) return;
    bits->value >>= count;
    bits->count -= count;
}

static unsigned convert_inflate_take(bits_t *bits, unsigned count) {
    convert_inflate_refill(bits);
    const unsigned value = (unsigned)(bits->value & ((UINT64_C(1) << count) - 1));
    convert_inflate_drop(bits, count);
    return value;
}

/* ---- codes ---- */

typedef struct code_t {
    uint16_t entries[1 << MOST_CODE_BITS]; /* symbol << 4 | length */
    unsigned bits;                         /* of the longest code */
} code_t;

static unsigned reverse(unsigned value, unsigned bits) {
    unsigned result = 0;
    for (unsigned i = 0; i < bits; ++i) result |= (value >> i & 1) << (bits - 1 - i);
    return result;
}

/* Makes the canonical code of these lengths. False if more codes are wanted than there are. */
static bool convert_inflate_make_code(code_t *code, const unsigned char *lengths,
                                      unsigned symbols) {
    unsigned counts[MOST_CODE_BITS + 1] = {0}, next[MOST_CODE_BITS + 2] = {0};
    code->bits = 1;
    for (unsigned i = 0; i < symbols; ++i) ++counts[lengths[i]];
    counts[0] = 0;
    for (unsigned bits = 1; bits <= MOST_CODE_BITS; ++bits) {
        next[bits] = (next[bits - 1] + counts[bits - 1]) << 1;
        if (counts[bits] > 0) code->bits = bits;
        if (next[bits] + counts[bits] > 1u << bits) return false;
    }
    memset(code->entries, 0, sizeof code->entries[0] << code->bits);
    for (unsigned i = 0; i < symbols; ++i) {
        const unsigned length = lengths[i];
        if (length == 0) continue;
        for (unsigned at = reverse(next[length]++, length); at < 1u << code->bits;
             at += 1u << length)
            code->entries[at] = (uint16_t)(i << 4 | length);
    }
    return true;
}

/* The next symbol; -1 if the input begins no code. */
static int convert_inflate_take_symbol(bits_t *bits, const code_t *code) {
    convert_inflate_refill(bits);
    const unsigned entry = code->entries[bits->value & ((1u << code->bits) - 1)];
    convert_inflate_drop(bits, entry & 15);
    return (entry & 15) == 0 || bits->is_over ? -1 : (int)(entry >> 4);
}

/* ---- blocks ---- */

typedef struct inflate_t {
    bits_t in;
    unsigned char *out;
    size_t used, size;
    code_t literals, distances;
} inflate_t;

static bool copy_back(inflate_t *self, size_t distance, size_t length) {
    if (distance > self->used || length > self->size - self->used) return false;
    for (size_t i = 0; i < length; ++i, ++self->used)
        self->out[self->used] = self->out[self->used - distance];
    return true;
}

static bool take_match(inflate_t *self, int symbol) {
    static const uint16_t lengths[] = {3,  4,  5,  6,   7,   8,   9,   10,  11, 13,
                                       15, 17, 19, 23,  27,  31,  35,  43,  51, 59,
                                       67, 83, 99, 115, 131, 163, 195, 227, 258};
    static const unsigned char length_bits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                                2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
    static const uint16_t distances[] = {
        1,   2,   3,   4,   5,   7,    9,    13,   17,   25,   33,   49,   65,    97,    129,
        193, 257, 385, 513, 769, 1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577};
    const unsigned of = (unsigned)symbol - 257;
    if (of >= sizeof lengths / sizeof lengths[0]) return false;
    const size_t length = lengths[of] + convert_inflate_take(&self->in, length_bits[of]);
    const int place = convert_inflate_take_symbol(&self->in, &self->distances);
    if (place < 0 || (size_t)place >= sizeof distances / sizeof distances[0]) return false;
    const unsigned bits = place < 4 ? 0 : (unsigned)place / 2 - 1;
    return copy_back(self, distances[place] + convert_inflate_take(&self->in, bits), length) &&
           !self->in.is_over;
}

static bool take_symbols(inflate_t *self) {
    for (;;) {
        const int symbol = convert_inflate_take_symbol(&self->in, &self->literals);
        if (symbol == 256) return true;
        if (symbol < 0) return false;
        if (symbol > 256) {
            if (!take_match(self, symbol)) return false;
        } else if (self->used == self->size) {
            return false;
        } else {
            self->out[self->used++] = (unsigned char)symbol;
        }
    }
}

static bool take_stored(inflate_t *self) {
    convert_inflate_drop(&self->in, self->in.count & 7);
    const unsigned length = convert_inflate_take(&self->in, 16),
                   check = convert_inflate_take(&self->in, 16);
    if (self->in.is_over || (length ^ check) != 0xffff || length > self->size - self->used)
        return false;
    for (unsigned i = 0; i < length; ++i)
        self->out[self->used++] = (unsigned char)convert_inflate_take(&self->in, 8);
    return !self->in.is_over;
}

static bool make_fixed_codes(inflate_t *self) {
    unsigned char lengths[LITERALS];
    for (int i = 0; i < LITERALS; ++i) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    if (!convert_inflate_make_code(&self->literals, lengths, LITERALS)) return false;
    memset(lengths, 5, DISTANCES);
    return convert_inflate_make_code(&self->distances, lengths, DISTANCES);
}

/* The lengths of both codes are themselves written in a code, with runs. */
static bool convert_inflate_take_lengths(inflate_t *self, unsigned char *lengths, unsigned wanted) {
    for (unsigned count = 0; count < wanted;) {
        const int symbol = convert_inflate_take_symbol(&self->in, &self->literals);
        if (symbol < 0 || (symbol == 16 && count == 0)) return false;
        if (symbol < 16) {
            lengths[count++] = (unsigned char)symbol;
            continue;
        }
        const unsigned char value = symbol == 16 ? lengths[count - 1] : 0;
        const unsigned run = symbol == 16   ? 3 + convert_inflate_take(&self->in, 2)
                             : symbol == 17 ? 3 + convert_inflate_take(&self->in, 3)
                                            : 11 + convert_inflate_take(&self->in, 7);
        if (self->in.is_over || run > wanted - count) return false;
        memset(lengths + count, value, run);
        count += run;
    }
    return true;
}

static bool make_own_codes(inflate_t *self) {
    static const unsigned char order[] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                          11, 4,  12, 3, 13, 2, 14, 1, 15};
    unsigned char lengths[LITERALS + DISTANCES] = {0};
    const unsigned literals = 257 + convert_inflate_take(&self->in, 5),
                   distances = 1 + convert_inflate_take(&self->in, 5),
                   first = 4 + convert_inflate_take(&self->in, 4);
    if (literals > 286 || distances > 30) return false;
    for (unsigned i = 0; i < first; ++i)
        lengths[order[i]] = (unsigned char)convert_inflate_take(&self->in, 3);
    if (!convert_inflate_make_code(&self->literals, lengths, sizeof order)) return false;
    memset(lengths, 0, sizeof order);
    return convert_inflate_take_lengths(self, lengths, literals + distances) && lengths[256] > 0 &&
           convert_inflate_make_code(&self->literals, lengths, literals) &&
           convert_inflate_make_code(&self->distances, lengths + literals, distances);
}

static bool take_block(inflate_t *self, unsigned kind) {
    if (kind == 0) return take_stored(self);
    if (kind == 3) return false;
    return (kind == 1 ? make_fixed_codes(self) : make_own_codes(self)) && take_symbols(self);
}

static bool take_blocks(inflate_t *self) {
    for (bool is_last = false; !is_last;) {
        is_last = convert_inflate_take(&self->in, 1) == 1;
        const unsigned kind = convert_inflate_take(&self->in, 2);
        if (self->in.is_over || !take_block(self, kind)) return false;
    }
    return self->used == self->size;
}

size_t convert_inflate_front(const unsigned char *bytes, size_t size, unsigned char *out,
                             size_t wanted) {
    inflate_t self = {.in = {.at = bytes, .end = bytes + size},
                      .out = out,
                      .size = wanted + CONVERT_INFLATE_MORE};
    (void)take_blocks(&self); /* it ends where out is full, at the latest */
    return self.used < wanted ? self.used : wanted;
}

bool convert_inflate(const unsigned char *bytes, size_t size, unsigned char *out,
                     size_t out_bytes) {
    inflate_t self = {.in = {.at = bytes, .end = bytes + size}, .out = out, .size = out_bytes};
    return take_blocks(&self);
}
