/* SPDX-License-Identifier: Apache-2.0 */
/* The bits of a number of a size that is known at run time, and its bytes in memory.
 *
 * A number's lowest byte comes first in memory on most machines, and last on big-endian ones. Code
 * that takes numbers of several sizes as a uint64_t must read and write them here.
 *
 * Files that Gantry reads have the lowest byte first; gantry__bits_little and gantry__bits_turn
 * convert their numbers, and do nothing on most machines. Owner: nothing, there is no state.
 * Threads: thread-safe. */
#ifndef GANTRY_HOST_BITS_H
#define GANTRY_HOST_BITS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define GANTRY__IS_BIG_ENDIAN 1
#else
#define GANTRY__IS_BIG_ENDIAN 0
#endif

/* Where a number of `size` bytes begins in a uint64_t with its bits. */
#define GANTRY__BITS_BEGIN(size) (GANTRY__IS_BIG_ENDIAN ? sizeof(uint64_t) - (size) : 0)

/* Returns the bits of a number of at most 8 bytes. */
static inline uint64_t gantry__bits_read(const void *number, size_t size) {
    uint64_t bits = 0;
    memcpy((unsigned char *)&bits + GANTRY__BITS_BEGIN(size), number, size);
    return bits;
}

/* Returns a uint64_t whose memory begins with the number of at most 8 bytes that has these bits. */
static inline uint64_t gantry__bits_placed(uint64_t bits, size_t size) {
    return size > 0 ? bits << 8 * GANTRY__BITS_BEGIN(size) : 0;
}

/* Writes the lowest bits as a number of at most 8 bytes. */
static inline void gantry__bits_write(uint64_t bits, void *number, size_t size) {
    memcpy(number, (const unsigned char *)&bits + GANTRY__BITS_BEGIN(size), size);
}

/* Returns a uint64_t whose memory has the lowest byte of `bits` first; and `bits` of such a one. */
static inline uint64_t gantry__bits_little(uint64_t bits) {
#if GANTRY__IS_BIG_ENDIAN
    return __builtin_bswap64(bits);
#else
    return bits;
#endif
}

/* Turns numbers of `size` bytes from a file's order into the machine's, and back. */
static inline void gantry__bits_turn(void *numbers, size_t bytes, size_t size) {
    unsigned char *number = (unsigned char *)numbers;
    for (size_t at = 0; GANTRY__IS_BIG_ENDIAN && at + size <= bytes; at += size, number += size) {
        for (size_t i = 0; i < size / 2; ++i) {
            const unsigned char byte = number[i];
            number[i] = number[size - 1 - i];
            number[size - 1 - i] = byte;
        }
    }
}

#endif
